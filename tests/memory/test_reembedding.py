"""Missing vectors are computed in the background, despite failures, kills and a change of the embedder."""

import asyncio
import contextlib
import json
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reveries.db.driver import dbapi
from reveries.db.opening import open_database
from reveries.errors import (
    BudgetExceededError,
    ModelError,
    ModelMissingError,
    ModelUnavailableError,
)
from reveries.llm.base import Vectors
from reveries.llm.metered_embedding import EmbeddingCache
from reveries.memory.forgetting.selection import BY_WORDS, Selection
from reveries.memory.importing import PastTurn
from reveries.memory.memory import Memory
from reveries.memory.model import Origin
from reveries.memory.reembedding import BATCH_TEXTS, episode_vector, retry_delay_seconds
from reveries.memory.store import choose_serving_model, drop_unfit_vectors
from tests.fakes.clock import HandClock, settle
from tests.memory.kit import NOW, WordEmbedder, answering, axis, context, deep_answer, episode, open_memory, talk
from tests.memory.reembedding_kit import (
    CUES,
    SAYINGS,
    all_have_vectors,
    database_of,
    fill,
    found_all,
    until,
    vectors_by_model,
)

# --- a change of the model -------------------------------------------------------------------------------------------


@pytest.mark.requirement("R-119")
@pytest.mark.parametrize("old_is_there", [True, False])
async def test_the_old_vectors_serve_until_all_new_ones_are_there_and_then_they_go(
    tmp_path: Path, old_is_there: bool
) -> None:
    await fill(tmp_path)
    new, old = WordEmbedder("new", 32), WordEmbedder()

    def old_embedder(model_id: str) -> WordEmbedder | None:
        assert model_id == "words-64"
        return old if old_is_there else None

    async with open_memory(tmp_path, embedder=new, first_id=500, old_embedder=old_embedder) as memory:
        assert memory.live.dimensions == 64
        assert (memory.reembedding.progress.serving_id, memory.reembedding.progress.model_id) == ("words-64", "new")
        assert await found_all(memory)
        assert bool(old.texts) is old_is_there
        assert not new.texts
        await memory.reembedding.embed_missing()
        assert memory.live.dimensions == 32
        assert all_have_vectors(memory)
        assert memory.live.graph.vectors.any(axis=1).all()
        assert await found_all(memory)
        assert "new" in memory.reembedding.notice
        assert list(await vectors_by_model(database_of(memory))) == ["new"]
    async with open_memory(tmp_path, embedder=new, first_id=900) as memory:
        assert memory.live.dimensions == 32
        assert all_have_vectors(memory)


async def test_what_is_said_meanwhile_is_found_at_once_and_has_a_new_vector_in_the_end(tmp_path: Path) -> None:
    await fill(tmp_path)
    gate = asyncio.Event()

    class Slow(WordEmbedder):
        async def embed(self, texts: Sequence[str]) -> Vectors:
            await gate.wait()
            return await super().embed(texts)

    async with open_memory(
        tmp_path, embedder=Slow("new", 32), first_id=500, old_embedder=lambda _: WordEmbedder()
    ) as memory:
        async with asyncio.timeout(300), asyncio.TaskGroup() as tasks:
            working = tasks.create_task(memory.reembedding.embed_missing(), name="reembedding")
            await settle()
            await talk(memory, ("The heron stood in the pond.", "Still?"))
            await memory.light_sleep()
            assert await found_all(memory, CUES | {"heron pond": "heron"})
            gate.set()
            await working
        assert await found_all(memory, CUES | {"heron pond": "heron"})
        assert memory.reembedding.progress.is_complete
        assert all_have_vectors(memory)


async def test_going_back_to_the_old_model_half_way_costs_nothing(tmp_path: Path) -> None:
    await fill(tmp_path)
    half = _Stopping("new", 32, stop_after=1)
    async with open_memory(tmp_path, embedder=half, first_id=500) as memory:
        with pytest.raises(ModelError):
            await memory.reembedding.embed_missing()
    old = WordEmbedder()
    async with open_memory(tmp_path, embedder=old, first_id=900) as memory:
        await memory.reembedding.embed_missing()
        assert old.texts == []
        assert list(await vectors_by_model(database_of(memory))) == ["words-64"]


