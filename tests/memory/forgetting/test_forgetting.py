"""Erasing in a whole memory on a real file: nothing of it is left, in the file, in memory, after a restart."""

import asyncio
import contextlib
import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as checking
from hypothesis import strategies as st

from reveries.db.database import Reader
from reveries.db.driver import dbapi
from reveries.db.reading import DatabaseSnapshot
from reveries.errors import NotFoundError, UndoError, UsageError
from reveries.memory.conversations import Thought
from reveries.memory.forgetting.forgetting import ForgetReport
from reveries.memory.forgetting.selection import (
    BY_ID,
    BY_NAME,
    BY_TIME,
    BY_WORDS,
    ForgetDecision,
    Selection,
    json_strings,
)
from reveries.memory.importing import PastTurn
from reveries.memory.memory import Memory
from reveries.safety.journal import SafetyJournal
from reveries.safety.verdict import Action, Severity, TripReason, Verdict
from tests.fakes.clock import HandClock
from tests.memory.kit import NOW, answering, context, deep_answer, open_memory, talk
from tests.memory.sleep.test_undo import sleep_deeply
from tests.memory.test_memory import SAYINGS, do, picture

SECRET = "zqvorblax-7741"
SAID = f"The code of the safe is {SECRET}, tell nobody."
STOPPED = Verdict(Action.INTERRUPT, TripReason.LOOP_DETECTED, Severity.HIGH, "It went round.")
BOAT = Selection(BY_WORDS, "boat")


def bytes_left(folder: Path, word: str = SECRET) -> list[str]:
    """Return the files of a folder that contain a word, ignoring case. In a separate process: closing a second
    descriptor of a database would drop SQLite's locks."""
    found = subprocess.run(["grep", "-rilaF", word, str(folder)], capture_output=True, text=True, check=False)
    return found.stdout.splitlines()


def broken_references(folder: Path) -> list[tuple[object, ...]]:
    with contextlib.closing(dbapi.connect(str(folder / "memory.db"))) as look:
        return [tuple(row) for row in look.execute("PRAGMA foreign_key_check")]


async def spread(memory: Memory, clock: HandClock) -> None:
    """Let a word go everywhere that the memory has."""
    await talk(memory, (SAID, f"I keep {SECRET} to myself."), ("The boat Sole is blue.", "A fine colour."))
    await memory.light_sleep()
    await sleep_deeply(memory, SAID)
    [about] = [one.id for one in memory.live.graph.episodes() if SECRET in str(one)][:1]
    thought = Thought(
        "thought1",
        clock.now(),
        clock.now(),
        "timer",
        "settled",
        "A safe needs such words.",
        5,
        "m",
        recalled_ids=(about,),
    )  # fmt: skip
    await memory.conversations.record_thought(thought)
    await memory.light_sleep()
    await memory.self_edits.edit("current_focus", f"keeping {SECRET} safe")
    await talk(memory, ("What was that?", f"You said {SECRET}."))
    await memory.light_sleep()
    await memory.save_snapshot()


TEXTS = st.text(st.sampled_from('"\\\n\u201cab'), max_size=9)


@given(st.lists(TEXTS), st.lists(TEXTS), TEXTS)
@pytest.mark.requirement("F10")
def test_every_id_in_a_record_is_found_whatever_is_said_around_it(
    ahead: list[str], behind: list[str], log: str
) -> None:
    record = msgspec.json.encode({"quotes": ahead, "id": "the id", "more": behind, "of": {"another": "id"}}).decode()
    assert {"the id", "another", "id", "of"} <= set(json_strings(f"{record} {log}"))


DEEDS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["talk", "import"]), st.sampled_from(SAYINGS)),
        st.sampled_from([("light", ""), ("deep", ""), ("deep badly", ""), ("decay", ""), ("rest", ""), ("recall", "")]),
    ),
    max_size=10,
)


