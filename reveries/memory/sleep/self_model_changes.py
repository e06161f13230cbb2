"""Changes of the self-model (R-82..R-87): slow, by addition, with the episodes as evidence. Pure.

Only what the owner or the mind itself said counts; nothing tainted enters it. Traits (what the mind values, tends to
do, does well, cannot do and expects: R-82, R-84, R-85) are asked for one at a time: each important experience is
checked for one of them, so that a small model writes one sentence. A trait counts only with a quote that shows it.
"""

import hashlib
from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from typing import Final

import msgspec

from reveries import gates
from reveries.index.terms import terms_of
from reveries.llm.base import ChatMessage, Prompt, Role
from reveries.memory.changes import SelfModelChange
from reveries.memory.echoes import fresh_text
from reveries.memory.model import DayUnit, Experience, Origin, Pattern, SelfModel, StatementDay, Turn
from reveries.memory.self_model import day_of, limit_statements, set_days, statement_key
from reveries.memory.sleep.grounding import drop_switched_tail, is_grounded
from reveries.memory.sleep.questions import Asker, SelfAnswer, fence_text, tidy_line
from reveries.memory.text.extracts import sentences_of
from reveries.prompts import prompt

_WHAT: Final = {
    "values": "something that matters to $mind",
    "tendencies": "something that $mind tends to do",
    "strengths": "something that $mind does well",
    "limitations": "something that $mind cannot do, or does badly",
    "anticipations": "something that is still to come and that $mind may expect",
}
TRAIT_FIELDS: Final = tuple(_WHAT)
NO_QUOTE: Final = "none"
_ANSWER_TOKENS = 120
_CALM = 0.2
_KNOWN_LINES = 8
_MAX_QUOTES = 24
_MAX_CONTENT_CHARS = 6000
_STATEMENT_CHARS = 120


class TraitAnswer(msgspec.Struct, frozen=True):
    """The model's answer: a sentence of the text, and the statement that it shows."""

    quote: str = NO_QUOTE
    statement: str = ""


class Trait(msgspec.Struct, frozen=True):
    """A statement for one field of the self-model, and the verbatim sentence that shows it."""

    field: str
    statement: str
    quote: str
    day: StatementDay | None = None


class NewFact(msgspec.Struct, frozen=True):
    """A fact about the owner, the day from which it holds, and the known facts that it replaces."""

    text: str
    at: float
    replaces: tuple[str, ...] = ()
    unit: DayUnit = DayUnit.DAY
    said_at: float = 0.0
    """0: when all of the update was said."""


class SelfUpdate(msgspec.Struct, frozen=True):
    """The checked changes of the self-model from words that were said at one time. Empty fields change nothing; what
    is known is named by its text."""

    said_at: float = 0.0
    narrative: str = ""
    communication_style: str = ""
    current_focus: str = ""
    facts: tuple[NewFact, ...] = ()
    ended: tuple[StatementDay, ...] = ()
    """Facts that are no longer true, and anticipations that came or will not come."""
    opened_threads: tuple[StatementDay, ...] = ()
    closed_threads: tuple[StatementDay, ...] = ()
    patterns: tuple[str, ...] = ()
    traits: tuple[Trait, ...] = ()

    @property
    def corrects_known(self) -> bool:
        """Whether something known is replaced, ends or is settled. Left out, it would stay as if it still held: a moved
        appointment is said in passing."""
        return bool(self.ended or self.closed_threads or any(fact.replaces for fact in self.facts))

    @property
    def new_statements(self) -> tuple[str, ...]:
        """The facts, open matters and traits that it would add."""
        facts = (fact.text for fact in self.facts)
        threads = (thread.text for thread in self.opened_threads)
        return (*facts, *threads, *(trait.statement for trait in self.traits))


