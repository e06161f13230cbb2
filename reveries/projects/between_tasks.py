"""What is done between two tasks: new goal, fallen premises, questions, orientation, plan (V-77, V-90, V-92)."""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from types import MappingProxyType

from reveries.config import ProjectSettings
from reveries.db.database import Transaction
from reveries.knowledge.model import Chunk, Fall
from reveries.llm.tier import Tier
from reveries.projects.answers import CRITERION_TAG, PREMISE_TAG, is_not_reached
from reveries.projects.conflict_judging import judge_doubtful
from reveries.projects.conflicts import settle_conflicts
from reveries.projects.intake import CRITERIA_TAG, criteria_question
from reveries.projects.model import AgentState, AgentStatus, NewQuestion, NewTask, QuestionKind, TaskStatus, WorkTask
from reveries.projects.orientation import write_orientation
from reveries.projects.orientation_rewrite import Proposal
from reveries.projects.premise import Fallen, say_chain, standing_bases, titles_of, what_falls
from reveries.projects.prompt_material import describe_orientation
from reveries.projects.section_changes import compare_section, describe_lines, has_left_document
from reveries.projects.store import ProjectStore
from reveries.projects.triggers import INTAKE_TAG, REACHED_TAG, REDO_TRIGGER, is_over, rewrite_by_default
from reveries.projects.wake import read_state, trigger_of_premise
from reveries.projects.work_model import WorkModel
from reveries.projects.work_observers import ReportEvent
from reveries.projects.work_planning import LookAround, WorkPlanning, see_nothing, why_plan_work
from reveries.projects.yes_answers import YesTo, what_is_beyond_yes

MOST_PLANS = 3
"""Most plans of a capable model without a word from the owner in between."""
_CHARS_A_TOKEN = 4
_PLANNED = (TaskStatus.READY, TaskStatus.BLOCKED)
_MOST_NAMED = 5
"""Tasks and criteria by name, in the question after something fell."""


