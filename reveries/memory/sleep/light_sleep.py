"""Light sleep: what has just been said, thought or imported can be recalled, with no model call (DESIGN, section 3).

Embeds the turns, lets `light_changes` decide, writes each batch in one transaction. It can be stopped between batches
and goes on where it was: an experience counts as slept on only together with its episode.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from dataclasses import dataclass

from reveries.clock import Clock
from reveries.config import MemorySettings
from reveries.db.database import Transaction
from reveries.db.failpoints import HangPlace, Step, may_hang, reached
from reveries.memory.changes import ChangeSet
from reveries.memory.gaps import gaps_ended_between
from reveries.memory.importing import adopt_imported
from reveries.memory.model import Experience, Turn
from reveries.memory.sleep.claims.verification import allowed_at_once
from reveries.memory.sleep.light_changes import LightChanges
from reveries.memory.sleep.pass_log import begin_run, end_run, record_change
from reveries.memory.store import MemoryStore
from reveries.memory.text.indexed_text import turn_embedding_text
from reveries.memory.text.segments import Piece

Progress = Callable[[int, int], None]
"""Told how many experiences are done, and of how many."""

Beside = Callable[[ChangeSet], ChangeSet]
"""What else a pass does in the same transaction: the changes that it makes, and those that it makes with it."""

_Entry = tuple[Experience, tuple[Turn, ...]]
_Batch = Sequence[_Entry]
_BATCH_TURNS = 128
_PAGE_EXPERIENCES = 500


def _no_change(changes: ChangeSet) -> ChangeSet:
    return changes


@dataclass(frozen=True, slots=True)
class _LightPass:
    """A pass: its row in the log, why it began, what it does beside forming."""

    run_id: str
    trigger: str = "arrival"
    beside: Beside = _no_change


@dataclass(frozen=True, slots=True)
class LightSlept:
    """What a light sleep did."""

    experiences: int
    episodes: int
    left: int = 0
    """Experiences that it was stopped before."""


class LightSleep:
    """One at a time: a second one waits for the first and finds less to do."""

    def __init__(self, store: MemoryStore, clock: Clock, new_id: Callable[[], str], settings: MemorySettings) -> None:
        self._settings = settings
        self._store = store
        self._clock = clock
        self._new_id = new_id
        self.running = asyncio.Lock()

    async def run(self, progress: Progress | None = None, stop: asyncio.Event | None = None) -> LightSlept:
        """Sleep on everything that has not been slept on. With `stop` set it ends after the batch in hand."""
        async with self.running:
            await adopt_imported(self._store, self._new_id)
            pending = await self._store.to_sleep_on()
            if not pending:
                return LightSlept(0, 0)
            return await self._sleep_on(pending, progress, stop)

    async def run_alone(self, is_meant: Callable[[Turn], bool], trigger: str, beside: Beside) -> str:
        """A pass on nothing but the experience with that turn, and on what `beside` makes of its changes; the id of
        the pass, empty when there is no such turn. So that it can be taken back by itself."""
        async with self.running:
            await adopt_imported(self._store, self._new_id)
            pending = [
                entry.id
                async for entry, turns in self._read_batches(await self._store.to_sleep_on())
                if any(map(is_meant, turns))
            ]
            run_id = self._new_id()
            if pending:
                await self._sleep_on(pending, None, None, _LightPass(run_id, trigger, beside))
            return run_id if pending else ""

    async def _sleep_on(
        self,
        pending: Sequence[str],
        progress: Progress | None,
        stop: asyncio.Event | None,
        one: "_LightPass | None" = None,
    ) -> LightSlept:
        one = one or _LightPass(self._new_id())
        await begin_run(self._store, one.run_id, "light", one.trigger, self._clock.now())
        done = episodes = 0
        try:
            reached(Step.LIGHT_SLEEP_BEGUN)
            await may_hang(HangPlace.LIGHT_SLEEP)
            async with contextlib.aclosing(self._batches(pending)) as batches:
                async for batch, passed in batches:
                    if stop is not None and stop.is_set():
                        break
                    episodes += await self._sleep_on_batch(one, batch)
                    done = passed
                    if progress is not None:
                        progress(done, len(pending))
        finally:
            outcome = "done" if done == len(pending) else "interrupted"
            await end_run(self._store, one.run_id, outcome, self._clock.now())
        return LightSlept(done, episodes, len(pending) - done)

    async def _batches(self, pending: Sequence[str]) -> AsyncGenerator[tuple[_Batch, int]]:
        """Cut so that a batch has about 128 turns: small enough to be stopped soon, large enough to embed well. With
        each, how many of `pending` are passed by then: those that were taken back before they were read, too."""
        places, passed = {name: place for place, name in enumerate(pending, 1)}, 0
        batch, count = list[_Entry](), 0
        async for experience, turns in self._read_batches(pending):
            batch.append((experience, turns))
            count += len(turns)
            if count >= _BATCH_TURNS:
                passed = places[experience.id]
                yield batch, passed
                batch, count = [], 0
        if passed < len(pending):
            yield batch, len(pending)

    async def _read_batches(self, pending: Sequence[str]) -> AsyncIterator[_Entry]:
        """Page by page: of years of talk that were handed in not all may be held at once."""
        for start in range(0, len(pending), _PAGE_EXPERIENCES):
            for entry in await self._store.with_turns(pending[start : start + _PAGE_EXPERIENCES]):
                yield entry

    async def _sleep_on_batch(self, one: "_LightPass", batch: _Batch) -> int:
        """Embed and form one batch; how many new episodes it made."""
        # Held from the vectors to the commit: they are of the model that is in use when they are written.
        async with self._store.space:
            batch = await self._wanted_vectors(batch)
            return await self._form(one, await self._pieces(batch)) if batch else 0

    async def _wanted_vectors(self, batch: _Batch) -> _Batch:
        """Without what was taken back and the thoughts that were dropped since this sleep began; while `space` is held
        none is."""
        ids = json.dumps([experience.id for experience, _ in batch])
        rows = await self._store.database.rows("experiences.still_to_sleep_on", {"ids": ids})
        still = {row["id"] for row in rows}
        return [entry for entry in batch if entry[0].id in still]

    async def _form(self, one: "_LightPass", pieces: Sequence[Piece]) -> int:
        now = self._clock.now()
        formed = 0

        async def work(transaction: Transaction) -> ChangeSet:
            nonlocal formed
            times = [piece.experience.happened_at for piece in pieces]
            gaps = await gaps_ended_between(transaction, min(times), max(times))
            allowed = allowed_at_once(len(self._store.live.graph), self._settings)
            forming = LightChanges(self._store.live, now, self._new_id, gaps, allowed)
            changes = one.beside(forming.form(pieces))
            formed = forming.episode_count
            line = f"{len(pieces)} experiences became {formed} new episodes."
            if changes.processed:
                line += f" {len(changes.processed)} said nothing new."
            if changes.conflicts:
                line += f" {len(changes.conflicts)} claims are at odds with another."
            counts = {"processed": len(pieces), "created": formed}
            await record_change(transaction, self._store, one.run_id, None, changes, line, counts)
            return changes

        await self._store.commit(work)
        reached(Step.LIGHT_SLEEP_FORMED)
        return formed

    async def _pieces(self, batch: _Batch) -> list[Piece]:
        speakers = self._store.live.turns.speakers | {turn.speaker for _, turns in batch for turn in turns}
        texts = [turn_embedding_text(turn, speakers) for _, turns in batch for turn in turns]
        vectors = await self._store.embed_or_none(texts)
        vectors[[turn.is_echo for _, turns in batch for turn in turns]] = 0.0
        pieces: list[Piece] = []
        start = 0
        for experience, turns in batch:
            pieces.append(Piece(experience, turns, vectors[start : start + len(turns)]))
            start += len(turns)
        return pieces