async def test_an_episode_that_changes_after_its_new_vector_was_made_gets_another(tmp_path: Path) -> None:
    await fill(tmp_path)
    async with open_memory(tmp_path, embedder=WordEmbedder("new", 32), first_id=500, old_embedder=_old) as memory:
        store = memory.conversations._store
        while await memory.reembedding._embed_stored_texts():
            pass
        before = (await vectors_by_model(store.database))["new"]
        await memory.deep_sleep(answering(*[deep_answer(summary="It was a day.")] * 9), limit=1)
        assert (await vectors_by_model(store.database))["new"] == before - 1
        await memory.reembedding.embed_missing()
        assert memory.reembedding.progress.is_complete


async def test_only_a_conversation_that_is_over_is_followed_by_work(tmp_path: Path) -> None:
    await fill(tmp_path)
    clock, talking = HandClock(NOW), [True]
    new = WordEmbedder("new", 32)
    async with open_memory(
        tmp_path, clock, embedder=new, first_id=500
    ) as memory, asyncio.timeout(300), asyncio.TaskGroup() as tasks:  # fmt: skip
        working = tasks.create_task(memory.reembedding.embed_missing(lambda: talking[0]), name="reembedding")
        for _ in range(5):
            await asyncio.sleep(0.01)
            await clock.advance(1.0)
        assert new.texts == []
        talking[0] = False
        while not working.done():
            await asyncio.sleep(0.001)
            await clock.advance(1.0)
        assert new.texts


async def test_a_failure_is_waited_out_told_and_what_was_made_is_kept(tmp_path: Path) -> None:
    await fill(tmp_path)
    clock = HandClock(NOW)
    new = WordEmbedder("new", 32)
    new.error = BudgetExceededError("The embedding has used its tokens of today.")
    async with open_memory(
        tmp_path, clock, embedder=new, first_id=500
    ) as memory, asyncio.timeout(300), asyncio.TaskGroup() as tasks:  # fmt: skip
        running = tasks.create_task(memory.reembedding.run(), name="reembedding")
        await until(lambda: clock.sleeper_count > 0)
        progress = memory.reembedding.progress
        assert "tokens of today" in progress.waiting_reason
        assert (progress.done, progress.is_complete) == (0, False)
        new.error = None
        await clock.advance(900.0)
        await until(lambda: memory.reembedding.progress.is_complete)
        assert memory.reembedding.progress.waiting_reason == ""
        running.cancel()


async def test_run_wakes_when_something_is_stored_without_its_vector(tmp_path: Path) -> None:
    embedder = WordEmbedder()
    async with open_memory(tmp_path, embedder=embedder) as memory, asyncio.timeout(300), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(memory.reembedding.run(), name="reembedding")
        await settle()
        embedder.error = ModelUnavailableError("gone")
        await talk(memory, SAYINGS[0])
        await memory.light_sleep()
        embedder.error = None
        await until(lambda: all_have_vectors(memory))
        running.cancel()


# --- beside an erasure -----------------------------------------------------------------------------------------------

_LOCK = "zqvorblax"


class _AtTheProvider(WordEmbedder):
    """A new embedder that answers when allowed, and caches its results like a hosted one."""

    def __init__(self) -> None:
        super().__init__("new", 32)
        self.let, self.asked = asyncio.Event(), asyncio.Event()
        self.cache: EmbeddingCache | None = None

    async def embed(self, texts: Sequence[str]) -> Vectors:
        self.asked.set()
        await self.let.wait()
        rows = await super().embed(texts)
        if self.cache is not None:
            await self.cache.keep(self.model_id, dict(zip(texts, rows, strict=True)))
        return rows


async def _left_of_what_is_gone(memory: Memory) -> list[str]:
    """Vectors whose text is nowhere any more."""
    named = {"ids": json.dumps(await _owners(memory, "turn"))}
    turns = {row["id"] for row in await database_of(memory).rows("vectors.turns_there", named)}
    episodes = [
        name
        for name in await _owners(memory, "episode")
        if not await database_of(memory).rows("vectors.episode_there", {"id": name})
    ]
    return [name for name in await _owners(memory, "turn") if name not in turns] + episodes


