"""The monologue's `ThoughtSources` on the real memory: gathers the inputs of thoughts and stores their results."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

from reveries.clock import Clock
from reveries.config import Settings
from reveries.daemon.occupations.spontaneous_recall import Surfacing
from reveries.daemon.occupations.thought_log import ThoughtLog
from reveries.daemon.senses.ambient_facts import load_ambient_data
from reveries.daemon.senses.calendar_watch import Calendar
from reveries.daemon.talk.chat_context import local_time
from reveries.daemon.talk.owner_notes import OwnerNotes
from reveries.daemon.talk.prompt_memories import how_long_ago
from reveries.db.database import Database
from reveries.db.failpoints import HangPlace, may_hang
from reveries.errors import ReveriesError
from reveries.gates import Gate, inherits_taint, may_act
from reveries.llm.tier import Tier
from reveries.memory.gaps import ConversationEnding, describe_ending
from reveries.memory.memory import Memory
from reveries.memory.model import Episode, Origin, RecallContext, RecalledEpisode, Turn
from reveries.memory.self_model import expected_in_order, with_days
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

RECENT_TURNS = 8
_MOST_RECENT_TURNS = 60
_CONTEXT_TOKENS_PER_TURN = 400
"""A quarter of the context at a hundred tokens a turn; the rest is for memories, the self-model and the thought."""
_THREADS = 3
_EXPECTED = 2
_MEMORIES = 4
_CUE_TURNS = 3
_MOST_RECALLED = 16
"""Recalled episodes from which the memories of a thought are chosen."""
_WAYS = 1 << 16
_FRESH_THOUGHT_SECONDS = 86400.0
_TALK_OCCUPIES_SECONDS = 12 * 3600.0
"""A conversation is not a reason to think for longer than this after its last words."""


class MemoryThoughtSources:
    """Gathers the inputs of thoughts from memory, and stores their results."""

    def __init__(
        self,
        *,
        memory: Memory,
        database: Database,
        journal: SafetyJournal,
        clock: Clock,
        settings: Callable[[], Settings],
        calendar: Calendar,
        is_running_normally: Callable[[], bool],
        chance: random.Random,
        count_recent: Callable[[], int] = lambda: RECENT_TURNS,
    ) -> None:
        """`is_running_normally`: whether there are no known problems; told to the mind only if true (R-139).
        `count_recent`: how many turns of the last conversation the model of thoughts can read."""
        self._memory = memory
        self._database = database
        self._journal = journal
        self._ambient = AmbientInputs()
        self._clock = clock
        self._settings = settings
        self._calendar = calendar
        self._is_running_normally = is_running_normally
        self.notes = OwnerNotes(database, clock)
        self.log = ThoughtLog(memory, database, clock)
        self._chance = chance
        self._count_recent = count_recent
        self._surfacing = Surfacing(memory, database, clock, chance)

    async def restore(self) -> SavedState:
        trip = await self._journal.last_trip_of_thinking()
        saved = await self.log.restore(trip.happened_at if trip is not None else None)
        return replace(saved, cool_down=await self._remaining_cool_down(trip))

    async def has_something_to_process(self) -> bool:
        """Whether something happened since the last thought began, or the last conversation deserves more thoughts
        (R-33). Calls no model (RA-9)."""
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
            await self._record_event(why)
        turns = await self._recent_turns()
        now, owner = self._clock.now(), self._settings().owner.name
        memories = await self._recall(why, turns, previous)
        self_model = self._memory.self_model
        recent = () if why.reason in ABOUT_SOMETHING else turns
        is_tainted = inherits_taint(
            Gate.THOUGHT, *(turn.tainted for turn in recent), *(memory.tainted for memory in memories)
        )
        return ThoughtInputs(
            mind_name=self._settings().mind.name,
            owner_name=owner,
            narrative=self_model.narrative,
            owner_facts=with_days(self_model, self_model.owner_facts),
            unresolved=with_days(
                self_model,
                (*self_model.unresolved_threads[-_THREADS:], *expected_in_order(self_model, now)[:_EXPECTED]),
            ),
            recent=tuple(SaidLine(_attribute_turn(turn, owner), turn.origin is Origin.SELF) for turn in recent),
            memories=memories,
            now_words=local_time(now),
            silence_words=self._describe_silence(now),
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
            await self.notes.store_from(thought, self._notes_per_day)
        if not inherits_taint(Gate.INDICATOR, thought.is_tainted):
            await self._journal.watch(thought.text, thought.why_ended)
        await self._memory.light_sleep()

    async def checkpoint(self, thought: FinishedThought) -> None:
        await self.log.checkpoint(thought)

    async def record_trip(self, verdict: Verdict, so_far: str, response: str, *, is_tainted: bool) -> None:
        is_own = not inherits_taint(Gate.INDICATOR, is_tainted)
        await self._journal.record_trip("monologue", verdict, so_far, response, is_own=is_own)

    async def association(self) -> Reactivation:
        return await self._surfacing.next()

    async def calendar(self) -> Reactivation:
        return await self._calendar.next()

    async def entries(self, since: float, limit: int) -> list[ThoughtEntry]:
        """Return the log of the monologue (RA-5), oldest first."""
        return await self.log.entries(since, limit)

    @property
    def _notes_per_day(self) -> float:
        return self._settings().monologue.notes_per_day

    async def _remaining_cool_down(self, trip: Trip | None) -> RemainingCoolDown | None:
        """Return the remaining cool-down after the last trip, computed from the journal."""
        breaker = self._settings().circuit_breaker
        if trip is None or not breaker.enabled:
            return None
        seconds = remaining_cool_down_seconds(trip.happened_at, self._clock.now(), breaker.cool_down_seconds)
        then = choose_restart_reason(trip.verdict.action, await self.log.why_last_began())
        return RemainingCoolDown(seconds, trip.verdict.explanation, then) if seconds > 0 else None

    async def _record_event(self, why: Reactivation) -> None:
        """Store a calendar event as an experience from outside (R-68), never as the owner's words."""
        await self._calendar.mark_used(why)
        text = f"In the calendar: {why.detail}"
        # Dated before the thought, so that it is no reason for another one.
        await self._memory.conversations.record_external(text, Origin.DOCUMENT, why.at)

    async def _ambient_text(self) -> str:
        """Return a calming sentence that is true now (R-139)."""
        owner = self._settings().owner.name
        is_well = self._is_running_normally()
        data = await load_ambient_data(self._memory, self._database, self._clock, owner, is_running_normally=is_well)
        text = await self._ambient.next(data)
        await self._memory.conversations.record_external(text, Origin.SYSTEM)
        return text

    async def _recent_turns(self) -> Sequence[Turn]:
        rows = await self._database.rows("conversations.latest_chat")
        return (
            await self._memory.conversations.recent_prompt_turns(str(rows[0]["id"]), self._count_recent())
            if rows
            else ()
        )

    async def _recall(self, why: Reactivation, turns: Sequence[Turn], previous: str) -> tuple[ActivatedMemory, ...]:
        """Recall and reinforce memories for the occasion (R-125); empty without a cue. Memories of the last thought are
        left out, unless the owner asks, so that the next one is about something else."""
        words = [turn.text for turn in turns if turn.origin is Origin.OWNER][-_CUE_TURNS:]
        if words and why.reason is ThinkingReason.STEP:
            words = [self._chance.choice(words)]
        cue = why.detail if why.reason in ABOUT_SOMETHING else "\n".join(words) or previous
        if not cue:
            return ()
        shown = frozenset(turn.id for turn in turns) if why.reason not in ABOUT_SOMETHING else frozenset()
        now = self._clock.now()
        context = RecallContext(now=now, limit=_MOST_RECALLED, exclude_turn_ids=shown)
        try:
            recall = await self._memory.recall(cue, context)
        except ReveriesError:
            return ()
        shown_texts = [turn.text for turn in turns] if shown else []
        thought_of = () if why.reason is ThinkingReason.NUDGE else await self.log.last_recalled()
        activated = _activated_memories(
            [recalled for recalled in recall.episodes if not _is_fresh_thought(recalled.episode, now)], now
        )
        memories = choose_thought_memories(activated, thought_of, _MEMORIES, shown_texts, why.episode_id)
        names = [memory.episode_id for memory in memories]
        by_name = {recalled.episode.id: recalled for recalled in recall.episodes}
        await self._memory.reinforce([replace(recall, episodes=tuple(by_name[name] for name in names))])
        return memories

    def _describe_silence(self, now: float) -> str:
        gap = self._memory.open_gap
        if gap is None:
            return ""
        minutes = int((now - gap.started_at) // 60)
        if minutes < 1:
            return "The conversation has just ended."
        hours = minutes // 60
        for_long = f"{minutes} minutes" if hours < 2 else f"{hours} hours" if hours < 48 else f"{hours // 24} days"
        return f"Nobody has spoken for {for_long}{describe_ending(ConversationEnding(gap.felt, gap.is_left_open))}."


def count_recent_turns(tier: Tier, context_tokens: int) -> int:
    """Return how many turns of the last conversation a thought is told: for a capable model in proportion to its
    context. A small one would only repeat more of them."""
    if tier is not Tier.CAPABLE:
        return RECENT_TURNS
    return min(_MOST_RECENT_TURNS, max(RECENT_TURNS, context_tokens // _CONTEXT_TOKENS_PER_TURN))


def _attribute_turn(turn: Turn, owner: str) -> str:
    match turn.origin:
        case Origin.SELF:
            who = "I"
        case Origin.OWNER:
            who = owner or "They"
        case _:
            who = f"{turn.speaker or 'Somebody'}, who is not {owner or 'the person'}"
    return f"{who}: {turn.text}"


def _is_fresh_thought(episode: Episode, now: float) -> bool:
    """Whether the episode is a recent thought, which would make it think about its own thoughts for ever."""
    return episode.origin is Origin.SELF and now - episode.created_at < _FRESH_THOUGHT_SECONDS


def _activated_memories(episodes: Sequence[RecalledEpisode], now: float) -> tuple[ActivatedMemory, ...]:
    return tuple(
        ActivatedMemory(
            episode_id=recalled.episode.id,
            text=recalled.episode.summary,
            when=how_long_ago(recalled.episode.created_at, now),
            tainted=recalled.episode.tainted,
        )
        for recalled in episodes
    )