@dataclass(frozen=True, slots=True)
class BetweenTasks:
    """Does what is due between two tasks."""

    store: ProjectStore
    settings: Callable[[], ProjectSettings]
    report_event: ReportEvent
    look_around: LookAround = see_nothing

    async def settle(self, model: WorkModel, state: AgentState) -> AgentState:
        """Do everything that is due before the next task, and return the new state: a new goal, fallen premises, first
        questions, the orientation, a plan. What the owner said meanwhile takes effect here (V-90)."""
        if state.pending_goal is not None:
            state = await self._apply_goal(state)
        if state.goal is None:
            return state
        state = await self._update_page(model, state)
        if _is_stopped(state):
            return state
        waiting = {REACHED_TAG, PREMISE_TAG} | ({INTAKE_TAG} if model.tier is Tier.CAPABLE else set())
        if (
            is_over(state)
            and state.has_plan
            and not any(waiting & {*question.context_tags} for question in state.open_questions)
        ):
            return await self._ask_whether_reached(state)
        if state.status is AgentStatus.ERROR:
            return await self._ask_about_deadlock(state)
        return state

    async def _update_page(self, model: WorkModel, state: AgentState) -> AgentState:
        """Hold what rests on something fallen, ask what is to be asked first, and write the page if that is due. A
        capable model writes it with its plan."""
        fallen = await self.hold_fallen(state)
        if model.tier is not Tier.CAPABLE:
            await self._ask_first(state)
        if confirmed := await judge_doubtful(self.store, model, state.project.id):
            self.report_event("noticed", f"{confirmed} more that do not go together")
        for question in await settle_conflicts(self.store, model, state):
            self.report_event("question", question)
        state = await read_state(self.store, state.project.id)
        if model.tier is Tier.CAPABLE and REDO_TRIGGER in state.project.rewrite_due:
            state = await self._plan_redo(state)
        if model.tier is Tier.CAPABLE and not _is_stopped(state) and (why := why_plan_work(state, MOST_PLANS)):
            state = await self._plan_work(model, state, fallen, why)
        if trigger := await self._why_rewrite(state, model):
            state = await self._rewrite(model, state, fallen, trigger)
        return state

    async def _plan_work(self, model: WorkModel, state: AgentState, fallen: Fallen, why: str) -> AgentState:
        """Plan with a capable model, and write the page from the same answer."""
        has_plan = any(state.goal is not None and task.goal_id == state.goal.id for task in state.tasks)
        planning = WorkPlanning(self.store, self.look_around)
        proposal, questions = await planning.plan(model, state, why, _missing(state))
        for question in questions:
            self.report_event("question", question)
        state = await read_state(self.store, state.project.id)
        planned = [task.title for task in state.tasks if task.status in _PLANNED]
        self.report_event("planned", "; ".join(planned))
        new_goal = () if has_plan else ("goal",)
        trigger = " ".join(dict.fromkeys((*state.project.rewrite_due, *new_goal, "planned")))
        return await self._rewrite(model, state, fallen, trigger, proposal)

    async def _plan_redo(self, state: AgentState) -> AgentState:
        """Put a task for each result in doubt that the owner's yes lets be done again: what is to be done is known."""
        chunks = {chunk.id: chunk for chunk in await self.store.knowledge.of_project(state.project.id)}
        redo = [plan_redo(task, standing_bases(task.rests_on, chunks)) for task in tasks_to_redo(state)]
        async with self.store.transaction() as transaction:
            for new in redo:
                await self.store.tasks.put(transaction, state.project.id, [new])
                await self.store.log.put(transaction, state.project.id, "planned", new.title)
        if redo:
            self.report_event("planned", "; ".join(new.title for new in redo))
        return await read_state(self.store, state.project.id)

    async def _rewrite(
        self, model: WorkModel, state: AgentState, fallen: Fallen, trigger: str, proposal: Proposal | None = None
    ) -> AgentState:
        version = await write_orientation(self.store, model, state, fallen, trigger, proposal)
        if version is not None:
            self.report_event("orientation", f"version {version}: {trigger}")
        return await read_state(self.store, state.project.id)

    async def _ask_about_deadlock(self, state: AgentState) -> AgentState:
        """Ask the owner when every task is blocked and none waits for an answer, or nothing would ever go on."""
        blocked = [task for task in state.tasks if task.status is TaskStatus.BLOCKED]
        question = NewQuestion(
            f"Nothing of {state.project.name} can go on: its tasks wait for each other. What should I do?",
            QuestionKind.DECISION,
            context=f"{state.message}\nTo leave them out, say: drop it. Any other answer lets them begin as they are.",
            context_tags=(PREMISE_TAG,),
            blocks=tuple(task.id for task in blocked),
            foreign_sources=frozenset[str]().union(*(task.foreign_sources for task in blocked)),
        )
        async with self.store.transaction() as transaction:
            for waiting_task in blocked:
                await self.store.tasks.drop_needs(transaction, waiting_task.id)
            await self.store.questions.put(transaction, state.project.id, question)
            await self.store.log.put(transaction, state.project.id, "questions.asked", "how to end a deadlock")
        self.report_event("question", question.question)
        return await read_state(self.store, state.project.id)

    async def _ask_whether_reached(self, state: AgentState) -> AgentState:
        asked = f"{_say_what_became(state)} Is the goal reached? Say yes, or what is missing."
        if is_not_reached(_newest_on_reached(state)):
            asked = "What is missing for the goal? Say it in a sentence, or yes if it is reached."
        question = NewQuestion(
            asked,
            QuestionKind.DECISION,
            context=state.goal.text if state.goal else "",
            context_tags=(REACHED_TAG,),
        )
        async with self.store.transaction() as transaction:
            await self.store.questions.put(transaction, state.project.id, question)
            await self.store.log.put(transaction, state.project.id, "questions.asked", "whether the goal is reached")
        self.report_event("question", question.question)
        return await read_state(self.store, state.project.id)

    async def _apply_goal(self, state: AgentState) -> AgentState:
        pending, project_id = state.pending_goal, state.project.id
        assert pending is not None
        async with self.store.transaction() as transaction:
            if state.goal is not None:
                await self.store.tasks.drop_open(transaction, project_id, state.goal.id)
                await self._drop_questions_on_goal(transaction, state)
            await self.store.apply_goal(transaction, project_id, pending.id)
            await self.store.note_rewrite_due(transaction, state.project, "goal")
            await self.store.log.put(transaction, project_id, "goal.applied", pending.text)
        self.report_event("goal", pending.text)
        return await read_state(self.store, project_id)

    async def _drop_questions_on_goal(self, transaction: Transaction, state: AgentState) -> None:
        """Drop open questions about the previous goal itself."""
        for question in state.open_questions:
            if {CRITERIA_TAG, REACHED_TAG, CRITERION_TAG} & set(question.context_tags):
                await self.store.questions.drop(transaction, question.id)

    async def hold_fallen(
        self,
        state: AgentState,
        changed_files: Mapping[str, str] = MappingProxyType({}),
        changed_lines: Mapping[str, str] = MappingProxyType({}),
    ) -> Fallen:
        """Hold and flag what rests on a fallen chunk or on a file that changed, and ask the owner how to go on.
        `changed_lines`: for the id of a task, what of its file changed, in words."""
        chunks = await self.store.knowledge.of_project(state.project.id)
        fallen = what_falls(chunks, state.tasks, state.orientation.content, changed_files=changed_files)
        titles = titles_of(chunks, state.tasks)
        new = [
            (task, chain)
            for task in state.tasks
            if (chain := fallen.held.get(task.id) or fallen.flagged.get(task.id))
            and not (task.held_because or task.flagged_because)
        ]
        fresh = [name for name in fallen.chunks if any(chunk.id == name and chunk.stands for chunk in chunks)]
        criteria, decisions = _new_hits(state, fallen)
        if not new and not fresh and not criteria and not decisions:
            return fallen
        lines = {**_lines_by_chunk(chunks, {chain[0] for _, chain in new}), **changed_lines}
        reasons = {
            task.id: say_chain(chain[:-1], titles, next((lines[name] for name in chain if name in lines), ""))
            for task, chain in new
        }
        held_tasks = [task for task, _ in new]
        async with self.store.transaction() as transaction:
            for task in held_tasks:
                await self.store.tasks.hold(transaction, task.id, reasons[task.id])
                words = f"{task.title} {reasons[task.id]}"
                await self.store.log.put(transaction, state.project.id, "premise.fell", words, task)
            for name in fresh:
                why = say_chain(fallen.chunks[name][:1], titles)
                await self.store.knowledge.mark_fallen(transaction, state.project.id, name, Fall.PREMISE, why)
            await self.store.note_rewrite_due(transaction, state.project, "premise")
            if held_tasks or criteria:
                question = _ask_how_to_go_on(held_tasks, reasons, criteria, frozenset(fallen.held))
                await self.store.questions.put(transaction, state.project.id, question)
        self.report_event(
            "premise", f"{len(held_tasks)} tasks and {len(criteria)} criteria rest on something that no longer holds"
        )
        return fallen

    async def _ask_first(self, state: AgentState) -> None:
        """Ask with a small model how a goal is seen to be reached, once."""
        assert state.goal is not None
        if any(
            INTAKE_TAG in earlier.context_tags and earlier.asked_at >= state.goal.said_at for earlier in state.questions
        ):
            return
        questions = (criteria_question(state.goal.text),)
        async with self.store.transaction() as transaction:
            for question in questions:
                await self.store.questions.put(transaction, state.project.id, question)
            await self.store.log.put(
                transaction, state.project.id, "questions.asked", "how the goal is seen to be reached"
            )
            await self.store.note_rewrite_due(transaction, state.project, "goal")
        for question in questions:
            self.report_event("question", question.question)

    async def _why_rewrite(self, state: AgentState, model: WorkModel) -> str:
        if due := " ".join(state.project.rewrite_due):
            return due
        page, orientation = describe_orientation(state.orientation.content), state.orientation
        return rewrite_by_default(
            tokens=len(page) // _CHARS_A_TOKEN,
            most_tokens=self.settings().orientation_tokens,
            seconds_since_rewrite=self.store.now - orientation.written_at,
            activities_since_rewrite=await self.store.log.count_since(state.project.id, orientation.written_at),
            has_work=bool(state.queue),
            last_trigger=orientation.trigger,
        )


