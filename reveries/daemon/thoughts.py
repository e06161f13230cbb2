"""What thoughts are made from and where they go: the monologue's `ThoughtSources` over the real memory."""

import asyncio
import json
import random
from collections.abc import Sequence
from datetime import datetime

from reveries.clock import Clock
from reveries.config import Settings
from reveries.daemon.chat_context import how_long_ago, local_time
from reveries.db.database import Database, Row
from reveries.errors import ReveriesError
from reveries.memory.conversations import Thought
from reveries.memory.memory import Memory
from reveries.memory.model import Episode, Origin, Recall, RecallContext, Turn
from reveries.memory.silence import Leaving, what_was_left
from reveries.monologue.loop import SavedState
from reveries.monologue.thought import FinishedThought, Reactivation, Reason, Remembered, ThoughtInputs
from reveries.plaintext import one_line
from reveries.protocol import ThoughtEntry
from reveries.safety.ambient import AmbientData, AmbientInputs
from reveries.safety.journal import SafetyJournal
from reveries.safety.verdict import Verdict

_RECENT_TURNS = 8
_MEMORIES = 5
_CUE_TURNS = 3
ASSOCIATION_SECONDS = 3 * 3600.0
"""A memory comes up by itself once in each such stretch, in its last third: two hours at least lie between two, and an
idle day has eight (RA-9, docs/explain/money.md)."""
_ASSOCIATION_SALIENCE = 0.4
_SURFACED_AGAIN_SECONDS = 7 * 86400.0


