"""Deep sleep: a model says what each experience means; what it says is checked before it is believed (R-103..R-108).

Most salient first, one call an experience, one transaction an experience. It can be interrupted at any moment: what is
in hand stays unprocessed, what is done is done, and the next pass goes on from there.
"""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from reveries.clock import Clock
from reveries.config import MemorySettings
from reveries.db.database import Transaction
from reveries.errors import ModelAnswerError
from reveries.llm.base import ChatModel, Vector
from reveries.llm.structured import AnswerRecorder, ask
from reveries.memory.changes import ChangeSet, SelfModelChange, join
from reveries.memory.conversations import Names
from reveries.memory.deepening import Deepened, deepened, fallen_back
from reveries.memory.live import LiveMemory
from reveries.memory.model import Episode, Experience, Turn
from reveries.memory.questions import (
    Abstraction,
    Asker,
    DeepAnswer,
    SelfAnswer,
    abstraction_of,
    deep_question,
    self_question,
)
from reveries.memory.runs import begin_run, end_run, record_change, record_self_change
from reveries.memory.segments import unit_mean
from reveries.memory.self_model import changed, trusted_words
from reveries.memory.store import MemoryStore
from reveries.memory.upkeep import decay_and_prune
from reveries.plaintext import one_line

MAX_ATTEMPTS = 3
"""An experience whose answers could not be used so often keeps its extract and is not asked about again."""

_T = TypeVar("_T")


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


@dataclass(slots=True)
class _Pass:
    """A pass under way."""

    run_id: str
    model: ChatModel
    stop: asyncio.Event | None
    seen: list[str] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    processed: int = 0
    created: int = 0
    merged: int = 0
    fallbacks: int = 0

    @property
    def is_stopped(self) -> bool:
        return self.stop is not None and self.stop.is_set()


@dataclass(frozen=True, slots=True)
class _Understood:
    """What the model said of one experience, checked."""

    experience: Experience
    turns: tuple[Turn, ...]
    abstraction: Abstraction
    self_answer: SelfAnswer | None


