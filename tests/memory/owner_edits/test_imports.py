"""A wrong "who is me" is put right afterwards, with all that was made of it, and can be reversed."""

from pathlib import Path

import pytest

from reveries.errors import NotFoundError, UndoError
from reveries.memory.forgetting.selection import BY_WORDS, Selection
from reveries.memory.importing import ImportCounts, PastTurn
from reveries.memory.memory import Memory
from reveries.memory.model import Origin, Turn
from reveries.memory.owner_edits.imports import relabel
from tests.fakes.scripted import ScriptedModel
from tests.memory.kit import NOW, deep_answer, open_memory, talk, turn
from tests.memory.test_memory import picture

PAST = [
    PastTurn(NOW - 900.0, "Ben", "I bought a boat called Sole.", Origin.DOCUMENT, b"1" * 16),
    PastTurn(NOW - 890.0, "Ana", "Where does she lie?", Origin.DOCUMENT, b"2" * 16),
    PastTurn(NOW - 880.0, "Ben", "In Porto, at the old quay.", Origin.DOCUMENT, b"3" * 16),
    PastTurn(NOW - 870.0, "Reverie", "Porto has an old quay.", None, b"4" * 16),
]


async def take_in(memory: Memory) -> None:
    await memory.begin_import("chat.txt").add(PAST)
    await memory.light_sleep()


def labels(memory: Memory) -> dict[str, tuple[Origin, bool]]:
    return {said.text: (said.origin, said.tainted) for said, _ in memory.live.turns.entries()}


async def rows_of(memory: Memory, table: str) -> list[tuple[str, int]]:
    statement = f"SELECT origin, tainted FROM {table}"
    rows = await memory._store.database.rows_of_text(statement, ())
    return sorted((str(row["origin"]), int(row["tainted"])) for row in rows)


async def test_the_words_of_the_one_who_is_me_become_the_owners_with_all_that_was_made_of_them(
    tmp_path: Path,
) -> None:
    async with open_memory(tmp_path) as memory:
        await take_in(memory)
        assert all(episode.tainted for episode in memory.live.graph.episodes())
        plan = await memory.import_edits.set_owner("chat.txt", ["ben"], is_dry_run=True)
        assert (plan.now_yours, plan.no_longer_yours, plan.run_id) == (2, 0, "")
        assert labels(memory)[PAST[0].text] == (Origin.DOCUMENT, True)
        done = await memory.import_edits.set_owner("chat.txt", ["Ben"])
        assert (done.now_yours, done.no_longer_yours) == (2, 0)
        assert done.made_anew["episodes"] >= 1
        await memory.light_sleep()
        assert labels(memory)[PAST[0].text] == (Origin.OWNER, False)
        assert labels(memory)[PAST[1].text] == (Origin.DOCUMENT, True)
        # Ana still spoke before it.
        assert labels(memory)[PAST[3].text] == (Origin.SELF, True)
        (found, *_) = (await memory.search("boat Sole", 3)).episodes
        assert found.turns[0].turn.origin is Origin.OWNER
        line = (await memory.sleep_run(done.run_id)).changes[0].line
        assert line == "In the import chat.txt, you are Ben."
        with pytest.raises(UndoError):
            await memory.undo_pass(done.run_id)
    async with open_memory(tmp_path, first_id=500) as memory:
        assert labels(memory)[PAST[2].text] == (Origin.OWNER, False)
        assert await memory.begin_import("chat.txt").add(PAST) == ImportCounts(0, len(PAST))


@pytest.mark.requirement("F3")
async def test_words_that_were_wrongly_the_owners_are_nowhere_the_owners_afterwards(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        mine = [PastTurn(entry.said_at, entry.speaker, entry.text, Origin.OWNER, entry.key) for entry in PAST[:3]]
        await memory.begin_import("chat.txt").add(mine)
        await memory.light_sleep()
        await memory.deep_sleep(ScriptedModel([deep_answer(0.9, PAST[0].text, summary="You bought Sole."), *[{}] * 9]))
        assert all(not episode.tainted for episode in memory.live.graph.episodes())
        done = await memory.import_edits.set_owner("chat.txt", [])
        assert done.no_longer_yours == 3
        await memory.light_sleep()
        assert set(labels(memory).values()) == {(Origin.DOCUMENT, True)}
        for table in ("turns", "raw_experiences", "episodes", "claims", "deep_texts"):
            assert set(await rows_of(memory, table)) <= {("document", 1)}, table
        back = await memory.import_edits.set_owner("chat.txt", ["Ana", "Ben"])
        assert back.now_yours == 3
        await memory.light_sleep()
        assert set(labels(memory).values()) == {(Origin.OWNER, False)}


async def test_a_correction_touches_no_other_talk_and_a_second_time_changes_nothing(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await talk(memory, ("My tree is a pear tree called Sole.", "A pear tree."))
        await take_in(memory)
        before = labels(memory)
        await memory.import_edits.set_owner("chat.txt", ["Ben"])
        await memory.light_sleep()
        again = await memory.import_edits.set_owner("chat.txt", ["Ben"])
        assert (again.turns, again.run_id) == (0, "")
        kept = "My tree is a pear tree called Sole."
        assert labels(memory)[kept] == before[kept]
        assert len(labels(memory)) == len(before)
        live = picture(memory)
    async with open_memory(tmp_path, first_id=500) as memory:
        assert picture(memory) == live


async def test_what_was_archived_of_an_import_stays_archived(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await take_in(memory)
        await memory.forgetting.archive(Selection(BY_WORDS, "Porto"))
        await memory.import_edits.set_owner("chat.txt", ["Ben"])
        await memory.light_sleep()
        assert not any("Porto" in text for text in labels(memory))


async def test_an_import_that_was_taken_back_is_gone_and_can_come_in_again(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await take_in(memory)
        done = await memory.import_edits.take_back("chat.txt")
        assert done.turns == len(PAST)
        assert labels(memory) == {}
        assert (await memory.stats()).turns == 0
        assert await memory.begin_import("chat.txt").add(PAST) == ImportCounts(len(PAST), 0)


async def test_what_is_no_import_cannot_be_corrected(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await talk(memory, ("My tree is a pear tree.", "A pear tree."))
        await memory.remember("The key is under the pot.")
        await take_in(memory)
        (entry,) = await memory.import_edits.list_imports()
        assert [(speaker.name, speaker.turns) for speaker in entry.speakers] == [("Ben", 2), ("Ana", 1), ("Reverie", 1)]
        for source in ("chat", "remembered", "other.txt"):
            with pytest.raises(NotFoundError):
                await memory.import_edits.take_back(source)
        with pytest.raises(NotFoundError, match="Nobody"):
            await memory.import_edits.set_owner("chat.txt", ["Zoe"])


def test_what_the_mind_said_is_tainted_exactly_after_somebody_else() -> None:
    def said(name: str, speaker: str, origin: Origin) -> Turn:
        return turn(name, "x", speaker=speaker, origin=origin)

    turns = [said("1", "Ana", Origin.DOCUMENT), said("2", "Reverie", Origin.SELF), said("3", "Ben", Origin.OWNER)]
    assert [entry.tainted for entry in relabel(turns, {"ana"})] == [False, False, True]
    assert [entry.tainted for entry in relabel(turns, {"ben"})] == [True, True, False]
