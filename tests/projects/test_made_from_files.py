"""What was made from a file of the folder is flagged when it changes, whatever was made and however it was read."""

from pathlib import Path

import pytest

from reveries.projects.attempt_evidence import find_used_files
from reveries.projects.model import TaskFile, TaskKind, TaskStatus, WorkTask
from reveries.projects.premise import find_changed_files
from reveries.projects.prompt_material import describe_orientation
from reveries.projects.triggers import is_shown_reached
from reveries.tools.sandbox import find_sandbox
from tests.projects.kit import finished, open_work, tool_services
from tests.projects.test_worker import GOAL, Hand, task_of
from tests.tools.test_task_with_a_folder import step

PROGRAM = "import json, pathlib\nprint(sum(json.loads(pathlib.Path('stalls.json').read_text())))\n"
REPORT = "The hall costs 300 euros.\n"
MADE_BY = {
    "a text, from a note that was read": (
        "hall.md", [step("read_file", path="hall.md"), step("write_file", path="report.md", text=REPORT)],
    ),
    "a sum, by a program from a file that is no note": (
        "stalls.json",
        [
            step("write_file", path="add.py", text=PROGRAM),
            step("run_command", command="python3 add.py > sum.txt", seconds=9),
        ],
    ),
    "a schedule, by a command with a pattern": (
        "days.ics", [step("run_command", command="cat *.ics | sort > schedule.txt", seconds=9)],
    ),
    "a decision, which makes no file": ("hall.md", [step("search_files", text="300", path=".")]),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "choir"
    path.mkdir()
    (path / "hall.md").write_text(REPORT)
    (path / "stalls.json").write_text("[1, 2]")
    (path / "days.ics").write_text("SUMMARY:Fair\n")
    (path / "other.md").write_text("Nobody reads this.\n")
    return path


@pytest.mark.system
@pytest.mark.parametrize("kind", MADE_BY)
async def test_what_was_made_from_a_file_is_flagged_as_soon_as_it_changes_and_nothing_is_done_before_a_yes(
    tmp_path: Path, folder: Path, kind: str
) -> None:
    source, steps = MADE_BY[kind]
    reached = [{"why": "It is so.", "accepted": True, "reached": [1]}] * 2
    plan = {"tasks": [task_of("Do it")], "success_criteria": ["It is there"]}
    hand = Hand(plans=[plan], steps=[*steps, finished(), *steps], verdicts=reached)
    async with open_work(tmp_path, hand, services=tool_services(tmp_path, find_sandbox())) as work:
        project = await work.store.create("Choir", str(folder), may_write=True)
        await work.store.set_goal(project, GOAL, None)
        await work.wake(project)
        assert (await work.task(project, "Do it")).status is TaskStatus.DONE
        for name in ("other.md", "report.md"):
            (folder / name).write_text("Somebody else wrote here.\n")
        await work.work.follow_folder(project.id)
        assert not (await work.task(project, "Do it")).flagged_because
        (folder / source).write_text((folder / source).read_text().replace("3", "4").replace("1", "7") + "\n")
        await work.work.follow_folder(project.id)
        assert f"rests on {source}, which changed" in (await work.task(project, "Do it")).flagged_because
        requests = hand.requests
        await work.wake(project)
        [question] = (await work.state(project)).open_questions
        assert question.question.startswith(f"Shall I do it again? “Do it” rests on {source}")
        assert hand.requests == requests
        await work.answer("again", "yes")
        await work.wake(project)
        assert (await work.task(project, "Bring up to date: Do it")).status is TaskStatus.DONE
        assert f"It was done, and rests on {source}, which changed" in hand.shown["step"][-1]
        # What is to be done is known; only of a decision, which makes no file, nothing shows that it was made anew.
        plans = 2 if kind == "a decision, which makes no file" else 1
        assert (len(hand.shown["plan"]), hand.shown["orient"]) == (plans, [])
        await work.work.follow_folder(project.id)
        assert not (await work.state(project)).open_questions or "again" not in str(
            (await work.state(project)).open_questions
        )


async def test_a_result_that_its_owner_leaves_as_it_is_is_in_doubt_no_more(tmp_path: Path, folder: Path) -> None:
    hand = Hand(
        plans=[{"tasks": [task_of("Do it")], "success_criteria": ["It is there"]}],
        steps=[*MADE_BY["a text, from a note that was read"][1], finished()],
        verdicts=[{"why": "It is so.", "accepted": True, "reached": [1]}],
    )
    async with open_work(tmp_path, hand) as work:
        project = await work.store.create("Choir", str(folder), may_write=True)
        await work.store.set_goal(project, GOAL, None)
        await work.wake(project)
        (folder / "hall.md").write_text("The hall costs 310 euros.\n")
        await work.work.follow_folder(project.id)
        found = await work.store.read_facts(project.id)
        assert "report.md" not in found.documents, "what was made from the notes is told as no second note"
        assert not found.conflicts
        [criterion] = (await work.state(project)).page.success_criteria
        assert "which changed" in criterion.flagged_because
        assert "(REACHED)" not in describe_orientation((await work.state(project)).page)
        assert (await work.state(project)).shown_phase != "complete"
        await work.answer("again", "leave it")
        requests = hand.requests
        await work.wake(project)
        assert hand.requests == requests, "nothing new was said"
        assert not (await work.task(project, "Do it")).flagged_because
        state = await work.state(project)
        assert is_shown_reached(state)
        assert state.shown_phase == "complete"
        assert "(REACHED)" in describe_orientation(state.page)


def test_a_file_is_used_where_its_path_its_name_or_a_pattern_of_it_stands_in_what_was_done() -> None:
    paths = ["a.csv", "sub/b.csv", "c d.txt", "notes/e.md", "f"]
    assert find_used_files(paths, ["open('./a.csv')"]) == ["a.csv"]
    assert find_used_files(paths, ["cat sub/*.csv"]) == ["sub/b.csv"]
    assert find_used_files(paths, ["Path('sub').glob('*.csv')"]) == ["a.csv", "sub/b.csv"]
    assert find_used_files(paths, ["It stands in e.md."]) == ["notes/e.md"]
    assert find_used_files(paths, ["wc -l 'c d.txt'"]) == ["c d.txt"]
    assert find_used_files(paths, ["print(2 * 3)"]) == []


def test_bold_words_of_a_report_that_was_written_are_no_patterns_and_use_no_file() -> None:
    paths = ["Budget 2027.csv", "budget.csv", "notes/total.md", "list-of-guests.csv"]
    report = "**budget** and *total*, __not__ this:\n* list\n* **guests**: 12\n\nSee total.md."
    assert find_used_files(paths, [], [report]) == ["notes/total.md"]
    assert find_used_files(paths, ["# **guests** come later\nopen('budget.csv')"]) == ["budget.csv"]


def test_what_a_later_task_made_of_a_file_is_no_change_from_outside() -> None:
    def done(name: str, at: float, *files: TaskFile) -> WorkTask:
        return WorkTask(
            name,
            "",
            TaskKind.OTHER,
            goal_id="g",
            id=name,
            project_id="p",
            status=TaskStatus.DONE,
            completed_at=at,
            files=tuple(files),
        )

    first = done("first", 1, TaskFile("a", "1", is_made=False))
    second = done("second", 2, TaskFile("a", "2", is_made=True))
    assert find_changed_files([first, second], {"a": "2"}) == {}
    assert find_changed_files([first, second], {"a": "3"}) == {"first": "a"}
    assert find_changed_files([first], {}) == {"first": "a"}, "it is gone"
