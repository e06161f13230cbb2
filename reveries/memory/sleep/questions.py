"""What deep sleep asks a model, and the form of the answers. One call an experience: salience and abstraction together.

Quotes are an `enum` of the text's own sentences, so that a model that is held to the schema cannot misquote; whoever is
not held to it is checked (R-72). No worked example: small models copy it. Pure.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from reveries import gates
from reveries.index.terms import terms_of
from reveries.llm.base import ChatMessage, Prompt, Role
from reveries.memory.model import Episode, Exemplar, SelfModel, Turn
from reveries.memory.sleep.grounding import is_supported, keep_grounded
from reveries.memory.text.extracts import exemplar, sentences_of, summary_of
from reveries.prompts import prompt

_MAX_QUOTABLE = 24
_MAX_QUOTE_CHARS = 300
_MAX_CONTENT_CHARS = 6000
_ANSWER_TOKENS = 600
_EARLIER_CHARS = 160
NAMES, NO_CAUSE = ("A", "B", "C"), "none"
"""What the earlier episodes are called in the question, and the answer that it was none of them."""
_CALM = 0.2
_ANY_SPEAKER = re.compile(r"^\s*(?=[^\s:>][^:\n]{0,40}:)", re.MULTILINE)
_ROLES = ("User", "Human", "Me", "Assistant", "System", "Developer", "Tool")
"""What prompts and transcripts call those who speak, beside their names."""
_LETTER = re.compile(r"[^\W\d_]")


class QuoteAnswer(msgspec.Struct, frozen=True):
    quote: str
    significance: str = ""


class FactAnswer(msgspec.Struct, frozen=True):
    """Something that was said to be so now: whose what is which value, and the sentence that says it."""

    quote: str
    about: str = ""
    what: str = ""
    value: str = ""


class DeepAnswer(msgspec.Struct, frozen=True):
    """R-109 and R-110 in one. Fields in the order in which they are asked: what was said first, then how it weighs."""

    summary: str
    salience: float
    topics: list[str] = []
    exemplars: list[QuoteAnswer] = []
    patterns: list[str] = []
    led_by: str = ""
    """The letter of the episode that led to it, where some were shown."""
    facts: list[FactAnswer] = []
    reasoning: str = ""


class SelfAnswer(msgspec.Struct, frozen=True):
    """What the self-model question brings; empty fields change nothing."""

    owner_facts: list[str] = []
    communication_style: str = ""
    unresolved_threads: list[str] = []
    current_focus: str = ""
    narrative: str = ""


@dataclass(frozen=True, slots=True)
class Abstraction:
    """A deep answer that has been checked: in range, cut to size, every quote verbatim."""

    summary: str
    topics: tuple[str, ...]
    exemplars: tuple[Exemplar, ...]
    patterns: tuple[str, ...]
    salience: float
    confidence: float
    reasoning: str
    facts: tuple[FactAnswer, ...] = ()
    cause_id: str = ""
    """The episode that led to it, one of those shown."""
    is_foreign: bool = False
    """Others than the owner and the mind had a hand in something that stood before the model."""


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks about whom."""

    owner: str
    mind: str
    model: SelfModel


def deep_question(asker: Asker, turns: Sequence[Turn], earlier: Sequence[Episode] = ()) -> Prompt:
    """R-109 and R-110 about one experience, and which of the `earlier` episodes led to it. The rules come first and
    stay the same from call to call."""
    rules = prompt("deep_sleep", mind=asker.mind, owner=asker.owner, self_model=self_model_text(asker.model))
    material = fence_text(turns_text(turns, (asker.owner, asker.mind)))
    if earlier:
        before = [
            f"{name}: {tidy_line(one.summary, _EARLIER_CHARS)}" for name, one in zip(NAMES, earlier, strict=False)
        ]
        material = "Earlier:\n" + fence_text("\n".join(before)) + "\nWhat happened:\n" + material
    return Prompt(
        role=Role.CONSOLIDATION,
        messages=(ChatMessage("system", rules), ChatMessage("user", material)),
        max_tokens=_ANSWER_TOKENS,
        temperature=_CALM,
        schema=deep_schema(quotable(turns), len(earlier)),
    )


