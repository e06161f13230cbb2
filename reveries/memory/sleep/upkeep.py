"""Applies decay and pruning (R-104), and removes old words from the live index (R-108).

Everything is done in batches, so that new turns need not wait. The result is logged with the pass that it ends, and
shown in a dry run.
"""

import asyncio
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import TypeVar

from reveries.config import MemorySettings
from reveries.db.database import Transaction
from reveries.memory.changes import ChangeSet, Dormancy, Fading
from reveries.memory.model import Episode
from reveries.memory.sleep.decay import FADED, FADED_BELOW, fade_episodes, select_dormant_episodes
from reveries.memory.sleep.pass_log import dormant_diff, record_change
from reveries.memory.store import MemoryStore, load_pinned_ids
from reveries.protocol import ChangedEpisode, SleepChange

_KEEP_SALIENCE = 0.9
"""Words of experiences at least this salient always stay in the live index (RA-14)."""
_HOUR_SECONDS = 3600.0
_DORMANT_AT_ONCE = 50
FADING_AT_ONCE = 300
_CHECKED_AT_ONCE = 300
_ROUNDING = 1e-6
"""The graph stores accessibility as float32."""

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class Upkeep:
    """One pass of decay over all live episodes. Accessibility falls, nothing is deleted (R-116)."""

    store: MemoryStore
    settings: MemorySettings
    now: float
    run_id: str | None = None
    """The sleep pass that it is logged with; None: not logged."""
    stop: asyncio.Event | None = None
    """If set, it ends after the current batch; the next pass continues."""

    async def run(self) -> ChangeSet:
        """Fade episodes, remove old words from the index, make episodes dormant; return the changes."""
        faded = await self._store_fadings()
        words = await self.unindex_old_words()
        if self.run_id is not None and (line := upkeep_line(len(faded), len(words))):
            await self._log_line(self.run_id, line)
        return ChangeSet(fadings=faded, put_away_turn_ids=words, dormant=await self._store_dormancies())

    async def preview(self) -> tuple[SleepChange, ...]:
        """Return what `run` would log now; () if stopped. Changes nothing."""
        pinned = await load_pinned_ids(self.store.database)
        candidates: list[Episode] = []
        fallen = 0
        for some in self._batches(list(self.store.live.graph.ids()), FADING_AT_ONCE):
            await asyncio.sleep(0)
            episodes = [unpinned for name in some if (unpinned := self._get_unpinned(name, pinned)) is not None]
            fadings = {entry.episode_id: entry for entry in self._fade_episodes(episodes)}
            fallen += sum(_lowers(fadings[episode.id], episode) for episode in episodes if episode.id in fadings)
            candidates += [_apply_fading(episode, fadings.get(episode.id)) for episode in episodes]
        faded = [candidate.id for candidate in candidates if candidate.accessibility < FADED_BELOW]
        past, words = await self._past_retention(), 0
        for some in self._batches(faded if past else [], _CHECKED_AT_ONCE):
            await asyncio.sleep(0)
            words += len(self._old_turns(some, past, pinned))
        live_count = len(self.store.live.graph)
        leaving = await asyncio.to_thread(select_dormant_episodes, candidates, live_count, self.now, self.settings)
        if self.stop is not None and self.stop.is_set():
            return ()
        summaries = {candidate.id: candidate.summary for candidate in candidates}
        line = upkeep_line(fallen, words)
        return (
            *([SleepChange("", line)] if line else ()),
            *(
                SleepChange("", dormant_line(some), _dormant_diffs(some, summaries))
                for some in self._batches(leaving, _DORMANT_AT_ONCE)
            ),
        )

    async def unindex_old_words(self) -> tuple[str, ...]:
        """Remove raw words from the live index (R-65, R-66, RA-14) if deep sleep processed them longer ago than the
        retention, they have little salience, their episode has faded, and no exemplar quotes them. They stay in the
        database.

        Words of an episode that is easy to reach are kept, which R-66 does not require, because a conversation searches
        the disk only if the live memory has little to say. Return the ids of the removed turns.
        """
        past, done = await self._past_retention(), list[str]()
        pinned = await load_pinned_ids(self.store.database)
        for some in self._batches(
            self.store.live.graph.ids_less_accessible(FADED_BELOW) if past else [], _CHECKED_AT_ONCE
        ):
            await asyncio.sleep(0)
            if not self._old_turns(some, past, pinned):
                continue

            async def work(transaction: Transaction, some: Sequence[str] = some) -> ChangeSet:
                # Check again: an episode may have been pinned, or its words quoted, meanwhile.
                return ChangeSet(put_away_turn_ids=self._old_turns(some, past, await load_pinned_ids(transaction)))

            done += (await self.store.commit(work)).put_away_turn_ids
        return tuple(done)

    async def _store_fadings(self) -> tuple[Fading, ...]:
        """Fade all episodes; return the fadings that lowered a value."""
        fallen: list[Fading] = []
        for some in self._batches(list(self.store.live.graph.ids()), FADING_AT_ONCE):

            async def work(transaction: Transaction, some: Sequence[str] = some) -> ChangeSet:
                pinned = await load_pinned_ids(transaction)
                episodes = {name: episode for name in some if (episode := self._get_unpinned(name, pinned)) is not None}
                fadings = self._fade_episodes(list(episodes.values()))
                fallen.extend(entry for entry in fadings if _lowers(entry, episodes[entry.episode_id]))
                return ChangeSet(fadings=fadings)

            await self.store.commit(work)
        return tuple(fallen)

    async def _store_dormancies(self) -> tuple[Dormancy, ...]:
        """Make the faded episodes and those above the limit dormant."""
        graph = self.store.live.graph
        faded = graph.ids_less_accessible(self.settings.dormant_accessibility + _ROUNDING)
        excess = len(graph) - self.settings.live_episodes
        pinned = await load_pinned_ids(self.store.database)
        names = dict.fromkeys(
            [*faded, *(graph.least_reachable_ids(excess + len(faded) + len(pinned)) if excess > 0 else ())]
        )
        candidates: list[Episode] = []
        for some in self._batches(list(names), _CHECKED_AT_ONCE):
            await asyncio.sleep(0)
            candidates += [episode for name in some if (episode := self._get_unpinned(name, pinned)) is not None]
        if self.stop is not None and self.stop.is_set():
            return ()
        leaving = await asyncio.to_thread(select_dormant_episodes, candidates, len(graph), self.now, self.settings)
        done: list[Dormancy] = []
        for batch in self._batches(leaving, _DORMANT_AT_ONCE):

            async def work(transaction: Transaction, batch: Sequence[Dormancy] = batch) -> ChangeSet:
                changes = ChangeSet(dormant=self.filter_still_due(batch, await load_pinned_ids(transaction)))
                if self.run_id is not None and not changes.is_empty:
                    line = dormant_line(changes.dormant)
                    await record_change(transaction, self.store, self.run_id, None, changes, line, {})
                return changes

            done += (await self.store.commit(work)).dormant
        return tuple(done)

    def filter_still_due(self, leaving: Sequence[Dormancy], pinned: AbstractSet[str]) -> tuple[Dormancy, ...]:
        """Return `leaving` without episodes that were recalled or pinned meanwhile."""
        episodes = {entry.episode_id: self._get_unpinned(entry.episode_id, pinned) for entry in leaving}
        return tuple(
            entry
            for entry in leaving
            if (episode := episodes[entry.episode_id]) is not None and episode.last_accessed_at < self.now
        )

    async def _past_retention(self) -> frozenset[str]:
        """Return the ids of the experiences whose words may leave the index."""
        named = {
            "keep_salience": _KEEP_SALIENCE,
            "slept_on_before": self.now - self.settings.raw_retention_hours * _HOUR_SECONDS,
        }
        return frozenset(row["id"] for row in await self.store.database.rows("experiences.past_retention", named))

    def _old_turns(
        self, episode_ids: Sequence[str], past: AbstractSet[str], pinned: AbstractSet[str]
    ) -> tuple[str, ...]:
        """Return the ids of the turns of these episodes that may leave the index."""
        turn_ids: list[str] = []
        for name in episode_ids:
            if (episode := self._get_unpinned(name, pinned)) is not None:
                quoted = {exemplar.turn_id for exemplar in episode.exemplars}
                turns = self.store.live.turns.turns_of(name)
                turn_ids += [turn.id for turn in turns if turn.experience_id in past and turn.id not in quoted]
        return tuple(turn_ids)

    def _fade_episodes(self, episodes: Sequence[Episode]) -> tuple[Fading, ...]:
        half_life_days, floor = self.settings.decay_half_life_days, self.settings.minimum_salience
        return fade_episodes(episodes, self.now, half_life_days, floor).fadings

    def _get_unpinned(self, name: str, pinned: AbstractSet[str]) -> Episode | None:
        """Return a live episode; None if it is pinned, because pinned episodes do not decay."""
        return self.store.live.graph.get(name) if name not in pinned else None

    async def _log_line(self, run_id: str, line: str) -> None:
        async def work(transaction: Transaction) -> ChangeSet:
            await record_change(transaction, self.store, run_id, None, ChangeSet(), line, {})
            return ChangeSet()

        await self.store.commit(work)

    def _batches(self, items: Sequence[_Item], size: int) -> Iterator[Sequence[_Item]]:
        for start in range(0, len(items), size):
            if self.stop is not None and self.stop.is_set():
                return
            yield items[start : start + size]


