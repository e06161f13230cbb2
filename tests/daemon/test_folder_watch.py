"""A changed file is read within a minute, unasked, and the owner is told what rests on it."""

from pathlib import Path

from reveries import protocol
from reveries.config import Home
from reveries.daemon.notices import lasting_notices
from reveries.daemon.senses.folder_watch import FolderWatch
from reveries.projects.draft_store import NewDraft
from tests.daemon.asking import ask
from tests.daemon.mind_kit import NOON, living
from tests.daemon.test_project_work import QUIET, worker
from tests.fakes.patient_clock import PatientClock


async def test_a_changed_note_is_read_without_a_wake_and_what_rests_on_it_is_told(home: Home, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    note = folder / "pump.md"
    note.write_text("The pump costs 480 EUR.\n")
    async with living(home, worker(), PatientClock(NOON), QUIET) as life:
        await ask(life.mind, protocol.CreateProject(1, "Cellar", str(folder)), protocol.ProjectDetail)
        projects = life.mind.projects
        watch = FolderWatch(projects.store, life.mind.clock, projects.follow_folder)
        await watch.look()
        [fact] = (await ask(life.mind, protocol.AskFacts(1, "Cellar"), protocol.Facts)).facts
        assert (fact.kind, fact.value, fact.unit, fact.document, fact.line) == ("amount", "480", "EUR", "pump.md", 1)
        project = await projects.store.find("Cellar")
        [chunk] = await projects.store.knowledge.of_project(project.id)
        async with projects.store.transaction() as transaction:
            draft = NewDraft("letter", "It costs 480 EUR.", (), (chunk.id,), chunk.foreign_sources)
            await projects.store.drafts.put(transaction, project.id, draft)
        assert not [line for line in await lasting_notices(life.mind) if "Cellar" in line]
        note.write_text("The pump costs 1520 EUR.\n")
        await watch.look()
        [fact] = (await ask(life.mind, protocol.AskFacts(1, "Cellar"), protocol.Facts)).facts
        assert fact.value == "1520"
        assert not (await ask(life.mind, protocol.AskFactConflicts(1, "Cellar"), protocol.FactConflicts)).conflicts
        [told] = [line for line in await lasting_notices(life.mind) if "Cellar" in line]
        assert told.startswith("Something in Cellar rests on what changed")