class DeepSleep:
    """One pass at a time (R-102): a second one waits for the first."""

    def __init__(
        self,
        store: MemoryStore,
        names: Names,
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

    async def unprocessed_count(self) -> int:
        """How many experiences wait for deep sleep (R-98, RA-25)."""
        rows = await self._store.database.rows("experiences.count_unprocessed", {"max_attempts": MAX_ATTEMPTS})
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

        Setting `stop` ends the pass at once, in the middle of an experience too. Raises ModelError when the model
        cannot be used at all; what was done before stays done.
        """
        async with self._running:
            began = self._clock.monotonic()
            this = _Pass(self._new_id(), model, stop)
            await begin_run(self._store, this.run_id, "deep", trigger, self._clock.now())
            outcome = "failed"
            try:
                total = min(limit, await self.unprocessed_count()) if limit else await self.unprocessed_count()
                while (limit is None or len(this.seen) < limit) and not this.is_stopped:
                    if not await self._next(this):
                        break
                    if progress is not None:
                        progress(len(this.seen), total)
                if not this.is_stopped:
                    await decay_and_prune(self._store, self._settings, self._clock.now())
                outcome = "interrupted" if this.is_stopped else "done"
            except asyncio.CancelledError:
                outcome = "interrupted"
                raise
            finally:
                await end_run(self._store, this.run_id, outcome, self._clock.now())
            return await self._result(this, self._clock.monotonic() - began)

    async def _next(self, this: _Pass) -> bool:
        """Work on the most salient experience that waits; False when none does, or the pass was stopped over it."""
        experience, turns = await self._store.next_to_process(MAX_ATTEMPTS, this.seen)
        if experience is None:
            return False
        this.seen.append(experience.id)
        try:
            understood = await _unless(this.stop, self._understand(this.model, experience, turns))
        except ModelAnswerError as error:
            await self._fall_back(this, experience, str(error))
            return True
        if understood is None:
            this.seen.pop()
            return False
        await self._keep(this, understood)
        return True

    async def _understand(self, model: ChatModel, experience: Experience, turns: tuple[Turn, ...]) -> _Understood:
        asker = Asker(self._names.owner, self._names.mind, self._store.live.self_model)
        question = deep_question(asker, turns)
        answer = await ask(model, question, DeepAnswer, question.schema, recorder=self._answers)
        abstraction = abstraction_of(answer, turns)
        words = trusted_words(experience, turns)
        if not words or abstraction.salience <= self._settings.self_model_salience:
            return _Understood(experience, turns, abstraction, None)
        question = self_question(asker, words)
        try:
            about_self = await ask(model, question, SelfAnswer, question.schema, recorder=self._answers)
            return _Understood(experience, turns, abstraction, about_self)
        except ModelAnswerError:
            # The memory of what happened is worth keeping without what it says about the self.
            return _Understood(experience, turns, abstraction, None)

    async def _keep(self, this: _Pass, understood: _Understood) -> None:
        """Everything that follows from one experience, in one transaction (R-107)."""
        # Held from the vector to the commit: it is of the model that is in use when it is written.
        async with self._store.space:
            summary_vector = (await self._store.embed_or_none([understood.abstraction.summary]))[0]
            await self._commit(this, understood, summary_vector)

    async def _commit(self, this: _Pass, understood: _Understood, summary_vector: Vector) -> None:
        experience = understood.experience
        was_merged = was_created = False
        line = ""

        async def work(transaction: Transaction) -> ChangeSet:
            nonlocal was_merged, was_created, line
            live = self._store.live
            home = live.home_of(experience.id)
            if home is None:
                return ChangeSet()
            vector = unit_mean(np.vstack([_heart(live, home), summary_vector]))
            result = deepened(live.graph, home, experience, understood.abstraction, vector, self._settings)
            self_change = self._self_change(understood, result.episode_id)
            provisional = () if summary_vector.any() else (result.episode_id,)
            changes = join([result.changes, ChangeSet(self_model=self_change, provisional_ids=provisional)])
            was_merged, was_created = bool(result.merged_id), home.depth == "light" and not result.merged_id
            line = _line(understood, result, self_change)
            counts = {"processed": 1, "created": int(was_created), "merged": int(was_merged)}
            await record_change(transaction, self._store, this.run_id, experience.id, changes, line, counts)
            await record_self_change(transaction, this.run_id, self_change, self._clock.now())
            return changes

        await self._store.commit(work)
        this.processed += 1
        this.created += was_created
        this.merged += was_merged
        this.log.append(line)

    async def _fall_back(self, this: _Pass, experience: Experience, reason: str) -> None:
        """No usable answer (R-106): the experience stays unprocessed, its extract serves and is trusted less."""
        line = f"No usable answer about \u201c{one_line(experience.content, 60)}\u201d; its own words stay. {reason}"

        async def work(transaction: Transaction) -> ChangeSet:
            home = self._store.live.home_of(experience.id)
            changes = fallen_back(home) if home is not None else ChangeSet()
            await transaction.run("experiences.count_attempt", {"id": experience.id})
            counts = {"fallbacks": 1}
            await record_change(transaction, self._store, this.run_id, experience.id, changes, line, counts)
            return changes

        await self._store.commit(work)
        this.fallbacks += 1
        this.log.append(line)

    def _self_change(self, understood: _Understood, episode_id: str) -> SelfModelChange | None:
        if understood.self_answer is None:
            return None
        return changed(
            self._store.live.self_model,
            understood.self_answer,
            understood.abstraction.patterns,
            episode_id,
            self._clock.now(),
            understood.abstraction.reasoning or understood.abstraction.summary,
        )

    async def _result(self, this: _Pass, seconds: float) -> DeepSlept:
        return DeepSlept(
            run_id=this.run_id,
            processed=this.processed,
            created=this.created,
            merged=this.merged,
            fallbacks=this.fallbacks,
            left=await self.unprocessed_count(),
            seconds=seconds,
            was_interrupted=this.is_stopped,
            log=tuple(this.log),
        )


def _heart(live: LiveMemory, home: Episode) -> Vector:
    """The mean of what was said in it, or the episode's own vector when its words have left the live index."""
    vectors = live.turn_vectors_of(home.id)
    return unit_mean(vectors) if len(vectors) else live.graph.vector_of(home.id)


def _line(understood: _Understood, result: Deepened, change: SelfModelChange | None) -> str:
    """What was made of one experience, for the owner."""
    made = understood.abstraction
    parts = [f"{made.salience:.2f}  {one_line(made.summary, 160)}", f"{len(made.exemplars)} quotes kept"]
    if result.merged_id:
        parts.append(f"merged {result.merged_id} into {result.episode_id}")
    if change is not None:
        parts.append("the self-model changed")
    return " \u00b7 ".join(parts)


async def _unless(stop: asyncio.Event | None, work: Coroutine[None, None, _T]) -> _T | None:
    """What `work` gives; None when `stop` was set first: then it has been cancelled."""
    if stop is None:
        return await work
    try:
        async with asyncio.TaskGroup() as group:
            working = group.create_task(work, name="deep_sleep.ask")
            stopping = group.create_task(stop.wait(), name="deep_sleep.stop")
            await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
            working.cancel()
            stopping.cancel()
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return None if working.cancelled() else working.result()
