"""A document that is added again as it is now: what it says no more counts no more."""

from collections.abc import Sequence
from pathlib import Path

from reveries.llm.base import Vectors
from reveries.llm.tier import Tier
from reveries.projects.document_texts import DocumentText, build_documents
from reveries.projects.documents import DocumentChange, update_document
from reveries.projects.model import NewTask, Project, TaskKind, TaskStatus
from reveries.projects.sections import split_text
from tests.memory.kit import WordEmbedder
from tests.projects.kit import Work, open_work
from tests.projects.test_folder import known as known_in_folder
from tests.projects.test_folder import small
from tests.projects.test_goals_and_input import answers

FIRST = "# Rent\n\nThe flat is in Mill Lane.\n\n# Deposit\n\nTwo months, in cash.\n\n# Cellar\n\nIt is dry.\n"
SECOND = "# Rent\n\nThe flat is in Mill Lane.\n\n# Deposit\n\nThree months, by bank.\n"


class CountingEmbedder(WordEmbedder):
    """Remembers which texts it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    async def embed(self, texts: Sequence[str]) -> Vectors:
        self.texts += texts
        return await super().embed(texts)


async def texts_now(work: Work, project: Project) -> list[DocumentText]:
    return build_documents(await work.store.knowledge.of_project(project.id))


async def standing(work: Work, project: Project) -> set[str]:
    return {one.content for one in await work.store.knowledge.of_project(project.id) if one.stands}


async def changed(work: Work, project: Project, name: str, text: str, path: str = "") -> DocumentChange:
    """Add a text of the owner's."""
    return (await update_document(work.store, project, name, text, is_own=True, path=path)).change


def test_a_hash_in_code_or_in_properties_is_no_heading() -> None:
    fence = "```python\n# not a heading\nprint('x')\n```"
    trip = f"# Trip ##\n\nBy train.\n\n{fence}\n\n    # nor this\n"
    text = f"---\n# comment\nbudget: 1200\n---\n\n{trip}\nTown\n====\nGhent\n\n#tag\n"
    titles = {one.title: one.content for one in split_text("trip.md", text, is_own=True)}
    assert list(titles) == ["trip.md", "trip.md › Trip", "trip.md › Town"]
    assert fence in titles["trip.md › Trip"]
    assert titles["trip.md › Town"] == "Ghent\n\n#tag"


async def test_sections_that_are_gone_fall_and_those_that_stayed_are_kept_and_not_embedded_again(
    tmp_path: Path,
) -> None:
    embedder = CountingEmbedder()
    async with open_work(tmp_path, answers, embedder=embedder) as work:
        project = await work.begin("Flat", "Find a flat")
        first = await changed(work, project, "lease.md", FIRST)
        await update_document(work.store, project, "other.md", FIRST, is_own=True)
        assert (len(first.stored), first.retired) == (3, 0)
        embedder.texts.clear()
        second = await changed(work, project, "lease.md", SECOND)
        assert (len(second.stored), second.retired) == (1, 2)
        assert [text for text in embedder.texts if "Mill Lane" in text] == []
        chunks = await work.store.knowledge.of_project(project.id)
        fallen = {one.title: one.fell_because for one in chunks if not one.stands}
        assert set(fallen) == {"lease.md › Deposit", "lease.md › Cellar"}
        assert fallen["lease.md › Cellar"] == "it stands no more in lease.md"
        again = await changed(work, project, "lease.md", SECOND)
        assert (list(again.stored), again.retired) == ([], 0)
        back = await changed(work, project, "lease.md", FIRST)
        assert (len(back.stored), back.retired) == (2, 1)
        assert await standing(work, project) == {
            "The flat is in Mill Lane.", "Two months, in cash.", "It is dry.",
        }  # fmt: skip


async def test_what_rested_on_a_section_that_is_gone_is_held_and_the_project_wakes_for_it(tmp_path: Path) -> None:
    async with open_work(tmp_path, answers) as work:
        project = await work.begin("Flat", "Find a flat")
        change = await changed(work, project, "lease.md", FIRST)
        async with work.database.transaction() as transaction:
            goal = (await work.store.goals(project.id, transaction))[0]
            new = NewTask("Use the cellar", "", TaskKind.FIND_OUT, rests_on=(change.stored[2],), goal_id=goal.id)
            await work.store.tasks.put(transaction, project.id, [new])
            await transaction.run("projects.note_rest", {"id": project.id, "now": work.clock.now(), "why": "done"})
        await update_document(work.store, project, "lease.md", SECOND, is_own=True)
        assert (await work.store.find(project.id)).rested_because == ""
        await work.wake(project)
        task = await work.task(project, "Use the cellar")
        assert task.status is TaskStatus.BLOCKED
        assert "Cellar" in task.held_because


