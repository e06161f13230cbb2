"""The questions of deep sleep to a model, and the schemas and checks of the answers. One call per experience for
salience and abstraction together.

Quotes are an `enum` of the text's own sentences, so that a model constrained by the schema cannot misquote; all answers
are checked anyway (R-72). There is no worked example because small models copy it. Pure.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec

from reveries import gates
from reveries.index.terms import terms_of
from reveries.llm.base import ChatMessage, Prompt, Role
from reveries.memory.model import Episode, Exemplar, SelfModel, Turn
from reveries.memory.self_model import format_day, with_days
from reveries.memory.sleep.grounding import drop_switched_tail, is_supported, keep_grounded
from reveries.memory.text.extracts import make_exemplar, sentences_of, summary_of
from reveries.prompts import prompt

_MAX_QUOTABLE = 24
_MAX_QUOTE_CHARS = 300
_MAX_CONTENT_CHARS = 6000
_ANSWER_TOKENS = 600
_EARLIER_CHARS = 160
NAMES, NO_CAUSE = ("A", "B", "C"), "none"
"""The names of the earlier episodes in the question, and the answer for none of them."""
_CALM = 0.2
_ANY_SPEAKER = re.compile(r"^\s*(?=[^\s:>][^:\n]{0,40}:)", re.MULTILINE)
_ROLES = ("User", "Human", "Me", "Assistant", "System", "Developer", "Tool")
"""Speaker labels that prompts and transcripts use besides names."""
_SAME_MARKS = ("'\u2018\u2019\u02bc", '"\u201c\u201d\u201e\u00ab\u00bb', "-\u2010\u2011\u2013\u2014")
"""Marks that models replace by one another."""
_LEAST_QUOTE_CHARS = 4


class QuoteAnswer(msgspec.Struct, frozen=True):
    quote: str
    significance: str = ""


class FactAnswer(msgspec.Struct, frozen=True):
    """A fact stated as true now: the subject (`about`), the attribute (`what`), its value, and the sentence."""

    quote: str
    about: str = ""
    what: str = ""
    value: str = ""


class DeepAnswer(msgspec.Struct, frozen=True):
    """The answer to R-109 and R-110 together. Fields in the order of the question: content first, then salience."""

    summary: str
    salience: float
    topics: list[str] = []
    exemplars: list[QuoteAnswer] = []
    patterns: list[str] = []
    led_by: str = ""
    """The letter of the earlier episode that led to it, if any were shown."""
    facts: list[FactAnswer] = []
    reasoning: str = ""


class SelfAnswer(msgspec.Struct, frozen=True):
    """The answer to the self-model question; empty fields change nothing."""

    owner_facts: list[str] = []
    communication_style: str = ""
    unresolved_threads: list[str] = []
    current_focus: str = ""
    narrative: str = ""


@dataclass(frozen=True, slots=True)
class Abstraction:
    """A checked deep answer: values in range, texts cut to size, every quote verbatim."""

    summary: str
    topics: tuple[str, ...]
    exemplars: tuple[Exemplar, ...]
    patterns: tuple[str, ...]
    salience: float
    confidence: float
    reasoning: str
    facts: tuple[FactAnswer, ...] = ()
    cause_id: str = ""
    """The earlier episode that led to it, one of those shown."""
    is_foreign: bool = False
    """Some of the text that the model read was untrusted."""


@dataclass(frozen=True, slots=True)
class WaitingNote:
    """A note to the owner that no one has read yet."""

    id: str
    text: str
    written_at: float


@dataclass(frozen=True, slots=True)
class Asker:
    """The names of owner and mind, the self-model, and the time, as used in questions."""

    owner: str
    mind: str
    model: SelfModel
    now: float = 0.0
    """0: the questions say no day."""
    notes: tuple[WaitingNote, ...] = ()
    least_salience: float = 0.0
    """What is less important teaches nothing new about the self."""


def deep_question(asker: Asker, turns: Sequence[Turn], earlier: Sequence[Episode] = ()) -> Prompt:
    """Build the question of R-109 and R-110 about one experience, and which of the `earlier` episodes led to it. The
    rules come first and are the same in every call, so that they can be cached."""
    rules = prompt("deep_sleep", mind=asker.mind, owner=asker.owner, self_model=self_model_text(asker.model))
    material = fence_text(turns_text(turns, (asker.owner, asker.mind)))
    if earlier:
        before = [
            f"{name}: {tidy_line(episode.summary, _EARLIER_CHARS)}"
            for name, episode in zip(NAMES, earlier, strict=False)
        ]
        material = "Earlier:\n" + fence_text("\n".join(before)) + "\nWhat happened:\n" + material
    material = when_text(asker, turns[0].said_at if turns else 0.0) + material
    return Prompt(
        role=Role.CONSOLIDATION,
        messages=(ChatMessage("system", rules), ChatMessage("user", material)),
        max_tokens=_ANSWER_TOKENS,
        temperature=_CALM,
        schema=deep_schema(quotable_sentences(turns), len(earlier)),
    )


def self_question(asker: Asker, words: str, said_at: float = 0.0) -> Prompt:
    """Build the question of what an important experience changes in the self-model (R-86)."""
    rules = prompt("self_model", mind=asker.mind, owner=asker.owner, self_model=self_model_text(asker.model))
    material = when_text(asker, said_at) + fence_text(words[:_MAX_CONTENT_CHARS])
    return Prompt(
        role=Role.CONSOLIDATION,
        messages=(ChatMessage("system", rules), ChatMessage("user", material)),
        max_tokens=_ANSWER_TOKENS,
        temperature=_CALM,
        schema=_SELF_SCHEMA,
    )


def quotable_sentences(turns: Sequence[Turn]) -> list[str]:
    """Return the sentences that may be quoted: with content words, not too long, in order and without repeats."""
    sentences = [sentence for turn in turns for sentence in sentences_of(turn.own_text)]
    suitable = [s for s in sentences if len(s) <= _MAX_QUOTE_CHARS and terms_of(s)]
    return list(dict.fromkeys(suitable))[:_MAX_QUOTABLE]


def deep_schema(quotes: Sequence[str], earlier: int = 0) -> Mapping[str, object]:
    """Return the JSON schema of a deep answer that may quote only `quotes`; `earlier` is the number of episodes shown
    as possible causes."""
    quote = {"type": "string", "enum": list(quotes)} if quotes else string_schema(1)
    exemplar_schema = object_schema({"quote": quote, "significance": string_schema(120)})
    fact_schema = object_schema(
        {"quote": quote, "about": string_schema(40), "what": string_schema(40), "value": string_schema(60)}
    )
    return object_schema(
        {
            "summary": string_schema(500),
            "topics": strings_schema(5, 40),
            "exemplars": {"type": "array", "items": exemplar_schema, "maxItems": 3 if quotes else 0},
            "patterns": strings_schema(2, 120),
            **({"led_by": {"type": "string", "enum": [NO_CAUSE, *NAMES[:earlier]]}} if earlier else {}),
            "facts": {"type": "array", "items": fact_schema, "maxItems": 2 if quotes else 0},
            "reasoning": string_schema(300),
            "salience": {"type": "number", "minimum": 0, "maximum": 1},
        }
    )


def check_deep_answer(
    answer: DeepAnswer, turns: Sequence[Turn], earlier: Sequence[Episode] = (), asker: Asker | None = None
) -> Abstraction:
    """Check `answer`: clamp and round the salience (R-113), drop quotes that are not verbatim (R-72), which lowers the
    confidence, and drop sentences with names or numbers that are not in what the model read. If no summary is left, it
    is extracted from the turns. `asker` holds the names and the self-model that the model was shown."""
    sources = [
        *prompt_sources(asker, turns[0].said_at if turns else 0.0),
        *(f"{turn.speaker}: {turn.text}" for turn in turns),
        *(episode.summary for episode in earlier),
    ]
    summary = tidy_line(keep_grounded(answer.summary, sources), 500) or summary_of(turns)
    source = "\n".join(sources)
    kept = [exact for quoted in answer.exemplars if (exact := _find_exemplar(quoted, turns, source)) is not None]
    asked = len(answer.exemplars)
    confidence = 0.8 * (len(kept) / asked if asked else 0.5)
    salience = answer.salience if answer.salience == answer.salience else 0.0
    return Abstraction(
        summary=summary,
        topics=tidy_topics(drop_switched_tail(topic, source) for topic in answer.topics),
        exemplars=tuple(kept),
        patterns=tuple(p for pattern in answer.patterns if (p := tidy_line(keep_grounded(pattern, sources), 120)))[:2],
        salience=round(max(0.0, min(1.0, salience)), 3),
        confidence=round(0.2 + confidence, 3),
        reasoning=tidy_line(keep_grounded(answer.reasoning, sources), 300),
        facts=tuple(answer.facts[:2]),
        cause_id={name: episode.id for name, episode in zip(NAMES, earlier, strict=False)}.get(
            answer.led_by.strip(), ""
        ),
        is_foreign=any(turn.tainted or turn.origin.is_tainted for turn in turns) or any(e.tainted for e in earlier),
    )


def check_self_answer(answer: SelfAnswer, words: str, asker: Asker, said_at: float = 0.0) -> SelfAnswer:
    """Check `answer`: drop sentences with a name or number that is in neither the owner's `words` nor the self-model,
    and facts that mostly use other words than the owner's."""
    sources = [*prompt_sources(asker, said_at), words]
    name = re.compile(rf"\b{re.escape(asker.owner)}\b" if asker.owner else r"(?!)")
    facts = [fact for fact in answer.owner_facts if is_supported(name.sub("", fact), words)]

    def keep_all_grounded(texts: Iterable[str]) -> list[str]:
        return [kept for text in texts if (kept := keep_grounded(text, sources))]

    return SelfAnswer(
        owner_facts=keep_all_grounded(facts),
        communication_style=keep_grounded(answer.communication_style, sources),
        unresolved_threads=keep_all_grounded(answer.unresolved_threads),
        current_focus=keep_grounded(answer.current_focus, sources),
        narrative=keep_grounded(answer.narrative, sources),
    )


