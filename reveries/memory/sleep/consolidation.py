"""Deep sleep: a model interprets what happened, and its answer is checked before it is used (R-103..R-108).

The most important first: one call per experience, or, with a capable model, per conversation; one transaction per
episode. It can be interrupted at any moment: what is being read stays unprocessed, what is finished is stored, and the
next pass continues from there. A pass that would merge
away more episodes than the settings allow stops and asks the owner.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from reveries.clock import Clock
from reveries.config import MemorySettings
from reveries.db.database import Database, Transaction
from reveries.db.failpoints import HangPlace, Step, may_hang, reach_step
from reveries.errors import ModelAnswerError
from reveries.llm.base import ChatModel, Vector
from reveries.llm.structured import AnswerRecorder
from reveries.llm.tier import Tier
from reveries.memory.changes import ChangeSet
from reveries.memory.conversations import SpeakerNames
from reveries.memory.model import Experience
from reveries.memory.sleep.deep_changes import lower_confidence
from reveries.memory.sleep.model_answers import (
    ExperienceDecision,
    Interpretation,
    InterpretedPart,
    decide_changes,
    decide_self_change,
    interpret_reading,
    run_unless_stopped,
)
from reveries.memory.sleep.owner_questions import (
    Question,
    load_open_question,
    merge_allowance,
    merge_question_text,
    store_question,
)
from reveries.memory.sleep.pass_log import begin_run, end_run, record_change, record_self_change
from reveries.memory.sleep.questions import Asker, WaitingNote
from reveries.memory.sleep.reading import ExperiencePart, Reading, WaitingExperiences, are_still_there
from reveries.memory.sleep.upkeep import Upkeep
from reveries.memory.store import MemoryStore, find_live_episode
from reveries.protocol import Consolidated
from reveries.safe_text import one_line

MAX_ATTEMPTS = 3
"""After this many unusable answers an experience keeps its extract and the model is not asked about it again."""

SELF_LINE: Final = "What was said changed the self-model."
TIME_PASSED: Final = "age"
"""The trigger of a pass that asks no model and only applies decay."""
_AUTOMATIC: Final = frozenset({"time", "volume", "sleep"})
"""Triggers of passes that nobody asked for: they skip experiences whose changes were undone or refused."""


async def load_waiting_notes(database: Database) -> tuple[WaitingNote, ...]:
    """Load the notes to the owner that were not shown yet; talk may answer them."""
    rows = await database.rows("notes.waiting")
    return tuple(WaitingNote(row["id"], row["text"], row["written_at"]) for row in rows)


@dataclass(slots=True)
class _DeepPass:
    """The state of a running pass."""

    run_id: str
    stop: asyncio.Event | None
    with_held: bool
    allowance: float
    """How many episodes it may merge away or supersede."""
    foreign_allowance: float
    """How many because of untrusted text; beyond this they are skipped without asking the owner."""
    waiting: WaitingExperiences
    tier: Callable[[], Tier]
    log: list[str] = field(default_factory=list)
    processed: int = 0
    created: int = 0
    merged: int = 0
    fallbacks: int = 0
    spent: int = 0
    foreign_spent: int = 0
    question: str = ""

    @property
    def is_stopped(self) -> bool:
        return self.stop is not None and self.stop.is_set()


class DeepSleep:
    """One pass at a time (R-102): a second one waits for the first."""

    def __init__(
        self,
        store: MemoryStore,
        names: Callable[[], SpeakerNames],
        settings: Callable[[], MemorySettings],
        clock: Clock,
        new_id: Callable[[], str],
        answers: AnswerRecorder | None = None,
    ) -> None:
        self._store = store
        self._names = names
        self._settings = settings
        self._clock = clock
        self._new_id = new_id
        self._answers = answers
        self._running = asyncio.Lock()

    async def unprocessed_count(self, *, with_held: bool = False, most: int | None = None) -> int:
        """Return how many experiences wait for deep sleep (R-98, RA-25), with `with_held` including those that are
        processed only on the owner's request. Counting stops at `most`: counting all is slow when many wait."""
        named = {"max_attempts": MAX_ATTEMPTS, "with_held": int(with_held), "most": -1 if most is None else most}
        rows = await self._store.database.rows("experiences.count_unprocessed", named)
        return int(rows[0]["unprocessed"])

    async def only_thoughts_wait(self, since: float) -> bool:
        """Whether nothing but thoughts from after `since` waits: they cost less when they are read with the next
        conversation."""
        named = {"max_attempts": MAX_ATTEMPTS, "thoughts_before": since}
        rows = await self._store.database.rows("experiences.anything_but_fresh_thoughts", named)
        return not rows[0]["is_waiting"]

    async def run(
        self,
        model: ChatModel,
        *,
        tier: Callable[[], Tier] = lambda: Tier.SMALL,
        limit: int | None = None,
        trigger: str = "asked",
        progress: Callable[[int, int], None] | None = None,
        stop: asyncio.Event | None = None,
    ) -> Consolidated:
        """Process at most `limit` experiences, then decay and prune. `tier` is what the model can do, asked before each
        call, because a fallback may answer.

        Setting `stop` ends the pass at once, even in the middle of an experience. While an earlier pass waits for the
        owner's answer, nothing is done. Raises ModelError if the model cannot be used at all; what was stored before
        stays.
        """
        async with self._running:
            began = self._clock.monotonic()
            if (question := await load_open_question(self._store)) is not None:
                return await self._waiting_result(question)
            allowance = merge_allowance(self._store.live.graph, self._settings())
            with_held = trigger not in _AUTOMATIC
            waiting_for = WaitingExperiences(self._store, MAX_ATTEMPTS, with_held=with_held, limit=limit)
            current = _DeepPass(self._new_id(), stop, with_held, allowance, allowance, waiting_for, tier)
            await begin_run(self._store, current.run_id, "deep", trigger, self._clock.now())
            outcome = "failed"
            try:
                await may_hang(HangPlace.SLEEP)
                waiting = await self.unprocessed_count(with_held=current.with_held)
                total = waiting if limit is None else min(limit, waiting)
                while not current.is_stopped and await self._process_next(current, model):
                    if progress is not None:
                        progress(waiting_for.read_count, total)
                if not current.is_stopped:
                    await Upkeep(self._store, self._settings(), self._clock.now(), current.run_id, stop).run()
                outcome = "asks" if current.question else "interrupted" if current.is_stopped else "done"
            except asyncio.CancelledError:
                outcome = "interrupted"
                raise
            finally:
                await end_run(self._store, current.run_id, outcome, self._clock.now())
            return await self._build_result(current, self._clock.monotonic() - began)

    async def decay_and_prune(self, stop: asyncio.Event | None = None) -> ChangeSet:
        """Run the last part of a pass alone, with its own row in the log. It needs no model, and runs also when there
        is nothing new or a pass waits for the owner's answer."""
        async with self._running:
            run_id = self._new_id()
            await begin_run(self._store, run_id, "deep", TIME_PASSED, self._clock.now())
            outcome = "interrupted"
            try:
                changes = await Upkeep(self._store, self._settings(), self._clock.now(), run_id, stop).run()
                outcome = "interrupted" if stop is not None and stop.is_set() else "done"
            finally:
                await end_run(self._store, run_id, outcome, self._clock.now())
            return changes

    async def apply_approved(self, question: Question) -> str:
        """Apply what a pass asked about and the owner approved; return a line about it. Makes no model call."""
        async with self._running:
            # Experiences that the pass had not reached wait for the next pass, which counts from 0 again.
            # The approval does not cover what untrusted text would change.
            none = WaitingExperiences(self._store, MAX_ATTEMPTS, with_held=True, limit=0)
            current = _DeepPass(question.run_id, None, True, float("inf"), 0.0, none, lambda: Tier.SMALL)
            await self._store_interpretation(current, question.understood, question.run_id)
            await end_run(self._store, question.run_id, "done", self._clock.now())
            return current.log[0] if current.log else "There was nothing left to do."

    async def _process_next(self, current: _DeepPass, model: ChatModel) -> bool:
        """Read what is most important of what waits; return whether the pass can continue."""
        reading = await current.waiting.next(current.tier(), model.context_tokens)
        if reading is None:
            return False
        try:
            interpretation = await run_unless_stopped(current.stop, self._interpret(model, reading))
        except ModelAnswerError as error:
            await self._record_fallbacks(current, reading.parts, str(error))
            return True
        if interpretation is None:
            return False
        await self._commit_self_change(current, interpretation)
        for part in interpretation.parts:
            await self._store_interpretation(current, part)
            if current.question:
                return False
        await self._record_fallbacks(current, interpretation.missing, "The answer left it out.")
        return True

    async def _interpret(self, model: ChatModel, reading: Reading) -> Interpretation:
        names, live = self._names(), self._store.live
        notes = await load_waiting_notes(self._store.database)
        least_salience = self._settings().self_model_salience
        asker = Asker(names.owner, names.mind, live.self_model, self._clock.now(), notes, least_salience)
        return await interpret_reading(model, asker, reading, live.graph, self._settings(), self._answers)

    async def _commit_self_change(self, current: _DeepPass, interpretation: Interpretation) -> None:
        """Store how a whole conversation changes the self-model, and which notes it answers."""
        if interpretation.about_self is None and not interpretation.self_lines:
            return

        async def work(transaction: Transaction) -> ChangeSet:
            now = self._clock.now()
            if not await are_still_there(transaction, interpretation.read_ids):
                return ChangeSet()
            answered = [{"id": note.id, "run_id": current.run_id} for note in interpretation.answered_notes]
            await transaction.run_many("notes.mark_answered", answered)
            change = decide_self_change(self._store.live.self_model, interpretation, now)
            changes = ChangeSet(self_model=change)
            for line in interpretation.self_lines:
                await record_change(transaction, self._store, current.run_id, None, ChangeSet(), line, {})
            if change is not None:
                await record_change(transaction, self._store, current.run_id, None, changes, SELF_LINE, {})
                await record_self_change(transaction, current.run_id, change, now)
            current.log += [*interpretation.self_lines, *([SELF_LINE] if change is not None else [])]
            return changes

        await self._store.commit(work)

    async def _store_interpretation(self, current: _DeepPass, understood: InterpretedPart, asked_in: str = "") -> None:
        """Store everything that follows from one experience in one transaction (R-107). `asked_in` is the pass that
        asked the owner about it first."""
        # Locked from embedding to commit, so that the vector belongs to the model in use when it is written.
        async with self._store.embedding_lock:
            summary_vector = (await self._store.embed_or_none([understood.abstraction.summary]))[0]
            reach_step(Step.DEEP_SLEEP_UNDERSTOOD)
            await self._commit(current, understood, summary_vector, asked_in)
            reach_step(Step.DEEP_SLEEP_STORED)

    async def _commit(
        self, current: _DeepPass, understood: InterpretedPart, summary_vector: Vector, asked_in: str
    ) -> None:
        decision: ExperienceDecision | None = None

        async def work(transaction: Transaction) -> ChangeSet:
            nonlocal decision
            if asked_in:
                await transaction.run("undo.drop_pending", {"run_id": asked_in})
            home = await find_live_episode(transaction, self._store.live, understood.experiences[0].id)
            if home is None or not await are_still_there(transaction, understood.read_with):
                return ChangeSet()
            now = self._clock.now()
            foreign_left = current.foreign_allowance - current.foreign_spent
            proposed = decide_changes(
                self._store.live, home, understood, summary_vector, self._settings(), now, foreign_left=foreign_left
            )
            if current.spent + proposed.cost > current.allowance:
                current.question = merge_question_text(proposed, current.spent, self._store.live.graph)
                await store_question(transaction, Question(current.run_id, current.question, understood), now)
                return ChangeSet()
            decision = proposed
            await self._record(transaction, current.run_id, understood.experiences, proposed, now)
            return proposed.changes

        await self._store.commit(work)
        if decision is not None:
            current.processed += len(understood.experiences)
            current.created += decision.is_new
            current.merged += decision.is_merge
            current.spent += decision.cost
            current.foreign_spent += decision.foreign_cost
            current.log.append(decision.line)

    async def _record(
        self,
        transaction: Transaction,
        run_id: str,
        experiences: Sequence[Experience],
        decision: ExperienceDecision,
        now: float,
    ) -> None:
        counts = {
            "processed": len(experiences), "created": int(decision.is_new), "merged": int(decision.is_merge)
        }  # fmt: skip
        first = experiences[0].id
        await record_change(transaction, self._store, run_id, first, decision.changes, decision.line, counts)
        await record_self_change(transaction, run_id, decision.changes.self_model, now)
        await transaction.run_many("undo.release", [{"experience_id": experience.id} for experience in experiences])

    async def _record_fallbacks(self, current: _DeepPass, parts: Sequence[ExperiencePart], reason: str) -> None:
        """Record an unusable answer (R-106): the experiences stay unprocessed, and their extract gets less
        confidence."""
        for part in parts:
            for experience in part.experiences:
                await self._record_fallback(current, experience, reason)

    async def _record_fallback(self, current: _DeepPass, experience: Experience, reason: str) -> None:
        line = f"No usable answer about \u201c{one_line(experience.content, 60)}\u201d; its own words stay. {reason}"

        async def work(transaction: Transaction) -> ChangeSet:
            home = await find_live_episode(transaction, self._store.live, experience.id)
            changes = lower_confidence(home) if home is not None else ChangeSet()
            counts = {"fallbacks": 1}
            await record_change(transaction, self._store, current.run_id, experience.id, changes, line, counts)
            await transaction.run("experiences.count_attempt", {"id": experience.id})
            return changes

        await self._store.commit(work)
        current.fallbacks += 1
        current.log.append(line)

    async def _waiting_result(self, question: Question) -> Consolidated:
        left = await self.unprocessed_count(with_held=True)
        return Consolidated(0, question.run_id, 0, 0, 0, 0, left, 0.0, False, [], question.text)

    async def _build_result(self, current: _DeepPass, seconds: float) -> Consolidated:
        return Consolidated(
            request_id=0,
            run_id=current.run_id,
            processed=current.processed,
            created=current.created,
            merged=current.merged,
            fallbacks=current.fallbacks,
            left=await self.unprocessed_count(with_held=current.with_held),
            seconds=seconds,
            was_interrupted=current.is_stopped,
            log=current.log,
            question=current.question,
        )
