"""The question of deep sleep to a capable model about a whole conversation, and the schema of its answer. Pure.

The rules come first and are the same in every call. What is known (facts, open threads, earlier episodes) is numbered
here, so that an answer names it by an id and never by its words.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reveries import gates
from reveries.llm.base import ChatMessage, Prompt, Role
from reveries.llm.tokens import estimate_tokens
from reveries.memory.model import Episode, ExperienceKind, Turn
from reveries.memory.self_model import format_day, past_facts_with_days, with_days
from reveries.memory.sleep.questions import (
    Asker,
    WaitingNote,
    clock_time,
    fence_text,
    object_schema,
    string_schema,
    strings_schema,
    tidy_line,
)
from reveries.memory.sleep.reading import Reading, ReadingRoom, answer_tokens_for
from reveries.memory.sleep.self_model_changes import TRAIT_FIELDS
from reveries.prompts import prompt

_CALM = 0.2
_EARLIER_CHARS = 200
_KNOWN_TRAITS = 4
_CHARS_PER_TOKEN = 2
"""Few, because a text that is cut is long and may be in any script."""
_ROLES = "User|Human|Me|Assistant|System|Developer|Tool"
_NOT_ASKED = "[beside]"


@dataclass(frozen=True, slots=True)
class KnownThings:
    """What the question shows as known, by the id under which it is shown."""

    facts: Mapping[str, str]
    threads: Mapping[str, str]
    anticipations: Mapping[str, str]
    earlier: Mapping[str, Episode]
    notes: Mapping[str, WaitingNote]


def known_things(asker: Asker, earlier: Sequence[Episode]) -> KnownThings:
    """Number what is known, the notes that wait for the owner, and the earlier episodes."""
    model = asker.model
    return KnownThings(
        facts={f"F{place}": text for place, text in enumerate(model.owner_facts, 1)},
        threads={f"T{place}": text for place, text in enumerate(model.unresolved_threads, 1)},
        anticipations={f"A{place}": text for place, text in enumerate(model.anticipations, 1)},
        earlier={f"E{place}": episode for place, episode in enumerate(earlier, 1)},
        notes={f"N{place}": note for place, note in enumerate(asker.notes, 1)},
    )


def conversation_question(asker: Asker, reading: Reading, earlier: Sequence[Episode], room: ReadingRoom) -> Prompt:
    """Build the question about everything in `reading`. What untrusted text may have influenced is not asked about the
    self-model."""
    rules = prompt("sleep_conversation", mind=asker.mind, owner=asker.owner)
    if not reading.is_foreign:
        rules += "\n\n" + prompt("sleep_self", mind=asker.mind, owner=asker.owner, salience=f"{asker.least_salience:g}")
    things = known_things(asker, earlier)
    known_text = "" if reading.is_foreign else _known_text(asker, things)
    before = [
        f"{name} ({format_day(episode.created_at)}): {tidy_line(episode.summary, _EARLIER_CHARS)}"
        for name, episode in things.earlier.items()
    ]
    blocks = [
        f"Today is {format_day(asker.now)}.",
        *([known_text] if known_text else []),
        *(["Earlier:\n" + fence_text("\n".join(before))] if before else []),
        "What happened:\n" + fence_text(reading_text(reading, (asker.owner, asker.mind), room.text_tokens)),
    ]
    return Prompt(
        role=Role.CONSOLIDATION,
        messages=(ChatMessage("system", rules), ChatMessage("user", "\n\n".join(blocks))),
        max_tokens=answer_tokens_for(len(reading.parts), room),
        temperature=_CALM,
        schema=conversation_schema(has_self=not reading.is_foreign),
    )


def reading_text(reading: Reading, names: Sequence[str], most_tokens: int) -> str:
    """Return the numbered parts as the model reads them: whole turns, each with its speaker and time, below the day on
    which it was said. No line within a turn can pass for another turn, a part or a day (F1, F3)."""
    numbered = [(f"[{number}]", part) for number, part in enumerate(reading.parts, 1)]
    entries = [(turn, mark) for mark, part in [*numbered, *((_NOT_ASKED, unasked) for unasked in reading.beside)]
               for turn in part.turns]  # fmt: skip
    entries.sort(key=lambda entry: (entry[0].said_at, entry[0].position))
    thoughts = {
        experience.id
        for part in (*reading.parts, *reading.beside)
        for experience in part.experiences
        if experience.kind is ExperienceKind.MONOLOGUE
    }
    limit = _turn_limit([turn for turn, _ in entries], most_tokens)
    forged = _forged_beginning({*names, *(turn.speaker for turn, _ in entries)})
    lines: list[str] = []
    day = mark = ""
    for turn, part_mark in entries:
        if (said_on := format_day(turn.said_at)) != day:
            lines.append(f"[{said_on}]")
            day = said_on
        if part_mark != mark:
            lines.append(part_mark)
            mark = part_mark
        lines.append(_turn_line(turn, forged, limit, is_thought=turn.experience_id in thoughts))
    return "\n".join(lines)


def _turn_limit(turns: Sequence[Turn], most_tokens: int) -> int | None:
    """Return how many characters of a turn fit; None if all fit whole."""
    if sum(estimate_tokens(turn.text) for turn in turns) <= most_tokens:
        return None
    return max(400, most_tokens * _CHARS_PER_TOKEN // max(1, len(turns)))


def _turn_line(turn: Turn, forged: "re.Pattern[str]", limit: int | None, *, is_thought: bool) -> str:
    text = turn.text
    if limit is not None and len(text) > limit:
        text = f"{text[: limit // 2]} \u2026 {text[-limit // 2 :]}"
    if gates.is_enforced(gates.Gate.VOICE):
        text = forged.sub("> ", text)
    is_foreign = turn.tainted or turn.origin.is_tainted
    speaker = f"{turn.speaker or 'Text'}{' (from somebody else)' if is_foreign else ''}"
    return f"{speaker} ({clock_time(turn.said_at)}{', a thought, said to nobody' if is_thought else ''}): {text}"


def _forged_beginning(names: set[str]) -> "re.Pattern[str]":
    speakers = "|".join([*map(re.escape, sorted(names - {""})), _ROLES])
    return re.compile(rf"^\s*(?=\[|(?:{speakers})\s*[(:])", re.MULTILINE | re.IGNORECASE)


def _known_text(asker: Asker, things: KnownThings) -> str:
    """Return what is known of owner and mind, numbered where an answer may name it."""
    model = asker.model
    facts = zip(things.facts, with_days(model, things.facts.values()), strict=True)
    threads = zip(things.threads, with_days(model, things.threads.values()), strict=True)
    traits = [
        f"{field}: {'; '.join(getattr(model, field)[-_KNOWN_TRAITS:])}"
        for field in TRAIT_FIELDS
        if field != "anticipations" and getattr(model, field)
    ]
    expected = zip(things.anticipations, with_days(model, things.anticipations.values()), strict=True)
    blocks = [
        (f"What {asker.mind} knows about {asker.owner}:", [f"{name}: {text}" for name, text in facts]),
        ("No longer true:", [f"- {text}" for text in past_facts_with_days(model)]),
        ("Open:", [f"{name}: {text}" for name, text in threads]),
        ("Settled:", [f"- {text}" for text in with_days(model, model.closed_threads)]),
        ("Expected:", [f"{name}: {text}" for name, text in expected]),
        (
            f"Notes that {asker.owner} has not read yet:",
            [
                f"{name}: {note.text} (written {format_day(note.written_at)}, {clock_time(note.written_at)})"
                for name, note in things.notes.items()
            ],
        ),
        ("How they talk:", [model.communication_style] if model.communication_style else []),
        (f"What occupies {asker.owner}:", list(with_days(model, filter(None, [model.current_focus])))),
        (f"{asker.mind} on itself:", [*filter(None, [model.narrative]), *traits]),
    ]
    return "\n".join("\n".join([title, *lines]) for title, lines in blocks if lines)


def known_texts(asker: Asker, earlier: Sequence[Episode]) -> tuple[str, ...]:
    """Return the texts that the question shows besides what happened: what an answer may take names from."""
    things = known_things(asker, earlier)
    return (asker.owner, asker.mind, _known_text(asker, things), *(episode.summary for episode in earlier))


def conversation_schema(*, has_self: bool) -> Mapping[str, object]:
    """Return the JSON schema of the answer; with the part about the self-model or without."""
    quote = string_schema(400)
    part = object_schema(
        {
            "number": {"type": "integer"},
            "summary": string_schema(600),
            "topics": strings_schema(5, 40),
            "quotes": _list_of({"quote": quote, "why": string_schema(120)}),
            "salience": {"type": "number", "minimum": 0, "maximum": 1},
            "led_by": string_schema(4),
            "changed": _list_of(
                {"quote": quote, "about": string_schema(40), "what": string_schema(40), "value": string_schema(60)}
            ),
        }
    )
    parts: dict[str, object] = {"parts": {"type": "array", "items": part}}
    return object_schema(parts | ({"self": _self_schema(quote)} if has_self else {}))


def _self_schema(quote: Mapping[str, object]) -> dict[str, object]:
    fact = {
        "fact": string_schema(160), "quote": quote, "since": string_schema(10), "replaces": strings_schema(8, 4),
    }  # fmt: skip
    trait = {
        "field": {"type": "string", "enum": list(TRAIT_FIELDS)}, "statement": string_schema(120), "quote": quote,
        "on": string_schema(10),
    }  # fmt: skip
    return object_schema(
        {
            "facts": _list_of(fact),
            "ended": _list_of({"id": string_schema(4), "quote": quote}),
            "opened": _list_of({"thread": string_schema(160), "quote": quote}),
            "closed": _list_of({"id": string_schema(4), "quote": quote}),
            "traits": _list_of(trait),
            "patterns": strings_schema(2, 120),
            "communication_style": string_schema(160),
            "current_focus": string_schema(100),
            "narrative": string_schema(300),
        }
    )


def _list_of(properties: Mapping[str, object]) -> dict[str, object]:
    return {"type": "array", "items": object_schema(properties)}