def tidy_topics(topics: Iterable[str]) -> tuple[str, ...]:
    """Return at most five topics, lower case, without repeats."""
    return tuple(dict.fromkeys(t for topic in topics if (t := tidy_line(topic, 40).casefold())))[:5]


def prompt_sources(asker: Asker | None, said_at: float = 0.0) -> tuple[str, ...]:
    """Return the texts that every question contains besides the experience, which is of `said_at`."""
    if asker is None:
        return ()
    return (asker.owner, asker.mind, self_model_text(asker.model), when_text(asker, said_at))


def when_text(asker: Asker, said_at: float) -> str:
    """Return a line with the time of the words and today's date; empty if either is unknown."""
    if not (asker.now and said_at):
        return ""
    return f"It was said on {format_day(said_at)} at {clock_time(said_at)}. Today is {format_day(asker.now)}.\n"


def clock_time(at: float) -> str:
    """Format a local time: 08:02."""
    return datetime.fromtimestamp(at).strftime("%H:%M")


def _find_exemplar(quoted: QuoteAnswer, turns: Sequence[Turn], source: str) -> Exemplar | None:
    match = find_quote(quoted.quote, turns)
    why = tidy_line(drop_switched_tail(quoted.significance, source), 120)
    return make_exemplar(match[0], match[1], why) if match is not None else None