def tasks_to_redo(state: AgentState) -> list[WorkTask]:
    """Return the results in doubt that the owner said yes to, and that no open task brings up to date. Pure."""
    last = {
        tag: question
        for question in state.questions
        if PREMISE_TAG in question.context_tags and question.answered_at and not question.answered_by
        for tag in question.context_tags
    }
    titles = {task.title for task in state.tasks if task.status in _PLANNED}
    return [
        task
        for task in state.tasks
        if task.flagged_because
        and task.status is TaskStatus.DONE
        and task.id in last
        and trigger_of_premise(last[task.id]) == REDO_TRIGGER
        and plan_redo(task, ()).title not in titles
    ]


def plan_redo(task: WorkTask, bases: tuple[str, ...]) -> NewTask:
    """Return the task that brings a result up to date, with what changed in its description. Pure."""
    begins = "Bring up to date: "
    title = task.title.removeprefix(begins)
    return NewTask(
        f"{begins}{title}",
        f"{task.description}\nIt was done, and {task.flagged_because}. Mend what follows from that; the rest stays.",
        task.kind,
        task.skill_area,
        rests_on=bases,
        goal_id=task.goal_id,
        foreign_sources=task.foreign_sources,
    )


def _is_stopped(state: AgentState) -> bool:
    """Whether a success criterion is affected and the owner has not decided yet how to go on."""
    return any(CRITERION_TAG in question.context_tags for question in state.open_questions)