class ThoughtsOfMemory:
    """Gathers a thought's inputs from memory, and keeps what came of it."""

    def __init__(
        self,
        *,
        memory: Memory,
        database: Database,
        journal: SafetyJournal,
        ambient: AmbientInputs,
        clock: Clock,
        settings: Settings,
        chance: random.Random,
    ) -> None:
        self._memory = memory
        self._database = database
        self._journal = journal
        self._ambient = ambient
        self._clock = clock
        self._settings = settings
        self._chance = chance
        self._surfaced_at: dict[str, float] = {}
        self._stretch_ends = clock.monotonic() + ASSOCIATION_SECONDS
        self._surfaces_at = self._moment_in_stretch()

    async def restore(self) -> SavedState:
        rows = await self._database.rows("monologue_state.get")
        if not rows:
            return SavedState()
        return SavedState(str(rows[0]["last_buffer"]), bool(rows[0]["quiescent"]))

    async def has_something_to_process(self) -> bool:
        """Something happened since the last thought began. Free: no model is asked (RA-9)."""
        (newest,) = await self._database.rows("monologue_state.newest")
        return (newest["experience_at"] or 0.0) > (newest["thought_at"] or 0.0)

    async def gather(self, why: Reactivation, previous: str, *, comfort: bool) -> ThoughtInputs:
        turns = await self._recent_turns()
        now, owner = self._clock.now(), self._settings.owner.name
        recall = await self._recall(why, turns, previous)
        self_model = self._memory.self_model
        return ThoughtInputs(
            mind_name=self._settings.mind.name,
            owner_name=owner,
            narrative=self_model.narrative,
            owner_facts=self_model.owner_facts,
            unresolved=self_model.unresolved_threads[:3],
            recent=tuple(_said(turn, owner) for turn in turns) if why.reason is not Reason.ASSOCIATION else (),
            memories=_remembered(recall, now) if recall else (),
            now_words=local_time(now),
            silence_words=self._silence(now),
            previous=previous,
            ambient=await self._ambient_text() if comfort else "",
        )

    async def record(self, thought: FinishedThought, state: SavedState) -> None:
        await self._memory.record_thought(
            Thought(
                id=thought.id,
                began_at=thought.began_at,
                ended_at=thought.ended_at,
                why_began=thought.why_began,
                why_ended=thought.why_ended,
                text=thought.text,
                tokens=thought.tokens,
                model=thought.model,
                recalled_ids=tuple(memory.episode_id for memory in thought.memories),
                is_partial=thought.is_partial,
                is_tainted=any(memory.tainted for memory in thought.memories),
                shown=tuple(memory.text for memory in thought.memories),
            )
        )
        async with self._database.transaction() as transaction:
            await transaction.run(
                "monologue_state.put",
                {
                    "last_buffer": state.last_buffer,
                    "last_context": json.dumps({"why_began": thought.why_began, "why_ended": thought.why_ended}),
                    "quiescent": state.is_quiescent,
                    "updated_at": thought.ended_at,
                },
            )
        await self._journal.watch(thought.text, thought.why_ended)
        await self._memory.light_sleep()

    async def record_trip(self, verdict: Verdict, so_far: str, response: str) -> None:
        await self._journal.record_trip("monologue", verdict, so_far, response)

    async def association(self) -> Reactivation:
        """A salient memory that has not come up lately (R-61, RA-13).

        Its moment is fixed before anybody waits, so waiting anew does not put it off. One that passed while the mind
        was busy comes when it is not; after its stretch it is not made up for.
        """
        while True:
            while self._stretch_ends < self._clock.monotonic():
                self._next_stretch()
            await self._clock.sleep(max(0.0, self._surfaces_at - self._clock.monotonic()))
            self._next_stretch()
            if (episode := self._surfacing()) is not None:
                self._surfaced_at[episode.id] = self._clock.now()
                return Reactivation(Reason.ASSOCIATION, one_line(episode.summary), episode.id)

    def _next_stretch(self) -> None:
        self._stretch_ends += ASSOCIATION_SECONDS
        self._surfaces_at = self._moment_in_stretch()

    def _moment_in_stretch(self) -> float:
        return self._stretch_ends - self._chance.uniform(0.0, ASSOCIATION_SECONDS / 3)

    async def calendar(self) -> Reactivation:
        """No calendar is connected yet: this waits for ever (R-60)."""
        await asyncio.Event().wait()
        raise AssertionError("an event that nobody sets was set")

    async def entries(self, since: float, limit: int) -> list[ThoughtEntry]:
        """The log of the monologue (RA-5), oldest first."""
        rows = await self._database.rows("monologue_state.thoughts_since", {"since": since, "limit": limit})
        return [_entry(row) for row in rows]

    async def _ambient_text(self) -> str:
        """A calming word about how things really are (R-139)."""
        stats = await self._memory.stats()
        data = AmbientData(
            now=datetime.fromtimestamp(self._clock.now()),
            owner_name=self._settings.owner.name,
            episodes=stats.episodes,
            turns=stats.turns,
            all_stored=await self._database.is_intact(),
        )
        text = await self._ambient.next(data)
        await self._memory.record_external(text, Origin.SYSTEM)
        return text

    async def _recent_turns(self) -> Sequence[Turn]:
        rows = await self._database.rows("conversations.latest_chat")
        return await self._memory.recent_turns(str(rows[0]["id"]), _RECENT_TURNS) if rows else ()

    async def _recall(self, why: Reactivation, turns: Sequence[Turn], previous: str) -> Recall | None:
        """What comes to mind with the occasion, and is thereby reinforced (R-125); None when there is no cue."""
        said = [turn.text for turn in turns if turn.origin is Origin.OWNER][-_CUE_TURNS:]
        cue = why.detail if why.reason is Reason.ASSOCIATION else "\n".join(said) or previous
        if not cue:
            return None
        try:
            vector = await self._memory.embed_cue(cue)
        except ReveriesError:
            return None
        shown = frozenset(turn.id for turn in turns) if why.reason is not Reason.ASSOCIATION else frozenset()
        context = RecallContext(now=self._clock.now(), limit=_MEMORIES, exclude_turn_ids=shown)
        recall = self._memory.recall(cue, vector, context)
        await self._memory.reinforce([recall])
        return recall

    def _surfacing(self) -> Episode | None:
        now = self._clock.now()
        graph, before = self._memory.live.graph, now - _SURFACED_AGAIN_SECONDS
        ready = [
            (name, weight)
            for name, weight in graph.salient(_ASSOCIATION_SALIENCE, before)
            if self._surfaced_at.get(name, before - 1.0) < before
        ]
        if not ready:
            return None
        chosen = self._chance.choices([name for name, _ in ready], weights=[weight for _, weight in ready])[0]
        return graph.get(chosen)

    def _silence(self, now: float) -> str:
        gap = self._memory.open_gap
        if gap is None:
            return ""
        minutes = int((now - gap.started_at) // 60)
        if minutes < 1:
            return "The conversation has just ended."
        hours = minutes // 60
        for_long = f"{minutes} minutes" if hours < 2 else f"{hours} hours" if hours < 48 else f"{hours // 24} days"
        return f"Nobody has spoken for {for_long}{what_was_left(Leaving(gap.felt, gap.is_left_open))}."


def _said(turn: Turn, owner: str) -> str:
    who = "I" if turn.origin is Origin.SELF else (owner or "They")
    return f"{who}: {turn.text}"


def _remembered(recall: Recall, now: float) -> tuple[Remembered, ...]:
    return tuple(
        Remembered(
            episode_id=found.episode.id,
            text=found.episode.summary,
            when=how_long_ago(found.episode.created_at, now),
            tainted=found.episode.tainted,
        )
        for found in recall.episodes
    )


def _entry(row: Row) -> ThoughtEntry:
    return ThoughtEntry(
        thought_id=row["id"],
        began_at=row["began_at"],
        ended_at=row["ended_at"],
        why_began=row["why_began"],
        why_ended=row["why_ended"],
        text=row["text"],
        tokens=row["tokens"],
        recalled=json.loads(row["recalled"]),
    )