def find_quote(quote: str, turns: Sequence[Turn]) -> tuple[str, Turn] | None:
    """Return the words of a turn that are `quote`, and the turn; None if no turn says so. White space, quotation marks
    and dashes may differ, because models write their own. What is only an echo is no quote."""
    words = quote.split()
    if len(quote.strip()) < _LEAST_QUOTE_CHARS and not any(quote.strip() == turn.text for turn in turns):
        return None
    pattern = re.compile(r"\s+".join(_spell(word) for word in words))
    for turn in turns:
        for match in pattern.finditer(turn.text):
            if not any(start <= match.start() and match.end() <= end for start, end in turn.echoes):
                return match.group(), turn
    return None


def _spell(word: str) -> str:
    classes = {char: f"[{re.escape(same)}]" for same in _SAME_MARKS for char in same}
    return "".join(classes.get(char) or re.escape(char) for char in word)


def turns_text(turns: Sequence[Turn], names: Sequence[str] = ()) -> str:
    """Return turns as the model reads them; the middle of a too long text is cut. Untrusted turns are labelled, and no
    line inside a turn can pass for a turn of one of `names` or of another speaker (F1, F3)."""
    speakers = {*names, *_ROLES, *(turn.speaker for turn in turns)} - {""}
    another = re.compile(rf"^\s*(?={'|'.join(map(re.escape, sorted(speakers)))}\s*:)", re.MULTILINE | re.IGNORECASE)
    text = "\n".join(_quoted_turn(turn, another) for turn in turns if turn.own_text)
    if len(text) <= _MAX_CONTENT_CHARS:
        return text
    half = _MAX_CONTENT_CHARS // 2
    return f"{text[:half]}\n\u2026\n{text[-half:]}"


def _quoted_turn(turn: Turn, another: "re.Pattern[str]") -> str:
    pattern = _ANY_SPEAKER if turn.origin.is_tainted else another
    text = pattern.sub("> ", turn.own_text) if gates.is_enforced(gates.Gate.VOICE) else turn.own_text
    if turn.origin.is_tainted:
        return f"{turn.speaker or 'Text'} (from somebody else): {text}"
    return f"{turn.speaker}: {text}" if turn.speaker else text


def self_model_text(model: SelfModel) -> str:
    """Return the self-model in plain lines, deterministically."""
    lines = [model.narrative] if model.narrative else []
    lines += [f"- {fact}" for fact in with_days(model, model.owner_facts[-12:])]
    return "\n".join(lines) or "Nothing yet."


def fence_text(text: str) -> str:
    """Fence text that is material between marker lines that it cannot contain itself."""
    return "=====\n" + text.replace("=====", "= = =") + "\n====="


def tidy_line(text: str, limit: int) -> str:
    """Return the text as one line, cut to `limit` between words."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    # Where no words are apart (Japanese), a blank is far off or missing.
    whole_words = line[:limit].rpartition(" ")[0].rstrip(" ,;:")
    return (whole_words if 2 * len(whole_words) >= limit else line[: limit - 1].rstrip()) + "\u2026"


def object_schema(properties: Mapping[str, object]) -> dict[str, object]:
    """Return the schema of an object with all of `properties` and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def string_schema(limit: int) -> dict[str, object]:
    """Return the schema of a text of at most `limit` characters."""
    return {"type": "string", "maxLength": limit}


def strings_schema(count: int, limit: int) -> dict[str, object]:
    """Return the schema of a list of at most `count` texts."""
    return {"type": "array", "items": string_schema(limit), "maxItems": count}


_SELF_SCHEMA: Mapping[str, object] = object_schema(
    {
        "owner_facts": strings_schema(3, 160),
        "communication_style": string_schema(160),
        "unresolved_threads": strings_schema(2, 100),
        "current_focus": string_schema(100),
        "narrative": string_schema(300),
    }
)
