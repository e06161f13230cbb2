"""What the mind values, tends to, does well, cannot do and expects (R-82, R-84, R-85). Pure.

Each important experience is looked at for one of these, so that a small model is asked for one sentence; that counts
only with a sentence of the text that shows it."""

import hashlib
from typing import Final

import msgspec

from reveries.index.terms import terms_of
from reveries.llm.base import ChatMessage, Prompt, Role
from reveries.memory.model import SelfModel
from reveries.memory.sleep.grounding import is_grounded
from reveries.memory.sleep.questions import Asker, fence_text, tidy_line
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
    """What the model said: a sentence of the text, and what it shows."""

    quote: str = NO_QUOTE
    statement: str = ""


class Trait(msgspec.Struct, frozen=True):
    """A statement for one field of the self-model, and the sentence that shows it, word for word."""

    field: str
    statement: str
    quote: str


def field_asked_about(experience_id: str) -> str:
    """Which field an experience is looked at for: another from one to the next, the same for the same one."""
    digest = hashlib.blake2b(experience_id.encode(), digest_size=8).digest()
    return tuple(_WHAT)[int.from_bytes(digest) % len(_WHAT)]


def trait_question(asker: Asker, field: str, words: str) -> Prompt:
    """Whether `words`, which are trusted, show something for that field."""
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
                "quote": {"type": "string", "enum": [NO_QUOTE, *_quotable(words)]},
                "statement": {"type": "string", "maxLength": _STATEMENT_CHARS},
            },
            "required": ["quote", "statement"],
            "additionalProperties": False,
        },
    )


def checked_trait(asker: Asker, field: str, answer: TraitAnswer, words: str) -> Trait | None:
    """`answer`, if its quote stands in `words`, what it states has a telling word of the quote in it, and no name or
    number that `words` have not."""
    quote, statement = answer.quote.strip(), tidy_line(answer.statement, _STATEMENT_CHARS)
    if quote not in _quotable(words) or not set(terms_of(statement)) & set(terms_of(quote)):
        return None
    if not is_grounded(statement, f"{words} {asker.mind} {asker.owner}"):
        return None
    return Trait(field, statement, quote)


def _quotable(words: str) -> list[str]:
    return list(dict.fromkeys(one for one in sentences_of(words) if terms_of(one)))[:_MAX_QUOTES]


def _statements(model: SelfModel, field: str) -> tuple[str, ...]:
    found: tuple[str, ...] = getattr(model, field)
    return found
