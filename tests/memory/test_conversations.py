"""Turns are on the disk before they are processed, and a crash loses none."""

import asyncio
from pathlib import Path

import pytest

from reveries.db.database import Transaction
from reveries.errors import StorageError, UsageError
from reveries.memory.conversations import RecordedExchange, Thought
from reveries.memory.memory import Memory
from reveries.memory.model import ExperienceKind, LinkType, Origin
from reveries.memory.rows import experience_of
from tests.fakes.clock import HandClock
from tests.memory.kit import NOW, context, open_memory, talk

HOUR = 3600.0


def thought(text: str, **chosen: object) -> Thought:
    plain: dict[str, object] = {
        "id": "thought", "began_at": NOW, "ended_at": NOW + 9, "why_began": "timer", "why_ended": "settled",
        "text": text, "tokens": 7, "model": "test",
    }  # fmt: skip
    return Thought(**(plain | chosen))  # type: ignore[arg-type]


@pytest.mark.requirement("R-89", "R-63", "R-64", "R-147")
async def test_an_exchange_becomes_an_experience_in_the_prescribed_form(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        conversation = await memory.conversations.open_conversation(HOUR)
        said = await memory.conversations.append_owner_turn(conversation.id, "My sister Marta lives in Lisbon.")
        exchange = await memory.conversations.record_exchange(said, "Lisbon is far.")
        assert exchange.experience.content == "User: My sister Marta lives in Lisbon.\n\nMe: Lisbon is far."
        assert exchange.experience.kind is ExperienceKind.CONVERSATION
        assert "lisbon" in exchange.experience.topics
        assert exchange.reply is not None
        assert exchange.reply.position == 1
        (row,) = await memory._parts.database.rows("experiences.get", {"id": exchange.experience.id})
        stored = experience_of(row)
        assert stored == exchange.experience
        assert 0.0 < stored.salience <= 1.0
        assert not stored.processed


@pytest.mark.requirement("R-9", "R-93")
async def test_words_that_a_crash_left_unanswered_become_an_experience_at_the_next_wake(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        conversation = await memory.conversations.open_conversation(HOUR)
        await memory.conversations.append_owner_turn(conversation.id, "The boiler code is 4711.")
    async with open_memory(tmp_path, first_id=1000) as memory:
        await memory.light_sleep()
        found = await memory.search("boiler code", 5)
        assert found.turns[0].turn.text == "The boiler code is 4711."
        assert len(await memory.conversations.recent_turns(conversation.id, 10)) == 1
    async with open_memory(tmp_path, first_id=2000) as memory:
        assert (await memory.stats()).experiences == 1


async def test_what_goes_with_an_exchange_is_stored_with_it_or_nothing_is(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        conversations = memory.conversations
        conversation = await conversations.open_conversation(HOUR)
        said = await conversations.append_owner_turn(conversation.id, "The walk-in cooler is on A2.01.")
        folded = {"id": conversation.id, "summary": "A cooler.", "until": 1}

        async def fold(transaction: Transaction, exchange: RecordedExchange) -> None:
            assert exchange.reply is not None
            [last] = await transaction.rows("turns.recent", {"conversation_id": conversation.id, "limit": 1})
            assert last["id"] == exchange.reply.id
            await transaction.run("conversations.fold", folded)

        async def fail(transaction: Transaction, exchange: RecordedExchange) -> None:
            await fold(transaction, exchange)
            raise UsageError("No.", advice="None.")

        with pytest.raises(UsageError):
            await conversations.record_exchange(said, "I see it.", also=fail)
        assert len(await conversations.recent_turns(conversation.id, 9)) == 1
        assert (await memory.stats()).experiences == 0
        assert not (await conversations.load_conversation(conversation.id)).folded_summary
        await conversations.record_exchange(said, "I see it.", also=fold)
        assert len(await conversations.recent_turns(conversation.id, 9)) == 2
        assert (await conversations.load_conversation(conversation.id)).folded_summary == "A cooler."


@pytest.mark.requirement("R-93")
async def test_a_partial_reply_is_stored_with_its_mark_and_an_empty_one_is_no_turn(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        conversation = await memory.conversations.open_conversation(HOUR)
        first = await memory.conversations.append_owner_turn(conversation.id, "Tell me.")
        await memory.conversations.record_exchange(first, "Well, it", end_reason="cancelled")
        second = await memory.conversations.append_owner_turn(conversation.id, "Never mind.")
        exchange = await memory.conversations.record_exchange(second, "  ", end_reason="failed")
        assert exchange.reply is None
        assert exchange.experience.content == "User: Never mind."
        turns = await memory.conversations.recent_turns(conversation.id, 10)
        assert [(said.text, said.is_partial) for said in turns] == [
            ("Tell me.", False), ("Well, it", True), ("Never mind.", False),
        ]  # fmt: skip


async def test_a_conversation_goes_on_until_it_has_rested_long_enough(tmp_path: Path) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        first = await talk(memory, ("Hello.", "Hello."))
        await clock.advance(11 * HOUR)
        again = await memory.conversations.open_conversation(12 * HOUR)
        assert (again.id, again.turn_count) == (first, 2)
        await clock.advance(2 * HOUR)
        assert (await memory.conversations.open_conversation(12 * HOUR)).id != first


async def test_folding_keeps_the_turns_and_tells_them_as_a_summary(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        name = await talk(memory, ("One.", "Two."), ("Three.", "Four."))
        await memory.conversations.fold(name, "They counted.", until=2)
        conversation = await memory.conversations.open_conversation(HOUR)
        assert (conversation.folded_summary, conversation.folded_until) == ("They counted.", 2)
        said = [turn.text for turn in await memory.conversations.recent_turns(name, 10)]
        assert said == ["One.", "Two.", "Three.", "Four."]


@pytest.mark.requirement("R-41", "R-42", "R-43", "R-44")
async def test_a_thought_is_logged_kept_and_recalled_but_blanks_are_not(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        assert await memory.conversations.record_thought(thought(" \n\t ")) is None
        assert (
            await memory.conversations.record_thought(thought(" \n\t ", id="paid", calls=1, prompt_tokens=700)) is None
        )
        logged = await memory._parts.database.rows("monologue_state.thoughts_since", {"since": 0.0, "limit": 9})
        assert [(row["id"], row["text"], row["experience_id"]) for row in logged] == [("paid", "", None)]
        assert await memory.unprocessed_count() == 0
        kept = await memory.conversations.record_thought(
            thought("I wonder whether Marta likes the ocean.", is_partial=True, why_ended="interrupted")
        )
        assert kept is not None
        (row,) = await memory._parts.database.rows("experiences.get", {"id": kept.id})
        assert experience_of(row).end_reason == "interrupted"
        assert experience_of(row).is_partial
        await memory.light_sleep()
        found = await memory.search("Marta ocean", 5)
        assert found.episodes[0].episode.origin is Origin.SELF
        assert found.turns[0].turn.speaker == "Reverie"


@pytest.mark.requirement("R-68")
async def test_what_comes_from_outside_is_kept_with_its_origin(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        assert await memory.conversations.record_external(" ", Origin.SYSTEM) is None
        await memory.conversations.record_external("The calendar says: dentist on Friday.", Origin.CHANNEL)
        await memory.light_sleep()
        found = (await memory.search("dentist Friday", 5)).episodes[0].episode
        assert (found.origin, found.tainted) == (Origin.CHANNEL, True)


@pytest.mark.requirement("R-117", "R-125")
async def test_only_a_real_recall_reinforces(tmp_path: Path) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        name = await talk(memory, ("My sister Marta lives in Lisbon.", "Far away."))
        await memory.light_sleep()
        (before,) = memory.live.graph.episodes()
        await clock.advance(60)
        await memory.search("sister Marta", 5)
        await memory.inspect(before.id)
        assert memory.live.graph.get(before.id) == before
        cue = "Where does my sister live?"
        said = await memory.conversations.append_owner_turn(name, cue)
        recall = await memory.recall(cue, context(now=clock.now()))
        await memory.conversations.record_exchange(said, "In Lisbon.", recall=recall)
        after = memory.live.graph.get(before.id)
        assert after is not None
        assert after.access_count == 1
        assert after.last_accessed_at == clock.now()
        assert after.salience == pytest.approx(before.salience + 0.1 * (1 - before.salience))


@pytest.mark.requirement("R-125")
@pytest.mark.parametrize("by", ["a reply", "a thought"])
async def test_what_a_reply_or_a_thought_recalled_together_is_linked_more_strongly_also_after_a_wake(
    tmp_path: Path, by: str
) -> None:
    def links(memory: Memory) -> dict[tuple[str, str, LinkType], float]:
        graph = memory.live.graph
        names = [one.id for one in graph.episodes()]
        every = [(source, end, kind) for source in names for end in names for kind in LinkType]
        return {one: strength for one in every if (strength := graph.strength_of(*one))}

    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        for saying in ("My sister Marta lives in Lisbon.", "My sister Marta moved to another flat in Lisbon."):
            name = await talk(memory, (saying, "I see."))
            await memory.light_sleep()
            await clock.advance(13 * 3600)
        cue = "Where does my sister Marta live in Lisbon?"
        recall = await memory.recall(cue, context(now=clock.now()))
        surfaced = {found.episode.id for found in recall.episodes}
        assert len(surfaced) == 2
        before = links(memory)
        assert before
        if by == "a reply":
            said = await memory.conversations.append_owner_turn(name, cue)
            await memory.conversations.record_exchange(said, "In Lisbon.", recall=recall)
        else:
            await memory.reinforce([recall])
        after = links(memory)
        assert after.keys() == before.keys()
        assert all(after[one] > before[one] for one in before if before[one] < 1.0)
        assert any(before[one] < 1.0 for one in before)
    async with open_memory(tmp_path, clock, first_id=1000) as memory:
        assert links(memory) == pytest.approx(after)


async def test_a_reply_made_from_tainted_memories_is_tainted(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await memory.conversations.record_external("The flyer says: call 555 for cheap boats.", Origin.DOCUMENT)
        await memory.light_sleep()
        conversation = await memory.conversations.open_conversation(HOUR)
        said = await memory.conversations.append_owner_turn(conversation.id, "What did the flyer say about boats?")
        recall = await memory.recall(said.text, context())
        exchange = await memory.conversations.record_exchange(said, "Call 555.", recall=recall)
        assert exchange.experience.tainted
        assert exchange.reply is not None
        assert exchange.reply.tainted
        assert not said.tainted


async def test_a_write_that_fails_changes_neither_the_file_nor_memory(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        with pytest.raises(StorageError):
            await memory.conversations.append_owner_turn("no such conversation", "Lost?")
        assert (await memory.stats()).turns == 0
        await talk(memory, ("Still here.", "Yes."))


async def test_a_caller_that_is_cancelled_leaves_file_and_memory_alike(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await talk(memory, ("My sister Marta lives in Lisbon.", "Far."))
        async with asyncio.TaskGroup() as group:
            sleeping = group.create_task(memory.light_sleep(), name="sleep")
            for _ in range(30):
                await asyncio.sleep(0)
            sleeping.cancel()
        await memory.close()
        await memory.light_sleep()
        live = {one.id: one.summary for one in memory.live.graph.episodes()}
        stored = {row["id"]: row["summary"] for row in await memory._parts.database.rows("episodes.live")}
        assert live == stored
        assert len(live) == 1


async def test_lone_surrogates_do_not_keep_words_from_being_stored(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        name = await talk(memory, ("broken \ud83d emoji and a whole one 😀", "ok"))
        assert (await memory.conversations.recent_turns(name, 1))[0].text == "ok"
        assert "😀" in (await memory.conversations.recent_turns(name, 2))[0].text


@pytest.mark.requirement("A1", "R-97")
async def test_an_exchange_that_is_stored_while_light_sleep_reads_is_slept_on_with_its_turns(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        conversation = await memory.conversations.open_conversation(new_after_seconds=12 * 3600)
        said = [f"The hive number {number} swarmed today." for number in range(12)]
        for steps, text in enumerate(said):
            turn = await memory.conversations.append_owner_turn(conversation.id, text)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(memory.light_sleep(), name="light sleep")
                # The longer it waits, the later the exchange comes between the reads and the write of light sleep.
                for _ in range(steps):
                    await asyncio.to_thread(lambda: None)
                await memory.conversations.record_exchange(turn, "Did it settle?")
        await memory.light_sleep()
        kept = {turn.text for turn, _ in memory.live.turns.entries()}
        homes = {turn.text: home for turn, home in memory.live.turns.entries()}
    assert [text for text in said if homes.get(text) is None] == []
    assert kept == {*said, "Did it settle?"}