def update_from_answer(answer: SelfAnswer, patterns: Iterable[str], trait: Trait | None, said_at: float) -> SelfUpdate:
    """Return the changes from the answers of a small model about one experience."""
    return SelfUpdate(
        said_at=said_at,
        narrative=answer.narrative,
        communication_style=answer.communication_style,
        current_focus=answer.current_focus,
        facts=tuple(NewFact(fact, said_at) for fact in answer.owner_facts),
        opened_threads=tuple(StatementDay(thread, said_at, said_at) for thread in answer.unresolved_threads),
        patterns=tuple(patterns),
        traits=(trait,) if trait is not None else (),
    )


def choose_field(experience_id: str) -> str:
    """Return the field that an experience is checked for, derived from a hash of its id."""
    digest = hashlib.blake2b(experience_id.encode(), digest_size=8).digest()
    return TRAIT_FIELDS[int.from_bytes(digest) % len(TRAIT_FIELDS)]


def trait_question(asker: Asker, field: str, words: str) -> Prompt:
    """Build the question of whether `words`, which are trusted, show something for that field."""
    known_lines = "\n".join(f"- {text}" for text in _statements(asker.model, field)[-_KNOWN_LINES:]) or "Nothing yet."
    what = _WHAT[field].replace("$mind", asker.mind)
    rules = prompt("self_trait", mind=asker.mind, owner=asker.owner, what=what, known=known_lines)
    return Prompt(
        role=Role.CONSOLIDATION,
        messages=(ChatMessage("system", rules), ChatMessage("user", fence_text(words[:_MAX_CONTENT_CHARS]))),
        max_tokens=_ANSWER_TOKENS,
        temperature=_CALM,
        schema={
            "type": "object",
            "properties": {
                "quote": {"type": "string", "enum": [NO_QUOTE, *_sentences_to_quote(words)]},
                "statement": {"type": "string", "maxLength": _STATEMENT_CHARS},
            },
            "required": ["quote", "statement"],
            "additionalProperties": False,
        },
    )


def check_trait(asker: Asker, field: str, answer: TraitAnswer, words: str) -> Trait | None:
    """Return `answer` as a trait if its quote is in `words`, and its statement shares a content word with the quote and
    has no name or number that is not in `words`; else None."""
    source = f"{words} {asker.mind} {asker.owner}"
    quote, statement = answer.quote.strip(), tidy_line(drop_switched_tail(answer.statement, source), _STATEMENT_CHARS)
    if quote not in _sentences_to_quote(words) or not set(terms_of(statement)) & set(terms_of(quote)):
        return None
    if not is_grounded(statement, source):
        return None
    return Trait(field, statement, quote)


def _sentences_to_quote(words: str) -> list[str]:
    return list(dict.fromkeys(sentence for sentence in sentences_of(words) if terms_of(sentence)))[:_MAX_QUOTES]


def _statements(model: SelfModel, field: str) -> tuple[str, ...]:
    statements: tuple[str, ...] = getattr(model, field)
    return statements


_MAX_FACTS = 40
_MAX_PAST_FACTS = 12
_MAX_THREADS = 12
"""Open and closed ones together."""
_STATEMENT_MAX_CHARS = 160
_TEXT_LIMITS: Final = {"narrative": 300, "communication_style": 160, "current_focus": 100}
_MAX_PATTERNS = 20
_MAX_TRAITS = 12
_FIRST_CONFIDENCE = 0.3
_CONFIDENCE_STEP = 0.15


def trusted_words(experience: Experience, turns: Sequence[Turn]) -> str:
    """Return the words of an experience that may change the self-model: the owner's own, or an untainted thought."""
    if not gates.is_enforced(gates.Gate.SELF_WORDS):
        return "\n".join(turn.text for turn in turns)
    own = [turn.text for turn in turns if turn.origin is Origin.OWNER and not turn.tainted]
    if own:
        return "\n".join(own)
    is_own_thought = experience.origin is Origin.SELF and not experience.tainted
    if not is_own_thought or experience.conversation_id:
        return ""
    return fresh_text(experience.content, experience.echoes)


