"""Deep search: what it finds, what it wakes, and what is left after an erasure."""

import asyncio
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.db.opening import open_database
from reveries.memory.changes import ChangeSet
from reveries.memory.deep_recall import (
    MAX_TERMS,
    covered_share,
    score_match,
    select_rarest,
    should_search_disk,
    word_weights,
)
from reveries.memory.memory import Memory
from reveries.memory.model import Recall
from tests.fakes.clock import HandClock
from tests.memory.kit import NOW, WordEmbedder, context, open_memory, talk

DAY = 86_400.0
FACT = "My grandmother's boat in Zanzibar was called Marigold."
CUE = "What was my grandmother's boat in Zanzibar called?"
LATER = ("The kitchen needs a new lamp.", "I planted beans behind the shed.")


async def a_year_passes(memory: Memory, clock: HandClock) -> None:
    for _ in range(13):
        await clock.advance(30 * DAY)
        await memory.decay_and_prune()


async def test_a_question_on_a_day_wakes_what_was_said_that_day(tmp_path: Path) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        await forgetful(memory, clock)
        assert FACT not in [turn.text for turn, _ in memory.live.turns.entries()]
        day = datetime.fromtimestamp(NOW).strftime("%d %B %Y")
        recall = await memory.recall(f"What did I do on {day}?", context(now=clock.now()), may_wake=True)
        assert [ranked.turn.text for ranked in recall.turns][:1] == [FACT]
        assert recall.episodes[0].episode.summary.endswith(FACT)


async def test_a_deep_search_finds_a_word_in_a_script_without_spaces(tmp_path: Path) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        await talk(memory, ("娘はピアノの発表会で月光を弾きます。", "Good."))
        await memory.light_sleep()
        await a_year_passes(memory, clock)
        assert [hit.words for hit in (await memory.search_deep("発表会", 3)).hits if "月光" in hit.text]


async def forgetful(memory: Memory, clock: HandClock) -> None:
    """One old fact that is dormant, and something newer that is not."""
    await talk(memory, (FACT, "A lovely name."))
    await memory.light_sleep()
    await a_year_passes(memory, clock)
    assert memory.on_disk.episodes == 1
    await talk(memory, *((said, "I see.") for said in LATER))
    await memory.light_sleep()


@pytest.mark.requirement("R-116")
async def test_a_word_exact_cue_of_a_year_old_dormant_fact_brings_it_back_into_recall(tmp_path: Path) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        await forgetful(memory, clock)
        cue = await memory.embed_cue(CUE)
        assert FACT not in {ranked.turn.text for ranked in memory.live.recall(CUE, cue, context()).turns}
        recall = await memory.recall(CUE, context(now=clock.now()), may_wake=True)
        assert recall.turns[0].turn.text == FACT
        assert memory.on_disk.texts == 0
        (home,) = {ranked.episode_id for ranked in recall.turns[:1]}
        assert memory.live.graph.get(home)
        again = await memory._parts.database.rows_of_text(
            "SELECT became, reason FROM dormancy_log WHERE episode_id = ? ORDER BY id", (home,)
        )
        assert [row["became"] for row in again] == ["dormant", "awake"]
        await memory.decay_and_prune()
        assert memory.live.graph.get(home), "what has just woken does not go back at once"


@pytest.mark.parametrize("cue", ["What did you make of the boat race on television yesterday evening?", "Hello!"])
async def test_a_weak_cue_wakes_nothing(tmp_path: Path, cue: str) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        await forgetful(memory, clock)
        await memory.recall(cue, context(now=clock.now()), may_wake=True)
        assert memory.on_disk.episodes == 1


async def test_a_cue_that_what_is_in_memory_answers_reads_nothing(tmp_path: Path) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        await forgetful(memory, clock)
        await memory._parts.database.aclose()
        assert (await memory.recall(LATER[0], context(now=clock.now()), may_wake=True)).turns


@pytest.mark.parametrize("has_vectors", [True, False])
async def test_a_deep_search_finds_what_is_on_disk_with_and_without_the_extension_and_wakes_nothing(
    tmp_path: Path, has_vectors: bool
) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        await forgetful(memory, clock)
        assert (await memory.stats()).deep_search == "sqlite-vec"
    async with open_memory(tmp_path, clock, first_id=1000, with_vector_search=has_vectors) as memory:
        assert (await memory.stats()).deep_search == ("sqlite-vec" if has_vectors else "numpy")
        found = await memory.search_deep(CUE, 10)
        assert found.is_complete
        assert found.hits[0].text == FACT
        assert found.hits[0].is_dormant
        assert found.hits[0].words > 0.9
        by_meaning = await memory._deep_recall._search_vectors(await memory.embed_cue(CUE), 1e12)
        assert by_meaning[0]
        assert memory.on_disk.episodes == 1


