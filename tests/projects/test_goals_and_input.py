"""The owner's words: goals, answers, bad input. One sentence each, nothing half-done."""

from pathlib import Path

import pytest

from reveries.errors import NotFoundError, ReveriesError, UsageError
from reveries.knowledge.model import ARCHIVE_TAG
from reveries.projects.model import NewTask, QuestionStatus, TaskKind, TaskStatus
from reveries.projects.wake import wake_project
from reveries.projects.wake_report import RestReason
from tests.projects.kit import Work, asked_for, finished, open_work, planned, task_in


def answers(text: str) -> object:
    match asked_for(text):
        case "plan":
            task = {"description": "", "kind": "find_out", "skill_area": "shed", "depends_on": [], "rests_on": []}
            return planned(text, [{"title": f"Look into part {n}"} | task for n in (1, 2, 3)])
        case "orient":
            page = {"vision_summary": text.partition("Goal, in Ana's words: ")[2].partition("\n")[0], "skills": []}
            return page | {"success_criteria": [], "constraints": [], "phase": "research", "priorities": []}
        case "audit":
            return {"why": "Fine.", "accepted": True}
        case _:
            return finished()


async def counts(work: Work) -> dict[str, int]:
    tables = ("projects", "goals", "tasks", "questions", "activities", "chunks", "orientation")
    rows = [await work.database.rows(f"forget.words_of_{table}") for table in tables]
    return {table: len(found) for table, found in zip(tables, rows, strict=True)}


@pytest.mark.requirement("V-19")
@pytest.mark.parametrize("name", ["", "   ", "x" * 61, "shed", " SHED "])
async def test_a_name_that_is_none_or_is_taken_is_refused_and_nothing_is_stored(tmp_path: Path, name: str) -> None:
    async with open_work(tmp_path, answers) as work:
        await work.begin("Shed")
        before = await counts(work)
        with pytest.raises(UsageError):
            await work.store.create(name)
        assert await counts(work) == before


async def test_an_unknown_project_is_named_beside_those_there_are(tmp_path: Path) -> None:
    async with open_work(tmp_path, answers) as work:
        await work.begin("Shed")
        with pytest.raises(NotFoundError, match="There is no project 'Boat'") as error:
            await work.store.find("Boat")
        assert "Shed" in error.value.advice


async def test_no_project_is_named_like_the_id_of_another_and_an_id_finds_its_own(tmp_path: Path) -> None:
    async with open_work(tmp_path, answers, new_id=lambda: "0123456789abcdef") as work:
        shed = await work.begin("Shed")
        for name in ("0123456789abcdef", "FEDCBA9876543210", "0123", "01234567"):
            with pytest.raises(UsageError, match="reads like an id"):
                await work.begin(name)
        async with work.database.transaction() as transaction:
            await transaction.run("projects.put", {"id": "2", "name": shed.id, "now": work.clock.now()})
        assert (await work.store.find(shed.id)).name == "Shed"


@pytest.mark.requirement("V-50")
@pytest.mark.parametrize("text", ["", "  \n ", "x" * 100_000])
async def test_a_goal_of_nothing_or_of_100_kb_is_refused_and_nothing_is_stored(tmp_path: Path, text: str) -> None:
    async with open_work(tmp_path, answers) as work:
        project = await work.begin("Shed")
        before = await counts(work)
        with pytest.raises(UsageError):
            await work.store.set_goal(project, text, None)
        assert await counts(work) == before


@pytest.mark.requirement("V-25")
async def test_a_question_is_answered_once_and_its_answer_becomes_a_chunk_once(tmp_path: Path) -> None:
    async with open_work(tmp_path, answers) as work:
        project = await work.begin("Shed", "Build a shed")
        await work.wake(project)
        question = (await work.state(project)).open_questions[0]
        await work.store.questions.answer(question.id[:6], "For bicycles")
        with pytest.raises(ReveriesError, match="answered already"):
            await work.store.questions.answer(question.id, "For boats")
        with pytest.raises(NotFoundError):
            await work.store.questions.answer("nothing", "x")
        with pytest.raises(UsageError):
            await work.store.questions.answer(question.id, " ")
        for _ in range(3):
            await wake_project(work.store, project.id)
        chunks = await work.store.knowledge.of_project(project.id)
        assert [one.content for one in chunks if one.type.value == "user_input"] == [
            "Q: What is it for?\nA: For bicycles"
        ]


