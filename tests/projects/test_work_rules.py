"""Rules of project work that nothing else would notice if they were turned round."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reveries.knowledge.model import ChunkSource, ChunkType, Confidence, Fall, NewChunk
from reveries.projects.answers import own_answers
from reveries.projects.model import (
    KeyDecision,
    NewTask,
    Orientation,
    OwnerQuestion,
    QuestionKind,
    QuestionStatus,
    SkillNode,
    TaskKind,
    TaskStatus,
    WorkTask,
)
from reveries.projects.orientation import is_said_reached
from reveries.projects.orientation_rewrite import Proposal, RewriteInput, rewrite, update_skill_map
from reveries.projects.planning import PlannedTask, check_plan
from reveries.projects.premise import Fallen
from reveries.projects.prompt_material import gather_material
from reveries.projects.task_execution import FinishStep, Learning, ResultStatus, TaskResult, finish
from reveries.projects.triggers import REACHED_TAG
from reveries.projects.work_planning import PlanQuestion, WorkPlan, number_questions
from tests.knowledge.kit import stored_chunk
from tests.projects.kit import Work, finished, open_work
from tests.projects.test_worker import GOAL, Hand, task_of


def question(answer: str, **more: Any) -> OwnerQuestion:
    asked = OwnerQuestion(
        "?",
        QuestionKind.QUESTION,
        id="q",
        project_id="p",
        status=QuestionStatus.ANSWERED,
        answer=answer,
        asked_at=1.0,
        answered_at=2.0,
        noted_at=3.0,
    )
    return replace(asked, **more)


def task(title: str, status: TaskStatus = TaskStatus.READY, **more: Any) -> WorkTask:
    return replace(WorkTask(title, "", TaskKind.OTHER, goal_id="g", id=title, project_id="p", status=status), **more)


def planned(title: str, *needs: int, area: str = "wood") -> PlannedTask:
    return PlannedTask(title, "", TaskKind.OTHER, area, needs)


MATERIAL = gather_material(Orientation(""), [], [], chars=4000)


def test_the_newest_answer_says_whether_the_goal_is_reached() -> None:
    no, yes = (question(word, context_tags=(REACHED_TAG,)) for word in ("no, the roof is missing", "yes"))
    assert is_said_reached([no, yes])
    assert not is_said_reached([yes, no])


def test_what_a_program_answers_is_no_word_of_the_owner() -> None:
    assert own_answers([question("drop it", task_id="t", context_tags=("mcp:notes",))], "t") == []
    assert len(own_answers([question("drop it", task_id="t")], "t")) == 1


@pytest.mark.requirement("V-95")
def test_a_page_has_five_priorities_at_most() -> None:
    proposal = Proposal(priorities=tuple(f"area {n}" for n in range(9)))
    page = rewrite(RewriteInput(Orientation(""), (), (), Fallen({}, {}, {}, (), ()), proposal))
    assert page.active_priorities == tuple(f"area {n}" for n in range(5))


@pytest.mark.requirement("V-97")
def test_a_skill_keeps_its_newest_three_insights() -> None:
    chunks = [stored_chunk(id=f"c{n}", content=f"insight {n}", type=ChunkType.INSIGHT, tags=("saw",)) for n in range(5)]
    [node] = update_skill_map([SkillNode("Saw")], [], chunks)
    assert node.notes == "insight 2; insight 3; insight 4"


@pytest.mark.requirement("V-125")
def test_a_page_of_a_quarter_of_the_context_stands_in_a_prompt_whole() -> None:
    page = Orientation("word " * 180)
    assert "word " * 179 in gather_material(page, [], [], chars=4000).orientation


@pytest.mark.requirement("V-78")
def test_a_task_left_out_for_an_earlier_goal_can_be_planned_and_one_left_out_for_this_goal_cannot() -> None:
    dropped = task("Saw the boards", TaskStatus.DROPPED)
    plan = [planned("Saw the boards"), planned("Paint", 1), planned("Oil", 1, 2)]
    kept = check_plan(plan, [dropped], MATERIAL, "another goal")
    assert [(one.title, one.depends_on) for one in kept] == [("Saw the boards", ()), ("Paint", (1,)), ("Oil", (1, 2))]
    kept = check_plan(plan, [dropped], MATERIAL, "g")
    assert [(one.title, one.depends_on) for one in kept] == [("Paint", ()), ("Oil", (1,))]


def test_a_question_stays_with_its_task_where_the_plan_is_put_in_order() -> None:
    answer = WorkPlan((planned("Paint", 2), planned("Saw")), (PlanQuestion("Which colour?", for_tasks=(1, 9)),))
    ordered = check_plan(answer.tasks, [], MATERIAL, "g")
    [asked] = number_questions(answer, ordered)
    assert [ordered[place].title for place in asked.for_tasks] == ["Paint"]


@pytest.mark.requirement("V-87")
@pytest.mark.parametrize(
    ("quote", "rests_on", "confidence"),
    [("", ("k1",), "inferred"), ("It is oak.", (), "inferred"), ("It is oak.", ("k1",), "verified")],
)
def test_what_is_learned_is_verified_only_with_a_quote_of_what_it_rests_on(
    quote: str, rests_on: tuple[str, ...], confidence: str
) -> None:
    learned = Learning("It is oak.", confidence=Confidence.VERIFIED, rests_on=rests_on, quote=quote)
    result = finish(task("Look"), FinishStep("complete", "Oak.", (learned,)), {"k1": "c1"})
    assert result.learnings[0].confidence.value == confidence


async def test_when_a_task_is_left_out_what_waited_for_it_is_ready(tmp_path: Path) -> None:
    async with open_work(tmp_path, Hand(), most_tasks=1) as work:
        project = await work.begin("Shed")
        first = await put_tasks(work, project.id, NewTask("Ask", "", TaskKind.OTHER))
        await put_tasks(work, project.id, NewTask("Build", "", TaskKind.OTHER, needs=first))
        given_up = (await work.state(project)).tasks[0]
        await work.work._results._give_up(given_up, TaskResult(ResultStatus.GIVEN_UP, "Left out."))
        assert [one.status for one in (await work.state(project)).tasks] == [TaskStatus.DROPPED, TaskStatus.READY]


@pytest.mark.parametrize(
    ("steps", "status", "tries"),
    [
        ([finished("failed", "No saw.")] * 2, TaskStatus.BLOCKED, 2),
        ([finished("failed", "No saw."), finished("failed", "No wood.")], TaskStatus.READY, 2),
    ],
)
async def test_the_same_failure_twice_is_a_question_and_another_one_another_try(
    tmp_path: Path, steps: list[object], status: TaskStatus, tries: int
) -> None:
    hand = Hand(plans=[{"tasks": [task_of("Saw")]}], steps=steps)
    async with open_work(tmp_path, hand, most_tasks=2) as work:
        project = await work.begin("Shed", GOAL)
        await work.wake(project)
        assert (await work.task(project, "Saw")).status is status
        assert len(hand.shown["step"]) == tries


@pytest.mark.requirement("V-85")
async def test_what_is_done_in_part_stands_before_the_next_try(tmp_path: Path) -> None:
    hand = Hand(plans=[{"tasks": [task_of("Saw")]}], steps=[finished("partial", "Two boards are sawn."), finished()])
    async with open_work(tmp_path, hand, most_tasks=2) as work:
        project = await work.begin("Shed", GOAL)
        await work.wake(project)
    assert "So far: done in part: Two boards are sawn." in hand.shown["step"][1]


@pytest.mark.requirement("V-77")
async def test_after_three_plans_without_a_word_the_owner_is_asked(tmp_path: Path) -> None:
    plans: list[object] = [{"tasks": [task_of(f"Part {n}")], "success_criteria": ["It stands"]} for n in range(9)]
    hand = Hand(plans=plans)
    async with open_work(tmp_path, hand) as work:
        project = await work.begin("Shed", GOAL)
        await work.wake(project)
        await work.wake(project)
        assert len(hand.shown["plan"]) == 3
        assert [one.context_tags for one in (await work.state(project)).open_questions] == [(REACHED_TAG,)]


async def test_a_decision_whose_ground_fell_is_in_doubt_on_the_page(tmp_path: Path) -> None:
    async with open_work(tmp_path, Hand(plans=[{"tasks": [task_of("Saw", kind="ask")]}])) as work:
        project = await work.begin("Shed", GOAL)
        await work.wake(project)
        base = NewChunk("Oak is dry.", ChunkType.RESEARCH, Confidence.VERIFIED, ChunkSource.RESEARCH)
        [ground] = await work.store.knowledge.store(project.id, [base])
        newest = await work.store.orientation(project.id)
        decision = KeyDecision("Oak it is", "It is dry.", 1.0, (ground,))
        async with work.store.transaction() as transaction:
            page = Orientation("", key_decisions=(decision,))
            await work.store.put_orientation(transaction, project.id, newest, page, "goal", frozenset())
            await work.store.knowledge.mark_fallen(transaction, project.id, ground, Fall.RETRACTED, "It was wrong.")
        await work.wake(project)
        [kept] = (await work.state(project)).orientation.content.key_decisions
        assert kept.flagged_because


@pytest.mark.requirement("V-79")
async def test_the_log_that_is_looked_at_is_the_newest(tmp_path: Path) -> None:
    async with open_work(tmp_path, Hand()) as work:
        project = await work.begin("Shed", GOAL)
        for number in range(15):
            await work.clock.advance(1)
            await work.store.log.put_event(project.id, "task.done", f"Part {number}")
        assert [one.details for one in (await work.state(project)).activities] == [
            f"Part {number}" for number in range(14, 4, -1)
        ]


@pytest.mark.requirement("V-79")
async def test_an_area_that_was_just_worked_on_gives_way_to_another(tmp_path: Path) -> None:
    async with open_work(tmp_path, Hand()) as work:
        project = await work.begin("Shed", GOAL)
        new = [NewTask(title, "", TaskKind.OTHER, area) for title, area in (("Saw", "wood"), ("Paint", "colour"))]
        await put_tasks(work, project.id, *new)
        saw, paint = (await work.state(project)).tasks
        for logged in (paint, paint, paint, saw, saw, saw):
            await work.clock.advance(1)
            await work.store.log.put_event(project.id, "task.done", "A part", logged)
        assert (await work.state(project)).queue[0].title == "Paint"


async def put_tasks(work: Work, project_id: str, *tasks: NewTask) -> tuple[str, ...]:
    async with work.database.transaction() as transaction:
        return tuple(await work.store.tasks.put(transaction, project_id, tasks))
