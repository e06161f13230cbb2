"""What thoughts are made from and where they go: the monologue's `ThoughtSources` over the real memory."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

from reveries.clock import Clock
from reveries.config import Settings
from reveries.daemon.ambient_facts import load_ambient_data
from reveries.daemon.calendar_watch import Calendar
from reveries.daemon.chat_context import how_long_ago, local_time
from reveries.daemon.owner_notes import OwnerNotes
from reveries.daemon.spontaneous_recall import Surfacing
from reveries.daemon.thought_log import ThoughtLog
from reveries.db.database import Database
from reveries.db.failpoints import HangPlace, may_hang
from reveries.errors import ReveriesError
from reveries.gates import Gate, inherited, may_act
from reveries.memory.gaps import RestedConversation, what_was_left
from reveries.memory.memory import Memory
from reveries.memory.model import Episode, Origin, RecallContext, RecalledEpisode, Turn
from reveries.monologue.context import choose_thought_memories
from reveries.monologue.cool_down import RemainingCoolDown, choose_restart_reason, remaining_cool_down_seconds
from reveries.monologue.ports import SavedState
from reveries.monologue.thought import (
    ABOUT_SOMETHING,
    ActivatedMemory,
    FinishedThought,
    Reactivation,
    SaidLine,
    ThinkingReason,
    ThoughtInputs,
)
from reveries.monologue.triggers import count_deserved_thoughts
from reveries.protocol import ThoughtEntry
from reveries.safety.ambient import AmbientInputs
from reveries.safety.journal import SafetyJournal, Trip
from reveries.safety.verdict import Verdict

_RECENT_TURNS = 8
_EXPECTED = 2
_MEMORIES = 4
_CUE_TURNS = 3
_MOST_RECALLED = 16
"""Those that a thought is chosen its memories from."""
_WAYS = 1 << 16
_FRESH_THOUGHT_SECONDS = 86400.0
_TALK_OCCUPIES_SECONDS = 12 * 3600.0
"""A conversation, however rich, is thought about no longer after its last word."""


class MemoryThoughtSources:
    """Gathers a thought's inputs from memory, and keeps what came of it."""

    def __init__(
        self,
        *,
        memory: Memory,
        database: Database,
        journal: SafetyJournal,
        clock: Clock,
        settings: Settings,
        calendar: Calendar,
        is_running_normally: Callable[[], bool],
        chance: random.Random,
    ) -> None:
        """`is_running_normally`: whether nothing is known to be in trouble; said to the mind only when it is so
        (R-139)."""
        self._memory = memory
        self._database = database
        self._journal = journal
        self._ambient = AmbientInputs()
        self._clock = clock
        self.settings = settings
        """May be replaced: it counts from the next thought on."""
        self._calendar = calendar
        self._is_running_normally = is_running_normally
        self.notes = OwnerNotes(database, clock)
        self.log = ThoughtLog(memory, database, clock)
        self._chance = chance
        self._surfacing = Surfacing(memory, database, clock, chance)

    async def restore(self) -> SavedState:
        trip = await self._journal.last_trip_of_thinking()
        saved = await self.log.restore(trip.happened_at if trip is not None else None)
        return replace(saved, cool_down=await self._remaining_cool_down(trip))

    async def has_something_to_process(self) -> bool:
        """Something happened since the last thought began, or the last talk deserves more thoughts than it got (R-33).
        Free: no model is asked (RA-9)."""
        now = self._clock.now()
        (newest,) = await self._database.rows("monologue_state.newest", {"now": now})
        if (newest["experience_at"] or 0.0) > (newest["thought_at"] or 0.0):
            return True
        named = {"now": now, "since": now - _TALK_OCCUPIES_SECONDS}
        (talk,) = await self._database.rows("monologue_state.thoughts_about_talk", named)
        return int(talk["thoughts"]) < count_deserved_thoughts(float(talk["salience"]))

    async def gather(self, why: Reactivation, previous: str, *, comfort: bool) -> ThoughtInputs:
        await may_hang(HangPlace.THOUGHT)
        await self.log.begin()
        if why.reason is ThinkingReason.CALENDAR:
            await self._heed_event(why)
        turns = await self._recent_turns()
        now, owner = self._clock.now(), self.settings.owner.name
        memories = await self._recall(why, turns, previous)
        self_model = self._memory.self_model
        recent = () if why.reason in ABOUT_SOMETHING else turns
        is_tainted = inherited(Gate.THOUGHT, *(turn.tainted for turn in recent), *(one.tainted for one in memories))
        return ThoughtInputs(
            mind_name=self.settings.mind.name,
            owner_name=owner,
            narrative=self_model.narrative,
            owner_facts=self_model.owner_facts,
            unresolved=(*self_model.unresolved_threads[:3], *self_model.anticipations[-_EXPECTED:]),
            recent=tuple(SaidLine(_said(turn, owner), turn.origin is Origin.SELF) for turn in recent),
            memories=memories,
            now_words=local_time(now),
            silence_words=self._silence(now),
            calendar=await self._calendar.times_ahead(),
            previous=previous,
            ambient=await self._ambient_text() if comfort else "",
            is_tainted=is_tainted,
            way=self._chance.randrange(_WAYS),
            may_note=may_act(is_tainted=is_tainted or why.is_tainted)
            and await self.notes.may_write(self._notes_per_day),
        )

    async def record(self, thought: FinishedThought, state: SavedState) -> None:
        await self.log.record(thought, state)
        if thought.text.strip():
            await self.notes.heed(thought, self._notes_per_day)
        if not inherited(Gate.INDICATOR, thought.is_tainted):
            await self._journal.watch(thought.text, thought.why_ended)
        await self._memory.light_sleep()

    async def checkpoint(self, thought: FinishedThought) -> None:
        await self.log.checkpoint(thought)

    async def record_trip(self, verdict: Verdict, so_far: str, response: str, *, is_tainted: bool) -> None:
        is_own = not inherited(Gate.INDICATOR, is_tainted)
        await self._journal.record_trip("monologue", verdict, so_far, response, is_own=is_own)

    async def association(self) -> Reactivation:
        return await self._surfacing.next()

    async def calendar(self) -> Reactivation:
        return await self._calendar.next()

    async def entries(self, since: float, limit: int) -> list[ThoughtEntry]:
        """The log of the monologue (RA-5), oldest first."""
        return await self.log.entries(since, limit)

    @property
    def _notes_per_day(self) -> float:
        return self.settings.monologue.notes_per_day

    async def _remaining_cool_down(self, trip: Trip | None) -> RemainingCoolDown | None:
        """What is left of the rest after the last trip. Nothing of it is kept but the journal."""
        breaker = self.settings.circuit_breaker
        if trip is None or not breaker.enabled:
            return None
        seconds = remaining_cool_down_seconds(trip.happened_at, self._clock.now(), breaker.cool_down_seconds)
        then = choose_restart_reason(trip.verdict.action, await self.log.why_last_began())
        return RemainingCoolDown(seconds, trip.verdict.explanation, then) if seconds > 0 else None

    async def _heed_event(self, why: Reactivation) -> None:
        """What came near is remembered like anything from outside (R-68), and never as the owner's word."""
        await self._calendar.mark_used(why)
        text = f"In the calendar: {why.detail}"
        # As of when it came near: what happened before a thought began is no reason for another.
        await self._memory.conversations.record_external(text, Origin.DOCUMENT, why.at)

    async def _ambient_text(self) -> str:
        """A calming word about how things really are (R-139)."""
        owner = self.settings.owner.name
        is_well = self._is_running_normally()
        data = await load_ambient_data(self._memory, self._database, self._clock, owner, is_running_normally=is_well)
        text = await self._ambient.next(data)
        await self._memory.conversations.record_external(text, Origin.SYSTEM)
        return text

    async def _recent_turns(self) -> Sequence[Turn]:
        rows = await self._database.rows("conversations.latest_chat")
        return await self._memory.conversations.recent_prompt_turns(str(rows[0]["id"]), _RECENT_TURNS) if rows else ()

    async def _recall(self, why: Reactivation, turns: Sequence[Turn], previous: str) -> tuple[ActivatedMemory, ...]:
        """What comes to mind with the occasion, and is thereby reinforced (R-125); nothing when there is no cue. Not
        what the last thought had, unless the owner asks: the next one is about something else."""
        said = [turn.text for turn in turns if turn.origin is Origin.OWNER][-_CUE_TURNS:]
        if said and why.reason is ThinkingReason.STEP:
            said = [self._chance.choice(said)]
        cue = why.detail if why.reason in ABOUT_SOMETHING else "\n".join(said) or previous
        if not cue:
            return ()
        try:
            vector = await self._memory.embed_cue(cue)
        except ReveriesError:
            return ()
        shown = frozenset(turn.id for turn in turns) if why.reason not in ABOUT_SOMETHING else frozenset()
        now = self._clock.now()
        recall = self._memory.recall(cue, vector, RecallContext(now=now, limit=_MOST_RECALLED, exclude_turn_ids=shown))
        told = [turn.text for turn in turns] if shown else []
        thought_of = () if why.reason is ThinkingReason.NUDGE else await self.log.last_recalled()
        found = _activated_memories([one for one in recall.episodes if not _is_fresh_thought(one.episode, now)], now)
        memories = choose_thought_memories(found, thought_of, _MEMORIES, told, why.episode_id)
        names = [memory.episode_id for memory in memories]
        by_name = {found.episode.id: found for found in recall.episodes}
        await self._memory.reinforce([replace(recall, episodes=tuple(by_name[name] for name in names))])
        return memories

    def _silence(self, now: float) -> str:
        gap = self._memory.open_gap
        if gap is None:
            return ""
        minutes = int((now - gap.started_at) // 60)
        if minutes < 1:
            return "The conversation has just ended."
        hours = minutes // 60
        for_long = f"{minutes} minutes" if hours < 2 else f"{hours} hours" if hours < 48 else f"{hours // 24} days"
        return f"Nobody has spoken for {for_long}{what_was_left(RestedConversation(gap.felt, gap.is_left_open))}."


def _said(turn: Turn, owner: str) -> str:
    match turn.origin:
        case Origin.SELF:
            who = "I"
        case Origin.OWNER:
            who = owner or "They"
        case _:
            who = f"{turn.speaker or 'Somebody'}, who is not {owner or 'the person'}"
    return f"{who}: {turn.text}"


def _is_fresh_thought(episode: Episode, now: float) -> bool:
    """A thought of its own of today: it would go on and on about what it thinks."""
    return episode.origin is Origin.SELF and now - episode.created_at < _FRESH_THOUGHT_SECONDS


def _activated_memories(episodes: Sequence[RecalledEpisode], now: float) -> tuple[ActivatedMemory, ...]:
    return tuple(
        ActivatedMemory(
            episode_id=found.episode.id,
            text=found.episode.summary,
            when=how_long_ago(found.episode.created_at, now),
            tainted=found.episode.tainted,
        )
        for found in episodes
    )
