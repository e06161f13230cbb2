"""Embeds missing vectors in the background: after a change of the embedding model, and where the embedder failed.

Texts are embedded in the order in which they were stored, one transaction per batch. A restart continues, because what
is missing is read from the file each time. While recall uses an earlier model's vectors, the new ones are only stored;
when none is missing, recall switches to them and the earlier ones are deleted.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import structlog

from reveries.clock import Clock, wait_for_event
from reveries.db.database import Reader, Row, Transaction
from reveries.errors import BudgetExceededError, ModelError, ModelMissingError, ModelUnavailableError
from reveries.llm.base import Vector, Vectors
from reveries.memory.changes import ChangeSet, IndexedTurn
from reveries.memory.deep_recall import find_dormant_episode
from reveries.memory.model import Episode, Turn
from reveries.memory.rows import experience_of, turn_of, vector_of
from reveries.memory.store import MemoryStore, vector_row
from reveries.memory.text.indexed_text import passages_of, turn_embedding_text
from reveries.memory.text.segments import unit_mean

BATCH_TEXTS = 32
"""About half a second of work on a small machine. The embedder splits it into smaller batches; a cue waits for one."""

_BATCH_EPISODES = 64
_BATCH_EXPERIENCES = 64
_DROP_ROWS = 1000
_BUSY_CHECK_SECONDS = 1.0
_LONGEST_REST_SECONDS = 2.0
_FIRST_PAUSE_SECONDS = 5.0
_LONGEST_PAUSE_SECONDS = 300.0
_BUDGET_PAUSE_SECONDS = 900.0
_LONGEST_WAIT_SECONDS = 24 * 3600.0

log = structlog.get_logger("reembedding")


@dataclass(frozen=True, slots=True)
class EmbeddingProgress:
    """How many texts (turns, passages and episodes) of the total have a vector of `model_id`."""

    model_id: str
    """The embedder from the settings."""
    serving_id: str
    """The embedder whose vectors recall compares."""
    done: int = 0
    total: int = 0
    waiting_reason: str = ""
    """Why re-embedding is waiting; empty while it runs, or when nothing is missing."""

    @property
    def is_complete(self) -> bool:
        return self.done >= self.total and self.model_id == self.serving_id


def _never_busy() -> bool:
    return False


class Reembedding:
    """The background task (`run`) and its progress for `status`."""

    def __init__(self, store: MemoryStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._is_busy: Callable[[], bool] = _never_busy
        self._done = self._total = 0
        self._waiting_reason = ""
        self._retry = asyncio.Event()
        self.notice = ""
        """Message to the owner about a switch of the embedder since the daemon started; empty if there was none."""

    @property
    def progress(self) -> EmbeddingProgress:
        store = self._store
        return EmbeddingProgress(
            store.configured_embedder.model_id,
            store.embedder.model_id,
            self._done,
            max(self._done, self._total),
            self._waiting_reason,
        )

    def retry_now(self) -> None:
        """Retry at once, because the reason for waiting may be over."""
        self._retry.set()

    async def run(self, is_busy: Callable[[], bool] = _never_busy) -> None:
        """Run forever: embed what is missing, then wait until something is stored without its vector. No batch begins
        while `is_busy` returns True (the owner is talking)."""
        failures = 0
        while True:
            self._store.vectors_missing.clear()
            self._retry.clear()
            try:
                await self.embed_missing(is_busy)
            except ModelError as error:
                delay = retry_delay_seconds(error, failures)
                failures += 1
                self._waiting_reason = str(error)
                log.warning("reembedding.paused", why=error.for_log, seconds=delay, done=self._done, total=self._total)
                await wait_for_event(self._retry, min(delay, _LONGEST_WAIT_SECONDS), self._clock)
                continue
            failures = 0
            await self._store.vectors_missing.wait()

    async def embed_missing(self, is_busy: Callable[[], bool] = _never_busy) -> None:
        """Embed every missing vector, switch to the configured embedder if needed, then delete vectors of others.

        Raises ModelError when the embedder fails; the vectors stored before that are kept.
        """
        self._is_busy = is_busy
        await self._count()
        # Counting first: it is faster than searching for missing vectors, which holds up other requests.
        while self._done < self._total and await self._embed_stored_texts():
            await self._count()
        self._waiting_reason = ""
        store = self._store
        if store.embedder is not store.configured_embedder:
            await self._switch_embedder()
            # Texts stored during the last batch have a vector of the earlier model.
            while await self._embed_stored_texts():
                await self._count()
        # The disk is searched by the current vectors: by a scan until their table is built.
        await store.deep.ensure_table(store.configured_embedder.model_id, store.live.dimensions)
        await self._drop_earlier()

    async def _switch_embedder(self) -> None:
        store, earlier = self._store, self._store.embedder
        await store.switch_embedder(self._clock.now())
        await earlier.aclose()
        current_id = store.configured_embedder.model_id
        self.notice = f"Memory is now searched with the embedder {current_id}, no longer {earlier.model_id}."
        log.info("reembedding.completed", model=current_id, before=earlier.model_id, texts=self._done)

    async def _embed_stored_texts(self) -> int:
        """Go once through all stored texts and embed what is missing; how many. Episodes last, since their vectors are
        built from those of turns."""
        return await self._embed_all_turns() + await self._embed_all_passages() + await self._embed_all_episodes()

    async def _embed_all_turns(self) -> int:
        count = 0
        after = 0
        while rows := await self._page("vectors.turns_without", after, BATCH_TEXTS):
            after = int(rows[-1]["place"])
            count += await self._embed_turns([turn_of(row) for row in rows])
        return count

    async def _embed_all_passages(self) -> int:
        count = 0
        after = 0
        while rows := await self._page("vectors.wordless_experiences", after, _BATCH_EXPERIENCES):
            after = int(rows[-1]["place"])
            missing = await self._without_vectors(self._passages(rows))
            for start in range(0, len(missing), BATCH_TEXTS):
                count += await self._embed_turns(missing[start : start + BATCH_TEXTS])
        return count

    async def _embed_all_episodes(self) -> int:
        count = 0
        after = 0
        while rows := await self._page("vectors.episodes_without", after, _BATCH_EPISODES):
            after = int(rows[-1]["place"])
            count += await self._embed_episodes(await self._load_episodes([str(row["id"]) for row in rows]))
        return count

    async def _load_episodes(self, ids: Sequence[str]) -> list[Episode]:
        """Load the existing episodes of `ids`, live or dormant: a dormant one has a vector too."""
        live = self._store.live.graph
        episodes = [live.get(name) or await find_dormant_episode(self._store, name) for name in ids]
        return [episode for episode in episodes if episode is not None]

    async def _embed_turns(self, turns: Sequence[Turn]) -> int:
        async with self._batch_slot():
            existing_ids = await self._existing_ids(self._store.database, turns)
            return await self._store_turn_vectors([turn for turn in turns if turn.id in existing_ids])

    async def _existing_ids(self, reader: Reader, turns: Sequence[Turn]) -> set[str]:
        """Ids of the turns that are still in the file: some may have been erased since they were read."""
        named = {"ids": json.dumps([turn.id for turn in turns])}
        return {str(row["id"]) for row in await reader.rows("vectors.turns_there", named)}

    async def _store_turn_vectors(self, turns: Sequence[Turn]) -> int:
        names = self._store.live.turns.speakers
        vectors = await self._embed_texts([turn_embedding_text(turn, names) for turn in turns]) if turns else ()

        async def work(transaction: Transaction) -> ChangeSet:
            existing_ids = await self._existing_ids(transaction, turns)
            of_existing = [(turn.id, row) for turn, row in zip(turns, vectors, strict=True) if turn.id in existing_ids]
            await self._put_vectors(transaction, "turn", of_existing)
            index = self._store.live.turns
            return ChangeSet(
                # The episode is looked up now, because it may have been merged into another meanwhile.
                indexed=tuple(
                    IndexedTurn(turn, index.episode_id(place), row)
                    for turn, row in zip(turns, vectors, strict=True)
                    if self._is_in_use and (place := index.row_of(turn.id)) is not None
                )
            )

        await self._store.commit(work)
        self._done += len(turns)
        return len(turns)

    async def _embed_episodes(self, episodes: Sequence[Episode]) -> int:
        async with self._batch_slot():
            # Read again: text that was erased while this waited must not be embedded.
            return await self._store_episode_vectors(await self._load_episodes([episode.id for episode in episodes]))

    async def _store_episode_vectors(self, episodes: Sequence[Episode]) -> int:
        turn_ids = {episode.id: await self._turn_ids(episode.id) for episode in episodes}
        live_ids = {episode.id for episode in episodes if episode.id in self._store.live.graph}
        summarised = [episode for episode in episodes if needs_summary(episode, turn_ids[episode.id])]
        vectors = await self._embed_texts([episode.summary for episode in summarised]) if summarised else ()
        summaries = dict(zip([episode.id for episode in summarised], vectors, strict=True))
        vectors_by_turn = await self._vectors_of(name for names in turn_ids.values() for name in names)
        computed = [
            (
                episode,
                episode_vector([vectors_by_turn[name] for name in turn_ids[episode.id]], summaries.get(episode.id)),
            )
            for episode in episodes
            if all(name in vectors_by_turn for name in turn_ids[episode.id])
        ]
        stored = 0

        async def work(transaction: Transaction) -> ChangeSet:
            nonlocal stored
            # An episode that sleep has changed meanwhile is left for the next round.
            unchanged = [
                (episode.id, vector)
                for episode, vector in computed
                if await self._is_unchanged(transaction, episode, turn_ids[episode.id], episode.id in live_ids)
            ]
            stored = len(unchanged)
            await self._put_vectors(transaction, "episode", unchanged)
            return ChangeSet(vectors=tuple(unchanged) if self._is_in_use else ())

        await self._store.commit(work)
        if stored < len(computed):
            self._store.vectors_missing.set()
        self._done += stored
        return stored

    async def _embed_texts(self, texts: Sequence[str]) -> Vectors:
        vectors = await (self._store.embed(texts) if self._is_in_use else self._store.configured_embedder.embed(texts))
        self._waiting_reason = ""
        return vectors

    @contextlib.asynccontextmanager
    async def _batch_slot(self) -> AsyncIterator[None]:
        """Begin a batch when the owner is not talking; afterwards sleep as long as it took, to leave CPU to others."""
        while self._is_busy():
            await self._clock.sleep(_BUSY_CHECK_SECONDS)
        began = self._clock.monotonic()
        # While recall uses an earlier model, a batch changes nothing it compares, so sleep need not wait for it. An
        # erasure always does: erased text must not come back with a batch that is being embedded.
        async with (
            self._store.reembedding_lock,
            self._store.embedding_lock if self._is_in_use else contextlib.nullcontext(),
        ):
            yield
        if (worked := self._clock.monotonic() - began) > 0.0:
            await self._clock.sleep(min(_LONGEST_REST_SECONDS, worked))

    @property
    def _is_in_use(self) -> bool:
        """Whether recall compares the vectors of the configured embedder."""
        return self._store.embedder is self._store.configured_embedder

    async def _put_vectors(self, transaction: Transaction, kind: str, vectors: Iterable[tuple[str, Vector]]) -> None:
        model_id, entries = self._store.configured_embedder.model_id, list(vectors)
        await transaction.run_many(
            "episodes.put_vector", [vector_row(kind, name, model_id, vector) for name, vector in entries]
        )
        if self._is_in_use:
            await self._store.deep.update_vectors(transaction, model_id, kind, [name for name, _ in entries])

    async def _drop_earlier(self) -> None:
        """Delete the vectors of all other models in batches. If stopped, it continues after the next wake."""
        database, kept = self._store.database, self._store.configured_embedder.model_id
        for row in await database.rows("vectors.models"):
            left = int(row["vectors"]) if row["model_id"] != kept else 0
            while left > 0:
                async with database.transaction() as transaction:
                    named = {"model_id": row["model_id"], "limit": _DROP_ROWS}
                    left = await transaction.run("vectors.drop_some", named)

    async def _count(self) -> None:
        """Count again, because sleep adds texts and vectors too."""
        database, named = self._store.database, {"model_id": self._store.configured_embedder.model_id}
        turns = (await database.rows("vectors.count_turns", named))[0]
        episodes = (await database.rows("vectors.count_episodes", named))[0]
        total = int(turns["total"]) + int(episodes["total"])
        done = int(turns["done"]) + int(episodes["done"])
        after = 0
        while rows := await self._page("vectors.wordless_experiences", after, _BATCH_EXPERIENCES):
            after = int(rows[-1]["place"])
            passages = self._passages(rows)
            total += len(passages)
            done += len(passages) - len(await self._without_vectors(passages))
        self._total, self._done = total, done

    async def _page(self, statement: str, after: int, limit: int) -> list[Row]:
        named: dict[str, object] = {"after": after, "limit": limit}
        if statement != "vectors.wordless_experiences":
            named["model_id"] = self._store.configured_embedder.model_id
        return await self._store.database.rows(statement, named)

    def _passages(self, rows: Iterable[Row]) -> list[Turn]:
        return [passage for row in rows for passage in passages_of(experience_of(row), self._store.mind_name)]

    async def _without_vectors(self, turns: Sequence[Turn]) -> list[Turn]:
        rows = await self._store.database.rows("vectors.known", self._named_parameters(turn.id for turn in turns))
        present_ids = {row["owner_id"] for row in rows}
        return [turn for turn in turns if turn.id not in present_ids]

    async def _vectors_of(self, turn_ids: Iterable[str]) -> dict[str, Vector]:
        rows = await self._store.database.rows("vectors.of_owners", self._named_parameters(turn_ids))
        return {row["owner_id"]: vector_of(row["vector"]) for row in rows}

    def _named_parameters(self, turn_ids: Iterable[str]) -> dict[str, object]:
        model_id = self._store.configured_embedder.model_id
        return {"owner_kind": "turn", "model_id": model_id, "owner_ids": json.dumps(list(turn_ids))}

    async def _is_unchanged(
        self, transaction: Transaction, before: Episode, turn_ids: Sequence[str], was_live: bool
    ) -> bool:
        """Whether an episode is still what its vector was computed from. A dormant one is compared by its rows: it may
        have been erased, or rebuilt after an erasure."""
        now = self._store.live.graph.get(before.id)
        if (now is not None) != was_live:
            return False
        if now is not None:
            summary_and_depth, current_ids = (now.summary, now.depth), self._live_turn_ids(before.id)
        else:
            episodes = await transaction.rows("vectors.episode_there", {"id": before.id})
            summary_and_depth = (str(episodes[0]["summary"]), str(episodes[0]["depth"])) if episodes else ("", "")
            rows = await transaction.rows("deep.turns_of", {"episode_id": before.id})
            current_ids = tuple(str(row["owner_id"]) for row in rows)
            if not episodes:
                return False
        return summary_and_depth == (before.summary, before.depth) and current_ids == turn_ids

    async def _turn_ids(self, episode_id: str) -> tuple[str, ...]:
        if episode_id in self._store.live.graph:
            return self._live_turn_ids(episode_id)
        rows = await self._store.database.rows("deep.turns_of", {"episode_id": episode_id})
        return tuple(str(row["owner_id"]) for row in rows)

    def _live_turn_ids(self, episode_id: str) -> tuple[str, ...]:
        return tuple(turn.id for turn in self._store.live.turns.turns_of(episode_id))


def needs_summary(episode: Episode, turn_ids: Sequence[str]) -> bool:
    """Whether the summary is part of an episode's vector: if a model wrote it, or there are no turns."""
    return episode.depth == "deep" or not turn_ids


def episode_vector(turns: Sequence[Vector], summary: Vector | None) -> Vector:
    """Return an episode's vector as sleep computes it: the mean of its turns, averaged with the summary if given."""
    turn_mean = [unit_mean(np.vstack(turns))] if turns else []
    summaries = [summary] if summary is not None else []
    return unit_mean(np.vstack([*turn_mean, *summaries]))


def retry_delay_seconds(error: ModelError, failures: int) -> float:
    """Return how long to wait after the `failures`-th failure in a row (from 0). Pure."""
    if isinstance(error, BudgetExceededError):
        return _BUDGET_PAUSE_SECONDS
    if isinstance(error, ModelMissingError):
        return _LONGEST_PAUSE_SECONDS
    doubled = min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2.0 ** min(failures, 10))
    retry_after = error.retry_after_seconds if isinstance(error, ModelUnavailableError) else None
    return max(doubled, retry_after or 0.0)