def self_question(asker: Asker, words: str) -> Prompt:
    """What an important experience changes in the self-model (R-86)."""
    rules = prompt("self_model", mind=asker.mind, owner=asker.owner, self_model=self_model_text(asker.model))
    return Prompt(
        role=Role.CONSOLIDATION,
        messages=(ChatMessage("system", rules), ChatMessage("user", fence_text(words[:_MAX_CONTENT_CHARS]))),
        max_tokens=_ANSWER_TOKENS,
        temperature=_CALM,
        schema=_SELF_SCHEMA,
    )


def quotable(turns: Sequence[Turn]) -> list[str]:
    """The sentences that may be quoted: those that say something, in order, not too long, no repeats."""
    found = [sentence for turn in turns for sentence in sentences_of(turn.fresh)]
    telling = [s for s in found if len(s) <= _MAX_QUOTE_CHARS and terms_of(s)]
    return list(dict.fromkeys(telling))[:_MAX_QUOTABLE]


def deep_schema(quotes: Sequence[str], earlier: int = 0) -> Mapping[str, object]:
    """The JSON schema of a deep answer whose quotes can only be `quotes`, and whose cause one of so many shown."""
    quote = {"type": "string", "enum": list(quotes)} if quotes else _string_schema(1)
    exemplar_schema = _object({"quote": quote, "significance": _string_schema(120)})
    fact_schema = _object(
        {"quote": quote, "about": _string_schema(40), "what": _string_schema(40), "value": _string_schema(60)}
    )
    return _object(
        {
            "summary": _string_schema(500),
            "topics": _strings(5, 40),
            "exemplars": {"type": "array", "items": exemplar_schema, "maxItems": 3 if quotes else 0},
            "patterns": _strings(2, 120),
            **({"led_by": {"type": "string", "enum": [NO_CAUSE, *NAMES[:earlier]]}} if earlier else {}),
            "facts": {"type": "array", "items": fact_schema, "maxItems": 2 if quotes else 0},
            "reasoning": _string_schema(300),
            "salience": {"type": "number", "minimum": 0, "maximum": 1},
        }
    )


def abstraction_of(
    answer: DeepAnswer, turns: Sequence[Turn], earlier: Sequence[Episode] = (), asker: Asker | None = None
) -> Abstraction:
    """`answer`, checked: salience clamped and rounded (R-113), quotes that are not verbatim dropped at the cost of
    confidence (R-72), and with them sentences whose names or numbers stand nowhere in what the model read. Where none
    is left, the text's own most telling sentences serve. `asker`: whose names and self-model it was shown."""
    sources = [*read_by(asker), *(f"{turn.speaker}: {turn.text}" for turn in turns), *(one.summary for one in earlier)]
    summary = tidy_line(keep_grounded(answer.summary, sources), 500) or summary_of(turns)
    kept = [found for quoted in answer.exemplars if (found := _verbatim(quoted, turns)) is not None]
    asked = len(answer.exemplars)
    confidence = 0.8 * (len(kept) / asked if asked else 0.5)
    salience = answer.salience if answer.salience == answer.salience else 0.0
    return Abstraction(
        summary=summary,
        topics=tuple(dict.fromkeys(t for topic in answer.topics if (t := tidy_line(topic, 40).casefold())))[:5],
        exemplars=tuple(kept),
        patterns=tuple(p for pattern in answer.patterns if (p := tidy_line(keep_grounded(pattern, sources), 120)))[:2],
        salience=round(max(0.0, min(1.0, salience)), 3),
        confidence=round(0.2 + confidence, 3),
        reasoning=tidy_line(keep_grounded(answer.reasoning, sources), 300),
        facts=tuple(answer.facts[:2]),
        cause_id={name: one.id for name, one in zip(NAMES, earlier, strict=False)}.get(answer.led_by.strip(), ""),
        is_foreign=any(turn.tainted or turn.origin.is_tainted for turn in turns) or any(e.tainted for e in earlier),
    )


