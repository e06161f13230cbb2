"""Surfaces a memory spontaneously (R-61, RA-13): when, and which.

When: once in a stretch of hours, in its last third. Each one without news makes the next stretch longer, up to a day,
so that an unchanged mind thinks less and less. Which: one that short walks from unresolved and salient memories reach
(`monologue.spontaneous_recall`), and that has not surfaced for a week.
"""

import random
from collections.abc import Sequence

from reveries.clock import Clock
from reveries.db.database import Database
from reveries.errors import ReveriesError
from reveries.llm.base import Vector
from reveries.memory.memory import Memory
from reveries.monologue.spontaneous_recall import draw_starts, draw_surfacing, wait_intervals, walk_links
from reveries.monologue.thought import Reactivation, ThinkingReason
from reveries.safe_text import one_line

ASSOCIATION_SECONDS = 3 * 3600.0
"""The first stretch after something new (RA-9, docs/explain/money.md)."""
SURFACED_AGAIN_SECONDS = 7 * 86400.0
_SALIENCE = 0.4
_THREADS = 3
_NEAREST = 3
_SALIENT_STARTS = 4
"""Walks from few starts meet; from hundreds, in a large mind, they do not, and nothing surfaces. The starts, and the
unresolved thread, are drawn each time; half of the walks begin at each."""


class Surfacing:
    """Waits for the time, walks the graph, and stores what surfaced."""

    def __init__(self, memory: Memory, database: Database, clock: Clock, chance: random.Random) -> None:
        self._memory = memory
        self._database = database
        self._clock = clock
        self._chance = chance
        self._news_at = -1.0
        self._vectors: dict[str, Vector] = {}
        self._begin_stretch(ASSOCIATION_SECONDS)

    async def next(self) -> Reactivation:
        """Wait until a memory surfaces; for ever in an empty mind.

        The time is fixed in advance, so calling again does not delay it. A time that passed while the mind was busy
        takes effect when it is not; after the end of its stretch it is skipped.
        """
        while True:
            await self._restart_on_news()
            while self._ends < self._clock.monotonic():
                self._begin_stretch(self._length, self._ends)
            await self._clock.sleep(max(0.0, self._at - self._clock.monotonic()))
            ended, came = self._ends, await self._find_surfacing()
            length = ASSOCIATION_SECONDS * wait_intervals(await self._count_since_news() + (came is not None))
            self._begin_stretch(length, ended)
            if came is not None:
                return came

    async def _restart_on_news(self) -> None:
        """Begin short stretches again if something new happened."""
        news_at = await self._newest_experience_at()
        if news_at == self._news_at:
            return
        is_first, self._news_at = self._news_at < 0, news_at
        if is_first:
            self._begin_stretch(ASSOCIATION_SECONDS * wait_intervals(await self._count_since_news()))
        elif self._length > ASSOCIATION_SECONDS:
            self._begin_stretch(ASSOCIATION_SECONDS)

    def _begin_stretch(self, length: float, began: float | None = None) -> None:
        self._length = length
        self._ends = (self._clock.monotonic() if began is None else began) + length
        self._at = self._ends - self._chance.uniform(0.0, length / 3)

    async def _newest_experience_at(self) -> float:
        (row,) = await self._database.rows("monologue_state.newest", {"now": self._clock.now()})
        return float(row["experience_at"] or 0.0)

    async def _count_since_news(self) -> int:
        named = {"since": self._news_at, "now": self._clock.now()}
        (row,) = await self._database.rows("monologue_state.associations_since", named)
        return int(row["associations"])

    async def _find_surfacing(self) -> Reactivation | None:
        graph, now = self._memory.live.graph, self._clock.now()
        before = now - SURFACED_AGAIN_SECONDS
        rows = await self._database.rows("monologue_state.surfaced_since", {"since": before, "now": now})
        lately = {str(row["episode_id"]) for row in rows}
        starts = await self._choose_starts()
        visits = walk_links(starts, graph.neighbours, self._chance.random)

        def is_fresh(index: int) -> bool:
            return graph.ended_at(index) < before and graph.id_at(index) not in lately

        surfaced_index = draw_surfacing(visits, graph.pull_of, is_fresh, self._chance.random())
        if surfaced_index is None:
            return None
        episode = graph.at(surfaced_index)
        async with self._database.transaction() as transaction:
            await transaction.run("monologue_state.put_surfaced", {"episode_id": episode.id, "surfaced_at": now})
            await transaction.run("monologue_state.forget_surfaced", {"before": before})
        return Reactivation(
            ThinkingReason.ASSOCIATION, one_line(episode.summary), episode.id, is_tainted=episode.tainted
        )

    async def _choose_starts(self) -> dict[int, float]:
        """Return weighted node indices: salient episodes, and those nearest to an unresolved thread."""
        graph = self._memory.live.graph
        vectors = await self._thread_vectors(self._memory.self_model.unresolved_threads[-_THREADS:])
        # No await from here on: an index is only valid until the next change.
        salient, weights = graph.select_salient(_SALIENCE, self._clock.now())
        starts = dict(draw_starts(salient, weights, self._chance.random, _SALIENT_STARTS))
        if vectors:
            indices, cosines = graph.nearest(self._chance.choice(vectors), _NEAREST)
            half = (sum(starts.values()) or 1.0) / (sum(cosines) or 1.0)
            for index, cosine in zip(indices, cosines, strict=True):
                starts[index] = starts.get(index, 0.0) + half * cosine
        return starts

    async def _thread_vectors(self, threads: Sequence[str]) -> list[Vector]:
        """Return the vectors of `threads`, each embedded once."""
        vectors, shape = self._vectors, self._memory.live.no_vector.shape
        self._vectors = {}
        for thread in threads:
            vector = vectors.get(thread)
            if vector is None or vector.shape != shape:
                try:
                    vector = await self._memory.embed_cue(thread)
                except ReveriesError:
                    continue
            self._vectors[thread] = vector
        return list(self._vectors.values())
