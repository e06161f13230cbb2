"""What a model answers about one experience, checked, and the change set that follows from it: the same for a pass and
for a dry run. Asking takes a model; deciding is pure."""

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from reveries.config import MemorySettings
from reveries.errors import BudgetExceededError, ModelAnswerError, ModelUnavailableError
from reveries.gates import Gate, inherited
from reveries.index.terms import terms_of, words_of
from reveries.llm.base import ChatModel, Vector, Vectors
from reveries.llm.structured import AnswerRecorder, ask
from reveries.memory.changes import ChangeSet, Retirement, SelfModelChange, join_changes
from reveries.memory.claims import UPDATE, Claim, Conflict, key_of
from reveries.memory.graph.claim_index import ClaimIndex
from reveries.memory.graph.memory_graph import MemoryGraph
from reveries.memory.model import Episode, Experience, Origin, SelfModel, Turn
from reveries.memory.sleep.claims.extraction import ClaimMatch, claim_of, cut_value, read_sentence, says_change
from reveries.memory.sleep.claims.verification import judge_claims, without_foreign
from reveries.memory.sleep.deep_changes import DeepenedExperience, deepen_episode
from reveries.memory.sleep.linking import causal_link
from reveries.memory.sleep.questions import (
    Abstraction,
    Asker,
    DeepAnswer,
    FactAnswer,
    SelfAnswer,
    about_self_of,
    abstraction_of,
    deep_question,
    self_question,
    tidy_line,
)
from reveries.memory.sleep.self_model_changes import (
    Trait,
    TraitAnswer,
    change_self_model,
    checked_trait,
    field_asked_about,
    trait_question,
    trusted_words,
)
from reveries.memory.text.segments import unit_mean
from reveries.safe_text import one_line

_FIRST_PERSON = frozenset({"i", "i'm", "i've", "my", "me", "we", "our"})


def stated_claims(facts: Iterable[FactAnswer], turns: Sequence[Turn]) -> list[Claim]:
    """Those of `facts` that a person states in `turns`, as claims. What a pattern finds too is left to it."""
    found: list[Claim] = []
    for place, fact in enumerate(facts):
        turn = _source(fact.quote.strip(), turns)
        if turn is None:
            continue
        sentence, value = fact.quote.strip(), cut_value(tidy_line(fact.value, 60))
        if not says_change(sentence) or any(read_sentence(sentence, turn.speaker)) or not _stands_in(value, sentence):
            continue
        subject = _subject(fact.about, sentence, turn.speaker)
        relation = key_of(fact.what)
        if subject and relation:
            found.append(claim_of(turn, place, sentence, ClaimMatch(subject, relation, value, is_change=True), "model"))
    return found


def _source(quote: str, turns: Sequence[Turn]) -> Turn | None:
    said = [turn for turn in turns if turn.origin not in (Origin.SELF, Origin.SYSTEM)]
    return next((turn for turn in said if quote and quote in turn.fresh), None)


def _stands_in(value: str, sentence: str) -> bool:
    terms = set(terms_of(value))
    return bool(terms) and terms <= set(terms_of(sentence))


def _subject(about: str, sentence: str, speaker: str) -> str:
    """Who or what it is about: something that is named in the sentence, or the speaker who says "I"."""
    named = set(terms_of(about))
    if named and named <= set(terms_of(sentence)):
        return tidy_line(about, 40)
    return speaker if _FIRST_PERSON & set(words_of(sentence)) else ""


_T = TypeVar("_T")
_BESIDE_OTHERS = "The owner said it; others had a hand in what stood beside it, which counted for nothing."


@dataclass(frozen=True, slots=True)
class InterpretedExperience:
    """What the model said of one experience, checked."""

    experience: Experience
    turns: tuple[Turn, ...]
    abstraction: Abstraction
    self_answer: SelfAnswer | None
    trait: Trait | None = None

    @property
    def claims(self) -> list[Claim]:
        """What the model found to be claimed, as far as it stands there."""
        return stated_claims(self.abstraction.facts, self.turns)


@dataclass(frozen=True, slots=True)
class ExperienceDecision:
    """What one understood experience changes, and a line about it for the owner."""

    changes: ChangeSet
    episode_id: str
    line: str
    is_new: bool
    """An episode that light sleep made became a deep one."""
    is_merge: bool
    is_foreign: bool
    """The episode is tainted, and with it whatever it became one with."""

    @property
    def cost(self) -> int:
        """How many episodes it merges away, and how many claims it supersedes, that foreign text had no hand in."""
        return len(self.own_merges) + len(self.own_updates)

    @property
    def foreign_cost(self) -> int:
        """The same by foreign text, counted apart: it must not use up what is allowed to the owner's words."""
        merged = len(self.changes.retired) if self.is_foreign else 0
        return merged + sum(found.kind == UPDATE and found.is_foreign for found in self.changes.conflicts)

    @property
    def own_merges(self) -> tuple[Retirement, ...]:
        return () if self.is_foreign else self.changes.retired

    @property
    def own_updates(self) -> tuple[Conflict, ...]:
        return tuple(found for found in self.changes.conflicts if found.kind == UPDATE and found.is_own)


class DecisionContext(Protocol):
    """What is decided upon: the live memory, or a dry run's sketch of it."""

    @property
    def graph(self) -> MemoryGraph: ...

    @property
    def self_model(self) -> SelfModel: ...

    @property
    def claims(self) -> ClaimIndex: ...

    def turn_vectors_of(self, episode_id: str) -> Vectors:
        """The vectors of an episode's turns, one row a turn."""


