"""Planning with a capable model: one request for the tasks, the questions and the page, after the folder was read.

V-3, V-77, V-78. A plan waits for the answers that it needs, and is made again when they are there."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal

import msgspec

from reveries.knowledge.model import Chunk
from reveries.projects.answers import PREMISE_TAG
from reveries.projects.coherence import describe_coherence
from reveries.projects.conflict_material import describe_open_conflicts
from reveries.projects.model import (
    AgentState,
    NewQuestion,
    NewTask,
    Phase,
    QuestionStatus,
    SkillNode,
    TaskKind,
    TaskStatus,
    WorkTask,
)
from reveries.projects.orientation_rewrite import Proposal
from reveries.projects.planning import MOST_TASKS, PlannedTask, check_plan
from reveries.projects.prompt_material import (
    CONFLICTS_TITLE,
    Material,
    describe_orientation,
    describe_tasks,
    format_today,
    gather_material,
    section,
)
from reveries.projects.result_audit import read_coherence
from reveries.projects.step_material import FolderFile, complete_found, list_files
from reveries.projects.store import ProjectStore
from reveries.projects.triggers import INTAKE_TAG, REACHED_TAG, SETTLED_TRIGGER, is_over, is_shown_reached
from reveries.projects.work_model import WorkModel
from reveries.prompts import prompt
from reveries.safe_text import one_line

MOST_QUESTIONS: Final = 3
_ANSWER_TOKENS: Final = 2500
_LONGEST_TITLE: Final = 120
_LONGEST_VISION: Final = 600
_FOUND: Final = 40
_OPEN: Final = (TaskStatus.READY, TaskStatus.BLOCKED)


@dataclass(frozen=True, slots=True)
class PlanSurroundings:
    """What a plan can count on: the files of the folder, and what can be done, in words."""

    files: Sequence[FolderFile] = ()
    means: str = "look things up in what the project knows, and ask"


LookAround = Callable[[AgentState], Awaitable[PlanSurroundings]]


async def see_nothing(state: AgentState) -> PlanSurroundings:
    """The surroundings of a project without a folder."""
    return PlanSurroundings()


class PlanQuestion(msgspec.Struct, frozen=True):
    question: Annotated[str, msgspec.Meta(min_length=3)]
    about: Literal["criteria", "constraints", "start", "other"] = "other"
    for_tasks: tuple[int, ...] = ()


class WorkPlan(msgspec.Struct, frozen=True):
    tasks: Annotated[tuple[PlannedTask, ...], msgspec.Meta(max_length=MOST_TASKS)]
    questions: Annotated[tuple[PlanQuestion, ...], msgspec.Meta(max_length=MOST_QUESTIONS)] = ()
    vision_summary: str = ""
    success_criteria: tuple[str, ...] | None = None
    constraints: tuple[str, ...] | None = None
    phase: Phase | None = None
    drop: tuple[int, ...] = ()


def why_plan_work(state: AgentState, most_plans: int) -> str:
    """Return why a capable model plans now, as it is told; empty if it does not (V-77). Pure."""
    if state.goal is None:
        return ""
    since_goal = [
        question
        for question in state.questions
        if INTAKE_TAG in question.context_tags and question.asked_at >= state.goal.said_at
    ]
    has_tasks = _has_tasks(state)
    if not has_tasks and not since_goal:
        return "There is no plan for this goal yet."
    if INTAKE_TAG in state.project.rewrite_due:
        return "The first questions were answered: plan again where the answers change something."
    if SETTLED_TRIGGER in state.project.rewrite_due and any(task.flagged_because for task in state.tasks):
        return "Results are in doubt, and the newest answer says how to go on: plan what is to be done again."
    is_waiting = any(question.status is QuestionStatus.OPEN for question in since_goal)
    is_asked = is_waiting or any(
        {REACHED_TAG, PREMISE_TAG} & {*question.context_tags} for question in state.open_questions
    )
    can_plan = state.plans_since_word < most_plans and not is_asked and not is_shown_reached(state)
    if has_tasks and is_over(state) and can_plan:
        return "All tasks are done, and the goal is not shown to be reached: plan what is missing."
    return "There is no task for this goal yet." if not has_tasks and not is_waiting else ""


@dataclass(frozen=True, slots=True)
class WorkPlanning:
    """Makes a plan and stores it."""

    store: ProjectStore
    look_around: LookAround

    async def plan(self, model: WorkModel, state: AgentState, why: str, missing: str) -> tuple[Proposal, list[str]]:
        """Ask for a plan and store its tasks and questions. Return what it says for the page, and the questions."""
        assert state.goal is not None
        around = await self.look_around(state)
        chunks = await self._find_known(state)
        material = gather_material(state.orientation.content, state.activities, chunks, chars=model.context_chars)
        open_tasks = [task for task in state.tasks if task.status in _OPEN and task.goal_id == state.goal.id]
        conflicts, conflict_sources = describe_open_conflicts(await self.store.read_facts(state.project.id))
        answer = await self._ask(model, state, why, missing, around, material, open_tasks, conflicts)
        sources = state.orientation.foreign_sources.union(
            conflict_sources, *(chunk.foreign_sources for chunk in chunks)
        )
        if around.files:
            sources |= {"folder"}
        tasks = answer.tasks if answer is not None else ()
        droppable = await self._droppable(state, open_tasks, answer.drop if answer is not None else ())
        kept = [task for task in state.tasks if task not in droppable]
        planned = check_plan(tasks, kept, material, state.goal.id)
        questions = answer.questions if answer is not None else ()
        if not planned and not questions and (answer is None or missing or not _has_tasks(state)) and not open_tasks:
            planned = plan_whole(state, missing)
        await self._store(state, planned, number_questions(answer, planned), droppable, sources, why)
        return _proposal_of(answer), [question.question for question in questions]

    async def _find_known(self, state: AgentState) -> list[Chunk]:
        """Return the owner's answers, newest first, then what is like the goal, then all else."""
        assert state.goal is not None
        chunks = [chunk for chunk in await self.store.knowledge.of_project(state.project.id) if chunk.stands]
        answers = [chunk for chunk in chunks if "user_answer" in chunk.tags][::-1]
        matches = await self.store.knowledge.search.hybrid(
            state.project.id, state.goal.text, _FOUND, session_id=state.session_id
        )
        return complete_found([*answers, *(match.chunk for match in matches)], chunks)

    async def _ask(
        self,
        model: WorkModel,
        state: AgentState,
        why: str,
        missing: str,
        around: PlanSurroundings,
        material: Material,
        open_tasks: Sequence[WorkTask],
        conflicts: str,
    ) -> WorkPlan | None:
        assert state.goal is not None
        listed = [
            f"{number}. {task.title}: {one_line(task.description, 200)}" for number, task in enumerate(open_tasks, 1)
        ]
        done = [task for task in state.tasks if task.status is TaskStatus.DONE]
        text = prompt(
            "plan_work",
            owner=model.owner,
            goal=state.goal.text,
            today=format_today(self.store.now),
            files=section("Files in the project's folder:", list_files(around.files)),
            orientation=section("Where it stands:", await self._describe_page(state)),
            known=material.known,
            conflicts=section(CONFLICTS_TITLE, conflicts),
            done=section("Done so far:", describe_tasks(done) if done else ""),
            open=section("Open tasks:", "\n".join(listed)),
            why=f"{why} {model.owner} said that this is missing: {missing}" if missing else why,
            means=around.means,
        )
        return await model.ask("plan", text, WorkPlan, tokens=_ANSWER_TOKENS)

    async def _describe_page(self, state: AgentState) -> str:
        """Return the page, and what of the work does not keep to the goal: the next plan sets it right (V-13)."""
        notes = describe_coherence(await read_coherence(self.store, state))
        written = describe_orientation(state.page) if state.orientation.version > 1 else ""
        return "\n".join(filter(None, [written, *(f"noticed: {note}" for note in notes)]))

    async def _droppable(
        self, state: AgentState, open_tasks: Sequence[WorkTask], numbers: Sequence[int]
    ) -> list[WorkTask]:
        """Return the tasks that a plan drops: of those that a plan made, and that were never begun."""
        own = await self.store.log.tasks_planned(state.project.id)
        chosen = [open_tasks[number - 1] for number in dict.fromkeys(numbers) if 0 < number <= len(open_tasks)]
        return [task for task in chosen if task.id in own and not task.tries]

    async def _store(
        self,
        state: AgentState,
        planned: Sequence[PlannedTask],
        questions: Sequence[PlanQuestion],
        dropped: Sequence[WorkTask],
        sources: frozenset[str],
        why: str,
    ) -> None:
        assert state.goal is not None
        project_id = state.project.id
        async with self.store.transaction() as transaction:
            for task in dropped:
                await self.store.tasks.end(transaction, task, TaskStatus.DROPPED, outcome=f"Not needed any more. {why}")
                await self.store.log.put(transaction, project_id, "task.given_up", f"{task.title}: planned anew", task)
            ids: list[str] = []
            for planned_task in planned:
                needs = tuple(ids[place - 1] for place in planned_task.depends_on)
                new = NewTask(
                    planned_task.title,
                    planned_task.description,
                    planned_task.kind,
                    planned_task.skill_area,
                    needs,
                    planned_task.rests_on,
                    state.goal.id,
                    sources,
                )
                ids += await self.store.tasks.put(transaction, project_id, [new])
            for asked in questions:
                await self.store.questions.put(transaction, project_id, _new_question(asked, ids, state, sources))
            await self.store.tasks.release(transaction, project_id)
            await self.store.log.put(
                transaction,
                project_id,
                "planned",
                f"{_count(len(ids), 'task')}, {_count(len(questions), 'question')}: {why}",
            )
            tasks = await self.store.tasks.of_project(project_id, transaction)
            await self.store.log.note_planned(transaction, project_id, (task for task in tasks if task.id in ids))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _has_tasks(state: AgentState) -> bool:
    return any(state.goal is not None and task.goal_id == state.goal.id for task in state.tasks)


