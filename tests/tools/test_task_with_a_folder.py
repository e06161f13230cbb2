"""A task with a folder: what a capable model does with its tools, and what of it stands in rows and files."""

import hashlib
import json
from pathlib import Path

import httpx
import pytest

from reveries.errors import UsageError
from reveries.projects.grants import give_grant
from reveries.projects.model import NewQuestion, NewTask, Project, QuestionKind, TaskKind, TaskStatus
from reveries.tools.folder_marks import mark_folder
from reveries.tools.loop import StepState
from reveries.tools.reach import Reach
from reveries.tools.registry import ApprovalNeededError
from reveries.tools.results import ToolResult
from reveries.tools.sandbox import Sandbox, find_sandbox
from reveries.tools.web import WebTools
from tests.projects.kit import Work, asked_for, finished, open_work, task_tools, tool_services
from tests.tools.test_web import Site, resolve, text

Step = dict[str, object]
TITLE = "Look into it"


def step(tool: str, **arguments: object) -> Step:
    return {"steps": [{"tool": tool} | arguments]}


class Worker:
    """Does these steps, whatever it reads; an auditor accepts or not."""

    def __init__(self, *steps: object, accepts: bool = True) -> None:
        self.left = list(steps)
        self.accepts = accepts
        self.seen: list[str] = []
        self.audited: list[str] = []

    def __call__(self, text: str) -> object:
        match asked_for(text):
            case "step":
                self.seen.append(text)
                return self.left.pop(0) if self.left else finished("failed", "Nothing is left to do.")
            case "audit":
                self.audited.append(text)
                return {"why": "looked at it", "accepted": self.accepts}
            case "orient":
                return {
                    "vision_summary": "order", "success_criteria": [], "constraints": [], "skills": [],
                    "phase": "execution", "priorities": [],
                }  # fmt: skip
        return {"why": "fine", "serves": True}


async def begin(work: Work, folder: Path | None, *, may_write: bool = True) -> Project:
    """A project with one task."""
    project = await work.store.create("Notes", str(folder or ""), may_write=may_write)
    goal = await work.store.set_goal(project, "Put the notes in order", None)
    async with work.database.transaction() as transaction:
        await work.store.tasks.put(transaction, project.id, [NewTask(TITLE, "", TaskKind.OTHER, goal_id=goal.id)])
    return project


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "rent.md").write_text("# Rent\nThe rent is 900 euros.\n")
    (folder / "boat.md").write_text("# Boat\nThe boat is blue.\n")
    return folder


@pytest.mark.requirement("V-82", "V-14", "V-86", "V-87")
async def test_it_reads_and_writes_files_and_what_it_hands_in_is_checked_against_the_folder(
    tmp_path: Path, notes: Path
) -> None:
    worker = Worker(
        step("find_files", pattern="*"),
        step("read_file", path="rent.md", from_line=1),
        step("write_file", path="INDEX.md", text="- rent.md: 900 euros\n"),
        finished("complete", "The index is there.", files=["INDEX.md"]),
    )
    async with open_work(tmp_path, worker, most_tasks=1) as work:
        project = await begin(work, notes)
        await work.wake(project)
        task = await work.task(project, TITLE)
        assert (task.status, task.foreign_sources) == (TaskStatus.DONE, frozenset({"folder"}))
        assert (notes / "INDEX.md").read_text() == "- rent.md: 900 euros\n"
        steps = [one for one in await work.store.tasks.steps_of(task.id) if one.reach]
        assert [(one.tool, one.reach, one.state) for one in steps] == [
            ("find_files", "look", "done"), ("read_file", "look", "done"), ("write_file", "inside", "done"),
        ]  # fmt: skip
        assert steps[-1].sha256 == hashlib.sha256((notes / "INDEX.md").read_bytes()).hexdigest()
        assert [one.foreign_sources for one in steps] == [{"folder"}] * 3
        assert "    2| The rent is 900 euros." in worker.seen[-1]
        assert "file INDEX.md" in worker.audited[0]
        assert "900 euros" in worker.audited[0]


