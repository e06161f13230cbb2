"""A file that the owner gives a project: it is kept, read page by page, found by words and by meaning, and replaced."""

import hashlib
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from reveries.clock import Deadline
from reveries.errors import DocumentError, DocumentFault, NotFoundError, UsageError
from reveries.knowledge.document_search import FoundPointer
from reveries.knowledge.documents import Document, DocumentReading, read_document
from reveries.knowledge.pages import Pointer, read_pages, read_pointers
from reveries.projects.document_library import Addition, DocumentLibrary
from reveries.projects.document_reading import BATCH_PAGES, MOST_TRIES, DocumentReadingSteps
from reveries.projects.model import Project
from tests.fakes.documents import LOCKED, WITHOUT_LAYER, ScriptedDocumentReader
from tests.projects.kit import Work, open_work
from tests.projects.test_goals_and_input import answers

CANOPY = "Roof:\nThe canopy carries 2.5 kN/m2 of snow.\n\nThe posts are of larch.\fDoors:\nDoor D12 opens outward."


@dataclass
class Desk:
    """A project with its library and what reads for it."""

    work: Work
    project: Project
    library: DocumentLibrary
    steps: DocumentReadingSteps
    reader: ScriptedDocumentReader
    folder: Path

    async def add(self, name: str, text: str | bytes) -> tuple[Document, Addition]:
        path = self.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        added = await self.library.add(self.project, path)
        return added.document, added.addition

    async def read_all(self) -> None:
        deadline = Deadline.after(1e9, self.work.clock)
        while (
            await self.steps.read_some(deadline, lambda: False)
            or await self.steps.embed_some(deadline, lambda: False)
            or await self.steps.recognise_next()
        ):
            pass

    async def now(self, document: Document) -> Document:
        found = await read_document(self.work.database, document.id)
        assert found is not None
        return found

    async def pointers(self, document: Document) -> list[Pointer]:
        pages = await read_pages(self.work.database, await self.now(document))
        return await read_pointers(self.work.database, page_ids=[page.id for page in pages])

    async def find(self, question: str, limit: int = 5) -> list[FoundPointer]:
        return await self.work.store.knowledge.places.find(self.project.id, question, limit)


@asynccontextmanager
async def open_desk(home: Path) -> AsyncIterator[Desk]:
    async with open_work(home, answers) as work:
        project = await work.begin("Canopy")
        yield await desk_of(work, project, home)


async def desk_of(work: Work, project: Project, home: Path, first_id: int = 10**6) -> Desk:
    reader = ScriptedDocumentReader()
    library = DocumentLibrary(work.store, work.database, home / "originals", home / "backups" / "originals")
    ids = iter(range(first_id, 10**9))
    steps = DocumentReadingSteps(work.store, library, work.database, reader, work.clock, lambda: f"i{next(ids)}")
    folder = home / "mine"
    folder.mkdir(exist_ok=True)
    return Desk(work, project, library, steps, reader, folder)


@pytest.mark.requirement("M-19", "M-20", "M-22", "M-23", "M-25")
async def test_a_file_is_read_into_pages_and_pointers_with_boxes_and_found_by_its_words(tmp_path: Path) -> None:
    async with open_desk(tmp_path) as desk:
        document, addition = await desk.add("plans.pdf", CANOPY)
        assert (addition, document.reading) == (Addition.NEW, DocumentReading.PENDING)
        await desk.read_all()
        done = await desk.now(document)
        assert (done.reading, done.page_count) == (DocumentReading.COMPLETE, 2)
        found = (await desk.find("How much snow does the canopy carry?"))[0]
        assert found.pointer.text == "The canopy carries 2.5 kN/m2 of snow."
        assert (found.pointer.title, found.pointer.page_number, found.short_id) == ("Roof", 1, "d1.p1.b1")
        [placed] = found.pointer.boxes
        assert (placed.page, placed.box.x, placed.box.width) == (1, 0.1, 0.8)
        [chunk] = await desk.work.store.knowledge.named(desk.project.id, [found.pointer.id])
        assert chunk.title == "plans.pdf › page 1: Roof"
        assert chunk.foreign_sources