def plan_whole(state: AgentState, missing: str) -> tuple[PlannedTask, ...]:
    """Without a usable plan: the goal, or what is missing for it, as one task. Pure."""
    assert state.goal is not None
    words = missing or state.goal.text
    return (PlannedTask(one_line(words, _LONGEST_TITLE), words, TaskKind.OTHER, "general"),)


def number_questions(answer: WorkPlan | None, planned: Sequence[PlannedTask]) -> list[PlanQuestion]:
    """Return the questions with the places of their tasks in the checked plan, where some are left out or in another
    order. Pure."""
    if answer is None:
        return []
    places = {task.title: place for place, task in enumerate(planned)}
    titles = [task.title for task in answer.tasks]
    return [
        msgspec.structs.replace(
            question,
            for_tasks=tuple(
                places[titles[number - 1]]
                for number in question.for_tasks
                if 0 < number <= len(titles) and titles[number - 1] in places
            ),
        )
        for question in answer.questions
    ]


def _new_question(
    question: PlanQuestion, ids: Sequence[str], state: AgentState, sources: frozenset[str]
) -> NewQuestion:
    assert state.goal is not None
    return NewQuestion(
        question.question.strip(),
        context=f"the goal: {state.goal.text}",
        context_tags=(INTAKE_TAG, question.about),
        blocks=tuple(ids[place] for place in question.for_tasks),
        foreign_sources=sources,
    )


def skills_of(tasks: Sequence[PlannedTask]) -> tuple[SkillNode, ...]:
    """Return the areas of a plan; one depends on another if a task of it does on a task of the other. Pure."""
    needs: dict[str, dict[str, None]] = {}
    for task in tasks:
        others = [tasks[number - 1].skill_area for number in task.depends_on if 0 < number <= len(tasks)]
        needs.setdefault(task.skill_area, {}).update(dict.fromkeys(area for area in others if area != task.skill_area))
    return tuple(SkillNode(area, dependencies=tuple(needed)) for area, needed in needs.items() if area.strip())


def _proposal_of(answer: WorkPlan | None) -> Proposal:
    """What a plan says for the page; without criteria of its own those so far stay."""
    if answer is None:
        return Proposal()
    return Proposal(
        phase=answer.phase,
        skills=skills_of(answer.tasks),
        vision_summary=answer.vision_summary.strip()[:_LONGEST_VISION] or None,
        success_criteria=answer.success_criteria or None,
        constraints=answer.constraints,
    )
