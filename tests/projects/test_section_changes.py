"""What a result rests on is compared line by line: growth puts nothing in doubt, a change is told as old and new."""

from pathlib import Path

import pytest

from reveries.projects.model import TaskStatus
from reveries.tools.sandbox import find_sandbox
from tests.projects.kit import Work, finished, open_work, tool_services
from tests.projects.test_worker import GOAL, Hand, task_of
from tests.tools.test_task_with_a_folder import step

MAIL = "From: the town\n\nThe stand costs 185 euros.\nPower is 40 euros.\n"
DONE = finished(outcome="The page says it.", rests_on=["k1", "k2"])


def make_hand(source: str) -> Hand:
    made = [step("read_file", path=source), step("write_file", path="page.md", text="It is so.\n"), DONE]
    verdict = {"why": "It is so.", "accepted": True, "reached": [1]}
    plan = {"tasks": [task_of("Write the page")], "success_criteria": ["It is there"]}
    return Hand(plans=[plan], steps=[*made, *made], verdicts=[verdict, verdict])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "fair"
    path.mkdir()
    (path / "mail.txt").write_text(MAIL)
    (path / "members.csv").write_text("name,paid\nAnna,100\nBen,50\n")
    (path / "notes.md").write_text("# Costs\n\n- oven 450\n- sign 64\n\n# Ideas\n\nA band would be nice.\n")
    return path


async def flagged_after(work: Work, project_id: str) -> str:
    await work.clock.advance(60.0)
    await work.work.follow_folder(project_id)
    return (await work.task(await work.store.find(project_id), "Write the page")).flagged_because


@pytest.mark.system
@pytest.mark.parametrize(
    ("source", "added"),
    [("mail.txt", "\n27 November: Sunil mended the kettle.\n"), ("notes.md", "And Ruby wants a clown.\n")],
)
async def test_a_section_that_only_grew_puts_nothing_in_doubt_and_is_not_told_as_gone(
    tmp_path: Path, folder: Path, source: str, added: str
) -> None:
    async with open_work(tmp_path, make_hand(source), services=tool_services(tmp_path, find_sandbox())) as work:
        project = await work.store.create("Fair", str(folder), may_write=True)
        await work.store.set_goal(project, GOAL, None)
        await work.wake(project)
        assert (await work.task(project, "Write the page")).status is TaskStatus.DONE
        (folder / source).write_text((folder / source).read_text() + added)
        assert not await flagged_after(work, project.id)
        assert not [words for _, words in work.told if "no longer there" in words]
        await work.wake(project)
        assert not [question for question in (await work.state(project)).open_questions if "again" in question.question]
        (folder / source).write_text((folder / source).read_text().replace("185", "195").replace("nice", "fine"))
        assert "is now “" in await flagged_after(work, project.id), "what it used is compared after the growth, too"


@pytest.mark.system
@pytest.mark.parametrize(
    ("source", "old", "new", "said"),
    [
        (
            "mail.txt", "185", "195",
            "mail.txt:3: “The stand costs 185 euros.” is now “The stand costs 195 euros.”",
        ),
        ("mail.txt", "Power is 40 euros.\n", "", "mail.txt: “Power is 40 euros.” is gone"),
        ("members.csv", "Ben,50\n", "Ben,50\nCem,70\n", "members.csv:4: “Cem,70” is new"),
        ("notes.md", "- sign 64\n", "- sign 64\n- stamps 12\n", "notes.md:5: “- stamps 12” is new"),
    ],
)  # fmt: skip
async def test_what_changed_stands_in_the_question_and_in_all_that_the_redo_is_shown(
    tmp_path: Path, folder: Path, source: str, old: str, new: str, said: str
) -> None:
    hand = make_hand(source)
    async with open_work(tmp_path, hand, services=tool_services(tmp_path, find_sandbox())) as work:
        project = await work.store.create("Fair", str(folder), may_write=True)
        await work.store.set_goal(project, GOAL, None)
        await work.wake(project)
        (folder / source).write_text((folder / source).read_text().replace(old, new))
        assert said in await flagged_after(work, project.id)
        [question] = (await work.state(project)).open_questions
        assert question.question.startswith("Shall I do it again?")
        assert said in question.question
        assert "folder" in question.foreign_sources
        await work.answer("again", "yes")
        steps = len(hand.shown["step"])
        await work.wake(project)
        assert said in hand.shown["step"][steps]


@pytest.mark.system
async def test_its_own_edit_of_a_file_puts_the_result_in_no_doubt_that_says_to_rest_on_that_file(
    tmp_path: Path, folder: Path
) -> None:
    (folder / "page.md").write_text("The stand costs 185 euros.\n\nPower is 40.\n")
    edit = step("edit_file", path="page.md", old="185", new="195")
    done = finished(outcome="It is right.", rests_on=[f"k{number}" for number in range(1, 9)])
    plan = {"tasks": [task_of("Mend the page")], "success_criteria": ["It is there"]}
    hand = Hand(plans=[plan], steps=[edit, done], verdicts=[{"why": "It is so.", "accepted": True, "reached": [1]}])
    async with open_work(tmp_path, hand, services=tool_services(tmp_path, find_sandbox())) as work:
        project = await work.store.create("Fair", str(folder), may_write=True)
        await work.store.set_goal(project, GOAL, None)
        await work.wake(project)
        task = await work.task(project, "Mend the page")
        assert task.status is TaskStatus.DONE
        assert task.rests_on, "on the notes it does rest"
        await work.clock.advance(60.0)
        await work.work.follow_folder(project.id)
        assert not (await work.task(project, "Mend the page")).flagged_because
        (folder / "mail.txt").write_text(MAIL.replace("185", "205"))
        await work.work.follow_folder(project.id)
        assert "205" in (await work.task(project, "Mend the page")).flagged_because
