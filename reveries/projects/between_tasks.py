"""What is due between two tasks: a new goal, fallen premises, first questions, the page, a plan (V-77, V-90, V-92)."""

from collections.abc import Callable
from dataclasses import dataclass

from reveries.config import ProjectSettings
from reveries.db.database import Transaction
from reveries.llm.tier import Tier
from reveries.projects.conflicts import settle_conflicts
from reveries.projects.folder_reading import is_of_folder, path_of
from reveries.projects.folder_recipe import plan_overview
from reveries.projects.intake import INTAKE_TAG, first_questions
from reveries.projects.material import describe_orientation, gather_material
from reveries.projects.model import AgentState, QuestionKind, WorkTask
from reveries.projects.orienting import REACHED_TAG, write_orientation
from reveries.projects.planning import PlannedTask, plan_tasks
from reveries.projects.premise import Fallen, what_falls
from reveries.projects.store import NewQuestion, NewTask, ProjectStore
from reveries.projects.triggers import is_over, rewrite_by_default, why_plan
from reveries.projects.wake import PREMISE_TAG, read_state
from reveries.projects.watching import Tell
from reveries.projects.work_model import WorkModel

MOST_PLANS = 3
"""Of a capable model, without a word of the owner between them."""
_CHARS_A_TOKEN = 4
_KNOWN = 12


