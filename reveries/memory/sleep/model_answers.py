"""Interprets what sleep reads with a model, checks the answer, and decides the resulting changes; used by passes and
dry runs alike. Interpreting calls a model; deciding is pure."""

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from reveries.config import MemorySettings
from reveries.errors import BudgetExceededError, ModelAnswerError, ModelUnavailableError
from reveries.gates import Gate, inherits_taint
from reveries.index.terms import terms_of, words_of
from reveries.llm.base import ChatModel, Vector, Vectors
from reveries.llm.structured import AnswerRecorder, ask_structured
from reveries.memory.changes import ChangeSet, Retirement, SelfModelChange, join_changes
from reveries.memory.claims import UPDATE, Claim, Conflict, normalize_key
from reveries.memory.graph.claim_index import ClaimIndex
from reveries.memory.graph.memory_graph import MemoryGraph
from reveries.memory.model import Episode, Experience, Origin, SelfModel, Turn
from reveries.memory.self_model import format_day
from reveries.memory.sleep.claims.extraction import ClaimMatch, claim_of, cut_value, read_sentence, says_change
from reveries.memory.sleep.claims.verification import hold_untrusted_updates, judge_claims
from reveries.memory.sleep.conversation_answer import ConversationAnswer, check_conversation
from reveries.memory.sleep.conversation_question import conversation_question
from reveries.memory.sleep.deep_changes import DeepenedExperience, deepen_episode
from reveries.memory.sleep.linking import causal_link, possible_causes
from reveries.memory.sleep.questions import (
    Abstraction,
    Asker,
    DeepAnswer,
    FactAnswer,
    SelfAnswer,
    WaitingNote,
    check_deep_answer,
    check_self_answer,
    deep_question,
    self_question,
    tidy_line,
)
from reveries.memory.sleep.reading import ExperiencePart, Reading, room_for
from reveries.memory.sleep.self_model_changes import (
    SelfUpdate,
    Trait,
    TraitAnswer,
    change_self_model,
    check_trait,
    choose_field,
    trait_question,
    trusted_words,
    update_from_answer,
)
from reveries.memory.text.segments import unit_mean
from reveries.safe_text import one_line

_MOST_EARLIER = 5
_FIRST_PERSON = frozenset({"i", "i'm", "i've", "my", "me", "we", "our"})


def claims_from_facts(facts: Iterable[FactAnswer], turns: Sequence[Turn]) -> list[Claim]:
    """Return those of `facts` that a person states in `turns` as claims, except what the patterns find anyway."""
    claims: list[Claim] = []
    for place, fact in enumerate(facts):
        turn = _find_source(fact.quote.strip(), turns)
        if turn is None:
            continue
        sentence, value = fact.quote.strip(), cut_value(tidy_line(fact.value, 60))
        is_found_by_pattern = any(read_sentence(sentence, turn.speaker))
        if not says_change(sentence) or is_found_by_pattern or not _contains_terms(sentence, value):
            continue
        subject = _resolve_subject(fact.about, sentence, turn.speaker)
        relation = normalize_key(fact.what)
        if subject and relation:
            match = ClaimMatch(subject, relation, value, is_change=True)
            claims.append(claim_of(turn, place, sentence, match, "model"))
    return claims


def _find_source(quote: str, turns: Sequence[Turn]) -> Turn | None:
    by_people = [turn for turn in turns if turn.origin not in (Origin.SELF, Origin.SYSTEM)]
    return next((turn for turn in by_people if quote and quote in turn.own_text), None)


def _contains_terms(sentence: str, value: str) -> bool:
    terms = set(terms_of(value))
    return bool(terms) and terms <= set(terms_of(sentence))


def _resolve_subject(about: str, sentence: str, speaker: str) -> str:
    """Return the subject of a fact: something named in the sentence, or the speaker if it says "I"; empty if
    neither."""
    named = set(terms_of(about))
    if named and named <= set(terms_of(sentence)):
        return tidy_line(about, 40)
    return speaker if _FIRST_PERSON & set(words_of(sentence)) else ""