async def _owners(memory: Memory, kind: str) -> list[str]:
    with contextlib.closing(dbapi.connect(str(database_of(memory).path))) as look:
        return [row[0] for row in look.execute("SELECT owner_id FROM vectors WHERE owner_kind = ?", (kind,))]


@pytest.mark.requirement("F10")
@pytest.mark.parametrize("is_asleep", [False, True])
async def test_a_batch_that_was_at_the_embedder_brings_nothing_back_of_what_was_erased(
    tmp_path: Path, is_asleep: bool
) -> None:
    await fill(tmp_path)
    async with open_memory(tmp_path, first_id=300) as memory:
        await talk(memory, (f"The lock opens with {_LOCK}.", f"{_LOCK}, then."))
        await memory.conversations.record_external(f"A letter says {_LOCK}. It is long.", Origin.DOCUMENT)
        await memory.light_sleep()
    new = _AtTheProvider()
    async with open_memory(
        tmp_path, embedder=new, first_id=500, old_embedder=_old
    ) as memory, asyncio.timeout(300), asyncio.TaskGroup() as tasks:  # fmt: skip
        new.cache = EmbeddingCache(database_of(memory))
        if is_asleep:
            await memory.forgetting.archive(Selection(BY_WORDS, _LOCK))
        working = tasks.create_task(memory.reembedding.embed_missing(), name="reembedding")
        await new.asked.wait()
        erasing = tasks.create_task(memory.forgetting.erase(Selection(BY_WORDS, _LOCK)), name="erasing")
        await asyncio.wait({erasing}, timeout=0.3)
        new.let.set()
        await working
        assert (await erasing).counts.gone["turns"]
        assert await _left_of_what_is_gone(memory) == []
        told = [text for text in new.texts if _LOCK in text]
        assert not await new.cache.find("new", told)
        assert memory.reembedding.progress.is_complete


@pytest.mark.requirement("F10")
async def test_what_was_erased_while_a_batch_waited_is_not_even_sent_to_the_embedder(tmp_path: Path) -> None:
    clock, talking = HandClock(NOW), [True]
    await fill(tmp_path)
    async with open_memory(tmp_path, clock, first_id=300) as memory:
        await talk(memory, (f"The lock opens with {_LOCK}.", f"{_LOCK}, then."))
        await memory.light_sleep()
    new = WordEmbedder("new", 32)
    async with open_memory(
        tmp_path, clock, embedder=new, first_id=500, old_embedder=_old
    ) as memory, asyncio.timeout(300), asyncio.TaskGroup() as tasks:  # fmt: skip
        working = tasks.create_task(memory.reembedding.embed_missing(lambda: talking[0]), name="reembedding")
        await until(lambda: clock.sleeper_count > 0)
        await memory.forgetting.erase(Selection(BY_WORDS, _LOCK))
        talking[0] = False
        while not working.done():
            await asyncio.sleep(0.001)
            await clock.advance(1.0)
        assert not [text for text in new.texts if _LOCK in text]
        assert await _left_of_what_is_gone(memory) == []


# --- at every moment -------------------------------------------------------------------------------------------------


class _Stopping(WordEmbedder):
    """Fails permanently after some batches: a kill leaves what was committed before."""

    def __init__(self, model_id: str, dimensions: int, stop_after: int) -> None:
        super().__init__(model_id, dimensions)
        self.left = stop_after

    async def embed(self, texts: Sequence[str]) -> Vectors:
        if self.left <= 0:
            raise ModelUnavailableError("stopped")
        self.left -= 1
        return await super().embed(texts)


def _old(model_id: str) -> WordEmbedder:
    return WordEmbedder(model_id)