async def test_what_it_says_is_foreign_and_is_no_note_of_the_project(tmp_path: Path) -> None:
    async with open_desk(tmp_path) as desk:
        await desk.add("plans.pdf", CANOPY)
        await desk.read_all()
        assert all(item.pointer.foreign_sources for item in await desk.find("canopy"))
        assert await desk.work.store.knowledge.of_project(desk.project.id) == []
        assert await desk.work.store.knowledge.search.hybrid(desk.project.id, "canopy snow", 5) == []


async def test_the_original_is_kept_once_and_closed_to_others(tmp_path: Path) -> None:
    async with open_desk(tmp_path) as desk:
        document, _ = await desk.add("plans.pdf", CANOPY)
        same, addition = await desk.add("copy of plans.pdf", CANOPY)
        assert (addition, same.id) == (Addition.PRESENT, document.id)
        [file] = (tmp_path / "originals").iterdir()
        assert file.name == hashlib.sha256(CANOPY.encode()).hexdigest()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.requirement("M-28", "M-29")
async def test_reading_goes_on_after_it_broke_off_without_losing_or_doubling_a_page(tmp_path: Path) -> None:
    text = "\f".join(f"This is sheet {number}.\n\nIt has {number} doors." for number in range(1, 41))
    async with open_desk(tmp_path) as desk:
        document, _ = await desk.add("plans.pdf", text)
        await desk.steps.read_some(Deadline.after(0, desk.work.clock), lambda: True)
        broken_off = await desk.now(document)
        assert broken_off.reading is DocumentReading.PROCESSING
        assert len(await read_pages(desk.work.database, broken_off)) == BATCH_PAGES
    async with open_work(tmp_path, answers, first_id=5000) as work:  # The next wake.
        desk = await desk_of(work, await work.store.find("Canopy"), tmp_path, first_id=10**8)
        await desk.steps.reset_broken_off()
        assert (await desk.now(document)).reading is DocumentReading.PENDING
        await desk.read_all()
        assert desk.reader.read_pages[0] == BATCH_PAGES + 1
        assert [page.number for page in await read_pages(work.database, document)] == list(range(1, 41))
        texts = [pointer.text for pointer in await desk.pointers(document)]
        assert len(texts) == len(set(texts)) == 80


@pytest.mark.requirement("M-32")
async def test_a_reader_that_ends_is_asked_three_times_and_what_was_read_stays(tmp_path: Path) -> None:
    async with open_desk(tmp_path) as desk:
        document, _ = await desk.add("plans.pdf", CANOPY)
        desk.reader.fails_at = [2] * (MOST_TRIES + 1)  # With the first try, page 1 came.
        await desk.read_all()
        failed = await desk.now(document)
        assert (failed.reading, failed.failure) == (DocumentReading.FAILED, DocumentFault.CRASHED)
        assert (await desk.find("canopy snow"))[0].pointer.page_number == 1
        await desk.library.retry(await desk.library.find(desk.project, "plans"))
        await desk.read_all()
        assert (await desk.now(document)).reading is DocumentReading.COMPLETE
        assert [page.number for page in await read_pages(desk.work.database, document)] == [1, 2]


async def test_a_file_that_ends_the_mind_at_each_wake_is_given_up(tmp_path: Path) -> None:
    async with open_desk(tmp_path) as desk:
        document, _ = await desk.add("plans.pdf", CANOPY)
        for _ in range(MOST_TRIES):
            with pytest.raises(KeyboardInterrupt):
                await desk.steps.read_some(Deadline.after(1, desk.work.clock), _end_of_the_mind)
            # Nothing of it was kept, as when the process is killed before a page is stored.
            async with desk.work.database.transaction() as transaction:
                await transaction.run_text("DELETE FROM pages")
                await transaction.run_text(f"UPDATE documents SET tries = {_ + 1}")
            await desk.steps.reset_broken_off()
        assert (await desk.now(document)).failure is DocumentFault.CRASHED