_T = TypeVar("_T")
_UNTRUSTED_CONTEXT = "The owner said it. Untrusted text next to it was ignored."


@dataclass(frozen=True, slots=True)
class InterpretedPart:
    """The checked answers of the model about what it read together: one experience, or those of one episode."""

    experiences: tuple[Experience, ...]
    turns: tuple[Turn, ...]
    abstraction: Abstraction
    about_self: SelfUpdate | None = None
    read_with: tuple[str, ...] = ()
    """Ids of the other experiences that the model read with it. If one of them is withdrawn, the answer is not used."""

    @property
    def claims(self) -> list[Claim]:
        """The claims that the model found and that are in the turns."""
        return claims_from_facts(self.abstraction.facts, self.turns)


@dataclass(frozen=True, slots=True)
class ExperienceDecision:
    """The changes from one interpreted experience, and a line about it for the owner."""

    changes: ChangeSet
    episode_id: str
    line: str
    is_new: bool
    """A light episode became a deep one."""
    is_merge: bool
    is_foreign: bool
    """The episode is tainted, and so is what it was merged with."""

    @property
    def cost(self) -> int:
        """The number of episodes merged away and claims superseded without influence of untrusted text."""
        return len(self.own_merges) + len(self.own_updates)

    @property
    def foreign_cost(self) -> int:
        """The same number because of untrusted text, counted separately so that it cannot use up the allowance of the
        owner's words."""
        merged = len(self.changes.retired) if self.is_foreign else 0
        return merged + sum(
            conflict.kind == UPDATE and conflict.is_later_untrusted for conflict in self.changes.conflicts
        )

    @property
    def own_merges(self) -> tuple[Retirement, ...]:
        return () if self.is_foreign else self.changes.retired

    @property
    def own_updates(self) -> tuple[Conflict, ...]:
        return tuple(
            conflict for conflict in self.changes.conflicts if conflict.kind == UPDATE and conflict.is_earlier_trusted
        )


class DecisionContext(Protocol):
    """The memory that a decision is based on: the live memory, or a dry run's copy of it."""

    @property
    def graph(self) -> MemoryGraph: ...

    @property
    def self_model(self) -> SelfModel: ...

    @property
    def claims(self) -> ClaimIndex: ...

    def turn_vectors_of(self, episode_id: str) -> Vectors:
        """Return the vectors of an episode's turns, one row per turn."""


@dataclass(frozen=True, slots=True)
class Interpretation:
    """The checked answers about a reading: the parts that have one, those that have none, and what all of it together
    changes in the self-model."""

    parts: tuple[InterpretedPart, ...]
    missing: tuple[ExperiencePart, ...] = ()
    about_self: SelfUpdate | None = None
    evidence: tuple[str, ...] = ()
    """Ids of the episodes behind `about_self`."""
    read_ids: tuple[str, ...] = ()
    """Ids of the experiences that the model read."""
    answered_notes: tuple[WaitingNote, ...] = ()
    unimportant: SelfUpdate | None = None
    """What would have been learned about the self, had any of it been more important."""

    @property
    def self_lines(self) -> tuple[str, ...]:
        """Lines for the log: notes that are not delivered any more, and what was not taken into the self-model."""
        lines = [f"A note to you is answered and will not be shown: {note.text}" for note in self.answered_notes]
        if self.unimportant is not None and (texts := self.unimportant.new_statements):
            lines.append(f"Not important enough for the self-model: {'; '.join(texts)}")
        return tuple(lines)


async def interpret_reading(
    model: ChatModel,
    asker: Asker,
    reading: Reading,
    graph: MemoryGraph,
    settings: MemorySettings,
    answers: AnswerRecorder | None,
) -> Interpretation:
    """Ask what `reading` means, which earlier episodes of `graph` led to it (RA-19), and, if it is salient enough, what
    it says about the self (R-86). Raises ModelError."""
    if reading.is_whole:
        return await _interpret_conversation(model, asker, reading, graph, settings, answers)
    (part,) = reading.parts
    return Interpretation((await _interpret_alone(model, asker, part, graph, settings, answers),))


