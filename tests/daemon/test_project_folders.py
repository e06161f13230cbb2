"""Folders, grants and undo of projects, by requests to the daemon."""

import asyncio
import hashlib
from pathlib import Path

import pytest

from reveries import protocol
from reveries.config import Home
from reveries.errors import ReveriesError
from reveries.projects.model import NewTask, TaskKind
from reveries.projects.work_observers import StepRows, ignore_event
from reveries.tools.folder_copies import FolderCopies
from reveries.tools.reach import Reach
from reveries.tools.results import ToolResult
from tests.daemon.asking import ask
from tests.daemon.mind_kit import NOON, Living, living
from tests.daemon.test_project_work import QUIET, worker
from tests.fakes.patient_clock import PatientClock


async def create(life: Living, folder: Path, *, may_write: bool = False) -> protocol.ProjectLine:
    asked = protocol.CreateProject(1, folder.name, str(folder), may_write)
    return (await ask(life.mind, asked, protocol.ProjectDetail)).project


@pytest.mark.requirement("F9")
async def test_a_folder_that_is_there_is_only_read_and_one_that_is_made_is_the_projects_own(
    home: Home, tmp_path: Path
) -> None:
    there, mine, made = tmp_path / "there", tmp_path / "mine", tmp_path / "new" / "made"
    there.mkdir()
    mine.mkdir()
    async with living(home, worker(), PatientClock(NOON), QUIET) as life:
        assert not (await create(life, there)).may_write
        assert (await create(life, mine, may_write=True)).may_write
        assert (await create(life, made)).may_write
        for folder in (home.path, home.path / "logs", Path("/"), Path("relative")):
            with pytest.raises(ReveriesError):
                await create(life, folder)
        none = await ask(life.mind, protocol.SetProjectFolder(1, "mine", "", True), protocol.ProjectDetail)
        assert (none.project.folder, none.project.may_write) == ("", False)
    assert made.is_dir()


async def test_a_task_is_undone_once_not_while_its_project_is_worked_on_and_not_after_something_was_forgotten(
    home: Home, tmp_path: Path
) -> None:
    folder, copies = tmp_path / "notes", FolderCopies(home.folder_copies)
    folder.mkdir()
    (folder / "a.md").write_text("before")
    async with living(home, worker(), PatientClock(NOON), QUIET) as life:
        line = await create(life, folder, may_write=True)
        store = life.mind.projects.store
        async with store.transaction() as transaction:
            [task_id] = await store.tasks.put(transaction, line.project_id, [NewTask("Change it", "", TaskKind.OTHER)])
        await asyncio.to_thread(copies.ensure_copy, task_id, folder)
        (folder / "a.md").write_text("after")
        await asyncio.to_thread(copies.record_end, task_id, folder)
        undo = protocol.UndoTask(1, "notes", "Change it")
        life.mind.projects._at_work = line.project_id
        with pytest.raises(ReveriesError, match="is being worked on"):
            await ask(life.mind, undo, protocol.TaskUndone)
        life.mind.projects._at_work = ""
        undone = await ask(life.mind, undo, protocol.TaskUndone)
        assert (undone.restored, (folder / "a.md").read_text()) == (["a.md"], "before")
        await asyncio.to_thread(copies.ensure_copy, task_id, folder)
        await life.say("My dentist is called Zorro.")
        await ask(life.mind, protocol.Forget(1, matching="Zorro", dry_run=False, erase=True), protocol.Forgotten)
        assert not copies.has(task_id, folder)


async def test_of_a_task_that_was_killed_only_what_its_rows_say_it_wrote_is_undone(home: Home, tmp_path: Path) -> None:
    folder, copies = tmp_path / "notes", FolderCopies(home.folder_copies)
    folder.mkdir()
    async with living(home, worker(), PatientClock(NOON), QUIET) as life:
        line = await create(life, folder, may_write=True)
        store = life.mind.projects.store
        async with store.transaction() as transaction:
            [task_id] = await store.tasks.put(transaction, line.project_id, [NewTask("Change it", "", TaskKind.OTHER)])
        await asyncio.to_thread(copies.ensure_copy, task_id, folder)
        [task] = await store.tasks.of_project(line.project_id)
        steps = StepRows(store, task, ignore_event)
        for tool, name in (("write_file", "its.md"), ("read_file", "mine.md")):
            (folder / name).write_text(name)
            digest = hashlib.sha256(name.encode()).hexdigest()
            reach = Reach.INSIDE if tool == "write_file" else Reach.LOOK
            position = await steps.begin_call(tool, {}, reach, frozenset(), "")
            await steps.end_call(position, ToolResult("", path=name, sha256=digest), is_done=True)
        undone = await ask(life.mind, protocol.UndoTask(1, "notes", "Change it"), protocol.TaskUndone)
    assert (undone.restored, undone.left) == (["its.md"], ["mine.md"])


async def test_what_is_granted_is_listed_and_taken_back(home: Home) -> None:
    async with living(home, worker(), PatientClock(NOON), QUIET) as life:
        await ask(life.mind, protocol.CreateProject(1, "Shed"), protocol.ProjectDetail)
        given = await ask(life.mind, protocol.GiveGrant(1, "Shed", "fetch"), protocol.Grants)
        listed = await ask(life.mind, protocol.AskGrants(1, "Shed"), protocol.Grants)
        assert given.grants == listed.grants
        assert [(one.kind, one.name, one.task) for one in listed.grants] == [("tool", "fetch", "")]
        assert (await ask(life.mind, protocol.RevokeGrant(1, "Shed", "fetch"), protocol.Grants)).grants == []
