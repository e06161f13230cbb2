"""Crisis detection by rules: whether a person's words say that they are in danger from themselves (RELIABILITY S2).
Pure.

Needs no model, network or budget. It decides only whether a static help text is shown next to the reply; nothing is
refused, cut or reported because of it, so false positives are acceptable. Rules miss what has no rule:
docs/explain/safety.md. The patterns are data: patterns.toml.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from reveries.safety.crisis.patterns import Context, Urgency, load_crisis_patterns
from reveries.safety.crisis.spelling import fix_spelling
from reveries.safety.detectors import normalise


@dataclass(frozen=True, slots=True)
class Crisis:
    """A finding: how direct it is, and the matched words."""

    urgency: Urgency
    words: str


_PATTERNS: Final = load_crisis_patterns()
_EXPLICIT: Final = _PATTERNS.compile_english(Urgency.EXPLICIT)
_INDIRECT: Final = _PATTERNS.compile_english(Urgency.INDIRECT)
_OTHER_LANGUAGES: Final = _PATTERNS.compile_other_languages()
_CONTEXTS: Final = {context: _PATTERNS.compile_context(context) for context in Context}
_QUOTED: Final = re.compile(r"\"[^\"\n]{1,400}\"|“[^“”\n]{1,400}”|«[^«»\n]{1,400}»")
SENTENCE: Final = re.compile(r"[^.!?…\n]+[.!?…]*")
_MOST_CHARS: Final = 20_000
_PART_CHARS: Final = 500
_OVERLAP_CHARS: Final = 150
"""Texts are searched in parts of `_PART_CHARS`, because a regex search blocks the interpreter and the event loop."""
QUICK_CHARS: Final = 500
"""Texts up to this length take a few milliseconds; search longer ones in a thread."""
_HELP: Final = (
    "It sounds as if you may be in danger, or in great pain. Please do not stay alone with it. If you could hurt "
    "yourself now, call the emergency number, or go to somebody who is near. You can talk with a person at any hour. "
    "A program is no substitute for them."
)


def help_text(contacts: Sequence[str]) -> str:
    """Return the help text shown next to the reply, with the owner's contacts; true even if nothing else works."""
    lines = "\n".join(f"- {contact}" for contact in contacts)
    return f"{_HELP}\n{lines}" if lines else _HELP


def find_crisis(text: str) -> Crisis | None:
    """Return the most direct sign in `text` that its writer is in danger from themselves; None if there is none."""
    normalised = "\n".join(map(_fix_line_spelling, normalise_lines(text[:_MOST_CHARS]).split("\n")))
    bare = _QUOTED.sub(" ", normalised)
    parts = list(_parts_of(bare))
    if any(_mentions(part, Context.FICTION) for part in parts):
        return None
    is_past = any(_mentions(part, Context.PAST) or _mentions(part, Context.WELL_AGAIN) for part in parts)
    strongest: Crisis | None = None
    for part in (part for sentence in SENTENCE.findall(bare) for part in _parts_of(sentence.strip())):
        crisis = _crisis_in_sentence(part, is_past=is_past)
        if crisis is not None and (strongest is None or crisis.urgency is Urgency.EXPLICIT):
            strongest = crisis
            if crisis.urgency is Urgency.EXPLICIT:
                return crisis
    return strongest


def normalise_lines(text: str) -> str:
    """As `normalise`, but keeps line breaks."""
    return "\n".join(normalise(line) for line in text.splitlines())


def _fix_line_spelling(line: str) -> str:
    """Fix the spelling of a line; a long line is processed in parts, split between words."""
    parts = []
    while len(line) > _PART_CHARS:
        end = line.rfind(" ", 1, _PART_CHARS)
        end = end if end > 0 else _PART_CHARS
        parts.append(fix_spelling(line[:end]))
        line = line[end:]
    return "".join((*parts, fix_spelling(line)))


def _parts_of(text: str) -> Iterator[str]:
    """Yield `text` in overlapping parts of bounded length."""
    for start in range(0, max(1, len(text) - _OVERLAP_CHARS), _PART_CHARS - _OVERLAP_CHARS):
        yield text[start : start + _PART_CHARS]


def _mentions(text: str, context: Context) -> bool:
    return _CONTEXTS[context].search(text) is not None


def _crisis_in_sentence(sentence: str, *, is_past: bool) -> Crisis | None:
    match = _EXPLICIT.search(sentence) or _OTHER_LANGUAGES.search(sentence)
    urgency = Urgency.EXPLICIT if match else Urgency.INDIRECT
    match = match or _INDIRECT.search(sentence)
    if match is None or _mentions(sentence, Context.JOKE) or _mentions(sentence, Context.FIGURE):
        return None
    if _mentions(sentence, Context.MATTER_OF_FACT) and not _mentions(sentence, Context.NOW):
        return None
    if _is_denied(sentence, match) or _is_of_another(sentence, match.start()):
        return None
    if _is_over(sentence, is_past=is_past):
        return None
    return Crisis(urgency, match.group())


def _is_over(sentence: str, *, is_past: bool) -> bool:
    """Whether the sentence is about the past: by itself, or by another sentence unless it says what the writer wants
    now."""
    if _mentions(sentence, Context.STILL):
        return False
    return _mentions(sentence, Context.PAST) or (is_past and not _mentions(sentence, Context.NOW))


def _is_denied(sentence: str, match: re.Match[str]) -> bool:
    if match.group().startswith(("care", "mind", "notice")):
        return False
    starts_with_i = re.match(r"i\b", match.group())
    before, after = sentence[: match.start() + (1 if starts_with_i else 0)], sentence[match.end() :]
    return _mentions(before, Context.DENIED) or _mentions(after, Context.DENIED_AFTER)


def _is_of_another(sentence: str, start: int) -> bool:
    """Whether the words before the match refer to another person, with no mention of the writer in between."""
    last = max((other.end() for other in _CONTEXTS[Context.OTHER_PERSON].finditer(sentence[:start])), default=None)
    return last is not None and not _mentions(sentence[last:start], Context.WRITER)
