"""Files that projects read, as the daemon is asked for them."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from reveries import protocol
from reveries.client.features.knowledge import know_page
from reveries.config import Home
from reveries.daemon.mind import Mind
from reveries.errors import DocumentError, NotFoundError
from reveries.llm.base import Role
from reveries.llm.tier import Tier
from reveries.projects.document_tools import FoundPlace, PlaceOut
from tests.client.test_looking_pages import text_of
from tests.daemon.asking import ask
from tests.daemon.mind_kit import NOON, Living, living
from tests.daemon.test_project_work import QUIET, worker
from tests.fakes.documents import LOCKED, ScriptedDocumentReader
from tests.fakes.patient_clock import PatientClock
from tests.memory.forgetting.test_forgetting import bytes_left
from tests.projects.test_document_reading import CANOPY

NAME = "Canopy"


@dataclass
class Reading:
    """A mind with a project that reads."""

    life: Living
    reader: ScriptedDocumentReader
    folder: Path

    @property
    def mind(self) -> Mind:
        return self.life.mind

    def file(self, name: str, text: str | bytes = CANOPY) -> str:
        path = self.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    async def add(self, name: str, text: str | bytes = CANOPY) -> protocol.DocumentAdded:
        return await ask(self.mind, protocol.AddDocument(1, NAME, self.file(name, text)), protocol.DocumentAdded)

    async def read_all(self) -> protocol.Documents:
        return await ask(self.mind, protocol.AwaitDocuments(1, NAME), protocol.Documents)


@asynccontextmanager
async def reading_mind(home: Home, folder: Path, first_id: int = 0) -> AsyncIterator[Reading]:
    reader = ScriptedDocumentReader()
    os.makedirs(folder, exist_ok=True)  # noqa: PTH103 - a test may block

    async def open_reader() -> ScriptedDocumentReader:
        return reader

    async with living(home, worker(), PatientClock(NOON), QUIET, first_id=first_id) as life:
        life.mind.documents._open_reader = open_reader
        if not first_id:
            await ask(life.mind, protocol.CreateProject(1, NAME), protocol.ProjectDetail)
        yield Reading(life, reader, folder)


async def test_a_file_is_added_read_shown_and_removed(home: Home, tmp_path: Path) -> None:
    async with reading_mind(home, tmp_path / "mine") as reading:
        added = await reading.add("plans.pdf")
        assert (added.addition, added.document.number) == ("new", 1)
        [entry] = (await reading.read_all()).documents
        assert (entry.reading, entry.pages, entry.page_count) == ("complete", 2, 2)
        whole = await ask(reading.mind, protocol.AskDocument(1, NAME, "plans"), protocol.DocumentPages)
        assert [(page.number, page.text) for page in whole.pages] == [(1, ""), (2, "")]
        single = await ask(reading.mind, protocol.AskDocument(1, NAME, "d1", 1), protocol.DocumentPages)
        assert single.pages[0].text.startswith("Roof:")
        assert [pointer.short_id for pointer in single.pointers] == ["d1.p1.b1", "d1.p1.b2"]
        assert single.pointers[0].boxes[0].page == 1
        image = await ask(reading.mind, protocol.AskPageImage(1, NAME, "d1", 2), protocol.PageImage)
        assert image.png.endswith(b"page 2")
        with pytest.raises(NotFoundError, match="Page 9"):
            await ask(reading.mind, protocol.AskDocument(1, NAME, "d1", 9))
        left = await ask(reading.mind, protocol.RemoveDocument(1, NAME, "d1"), protocol.Documents)
        assert (left.documents, left.message.count("3 places")) == ([], 1)


async def test_the_same_file_again_is_said_to_be_there_and_a_changed_one_is_a_newer_version(
    home: Home, tmp_path: Path
) -> None:
    async with reading_mind(home, tmp_path / "mine") as reading:
        await reading.add("plans.pdf")
        assert (await reading.add("again.pdf")).addition == "present"
        newer = await reading.add("plans.pdf", "Another text.")
        assert (newer.addition, newer.document.version) == ("newer", 2)
        [entry] = (await reading.read_all()).documents
        assert (entry.reading, entry.pages) == ("complete", 1)


async def test_while_a_newer_version_cannot_be_read_the_earlier_one_still_answers(home: Home, tmp_path: Path) -> None:
    async with reading_mind(home, tmp_path / "mine") as reading:
        await reading.add("plans.pdf")
        await reading.read_all()
        await reading.add("plans.pdf", LOCKED)
        [entry] = (await reading.read_all()).documents
        assert (entry.version, entry.reading, entry.failure) == (2, "failed", "encrypted")
        known = await ask(reading.mind, protocol.AskChunks(1, NAME, "What opens outward?"), protocol.Chunks)
        assert [place.text for place in known.places] == ["Door D12 opens outward."]
        await reading.add("plans.pdf", "Door D12 opens inward.")
        await reading.read_all()
        known = await ask(reading.mind, protocol.AskChunks(1, NAME, "What opens inward?"), protocol.Chunks)
        assert [place.text for place in known.places] == ["Door D12 opens inward."]


async def test_what_cannot_be_read_says_why_and_can_be_tried_again(home: Home, tmp_path: Path) -> None:
    async with reading_mind(home, tmp_path / "mine") as reading:
        await reading.add("secret.pdf", LOCKED)
        [entry] = (await reading.read_all()).documents
        assert (entry.reading, entry.failure) == ("failed", "encrypted")
        again = await ask(reading.mind, protocol.RetryDocument(1, NAME, "secret"), protocol.Documents)
        assert again.documents[0].reading == "pending"
        with pytest.raises(DocumentError, match="empty"):
            await reading.add("empty.pdf", b"")


async def test_an_error_of_ours_ends_no_other_occupation_and_the_document_is_given_up_after_three(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with reading_mind(home, tmp_path / "mine") as reading:

        async def fail(*_: object, **__: object) -> None:
            raise ZeroDivisionError

        monkeypatch.setattr(reading.reader, "inspect", fail)
        await reading.add("plans.pdf")
        for _ in range(20):
            await reading.life.clock.advance(61)
        [entry] = (await ask(reading.mind, protocol.AskDocuments(1, NAME), protocol.Documents)).documents
        assert (entry.reading, entry.failure) == ("failed", "crashed")


async def asked(reading: Reading, words: str, reply: str) -> tuple[protocol.Replied, str]:
    """Say something that the model answers with `reply`; returns the end of the turn, and the prompt."""
    reading.life.model.add(reply)
    replied = await ask(reading.mind, protocol.Say(1, words), protocol.Replied)
    prompt = next(one for one in reversed(reading.life.model.prompts) if one.role is Role.CONVERSATION)
    return replied, "\n".join(message.text for message in prompt.messages)


@pytest.mark.requirement("F1")
async def test_a_capable_model_is_offered_places_and_what_it_cites_is_checked_stored_and_shown_after_a_reload(
    home: Home, tmp_path: Path
) -> None:
    async with reading_mind(home, tmp_path / "mine") as reading:
        await reading.add("plans.pdf")
        await reading.read_all()
        reply = "It carries “2.5 kN/m2 of snow” [d1.p1.b1]. Doors are green [d1.p2.b9]. It holds 99 people [d1.p1.b2]."
        replied, prompt = await asked(reading, "How much snow does the canopy of Canopy carry?", reply)
        assert "d1.p1.b1, plans.pdf, page 1: somebody else wrote: Roof: The canopy carries 2.5 kN/m2 of snow." in prompt
        states = {one.short_id: one.state for one in replied.citations}
        assert states == {"d1.p1.b1": "on_page", "d1.p2.b9": "not_offered", "d1.p1.b2": "not_on_page"}
        link = replied.citations[0]
        assert (link.document, link.page_number, link.quote) == ("plans.pdf", 1, "2.5 kN/m2 of snow")
        assert [box.page for box in link.boxes] == [1]
        turns = await ask(reading.mind, protocol.AskTurns(1), protocol.Turns)
        assert turns.turns[-1].citations == replied.citations


async def test_for_a_small_model_the_place_is_found_and_quoted_by_code(home: Home, tmp_path: Path) -> None:
    async with reading_mind(home, tmp_path / "mine") as reading:
        reading.mind.conversation.turns.tier = lambda: Tier.SMALL
        await reading.add("plans.pdf")
        await reading.read_all()
        replied, _ = await asked(reading, "How much snow does the canopy of Canopy carry?", "It carries a lot.")
        [found] = replied.citations
        assert (found.state, found.made_by, found.quote) == (
            "on_page", "rules", "The canopy carries 2.5 kN/m2 of snow.",
        )  # fmt: skip


async def test_what_no_document_says_is_said_not_to_be_there(home: Home, tmp_path: Path) -> None:
    async with reading_mind(home, tmp_path / "mine") as reading:
        await reading.add("plans.pdf")
        await reading.read_all()
        replied, prompt = await asked(reading, "Canopy: who was mayor of Lisbon?", "The documents do not say it.")
        assert "nothing fits these words: plans.pdf" in prompt
        assert [(one.state, one.document) for one in replied.citations] == [("not_in_documents", "plans.pdf")]


async def test_knowledge_shows_places_and_says_what_it_looked_at(home: Home, tmp_path: Path) -> None:
    async with reading_mind(home, tmp_path / "mine") as reading:
        await reading.add("plans.pdf")
        await reading.read_all()
        known = await ask(reading.mind, protocol.AskChunks(1, NAME, "What opens outward?"), protocol.Chunks)
        assert [place.short_id for place in known.places] == ["d1.p2.b1"]
        assert "d1.p2.b1" in text_of(know_page(known))
        unknown = await ask(reading.mind, protocol.AskChunks(1, NAME, "Who was mayor of Lisbon?"), protocol.Chunks)
        assert (unknown.places, unknown.looked_at) == ((), ("plans.pdf",))
        assert "Not in these documents: looked at plans.pdf" in text_of(know_page(unknown))


SECRET = "zanzibar"


@pytest.mark.requirement("F10")
@pytest.mark.parametrize("way", ["document", "matching"])
async def test_an_erased_document_leaves_no_byte_in_the_home_nor_in_a_backup(
    home: Home, tmp_path: Path, way: str
) -> None:
    text = f"{CANOPY}\n\nThe vault under the old house in {SECRET} holds all the silver of the family since 1904."
    async with reading_mind(home, tmp_path / "mine") as reading:
        await reading.add(f"{SECRET}.pdf", text)
        await reading.read_all()
        quote = f"The vault under the old house in {SECRET} holds all the silver of the family since 1904."
        await asked(reading, "Canopy: what does the vault under the old house hold?", f"{quote} [d1.p2.b2]")
        await reading.mind.backups.back_up()
        assert len(list((home.backups / "originals").iterdir())) == 1
        assert bytes_left(home.path, SECRET)
        forget = protocol.Forget(1, erase=True, dry_run=False)
        if way == "document":
            forget = msgspec.structs.replace(forget, document="d1", project=NAME)
        else:
            forget = msgspec.structs.replace(forget, matching=SECRET)
        forgotten = await ask(reading.mind, forget, protocol.Forgotten)
        assert {store.store: store.gone for store in forgotten.stores}.get("turns") == 2
        assert bytes_left(home.path, SECRET) == []
        known = await ask(reading.mind, protocol.AskChunks(1, NAME, "silver in the vault"), protocol.Chunks)
        assert known.places == ()
        if way == "document":
            assert (await ask(reading.mind, protocol.AskDocuments(1, NAME), protocol.Documents)).documents == []
    assert bytes_left(home.path, SECRET) == []


async def test_a_restored_backup_has_its_files_again(home: Home, tmp_path: Path) -> None:
    async with reading_mind(home, tmp_path / "mine") as reading:
        await reading.add("plans.pdf")
        await reading.read_all()
        await reading.mind.backups.back_up()
        (kept,) = home.originals.iterdir()
        kept.unlink()
    async with reading_mind(home, tmp_path / "mine", first_id=10**6) as reading:
        await reading.life.clock.advance(61)
        await reading.read_all()
        assert kept.exists()


async def test_files_that_no_backup_has_any_more_leave_the_backups(home: Home, tmp_path: Path) -> None:
    async with reading_mind(home, tmp_path / "mine") as reading:
        await reading.add("plans.pdf")
        await reading.read_all()
        name = await reading.mind.backups.back_up()
        await ask(reading.mind, protocol.RemoveDocument(1, NAME, "d1"), protocol.Documents)
        await reading.life.clock.advance(3600)
        await reading.mind.backups.back_up()
        assert len(list((home.backups / "originals").iterdir())) == 1
        (home.backups / name).unlink()
        await reading.life.clock.advance(3600)
        await reading.mind.backups.back_up()
        assert list((home.backups / "originals").iterdir()) == []


async def call_tool(reading: Reading, tool: str, **given: object) -> dict[str, object]:
    """Call a tool as a program that may only read does."""
    arguments = msgspec.json.encode({"project_id": NAME, **given})
    wanted = protocol.CallTool(1, "agent", tool, arguments)
    answer = await ask(reading.mind, wanted, protocol.ToolAnswered)
    decoded: dict[str, object] = msgspec.json.decode(answer.answer)
    return decoded


@pytest.mark.requirement("M-121")
async def test_a_program_finds_a_place_opens_it_and_reads_its_page(home: Home, tmp_path: Path) -> None:
    async with reading_mind(home, tmp_path / "mine") as reading:
        await reading.add("plans.pdf")
        await reading.read_all()
        found = await call_tool(reading, "search_knowledge", query="How much snow does the canopy carry?", limit=1)
        [place] = msgspec.convert(found["places"], list[FoundPlace])
        assert (place.place.short_id, found["not_in_documents"]) == ("d1.p1.b1", False)
        for name in (place.place.pointer_id, "d1.p1.b1"):
            opened = await call_tool(reading, "read_pointer", pointer_id=name)
            assert msgspec.convert(opened["place"], PlaceOut) == place.place
            assert msgspec.convert(opened["next"], PlaceOut).text == "The posts are of larch."
        page = await call_tool(reading, "read_page", document="plans.pdf", page=2)
        assert page["text"] == "Doors:\nDoor D12 opens outward."
        missing = await call_tool(reading, "search_knowledge", query="Who was mayor of Lisbon?")
        assert (missing["not_in_documents"], missing["looked_at"]) == (True, ["plans.pdf"])
        for tool, given in (("read_pointer", {"pointer_id": "d9.p1.b1"}), ("read_page", {"document": "x", "page": 1})):
            with pytest.raises(NotFoundError):
                await call_tool(reading, tool, **given)
