"""Makes one thought: `prepare` its inputs, `generate` it, `finish` it (R-31, R-32, R-41..R-44). The loop decides when.

However a thought ends, it is recorded with the reason (R-43). What the next one continues from is kept here.
"""

import asyncio
import contextlib
import random
import uuid
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from reveries.clock import Clock
from reveries.config import MonologueSettings
from reveries.errors import BudgetExceededError, DiskFullError, ModelError
from reveries.gates import Gate, inherits_taint
from reveries.heartbeat import Pulse
from reveries.llm.base import ChatModel
from reveries.llm.tier import Tier
from reveries.monologue.context import thinking_messages
from reveries.monologue.cool_down import describe_response
from reveries.monologue.observers import Observers, ThoughtEnd, ThoughtStart
from reveries.monologue.outcomes import Outcomes, first_error, pause_after_error
from reveries.monologue.ports import SavedState, ThoughtSources
from reveries.monologue.thinking import Thinker, ThoughtBreaker, ThoughtDraft
from reveries.monologue.thought import FinishedThought, Reactivation, ThinkingReason, ThoughtInputs
from reveries.safe_text import plain

log = structlog.get_logger("monologue")

WAIT_SECONDS = 900.0
"""Until an exhausted budget is checked again, or a model that does not say when to retry."""
_FOREVER_SECONDS = 10 * 365 * 86400.0
CONVERSATION_BEGAN = "A conversation or sleep began."
_DISK_FULL = "The disk is full."
_CONTEXT_SHARE = 0.5
"""The prompt of a thought takes at most this share of the model's context; the rest is for the thought."""
_ENOUGH_TOKENS = 80
"""After this many tokens a small model drifts from its subject."""
_FRESH_SECONDS = 600.0
"""A thought older than this is no longer "what I was just thinking"."""


@dataclass(frozen=True, slots=True)
class PreparedThought:
    """A thought that is about to begin."""

    id: str
    why: Reactivation
    began_at: float
    inputs: ThoughtInputs
    is_tainted: bool
    """Whether untrusted text is in its inputs or in the thought that it continues."""