async def understand(
    model: ChatModel,
    asker: Asker,
    experience: Experience,
    turns: Sequence[Turn],
    earlier: Sequence[Episode],
    settings: MemorySettings,
    answers: AnswerRecorder | None,
) -> InterpretedExperience:
    """Ask what `experience` means, which of the `earlier` episodes led to it (RA-19), and what it says of the self
    where it matters enough (R-86). Raises ModelError."""
    question = deep_question(asker, turns, earlier)
    answer = await ask(model, question, DeepAnswer, question.schema, recorder=answers)
    abstraction = abstraction_of(answer, turns, earlier, asker)
    words = trusted_words(experience, turns)
    if not words or abstraction.salience <= settings.self_model_salience:
        return InterpretedExperience(experience, tuple(turns), abstraction, None)
    question = self_question(asker, words)
    try:
        about_self = await ask(model, question, SelfAnswer, question.schema, recorder=answers)
        trait = await _find_trait(model, asker, experience, words, answers)
        return InterpretedExperience(
            experience, tuple(turns), abstraction, about_self_of(about_self, words, asker), trait
        )
    except ModelAnswerError:
        # The memory of what happened is worth keeping without what it says about the self.
        return InterpretedExperience(experience, tuple(turns), abstraction, None)


async def _find_trait(
    model: ChatModel, asker: Asker, experience: Experience, words: str, answers: AnswerRecorder | None
) -> Trait | None:
    """What `words` show of what the mind itself is like (R-84, R-85), with the sentence that shows it."""
    field = field_asked_about(experience.id)
    question = trait_question(asker, field, words)
    try:
        answer = await ask(model, question, TraitAnswer, question.schema, recorder=answers)
    except (ModelAnswerError, ModelUnavailableError, BudgetExceededError):
        return None  # What happened is worth keeping without it.
    return checked_trait(asker, field, answer, words)


async def unless_stopped(stop: asyncio.Event | None, work: Coroutine[None, None, _T]) -> _T | None:
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


def decide(
    around: DecisionContext,
    home: Episode,
    understood: InterpretedExperience,
    summary_vector: Vector,
    settings: MemorySettings,
    now: float,
    *,
    foreign_left: float = float("inf"),
) -> ExperienceDecision:
    """What becomes of `home`, the episode that the experience lives in: steps 3 to 7 of R-103. Pure.

    Where foreign text would merge away or supersede more than `foreign_left`, it does neither: its episode stays one of
    its own, and its claims stand beside the others. Nobody is asked about that.
    """
    made = _decide(around, home, understood, summary_vector, settings, now, may_foreign=True)
    if made.foreign_cost <= foreign_left:
        return made
    return _decide(around, home, understood, summary_vector, settings, now, may_foreign=False)


def _decide(
    around: DecisionContext,
    home: Episode,
    understood: InterpretedExperience,
    summary_vector: Vector,
    settings: MemorySettings,
    now: float,
    *,
    may_foreign: bool,
) -> ExperienceDecision:
    vector = unit_mean(np.vstack([_heart(around, home), summary_vector]))
    may_merge = may_foreign or not home.tainted
    result = deepen_episode(
        around.graph, home, understood.experience, understood.abstraction, vector, settings, may_merge=may_merge
    )
    self_change = _self_change(around.self_model, understood, result.episode_id, now)
    provisional = () if summary_vector.any() else (result.episode_id,)
    judged = judge_claims(understood.claims, around.claims, now)
    judged = judged if may_foreign else without_foreign(judged)
    more = ChangeSet(
        links=causal_link(around.graph, understood.abstraction.cause_id, result.episode_id),
        self_model=self_change,
        provisional_ids=provisional,
        claims=tuple(judged.claims),
        conflicts=tuple(judged.conflicts),
    )
    return ExperienceDecision(
        changes=join_changes([result.changes, more]),
        episode_id=result.episode_id,
        line=_line(understood, result, self_change),
        is_new=home.depth == "light" and not result.merged_id,
        is_merge=bool(result.merged_id),
        is_foreign=home.tainted,
    )


def _heart(around: DecisionContext, home: Episode) -> Vector:
    """The mean of what was said in it, or the episode's own vector when its words have left the live index."""
    vectors = around.turn_vectors_of(home.id)
    return unit_mean(vectors) if len(vectors) else around.graph.vector_of(home.id)


def _self_change(
    before: SelfModel, understood: InterpretedExperience, episode_id: str, now: float
) -> SelfModelChange | None:
    if understood.self_answer is None:
        return None
    made = understood.abstraction
    # The words that the answer about the self was made of are trusted; the abstraction was made of all of them.
    is_foreign = inherited(Gate.SELF_PATTERNS, made.is_foreign)
    patterns, reason = ((), _BESIDE_OTHERS) if is_foreign else (made.patterns, made.reasoning or made.summary)
    return change_self_model(before, understood.self_answer, patterns, episode_id, now, reason, understood.trait)


def _line(understood: InterpretedExperience, result: DeepenedExperience, change: SelfModelChange | None) -> str:
    """What was made of one experience, for the owner."""
    made = understood.abstraction
    parts = [f"{made.salience:.2f}  {one_line(made.summary, 160)}", f"{len(made.exemplars)} quotes kept"]
    if result.merged_id:
        parts.append(f"merged {result.merged_id} into {result.episode_id}")
    if change is not None:
        parts.append("the self-model changed")
    return " \u00b7 ".join(parts)