def change_self_model(
    before: SelfModel, update: SelfUpdate, episode_ids: tuple[str, ...], now: float, reason: str
) -> SelfModelChange | None:
    """Apply `update`, which `episode_ids` are the evidence of, to the self-model; None if nothing is new. The quotes
    that show traits are added to the reason.

    Earlier words never overrule later ones: sleep may read an evening before its morning.
    """
    after = _update_threads(_update_facts(_update_texts(before, update), update), update)
    over = {end.text for end in update.ended if _may_end(before, end)}
    after = replace(after, anticipations=tuple(text for text in after.anticipations if text not in over))
    patterns = add_patterns(before.patterns, update.patterns, episode_ids, before.pinned, before.refused)
    after = replace(after, patterns=patterns)
    for trait in update.traits:
        statements = _statements(after, trait.field)
        learned = add_statements(statements, [trait.statement], _MAX_TRAITS, before.pinned, before.refused)
        if learned != statements:
            after = replace(after, **{trait.field: learned})  # type: ignore[arg-type]  # One of the lists.
            after = set_days(after, [trait.day or StatementDay(trait.statement, update.said_at, update.said_at)])
            reason = f"{reason} \u201c{trait.quote}\u201d".strip()
    if after == before:
        return None
    return SelfModelChange(before, replace(after, updated_at=now), reason, episode_ids)


def _update_texts(model: SelfModel, update: SelfUpdate) -> SelfModel:
    """Update the text fields, except those that the owner wrote or that later words have set."""
    for field, limit in _TEXT_LIMITS.items():
        old, new = str(getattr(model, field)), tidy_line(getattr(update, field), limit)
        if new and new != old and field not in model.pinned_fields and not _was_said_after(model, old, update.said_at):
            model = replace(model, **{field: new})  # type: ignore[arg-type]
            model = set_days(model, [StatementDay(new, update.said_at, update.said_at)])
    return model


def _update_facts(model: SelfModel, update: SelfUpdate) -> SelfModel:
    """Add the new facts, and move those that they replace, or that ended, to the past ones."""
    ends: list[StatementDay] = []
    facts, days = list(model.owner_facts), list[StatementDay]()
    for fact in update.facts:
        text, said_at = tidy_line(fact.text, _STATEMENT_MAX_CHARS), fact.said_at or update.said_at
        if not terms_of(text) or _repeats(text, model.refused) or _is_past(model, text, said_at):
            continue
        if text not in facts and not _repeats(text, (known for known in facts if known not in fact.replaces)):
            facts.append(text)
            days.append(StatementDay(text, fact.at, said_at, fact.unit))
        ends += [StatementDay(old, fact.at, said_at) for old in fact.replaces if old != text]
    ends += update.ended
    ended = [end for end in ends if end.text in facts and _may_end(model, end)]
    gone = {end.text for end in ended}
    facts = [text for text in facts if text not in gone]
    past = [text for text in model.past_facts if not _repeats(text, facts)] + list(gone)
    model = replace(model, owner_facts=tuple(facts), past_facts=tuple(past))
    model = set_days(model, [*days, *ended])
    return replace(
        model,
        owner_facts=limit_statements(_sort_by_day(model, model.owner_facts), model.pinned, _MAX_FACTS),
        past_facts=_sort_by_day(model, model.past_facts)[-_MAX_PAST_FACTS:],
    )


