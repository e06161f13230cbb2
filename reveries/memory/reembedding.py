"""Missing vectors are made in the background: after a change of the embedding model, and where the embedder failed.

Texts in the order in which they were stored, a batch at a time, each batch in its own transaction: a restart goes on
where it was, for what is missing is read from the file and not from a note about it. While an earlier model's vectors
serve, the new ones only lie in the file; when none is missing any more, recall changes over to them at once, and then
the earlier ones are deleted.
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
from reveries.memory.deep_recall import episode_on_disk
from reveries.memory.model import Episode, Turn
from reveries.memory.rows import experience_of, turn_of, vector_of
from reveries.memory.store import MemoryStore, vector_row
from reveries.memory.text.indexed_text import passages_of, turn_embedding_text
from reveries.memory.text.segments import unit_mean

BATCH_TEXTS = 32
"""Half a second of a small machine's time, in the embedder's own smaller batches: a cue waits for one of those."""

_BATCH_EPISODES = 64
_BATCH_EXPERIENCES = 64
_DROP_ROWS = 1000
_BUSY_LOOK_SECONDS = 1.0
_LONGEST_REST_SECONDS = 2.0
_FIRST_PAUSE_SECONDS = 5.0
_LONGEST_PAUSE_SECONDS = 300.0
_BUDGET_PAUSE_SECONDS = 900.0
_LONGEST_WAIT_SECONDS = 24 * 3600.0

log = structlog.get_logger("reembedding")


@dataclass(frozen=True, slots=True)
class EmbeddingProgress:
    """How many texts (turns, passages and episodes) have a vector of `model_id`, of how many."""

    model_id: str
    """The embedder of the settings."""
    serving_id: str
    """The one whose vectors recall compares."""
    done: int = 0
    total: int = 0
    waits: str = ""
    """Why nothing happens now; empty while it does, or when nothing is missing."""

    @property
    def is_complete(self) -> bool:
        return self.done >= self.total and self.model_id == self.serving_id


def _never_busy() -> bool:
    return False


class Reembedding:
    """`run` belongs into the daemon's tasks. `progress` is for `status`."""

    def __init__(self, store: MemoryStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._is_busy: Callable[[], bool] = _never_busy
        self._done = self._total = 0
        self._waits = ""
        self._again = asyncio.Event()
        self.notice = ""
        """What the owner should know of a change that was made since waking; empty when none was."""

    @property
    def progress(self) -> EmbeddingProgress:
        store = self._store
        return EmbeddingProgress(
            store.chosen.model_id, store.embedder.model_id, self._done, max(self._done, self._total), self._waits
        )

    def try_again(self) -> None:
        """What kept it waiting may be over."""
        self._again.set()

    async def run(self, is_busy: Callable[[], bool] = _never_busy) -> None:
        """For ever: make up for what is missing, then wait until something is stored without its vector. While
        `is_busy`, no batch begins: the owner is talking, and this can wait."""
        failures = 0
        while True:
            self._store.unvectored.clear()
            self._again.clear()
            try:
                await self.catch_up(is_busy)
            except ModelError as error:
                pause = pause_seconds(error, failures)
                failures += 1
                self._waits = str(error)
                log.warning("reembedding.waits", why=error.for_log, seconds=pause, done=self._done, total=self._total)
                await wait_for_event(self._again, min(pause, _LONGEST_WAIT_SECONDS), self._clock)
                continue
            failures = 0
            await self._store.unvectored.wait()

    async def catch_up(self, is_busy: Callable[[], bool] = _never_busy) -> None:
        """Make every missing vector, change over to the model of the settings if need be, delete what is useless then.

        Raises ModelError when the embedder fails; what was made before is kept.
        """
        self._is_busy = is_busy
        await self._count()
        # To look for what is missing takes longer than to count, and other requests wait meanwhile.
        while self._done < self._total and await self._make_missing():
            await self._count()
        self._waits = ""
        store = self._store
        if store.embedder is not store.chosen:
            await self._change_over()
            # What was stored during the last batch has the earlier model's vector.
            while await self._make_missing():
                await self._count()
        # What is only on disk is searched by the vectors in use: until its table is made anew, by a scan.
        await store.deep.ensure_table(store.chosen.model_id, store.live.dimensions)
        await self._drop_earlier()

    async def _change_over(self) -> None:
        store, earlier = self._store, self._store.embedder
        await store.switch(self._clock.now())
        await earlier.aclose()
        self.notice = f"Memory is now searched with the embedder {store.chosen.model_id}, no longer {earlier.model_id}."
        log.info("reembedding.done", model=store.chosen.model_id, before=earlier.model_id, texts=self._done)

    async def _make_missing(self) -> int:
        """One way through all that is stored; how many vectors it made. Episodes last: they are made of turns."""
        return await self._make_turns() + await self._make_passages() + await self._make_episodes()

    async def _make_turns(self) -> int:
        made = 0
        after = 0
        while rows := await self._page("vectors.turns_without", after, BATCH_TEXTS):
            after = int(rows[-1]["place"])
            made += await self._embed_turns([turn_of(row) for row in rows])
        return made

    async def _make_passages(self) -> int:
        made = 0
        after = 0
        while rows := await self._page("vectors.wordless_experiences", after, _BATCH_EXPERIENCES):
            after = int(rows[-1]["place"])
            missing = await self._without(self._passages(rows))
            for start in range(0, len(missing), BATCH_TEXTS):
                made += await self._embed_turns(missing[start : start + BATCH_TEXTS])
        return made

    async def _make_episodes(self) -> int:
        made = 0
        after = 0
        while rows := await self._page("vectors.episodes_without", after, _BATCH_EPISODES):
            after = int(rows[-1]["place"])
            made += await self._embed_episodes(await self._episodes([str(row["id"]) for row in rows]))
        return made

    async def _episodes(self, names: Sequence[str]) -> list[Episode]:
        """Those called so, wherever they are: a dormant one has its vector too."""
        live = self._store.live.graph
        found = [live.get(name) or await episode_on_disk(self._store, name) for name in names]
        return [episode for episode in found if episode is not None]

    async def _embed_turns(self, turns: Sequence[Turn]) -> int:
        async with self._one_batch():
            there = await self._turns_there(self._store.database, turns)
            return await self._keep_turns([turn for turn in turns if turn.id in there])

    async def _turns_there(self, reader: Reader, turns: Sequence[Turn]) -> set[str]:
        """Those that still stand in the file: the owner may have had some erased since they were read."""
        named = {"ids": json.dumps([turn.id for turn in turns])}
        return {str(row["id"]) for row in await reader.rows("vectors.turns_there", named)}

    async def _keep_turns(self, turns: Sequence[Turn]) -> int:
        names = self._store.live.turns.speakers
        vectors = await self._embed_texts([turn_embedding_text(turn, names) for turn in turns]) if turns else ()

        async def work(transaction: Transaction) -> ChangeSet:
            there = await self._turns_there(transaction, turns)
            made = [(turn.id, row) for turn, row in zip(turns, vectors, strict=True) if turn.id in there]
            await self._put_vectors(transaction, "turn", made)
            index = self._store.live.turns
            return ChangeSet(
                # Where a turn belongs is looked up now: its episode may have gone into another meanwhile.
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
        async with self._one_batch():
            # Read again: what was erased while this waited must not be embedded any more.
            return await self._keep_episodes(await self._episodes([episode.id for episode in episodes]))

    async def _keep_episodes(self, episodes: Sequence[Episode]) -> int:
        turn_ids = {episode.id: await self._turn_ids(episode.id) for episode in episodes}
        live_ids = {episode.id for episode in episodes if episode.id in self._store.live.graph}
        summarised = [episode for episode in episodes if needs_summary(episode, turn_ids[episode.id])]
        vectors = await self._embed_texts([episode.summary for episode in summarised]) if summarised else ()
        summaries = dict(zip([episode.id for episode in summarised], vectors, strict=True))
        known = await self._vectors_of(name for names in turn_ids.values() for name in names)
        made = [
            (episode, episode_vector([known[name] for name in turn_ids[episode.id]], summaries.get(episode.id)))
            for episode in episodes
            if all(name in known for name in turn_ids[episode.id])
        ]
        kept = 0

        async def work(transaction: Transaction) -> ChangeSet:
            nonlocal kept
            # Sleep may have changed one meanwhile: that one waits for the next time.
            still = [
                (e.id, vector)
                for e, vector in made
                if await self._is_still(transaction, e, turn_ids[e.id], e.id in live_ids)
            ]
            kept = len(still)
            await self._put_vectors(transaction, "episode", still)
            return ChangeSet(vectors=tuple(still) if self._is_in_use else ())

        await self._store.commit(work)
        if kept < len(made):
            self._store.unvectored.set()
        self._done += kept
        return kept

    async def _embed_texts(self, texts: Sequence[str]) -> Vectors:
        vectors = await (self._store.embed(texts) if self._is_in_use else self._store.chosen.embed(texts))
        self._waits = ""
        return vectors

    @contextlib.asynccontextmanager
    async def _one_batch(self) -> AsyncIterator[None]:
        """Begun when the owner is not talking; then a rest as long as the work was: the machine is not ours alone."""
        while self._is_busy():
            await self._clock.sleep(_BUSY_LOOK_SECONDS)
        began = self._clock.monotonic()
        # While an earlier model serves, nothing that recall compares is touched, and sleep need not wait for a batch.
        # An erasure does, always: what it takes away must not come back with a batch that was at the embedder.
        async with self._store.making_up, self._store.space if self._is_in_use else contextlib.nullcontext():
            yield
        if (worked := self._clock.monotonic() - began) > 0.0:
            await self._clock.sleep(min(_LONGEST_REST_SECONDS, worked))

    @property
    def _is_in_use(self) -> bool:
        """Whether the vectors that are made are those that recall compares."""
        return self._store.embedder is self._store.chosen

    async def _put_vectors(self, transaction: Transaction, kind: str, vectors: Iterable[tuple[str, Vector]]) -> None:
        model_id, found = self._store.chosen.model_id, list(vectors)
        await transaction.run_many(
            "episodes.put_vector", [vector_row(kind, name, model_id, vector) for name, vector in found]
        )
        if self._is_in_use:
            await self._store.deep.update_vectors(transaction, model_id, kind, [name for name, _ in found])

    async def _drop_earlier(self) -> None:
        """Delete the vectors of every other model, some at a time. Stopped half way, it goes on at the next waking."""
        database, kept = self._store.database, self._store.chosen.model_id
        for row in await database.rows("vectors.models"):
            left = int(row["vectors"]) if row["model_id"] != kept else 0
            while left > 0:
                async with database.transaction() as transaction:
                    named = {"model_id": row["model_id"], "limit": _DROP_ROWS}
                    left = await transaction.run("vectors.drop_some", named)

    async def _count(self) -> None:
        """Count anew: sleep adds texts, and puts vectors of its own."""
        database, named = self._store.database, {"model_id": self._store.chosen.model_id}
        turns = (await database.rows("vectors.count_turns", named))[0]
        episodes = (await database.rows("vectors.count_episodes", named))[0]
        total = int(turns["total"]) + int(episodes["total"])
        done = int(turns["done"]) + int(episodes["done"])
        after = 0
        while rows := await self._page("vectors.wordless_experiences", after, _BATCH_EXPERIENCES):
            after = int(rows[-1]["place"])
            passages = self._passages(rows)
            total += len(passages)
            done += len(passages) - len(await self._without(passages))
        self._total, self._done = total, done

    async def _page(self, statement: str, after: int, limit: int) -> list[Row]:
        named: dict[str, object] = {"after": after, "limit": limit}
        if statement != "vectors.wordless_experiences":
            named["model_id"] = self._store.chosen.model_id
        return await self._store.database.rows(statement, named)

    def _passages(self, rows: Iterable[Row]) -> list[Turn]:
        return [passage for row in rows for passage in passages_of(experience_of(row), self._store.mind_name)]

    async def _without(self, turns: Sequence[Turn]) -> list[Turn]:
        rows = await self._store.database.rows("vectors.known", self._named_parameters(turn.id for turn in turns))
        known = {row["owner_id"] for row in rows}
        return [turn for turn in turns if turn.id not in known]

    async def _vectors_of(self, turn_ids: Iterable[str]) -> dict[str, Vector]:
        rows = await self._store.database.rows("vectors.of_owners", self._named_parameters(turn_ids))
        return {row["owner_id"]: vector_of(row["vector"]) for row in rows}

    def _named_parameters(self, turn_ids: Iterable[str]) -> dict[str, object]:
        model_id = self._store.chosen.model_id
        return {"owner_kind": "turn", "model_id": model_id, "owner_ids": json.dumps(list(turn_ids))}

    async def _is_still(
        self, transaction: Transaction, before: Episode, turn_ids: Sequence[str], was_live: bool
    ) -> bool:
        """Whether an episode is what its vector was made of. By the rows where it is dormant: it may have been erased,
        or made anew of what an erasure left."""
        now = self._store.live.graph.get(before.id)
        if (now is not None) != was_live:
            return False
        if now is not None:
            summary_and_depth, left = (now.summary, now.depth), self._live_turn_ids(before.id)
        else:
            found = await transaction.rows("vectors.episode_there", {"id": before.id})
            summary_and_depth = (str(found[0]["summary"]), str(found[0]["depth"])) if found else ("", "")
            rows = await transaction.rows("deep.turns_of", {"episode_id": before.id})
            left = tuple(str(row["owner_id"]) for row in rows)
            if not found:
                return False
        return summary_and_depth == (before.summary, before.depth) and left == turn_ids

    async def _turn_ids(self, episode_id: str) -> tuple[str, ...]:
        if episode_id in self._store.live.graph:
            return self._live_turn_ids(episode_id)
        rows = await self._store.database.rows("deep.turns_of", {"episode_id": episode_id})
        return tuple(str(row["owner_id"]) for row in rows)

    def _live_turn_ids(self, episode_id: str) -> tuple[str, ...]:
        return tuple(turn.id for turn in self._store.live.turns.turns_of(episode_id))


def needs_summary(episode: Episode, turn_ids: Sequence[str]) -> bool:
    """Whether an episode's vector is made of its summary too: where a model wrote it, or nothing else is left."""
    return episode.depth == "deep" or not turn_ids


def episode_vector(turns: Sequence[Vector], summary: Vector | None) -> Vector:
    """An episode's vector as sleep makes it: the mean of what was said, and half of it the summary where one counts."""
    heart = [unit_mean(np.vstack(turns))] if turns else []
    summaries = [summary] if summary is not None else []
    return unit_mean(np.vstack([*heart, *summaries]))


def pause_seconds(error: ModelError, failures: int) -> float:
    """How long to wait after the `failures`-th failure in a row (from 0). Pure."""
    if isinstance(error, BudgetExceededError):
        return _BUDGET_PAUSE_SECONDS
    if isinstance(error, ModelMissingError):
        return _LONGEST_PAUSE_SECONDS
    doubled = min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2.0 ** min(failures, 10))
    asked = error.retry_after_seconds if isinstance(error, ModelUnavailableError) else None
    return max(doubled, asked or 0.0)
