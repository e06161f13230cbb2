"""The mind's memory as tools for other programs: what they may read, and the one thing that they may add.

Reading reinforces nothing (R-29). Text that a program stores is untrusted: it is recalled as the program's, never as
the owner's.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

import msgspec

from reveries.clock import Clock
from reveries.daemon.lifecycle.health import Health
from reveries.daemon.occupations.activity import Activity
from reveries.daemon.occupations.sleep_control import SleepControl
from reveries.memory.memory import Memory
from reveries.memory.model import Origin, RankedTurn, RecalledEpisode
from reveries.memory.views.episodes import best_quote
from reveries.memory.views.search import SearchPeriod, parse_period
from reveries.memory.views.timeline import timeline
from reveries.safe_text import one_line, plain
from reveries.tools.reach import Reach
from reveries.tools.registry import ToolCaller
from reveries.tools.tool_group import ToolGroup, offer_tool

SERVER = "memory"
_MOST_CHARS = 2_000
_MOST_REASONS = 4
_MOST_WAIT_SECONDS = 10.0
"""Time limit until stored text can be recalled; a client waits a minute."""
_Text = Annotated[str, msgspec.Meta(min_length=1, max_length=20_000)]
_Cue = Annotated[str, msgspec.Meta(min_length=1, max_length=2_000)]
_When = Annotated[str, msgspec.Meta(max_length=100)]


class RememberText(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    text: _Text


class RecallCue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`since` and `until`: a day, a moment, or words as "yesterday" and "3 weeks ago"."""

    query: _Cue
    limit: Annotated[int, msgspec.Meta(ge=1, le=20)] = 5
    since: _When = ""
    until: _When = ""


class WhatHappened(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    since: _When = "yesterday"
    until: _When = ""
    limit: Annotated[int, msgspec.Meta(ge=1, le=100)] = 20


class GetStatus(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


class KeptOut(msgspec.Struct, frozen=True):
    """`is_kept`: False for mere blanks. `kept_as`: whose word it counts as."""

    is_kept: bool
    kept_as: str


class ReasonOut(msgspec.Struct, frozen=True):
    """`name` as in docs/explain/memory.md; `share`: how much it moved the turn."""

    name: str
    share: float


class RecalledTurnOut(msgspec.Struct, frozen=True):
    """What somebody said, word for word, and what speaks for it."""

    speaker: str
    said_at: str
    text: str
    episode_id: str
    score: float
    why: list[ReasonOut]


class RecalledEpisodeOut(msgspec.Struct, frozen=True):
    """`origin`: who it comes from (`owner`, `self`, `tool` and so on). `path`: the episodes over
    which the recall came to it; alone, it was found directly. `similarity`, `words`: how near its meaning is, and the
    share of the words."""

    episode_id: str
    happened_at: str
    summary: str
    quote: str
    speaker: str
    origin: str
    energy: float
    similarity: float
    words: float
    path: list[str]


class RecalledOut(msgspec.Struct, frozen=True):
    turns: list[RecalledTurnOut]
    episodes: list[RecalledEpisodeOut]


class MomentOut(msgspec.Struct, frozen=True):
    episode_id: str
    happened_at: str
    ended_at: str
    summary: str
    origin: str


class HappenedOut(msgspec.Struct, frozen=True):
    """Oldest first; `earlier_count` more came before."""

    moments: list[MomentOut]
    earlier_count: int


class StatusOut(msgspec.Struct, frozen=True):
    state: str
    detail: str
    episodes: int
    awake_since: str
    problems: list[str]
    work: str
    """The project that it works on now; empty: none."""


@dataclass(frozen=True, kw_only=True)
class MindTools(ToolGroup):
    """The tools over memory."""

    server = SERVER

    memory: Memory
    sleep: SleepControl
    activity: Activity
    health: Health
    clock: Clock
    awake_since: float

    @offer_tool(
        "Keep something in the mind's memory, as what this program said.",
        Reach.INSIDE,
        is_repeatable=False,
        is_additive=True,
    )
    async def remember(self, given: RememberText, caller: ToolCaller) -> KeptOut:
        said_by = caller.source.partition(":")[2] or caller.role
        noted = plain(given.text).strip()
        text = f"{said_by} noted: {noted}" if noted else ""
        kept = await self.memory.conversations.record_external(text, Origin.TOOL)
        # It is stored already: wait only briefly, because a program that times out would store it a second time.
        await self.sleep.request_light_sleep(_MOST_WAIT_SECONDS)
        return KeptOut(kept is not None, f"what {said_by} said")

    @offer_tool("What the mind remembers about something, and why.")
    async def recall(self, given: RecallCue, _: ToolCaller) -> RecalledOut:
        period = self._parse_period(given.since, given.until)
        result = await self.memory.search(given.query, given.limit, period=period, is_explained=True)
        turns = [_turn_out(turn) for turn in result.turns[: given.limit]]
        return RecalledOut(turns, [_episode_out(episode) for episode in result.episodes])

    def _parse_period(self, since: str, until: str) -> SearchPeriod:
        is_day_first = self.memory.live.is_day_first
        return parse_period(since, until, self.clock.now(), is_day_first=is_day_first)

    @offer_tool("Episodes in their order.")
    async def what_happened(self, given: WhatHappened, _: ToolCaller) -> HappenedOut:
        now = self.clock.now()
        result = timeline(self.memory.live, self._parse_period(given.since, given.until), given.limit, now)
        moments = [
            MomentOut(
                moment.episode_id,
                _format_iso(moment.happened_at),
                _format_iso(moment.ended_at),
                plain(moment.summary),
                moment.origin,
            )
            for moment in result.moments
        ]
        return HappenedOut(moments, result.earlier_count)

    @offer_tool("What the mind does now.")
    async def status(self, _: GetStatus, __: ToolCaller) -> StatusOut:
        state, detail = self.activity.state()
        problems = [one_line(problem, 200) for problem in self.health.problems()]
        stats = await self.memory.stats()
        work = one_line(detail) if state == "working" else ""
        return StatusOut(state, one_line(detail), stats.episodes, _format_iso(self.awake_since), problems, work)


def _format_iso(seconds: float) -> str:
    """Format a time in the local zone, which models read better than seconds."""
    return datetime.fromtimestamp(seconds).astimezone().isoformat(timespec="seconds")


def _turn_out(ranked: RankedTurn) -> RecalledTurnOut:
    strongest = sorted(ranked.reasons, key=lambda reason: -reason.amount)[:_MOST_REASONS]
    return RecalledTurnOut(
        speaker=one_line(ranked.turn.speaker, 80),
        said_at=_format_iso(ranked.turn.said_at),
        text=plain(ranked.turn.text)[:_MOST_CHARS],
        episode_id=ranked.episode_id or "",
        score=ranked.score,
        why=[ReasonOut(reason.name, round(reason.amount, 3)) for reason in strongest if reason.amount > 0],
    )


def _episode_out(recalled: RecalledEpisode) -> RecalledEpisodeOut:
    quote, speaker = best_quote(recalled)
    return RecalledEpisodeOut(
        episode_id=recalled.episode.id,
        happened_at=_format_iso(recalled.episode.created_at),
        summary=plain(recalled.episode.summary)[:_MOST_CHARS],
        quote=quote[:_MOST_CHARS],
        speaker=speaker,
        origin=recalled.episode.origin.value,
        energy=recalled.energy,
        similarity=recalled.seed_cosine,
        words=recalled.seed_words,
        path=list(recalled.path),
    )