class ThoughtCycle:
    """Makes thoughts, one at a time. `stop` ends the running one at once; what it has so far is recorded."""

    def __init__(
        self,
        *,
        model: ChatModel,
        sources: ThoughtSources,
        breaker: ThoughtBreaker,
        clock: Clock,
        settings: Callable[[], MonologueSettings],
        chance: random.Random,
        slice_tokens: Callable[[], int | None] = lambda: None,
        tier: Callable[[], int] = lambda: Tier.SMALL,
    ) -> None:
        self._model = model
        self.sources = sources
        self._breaker = breaker
        self.clock = clock
        self._read_settings = settings
        self._chance = chance
        self._slice_tokens = slice_tokens
        self._tier = tier
        self.observers = Observers()
        self.pulse = Pulse()
        self.outcomes = Outcomes()
        self._running: asyncio.Task[None] | None = None
        self._cancel_reason = ""
        self.prepared: PreparedThought | None = None
        """The running thought; None between two."""
        self._draft = ThoughtDraft()
        """Of the running thought."""
        self._previous = self._previous_id = ""
        """The thought that the next one continues from."""
        self._is_tainted = self._is_unfinished = self._was_cut = False
        """Of that thought. `_is_unfinished` until it is continued, which is tried once."""
        self._unrecorded: tuple[FinishedThought, SavedState] | None = None
        self.last_thought_at = 0.0

    @property
    def settings(self) -> MonologueSettings:
        """The current settings."""
        return self._read_settings()

    def restore(self, saved: SavedState) -> None:
        """Continue from the last thought before a restart."""
        self._previous, self._previous_id, self._is_tainted = saved.last_buffer, saved.thought_id, saved.is_tainted
        self._is_unfinished = self._was_cut = not saved.is_quiescent
        self.outcomes.remember("" if self._was_cut else saved.last_buffer)

    def take_unfinished(self) -> bool:
        """Whether the last thought was cut short and is still to be continued: true once (R-9, R-38)."""
        was_unfinished, self._is_unfinished = self._is_unfinished, False
        return was_unfinished

    def stop(self, reason: str = "") -> None:
        """End the running thought, if there is one. Without a reason it ends for a conversation."""
        if self._running is not None:
            self._cancel_reason = reason or self._cancel_reason
            self._running.cancel()

    def forget(self, thought_id: str) -> None:
        """Do not continue from a thought that the owner dropped."""
        if thought_id == self._previous_id:
            self._previous, self._is_unfinished, self._is_tainted = "", False, False

    def forget_all(self) -> None:
        """After an erasure: continue from no earlier thought."""
        self._was_cut = False
        self.outcomes.forget()
        self.forget(self._previous_id)

    def recent_thought(self) -> str:
        """Return what it was just thinking, for a reply (R-90); empty if that is too long ago."""
        if self.prepared is not None and self._draft.pieces:
            return self._draft.text
        is_fresh = self.clock.now() - self.last_thought_at < _FRESH_SECONDS
        return self._previous if is_fresh else ""

    def is_recent_thought_tainted(self) -> bool:
        """Whether untrusted text influenced `recent_thought`."""
        if self.prepared is not None and self._draft.pieces:
            return self.prepared.is_tainted
        return self._is_tainted

    async def prepare(self, why: Reactivation) -> PreparedThought:
        """Gather the inputs of a thought."""
        await self._record_pending()
        began, thought_id = self.clock.now(), uuid.UUID(int=self._chance.getrandbits(128)).hex[:16]
        # A tainted thought leads only to its own continuation, or one event would taint all later thoughts.
        may_lead = self._was_cut or not inherits_taint(Gate.LAST_THOUGHT, self._is_tainted)
        previous = self._previous if may_lead else ""
        inputs = await self.sources.gather(why, previous, comfort=why.reason is ThinkingReason.COMFORT)
        is_tainted = inputs.is_tainted or inherits_taint(Gate.THOUGHT, why.is_tainted)
        is_tainted = is_tainted or inherits_taint(Gate.LAST_THOUGHT, bool(previous) and self._is_tainted)
        return PreparedThought(thought_id, why, began, inputs, is_tainted)

    async def generate(self, prepared: PreparedThought, stop_reason: str) -> ThoughtDraft:
        """Generate the thought; not at all if there is a reason to stop already. The draft says how it ended."""
        draft = ThoughtDraft()
        self.prepared, self._draft = prepared, draft
        self.observers.notify(ThoughtStart(prepared.id, prepared.why.reason.value, ""))
        log.info("thought.began", reason=prepared.why.reason.value)
        try:
            await self._run_thinker(prepared, draft, stop_reason)
        except* BudgetExceededError as errors:
            error = first_error(errors)
            draft.end("budget", str(error))
            draft.retry_after_seconds = _seconds_until_budget(error)
        except* DiskFullError:
            draft.end("paused", _DISK_FULL)
        except* ModelError as errors:
            error = first_error(errors)
            draft.end("failed", str(error))
            draft.retry_after_seconds = pause_after_error(error, WAIT_SECONDS)
        finally:
            self._running = self.prepared = None
            self._cancel_reason = ""
        return draft

    async def finish(self, prepared: PreparedThought, draft: ThoughtDraft) -> None:
        """Judge and record an ended thought, and decide what the next one continues from."""
        self._judge_thought(draft, prepared.inputs)
        thought = self._thought(prepared, draft)
        self.observers.notify(ThoughtEnd(thought.id, thought.why_ended, thought.explanation, thought.tokens))
        log.info("thought.ended", reason=thought.why_ended, tokens=thought.tokens, why_not_kept=thought.unkept_because)
        if thought.unkept_because:
            self._is_unfinished = self._was_cut = False
        elif thought.text.strip():
            # A tripped thought is stored but must not lead to the next one, also not after a restart.
            self._previous = "" if thought.why_ended == "tripped" else thought.text
            self._is_unfinished = self._was_cut = thought.why_ended == "paused"
            self._is_tainted, self._previous_id = thought.is_tainted, thought.id
            self.last_thought_at = thought.ended_at
        if thought.why_ended == "budget" and not thought.text:
            # Nothing was thought, so there is nothing to record.
            return
        for trip in draft.trips:
            response = describe_response(trip.verdict, prepared.why)
            await self.sources.record_trip(trip.verdict, trip.so_far, response, is_tainted=thought.is_tainted)
        is_tainted, leads = (self._is_tainted, self._previous_id) if self._previous else (False, "")
        self._unrecorded = thought, SavedState(self._previous, not self._is_unfinished, is_tainted, leads)
        with contextlib.suppress(DiskFullError):
            await self._record_pending()

    async def _run_thinker(self, prepared: PreparedThought, draft: ThoughtDraft, stop_reason: str) -> None:
        tier, room_tokens = self._tier(), int(self._model.context_tokens * _CONTEXT_SHARE)
        messages = thinking_messages(prepared.inputs, prepared.why, room_tokens, tier)
        draft.shown = tuple(message.text for message in messages)
        if stop_reason:
            draft.end("paused", stop_reason)
            return
        thinker = Thinker(
            self._model,
            self._breaker,
            self.observers,
            self.clock,
            self.settings,
            self._slice_tokens,
            enough_tokens=None if tier >= Tier.CAPABLE else _ENOUGH_TOKENS,
        )

        async def save() -> None:
            self.pulse.beat()
            await self.sources.checkpoint(self._thought(prepared, draft))

        async with asyncio.TaskGroup() as tasks:
            self._running = tasks.create_task(thinker.think(messages, draft, save), name="thought")
        if self._running.cancelled() and not draft.why_ended:
            draft.end("paused", self._cancel_reason or CONVERSATION_BEGAN)

    def _thought(self, prepared: PreparedThought, draft: ThoughtDraft) -> FinishedThought:
        return FinishedThought(
            id=prepared.id,
            began_at=prepared.began_at,
            ended_at=self.clock.now(),
            why_began=prepared.why.reason.value,
            why_ended=draft.why_ended,
            explanation=draft.explanation,
            text=plain(draft.text),
            tokens=draft.tokens,
            model=self._model.name,
            memories=prepared.inputs.memories,
            occasion=plain(prepared.why.detail),
            is_tainted=prepared.is_tainted,
            shown=draft.shown,
            unkept_because=draft.unkept_because,
        )

    def _judge_thought(self, draft: ThoughtDraft, inputs: ThoughtInputs) -> None:
        """Add to the explanation of an ended thought whether it is a repetition."""
        repetition = self.outcomes.count(draft.text, draft.why_ended)
        read = (*draft.shown, *(memory.text for memory in inputs.memories))
        draft.unkept_because = self.outcomes.reason_not_kept(draft.text, draft.why_ended, read)
        draft.explanation = " ".join(filter(None, (draft.explanation, repetition, draft.unkept_because)))
        if not draft.unkept_because:
            self.outcomes.remember(draft.text)

    async def _record_pending(self) -> None:
        """Record the last thought if that is still to be done, because the disk was full."""
        if self._unrecorded is not None:
            await self.sources.record(*self._unrecorded)
            self._unrecorded = None


def _seconds_until_budget(error: ModelError) -> float:
    """Return how long to stay quiet until the budget allows more; if no day's budget suffices, until a setting
    changes."""
    seconds = error.goes_on_after_seconds if isinstance(error, BudgetExceededError) else None
    return seconds or (WAIT_SECONDS if seconds is not None else _FOREVER_SECONDS)