def _end_of_the_mind() -> bool:
    raise KeyboardInterrupt


async def test_an_encrypted_file_is_refused_at_once_with_its_reason(tmp_path: Path) -> None:
    async with open_desk(tmp_path) as desk:
        document, _ = await desk.add("secret.pdf", LOCKED)
        await desk.read_all()
        failed = await desk.now(document)
        assert (failed.reading, failed.failure, failed.tries) == (DocumentReading.FAILED, DocumentFault.ENCRYPTED, 1)


async def test_a_missing_an_empty_and_a_file_that_is_none_are_refused_and_leave_nothing(tmp_path: Path) -> None:
    async with open_desk(tmp_path) as desk:
        (desk.folder / "empty.pdf").touch()
        for name, fault in (("none.pdf", DocumentFault.MISSING), ("empty.pdf", DocumentFault.EMPTY)):
            with pytest.raises(DocumentError) as refused:
                await desk.library.add(desk.project, desk.folder / name)
            assert refused.value.fault is fault
        with pytest.raises(DocumentError, match="is not a file"):
            await desk.library.add(desk.project, desk.folder)
        assert await desk.library.standings(desk.project) == []
        assert list((tmp_path / "originals").iterdir()) == []


async def test_pages_without_a_text_layer_are_read_from_their_picture(tmp_path: Path) -> None:
    async with open_desk(tmp_path) as desk:
        document, _ = await desk.add("scan.pdf", f"{CANOPY}\f{WITHOUT_LAYER}The permit is number 4711.")
        await desk.read_all()
        assert desk.reader.recognised == [3]
        [found, *_] = await desk.find("What is the number of the permit?")
        assert (found.pointer.page_number, found.pointer.text) == (3, "The permit is number 4711.")
        assert (await read_pages(desk.work.database, document, 3, 3))[0].text_from.value == "ocr"


async def test_in_a_newer_version_what_is_unchanged_keeps_its_id_and_what_left_falls_with_what_rests_on_it(
    tmp_path: Path,
) -> None:
    newer = "A page was put before.\fRoof:\nThe canopy carries 3.5 kN/m2 of snow.\n\nThe posts are of larch."
    async with open_desk(tmp_path) as desk:
        document, _ = await desk.add("plans.pdf", CANOPY)
        await desk.read_all()
        before = {pointer.text: pointer.id for pointer in await desk.pointers(document)}
        _, addition = await desk.add("plans.pdf", newer)
        assert addition is Addition.NEWER
        await desk.read_all()
        after = {pointer.text: pointer for pointer in await desk.pointers(document)}
        moved = after["The posts are of larch."]
        assert (moved.id, moved.page_number) == (before["The posts are of larch."], 2)
        assert "The canopy carries 3.5 kN/m2 of snow." in after
        [fallen] = await desk.work.store.knowledge.named(
            desk.project.id, [before["The canopy carries 2.5 kN/m2 of snow."]]
        )
        assert fallen.fell_because
        assert "2.5" not in " ".join(item.pointer.text for item in await desk.find("How much snow?"))
        assert len(list((tmp_path / "originals").iterdir())) == 1


async def test_a_document_that_is_removed_is_found_no_more_and_its_file_is_gone(tmp_path: Path) -> None:
    async with open_desk(tmp_path) as desk:
        await desk.add("plans.pdf", CANOPY)
        await desk.read_all()
        fallen = await desk.library.remove(desk.project, await desk.library.find(desk.project, "d1"))
        assert fallen == 3
        assert await desk.find("canopy snow") == []
        assert list((tmp_path / "originals").iterdir()) == []
        with pytest.raises(NotFoundError):
            await desk.library.find(desk.project, "plans.pdf")


async def test_retrying_what_did_not_fail_says_so(tmp_path: Path) -> None:
    async with open_desk(tmp_path) as desk:
        await desk.add("plans.pdf", CANOPY)
        await desk.read_all()
        with pytest.raises(UsageError, match="Nothing of plans"):
            await desk.library.retry(await desk.library.find(desk.project, "d1"))
