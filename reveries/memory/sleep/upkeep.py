"""Applies what time does to memory: decay and prune (R-104), and which words leave the live index (R-108).

All of it goes some at a time, so that a word that comes meanwhile need not wait. What it did stands in the log of the
pass that it ends, and what it would do in a dry run.
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
from reveries.memory.sleep.pass_log import ChangeDiff, EpisodeDiff, dormant_diff, record_change
from reveries.memory.store import MemoryStore, pinned_ids

_KEEP_SALIENCE = 0.9
"""Raw experiences at least this salient are never put away (RA-14)."""
_HOUR_SECONDS = 3600.0
_DORMANT_AT_ONCE = 50
FADING_AT_ONCE = 300
_LOOKED_AT_ONCE = 300
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
        if self.run_id is not None and (line := upkeep_line(len(faded), len(words))):
            await self._log_line(self.run_id, line)
        return ChangeSet(fadings=faded, put_away_turn_ids=words, dormant=await self._let_go())

    async def would_do(self) -> tuple[ChangeDiff, ...]:
        """What `run` would do now, as the log would tell it; nothing when it is stopped. Changes nothing."""
        pinned = await pinned_ids(self.store.database)
        candidates: list[Episode] = []
        fallen = 0
        for some in self._batches(list(self.store.live.graph.ids()), FADING_AT_ONCE):
            await asyncio.sleep(0)
            found = [one for name in some if (one := self._live(name, pinned)) is not None]
            aged = {entry.episode_id: entry for entry in self._fade_episodes(found)}
            fallen += sum(_is_less(aged[one.id], one) for one in found if one.id in aged)
            candidates += [_as_faded(one, aged.get(one.id)) for one in found]
        worn = [one.id for one in candidates if one.accessibility < FADED_BELOW]
        past, words = await self._past_retention(), 0
        for some in self._batches(worn if past else [], _LOOKED_AT_ONCE):
            await asyncio.sleep(0)
            words += len(self._worn_turns(some, past, pinned))
        live_count = len(self.store.live.graph)
        leaving = await asyncio.to_thread(select_dormant_episodes, candidates, live_count, self.now, self.settings)
        if self.stop is not None and self.stop.is_set():
            return ()
        summaries = {one.id: one.summary for one in candidates}
        line = upkeep_line(fallen, words)
        return (
            *([ChangeDiff("", line, (), (), 0, ())] if line else ()),
            *(
                ChangeDiff("", dormant_line(some), _dormant_diffs(some, summaries), (), 0, ())
                for some in self._batches(leaving, _DORMANT_AT_ONCE)
            ),
        )

    async def put_words_away(self) -> tuple[str, ...]:
        """Let raw words leave the live index (R-65, R-66, RA-14): those that deep sleep worked on longer ago than the
        retention, of little salience, whose episode has faded, and that no exemplar quotes. They stay in the file.

        Kept while their episode is easy to reach, which R-66 does not ask for: a chat turn looks on the disk only when
        what is in memory says little. Returns the ids of those turns.
        """
        past, done = await self._past_retention(), list[str]()
        pinned = await pinned_ids(self.store.database)
        for some in self._batches(self.store.live.graph.less_accessible(FADED_BELOW) if past else [], _LOOKED_AT_ONCE):
            await asyncio.sleep(0)
            if not self._worn_turns(some, past, pinned):
                continue

            async def work(transaction: Transaction, some: Sequence[str] = some) -> ChangeSet:
                # An episode that was pinned, or whose words are quoted by now, keeps them.
                return ChangeSet(put_away_turn_ids=self._worn_turns(some, past, await pinned_ids(transaction)))

            done += (await self.store.commit(work)).put_away_turn_ids
        return tuple(done)

    async def _fade(self) -> tuple[Fading, ...]:
        """The fadings that made something less."""
        fallen: list[Fading] = []
        for some in self._batches(list(self.store.live.graph.ids()), FADING_AT_ONCE):

            async def work(transaction: Transaction, some: Sequence[str] = some) -> ChangeSet:
                pinned = await pinned_ids(transaction)
                found = {name: one for name in some if (one := self._live(name, pinned)) is not None}
                fadings = self._fade_episodes(list(found.values()))
                fallen.extend(entry for entry in fadings if _is_less(entry, found[entry.episode_id]))
                return ChangeSet(fadings=fadings)

            await self.store.commit(work)
        return tuple(fallen)

    async def _let_go(self) -> tuple[Dormancy, ...]:
        """What has faded, and what is more than fits, leaves memory for the disk."""
        graph = self.store.live.graph
        worn = graph.less_accessible(self.settings.dormant_accessibility + _ROUNDING)
        excess = len(graph) - self.settings.live_episodes
        pinned = await pinned_ids(self.store.database)
        names = dict.fromkeys([*worn, *(graph.least_reachable(excess + len(worn) + len(pinned)) if excess > 0 else ())])
        candidates: list[Episode] = []
        for some in self._batches(list(names), _LOOKED_AT_ONCE):
            await asyncio.sleep(0)
            candidates += [found for name in some if (found := self._live(name, pinned)) is not None]
        if self.stop is not None and self.stop.is_set():
            return ()
        leaving = await asyncio.to_thread(select_dormant_episodes, candidates, len(graph), self.now, self.settings)
        done: list[Dormancy] = []
        for batch in self._batches(leaving, _DORMANT_AT_ONCE):

            async def work(transaction: Transaction, batch: Sequence[Dormancy] = batch) -> ChangeSet:
                changes = ChangeSet(dormant=self.still_leaving(batch, await pinned_ids(transaction)))
                if self.run_id is not None and not changes.is_empty:
                    line = dormant_line(changes.dormant)
                    await record_change(transaction, self.store, self.run_id, None, changes, line, {})
                return changes

            done += (await self.store.commit(work)).dormant
        return tuple(done)

    def still_leaving(self, leaving: Sequence[Dormancy], pinned: AbstractSet[str]) -> tuple[Dormancy, ...]:
        """Without one that was recalled, or pinned, while its turn came."""
        here = {entry.episode_id: self._live(entry.episode_id, pinned) for entry in leaving}
        return tuple(
            entry
            for entry in leaving
            if (one := here[entry.episode_id]) is not None and one.last_accessed_at < self.now
        )

    async def _past_retention(self) -> frozenset[str]:
        """The experiences whose words may leave the index."""
        named = {
            "keep_salience": _KEEP_SALIENCE,
            "slept_on_before": self.now - self.settings.raw_retention_hours * _HOUR_SECONDS,
        }
        return frozenset(row["id"] for row in await self.store.database.rows("experiences.past_retention", named))

    def _worn_turns(
        self, episode_ids: Sequence[str], past: AbstractSet[str], pinned: AbstractSet[str]
    ) -> tuple[str, ...]:
        """The turns of these episodes whose words may leave."""
        worn: list[str] = []
        for name in episode_ids:
            if (episode := self._live(name, pinned)) is not None:
                quoted = {exemplar.turn_id for exemplar in episode.exemplars}
                turns = self.store.live.turns.turns_of(name)
                worn += [turn.id for turn in turns if turn.experience_id in past and turn.id not in quoted]
        return tuple(worn)

    def _fade_episodes(self, episodes: Sequence[Episode]) -> tuple[Fading, ...]:
        half_life_days, floor = self.settings.decay_half_life_days, self.settings.minimum_salience
        return fade_episodes(episodes, self.now, half_life_days, floor).fadings

    def _live(self, name: str, pinned: AbstractSet[str]) -> Episode | None:
        """The live episode called so, unless it is pinned: time does nothing to that."""
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
    """How many episodes faded and how many turns left the index, as a line of the log; empty when none did. Pure."""
    parts = [(faded, "episode", "faded"), (words, "turn", "left the index for the file")]
    counted = [f"{count} {noun}{'s' if count != 1 else ''} {what}" for count, noun, what in parts if count]
    return f"Time: {', '.join(counted)}." if counted else ""


def dormant_line(leaving: Sequence[Dormancy]) -> str:
    """How many episodes left memory, and why. Pure."""
    faded = sum(entry.reason == FADED for entry in leaving)
    why = [(faded, "long unused"), (len(leaving) - faded, "more than fits")]
    return f"To the disk: {', '.join(f'{count} {reason}' for count, reason in why if count)}."


def _dormant_diffs(leaving: Sequence[Dormancy], summaries: dict[str, str]) -> tuple[EpisodeDiff, ...]:
    return tuple(dormant_diff(entry.episode_id, summaries[entry.episode_id]) for entry in leaving)


def _as_faded(episode: Episode, entry: Fading | None) -> Episode:
    if entry is None:
        return episode
    return replace(episode, salience=entry.salience, accessibility=entry.accessibility)


def _is_less(entry: Fading, before: Episode) -> bool:
    return entry.salience < before.salience or entry.accessibility < before.accessibility