async def _interpret_conversation(
    model: ChatModel,
    asker: Asker,
    reading: Reading,
    graph: MemoryGraph,
    settings: MemorySettings,
    answers: AnswerRecorder | None,
) -> Interpretation:
    earlier = _earlier_episodes(reading, graph)
    question = conversation_question(asker, reading, earlier, room_for(model.context_tokens))
    answer = await ask_structured(model, question, ConversationAnswer, question.schema, recorder=answers)
    checked = check_conversation(answer, reading, earlier, asker)
    saliences = [abstraction.salience for _, abstraction in checked.parts]
    # The words beside untrusted text get no answer here: their own estimate counts.
    saliences += [experience.salience for part in reading.beside for experience in part.experiences]
    is_salient = max(saliences, default=0.0) > settings.self_model_salience
    about_self = checked.about_self
    may_learn = is_salient or (about_self is not None and about_self.corrects_known)
    every_part = (*reading.parts, *reading.beside)
    names = tuple(sorted({experience.id for part in every_part for experience in part.experiences}))
    return Interpretation(
        parts=tuple(
            InterpretedPart(part.experiences, part.turns, abstraction, read_with=names)
            for part, abstraction in checked.parts
        ),
        missing=checked.missing,
        about_self=about_self if may_learn else None,
        unimportant=None if may_learn else about_self,
        answered_notes=checked.answered_notes,
        evidence=tuple(dict.fromkeys(part.home.id for part in every_part)),
        read_ids=names,
    )


def _earlier_episodes(reading: Reading, graph: MemoryGraph) -> tuple[Episode, ...]:
    """Return earlier episodes that may have led to what is read; tainted ones only with untrusted text."""
    own = {part.home.id for part in (*reading.parts, *reading.beside)}
    causes = [cause for part in reading.parts for cause in possible_causes(graph, part.home) if cause.id not in own]
    trusted = [cause for cause in causes if reading.is_foreign or not cause.tainted]
    return tuple({cause.id: cause for cause in trusted}.values())[:_MOST_EARLIER]


async def _interpret_alone(
    model: ChatModel,
    asker: Asker,
    part: ExperiencePart,
    graph: MemoryGraph,
    settings: MemorySettings,
    answers: AnswerRecorder | None,
) -> InterpretedPart:
    (experience,), turns = part.experiences, part.turns
    earlier = possible_causes(graph, part.home)
    question = deep_question(asker, turns, earlier)
    answer = await ask_structured(model, question, DeepAnswer, question.schema, recorder=answers)
    abstraction = check_deep_answer(answer, turns, earlier, asker)
    words = trusted_words(experience, turns)
    if not words or abstraction.salience <= settings.self_model_salience:
        return InterpretedPart((experience,), turns, abstraction)
    question = self_question(asker, words, experience.happened_at)
    try:
        about_self = await ask_structured(model, question, SelfAnswer, question.schema, recorder=answers)
        trait = await _find_trait(model, asker, experience, words, answers)
    except ModelAnswerError:
        # The abstraction is worth keeping without the answer about the self.
        return InterpretedPart((experience,), turns, abstraction)
    checked = check_self_answer(about_self, words, asker, experience.happened_at)
    # The answer about the self is based on trusted words only; the abstraction is based on all words.
    is_foreign = inherits_taint(Gate.SELF_PATTERNS, abstraction.is_foreign)
    patterns = () if is_foreign else abstraction.patterns
    return InterpretedPart(
        (experience,), turns, abstraction, update_from_answer(checked, patterns, trait, experience.happened_at)
    )


async def _find_trait(
    model: ChatModel, asker: Asker, experience: Experience, words: str, answers: AnswerRecorder | None
) -> Trait | None:
    """Ask for a trait of the mind that `words` show (R-84, R-85), with the sentence that shows it."""
    field = choose_field(experience.id)
    question = trait_question(asker, field, words)
    try:
        answer = await ask_structured(model, question, TraitAnswer, question.schema, recorder=answers)
    except (ModelAnswerError, ModelUnavailableError, BudgetExceededError):
        return None  # The other answers are worth keeping without a trait.
    return check_trait(asker, field, answer, words)


