"""Deep sleep: a model says what each experience means; its answer is checked before it is used (R-103..R-108).

Most salient first, one call an experience, one transaction an experience. It can be interrupted at any moment: what is
in hand stays unprocessed, what is done is done, and the next pass goes on from there. A pass that would merge away more
of what is remembered than the settings allow stops there and asks.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from reveries.clock import Clock
from reveries.config import MemorySettings
from reveries.db.database import Transaction
from reveries.db.failpoints import HangPlace, Step, may_hang, reached
from reveries.errors import ModelAnswerError
from reveries.llm.base import ChatModel, Vector
from reveries.llm.structured import AnswerRecorder
from reveries.memory.changes import ChangeSet
from reveries.memory.conversations import SpeakerNames
from reveries.memory.model import Experience, Turn
from reveries.memory.sleep.deep_changes import fallen_back
from reveries.memory.sleep.linking import possible_causes
from reveries.memory.sleep.model_answers import (
    ExperienceDecision,
    InterpretedExperience,
    decide,
    understand,
    unless_stopped,
)
from reveries.memory.sleep.owner_questions import Question, allowance, merge_question_text, note_question, open_question
from reveries.memory.sleep.pass_log import begin_run, end_run, record_change, record_self_change
from reveries.memory.sleep.questions import Asker
from reveries.memory.sleep.upkeep import Upkeep
from reveries.memory.store import MemoryStore, home_of
from reveries.safe_text import one_line

MAX_ATTEMPTS = 3
"""An experience whose answers could not be used so often keeps its extract and is not asked about again."""

TIME_PASSED: Final = "age"
"""The trigger of a pass that asks no model and only lets time do its work."""
_OF_ITSELF: Final = frozenset({"time", "volume", "sleep"})
"""What begins a pass that nobody asked for: it leaves alone what was taken back or refused."""


@dataclass(frozen=True, slots=True)
class DeepSlept:
    """What a pass did; `log` has one line for each experience."""

    run_id: str
    processed: int
    created: int
    """Episodes that became deep ones."""
    merged: int
    fallbacks: int
    left: int
    """Experiences that still wait."""
    seconds: float
    was_interrupted: bool
    log: tuple[str, ...]
    question: str = ""
    """What it asks before it does more; empty when it asks nothing."""


@dataclass(slots=True)
class _DeepPass:
    """A pass under way."""

    run_id: str
    stop: asyncio.Event | None
    with_held: bool
    allowance: float
    """So many episodes it may merge away or supersede."""
    foreign_allowance: float
    """So many by foreign text: beyond it that is left undone, and nobody is asked."""
    seen: list[str] = field(default_factory=list)
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
        names: SpeakerNames,
        settings: MemorySettings,
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
        """How many experiences wait for deep sleep (R-98, RA-25); with `with_held` also those that it takes up again
        only when the owner asks for it. It counts to `most` and no further: all of them takes long where many wait."""
        named = {"max_attempts": MAX_ATTEMPTS, "with_held": int(with_held), "most": -1 if most is None else most}
        rows = await self._store.database.rows("experiences.count_unprocessed", named)
        return int(rows[0]["unprocessed"])

    async def run(
        self,
        model: ChatModel,
        *,
        limit: int | None = None,
        trigger: str = "asked",
        progress: Callable[[int, int], None] | None = None,
        stop: asyncio.Event | None = None,
    ) -> DeepSlept:
        """Sleep on at most `limit` experiences, then let time do its work (decay, prune).

        Setting `stop` ends the pass at once, in the middle of an experience too. While an earlier pass waits for the
        owner's word nothing is done. Raises ModelError when the model cannot be used at all; what was done before stays
        done.
        """
        async with self._running:
            began = self._clock.monotonic()
            if (waiting := await open_question(self._store)) is not None:
                return await self._waits(waiting)
            may_take = allowance(self._store.live.graph, self._settings)
            this = _DeepPass(self._new_id(), stop, trigger not in _OF_ITSELF, may_take, may_take)
            await begin_run(self._store, this.run_id, "deep", trigger, self._clock.now())
            outcome = "failed"
            try:
                await may_hang(HangPlace.SLEEP)
                waits = await self.unprocessed_count(with_held=this.with_held)
                total = waits if limit is None else min(limit, waits)
                while (limit is None or len(this.seen) < limit) and not this.is_stopped:
                    if not await self._next(this, model):
                        break
                    if progress is not None:
                        progress(len(this.seen), total)
                if not this.is_stopped:
                    await Upkeep(self._store, self._settings, self._clock.now(), this.run_id, stop).run()
                outcome = "asks" if this.question else "interrupted" if this.is_stopped else "done"
            except asyncio.CancelledError:
                outcome = "interrupted"
                raise
            finally:
                await end_run(self._store, this.run_id, outcome, self._clock.now())
            return await self._result(this, self._clock.monotonic() - began)

    async def decay_and_prune(self, stop: asyncio.Event | None = None) -> ChangeSet:
        """What ends each pass, by itself, with a row of its own in the log: no model is needed for it, and none may be
        there, nothing new, or a pass may wait for the owner's word."""
        async with self._running:
            run_id = self._new_id()
            await begin_run(self._store, run_id, "deep", TIME_PASSED, self._clock.now())
            outcome = "interrupted"
            try:
                done = await Upkeep(self._store, self._settings, self._clock.now(), run_id, stop).run()
                outcome = "interrupted" if stop is not None and stop.is_set() else "done"
            finally:
                await end_run(self._store, run_id, outcome, self._clock.now())
            return done

    async def apply_asked(self, question: Question) -> str:
        """Do what a pass asked about, on the owner's word; a line about it. No model call."""
        async with self._running:
            # It may do this much; what the pass has not looked at yet waits for the next one, which counts anew.
            # What foreign text would do is no part of what was asked.
            this = _DeepPass(question.run_id, None, with_held=True, allowance=float("inf"), foreign_allowance=0.0)
            await self._keep_understood(this, question.understood, question.run_id)
            await end_run(self._store, question.run_id, "done", self._clock.now())
            return this.log[0] if this.log else "Nothing was left of it to do."

    async def _next(self, this: _DeepPass, model: ChatModel) -> bool:
        """Work on the most salient experience that waits; False when none does, or the pass has to end over it."""
        experience, turns = await self._store.next_to_process(MAX_ATTEMPTS, this.seen, with_held=this.with_held)
        if experience is None:
            return False
        this.seen.append(experience.id)
        try:
            understood = await unless_stopped(this.stop, self._understand(model, experience, turns))
        except ModelAnswerError as error:
            await self._fall_back(this, experience, str(error))
            return True
        if understood is None:
            this.seen.pop()
            return False
        await self._keep_understood(this, understood)
        return not this.question

    async def _understand(
        self, model: ChatModel, experience: Experience, turns: tuple[Turn, ...]
    ) -> InterpretedExperience:
        asker = Asker(self._names.owner, self._names.mind, self._store.live.self_model)
        home = await home_of(self._store.database, self._store.live, experience.id)
        earlier = possible_causes(self._store.live.graph, home) if home is not None else ()
        return await understand(model, asker, experience, turns, earlier, self._settings, self._answers)

    async def _keep_understood(self, this: _DeepPass, understood: InterpretedExperience, asked_in: str = "") -> None:
        """Everything that follows from one experience, in one transaction (R-107). `asked_in` is the pass that asked
        the owner about it first."""
        # Held from the vector to the commit: it is of the model that is in use when it is written.
        async with self._store.space:
            summary_vector = (await self._store.embed_or_none([understood.abstraction.summary]))[0]
            reached(Step.DEEP_SLEEP_UNDERSTOOD)
            await self._commit(this, understood, summary_vector, asked_in)
            reached(Step.DEEP_SLEEP_STORED)

    async def _commit(
        self, this: _DeepPass, understood: InterpretedExperience, summary_vector: Vector, asked_in: str
    ) -> None:
        decision: ExperienceDecision | None = None

        async def work(transaction: Transaction) -> ChangeSet:
            nonlocal decision
            if asked_in:
                await transaction.run("undo.drop_pending", {"run_id": asked_in})
            home = await home_of(transaction, self._store.live, understood.experience.id)
            if home is None:
                return ChangeSet()
            now = self._clock.now()
            foreign_left = this.foreign_allowance - this.foreign_spent
            made = decide(
                self._store.live, home, understood, summary_vector, self._settings, now, foreign_left=foreign_left
            )
            if this.spent + made.cost > this.allowance:
                this.question = merge_question_text(made, this.spent, self._store.live.graph)
                await note_question(transaction, Question(this.run_id, this.question, understood), now)
                return ChangeSet()
            decision = made
            await self._record(transaction, this.run_id, understood.experience.id, made, now)
            return made.changes

        await self._store.commit(work)
        if decision is not None:
            this.processed += 1
            this.created += decision.is_new
            this.merged += decision.is_merge
            this.spent += decision.cost
            this.foreign_spent += decision.foreign_cost
            this.log.append(decision.line)

    async def _record(
        self, transaction: Transaction, run_id: str, experience_id: str, made: ExperienceDecision, now: float
    ) -> None:
        counts = {"processed": 1, "created": int(made.is_new), "merged": int(made.is_merge)}
        await record_change(transaction, self._store, run_id, experience_id, made.changes, made.line, counts)
        await record_self_change(transaction, run_id, made.changes.self_model, now)
        await transaction.run("undo.release", {"experience_id": experience_id})

    async def _fall_back(self, this: _DeepPass, experience: Experience, reason: str) -> None:
        """No usable answer (R-106): the experience stays unprocessed, its extract serves and is trusted less."""
        line = f"No usable answer about \u201c{one_line(experience.content, 60)}\u201d; its own words stay. {reason}"

        async def work(transaction: Transaction) -> ChangeSet:
            home = await home_of(transaction, self._store.live, experience.id)
            changes = fallen_back(home) if home is not None else ChangeSet()
            counts = {"fallbacks": 1}
            await record_change(transaction, self._store, this.run_id, experience.id, changes, line, counts)
            await transaction.run("experiences.count_attempt", {"id": experience.id})
            return changes

        await self._store.commit(work)
        this.fallbacks += 1
        this.log.append(line)

    async def _waits(self, question: Question) -> DeepSlept:
        left = await self.unprocessed_count(with_held=True)
        return DeepSlept(question.run_id, 0, 0, 0, 0, left, 0.0, False, (), question.text)

    async def _result(self, this: _DeepPass, seconds: float) -> DeepSlept:
        return DeepSlept(
            run_id=this.run_id,
            processed=this.processed,
            created=this.created,
            merged=this.merged,
            fallbacks=this.fallbacks,
            left=await self.unprocessed_count(with_held=this.with_held),
            seconds=seconds,
            was_interrupted=this.is_stopped,
            log=tuple(this.log),
            question=this.question,
        )