def _lines_by_chunk(chunks: Sequence[Chunk], ids: Set[str]) -> dict[str, str]:
    """Say by the ids of sections that left their documents which of their lines changed. Pure."""
    left = [chunk for chunk in chunks if chunk.id in ids and has_left_document(chunk)]
    said = {chunk.id: describe_lines(compare_section(chunk, chunks).lines) for chunk in left}
    return {name: words for name, words in said.items() if words}


def _new_hits(state: AgentState, fallen: Fallen) -> tuple[list[str], list[str]]:
    """Criteria and decisions that rest on something fallen and are not flagged for it yet. Those for which a new page
    is due already were asked about. Pure."""
    page = state.orientation.content
    if "premise" in state.project.rewrite_due:
        return [], []
    criteria = [page.success_criteria[place] for place in fallen.criteria]
    decisions = [page.key_decisions[place] for place in fallen.decisions]
    return (
        [criterion.text for criterion in criteria if not criterion.flagged_because],
        [decision.decision for decision in decisions if not decision.flagged_because],
    )


def _ask_how_to_go_on(
    held_tasks: Sequence[WorkTask], reasons: Mapping[str, str], criteria: Sequence[str], waiting: frozenset[str]
) -> NewQuestion:
    """The question after something fell; `waiting`: ids of the tasks that wait for the answer. Pure."""
    hit = [*(f"the criterion “{criterion}”" for criterion in criteria), *(f"“{task.title}”" for task in held_tasks)]
    if held_tasks and not criteria and all(task.status is TaskStatus.DONE for task in held_tasks):
        return _ask_to_redo(held_tasks, reasons)
    about = "; ".join(hit[:_MOST_NAMED]) + (f"; and {len(hit) - _MOST_NAMED} more" if len(hit) > _MOST_NAMED else "")
    lines = [f"“{task.title}” {reasons[task.id]}." for task in held_tasks[:_MOST_NAMED]]
    lines.append("Say what holds now; what waits for it then goes on. To leave it out, say: drop it.")
    if criteria:
        lines.append("Nothing else is done in this project until you answer.")
    return NewQuestion(
        f"Something the work relied on no longer holds. How should it go on with {about}?",
        QuestionKind.DECISION,
        context="\n".join(lines),
        context_tags=(PREMISE_TAG, CRITERION_TAG) if criteria else (PREMISE_TAG,),
        blocks=tuple(task.id for task in held_tasks if task.id in waiting),
        foreign_sources=frozenset[str]().union(*(task.foreign_sources for task in held_tasks)),
    )


def _ask_to_redo(done: Sequence[WorkTask], reasons: Mapping[str, str]) -> NewQuestion:
    """The question after something changed that finished results were made from. Pure."""
    named = "; ".join(f"“{task.title}” {reasons[task.id]}" for task in done[:_MOST_NAMED])
    more = f"; and {len(done) - _MOST_NAMED} more" if len(done) > _MOST_NAMED else ""
    return NewQuestion(
        f"Shall I do it again? {named}{more}.",
        QuestionKind.DECISION,
        context="Say yes, or what to do instead. If the result is good as it is, say: leave it.",
        context_tags=(PREMISE_TAG, *(task.id for task in done)),
        foreign_sources=frozenset[str]().union(*(task.foreign_sources for task in done)),
    )


def _say_what_became(state: AgentState) -> str:
    """Say in a sentence what became of the tasks that were planned for the goal. Pure."""
    goal_id = state.goal.id if state.goal is not None else ""
    ended = {task.status for task in state.tasks if task.goal_id == goal_id}
    if TaskStatus.DONE not in ended:
        return "Nothing is left to do: all that was planned was given up."
    return (
        "All that was planned is done or given up." if TaskStatus.DROPPED in ended else "All that was planned is done."
    )


def _missing(state: AgentState) -> str:
    """Return what the owner said is missing and no plan has taken up yet, whatever was answered since. Pure."""
    answer = "" if state.plans_since_reached_answer else _newest_on_reached(state)
    return "" if is_not_reached(answer) else what_is_beyond_yes(answer, YesTo.REACHED)


def _newest_on_reached(state: AgentState) -> str:
    """Return the owner's newest answer on whether the goal is reached; empty without one. Pure."""
    answered = [
        question
        for question in state.questions
        if state.goal is not None
        and REACHED_TAG in question.context_tags
        and question.answered_at
        and question.asked_at >= state.goal.said_at
    ]
    newest = max(reversed(answered), key=lambda question: question.answered_at or 0.0, default=None)
    return newest.answer if newest is not None else ""