async def run_unless_stopped(stop: asyncio.Event | None, work: Coroutine[None, None, _T]) -> _T | None:
    """Return the result of `work`; None if `stop` was set first, in which case `work` was cancelled."""
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


def decide_changes(
    around: DecisionContext,
    home: Episode,
    understood: InterpretedPart,
    summary_vector: Vector,
    settings: MemorySettings,
    now: float,
    *,
    foreign_left: float = float("inf"),
) -> ExperienceDecision:
    """Decide how `home`, the episode that holds the experience, changes: steps 3 to 7 of R-103. Pure.

    If untrusted text would merge away or supersede more than `foreign_left`, it does neither: its episode stays
    separate, and its claims are kept next to the others. The owner is not asked about that.
    """
    decision = _decide_with_policy(around, home, understood, summary_vector, settings, now, may_foreign=True)
    if decision.foreign_cost <= foreign_left:
        return decision
    return _decide_with_policy(around, home, understood, summary_vector, settings, now, may_foreign=False)


def _decide_with_policy(
    around: DecisionContext,
    home: Episode,
    understood: InterpretedPart,
    summary_vector: Vector,
    settings: MemorySettings,
    now: float,
    *,
    may_foreign: bool,
) -> ExperienceDecision:
    vector = unit_mean(np.vstack([_turn_mean(around, home), summary_vector]))
    may_merge = may_foreign or not home.tainted
    result = deepen_episode(
        around.graph, home, understood.experiences, understood.abstraction, vector, settings, may_merge=may_merge
    )
    self_change = _self_change(around.self_model, understood, result.episode_id, now)
    provisional = () if summary_vector.any() else (result.episode_id,)
    judged = judge_claims(understood.claims, around.claims, now)
    judged = judged if may_foreign else hold_untrusted_updates(judged)
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
        line=_summarise_decision(understood, result, self_change),
        is_new=home.depth == "light" and not result.merged_id,
        is_merge=bool(result.merged_id),
        is_foreign=home.tainted,
    )


def _turn_mean(around: DecisionContext, home: Episode) -> Vector:
    """Return the mean of the turns' vectors, or the episode's own vector if its turns have left the live index."""
    vectors = around.turn_vectors_of(home.id)
    return unit_mean(vectors) if len(vectors) else around.graph.vector_of(home.id)


def _self_change(before: SelfModel, understood: InterpretedPart, episode_id: str, now: float) -> SelfModelChange | None:
    if understood.about_self is None:
        return None
    abstraction = understood.abstraction
    is_foreign = inherits_taint(Gate.SELF_PATTERNS, abstraction.is_foreign)
    reason = _UNTRUSTED_CONTEXT if is_foreign else abstraction.reasoning or abstraction.summary
    return change_self_model(before, understood.about_self, (episode_id,), now, reason)


def decide_self_change(before: SelfModel, interpretation: Interpretation, now: float) -> SelfModelChange | None:
    """Decide how a whole conversation changes the self-model; None if it does not. Pure."""
    update = interpretation.about_self
    if update is None:
        return None
    reason = f"What was said until {format_day(update.said_at)}, read as a whole."
    return change_self_model(before, update, interpretation.evidence, now, reason)


def _summarise_decision(understood: InterpretedPart, result: DeepenedExperience, change: SelfModelChange | None) -> str:
    """Return a line for the owner about what became of one experience."""
    abstraction, quotes = understood.abstraction, len(understood.abstraction.exemplars)
    parts = [
        f"{abstraction.salience:.2f}  {one_line(abstraction.summary, 160)}",
        f"{quotes} quote{'' if quotes == 1 else 's'} kept",
    ]
    if result.merged_id:
        parts.append(f"merged {result.merged_id} into {result.episode_id}")
    if change is not None:
        parts.append("the self-model changed")
    return " \u00b7 ".join(parts)