async def test_a_file_that_is_handed_in_and_is_not_there_is_not_accepted_whatever_the_auditor_says(
    tmp_path: Path, notes: Path
) -> None:
    worker = Worker(*[finished("complete", "The index is there.", files=["INDEX.md"])] * 2)
    async with open_work(tmp_path, worker, most_tasks=1) as work:
        project = await begin(work, notes)
        await work.wake(project)
        task = await work.task(project, TITLE)
        assert (task.status, worker.audited) == (TaskStatus.READY, [])
        assert "INDEX.md is not there" in task.failure


async def test_a_folder_that_may_only_be_read_offers_no_tool_that_writes(tmp_path: Path, notes: Path) -> None:
    worker = Worker(step("write_file", path="a.md", text="x"), finished())
    async with open_work(tmp_path, worker, most_tasks=1) as work:
        project = await begin(work, notes, may_write=False)
        await work.wake(project)
        assert "read_file" in worker.seen[0]
        assert "write_file" not in worker.seen[0]
        assert not (notes / "a.md").exists()
        task = await work.task(project, TITLE)
        assert [one.tool for one in await work.store.tasks.steps_of(task.id) if one.reach] == []


async def test_the_same_call_twice_in_a_row_ends_the_try(tmp_path: Path, notes: Path) -> None:
    worker = Worker(*[step("read_file", path="rent.md", from_line=1)] * 3, finished())
    async with open_work(tmp_path, worker, most_tasks=1) as work:
        project = await begin(work, notes)
        await work.wake(project)
        assert (await work.task(project, TITLE)).failure == "It did the same twice in a row: read_file."


async def test_a_task_can_be_undone_and_what_the_owner_changed_since_is_left_alone(tmp_path: Path, notes: Path) -> None:
    worker = Worker(
        step("write_file", path="INDEX.md", text="index"),
        step("edit_file", path="rent.md", old="900", new="950"),
        step("edit_file", path="boat.md", old="blue", new="red"),
        finished("complete", "Done."),
    )
    services = tool_services(tmp_path)
    async with open_work(tmp_path, worker, most_tasks=1, services=services) as work:
        project = await begin(work, notes)
        await work.wake(project)
        task = await work.task(project, TITLE)
        assert "950" in (notes / "rent.md").read_text()
        (notes / "boat.md").write_text("mine")
        undone = services.copies.restore(task.id, notes)
        assert (undone.restored, undone.left) == (("INDEX.md", "rent.md"), ("boat.md",))
        assert mark_folder(notes).keys() == {"boat.md", "rent.md"}
        assert (notes / "rent.md").read_text() == "# Rent\nThe rent is 900 euros.\n"
        assert (notes / "boat.md").read_text() == "mine"


async def test_what_the_owner_changed_between_two_runs_of_a_task_is_not_the_tasks(tmp_path: Path, notes: Path) -> None:
    services = tool_services(tmp_path)
    async with open_work(tmp_path, Worker(), services=services) as work:
        project = await begin(work, notes)
        for number in (1, 2):
            tools = await task_tools(work, project, services)
            await tools.call("write_file", {"path": f"{number}.md", "text": "by the task"})
            await tools.close()
            (notes / f"mine{number}.md").write_text("by the owner")
        undone = services.copies.restore(tools.task.id, notes)
    assert (undone.restored, undone.left) == (("1.md", "2.md"), ("mine1.md", "mine2.md"))


async def test_an_edit_that_may_have_happened_is_not_made_again_without_a_word(tmp_path: Path, notes: Path) -> None:
    """Made twice, `# Rent` would have two lines beneath it."""
    services = tool_services(tmp_path)
    async with open_work(tmp_path, Worker(), services=services) as work:
        tools = await task_tools(work, await begin(work, notes), services)
        with pytest.raises(ApprovalNeededError):
            await tools.call("edit_file", {"path": "rent.md", "old": "# Rent", "new": "# Rent\n- x"}, is_unknown=True)
        await tools.call("write_file", {"path": "rent.md", "text": "# Rent"}, is_unknown=True)
        await tools.close()


