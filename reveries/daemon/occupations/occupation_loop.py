"""Runs what `attention` chooses, one occupation at a time in each lane; each occupation says what it could do now."""

import asyncio
from collections.abc import Sequence
from typing import Final, Protocol

from reveries.clock import Clock, wait_for_event
from reveries.daemon.occupations.activity import Activity
from reveries.daemon.occupations.attention import (
    Lane,
    NextOccupation,
    Occupation,
    OccupationCandidate,
    Situation,
    choose_next,
)
from reveries.daemon.occupations.sleep_control import SleepControl
from reveries.daemon.occupations.thinking_control import Permission

_LOOK_SECONDS: Final = 30.0
"""Between two choices while nothing is reported: the clock alone makes something due."""


class OccupationSource(Protocol):
    """Something that the mind is occupied with by itself, for example work on projects."""

    async def candidates(self) -> Sequence[OccupationCandidate]:
        """Return what it could do; empty if it has nothing at all."""
        ...

    async def run(self, candidate_id: str) -> None:
        """Do this one until it is done, or until something else goes before it."""
        ...


class OccupationLoop:
    """Asks `attention` who runs next, in each lane by itself."""

    def __init__(
        self,
        *,
        activity: Activity,
        sleep: SleepControl,
        permission: Permission,
        sources: Sequence[OccupationSource],
        clock: Clock,
    ) -> None:
        self._activity = activity
        self._sleep = sleep
        self._permission = permission
        self._sources = sources
        self._clock = clock
        self._has_news = {lane: asyncio.Event() for lane in Lane}

    def consider(self) -> None:
        """Choose again, because a goal, an answer or a setting changed."""
        for has_news in self._has_news.values():
            has_news.set()

    async def run(self) -> None:
        """Choose what is next in both lanes, and run it, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for lane in Lane:
                tasks.create_task(self._run_lane(lane), name=f"occupations-{lane}")

    async def _run_lane(self, lane: Lane) -> None:
        while True:
            self._has_news[lane].clear()  # Before the choice: what changes during it is not missed.
            by_id = await self._collect_candidates()
            chosen = await self._choose(lane, [candidate for candidate, _ in by_id.values()])
            if chosen.candidate_id:
                await by_id[chosen.candidate_id][1].run(chosen.candidate_id)
                continue
            if chosen.occupation is Occupation.SLEEP:
                await self._sleep.consolidate_if_due()
            await wait_for_event(self._has_news[lane], _LOOK_SECONDS, self._clock)

    async def _collect_candidates(self) -> dict[str, tuple[OccupationCandidate, OccupationSource]]:
        return {
            candidate.id: (candidate, source) for source in self._sources for candidate in await source.candidates()
        }

    async def _choose(self, lane: Lane, candidates: Sequence[OccupationCandidate]) -> NextOccupation:
        if not candidates:
            # Sleep that is due is begun by the schedule, every five minutes: a mind without projects asks for nothing.
            return NextOccupation(Occupation.THINK)
        hold = self._permission.find_hold()
        situation = Situation(
            is_talking=self._activity.is_talking,
            seconds_since_words=self._activity.seconds_since_words,
            is_sleep_due=await self._sleep.why_due() is not None,
            held_because=hold.why if hold is not None else "",
            now=self._clock.now(),
            candidates=candidates,
        )
        return choose_next(situation, lane)
