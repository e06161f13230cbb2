"""What was done is remembered once, however the work ended."""

import asyncio
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from reveries.projects.model import Project, TaskStatus
from tests.projects.kit import Work, open_work
from tests.projects.test_goals_and_input import answers


async def done(work: Work, project: Project) -> list[str]:
    """What there is to remember of the tasks that are done."""
    tasks = (await work.state(project)).tasks
    return sorted(f"I worked on Shed: {one.title}. {one.outcome}" for one in tasks if one.status is TaskStatus.DONE)


async def remembered(work: Work) -> list[str]:
    return sorted(text for text, _ in await work.remembered())


@pytest.mark.requirement("V-82", "V-90")
async def test_a_word_of_the_owner_right_after_a_task_was_stored_loses_no_experience(tmp_path: Path) -> None:
    def break_off(action: str, _: str) -> None:
        if action == "done":
            raise asyncio.CancelledError

    async with open_work(tmp_path, answers) as work:
        project = await work.begin("Shed", "Build a shed")
        whole = work.work._results
        work.work._results = replace(whole, report_event=break_off)
        with pytest.raises(asyncio.CancelledError):
            await work.wake(project)
        assert await remembered(work) == await done(work, project) != []
        work.work._results = whole
        await work.wake(project)
        assert await remembered(work) == await done(work, project)
        assert len(await done(work, project)) > 1


@pytest.mark.requirement("V-82", "V-75", "V-2", "V-8")
async def test_after_a_kill_at_any_event_each_done_task_is_remembered_exactly_once(tmp_path: Path) -> None:
    (live := tmp_path / "live").mkdir()
    kills: list[Path] = []

    def copy_files(action: str, _: str) -> None:
        """A kill leaves the files as they are now. Another process copies them: this one would lose its locks."""
        if action in ("task", "done"):
            kills.append(tmp_path / f"killed {len(kills)}")
            subprocess.run(["cp", "-r", live, kills[-1]], check=True)

    async with open_work(live, answers) as work:
        project = await work.begin("Shed", "Build a shed")
        work.work._results = replace(work.work._results, report_event=copy_files)
        work.work.report_event = copy_files
        await work.wake(project)
    assert len(kills) == 6
    for killed in kills:
        async with open_work(killed, answers, first_id=500) as work:
            assert await remembered(work) == await done(work, project)
            await work.wake(project)
            assert await remembered(work) == await done(work, project)
            assert len(await done(work, project)) > 1
