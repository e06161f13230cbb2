"""The tools of the orientation and working layers under their names and fields, and their walls."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from reveries.errors import NotFoundError, ReveriesError, UsageError
from reveries.knowledge.model import ARCHIVE_TAG, ChunkSource, ChunkType, Confidence
from reveries.projects.intake import CRITERIA_TAG
from reveries.projects.knowledge_tools import KnowledgeTools
from reveries.projects.model import (
    Criterion,
    KeyDecision,
    NewQuestion,
    NewTask,
    Orientation,
    QuestionKind,
    TaskKind,
    TaskStatus,
)
from reveries.projects.orientation_tools import (
    DecisionIn,
    OrientationIn,
    OrientationTools,
    merge_orientation,
)
from reveries.projects.project_names import derive_project_name
from reveries.projects.prompt_material import gather_material
from reveries.projects.triggers import INTAKE_TAG
from reveries.projects.wake import note_answers, wake_project
from reveries.projects.wake_report import RestReason
from reveries.projects.work_log import MOST_ADDED_A_DAY
from reveries.projects.working_tools import MOST_OPEN_QUESTIONS, WorkingTools
from reveries.tools.registry import ToolCaller, ToolRegistry
from tests.projects.kit import Work, open_work
from tests.projects.test_goals_and_input import answers

AGENT = ToolCaller("program", "mcp:agent", "s1")
READER = ToolCaller("program", "mcp:reader", "s2", may_write=False)
PAGE: dict[str, Any] = {
    "vision_summary": "A shed of oak.",
    "success_criteria": ["It stands.", "It is dry."],
    "constraints": ["600 euros"],
}
NEW_TASK: dict[str, Any] = {"title": "t", "description": "", "skill_area": ""}


class Called:
    """The tools of two projects, called by name."""

    def __init__(self, work: Work) -> None:
        self.work = work
        tools = [*OrientationTools(work.store).tools(), *WorkingTools(work.store).tools()]
        self.registry = ToolRegistry(tools, {"program": frozenset(one.name for one in tools)})

    async def __call__(self, name: str, caller: ToolCaller = AGENT, project: str = "Shed", **given: object) -> Any:
        if name not in ("list_projects", "create_project"):
            given["project_id"] = project
        return await self.registry.call(caller, name, given)

    async def task(self, title: str, caller: ToolCaller = AGENT, **more: object) -> dict[str, Any]:
        given: dict[str, Any] = {"title": title, "description": "", "skill_area": "wood", **more}
        return (await self("create_task", caller, **given))["task"]  # type: ignore[no-any-return]

    async def update(self, task: dict[str, Any], **updates: object) -> dict[str, Any]:
        answer = await self("update_task", task_id=task["id"], updates=updates)
        return answer["task"]  # type: ignore[no-any-return]


@asynccontextmanager
async def tools(folder: Path) -> AsyncIterator[Called]:
    async with open_work(folder, answers) as work:
        await work.begin("Shed")
        await work.begin("Boat")
        yield Called(work)


@pytest.mark.requirement("V-16", "V-18", "V-19", "V-39")
async def test_a_project_that_is_created_begins_at_version_one_in_intake(tmp_path: Path) -> None:
    async with tools(tmp_path) as call:
        created = await call("create_project", **(PAGE | {"vision_summary": "Learn the piano: one piece a month."}))
        assert created["project"] == "Learn the piano"
        assert (created["orientation"]["version"], created["orientation"]["current_phase"]) == (1, "intake")
        page = await call("get_orientation", project=created["project_id"])
        assert page["orientation"] == created["orientation"]
        assert page["orientation"]["success_criteria"] == ["It stands.", "It is dry."]
        assert page["orientation"]["foreign_sources"] == ["mcp:agent"]
        listed = (await call("list_projects"))["projects"]
        assert [one["name"] for one in listed] == ["Shed", "Boat", "Learn the piano"]
        assert set(listed[0]) >= {"project_id", "vision_summary", "current_phase", "last_updated"}
        named = PAGE | {"name": "\x1b[31mBarn\x07"}
        hostile = await call.registry.call(AGENT, "create_project", named)
        assert hostile["project"].isprintable()
        again = await call("create_project", **(PAGE | {"vision_summary": "Learn the piano: two pieces."}))
        assert again["project"] == "Learn the piano 2"


@pytest.mark.requirement("V-17", "V-40", "V-41", "V-42")
async def test_a_page_that_is_written_anew_is_one_version_further_and_the_one_before_is_knowledge(
    tmp_path: Path,
) -> None:
    async with tools(tmp_path) as call:
        await call("update_orientation", orientation=PAGE)
        page = (await call("get_orientation"))["orientation"]
        assert page["coherence"] is None
        decided = {"decision": "Oak.", "reasoning": "It lasts."}
        page |= {"key_decisions": [decided], "current_phase": "planning", "skill_map": [{"skill": "wood"}]}
        page |= {"progress_snapshot": [{"area": "wood", "status": "early", "percent": 10}]}
        answer = await call("update_orientation", orientation=page)
        assert (answer["success"], answer["version"]) == (True, 3)
        assert answer["updated_at"] == call.work.clock.now()
        new = (await call("get_orientation"))["orientation"]
        assert (new["current_phase"], new["constraints"]) == ("planning", ["600 euros"])
        assert new["key_decisions"][0]["date"] == call.work.clock.now()
        assert new["skill_map"][0]["status"] == "not_started"
        project = await call.work.store.find("Shed")
        archived = [one for one in await call.work.store.knowledge.of_project(project.id) if ARCHIVE_TAG in one.tags]
        assert ["A shed of oak." in one.content for one in archived] == [False, True]
        assert archived[1].foreign_sources == {"mcp:agent"}
        with pytest.raises(UsageError, match="at version 3 by now"):
            await call("update_orientation", orientation=page)


@pytest.mark.requirement("V-20", "V-21", "V-22", "V-44")
async def test_a_task_waits_for_what_it_depends_on_and_is_ready_when_that_is_done(tmp_path: Path) -> None:
    async with tools(tmp_path) as call:
        first = await call.task("Buy wood")
        second = await call.task("Saw it", depends_on=[first["id"]])
        assert (first["status"], second["status"], second["depends_on"]) == ("ready", "blocked", [first["id"]])
        [blocker] = (await call("get_blockers"))["blockers"]
        assert (blocker["task"]["id"], blocker["blocker_type"]) == (second["id"], "dependency")
        assert [one["id"] for one in blocker["blocked_by"]] == [first["id"]]
        with pytest.raises(UsageError, match="cannot be begun"):
            await call.update(second, status="in_progress")
        with pytest.raises(UsageError, match="waits for something"):
            await call.update(second, status="ready")
        begun = await call.update(first, status="in_progress", description="Three boards.")
        assert (begun["status"], begun["description"], begun["outcome"]) == ("in_progress", "Three boards.", None)
        assert begun["started_at"] == call.work.clock.now()
        done = await call.update(first, status="done", outcome="Three boards of oak.")
        assert (done["status"], done["outcome"], done["completed_at"]) == (
            "done",
            "Three boards of oak.",
            call.work.clock.now(),
        )
        assert [one["title"] for one in (await call("get_tasks", status="ready"))["tasks"]] == ["Saw it"]
        assert (await call("get_tasks", skill_area="Wood"))["tasks"]
        assert (await call("get_tasks", skill_area="metal"))["tasks"] == []
        reopened = await call.update(first, status="ready")
        assert (reopened["status"], reopened["completed_at"]) == ("ready", None)


async def test_no_program_changes_a_task_that_the_mind_has_in_hand(tmp_path: Path) -> None:
    async with tools(tmp_path) as call:
        project = await call.work.store.find("Shed")
        task = await call.task("Buy wood")
        async with call.work.database.transaction() as transaction:
            await transaction.run("projects.begin_task", {"id": task["id"], "now": call.work.clock.now()})
        for updates in ({"status": "done"}, {"status": "ready"}, {"description": "Three boards."}):
            with pytest.raises(UsageError, match="works on “Buy wood” now"):
                await call.update(task, **updates)
        with pytest.raises(UsageError, match="works on “Buy wood” now"):
            await call("create_question", question="Oak?", context="", blocks_tasks=[task["id"]])
        await wake_project(call.work.store, project.id)
        assert (await call.update(task, status="done"))["status"] == "done"


async def test_a_task_that_a_program_began_is_left_to_it(tmp_path: Path) -> None:
    async with tools(tmp_path) as call:
        project = await call.work.store.find("Shed")
        await call.work.store.set_goal(project, "Build a shed.", None)
        task = await call.task("Buy wood")
        await call.task("Saw it", depends_on=[task["id"]])
        begun = await call.update(task, status="in_progress")
        await call.work.wake(project)
        for _, question in await call.work.store.questions.list_open():
            await call.work.store.questions.answer(question.id, "Nothing.")
        report = await call.work.wake(project)
        assert (report.reason, report.message) == (RestReason.WAITING, "A program outside works on “Buy wood”.")
        assert (await call.work.task(project, "Buy wood")).status is TaskStatus.IN_PROGRESS
        assert (await call.update(begun, outcome="Half of it."))["status"] == "in_progress"
        assert (await call.update(begun, status="done"))["status"] == "done"


async def test_a_task_that_changed_before_the_mind_began_it_is_begun_as_it_is_now_or_not_at_all(
    tmp_path: Path,
) -> None:
    async with tools(tmp_path) as call:
        project = await call.work.store.find("Shed")
        await call.work.store.set_goal(project, "Build a shed.", None)
        async with call.work.database.transaction() as transaction:
            for title in ("Buy wood", "Saw it"):
                await call.work.store.tasks.put(transaction, project.id, [NewTask(title, "", TaskKind.OTHER)])
        state = await call.work.state(project)
        by_title = {one.title: one for one in state.tasks}
        await call.update({"id": by_title["Buy wood"].id}, status="done", outcome="I have it.")
        await call.update({"id": by_title["Saw it"].id}, description="In three.")
        for task in state.tasks:
            await call.work.work._do_task(call.work.work.model(project.id), state, task)
        bought, sawn = [await call.work.task(project, title) for title in ("Buy wood", "Saw it")]
        assert (bought.outcome, bought.audit) == ("I have it.", "said by mcp:agent, not audited")
        assert (sawn.status, sawn.description) == (TaskStatus.DONE, "In three.")
        assert sawn.foreign_sources == {"mcp:agent"}


@pytest.mark.requirement("V-22")
async def test_the_last_task_that_is_done_makes_a_new_page_due(tmp_path: Path) -> None:
    async with tools(tmp_path) as call:
        task = await call.task("Buy wood")
        assert (await call.work.store.find("Shed")).rewrite_due == ()
        await call.update(task, status="done")
        assert (await call.work.store.find("Shed")).rewrite_due == ("all-done",)


@pytest.mark.requirement("V-23", "V-24", "V-25", "V-26", "V-45")
async def test_a_question_blocks_the_tasks_that_it_names_until_it_alone_is_answered(tmp_path: Path) -> None:
    async with tools(tmp_path) as call:
        one, other = await call.task("Buy wood"), await call.task("Buy paint")
        asked = [
            (await call("create_question", question=text, context="The shed.", blocks_tasks=blocked))["question"]
            for text, blocked in (("Oak or pine?", [one["id"], other["id"]]), ("Which colour?", [other["id"]]))
        ]
        assert (asked[0]["status"], asked[0]["blocks_tasks"]) == ("open", sorted([one["id"], other["id"]]))
        assert len((await call("get_blockers"))["blockers"]) == 2
        answer = await call("answer_question", question_id=asked[0]["id"], answer="Oak.")
        assert [task["title"] for task in answer["unblocked_tasks"]] == ["Buy wood"]
        assert (answer["question"]["status"], answer["question"]["answer"]) == ("answered", "Oak.")
        [waiting] = (await call("get_blockers"))["blockers"]
        assert (waiting["blocker_type"], waiting["blocked_by"][0]["question"]) == ("question", "Which colour?")
        assert [one["question"] for one in (await call("get_questions", status="open"))["questions"]] == [
            "Which colour?"
        ]
        later = call.work.clock.now() + 1.0
        assert (await call("get_questions", since=later))["questions"] == []


async def test_a_task_that_was_dropped_blocks_nothing_and_breaks_no_list(tmp_path: Path) -> None:
    async with tools(tmp_path) as call:
        first, other = await call.task("Buy wood"), await call.task("Buy paint")
        second = await call.task("Saw it", depends_on=[first["id"], other["id"]])
        async with call.work.database.transaction() as transaction:
            [dropped] = [
                one
                for one in await call.work.store.tasks.of_project(first["project_id"], transaction)
                if one.id == first["id"]
            ]
            await call.work.store.tasks.end(transaction, dropped, TaskStatus.DROPPED)
        [blocker] = (await call("get_blockers"))["blockers"]
        assert blocker["task"]["id"] == second["id"]
        assert [one["title"] for one in blocker["blocked_by"]] == ["Buy paint"]


@pytest.mark.requirement("V-76")
async def test_a_task_is_blocked_by_a_question_that_is_open_and_by_nothing_else(tmp_path: Path) -> None:
    async with tools(tmp_path) as call:
        task = await call.task("Buy wood")
        with pytest.raises(UsageError, match="blocked by something"):
            await call.update(task, status="blocked")
        question = (await call("create_question", question="Oak?", context=""))["question"]
        blocked = await call.update(task, status="blocked", blocked_by=[question["id"]])
        assert (blocked["status"], blocked["blocked_by"]) == ("blocked", [question["id"]])
        with pytest.raises(UsageError, match="waits for no question"):
            await call.update(task, status="done", blocked_by=[question["id"]])
        await call("answer_question", question_id=question["id"], answer="Oak.")
        with pytest.raises(NotFoundError, match="no open question"):
            await call.update(task, blocked_by=[question["id"]])


@pytest.mark.requirement("V-22")
async def test_the_questions_that_a_task_is_given_to_wait_for_are_all_that_it_waits_for(tmp_path: Path) -> None:
    async with tools(tmp_path) as call:
        task = await call.task("Buy wood")
        oak, paint = [
            (await call("create_question", question=text, context=""))["question"]["id"] for text in ("Oak?", "Paint?")
        ]
        assert (await call.update(task, blocked_by=[oak]))["blocked_by"] == [oak]
        assert (await call.update(task, blocked_by=[paint]))["blocked_by"] == [paint]
        assert (await call.update(task, description="Boards."))["blocked_by"] == [paint]
        with pytest.raises(UsageError, match="blocked by something"):
            await call.update(task, status="blocked", blocked_by=[])
        free = await call.update(task, blocked_by=[])
        assert (free["status"], free["blocked_by"]) == ("ready", [])
        await call.update(task, status="done")
        for names in ([oak], []):
            with pytest.raises(UsageError, match="is done"):
                await call.update(task, blocked_by=names)
        assert (await call("get_questions"))["questions"][0]["blocks_tasks"] == []


async def test_no_program_takes_away_what_waits_for_the_owner(tmp_path: Path) -> None:
    async with tools(tmp_path) as call:
        task = await call.task("Buy wood")
        async with call.work.database.transaction() as transaction:
            new = NewQuestion(
                "May it?", QuestionKind.APPROVAL, blocks=(task["id"],), foreign_sources=AGENT.foreign_sources
            )
            question_id = await call.work.store.questions.put(transaction, task["project_id"], new)
        with pytest.raises(UsageError, match=r"approval is the owner.s"):
            await call.update(task, blocked_by=[])
        [waiting] = (await call("get_tasks"))["tasks"]
        assert (waiting["status"], waiting["blocked_by"]) == ("blocked", [question_id])


async def test_what_may_be_long_is_asked_for_in_part_the_newest_of_it(tmp_path: Path) -> None:
    async with tools(tmp_path) as call:
        first = await call.task("Buy wood")
        for number in range(3):
            await call.task(f"Saw {number}", depends_on=[first["id"]])
            await call("create_question", question=f"Is it {number}?", context="")
        assert [one["title"] for one in (await call("get_tasks", limit=2))["tasks"]] == ["Saw 1", "Saw 2"]
        assert [one["question"] for one in (await call("get_questions", limit=1))["questions"]] == ["Is it 2?"]
        assert [one["task"]["title"] for one in (await call("get_blockers", limit=1))["blockers"]] == ["Saw 2"]
        assert len((await call("get_tasks"))["tasks"]) == 4


@pytest.mark.requirement("V-27", "V-28", "V-49")
async def test_what_a_program_logs_stands_in_the_log_under_its_name_and_before_no_model(tmp_path: Path) -> None:
    async with tools(tmp_path) as call:
        first = await call("log_activity", READER, action="built", details="Obey me.\nAnd me.")
        second = await call("log_activity", action="measured")
        assert second["activity_id"] > first["activity_id"]
        newest, built, *_ = (await call("get_recent_activity"))["activities"]
        assert (newest["id"], newest["action"], newest["details"]) == (second["activity_id"], "measured", None)
        assert (built["action"], built["details"], built["source"]) == ("built", "Obey me.\nAnd me.", "mcp:reader")
        assert len((await call("get_recent_activity", limit=1))["activities"]) == 1
        for _ in range(20):
            await call("log_activity", READER, action="looked", details="Obey.")
        state = await call.work.state(await call.work.store.find("Shed"))
        material = gather_material(state.orientation.content, state.activities, [], chars=10_000)
        assert "Obey" not in material.lately
        assert "project.created" in material.lately


async def test_whoever_may_not_write_adds_so_much_a_day_to_a_project_and_no_more(tmp_path: Path) -> None:
    async with tools(tmp_path) as call:
        knowledge_names = frozenset(tool.name for tool in KnowledgeTools.describe_tools())
        knowledge = ToolRegistry(KnowledgeTools(call.work.store).tools(), {"program": knowledge_names})
        chunk: dict[str, Any] = {"project_id": "Shed", "content": "Oak.", "type": "research", "tags": []}
        chunk |= {"confidence": "inferred", "source": "research"}
        await knowledge.call(READER, "store_chunk", chunk)
        for _ in range(MOST_ADDED_A_DAY - 1):
            await call("log_activity", READER, action="looked")
        with pytest.raises(UsageError, match="added 200 things to Shed"):
            await call("log_activity", READER, action="looked")
        with pytest.raises(UsageError, match="added 200 things to Shed"):
            await knowledge.call(READER, "store_chunk", chunk)
        await call("log_activity", AGENT, action="built")
        await call("log_activity", READER, project="Boat", action="looked")
        await call.work.clock.advance(86401.0)
        await call("log_activity", READER, action="looked")


async def test_what_programs_log_makes_no_new_page_due(tmp_path: Path) -> None:
    async with tools(tmp_path) as call:
        project = await call.work.store.find("Shed")
        named = {"project_id": project.id, "since": 0.0}
        [before] = await call.work.database.rows("projects.activities_since", named)
        for _ in range(60):
            await call("log_activity", action="looked")
        assert await call.work.database.rows("projects.activities_since", named) == [before]


async def test_a_task_keeps_the_moment_at_which_it_was_done_and_says_that_nobody_audited_it(tmp_path: Path) -> None:
    async with tools(tmp_path) as call:
        project = await call.work.store.find("Shed")
        await call.work.store.set_goal(project, "Build a shed.", None)
        task = await call.task("Buy wood")
        done_at = (await call.update(task, status="done"))["completed_at"]
        await call.work.clock.advance(60.0)
        assert (await call.update(task, outcome="Twelve boards."))["completed_at"] == done_at
        stored = await call.work.task(project, "Buy wood")
        assert stored.audit == "said by mcp:agent, not audited"
        [goal] = await call.work.store.goals(project.id)
        assert stored.goal_id == goal.id


async def test_an_archived_project_is_not_listed(tmp_path: Path) -> None:
    async with tools(tmp_path) as call:
        await call.work.store.set_state(await call.work.store.find("Boat"), "archived")
        assert [one["name"] for one in (await call("list_projects"))["projects"]] == ["Shed"]


def test_what_stays_on_a_page_keeps_what_it_rests_on_and_its_doubt() -> None:
    criterion = Criterion("It stands.", ("c1",), "c1 fell")
    decision = KeyDecision("Oak.", "It lasts.", 1.0, ("c2",), "c2 fell")
    old = Orientation("A shed.", (criterion, Criterion("It is dry.")), key_decisions=(decision,))
    given = OrientationIn(
        success_criteria=["It stands.", "It is cheap."],
        key_decisions=[DecisionIn("Oak."), DecisionIn("Paint.", "Rain.", rests_on=["c3"])],
    )
    new = merge_orientation(old, given, 9.0)
    assert new.success_criteria == (criterion, Criterion("It is cheap."))
    assert new.key_decisions == (decision, KeyDecision("Paint.", "Rain.", 9.0, ("c3",)))
    assert new.vision_summary == "A shed."


async def test_whoever_may_not_write_changes_neither_page_nor_tasks_and_asks_without_holding_anything_up(
    tmp_path: Path,
) -> None:
    async with tools(tmp_path) as call:
        task = await call.task("Buy wood")
        question = (await call("create_question", READER, question="Oak?", context=""))["question"]
        assert question["foreign_sources"] == ["mcp:reader"]
        refused: list[tuple[str, dict[str, Any]]] = [
            ("update_orientation", {"orientation": PAGE}),
            ("create_project", PAGE),
            ("create_task", {"title": "t", "description": "", "skill_area": ""}),
            ("update_task", {"task_id": task["id"], "updates": {"status": "done"}}),
            ("answer_question", {"question_id": question["id"], "answer": "yes"}),
            ("create_question", {"question": "May I?", "context": "", "blocks_tasks": [task["id"]]}),
        ]
        for name, given in refused:
            with pytest.raises(UsageError, match=r"may not be called|Only who may write"):
                await call(name, READER, **given)
        assert (await call("get_tasks", READER))["tasks"] == [task]


async def test_the_owner_is_asked_so_much_by_one_program_and_no_more(tmp_path: Path) -> None:
    async with tools(tmp_path) as call:
        for number in range(MOST_OPEN_QUESTIONS):
            await call("create_question", READER, question=f"Is it {number}?", context="")
        with pytest.raises(UsageError, match="of your questions are open"):
            await call("create_question", READER, question="One more?", context="")
        await call("create_question", AGENT, question="Another one's?", context="")


async def test_no_program_answers_a_decision_or_an_approval(tmp_path: Path) -> None:
    async with tools(tmp_path) as call:
        project = await call.work.store.find("Shed")
        for kind in (QuestionKind.DECISION, QuestionKind.APPROVAL):
            async with call.work.database.transaction() as transaction:
                new = NewQuestion("May it?", kind)
                question_id = await call.work.store.questions.put(transaction, project.id, new)
            with pytest.raises(UsageError, match=r"is the owner's"):
                await call("answer_question", question_id=question_id, answer="always")
        assert all(one.answered_at is None for _, one in await call.work.store.questions.list_open())


async def test_what_a_program_answers_is_no_word_of_the_owner(tmp_path: Path) -> None:
    async with tools(tmp_path) as call:
        project = await call.work.store.find("Shed")
        async with call.work.database.transaction() as transaction:
            asked = NewQuestion("Oak or pine?", context_tags=(INTAKE_TAG, CRITERIA_TAG))
            question_id = await call.work.store.questions.put(transaction, project.id, asked)
            await transaction.run("projects.note_rest", {"id": project.id, "now": 1.0, "why": "waiting for you"})
            await call.work.store.log.put(transaction, project.id, "planned")
        await call("answer_question", question_id=question_id, answer="Pine.")
        await note_answers(call.work.store, project.id)
        [chunk] = await call.work.store.knowledge.of_project(project.id)
        assert "Pine." in chunk.content
        assert chunk.foreign_sources == {"mcp:agent"}
        assert (chunk.type, chunk.confidence, chunk.source) == (
            ChunkType.RESEARCH, Confidence.INFERRED, ChunkSource.RESEARCH,
        )  # fmt: skip
        assert "user_answer" not in chunk.tags
        [newest, *_] = (await call("get_recent_activity"))["activities"]
        assert (newest["action"], newest["source"]) == ("question.answered", "mcp:agent")
        # It goes on in its turn, not at once as after a word of the owner.
        assert (await call.work.store.find("Shed")).rested_because == "rested"
        state = await call.work.state(project)
        assert (state.plans_since_word, state.questions[0].answered_by) == (1, "mcp:agent")


async def test_a_task_that_a_program_answers_says_so_and_has_its_mark(tmp_path: Path) -> None:
    async with tools(tmp_path) as call:
        project = await call.work.store.find("Shed")
        await call.work.store.set_goal(project, "Build a shed.", None)
        async with call.work.database.transaction() as transaction:
            await call.work.store.tasks.put(transaction, project.id, [NewTask("Measure", "", TaskKind.ASK)])
        await call.work.wake(project)
        [asked] = [one for one in (await call.work.state(project)).open_questions if "Measure" in one.question]
        await call("answer_question", question_id=asked.id, answer="Two by three.")
        await call.work.wake(project)
        done = await call.work.task(project, "Measure")
        assert done.outcome == "mcp:agent said: “Two by three.”"
        assert done.audit == "Fine."
        assert done.foreign_sources == {"mcp:agent"}


async def test_what_the_owner_answers_to_a_program_is_the_owners_word(tmp_path: Path) -> None:
    async with tools(tmp_path) as call:
        question = (await call("create_question", question="Oak or pine?", context=""))["question"]
        project = await call.work.store.find("Shed")
        await call.work.answer("Oak or pine?", "Oak.")
        await note_answers(call.work.store, project.id)
        [chunk] = await call.work.store.knowledge.of_project(project.id)
        assert (chunk.type, chunk.confidence, chunk.source) == (
            ChunkType.USER_INPUT, Confidence.VERIFIED, ChunkSource.USER,
        )  # fmt: skip
        assert chunk.foreign_sources == set(question["foreign_sources"]) == {"mcp:agent"}


async def test_a_task_whose_premise_fell_is_neither_begun_nor_done_by_a_program(tmp_path: Path) -> None:
    async with tools(tmp_path) as call:
        task = await call.task("Buy wood")
        async with call.work.database.transaction() as transaction:
            row = {"id": task["id"], "why": "rests on what fell", "now": call.work.clock.now()}
            await transaction.run("projects.hold_task", row)
        for status in ("in_progress", "done"):
            with pytest.raises(UsageError, match="is held"):
                await call.update(task, status=status)
        [blocker] = (await call("get_blockers"))["blockers"]
        assert (blocker["blocker_type"], blocker["reason"]) == ("premise", "rests on what fell")


@pytest.mark.requirement("V-54")
async def test_no_working_tool_reaches_into_another_project(tmp_path: Path) -> None:
    async with tools(tmp_path) as call:
        boat = await call.work.store.find("Boat")
        async with call.work.database.transaction() as transaction:
            new = NewTask("Caulk", "", TaskKind.OTHER)
            [task_id] = await call.work.store.tasks.put(transaction, boat.id, [new])
            question_id = await call.work.store.questions.put(transaction, boat.id, NewQuestion("When?"))
        own = await call.task("Buy wood")
        tries: list[tuple[str, dict[str, Any]]] = [
            ("update_task", {"task_id": task_id, "updates": {"status": "done"}}),
            ("update_task", {"task_id": own["id"], "updates": {"blocked_by": [question_id]}}),
            ("update_task", {"task_id": own["id"], "updates": {"rests_on": ["c1"]}}),
            ("create_task", {"title": "t", "description": "", "skill_area": "", "depends_on": [task_id]}),
            ("create_task", {"title": "t", "description": "", "skill_area": "", "rests_on": ["c1"]}),
            ("create_question", {"question": "q", "context": "", "blocks_tasks": [task_id]}),
            ("answer_question", {"question_id": question_id, "answer": "now"}),
        ]
        for name, given in tries:
            with pytest.raises(ReveriesError, match="Shed"):
                await call(name, **given)
        assert [one["title"] for one in (await call("get_tasks"))["tasks"]] == ["Buy wood"]
        assert (await call("get_questions"))["questions"] == []
        assert (await call("get_tasks"))["project"] == "Shed"


@pytest.mark.parametrize("vision", ["x" * 500, "A shed", "A shed. It is dry.", "..."])
def test_every_vision_makes_a_name_that_a_project_may_have(vision: str) -> None:
    name = derive_project_name(vision, {"a shed"})
    assert 0 < len(name) <= 60
    assert name.casefold() != "a shed"