class _Watching(WordEmbedder):
    """At every batch: recalls, counts what is missing, and copies the file as a kill would leave it."""

    def __init__(self, folder: Path, copies: list[Path]) -> None:
        super().__init__("new", 32)
        self.folder = folder
        self.copies = copies
        self.memory: Memory | None = None
        self.missing: list[int] = []

    async def embed(self, texts: Sequence[str]) -> Vectors:
        if self.memory is not None and self.memory.live.dimensions == 64:
            assert await found_all(self.memory)
            progress = self.memory.reembedding.progress
            self.missing.append(progress.total - progress.done)
            copy = self.folder.with_name(f"killed-{len(self.copies)}")
            copy.mkdir()
            for file in self.folder.glob("memory.db*"):
                if not file.name.endswith("-shm"):
                    # By another process: no code but SQLite opens the file here.
                    await asyncio.to_thread(subprocess.run, ["cp", str(file), str(copy)], check=True)
            self.copies.append(copy)
        return await super().embed(texts)


@pytest.mark.requirement("R-3")
@pytest.mark.parametrize("old_is_there", [True, False])
async def test_at_every_batch_and_after_a_kill_at_every_batch_recall_finds_and_the_work_goes_on(
    tmp_path: Path, old_is_there: bool
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    await fill(home)
    async with open_memory(home, embedder=WordEmbedder(), first_id=300) as memory:
        lines = [PastTurn(NOW - 9000.0 + n, "Bo", f"line {n} about matter{n}") for n in range(3 * BATCH_TEXTS)]
        await memory.begin_import("old").add(lines)
        await memory.light_sleep()
    copies: list[Path] = []
    watching = _Watching(home, copies)
    old_embedder = _old if old_is_there else lambda _: None
    async with open_memory(home, embedder=watching, first_id=500, old_embedder=old_embedder) as memory:
        watching.memory = memory
        await memory.reembedding.embed_missing()
        assert await found_all(memory)
    assert len(copies) >= 4
    assert watching.missing == sorted(watching.missing, reverse=True)
    left = []
    for copy in copies:
        again = WordEmbedder("new", 32)
        async with open_memory(copy, embedder=again, first_id=700, old_embedder=old_embedder) as memory:
            assert memory.live.dimensions == 64
            assert await found_all(memory)
            await memory.reembedding.embed_missing()
            assert memory.live.dimensions == 32
            assert await found_all(memory)
            assert all_have_vectors(memory)
            assert list(await vectors_by_model(database_of(memory))) == ["new"]
            left.append(len(set(again.texts)))
    assert left == sorted(left, reverse=True)
    assert left[-1] < left[0]


_KILLED = """
    import asyncio, os, signal, sys
    from pathlib import Path
    from tests.memory.kit import WordEmbedder, open_memory

    class Killed(WordEmbedder):
        left = int(sys.argv[2])

        async def embed(self, texts):
            if self.left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            self.left -= 1
            return await super().embed(texts)

    async def main():
        async with open_memory(Path(sys.argv[1]), embedder=Killed("new", 32), first_id=500) as memory:
            await memory.reembedding.embed_missing()

    asyncio.run(main())
"""


@pytest.mark.requirement("R-3")
@pytest.mark.parametrize("batches", [0, 1])
async def test_a_kill_in_the_middle_loses_nothing_and_the_next_life_goes_on(tmp_path: Path, batches: int) -> None:
    await fill(tmp_path)
    program = [sys.executable, "-c", textwrap.dedent(_KILLED), str(tmp_path), str(batches)]
    died = await asyncio.to_thread(
        subprocess.run, program, cwd=Path(__file__).parents[2], timeout=300, check=False, capture_output=True
    )
    assert died.returncode == -9, died.stderr.decode()
    again = WordEmbedder("new", 32)
    async with open_memory(tmp_path, embedder=again, first_id=900, old_embedder=_old) as memory:
        assert await found_all(memory)
        assert memory.live.dimensions == 64
        await memory.reembedding.embed_missing()
        assert memory.live.dimensions == 32
        assert await found_all(memory)
        assert len(again.texts) < memory.reembedding.progress.total or batches == 0


@pytest.mark.requirement("R-3")
@settings(max_examples=10, deadline=None)
@given(
    dimensions=st.sampled_from([16, 64, 96]),
    steps=st.lists(st.sampled_from(["fail", "work", "talk", "deep", "restart", "away"]), min_size=1, max_size=8),
)
async def test_whatever_happens_in_whatever_order_recall_finds_and_nothing_is_missing_in_the_end(
    tmp_path_factory: pytest.TempPathFactory, dimensions: int, steps: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("memory")
    await fill(folder)
    cues = dict(CUES)
    first_id = 1000
    has_old = True
    pending = list(enumerate(steps))
    while pending:
        embedder = WordEmbedder("new", dimensions)
        old_embedder = _old if has_old else lambda _: None
        async with open_memory(folder, embedder=embedder, first_id=first_id, old_embedder=old_embedder) as memory:
            first_id += 1000
            assert await found_all(memory, cues)
            while pending:
                number, step = pending.pop(0)
                match step:
                    case "restart":
                        break
                    case "away":
                        has_old = not has_old
                        break
                    case "fail":
                        embedder.error = ModelUnavailableError("gone")
                    case "work":
                        embedder.error = None
                        await memory.reembedding.embed_missing()
                    case "deep":
                        await memory.deep_sleep(answering(deep_answer(summary="A day like others.")), limit=1)
                    case "talk":
                        await talk(memory, (f"The number{number} lantern hung in the hall{number}.", "Nice."))
                        await memory.light_sleep()
                        cues[f"number{number} lantern hall{number}"] = f"hall{number}"
                assert await found_all(memory, cues)
    async with open_memory(folder, embedder=WordEmbedder("new", dimensions), first_id=first_id) as memory:
        await memory.reembedding.embed_missing()
        assert all_have_vectors(memory)
        assert memory.live.graph.dimensions == dimensions
        assert await found_all(memory, cues)


# --- decisions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("recorded", "counts", "serves"),
    [
        ("old", {"old": 5, "new": 9}, "old"),
        ("new", {"old": 9, "new": 1}, "new"),
        ("", {}, "new"),
        ("old", {}, "new"),
        ("", {"old": 3}, "old"),
        ("", {"old": 3, "new": 3}, "new"),
        ("old", {"other": 3}, "new"),
    ],
)
def test_the_vectors_that_served_before_serve_while_there_are_any(
    recorded: str, counts: dict[str, int], serves: str
) -> None:
    assert choose_serving_model(recorded, counts, "new") == serves


def test_pauses_double_obey_the_provider_and_wait_long_for_money() -> None:
    gone = ModelUnavailableError("gone")
    assert [retry_delay_seconds(gone, n) for n in (0, 1, 2, 9, 99)] == [5.0, 10.0, 20.0, 300.0, 300.0]
    assert retry_delay_seconds(ModelUnavailableError("slow", retry_after_seconds=600.0), 0) == 600.0
    assert retry_delay_seconds(BudgetExceededError("spent"), 0) == 900.0
    assert retry_delay_seconds(ModelMissingError("no file"), 0) == 300.0


def test_an_episode_is_the_mean_of_what_was_said_and_half_of_it_the_summary() -> None:
    said, told = axis(0), axis(1)
    assert np.allclose(episode_vector([said, said], None), said)
    assert np.allclose(episode_vector([], told), told)
    assert np.allclose(episode_vector([said], told), (said + told) / np.sqrt(2))


def test_vectors_of_another_length_are_taken_for_none() -> None:
    from reveries.memory.changes import ChangeSet

    changes = ChangeSet(episodes=(episode("a"),), vectors=(("a", axis(0)), ("b", axis(1, 8))))
    assert drop_unfit_vectors(changes, 4).vectors[0][1] is changes.vectors[0][1]
    assert not drop_unfit_vectors(changes, 4).vectors[1][1].any()
    assert drop_unfit_vectors(ChangeSet(), 4) == ChangeSet()


async def test_a_cue_of_another_length_is_asked_by_words(tmp_path: Path) -> None:
    await fill(tmp_path)
    async with open_memory(tmp_path, first_id=500) as memory:
        recall = memory.live.recall("cello tune", axis(0, 7), context())
        assert "cello" in recall.turns[0].turn.text


async def test_a_database_of_before_says_whose_vectors_serve_from_now_on(tmp_path: Path) -> None:
    await fill(tmp_path)
    database = await open_database(tmp_path / "memory.db")
    assert [row["model_id"] for row in await database.rows("vectors.serving")] == ["words-64"]
    await database.aclose()
