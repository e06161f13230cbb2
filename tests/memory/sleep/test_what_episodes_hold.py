"""What a conversation and a thought become: an episode with all its parts, and links in the database and in memory."""

import sqlite3
from pathlib import Path

import pytest

from reveries.errors import StorageError
from reveries.memory.changes import ChangeSet
from reveries.memory.conversations import Thought
from reveries.memory.memory import Memory
from reveries.memory.model import Link, LinkType, Origin
from tests.fakes.clock import HandClock
from tests.fakes.scripted import ScriptedModel
from tests.memory.kit import NOW, answering, context, deep_answer, open_memory, talk

BOAT, BREAD = "The wooden boat Sole needs blue paint.", "Bread needs flour, yeast and salt."
INVENTED = "Nobody has ever said this."
DAY = 86_400.0


async def two_days(memory: Memory, clock: HandClock) -> None:
    """Run deep sleep on two conversations with a day of silence between them."""
    await memory.conversations.mark_conversation_idle(await talk(memory, (BOAT, "A fine colour.")))
    await clock.advance(DAY)
    await talk(memory, (BREAD, "And water."))
    await memory.light_sleep()
    told: list[dict[str, object]] = [
        {"summary": BOAT, "topics": ["boat"]},
        {"summary": BREAD, "topics": ["bread"], "exemplars": [{"quote": INVENTED, "significance": "it matters"}]},
    ]
    await memory.deep_sleep(answering(deep_answer(0.5, BOAT, **told[0]), deep_answer(0.5, BREAD, **told[1])))


@pytest.mark.requirement("R-70", "R-74", "R-80")
async def test_an_episode_has_every_part_that_it_must_have_and_keeps_it_over_a_restart(tmp_path: Path) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        await two_days(memory, clock)
        await memory.reinforce([await memory.search("the wooden boat", 1)])
        held = sorted(memory.live.graph.episodes(), key=lambda one: one.created_at)
    async with open_memory(tmp_path, clock, first_id=1000) as memory:
        boat, bread = sorted(memory.live.graph.episodes(), key=lambda one: one.created_at)
        assert [boat, bread] == held
        assert boat.created_at == boat.ended_at == NOW
        assert (boat.access_count, boat.last_accessed_at) == (1, NOW + DAY)
        assert (boat.summary, boat.exemplars[0].quote) == (BOAT, BOAT)
        assert memory.live.graph.vector_of(boat.id).any()
        assert (boat.after, bread.before) == ((bread.id,), (boat.id,))
        assert bread.gap_seconds == pytest.approx(DAY, abs=60)
        assert LinkType.TEMPORAL in {link.type for link in memory.live.graph.links_of(boat.id)}
        assert 0.0 < boat.salience < 1.0
        assert 0.0 < bread.confidence < boat.confidence == 1.0
        assert boat.topics[0] == "boat"


@pytest.mark.requirement("R-41")
async def test_a_thought_is_slept_on_deeply_like_a_talk(tmp_path: Path) -> None:
    """The model gets the same question about a thought, and its answer has the same effect as for a conversation."""
    async with open_memory(tmp_path) as memory:
        await memory.conversations.record_thought(Thought("t", NOW, NOW, "timer", "settled", BOAT, 9, "m"))
        await talk(memory, (BREAD, "And water."))
        await memory.light_sleep()
        model = ScriptedModel([deep_answer(0.5, BOAT, summary=BOAT), deep_answer(0.5, BREAD, summary=BREAD)])
        slept = await memory.deep_sleep(model)
        assert (slept.processed, slept.fallbacks, slept.left) == (2, 0, 0)
        rules = {question.messages[0].text for question in model.prompts}
        assert len(rules) == 1
        held = {one.origin: one for one in memory.live.graph.episodes()}
        assert (held[Origin.SELF].depth, held[Origin.OWNER].depth) == ("deep", "deep")
        assert BOAT in [quoted.quote for quoted in held[Origin.SELF].exemplars]


@pytest.mark.requirement("R-78", "R-79", "R-149")
async def test_a_link_is_one_row_by_its_two_ends_and_its_type(tmp_path: Path) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        await two_days(memory, clock)
        other, one = sorted(memory.live.graph.ids())
        for strength in (0.25, 0.75, 0.5):

            async def work(_: object, strength: float = strength) -> ChangeSet:
                return ChangeSet(links=(Link(one, other, LinkType.CAUSAL, strength),))

            await memory._store.commit(work)
        assert [link.strength for link in memory.live.graph.links_of(one) if link.type is LinkType.CAUSAL] == [0.5]

        async def to_nowhere(_: object) -> ChangeSet:
            return ChangeSet(links=(Link(one, "nobody", LinkType.CAUSAL, 0.5),))

        with pytest.raises(StorageError):
            await memory._store.commit(to_nowhere)
    look = sqlite3.connect(tmp_path / "memory.db")
    rows = look.execute("SELECT from_id, to_id, strength FROM episode_links WHERE type = 'causal'").fetchall()
    look.close()
    assert rows == [(one, other, 0.5)]


@pytest.mark.requirement("R-81", "R-118", "R-154")
async def test_what_is_only_linked_surfaces_after_a_restart_without_one_question_to_the_database(
    tmp_path: Path,
) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        await two_days(memory, clock)
    async with open_memory(tmp_path, clock, first_id=1000) as memory:
        asked: list[str] = []
        vector = await memory.embed_cue("Sole")
        await memory._parts.database._connection.set_trace_callback(asked.append)
        recall = memory.live.recall("Sole", vector, context(now=clock.now()))
        await memory._parts.database._connection.set_trace_callback(lambda _: None)
        assert {found.episode.summary for found in recall.episodes} == {BOAT, BREAD}
        assert asked == []