@pytest.mark.requirement("V-50", "V-90", "V-77")
async def test_a_new_goal_waits_for_the_task_in_hand_then_drops_what_was_open_and_plans_anew(tmp_path: Path) -> None:
    async with open_work(tmp_path, answers, most_tasks=1) as work:
        project = await work.begin("Shed", "Build a shed")
        assert (await work.wake(project)).reason is RestReason.RESTED
        await work.store.set_goal(project, "Build a boat", 2.0)
        waiting = await work.state(project)
        assert waiting.goal is not None
        assert waiting.pending_goal is not None
        assert (waiting.goal.text, waiting.pending_goal.text) == ("Build a shed", "Build a boat")
        await work.wake(project)
        state = await work.state(project)
        assert state.goal is not None
        assert (state.goal.text, state.pending_goal) == ("Build a boat", None)
        old = [one.status for one in state.tasks if one.goal_id != state.goal.id]
        assert old == [TaskStatus.DONE, TaskStatus.DROPPED, TaskStatus.DROPPED]
        assert state.orientation.content.vision_summary == "Build a boat"


async def test_the_model_writes_a_new_orientation_without_the_old_ones_among_what_is_known(tmp_path: Path) -> None:
    pages: list[str] = []

    def noting(text: str) -> object:
        if asked_for(text) == "orient":
            pages.append(text)
        return answers(text)

    async with open_work(tmp_path, noting) as work:
        project = await work.begin("Shed", "Build a shed")
        await work.wake(project)
        await work.store.set_goal(project, "Build a boat", None)
        await work.wake(project)
        archived = [one.title for one in await work.store.knowledge.of_project(project.id) if ARCHIVE_TAG in one.tags]
        assert len(archived) > 1
        assert "Build a boat" in pages[-1]
        assert not [title for title in archived if title in pages[-1]]


@pytest.mark.requirement("V-21", "V-24", "V-26")
async def test_a_task_waits_for_what_it_needs_and_for_its_questions_and_is_then_released(tmp_path: Path) -> None:
    async with open_work(tmp_path, answers) as work:
        project = await work.begin("Shed", "Build a shed")
        async with work.database.transaction() as transaction:
            first = NewTask("Measure", "", TaskKind.ASK)
            [measure] = await work.store.tasks.put(transaction, project.id, [first])
            second = NewTask("Buy wood", "", TaskKind.FIND_OUT, needs=(measure,))
            await work.store.tasks.put(transaction, project.id, [second])
        assert (await work.task(project, "Buy wood")).status is TaskStatus.BLOCKED
        goal = (await work.state(project)).goal
        assert goal is not None
        await work.wake(project)
        assert (await work.task(project, "Measure")).status is TaskStatus.BLOCKED
        await work.answer("Measure", "Two by three metres")
        assert (await work.task(project, "Measure")).status is TaskStatus.READY
        await work.wake(project)
        assert (await work.task(project, "Measure")).outcome == "You said: “Two by three metres”"
        assert (await work.task(project, "Buy wood")).status is TaskStatus.DONE


@pytest.mark.requirement("V-84", "V-85", "V-88")
async def test_research_comes_first_once_and_what_fails_in_the_same_way_twice_ends_in_a_question(
    tmp_path: Path,
) -> None:
    def stubborn(text: str) -> object:
        if asked_for(text) != "step":
            return answers(text)
        if task_in(text) == "Look into part 1":
            return finished("needs_research", topic="timber")
        if task_in(text) == "Look into part 2":
            return finished("failed", "There is no saw.")
        return finished()

    async with open_work(tmp_path, stubborn) as work:
        project = await work.begin("Shed", "Build a shed")
        await work.wake(project)
        state = await work.state(project)
        research = [one for one in state.tasks if one.title == "Research: timber"]
        assert len(research) == 1
        assert research[0].status is TaskStatus.DONE
        first = await work.task(project, "Look into part 1")
        assert (first.status, first.needs) == (TaskStatus.BLOCKED, (research[0].id,))
        second = await work.task(project, "Look into part 2")
        assert (second.status, second.failure) == (TaskStatus.BLOCKED, "There is no saw.")
        asked = [one for one in state.questions if second.id in one.blocks]
        assert [one.status for one in asked] == [QuestionStatus.OPEN]


async def test_a_word_on_what_was_false_holds_what_rests_on_it_and_asks(tmp_path: Path) -> None:
    async with open_work(tmp_path, answers) as work:
        from reveries.projects.documents import chunks_of_text, note_fallen_chunk

        project = await work.begin("Shed", "Build a shed")
        [name] = await work.store.knowledge.store(
            project.id, chunks_of_text("notes", "Oak costs 20 euros.", is_own=True)
        )
        async with work.database.transaction() as transaction:
            goal = (await work.store.goals(project.id, transaction))[0]
            new = NewTask("Buy oak", "", TaskKind.FIND_OUT, rests_on=(name,), goal_id=goal.id)
            await work.store.tasks.put(transaction, project.id, [new])
        await note_fallen_chunk(work.store, project, name[:4], "It was pine")
        await work.wake(project)
        state = await work.state(project)
        held = await work.task(project, "Buy oak")
        assert held.status is TaskStatus.BLOCKED
        assert "notes" in held.held_because
        assert any("no longer holds" in one.question for one in state.open_questions)
        assert not await work.store.knowledge.search.hybrid(project.id, "oak euros", 5)
