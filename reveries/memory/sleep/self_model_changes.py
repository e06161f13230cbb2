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
from reveries.memory.model import Experience, Origin, Pattern, SelfModel, Turn
from reveries.memory.self_model import limit_statements
from reveries.memory.sleep.grounding import is_grounded
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


def choose_field(experience_id: str) -> str:
    """Return the field that an experience is checked for, derived from a hash of its id."""
    digest = hashlib.blake2b(experience_id.encode(), digest_size=8).digest()
    return tuple(_WHAT)[int.from_bytes(digest) % len(_WHAT)]


def trait_question(asker: Asker, field: str, words: str) -> Prompt:
    """Build the question of whether `words`, which are trusted, show something for that field."""
    known = "\n".join(f"- {text}" for text in _statements(asker.model, field)[-_KNOWN_LINES:]) or "Nothing yet."
    what = _WHAT[field].replace("$mind", asker.mind)
    rules = prompt("self_trait", mind=asker.mind, owner=asker.owner, what=what, known=known)
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
    quote, statement = answer.quote.strip(), tidy_line(answer.statement, _STATEMENT_CHARS)
    if quote not in _sentences_to_quote(words) or not set(terms_of(statement)) & set(terms_of(quote)):
        return None
    if not is_grounded(statement, f"{words} {asker.mind} {asker.owner}"):
        return None
    return Trait(field, statement, quote)


def _sentences_to_quote(words: str) -> list[str]:
    return list(dict.fromkeys(one for one in sentences_of(words) if terms_of(one)))[:_MAX_QUOTES]


def _statements(model: SelfModel, field: str) -> tuple[str, ...]:
    statements: tuple[str, ...] = getattr(model, field)
    return statements


_MAX_FACTS = 40
_MAX_THREADS = 8
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
    before: SelfModel,
    answer: SelfAnswer,
    patterns: Iterable[str],
    episode_id: str,
    now: float,
    reason: str,
    trait: Trait | None = None,
) -> SelfModelChange | None:
    """Apply `answer`, an abstraction's `patterns` (R-170) and a `trait` to the self-model; None if nothing is new. The
    quote that shows the trait is added to the reason."""
    pinned, refused = before.pinned, before.refused
    after = replace(
        before,
        narrative=_updated_text(before, "narrative", answer.narrative, 300),
        communication_style=_updated_text(before, "communication_style", answer.communication_style, 160),
        current_focus=_updated_text(before, "current_focus", answer.current_focus, 100),
        owner_facts=add_statements(before.owner_facts, answer.owner_facts, _MAX_FACTS, pinned, refused),
        unresolved_threads=add_statements(
            before.unresolved_threads, answer.unresolved_threads, _MAX_THREADS, pinned, refused
        ),
        patterns=add_patterns(before.patterns, patterns, episode_id, pinned, refused),
    )
    if trait is not None:
        known: tuple[str, ...] = getattr(before, trait.field)
        learned = add_statements(known, [trait.statement], _MAX_TRAITS, pinned, refused)
        if learned != known:
            after = replace(after, **{trait.field: learned})  # type: ignore[arg-type]  # One of the lists.
            reason = f"{reason} \u201c{trait.quote}\u201d".strip()
    if after == before:
        return None
    return SelfModelChange(before, replace(after, updated_at=now), reason, (episode_id,))


def _updated_text(before: SelfModel, field: str, answer: str, limit: int) -> str:
    """Return a text field updated with `answer`; a field that the owner wrote stays unchanged."""
    old = str(getattr(before, field))
    return old if field in before.pinned_fields else tidy_line(answer, limit) or old


def add_statements(
    old: tuple[str, ...],
    new: Iterable[str],
    limit: int,
    pinned: Container[str] = (),
    refused: Iterable[str] = (),
) -> tuple[str, ...]:
    """Return `old` with the statements of `new` that do not repeat one in the same words and were not refused. If there
    are too many, the oldest that are not pinned are dropped."""
    known = {frozenset(terms_of(text)) for text in (*old, *refused)}
    statements = list(old)
    for text in (tidy_line(text, 160) for text in new):
        terms = frozenset(terms_of(text))
        if terms and terms not in known:
            known.add(terms)
            statements.append(text)
    return limit_statements(tuple(statements), pinned, limit)


def add_patterns(
    old: tuple[Pattern, ...],
    new: Iterable[str],
    episode_id: str,
    pinned: Container[str] = (),
    refused: Iterable[str] = (),
) -> tuple[Pattern, ...]:
    """Return `old` with `new` patterns; a pattern that is seen again gains confidence and the episode (R-83)."""
    patterns = {frozenset(terms_of(pattern.description)): pattern for pattern in old}
    refused_terms = {frozenset(terms_of(text)) for text in refused}
    for description in new:
        terms = frozenset(terms_of(description))
        known = patterns.get(terms)
        if known is None and terms not in refused_terms:
            patterns[terms] = Pattern(description, _FIRST_CONFIDENCE, (episode_id,))
        elif known is not None and episode_id not in known.episode_ids:
            confidence = min(1.0, known.confidence + _CONFIDENCE_STEP)
            patterns[terms] = replace(known, confidence=confidence, episode_ids=(*known.episode_ids, episode_id))
    patterns.pop(frozenset(), None)
    kept = limit_statements(tuple(one.description for one in patterns.values()), pinned, _MAX_PATTERNS)
    return tuple(one for one in patterns.values() if one.description in kept)