@dataclass(frozen=True, slots=True)
class BetweenTasks:
    """Does what is due, and says where the project stands then."""

    store: ProjectStore
    settings: Callable[[], ProjectSettings]
    tell: Tell

    async def settle(self, model: WorkModel, state: AgentState) -> AgentState:
        """Everything that is due before the next task: a new goal, fallen premises, the first questions, the page, a
        plan. A word of the owner that came meanwhile counts from here on (V-90)."""
        if state.pending_goal is not None:
            state = await self._apply_goal(state)
        if state.goal is None:
            return state
        fallen = await self._hold_fallen(state)
        if not any(INTAKE_TAG in one.context_tags for one in state.questions):
            await self._ask_first(model, state)
        for question in await settle_conflicts(self.store, model, state):
            self.tell("question", question)
        state = await read_state(self.store, state.project.id)
        if trigger := await self._why_rewrite(state, model):
            version = await write_orientation(self.store, model, state, fallen, trigger)
            self.tell("orientation", f"version {version}: {trigger}")
            state = await read_state(self.store, state.project.id)
        most_plans = MOST_PLANS if model.tier is Tier.CAPABLE else 1
        if (why := why_plan(state, most_plans)) and (model.tier is Tier.CAPABLE or _has_new_ground(state)):
            return await self._plan(model, state, why)
        if is_over(state) and not any(REACHED_TAG in one.context_tags for one in state.open_questions):
            return await self._ask_whether_reached(state)
        return state

    async def _ask_whether_reached(self, state: AgentState) -> AgentState:
        question = NewQuestion(
            "All that was planned is done. Is the goal reached? Say yes, or what is missing.",
            QuestionKind.DECISION,
            context=state.goal.text if state.goal else "",
            context_tags=(REACHED_TAG,),
        )
        async with self.store.database.transaction() as transaction:
            await self.store.put_question(transaction, state.project.id, question)
            await self.store.log(transaction, state.project.id, "questions.asked", "whether the goal is reached")
        self.tell("question", question.question)
        return await read_state(self.store, state.project.id)

    async def _apply_goal(self, state: AgentState) -> AgentState:
        pending, project_id = state.pending_goal, state.project.id
        assert pending is not None
        async with self.store.database.transaction() as transaction:
            if state.goal is not None:
                named = {"project_id": project_id, "goal_id": state.goal.id, "now": self.store.now}
                await transaction.run("projects.drop_open_tasks", named)
                await transaction.run("projects.drop_questions_of", {"goal_id": state.goal.id})
            await transaction.run("projects.end_active_goal", {"project_id": project_id})
            await transaction.run("projects.activate_goal", {"id": pending.id, "now": self.store.now})
            await self.store.note_rewrite_due(transaction, state.project, "goal")
            await self.store.log(transaction, project_id, "goal.applied", pending.text)
        self.tell("goal", pending.text)
        return await read_state(self.store, project_id)

    async def _hold_fallen(self, state: AgentState) -> Fallen:
        """Hold and flag what rests on something that fell; where a criterion is hit, the owner decides."""
        chunks = await self.store.knowledge.of_project(state.project.id)
        fallen = what_falls(chunks, state.tasks, state.orientation.content)
        titles = {one.id: one.title or one.content[:60] for one in chunks} | {one.id: one.title for one in state.tasks}
        new = [
            (task, chain)
            for task in state.tasks
            if (chain := fallen.held.get(task.id) or fallen.flagged.get(task.id))
            and not (task.held_because or task.flagged_because)
        ]
        fresh = [name for name in fallen.chunks if any(one.id == name and one.stands for one in chunks)]
        if not new and not fresh:
            return fallen
        async with self.store.database.transaction() as transaction:
            for task, chain in new:
                why = (
                    "rests on "
                    + " > ".join(titles.get(name, "something erased") for name in chain[:-1])
                    + ", which fell"
                )
                await transaction.run("projects.hold_task", {"id": task.id, "why": why, "now": self.store.now})
                await self.store.log(transaction, state.project.id, "premise.fell", f"{task.title}: {why}", task)
            for name in fresh:
                why = "rests on " + titles.get(fallen.chunks[name][0], "something erased") + ", which fell"
                await self.store.knowledge.mark_fallen(transaction, state.project.id, name, why)
            await self.store.note_rewrite_due(transaction, state.project, "premise")
            if new or fallen.stops_project:
                await self._ask_after_fall(transaction, state, fallen, [task for task, _ in new])
        self.tell("premise", f"{len(new)} tasks rest on something that does not stand any more")
        return fallen

    async def _ask_after_fall(
        self, transaction: Transaction, state: AgentState, fallen: Fallen, held: list[WorkTask]
    ) -> None:
        hit = [state.orientation.content.success_criteria[place].text for place in fallen.criteria]
        about = "; ".join([*(f"the criterion “{one}”" for one in hit), *(f"“{task.title}”" for task in held)])
        question = NewQuestion(
            f"Something that the work took for true does not hold any more. How shall it go on with {about}?",
            QuestionKind.DECISION,
            context="Say what holds now; what is held is planned anew.",
            context_tags=(PREMISE_TAG,),
            blocks=tuple(task.id for task in held if task.id in fallen.held),
        )
        await self.store.put_question(transaction, state.project.id, question)

    async def _ask_first(self, model: WorkModel, state: AgentState) -> None:
        assert state.goal is not None
        questions = await first_questions(model, state.goal)
        async with self.store.database.transaction() as transaction:
            for question in questions:
                await self.store.put_question(transaction, state.project.id, question)
            await self.store.log(transaction, state.project.id, "questions.asked", "the first three")
            await self.store.note_rewrite_due(transaction, state.project, "goal")
        for question in questions:
            self.tell("question", question.question)

    async def _why_rewrite(self, state: AgentState, model: WorkModel) -> str:
        if due := " ".join(state.project.rewrite_due):
            return due
        page, orientation = describe_orientation(state.orientation.content), state.orientation
        named = {"project_id": state.project.id, "since": orientation.written_at}
        [row] = await self.store.database.rows("projects.activities_since", named)
        return rewrite_by_default(
            tokens=len(page) // _CHARS_A_TOKEN,
            most_tokens=self.settings().orientation_tokens,
            seconds_since_rewrite=self.store.now - orientation.written_at,
            activities_since_rewrite=int(row["number"]),
            has_work=bool(state.queue),
            last_trigger=orientation.trigger,
        )

    async def _plan_overview(self, model: WorkModel, state: AgentState) -> tuple[PlannedTask, ...]:
        """With a small model, the first plan of a goal that asks for an overview of the folder."""
        is_first = not any(task.goal_id == state.goal.id for task in state.tasks) if state.goal else False
        if model.tier is Tier.CAPABLE or not is_first or not state.project.folder or state.goal is None:
            return ()
        chunks = await self.store.knowledge.of_project(state.project.id)
        files = len({path_of(one) for one in chunks if one.stands and is_of_folder(one)})
        return await plan_overview(model, state.goal, files) if files else ()

    async def _plan(self, model: WorkModel, state: AgentState, why: str) -> AgentState:
        assert state.goal is not None
        every = await self.store.knowledge.search.hybrid(
            state.project.id, state.goal.text, _KNOWN, session_id=state.session_id
        )
        found = [one for one in every if one.chunk.stands]
        material = gather_material(
            state.orientation.content, state.activities, [one.chunk for one in found], chars=model.context_chars
        )
        sources = state.orientation.foreign_sources.union(*(one.chunk.foreign_sources for one in found))
        planned = await self._plan_overview(model, state) or await plan_tasks(model, state.goal, material, state.tasks)
        async with self.store.database.transaction() as transaction:
            ids: list[str] = []
            for task in planned:
                needs = tuple(ids[place - 1] for place in task.depends_on)
                new = NewTask(
                    task.title,
                    task.description,
                    task.kind,
                    task.skill_area,
                    needs,
                    task.rests_on,
                    state.goal.id,
                    sources,
                )
                ids += await self.store.put_tasks(transaction, state.project.id, [new])
            await self.store.log(transaction, state.project.id, "planned", f"{len(ids)} tasks: {why}")
        self.tell("planned", "; ".join(task.title for task in planned))
        return await read_state(self.store, state.project.id)


def _has_new_ground(state: AgentState) -> bool:
    """Whether a small model has something to plan from: a goal that it did not plan for, or the owner's word on what is
    missing. From nothing new it plans what it did before, in other words."""
    is_planned = any(state.goal is not None and task.goal_id == state.goal.id for task in state.tasks)
    own = [one for one in state.questions if one.answered_at and not one.answered_by]
    answered = sorted(own, key=lambda one: one.answered_at or 0.0)
    return not is_planned or bool(answered and REACHED_TAG in answered[-1].context_tags)
