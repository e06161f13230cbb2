"""A project's folder: its notes become knowledge, and nothing else is done with them by itself."""

import os
from pathlib import Path

import pytest

from reveries.errors import UsageError
from reveries.knowledge.model import Fall
from reveries.llm.tier import Tier
from reveries.projects import folder_reading
from reveries.projects.documents import note_fallen_chunk
from reveries.projects.folder_reading import NoteFile, NoteListing
from reveries.projects.model import Project
from tests.projects.kit import Work, open_work

GOAL = "Make an index of these notes with one line each, and list what contradicts what"


def small(text: str) -> object:
    """A model that is never asked anything: reading takes none."""
    raise AssertionError(text)


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    (folder / "old").mkdir(parents=True)
    (folder / "rent.md").write_text(
        "# Rent\n\nThe rent of the flat is 900 euros.\nIt is due on the\nfirst of the month.\n"
    )
    (folder / "old" / "letter.md").write_text("# Letter\n\nThe rent of the flat is 950 euros.\n")
    (folder / "boat.txt").write_text("The boat is blue and lies in the harbour.\n")
    (folder / "picture.png").write_bytes(b"\x89PNG")
    return folder


async def begin(work: Work, folder: Path, *, may_write: bool = True) -> Project:
    project = await work.store.create("Notes", str(folder), may_write=may_write)
    await work.store.set_goal(project, GOAL, None)
    return project


async def known(work: Work, project: Project) -> dict[str, str]:
    """What stands, by title."""
    found = await work.store.knowledge.of_project(project.id)
    return {one.title: one.content for one in found if one.document_id and not one.fell_because}


async def test_a_wake_reads_the_notes_of_its_folder_once_and_says_that_it_does_not_know_who_wrote_them(
    tmp_path: Path, notes: Path
) -> None:
    async with open_work(tmp_path, small, tier=Tier.SMALL) as work:
        project = await begin(work, notes)
        await work.wake(project)
        assert set(await known(work, project)) == {"rent.md › Rent", "old/letter.md › Letter", "boat.txt"}
        await work.wake(project)
        chunks = [one for one in await work.store.knowledge.of_project(project.id) if one.document_id]
        assert len(chunks) == 3
        async with work.database.transaction() as transaction:
            await work.store.knowledge.replace(transaction, chunks[0], chunks[1])
        await work.wake(project)
        again = [one for one in await work.store.knowledge.of_project(project.id) if one.document_id]
        assert len(again) == 3, "what a newer one replaces is not read anew"
        assert {one.foreign_sources for one in chunks} == {frozenset({"folder"})}


async def test_what_stands_in_a_note_no_more_falls_and_what_is_new_is_known(tmp_path: Path, notes: Path) -> None:
    async with open_work(tmp_path, small, tier=Tier.SMALL) as work:
        project = await begin(work, notes)
        await work.wake(project)
        (notes / "boat.txt").write_text("The boat is sold.\n")
        (notes / "old" / "letter.md").unlink()
        await work.wake(project)
        assert await known(work, project) == {
            "rent.md › Rent": "The rent of the flat is 900 euros.\nIt is due on the\nfirst of the month.",
            "boat.txt": "The boat is sold.",
        }
        chunks = await work.store.knowledge.of_project(project.id)
        assert {one.title: one.fell_because for one in chunks if one.fell_because} == {
            "boat.txt": "it stands no more in boat.txt", "old/letter.md › Letter": "it stands no more in old/letter.md",
        }  # fmt: skip
        (notes / "boat.txt").write_text("The boat is blue and lies in the harbour.\n")
        await work.wake(project)
        assert (await known(work, project))["boat.txt"] == "The boat is blue and lies in the harbour.", "it is back"


@pytest.mark.parametrize("by", ["a retraction", "an answer"])
async def test_what_the_owner_retracts_stays_retracted_while_its_note_still_says_it(
    tmp_path: Path, notes: Path, by: str
) -> None:
    async with open_work(tmp_path, small, tier=Tier.SMALL) as work:
        project = await begin(work, notes)
        await work.wake(project)
        [boat] = [one for one in await work.store.knowledge.of_project(project.id) if one.title == "boat.txt"]
        if by == "a retraction":
            await note_fallen_chunk(work.store, project, boat.id, "it stands no more in force")
        else:
            async with work.store.transaction() as transaction:
                await work.store.knowledge.mark_fallen(
                    transaction, project.id, boat.id, Fall.CONTRADICTED, "you said otherwise: it is red"
                )
        with pytest.raises(UsageError, match=r"taken out already: (it stands no more in force|you said otherwise)"):
            await note_fallen_chunk(work.store, project, boat.id, "it is a toy")
        (notes / "boat.txt").write_text("The boat is blue and lies in the harbour.\n\n# Crew\n\nAnna steers it.\n")
        await work.wake(project)
        assert set(await known(work, project)) == {"rent.md › Rent", "old/letter.md › Letter", "boat.txt › Crew"}


def make_old(notes: Path, *names: str) -> None:
    """Let the notes have changed long before the clock of these tests, one after the other."""
    for seconds, name in enumerate(names, 1_500_000_000):
        os.utime(notes / name, (seconds, seconds))