def about_self_of(answer: SelfAnswer, words: str, asker: Asker) -> SelfAnswer:
    """`answer`, checked: what of it has a name or a number that neither the owner's `words` nor the self-model have is
    left out, and facts that are mostly made of other words than the owner's."""
    sources = [*read_by(asker), words]
    name = re.compile(rf"\b{re.escape(asker.owner)}\b" if asker.owner else r"(?!)")
    facts = [fact for fact in answer.owner_facts if is_supported(name.sub("", fact), words)]

    def every(texts: Iterable[str]) -> list[str]:
        return [kept for text in texts if (kept := keep_grounded(text, sources))]

    return SelfAnswer(
        owner_facts=every(facts),
        communication_style=keep_grounded(answer.communication_style, sources),
        unresolved_threads=every(answer.unresolved_threads),
        current_focus=keep_grounded(answer.current_focus, sources),
        narrative=keep_grounded(answer.narrative, sources),
    )


def read_by(asker: Asker | None) -> tuple[str, ...]:
    """What every question tells beside what happened."""
    return (asker.owner, asker.mind, self_model_text(asker.model)) if asker is not None else ()


def _verbatim(quoted: QuoteAnswer, turns: Sequence[Turn]) -> Exemplar | None:
    quote = quoted.quote.strip()
    for turn in turns:
        if quote and quote in turn.fresh:
            return exemplar(quote, turn, tidy_line(quoted.significance, 120))
    return None


def turns_text(turns: Sequence[Turn], names: Sequence[str] = ()) -> str:
    """Turns as the model reads them; a text that is too long loses its middle. One that did not come from the owner or
    the mind says so, and no line of a turn can pass for a turn of one of `names` or of another speaker (F1, F3)."""
    speakers = {*names, *_ROLES, *(turn.speaker for turn in turns)} - {""}
    another = re.compile(rf"^\s*(?={'|'.join(map(re.escape, sorted(speakers)))}\s*:)", re.MULTILINE | re.IGNORECASE)
    text = "\n".join(_quoted_turn(turn, another) for turn in turns if turn.fresh)
    if len(text) <= _MAX_CONTENT_CHARS:
        return text
    half = _MAX_CONTENT_CHARS // 2
    return f"{text[:half]}\n\u2026\n{text[-half:]}"


def _quoted_turn(turn: Turn, another: "re.Pattern[str]") -> str:
    pattern = _ANY_SPEAKER if turn.origin.is_tainted else another
    said = pattern.sub("> ", turn.fresh) if gates.stands(gates.Gate.VOICE) else turn.fresh
    if turn.origin.is_tainted:
        return f"{turn.speaker or 'Text'} (from somebody else): {said}"
    return f"{turn.speaker}: {said}" if turn.speaker else said


def self_model_text(model: SelfModel) -> str:
    """The self-model in plain lines, the same text for the same model."""
    lines = [model.narrative] if model.narrative else []
    lines += [f"- {fact}" for fact in model.owner_facts[-12:]]
    return "\n".join(lines) or "Nothing yet."


def fence_text(text: str) -> str:
    """Text that is material, between lines that it cannot close by itself."""
    return "=====\n" + text.replace("=====", "= = =") + "\n====="


def tidy_line(text: str, limit: int) -> str:
    """One line, cut to `limit`. A tail in another script than the text began in is cut off: small models slip into one
    when their answer is cut."""
    line = " ".join(text.split())
    first = _LETTER.search(line)
    if first is not None and first.group().isascii():
        line = re.sub(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af].*$", "", line).rstrip()
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "\u2026"


def _object(properties: Mapping[str, object]) -> dict[str, object]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _string_schema(limit: int) -> dict[str, object]:
    return {"type": "string", "maxLength": limit}


def _strings(count: int, limit: int) -> dict[str, object]:
    return {"type": "array", "items": _string_schema(limit), "maxItems": count}


_SELF_SCHEMA: Mapping[str, object] = _object(
    {
        "owner_facts": _strings(3, 160),
        "communication_style": _string_schema(160),
        "unresolved_threads": _strings(2, 100),
        "current_focus": _string_schema(100),
        "narrative": _string_schema(300),
    }
)
