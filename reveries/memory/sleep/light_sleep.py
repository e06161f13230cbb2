"""Light sleep: makes new turns, thoughts and imports recallable without a model call (DESIGN, section 3).

Embeds the turns, lets `light_changes` decide, and writes each batch in one transaction. It can be stopped between
batches and continues there later: an experience is marked as done only together with its episode.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from dataclasses import dataclass

from reveries.clock import Clock
from reveries.config import MemorySettings
from reveries.db.database import Transaction
from reveries.db.failpoints import HangPlace, Step, may_hang, reach_step
from reveries.memory.changes import ChangeSet
from reveries.memory.gaps import gaps_ended_between
from reveries.memory.importing import adopt_imported_turns
from reveries.memory.model import Experience, Turn
from reveries.memory.sleep.claims.verification import max_changes_at_once
from reveries.memory.sleep.light_changes import LightChanges
from reveries.memory.sleep.pass_log import begin_run, end_run, record_change
from reveries.memory.store import MemoryStore
from reveries.memory.text.indexed_text import turn_embedding_text
from reveries.memory.text.segments import Piece

SleepProgress = Callable[[int, int], None]
"""Called with the number of experiences done and the total."""

ExtendChanges = Callable[[ChangeSet], ChangeSet]
"""Returns the changes of a pass with further ones to be made in the same transaction."""

_Entry = tuple[Experience, tuple[Turn, ...]]
_Batch = Sequence[_Entry]
_BATCH_TURNS = 128
_PAGE_EXPERIENCES = 500


def _keep_changes(changes: ChangeSet) -> ChangeSet:
    return changes


@dataclass(frozen=True, slots=True)
class _LightPass:
    """A pass: its id in the log, its trigger, and what it changes besides forming episodes."""

    run_id: str
    trigger: str = "arrival"
    extend: ExtendChanges = _keep_changes


@dataclass(frozen=True, slots=True)
class LightSleepResult:
    """What a light sleep did."""

    experiences: int
    episodes: int
    left: int = 0
    """Experiences not processed because it was stopped."""


class LightSleep:
    """Runs light sleep, one pass at a time; a second call waits for the first."""

    def __init__(
        self, store: MemoryStore, clock: Clock, new_id: Callable[[], str], settings: Callable[[], MemorySettings]
    ) -> None:
        self._settings = settings
        self._store = store
        self._clock = clock
        self._new_id = new_id
        self.running = asyncio.Lock()

    async def run(self, progress: SleepProgress | None = None, stop: asyncio.Event | None = None) -> LightSleepResult:
        """Process all experiences that are new to light sleep. If `stop` is set, it ends after the current batch."""
        async with self.running:
            await adopt_imported_turns(self._store, self._new_id)
            pending = await self._store.list_new_experience_ids()
            if not pending:
                return LightSleepResult(0, 0)
            return await self._run_pass(pending, progress, stop)

    async def run_for_turn(self, is_meant: Callable[[Turn], bool], trigger: str, extend: ExtendChanges) -> str:
        """Run a pass on the experience with one turn only, so that it can be undone separately; `extend` adds to its
        changes. Return the id of the pass, empty if there is no such turn."""
        async with self.running:
            await adopt_imported_turns(self._store, self._new_id)
            pending = [
                entry.id
                async for entry, turns in self._read_batches(await self._store.list_new_experience_ids())
                if any(map(is_meant, turns))
            ]
            run_id = self._new_id()
            if pending:
                await self._run_pass(pending, None, None, _LightPass(run_id, trigger, extend))
            return run_id if pending else ""

    async def _run_pass(
        self,
        pending: Sequence[str],
        progress: SleepProgress | None,
        stop: asyncio.Event | None,
        current: "_LightPass | None" = None,
    ) -> LightSleepResult:
        current = current or _LightPass(self._new_id())
        await begin_run(self._store, current.run_id, "light", current.trigger, self._clock.now())
        done = episodes = 0
        try:
            reach_step(Step.LIGHT_SLEEP_BEGUN)
            await may_hang(HangPlace.LIGHT_SLEEP)
            async with contextlib.aclosing(self._batches(pending)) as batches:
                async for batch, passed in batches:
                    if stop is not None and stop.is_set():
                        break
                    episodes += await self._process_batch(current, batch)
                    done = passed
                    if progress is not None:
                        progress(done, len(pending))
        finally:
            outcome = "done" if done == len(pending) else "interrupted"
            await end_run(self._store, current.run_id, outcome, self._clock.now())
        return LightSleepResult(done, episodes, len(pending) - done)

    async def _batches(self, pending: Sequence[str]) -> AsyncGenerator[tuple[_Batch, int]]:
        """Yield batches of about 128 turns, small enough to stop soon and large enough to embed efficiently. Each comes
        with how many of `pending` are passed by then, including those withdrawn before they were read."""
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
        """Read page by page: years of imported conversations must not be in memory at once."""
        for start in range(0, len(pending), _PAGE_EXPERIENCES):
            for entry in await self._store.load_with_turns(pending[start : start + _PAGE_EXPERIENCES]):
                yield entry

    async def _process_batch(self, current: "_LightPass", batch: _Batch) -> int:
        """Embed one batch and store its episodes; return how many are new."""
        # Locked from embedding to commit, so that the vectors belong to the model in use when they are written.
        async with self._store.embedding_lock:
            batch = await self._drop_withdrawn(batch)
            return await self._store_batch(current, await self._embed_pieces(batch)) if batch else 0

    async def _drop_withdrawn(self, batch: _Batch) -> _Batch:
        """Return the batch without turns withdrawn and thoughts dropped since this pass began; none can be while
        `space` is locked."""
        ids = json.dumps([experience.id for experience, _ in batch])
        rows = await self._store.database.rows("experiences.still_to_sleep_on", {"ids": ids})
        still = {row["id"] for row in rows}
        return [entry for entry in batch if entry[0].id in still]

    async def _store_batch(self, current: "_LightPass", pieces: Sequence[Piece]) -> int:
        now = self._clock.now()
        formed = 0

        async def work(transaction: Transaction) -> ChangeSet:
            nonlocal formed
            times = [piece.experience.happened_at for piece in pieces]
            gaps = await gaps_ended_between(transaction, min(times), max(times))
            allowed = max_changes_at_once(len(self._store.live.graph), self._settings())
            forming = LightChanges(self._store.live, now, self._new_id, gaps, allowed)
            changes = current.extend(forming.form_episodes(pieces))
            formed = forming.episode_count
            line = f"{len(pieces)} experiences became {formed} new episodes."
            if changes.processed:
                line += f" {len(changes.processed)} said nothing new."
            if changes.conflicts:
                line += f" {len(changes.conflicts)} claims conflict with another."
            counts = {"processed": len(pieces), "created": formed}
            await record_change(transaction, self._store, current.run_id, None, changes, line, counts)
            return changes

        await self._store.commit(work)
        reach_step(Step.LIGHT_SLEEP_FORMED)
        return formed

    async def _embed_pieces(self, batch: _Batch) -> list[Piece]:
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