def told_of_reading(work: Work) -> list[str]:
    return [words for action, words in work.told if action == "read"]


async def test_of_a_note_that_cannot_be_read_nothing_falls(tmp_path: Path, notes: Path) -> None:
    async with open_work(tmp_path, small, tier=Tier.SMALL) as work:
        project = await work.store.create("Notes", str(notes), may_write=True)
        await work.wake(project)
        before = await known(work, project)
        assert len(before) == 3
        (notes / "boat.txt").write_text("The boat is blue and lies in the harbour.\n" * 10_000)
        (notes / "rent.md").write_bytes("Ключ лежит под горшком.".encode("cp1251"))
        (notes / "old" / "letter.md").write_text("# A\n\nB\n\n" * 2_001)
        for _ in range(2):
            await work.wake(project)
            assert await known(work, project) == before
        [told] = told_of_reading(work)[1:]
        assert told.startswith("0 notes: nothing new; 3 not read: ")
        uncertain = "is no text, or in an encoding that is not certain: save it as UTF-8"
        for why in ("boat.txt (above 200 KB)", "letter.md (more than 2,000 sections)", f"rent.md ({uncertain})"):
            assert why in told


async def test_notes_of_old_and_of_windows_programs_are_read_too(tmp_path: Path, notes: Path) -> None:
    async with open_work(tmp_path, small, tier=Tier.SMALL) as work:
        project = await work.store.create("Notes", str(notes), may_write=True)
        kept = {
            "rent.md": ("Die Miete beträgt 900 €, „warm“.", "cp1252"),
            "clé.txt": ("La clé de réserve est à côté de l’évier.", "cp1252"),
            "key.md": ("The spare key is under the blue pot.", "utf-16"),
            "鍵.txt": ("予備の鍵は\n青い植木鉢の下。", "utf-16-be"),
        }
        for name, (text, encoding) in kept.items():
            (notes / name).write_bytes(text.encode(encoding))
        await work.wake(project)
        contents = "\n".join(one.content for one in await work.store.knowledge.of_project(project.id))
        assert all(text in contents for text, _ in kept.values())


async def test_a_note_of_which_only_headings_are_left_has_no_sections_any_more(tmp_path: Path, notes: Path) -> None:
    async with open_work(tmp_path, small, tier=Tier.SMALL) as work:
        project = await begin(work, notes)
        await work.wake(project)
        (notes / "rent.md").write_text("# Rent\n")
        (notes / "boat.txt").write_text("")
        await work.wake(project)
        assert set(await known(work, project)) == {"old/letter.md › Letter"}
        assert told_of_reading(work)[1:] == ["2 notes: 2 earlier sections no longer there"]


async def test_a_note_with_a_suffix_in_capitals_is_read_and_falls_like_any_other(tmp_path: Path, notes: Path) -> None:
    (notes / "SHED.MD").write_text("The shed leaks.\n")
    async with open_work(tmp_path, small, tier=Tier.SMALL) as work:
        project = await begin(work, notes)
        await work.wake(project)
        assert (await known(work, project))["SHED.MD"] == "The shed leaks."
        (notes / "SHED.MD").unlink()
        await work.wake(project)
        assert "SHED.MD" not in await known(work, project)


async def test_a_note_that_a_link_replaced_is_gone(tmp_path: Path, notes: Path) -> None:
    async with open_work(tmp_path, small, tier=Tier.SMALL) as work:
        project = await begin(work, notes)
        await work.wake(project)
        (notes / "rent.md").rename(tmp_path / "rent.md")
        (notes / "rent.md").symlink_to(tmp_path / "rent.md")
        (notes / "old").rename(tmp_path / "old")
        (notes / "old").symlink_to(tmp_path / "old")
        await work.wake(project)
        assert set(await known(work, project)) == {"boat.txt"}


async def test_one_wake_reads_all_notes_batch_by_batch_the_newest_first_and_the_next_one_what_changed(
    tmp_path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_reading, "_BATCH_NOTES", 2)
    make_old(notes, "boat.txt", "rent.md", "old/letter.md")
    async with open_work(tmp_path, small, tier=Tier.SMALL) as work:
        project = await begin(work, notes)
        await work.wake(project)
        assert set(await known(work, project)) == {"rent.md › Rent", "old/letter.md › Letter", "boat.txt"}
        assert told_of_reading(work) == [
            "2 notes: 2 new sections; 1 more to read",
            "1 note: 1 new section",
        ]
        (notes / "boat.txt").write_text("The boat is sold.\n")
        make_old(notes, "boat.txt")  # As when another machine's file comes with its own time.
        await work.wake(project)
        assert (await known(work, project))["boat.txt"] == "The boat is sold."
        assert told_of_reading(work)[2:] == ["1 note: 1 new section, 1 earlier section no longer there"]