@pytest.mark.requirement("R-65", "R-66")
async def test_words_that_were_put_away_are_found_word_for_word(tmp_path: Path) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        await talk(memory, (FACT, "A lovely name."))
        await memory.light_sleep()
        (home,) = memory.live.graph.episodes()
        names = tuple(turn.id for turn in memory.live.turns.turns_of(home.id))

        async def work(_: object) -> ChangeSet:
            return ChangeSet(put_away_turn_ids=names)

        await memory._store.commit(work)
        found = await memory.search_deep(CUE, 10)
        assert [hit.text for hit in found.hits[:1]] == [FACT]
        assert not found.hits[0].is_dormant
        await memory._deep_recall.wake_episodes([home.id], "cue")
        assert {turn.id for turn in memory.live.turns.turns_of(home.id)} == set(names)
        assert memory.on_disk.texts == 0


@pytest.mark.requirement("R-29")
async def test_what_left_the_disk_index_left_no_word_and_no_vector_in_the_file(tmp_path: Path) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        await forgetful(memory, clock)
        database = memory._parts.database
        async with database.transaction() as transaction:
            rows = await transaction.rows(
                "deep.vectors_after", {"model_id": "words-64", "after": 0, "until": 99, "limit": 9}
            )
            vectors = [row["vector"] for row in rows]
        await memory.recall(CUE, context(now=clock.now()), may_wake=True)
        shadows = ["deep_vectors_1_vector_chunks00", "deep_vectors_1_rowids"]
        stored = b"".join(
            bytes(row["blob"]) for row in await database.rows_of_text(f"SELECT vectors AS blob FROM {shadows[0]}", ())
        )
        assert any(vectors)
        assert not any(stored), "every vector is overwritten"
        terms = await database.rows_of_text(
            "SELECT count(*) AS left FROM deep_words WHERE deep_words MATCH 'zanzibar'", ()
        )
        assert terms[0]["left"] == 0
        blocks = await database.rows_of_text("SELECT block FROM deep_words_data", ())
        assert not [row for row in blocks if b"zanzibar" in bytes(row["block"]).lower()]


async def test_a_change_of_the_embedder_covers_what_is_on_disk(tmp_path: Path) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        await forgetful(memory, clock)
    other = WordEmbedder("words-48", 48)
    async with open_memory(tmp_path, clock, embedder=other, first_id=1000) as memory:
        assert (await memory.search_deep(CUE, 5)).hits[0].text.endswith(FACT), "by words, while the vectors are made"
        async with asyncio.timeout(300):
            async with asyncio.TaskGroup() as tasks:
                working = tasks.create_task(memory.reembedding.embed_missing(), name="catch-up")
                while not working.done():
                    await clock.advance(5)
        assert memory.reembedding.progress.is_complete
        table = memory._store.deep.table_of("words-48")
        assert table is not None
        assert table.dimensions == 48
        hit = (await memory.search_deep(CUE, 5)).hits[0]
        assert hit.text.endswith(FACT)
        assert hit.cosine > 0.5


async def test_tables_of_vectors_are_emptied_where_the_extension_is_gone_and_made_anew_when_it_is_back(
    tmp_path: Path,
) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        await forgetful(memory, clock)
    async with open_memory(tmp_path, clock, first_id=1000, with_vector_search=False) as memory:
        (left,) = await memory._parts.database.rows_of_text("SELECT count(*) AS rows FROM deep_vectors_1_rowids", ())
        assert left["rows"] == 0
        await memory._parts.database.backup_to(tmp_path / "copy.db")
    await (await open_database(tmp_path / "copy.db")).aclose()
    async with open_memory(tmp_path, clock, first_id=2000) as memory:
        assert memory._store.deep.table_of("words-64") is None
        await memory.reembedding.embed_missing()
        assert memory._store.deep.table_of("words-64") is not None
        assert (await memory.search_deep(CUE, 5)).hits[0].text == FACT


@given(st.floats(-1.0, 1.0), st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.booleans())
def test_a_match_is_between_0_and_1_and_words_alone_count_without_a_vector(
    cosine: float, words: float, best: float, has_vector: bool
) -> None:
    found = score_match(cosine, words, max(best, words), has_vector)
    assert 0.0 <= found <= 1.0
    if not has_vector:
        assert found == words


def test_a_rare_word_says_more_than_a_common_one() -> None:
    weights = word_weights({"boat": 90, "zanzibar": 1}, 100)
    assert covered_share("Zanzibar", weights)[0] > 0.9
    assert covered_share("the boats", weights)[0] < 0.1
    assert covered_share("the boats", weights)[1] == 1
    assert select_rarest({f"w{n}": n for n in range(20)}) == [f"w{n}" for n in range(1, 1 + MAX_TERMS)]


def test_recall_that_names_nothing_is_worth_no_look() -> None:
    assert not should_search_disk(Recall("is it?", np.zeros(4, dtype=np.float32), (), (), 0))
    assert should_search_disk(Recall("Zanzibar?", np.zeros(4, dtype=np.float32), (), (), 0))