@pytest.mark.requirement("V-88", "F9")
async def test_what_reaches_out_waits_for_a_yes_and_the_same_try_goes_on_with_it(tmp_path: Path, notes: Path) -> None:
    worker = Worker(
        step("read_file", path="rent.md", from_line=1),
        step("web_search", query="rents"),
        step("web_search", query="rents"),
        finished("complete", "Looked it up."),
    )
    services = tool_services(tmp_path, web=True, search_url="http://127.0.0.1:9/search")
    async with open_work(tmp_path, worker, most_tasks=1, services=services) as work:
        project = await begin(work, notes)
        report = await work.wake(project)
        [(_, question)] = [
            one for one in await work.store.questions.list_open() if one[1].kind is QuestionKind.APPROVAL
        ]
        assert question.foreign_sources == {"folder"}
        assert json.loads(question.payload)["tool"] == "web_search"
        assert "folder" in question.context
        assert report.tasks_ended == 1
        with pytest.raises(UsageError, match="neither yes nor no"):
            await work.store.questions.answer(question.id, "perhaps")
        await work.store.questions.answer(question.id, "once")
        await work.wake(project)
        task = await work.task(project, TITLE)
        tools = [(one.tool, one.state) for one in await work.store.tasks.steps_of(task.id) if one.reach]
        # The search was made, and there was nobody at that address: the model is told, and goes on.
        assert tools == [("read_file", "done"), ("web_search", "failed")]
        assert (task.status, task.tries) == (TaskStatus.DONE, 1)


@pytest.mark.system
async def test_a_command_that_is_cited_must_have_ended_well(tmp_path: Path, notes: Path) -> None:
    worker = Worker(
        step("run_command", command="test -e missing.md", seconds=5),
        *[finished("complete", "It is there.", commands=["test -e missing.md"])] * 2,
    )
    services = tool_services(tmp_path, find_sandbox())
    async with open_work(tmp_path, worker, most_tasks=1, services=services) as work:
        project = await begin(work, notes)
        await work.wake(project)
        task = await work.task(project, TITLE)
        run, rejected = [one for one in await work.store.tasks.steps_of(task.id) if one.reach]
        assert (rejected.tool, rejected.state) == ("finish", "failed")
        assert (run.exit_code, run.sha256) == (1, hashlib.sha256(b"").hexdigest())
        assert task.failure == "not accepted: The command failed with 1: test -e missing.md."


@pytest.mark.requirement("F9")
async def test_one_yes_is_for_one_call_and_the_next_like_it_is_asked_again(tmp_path: Path) -> None:
    search = step("web_search", query="rents")
    other = step("search", query="rents")
    worker = Worker(search, search, other, search, finished("complete", "Looked it up."))
    services = tool_services(tmp_path, web=True, search_url="http://127.0.0.1:9/search")
    async with open_work(tmp_path, worker, most_tasks=1, services=services) as work:
        project = await begin(work, None)
        await work.wake(project)
        await work.answer("May it do this?", "once")
        await work.wake(project)
        task = await work.task(project, TITLE)
        assert task.status is TaskStatus.BLOCKED
        made = [one.tool for one in await work.store.tasks.steps_of(task.id) if one.reach]
        assert made == ["web_search", "search"], "the second like it was not made"
        assert [one.kind for _, one in await work.store.questions.list_open()].count(QuestionKind.APPROVAL) == 1


async def test_a_try_that_waited_for_a_yes_sees_what_it_did_before_and_a_new_try_does_not(
    tmp_path: Path, notes: Path
) -> None:
    worker = Worker(
        step("read_file", path="rent.md", from_line=1),
        step("web_search", query="rents"),
        finished("failed", "It cannot be done so."),
        finished("complete", "Done."),
    )
    services = tool_services(tmp_path, web=True, search_url="http://127.0.0.1:9/search")
    async with open_work(tmp_path, worker, most_tasks=1, services=services) as work:
        project = await begin(work, notes)
        await work.wake(project)
        await work.answer("May it do this?", "no")
        await work.wake(project)
        assert "1. read_file" in worker.seen[-1]
        await work.wake(project)
        assert "1. read_file" not in worker.seen[-1], "what failed is begun anew"