async def test_a_value_that_went_and_came_back_is_known_again(tmp_path: Path) -> None:
    """The second form replaced the first; when the first is back, the project must not know neither."""
    embedder = WordEmbedder("all-minilm-l6-v2 of words")
    async with open_work(tmp_path, answers, embedder=embedder) as work:
        project = await work.begin("Flat", "Find a flat")
        for rent in (900, 950, 900):
            text = f"# Rent\n\nThe rent of the flat is {rent} euros."
            await update_document(work.store, project, "lease.md", text, is_own=True)
            assert await standing(work, project) == {f"The rent of the flat is {rent} euros."}


async def test_two_files_of_one_name_are_two_documents_and_each_is_updated_from_its_own_place(tmp_path: Path) -> None:
    async with open_work(tmp_path, answers) as work:
        project = await work.begin("Flat", "Find a flat")
        await changed(work, project, "notes.md", "The flat is in Mill Lane.", "/home/ana/flat/notes.md")
        await changed(work, project, "notes.md", "The boat lies in the harbour.", "/home/ana/boat/notes.md")
        assert await standing(work, project) == {"The flat is in Mill Lane.", "The boat lies in the harbour."}
        await changed(work, project, "notes.md", "The boat is sold.", "/home/ana/boat/notes.md")
        assert await standing(work, project) == {"The flat is in Mill Lane.", "The boat is sold."}
        documents = await work.store.knowledge.documents(project.id)
        assert [document.name for document in documents] == ["notes.md", "boat/notes.md"]
        texts = {document.name: document.text for document in await texts_now(work, project)}
        assert texts == {"notes.md": "The flat is in Mill Lane.", "boat/notes.md": "The boat is sold."}


async def test_a_text_that_came_without_a_place_is_updated_by_the_file_of_its_name(tmp_path: Path) -> None:
    """As an earlier version, or an older command, added it."""
    async with open_work(tmp_path, answers) as work:
        project = await work.begin("Flat", "Find a flat")
        await changed(work, project, "flat/notes.md", FIRST)
        change = await changed(work, project, "notes.md", SECOND, "/home/ana/flat/notes.md")
        assert (len(change.stored), change.retired) == (1, 2)
        again = await changed(work, project, "flat/notes.md", FIRST)
        assert (len(again.stored), again.retired) == (2, 1)


async def test_a_file_with_the_mark_of_headings_in_its_name_is_updated(tmp_path: Path) -> None:
    async with open_work(tmp_path, answers) as work:
        project = await work.begin("Flat", "Find a flat")
        for text in (FIRST, SECOND):
            await changed(work, project, "A › B.md", text)
        assert await standing(work, project) == {"The flat is in Mill Lane.", "Three months, by bank."}
        [document] = await texts_now(work, project)
        assert document.name == "A › B.md"


async def test_a_note_of_the_folder_and_an_added_text_of_its_name_are_two(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    note = tmp_path / "notes" / "A › B.md"
    async with open_work(tmp_path, small, tier=Tier.SMALL) as work:
        project = await work.store.create("Notes", str(note.parent))
        await work.store.set_goal(project, "Know the boat", None)
        await changed(work, project, note.name, "The boat is old.")
        for text in ("The boat is blue.", "The boat is red."):
            note.write_text(text)
            await work.clock.advance(60)
            await work.wake(project)
            assert {one for one in await standing(work, project) if "boat" in one} == {"The boat is old.", text}
        assert {item.name for item in await texts_now(work, project)} == {"A › B.md", "notes/A › B.md"}
        note.unlink()
        await work.wake(project)
        assert {item.name for item in await texts_now(work, project)} == {"A › B.md"}


async def test_so_it_is_for_a_note_in_the_folder(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    note = tmp_path / "notes" / "rent.md"
    embedder = WordEmbedder("all-minilm-l6-v2 of words")
    async with open_work(tmp_path, small, tier=Tier.SMALL, embedder=embedder) as work:
        project = await work.store.create("Notes", str(note.parent))
        await work.store.set_goal(project, "Know the rent", None)
        for rent in (900, 950, 900):
            note.write_text(f"The rent of the flat is {rent} euros.\n")
            await work.clock.advance(60)
            await work.wake(project)
            chunks = await known_in_folder(work, project)
            assert chunks == {"rent.md": f"The rent of the flat is {rent} euros."}
            assert f"The rent of the flat is {rent} euros." in await standing(work, project)