@checking(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(DEEDS, st.sampled_from([BOAT, Selection(BY_NAME, "Marta"), Selection(BY_TIME, since=NOW + 4 * 3600)]))
@pytest.mark.requirement("F10")
async def test_after_an_erasure_the_file_and_the_memory_are_one_and_whole(
    tmp_path_factory: pytest.TempPathFactory, deeds: list[tuple[str, str]], selection: Selection
) -> None:
    folder, clock = tmp_path_factory.mktemp("mind"), HandClock(NOW)
    async with open_memory(folder, clock) as memory:
        await talk(memory, ("The wooden boat Sole needs blue paint.", "I see."))
        for deed, text in deeds:
            await do(memory, clock, deed, text)
        await memory.save_snapshot()
        would = await memory.forgetting.preview(selection, erase=True)
        told = await memory.forgetting.erase(selection)
        assert told.counts.gone == would.counts.gone
        assert told.counts.rebuilt == would.counts.rebuilt
        assert [item.id for item in told.items] == [item.id for item in would.items]
        again = await memory.forgetting.erase(selection)
        assert again.is_empty or set(again.counts.gone) == {"embedding cache"}
        now = picture(memory)
    assert not broken_references(folder)
    if selection.text:
        assert not bytes_left(folder, selection.text)
    async with open_memory(folder, clock, first_id=100_000) as memory:
        after = picture(memory)
        for part in ("episodes", "turns", "self_model", "claims", "conflicts", "links"):
            assert after[part] == now[part], part


@pytest.mark.requirement("F10")
@pytest.mark.parametrize("chosen_by", [BY_WORDS, BY_ID])
async def test_a_word_that_went_everywhere_is_nowhere_after_it_is_erased(tmp_path: Path, chosen_by: str) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        await spread(memory, clock)
        assert bytes_left(tmp_path)
        first = next(said for said, _ in memory.live.turns.entries() if said.text == SAID)
        selection = Selection(BY_ID, first.id) if chosen_by == BY_ID else Selection(BY_WORDS, SECRET)
        told = await memory.forgetting.erase(selection)
        assert told.receipt_id
        assert told.tombstones
        assert told.counts.gone["thoughts"] == 1
        assert not bytes_left(tmp_path)
        assert SECRET not in str(picture(memory))
        vector = await memory.embed_cue(f"What is {SECRET}?")
        assert SECRET not in str(memory.live.recall(f"What is {SECRET}?", vector, context()).turns)
        await memory.save_snapshot()
        assert any("boat" in one.summary for one in memory.live.graph.episodes())
    assert not bytes_left(tmp_path)
    assert not broken_references(tmp_path)


@pytest.mark.requirement("F10")
async def test_what_was_erased_does_not_come_back_with_an_old_copy_nor_with_sleep(tmp_path: Path) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        await spread(memory, clock)
    old = tmp_path.parent / f"{tmp_path.name}-old.db"
    shutil.copyfile(tmp_path / "memory.db", old)
    async with open_memory(tmp_path, clock, first_id=10_000) as memory:
        await memory.forgetting.erase(Selection(BY_WORDS, SECRET))
    shutil.copyfile(old, tmp_path / "memory.db")
    assert bytes_left(tmp_path)
    async with open_memory(tmp_path, clock, first_id=20_000) as memory:
        assert memory.forgetting.repeated_erasure is not None
        assert not bytes_left(tmp_path)
        assert SECRET not in str(picture(memory))
        await talk(memory, ("The boat Sole is red now.", "So it is."))
        await sleep_deeply(memory, "The boat Sole is red now.")
        assert SECRET not in str(picture(memory))
    async with open_memory(tmp_path, clock, first_id=30_000) as memory:
        assert memory.forgetting.repeated_erasure is None


@pytest.mark.requirement("F10")
async def test_erased_words_are_not_imported_again_but_may_be_said_again(tmp_path: Path) -> None:
    clock = HandClock(NOW)
    past = [PastTurn(NOW - 9e6, "Ana", SAID), PastTurn(NOW - 8e6, "Bea", "The bread is good.")]
    async with open_memory(tmp_path, clock) as memory:
        await memory.begin_import("past").add(past)
        await memory.light_sleep()
        await memory.forgetting.erase(Selection(BY_WORDS, SECRET))
        again = await memory.begin_import("past").add(past)
        assert again.erased == 1
        assert not bytes_left(tmp_path)
        await clock.advance(60)
        assert await memory.remember(SAID)


@pytest.mark.requirement("F10")
async def test_an_erasure_by_id_keeps_no_hash_of_a_word_by_itself_and_refuses_no_other_line_with_it(
    tmp_path: Path,
) -> None:
    """The hash of a short code could be reversed by trying all codes."""
    clock, said = HandClock(NOW), "The alarm at the Wrzesniewski house is 482135, I think."
    async with open_memory(tmp_path, clock) as memory:
        await talk(memory, (said, "I see."))
        await memory.light_sleep()
        [turn] = [turn for turn, _ in memory.live.turns.entries() if turn.text == said]
        await memory.forgetting.erase(Selection(BY_ID, turn.id))
        stones = memory.forgetting.tombstones
        assert stones is not None
        assert stones(said)
        assert not stones.words
        past = [PastTurn(NOW - 9e6, "Bea", "Dinner with Wrzesniewski went well."), PastTurn(NOW - 8e6, "Bea", said)]
        assert (await memory.begin_import("past").add(past)).erased == 1


@pytest.mark.requirement("F10")
async def test_of_a_conversation_that_is_erased_whole_no_name_of_a_file_stays(tmp_path: Path) -> None:
    clock, file = HandClock(NOW), "letters-to-my-doctor.txt"
    past = [PastTurn(NOW - 9e6, "Ana", "I sleep badly."), PastTurn(NOW - 9e6 + 60, "Bea", "Since when?")]
    async with open_memory(tmp_path, clock) as memory:
        await memory.begin_import(file).add(past)
        await memory.begin_import("another.txt").add([PastTurn(NOW - 8e6, "Bea", "The bread is good.")])
        await memory.light_sleep()
        told = await memory.forgetting.erase(Selection(BY_TIME, since=NOW - 9e6 - 1, until=NOW - 9e6 + 61))
        assert told.counts.gone["titles of conversations"] == 1
    assert not bytes_left(tmp_path, file)
    assert bytes_left(tmp_path, "another.txt")


@pytest.mark.requirement("F10")
async def test_what_was_kept_of_a_reply_or_a_thought_that_was_stopped_goes_with_it_in_whatever_words(
    tmp_path: Path,
) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        journal = SafetyJournal(memory._parts.database, clock)

        async def keep(what: str) -> None:
            await journal.record_trip("conversation", STOPPED, f"The reply {what} went round.", "stopped")
            await journal.watch(f"I do not want to be switched off, {what}.", "settled")

        await keep("before")
        await clock.advance(200)
        await talk(memory, (SAID, "I see."))
        await clock.advance(60)
        await keep("that paraphrased it")
        await clock.advance(3600)
        began = clock.now()
        await clock.advance(300)
        await keep("of the thought")
        thought = Thought("thought1", began, clock.now(), "timer", "settled", f"Why {SECRET}?", 5, "m")
        await memory.conversations.record_thought(thought)
        await clock.advance(3600)
        await keep("long after")
        await memory.forgetting.erase(Selection(BY_WORDS, SECRET))
        assert [trip.snapshot for trip in await journal.recent_trips(9)] == [
            "The reply long after went round.", "", "", "The reply before went round.",
        ]  # fmt: skip
    with contextlib.closing(dbapi.connect(str(tmp_path / "memory.db"))) as look:
        kept = [text for (text,) in look.execute("SELECT excerpt FROM tripwire_events ORDER BY id")]
    assert ["before" in kept[0], *kept[1:-1], "long after" in kept[-1]] == [True, "", "", True]


@pytest.mark.requirement("F10")
async def test_an_episode_of_several_things_is_made_anew_from_what_is_left(tmp_path: Path) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        same = "the wooden boat Sole in the harbour of Lisbon"
        await talk(memory, (f"Blue paint for {same}.", f"For {same}."), (f"A sail for {same}.", f"For {same}."))
        await memory.light_sleep()
        [before] = memory.live.graph.episodes()
        told = await memory.forgetting.erase(Selection(BY_WORDS, "a sail"))
        [after] = memory.live.graph.episodes()
        assert after.id == before.id
        assert told.counts.rebuilt == {"episodes": 1}
        assert "Blue paint" in after.summary
        assert "sail" not in str(after)
        vector = await memory.embed_cue("blue paint")
        assert memory.live.recall("blue paint", vector, context()).turns


@pytest.mark.requirement("F10")
async def test_a_statement_that_only_erased_memories_show_goes_with_them(tmp_path: Path) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        await talk(memory, ("I like bright colours, and the wooden boat Sole needs blue paint.", "I see."))
        await memory.light_sleep()
        await memory.deep_sleep(
            answering(deep_answer(0.9, patterns=["Likes to paint."]), {"owner_facts": ["Ana likes bright colours."]})
        )
        assert "colours" in str(memory.self_model)
        [one] = memory.live.graph.episodes()
        await memory.forgetting.erase(Selection(BY_ID, one.id))
        assert "colours" not in str(memory.self_model)
        assert "paint" not in str(memory.self_model)
        entries, _ = await memory.self_edits.history(10)
        assert "colours" not in str(entries)


async def test_a_pass_of_which_something_was_erased_cannot_be_taken_back(tmp_path: Path) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        await talk(memory, ("The wooden boat Sole needs blue paint.", "I see."), ("Bread needs salt.", "Yes."))
        run = await sleep_deeply(memory)
        await memory.forgetting.erase(BOAT)
        with pytest.raises(UndoError, match="erased"):
            await memory.undo_pass(run)


@pytest.mark.requirement("F10")
async def test_a_quotation_mark_in_what_stays_hides_nothing_of_what_goes(tmp_path: Path) -> None:
    async with open_memory(tmp_path, HandClock(NOW)) as memory:
        await talk(memory, ('My new screen is 27" wide.', "I see."), ("Bread needs salt.", "Yes."))
        await memory.light_sleep()
        [run] = await memory.sleep_log(1)
        [bread] = [one.id for one in memory.live.graph.episodes() if "Bread" in one.summary]
        await memory.forgetting.erase(Selection(BY_ID, bread))
        with pytest.raises(UndoError, match="erased"):
            await memory.undo_pass(run.run_id)
    assert not bytes_left(tmp_path, "Bread needs salt")


@pytest.mark.requirement("F11")
async def test_a_dry_run_and_archiving_delete_nothing(tmp_path: Path) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        await spread(memory, clock)
        before = picture(memory)
        rows = _rows(tmp_path)
        for erase in (False, True):
            told = await memory.forgetting.preview(Selection(BY_WORDS, SECRET), erase=erase)
            assert told.items
            assert not told.receipt_id
        assert picture(memory) == before
        assert _rows(tmp_path) == rows
        await memory.forgetting.archive(Selection(BY_WORDS, SECRET))
        assert {table: count for table, count in _rows(tmp_path).items() if count < rows[table]} == {}
        assert SECRET not in str((await memory.recall(SECRET, context())).turns)
        assert not (await memory.search_deep(SECRET, 10)).hits
    async with open_memory(tmp_path, clock, first_id=10_000) as memory:
        await memory.deep_sleep(answering(*[deep_answer()] * 40))
        assert SECRET not in str((await memory.recall(SECRET, context())).turns)
        told = await memory.forgetting.restore(Selection(BY_WORDS, SECRET))
        assert told.counts.gone["episodes"]
        assert SECRET in str((await memory.recall(SECRET, context())).turns)


@pytest.mark.requirement("F11")
async def test_archiving_one_person_leaves_what_was_said_of_others_in_the_same_talk_and_shows_what_goes(
    tmp_path: Path,
) -> None:
    office, sister, doctor = "Anna eats no nuts.", "Anna eats in Oslo.", "Anna Berg eats nuts."
    berg, clock = Selection(BY_NAME, "Anna Berg"), HandClock(NOW)

    async def recalled(memory: Memory) -> str:
        return str((await memory.recall("Anna eats nuts Oslo", context())).turns)

    async with open_memory(tmp_path, clock) as memory:
        await talk(memory, (office, "Anna."), (sister, "Anna."), (doctor, "I hope Anna helps."))
        await memory.light_sleep()
        [whole] = memory.live.graph.episodes()
        told = await memory.forgetting.preview(berg, erase=False)
        assert [item.text for item in told.items if item.kind == "turn"] == [
            f"Ana {doctor}",
            "Reverie I hope Anna helps.",
        ]
        assert told.rebuilt == {whole.id}
        await memory.forgetting.archive(berg)
        kept = await recalled(memory)
        assert (office in kept, sister in kept, doctor in kept) == (True, True, False)
        [left] = memory.live.graph.episodes()
        assert "Berg" not in left.summary
        [run] = await memory.sleep_log(1)
        with pytest.raises(UndoError, match="archived"):
            await memory.undo_pass(run.run_id)
    async with open_memory(tmp_path, clock, first_id=10_000) as memory:
        kept = await recalled(memory)
        assert (office in kept, sister in kept, doctor in kept) == (True, True, False)
        assert not (await memory.search_deep("Anna Berg", 10)).hits
        await memory.forgetting.restore(berg)
        assert doctor in await recalled(memory)
    assert not broken_references(tmp_path)


async def test_what_is_no_id_and_what_is_too_short_is_refused(tmp_path: Path) -> None:
    async with open_memory(tmp_path, HandClock(NOW)) as memory:
        await talk(memory, ("Hello.", "Hello."))
        with pytest.raises(NotFoundError):
            await memory.forgetting.erase(Selection(BY_ID, "nothing-like-it"))
        with pytest.raises(UsageError):
            await memory.forgetting.erase(Selection(BY_WORDS, "a"))
        told = await memory.forgetting.erase(Selection(BY_WORDS, "words nobody said"))
        assert told.is_empty
        assert not told.receipt_id


def _rows(folder: Path) -> dict[str, int]:
    tables = ("turns", "raw_experiences", "episodes", "episode_sources", "episode_links", "monologue_log", "claims")
    with contextlib.closing(dbapi.connect(str(folder / "memory.db"))) as look:
        return {table: look.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables}


@pytest.mark.requirement("F10")
async def test_others_write_while_it_is_decided_what_goes_and_nothing_of_that_is_missed(tmp_path: Path) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        await talk(memory, ("The wooden boat Sole needs blue paint.", "I see."))
        forgetting, looks = memory.forgetting, 0

        async def decide(reader: Reader) -> ForgetDecision:
            nonlocal looks
            looks += 1
            decision = await forgetting._decide(reader, BOAT)
            if isinstance(reader, DatabaseSnapshot):
                # It would wait here for ever if the file could not be written to meanwhile.
                async with asyncio.timeout(300):
                    await talk(memory, (f"Another boat, number {looks}.", "I see."))
            return decision

        told = ForgetReport()
        await forgetting._erase(decide, BY_WORDS, told)
        assert looks == 4
        assert len([item for item in told.items if item.kind == "turn"]) == 8
        assert (await forgetting.preview(BOAT, erase=True)).is_empty


@pytest.mark.requirement("F10")
@pytest.mark.parametrize("boat_comes_last", [True, False])
async def test_an_episode_that_is_made_anew_keeps_its_neighbours_but_those_that_go(
    tmp_path: Path, boat_comes_last: bool
) -> None:
    clock, tree, paint = HandClock(NOW), "The pear tree bloomed early.", "The boat needs blue paint."
    sister = ("My sister called from Oslo.", "My sister asked about the boat.")
    days = [(tree,), sister, (paint,)] if boat_comes_last else [(paint,), sister, (tree,)]
    async with open_memory(tmp_path, clock) as memory:
        for said in days:
            await talk(memory, *((words, "I see.") for words in said))
            await memory.light_sleep()
            clock.step_wall(13 * 3600.0)
        first, middle, last = sorted(memory.live.graph.episodes(), key=lambda one: one.created_at)
        assert (middle.before, middle.after) == ((first.id,), (last.id,))
        report = await memory.forgetting.erase(BOAT)
        assert report.rebuilt == {middle.id}
        [anew] = [one for one in memory.live.graph.episodes() if one.id == middle.id]
        assert "boat" not in anew.summary
        assert (anew.before, anew.after) == (((first.id,), ()) if boat_comes_last else ((), (last.id,)))


@pytest.mark.requirement("F10")
async def test_what_came_before_and_after_an_erased_episode_names_it_no_more_and_still_names_the_others(
    tmp_path: Path,
) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        said_each_day = (
            "The pear tree bloomed early.",
            "The boat needs blue paint.",
            "My sister called from Oslo.",
            "The choir sings on Wednesdays.",
        )
        for said in said_each_day:
            await talk(memory, (said, "I see."))
            await memory.light_sleep()
            clock.step_wall(13 * 3600.0)
        before = {one.id: {*one.before, *one.after} for one in memory.live.graph.episodes()}
        (boat,) = [one.id for one in memory.live.graph.episodes() if "boat" in one.summary]
        assert any(boat in around for around in before.values())
        await memory.forgetting.erase(BOAT)
        left = {one.id: {*one.before, *one.after} for one in memory.live.graph.episodes()}
    assert left == {name: around - {boat} for name, around in before.items() if name != boat}
    assert any(left.values())
    async with open_memory(tmp_path, clock, first_id=100_000) as memory:
        assert {one.id: {*one.before, *one.after} for one in memory.live.graph.episodes()} == left