async def test_no_batch_is_read_where_the_work_must_stop(
    tmp_path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_reading, "_BATCH_NOTES", 1)
    make_old(notes, "boat.txt", "rent.md", "old/letter.md")
    async with open_work(tmp_path, small, tier=Tier.SMALL) as work:
        project = await begin(work, notes)
        asked = iter((False, False))

        async def must_stop() -> bool:
            return next(asked, True)

        await work.work.wake(project.id, must_stop)
        assert set(await known(work, project)) == {"rent.md › Rent", "old/letter.md › Letter"}
        await work.wake(project)
        assert len(await known(work, project)) == 3


async def test_a_note_that_changes_all_the_time_does_not_keep_a_wake_from_its_work(
    tmp_path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = folder_reading._read_note

    async def read_and_change(worker: object, note: NoteFile, *others: object) -> object:
        with (notes / "boat.txt").open("a") as file:
            file.write("And on.\n")
        return await read(worker, note, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(folder_reading, "_read_note", read_and_change)
    async with open_work(tmp_path, small, tier=Tier.SMALL) as work:
        project = await begin(work, notes)
        await work.wake(project)
        assert (await work.state(project)).project.rested_because


async def test_of_too_many_notes_the_newest_are_read_and_the_others_are_counted(
    tmp_path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_reading, "_MOST_NOTES", 2)
    make_old(notes, "boat.txt", "rent.md", "old/letter.md")
    async with open_work(tmp_path, small, tier=Tier.SMALL) as work:
        project = await begin(work, notes)
        await work.wake(project)
        assert set(await known(work, project)) == {"rent.md › Rent", "old/letter.md › Letter"}
        [told] = told_of_reading(work)
        assert told.endswith("; 1 not read, because they are older than the newest 2")
        (notes / "boat.txt").write_text("The boat is blue again.\n")
        await work.wake(project)
        assert set(await known(work, project)) == {"rent.md › Rent", "old/letter.md › Letter", "boat.txt"}


async def test_after_another_folder_was_given_the_notes_of_both_are_told_apart(tmp_path: Path, notes: Path) -> None:
    async with open_work(tmp_path, small, tier=Tier.SMALL) as work:
        project = await begin(work, notes)
        await work.wake(project)
        other = tmp_path / "other"
        other.mkdir()
        (other / "boat.txt").write_bytes((notes / "boat.txt").read_bytes().replace(b"blue", b"grey"))
        at = (notes / "boat.txt").stat().st_mtime
        os.utime(other / "boat.txt", (at, at))
        await work.store.set_folder(project, str(other), may_write=False)
        await work.wake(project)
        assert await known(work, project) == {"boat.txt": "The boat is grey and lies in the harbour."}


async def test_what_a_note_said_is_known_again_when_the_note_that_replaced_it_is_gone(
    tmp_path: Path, notes: Path
) -> None:
    async with open_work(tmp_path, small, tier=Tier.SMALL) as work:
        project = await begin(work, notes)
        await work.wake(project)
        chunks = {one.title: one for one in await work.store.knowledge.of_project(project.id) if one.document_id}
        async with work.database.transaction() as transaction:
            await work.store.knowledge.replace(transaction, chunks["rent.md › Rent"], chunks["old/letter.md › Letter"])
        (notes / "old" / "letter.md").unlink()
        await work.wake(project)
        every = await work.store.knowledge.of_project(project.id)
        assert {one.title for one in every if one.stands and one.document_id} == {"rent.md › Rent", "boat.txt"}


def test_what_lies_where_nothing_could_be_looked_at_is_not_missing() -> None:
    here = [NoteFile("a.md", 1, 0.0)]
    asked = {"a.md", "b.md", "deep/c.md", "deeper/d.md"}
    assert NoteListing(here, []).find_missing(asked) == {"b.md", "deep/c.md", "deeper/d.md"}
    assert NoteListing(here, ["deep"]).find_missing(asked) == {"b.md", "deeper/d.md"}
    assert NoteListing(here, [""]).find_missing(asked) == set()


async def test_of_two_notes_that_lie_side_by_side_neither_is_newer_and_the_owner_is_asked_by_their_names(
    tmp_path: Path, notes: Path
) -> None:
    (notes / "rent.md").write_text("# Rent\n\nThe rent of Mill Lane is 900 euros.\n")
    (notes / "old" / "rent.md").write_text("# Rent\n\nThe rent of Mill Lane is 950 euros.\n")
    (notes / "old" / "letter.md").unlink()
    async with open_work(tmp_path, small, tier=Tier.SMALL) as work:
        project = await begin(work, notes)
        await work.wake(project)
        chunks = await work.store.knowledge.of_project(project.id)
        assert all(one.stands for one in chunks)
        asked = [one for _, one in await work.store.questions.list_open() if "do not go together" in one.question]
        assert len(asked) == 1
        assert "rent.md › Rent" in asked[0].context
        assert "old/rent.md › Rent" in asked[0].context


async def test_a_folder_that_is_gone_ends_no_wake(tmp_path: Path) -> None:
    async with open_work(tmp_path, small, tier=Tier.SMALL) as work:
        project = await begin(work, tmp_path / "nowhere")
        report = await work.wake(project)
        assert report.reason.value == "waiting for you"