def upkeep_line(faded: int, words: int) -> str:
    """Return the log line with how many episodes faded and how many turns left the index; empty if none. Pure."""
    parts = [(faded, "episode", "faded"), (words, "turn", "moved from the index to the disk")]
    counted = [f"{count} {noun}{'s' if count != 1 else ''} {what}" for count, noun, what in parts if count]
    return f"Time: {', '.join(counted)}." if counted else ""


def dormant_line(leaving: Sequence[Dormancy]) -> str:
    """Return the log line with how many episodes became dormant, and why. Pure."""
    faded = sum(entry.reason == FADED for entry in leaving)
    reasons = [(faded, "long unused"), (len(leaving) - faded, "above the limit")]
    return f"Now dormant: {', '.join(f'{count} {reason}' for count, reason in reasons if count)}."


def _dormant_diffs(leaving: Sequence[Dormancy], summaries: dict[str, str]) -> list[ChangedEpisode]:
    return [dormant_diff(entry.episode_id, summaries[entry.episode_id]) for entry in leaving]


def _apply_fading(episode: Episode, entry: Fading | None) -> Episode:
    if entry is None:
        return episode
    return replace(episode, salience=entry.salience, accessibility=entry.accessibility)


def _lowers(entry: Fading, before: Episode) -> bool:
    return entry.salience < before.salience or entry.accessibility < before.accessibility