def _update_threads(model: SelfModel, update: SelfUpdate) -> SelfModel:
    """Open and close threads. Where there are too many, the oldest closed ones go first, then the oldest open ones."""
    closed = [end for end in update.closed_threads if end.text in model.unresolved_threads and _may_end(model, end)]
    gone = {end.text for end in closed}
    threads = [text for text in model.unresolved_threads if text not in gone]
    days = list[StatementDay](closed)
    for opened in update.opened_threads:
        text = tidy_line(opened.text, _STATEMENT_MAX_CHARS)
        is_settled = any(_repeats(text, [old]) and _was_said_after(model, old, opened.said_at)
                         for old in model.closed_threads)  # fmt: skip
        if terms_of(text) and not is_settled and not _repeats(text, (*threads, *gone, *model.refused)):
            threads.append(text)
            days.append(replace(opened, text=text))
    settled = [text for text in (*model.closed_threads, *gone) if not _repeats(text, threads)]
    model = replace(model, unresolved_threads=tuple(threads), closed_threads=tuple(settled))
    model = set_days(model, days)
    threads_kept = limit_statements(_sort_by_day(model, model.unresolved_threads), model.pinned, _MAX_THREADS)
    room = _MAX_THREADS - len(threads_kept)
    settled_kept = _sort_by_day(model, model.closed_threads)[-room:] if room else ()
    return replace(model, unresolved_threads=threads_kept, closed_threads=settled_kept)


def _may_end(model: SelfModel, end: StatementDay) -> bool:
    """Whether a statement may end: the owner did not write it, and no later words state it."""
    return end.text not in model.pinned and not _was_said_after(model, end.text, end.said_at)


def _is_past(model: SelfModel, text: str, said_at: float) -> bool:
    """Whether words later than `said_at` ended this fact."""
    return any(_repeats(text, [old]) and _was_said_after(model, old, said_at) for old in model.past_facts)


def _was_said_after(model: SelfModel, text: str, said_at: float) -> bool:
    day = day_of(model, text)
    return day is not None and day.said_at > said_at


def _repeats(text: str, others: Iterable[str]) -> bool:
    """Whether `text` says the same as one of the others, in the same words."""
    key = statement_key(text)
    return any(key == statement_key(other) for other in others)


def _sort_by_day(model: SelfModel, statements: Iterable[str]) -> tuple[str, ...]:
    """Return the statements in the order in which they were said, those without a day first."""
    said_at = {day.text: day.said_at for day in model.days}
    return tuple(sorted(statements, key=lambda text: said_at.get(text, 0.0)))


def add_statements(
    old: tuple[str, ...],
    new: Iterable[str],
    limit: int,
    pinned: Container[str] = (),
    refused: Iterable[str] = (),
) -> tuple[str, ...]:
    """Return `old` with the statements of `new` that do not repeat one in the same words and were not refused. If there
    are too many, the oldest that are not pinned are dropped."""
    known_keys = {statement_key(text) for text in (*old, *refused)}
    statements = list(old)
    for text in (tidy_line(text, 160) for text in new):
        key = statement_key(text)
        if key and key not in known_keys:
            known_keys.add(key)
            statements.append(text)
    return limit_statements(tuple(statements), pinned, limit)


def add_patterns(
    old: tuple[Pattern, ...],
    new: Iterable[str],
    episode_ids: tuple[str, ...],
    pinned: Container[str] = (),
    refused: Iterable[str] = (),
) -> tuple[Pattern, ...]:
    """Return `old` with `new` patterns; a pattern that is seen again gains confidence and the episodes (R-83)."""
    patterns = {statement_key(pattern.description): pattern for pattern in old}
    refused_keys = {statement_key(text) for text in refused}
    for description in new:
        key = statement_key(description)
        old_pattern = patterns.get(key)
        if old_pattern is None and key not in refused_keys:
            patterns[key] = Pattern(description, _FIRST_CONFIDENCE, episode_ids)
        elif old_pattern is not None and not set(episode_ids) <= set(old_pattern.episode_ids):
            confidence = min(1.0, old_pattern.confidence + _CONFIDENCE_STEP)
            united = tuple(dict.fromkeys((*old_pattern.episode_ids, *episode_ids)))
            patterns[key] = replace(old_pattern, confidence=confidence, episode_ids=united)
    patterns.pop(frozenset(), None)
    kept = limit_statements(tuple(pattern.description for pattern in patterns.values()), pinned, _MAX_PATTERNS)
    return tuple(pattern for pattern in patterns.values() if pattern.description in kept)
