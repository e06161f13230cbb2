"""What time does to memory, applied: decay and prune (R-104), and which words leave the live index (R-108).

All of it goes some at a time, so that a word that comes meanwhile need not wait. What it did stands in the log of the
pass that it ends, and what it would do in a dry run.
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from reveries.config import MemorySettings
from reveries.db.database import Transaction
from reveries.memory.changes import ChangeSet, Dormancy, Fading, join
from reveries.memory.model import Episode
from reveries.memory.pins import pinned_ids
from reveries.memory.sleep.decay import FADED_BELOW, fade
from reveries.memory.sleep.dormancy import FADED, falling_dormant
from reveries.memory.sleep.run_log import ChangeDiff, dormant_diff
from reveries.memory.sleep.runs import record_change
from reveries.memory.store import MemoryStore

_KEEP_SALIENCE = 0.9
"""Raw experiences at least this salient are never put away (RA-14)."""
_HOUR_SECONDS = 3600.0
_DORMANT_AT_ONCE = 50
_FADING_AT_ONCE = 1000
_LOOKED_AT_ONCE = 500
_PUT_AWAY_AT_ONCE = 500
_ROUNDING = 1e-6
"""The graph holds accessibility as float32."""

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class Upkeep:
    """One such pass over all live episodes. Accessibility falls, nothing is deleted (R-116)."""

    store: MemoryStore
    settings: MemorySettings
    now: float
    run_id: str | None = None
    """The pass of sleep in whose log it is told; None: in none."""
    stop: asyncio.Event | None = None
    """Set, it ends after the batch in hand; the next pass goes on."""

    async def run(self) -> ChangeSet:
        """Fade, put words away, let go. What it changed."""
        faded = await self._fade()
        words = await self.put_words_away()
        dormant = await self._let_go()
        done = join([faded, ChangeSet(put_away_turn_ids=words), dormant])
        if self.run_id is not None and (line := told(done)):
            run_id = self.run_id

            async def tell(transaction: Transaction) -> ChangeSet:
                await record_change(transaction, self.store, run_id, None, ChangeSet(), line, {})
                return ChangeSet()

            await self.store.commit(tell)
        return done

    async def would_do(self) -> ChangeDiff | None:
        """What `run` would do now, as the log would tell it; None when nothing would change. Changes nothing."""
        pinned = await pinned_ids(self.store.database)
        candidates: list[Episode] = []
        fallen: list[Fading] = []
        for some in self._batches(list(self.store.live.graph.ids()), _FADING_AT_ONCE):
            await asyncio.sleep(0)
            found = [one for name in some if (one := self._live(name, pinned)) is not None]
            aged = {entry.episode_id: entry for entry in self._faded(found).fadings}
            fallen += [aged[one.id] for one in found if one.id in aged and _is_less(aged[one.id], one)]
            candidates += [_as_faded(one, aged.get(one.id)) for one in found]
        words = await self._worn_turns([one.id for one in candidates if one.accessibility < FADED_BELOW])
        leaving = falling_dormant(candidates, len(self.store.live.graph), self.now, self.settings)
        line = told(ChangeSet(fadings=tuple(fallen), dormant=leaving, put_away_turn_ids=words))
        if not line:
            return None
        before = {one.id: one for one in candidates}
        episodes = tuple(dormant_diff(entry.episode_id, before[entry.episode_id]) for entry in leaving)
        return ChangeDiff("", line, episodes, (), 0, ())

    async def put_words_away(self) -> tuple[str, ...]:
        """Let raw words leave the live index (R-65, R-66, RA-14): those that deep sleep worked on longer ago than the
        retention, of little salience, whose episode has faded, and that no exemplar quotes. They stay in the file.

        Kept while their episode is easy to reach, which R-66 does not ask for: a chat turn looks on the disk only when
        what is in memory says little. Returns the ids of those turns.
        """
        done: list[str] = []
        for some in self._batches(await self._worn_turns(None), _PUT_AWAY_AT_ONCE):

            async def work(_: Transaction, some: Sequence[str] = some) -> ChangeSet:
                return ChangeSet(put_away_turn_ids=tuple(some))

            await self.store.commit(work)
            done += some
        return tuple(done)

    async def _fade(self) -> ChangeSet:
        """The fadings that made something less."""
        fallen: list[Fading] = []
        for some in self._batches(list(self.store.live.graph.ids()), _FADING_AT_ONCE):

            async def work(transaction: Transaction, some: Sequence[str] = some) -> ChangeSet:
                pinned = await pinned_ids(transaction)
                found = {name: one for name in some if (one := self._live(name, pinned)) is not None}
                changes = self._faded(list(found.values()))
                fallen.extend(entry for entry in changes.fadings if _is_less(entry, found[entry.episode_id]))
                return changes

            await self.store.commit(work)
        return ChangeSet(fadings=tuple(fallen))

    async def _let_go(self) -> ChangeSet:
        """What has faded, and what is more than fits, leaves memory for the disk."""
        graph = self.store.live.graph
        worn = graph.less_accessible(self.settings.dormant_accessibility + _ROUNDING)
        excess = len(graph) - self.settings.live_episodes
        pinned = await pinned_ids(self.store.database)
        most = excess + len(worn) + len(pinned)
        names = dict.fromkeys([*worn, *(graph.least_reachable(most) if excess > 0 else ())])
        candidates = [found for name in names if (found := self._live(name, pinned)) is not None]
        done: list[ChangeSet] = []
        leaving = falling_dormant(candidates, len(graph), self.now, self.settings)
        for some in self._batches(leaving, _DORMANT_AT_ONCE):

            async def work(transaction: Transaction, some: Sequence[Dormancy] = some) -> ChangeSet:
                changes = self._still_leaving(some, await pinned_ids(transaction))
                if self.run_id is not None and not changes.is_empty:
                    line = dormant_line(changes.dormant)
                    await record_change(transaction, self.store, self.run_id, None, changes, line, {})
                return changes

            done.append(await self.store.commit(work))
        return join(done)

    def _still_leaving(self, leaving: Sequence[Dormancy], pinned: frozenset[str]) -> ChangeSet:
        """Without one that was recalled, or pinned, while its turn came."""
        here = {entry.episode_id: self._live(entry.episode_id, pinned) for entry in leaving}
        still = (
            entry
            for entry in leaving
            if (one := here[entry.episode_id]) is not None and one.last_accessed_at < self.now
        )
        return ChangeSet(dormant=tuple(still))

    async def _worn_turns(self, episode_ids: Sequence[str] | None) -> tuple[str, ...]:
        """The turns whose words may leave: those of `episode_ids`, or of all that have faded (None)."""
        named = {
            "keep_salience": _KEEP_SALIENCE,
            "slept_on_before": self.now - self.settings.raw_retention_hours * _HOUR_SECONDS,
        }
        past = {row["id"] for row in await self.store.database.rows("experiences.past_retention", named)}
        if not past:
            return ()
        pinned = await pinned_ids(self.store.database)
        names = self.store.live.graph.less_accessible(FADED_BELOW) if episode_ids is None else episode_ids
        worn: list[str] = []
        for some in self._batches(names, _LOOKED_AT_ONCE):
            await asyncio.sleep(0)
            for name in some:
                if (episode := self._live(name, pinned)) is None:
                    continue
                quoted = {exemplar.turn_id for exemplar in episode.exemplars}
                turns = self.store.live.turns.turns_of(name)
                worn += [turn.id for turn in turns if turn.experience_id in past and turn.id not in quoted]
        return tuple(worn)

    def _faded(self, episodes: Sequence[Episode]) -> ChangeSet:
        return fade(episodes, self.now, self.settings.decay_half_life_days, self.settings.minimum_salience)

    def _live(self, name: str, pinned: frozenset[str]) -> Episode | None:
        """The live episode called so, unless it is pinned: time does nothing to that."""
        return self.store.live.graph.get(name) if name not in pinned else None

    def _batches(self, items: Sequence[_Item], size: int) -> Iterator[Sequence[_Item]]:
        for start in range(0, len(items), size):
            if self.stop is not None and self.stop.is_set():
                return
            yield items[start : start + size]


def told(done: ChangeSet) -> str:
    """What time did, as a line of the log; empty when that is nothing. Pure."""
    parts = [
        (_counted(len(done.fadings), "episode"), "faded"),
        (_counted(len(done.dormant), "episode"), "went to the disk, where a strong cue finds them"),
        (_counted(len(done.put_away_turn_ids), "turn"), "left the index for the file"),
    ]
    counted = [f"{count} {what}" for count, what in parts if count]
    return f"Time: {', '.join(counted)}." if counted else ""


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' if count != 1 else ''}" if count else ""


def dormant_line(leaving: Sequence[Dormancy]) -> str:
    """Which episodes left memory, and why. Pure."""
    faded = sum(entry.reason == FADED for entry in leaving)
    why = [(faded, "long unused"), (len(leaving) - faded, "more than fits")]
    return f"To the disk: {', '.join(f'{count} {reason}' for count, reason in why if count)}."


def _as_faded(episode: Episode, entry: Fading | None) -> Episode:
    if entry is None:
        return episode
    return replace(episode, salience=entry.salience, accessibility=entry.accessibility)


def _is_less(entry: Fading, before: Episode) -> bool:
    return entry.salience < before.salience or entry.accessibility < before.accessibility
