"""The whole memory: the file and the live memory always agree."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as checking
from hypothesis import strategies as st

from reveries.errors import ModelAnswerError, NotFoundError
from reveries.memory.importing import PastTurn
from reveries.memory.memory import Memory
from reveries.memory.model import Episode, Recall
from tests.fakes.clock import HandClock
from tests.memory.kit import NOW, WordEmbedder, answering, context, deep_answer, open_memory, talk

SAYINGS = (
    "My sister Marta lives in Lisbon.",
    "The wooden boat Sole needs blue paint.",
    "I am sad because grandmother died in March.",
    "Bread recipe: flour, yeast, salt.",
    "Blue paint for the boat is expensive.",
    "Marta visits Lisbon with the boat.",
)
CUE = "What about Marta and the boat?"


def unordered(episode: Episode) -> Episode:
    """Return the rows without the order of sources, which has no meaning."""
    return replace(episode, experience_ids=tuple(sorted(episode.experience_ids)))


def picture(memory: Memory) -> dict[str, object]:
    """Everything in the live memory that a reload must bring back."""
    graph, turns = memory.live.graph, memory.live.turns
    return {
        "episodes": {one.id: unordered(one) for one in graph.episodes()},
        "vectors": {one.id: graph.vector_of(one.id).tobytes() for one in graph.episodes()},
        "links": {one.id: graph.links_of(one.id) for one in graph.episodes()},
        "turns": {said.id: (said, home) for said, home in turns.entries()},
        "turn_vectors": {said.id: turns.vectors[[turns.row_of(said.id) or 0]].tobytes() for said, _ in turns.entries()},
        "self_model": memory.self_model,
        "gap": memory.open_gap,
        "claims": dict(memory.live.claims.claims),
        "conflicts": dict(memory.live.claims.conflicts),
    }


async def recalled(memory: Memory) -> Recall:
    return await memory.recall(CUE, context())


DEEDS = st.lists(
    st.one_of(
        st.tuples(st.just("talk"), st.sampled_from(SAYINGS)),
        st.tuples(st.just("import"), st.sampled_from(SAYINGS)),
        st.sampled_from([("light", ""), ("deep", ""), ("deep badly", ""), ("decay", ""), ("rest", ""), ("recall", "")]),
    ),
    max_size=12,
)


async def do(memory: Memory, clock: HandClock, deed: str, text: str) -> None:
    await clock.advance(3 * 3600)
    match deed:
        case "talk":
            await talk(memory, (text, "I see."))
        case "import":
            await memory.begin_import("past").add([PastTurn(clock.now() - 9e6, "Bea", text)])
        case "light":
            await memory.light_sleep()
        case "deep":
            deep, self_change = deep_answer(0.9, text, summary="About the boat."), {"owner_facts": ["Ana has a boat."]}
            answers: list[dict[str, object]] = [deep, dict(self_change)] * 40
            await memory.deep_sleep(answering(*answers), limit=3)
        case "deep badly":
            await memory.deep_sleep(answering(ModelAnswerError("No.")), limit=1)
        case "decay":
            await clock.advance(50 * 86_400)
            await memory.decay_and_prune()
        case "rest":
            conversation = await memory.conversations.open_conversation(1e9)
            await memory.conversations.mark_conversation_idle(conversation.id)
        case "recall":
            await memory.reinforce([await recalled(memory)])


@checking(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(DEEDS)
@pytest.mark.requirement("R-104", "R-116", "R-148", "R-149", "R-154", "R-173")
async def test_a_reload_from_the_file_equals_the_live_memory(
    tmp_path_factory: pytest.TempPathFactory, deeds: list[tuple[str, str]]
) -> None:
    folder, clock = tmp_path_factory.mktemp("mind"), HandClock(NOW)
    stored = 0
    async with open_memory(folder, clock) as memory:
        for deed, text in deeds:
            await do(memory, clock, deed, text)
            (row,) = await memory._parts.database.rows_of_text("SELECT count(*) AS episodes FROM episodes", ())
            assert row["episodes"] >= stored, "an episode was deleted"
            stored = row["episodes"]
        live, answer = picture(memory), await recalled(memory)
    async with open_memory(folder, clock, first_id=100_000) as memory:
        again = await recalled(memory)
        assert picture(memory) == live
        assert {one.episode.id: pytest.approx(one.energy) for one in answer.episodes} == {
            one.episode.id: one.energy for one in again.episodes
        }
        assert {one.turn.id: pytest.approx(one.score, abs=1e-4) for one in answer.turns} == {
            one.turn.id: one.score for one in again.turns
        }


@pytest.mark.requirement("R-118", "R-126")
async def test_recall_reads_no_database(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await talk(memory, *((saying, "I see.") for saying in SAYINGS))
        await memory.light_sleep()
        vector = await memory.embed_cue(CUE)
        await memory._parts.database.aclose()
        assert memory.live.recall(CUE, vector, context()).episodes


@pytest.mark.requirement("R-29")
async def test_looking_changes_nothing(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await talk(memory, *((saying, "I see.") for saying in SAYINGS))
        await memory.light_sleep()
        before = picture(memory)
        found = await memory.search(CUE, 10)
        await memory.inspect(found.episodes[0].episode.id)
        await memory.stats()
        assert picture(memory) == before


@pytest.mark.requirement("R-23")
async def test_an_episode_is_shown_with_everything_and_by_the_beginning_of_its_id(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await talk(memory, (SAYINGS[0], "Far."), (SAYINGS[3], "Tasty."))
        await memory.light_sleep()
        first = next(memory.live.graph.episodes())
        view = await memory.inspect(first.id)
        assert [said.text for said in view.sources] == [SAYINGS[0], "Far."]
        assert view.exemplars[0].speaker == "Ana"
        assert view.links[0].summary
        assert (await memory.inspect(first.id[:-1] + first.id[-1])).episode_id == view.episode_id
        with pytest.raises(NotFoundError, match="2 episodes"):
            await memory.inspect("id0000")
        with pytest.raises(NotFoundError, match="no episode"):
            await memory.inspect("zzz")


@pytest.mark.requirement("R-23")
async def test_the_silence_before_an_episode_and_its_neighbours_on_both_sides_are_shown(tmp_path: Path) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        for said in SAYINGS[:3]:
            await memory.conversations.mark_conversation_idle(await talk(memory, (said, "I see.")))
            await memory.light_sleep()
            await clock.advance(2 * 86_400)
        first, second, third = sorted(memory.live.graph.episodes(), key=lambda one: one.created_at)
        view = await memory.inspect(second.id)
        assert (view.before, view.after) == ([first.id], [third.id])
        assert view.gap_seconds == pytest.approx(2 * 86_400, abs=60)
        assert view.gap_significance.startswith("2 days of silence")
        assert (view.salience, view.confidence, view.access_count) == (second.salience, second.confidence, 0)


@pytest.mark.requirement("R-171")
async def test_the_numbers_add_up(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        assert (await memory.stats()).episodes == 0
        await talk(memory, (SAYINGS[0], "Far."), (SAYINGS[3], "Tasty."))
        await memory.light_sleep()
        stats = await memory.stats()
        assert (stats.experiences, stats.unprocessed, stats.turns, stats.episodes) == (2, 2, 4, 2)
        assert stats.links == {"temporal": 2}
        assert 0.0 < stats.min_salience <= stats.mean_salience
        assert stats.database_bytes > 0
        assert await memory.unprocessed_count() == 2


async def test_another_embedding_model_gets_its_own_vectors_at_the_next_wake(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await talk(memory, (SAYINGS[0], "Far."))
        await memory.light_sleep()
    other = WordEmbedder("other-model")
    async with open_memory(tmp_path, embedder=other, first_id=1000) as memory:
        assert other.texts == []
        await memory.reembedding.embed_missing()
        assert other.texts
        assert (await memory.search("Marta Lisbon", 3)).episodes
    again = WordEmbedder("other-model")
    async with open_memory(tmp_path, embedder=again, first_id=2000) as memory:
        await memory.reembedding.embed_missing()
        assert again.texts == []


async def test_closing_waits_for_the_write_in_hand(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        conversation = await memory.conversations.open_conversation(1e9)
        async with asyncio.TaskGroup() as group:
            writing = group.create_task(memory.conversations.append_owner_turn(conversation.id, "Wait."), name="write")
            await asyncio.sleep(0)
            writing.cancel()
        async with asyncio.timeout(300):
            await memory.close()
        assert len(await memory.conversations.recent_turns(conversation.id, 5)) in (0, 1)