async def test_a_folder_that_may_only_be_read_lets_no_command_run_even_by_its_name(tmp_path: Path, notes: Path) -> None:
    services = tool_services(tmp_path, Sandbox("/usr/bin/bwrap"))
    async with open_work(tmp_path, Worker(), services=services) as work:
        project = await begin(work, notes, may_write=False)
        tools = await task_tools(work, project, services)
        with pytest.raises(UsageError, match="may not be called here"):
            await tools.call("run_command", {"command": "touch x"})
        await tools.close()


@pytest.mark.requirement("F9", "F3")
async def test_an_address_in_an_answer_to_a_foreign_question_is_not_the_owners_own(tmp_path: Path) -> None:
    services = tool_services(tmp_path, web=True)
    async with open_work(tmp_path, Worker(), services=services) as work:
        project = await begin(work, None)
        async with work.database.transaction() as transaction:
            for number, sources in enumerate((frozenset[str](), frozenset({"folder"}))):
                new = NewQuestion(f"Where {number}?", foreign_sources=sources)
                await work.store.questions.put(transaction, project.id, new)
        for _, question in await work.store.questions.list_open():
            await work.store.questions.answer(
                question.id, f"At https://{'theirs' if question.foreign_sources else 'mine'}.example"
            )
        tools = await task_tools(work, project, services)
        assert "https://mine.example" in "".join(tools._owner_words())
        assert "theirs" not in "".join(tools._owner_words())
        await tools.close()


@pytest.mark.requirement("V-88")
async def test_an_address_that_was_found_is_fetched_after_the_yes_and_one_that_was_not_asks_nobody(
    tmp_path: Path,
) -> None:
    page = "https://found.example/page"
    site = Site(search=httpx.Response(200, json={"results": [{"url": page}]}), page=text("The fee is 4 euros."))

    def open_web(words: str, search_url: str) -> WebTools:
        return WebTools(words, search_url, resolve, httpx.MockTransport(site))

    model = Worker(
        step("web_search", query="fee"), step("fetch", url="https://made-up.example/"), step("fetch", url=page),
        step("fetch", url=page), finished("complete", "4 euros."),
    )  # fmt: skip
    services = tool_services(tmp_path, web=True, search_url="http://searx.local/search", open_web=open_web)
    async with open_work(tmp_path, model, most_tasks=1, services=services) as work:
        project = await begin(work, None)
        for name in ("web_search", "fetch"):
            await give_grant(work.store, project, name)
        await work.wake(project)
        [held] = [one for _, one in await work.store.questions.list_open() if one.kind is QuestionKind.APPROVAL]
        assert page in held.question
        assert "web:searx.local" in held.context, "whose words may have led there"
        await work.store.questions.answer(held.id, "once")
        await work.wake(project)
        assert (await work.task(project, TITLE)).status is TaskStatus.DONE
        assert "The fee is 4 euros." in model.seen[-1]
        assert site.asked[-1][0] == "found.example"


async def test_a_command_of_which_nobody_knows_is_in_doubt_in_the_next_try_too(tmp_path: Path, notes: Path) -> None:
    services = tool_services(tmp_path, find_sandbox())
    async with open_work(tmp_path, Worker(), services=services) as work:
        tools = await task_tools(work, await begin(work, notes), services)
        run = {"command": "echo x >> log", "seconds": 60}
        await tools.steps.begin_call("read_file", {"path": "rent.md", "from_line": 1}, Reach.LOOK, frozenset(), "")
        await tools.steps.begin_call("run_command", run, Reach.INSIDE, frozenset(), "")
        async with work.database.transaction() as transaction:
            await transaction.run("projects.close_begun_steps", {"project_id": tools.task.project_id})
        assert tools.task.try_began_at is None
        assert [(one.tool, one.state) for one in await tools.earlier_calls()] == [("run_command", StepState.UNKNOWN)]
        again = await tools.steps.begin_call("run_command", run, Reach.INSIDE, frozenset(), "")
        await tools.steps.end_call(again, ToolResult("exit code 0", exit_code=0), is_done=True)
        assert await tools.earlier_calls() == []
        await tools.close()
