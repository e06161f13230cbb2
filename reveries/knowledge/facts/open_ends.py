"""What a text leaves open: unticked boxes, things to do, questions without an answer. Pure."""

import re
from collections.abc import Sequence
from typing import Final

from reveries.knowledge.facts.lines import Line
from reveries.knowledge.facts.vocabulary import VOCABULARY, alternation, pattern_of

_EMPTY_BOX: Final = re.compile(r"^\s*(?:>\s*)*(?:[-*+•]\s+|\d{1,3}[.)]\s+)?\[\s?\]\s*\S|^\s*[☐□]\s*\S")
_TICKED_BOX: Final = re.compile(r"^\s*(?:>\s*)*(?:[-*+•]\s+|\d{1,3}[.)]\s+)?\[[xX✓]\]|^\s*[☑✔✅]")
_STRUCK: Final = re.compile(r"^\W*~~.*~~\W*$")
_TO_DO: Final = re.compile(
    rf"^\W*{alternation(VOCABULARY.words('marks'))}(?!\w)|^\W*{alternation(VOCABULARY.words('to_do'))}\s*:\s*\S",
    re.IGNORECASE,
)
_OPEN: Final = re.compile(rf"(?<!\w){pattern_of(VOCABULARY.words('open'))}(?!\w)", re.IGNORECASE)
_TAG: Final = re.compile(
    r"(?:n['’]t (?:it|he|she|they|we|you)|,\s*(?:oder|nicht wahr|gell|ne|n['’]est-ce pas|hein|verdad|no|vero|toch|hè"
    r"|right|eh|ok|okay|ikke sant))\s*\?",
    re.IGNORECASE,
)
"""A statement with a question mark."""
_QUESTION: Final = re.compile(r"[^\s?]\s*\?+(?=[\s)\"'”’»*_]|$)")
_QUOTED: Final = re.compile(r"[\"“«„][^\"”»“]*\?[\"”»“]")
_ADDRESS: Final = re.compile(r"https?://\S+")
_ASKED: Final = re.compile(r"^\W*(?:q|f|p|d|v|question|frage|pregunta|domanda|vraag|spørsmål)\s*:", re.IGNORECASE)
_ANSWERED: Final = re.compile(
    r"^\W*(?:a|r|answer|antwort|respuesta|risposta|réponse|antwoord|svar)\s*:\s*\S", re.IGNORECASE
)
_ASK_WORD: Final = re.compile(rf"^\W*{alternation(VOCABULARY.words('asks'))}(?!\w)", re.IGNORECASE)
_MOST_ASKED_CHARS: Final = 120
_MOST_HEADING_WORDS: Final = 5


def find_open_ends(lines: Sequence[Line]) -> list[Line]:
    """Return the lines that leave something open, in order."""
    return [line for place, line in enumerate(lines) if _is_open(line, lines, place)]


def is_to_do(raw: str) -> bool:
    """Whether a line, as it stands in its document, is an empty box or marked as something to do."""
    return _EMPTY_BOX.match(raw) is not None or _TO_DO.match(raw) is not None


def is_done(raw: str) -> bool:
    """Whether a line is a ticked box, or struck out."""
    return _TICKED_BOX.match(raw) is not None or _STRUCK.match(raw) is not None


def _is_open(line: Line, lines: Sequence[Line], place: int) -> bool:
    raw = _ADDRESS.sub("", line.raw[line.stamp_end :])
    if not raw.strip() or _TICKED_BOX.match(raw) or _STRUCK.match(raw) or raw.lstrip().startswith("#"):
        return False
    if _is_heading(line, lines, place):
        return False
    if is_to_do(raw):
        return not _is_answered(lines, place)
    if _OPEN.search(raw):
        return True
    return _asks(line, raw) and not _is_answered(lines, place)


def _is_heading(line: Line, lines: Sequence[Line], place: int) -> bool:
    """Whether the line only names what stands below it: "Still to find out:", "**Offen**", a bare mark over a list."""
    following = next((other.raw for other in lines[place + 1 :] if other.raw.strip()), "")
    words = line.raw.strip()
    if "?" in words or _EMPTY_BOX.match(line.raw) or not following:
        return False
    is_underlined = place + 1 < len(lines) and re.fullmatch(r"\s*(?:={3,}|-{3,})\s*", lines[place + 1].raw) is not None
    is_over_list = re.match(r"\s*(?:[-*+•]\s|\d{1,3}[.)]\s|\[[ xX]?\])", following) is not None
    is_named = words.endswith((":", ":**", ":*")) or re.fullmatch(r"(\*\*|__).+\1", words) is not None
    is_bare = len(words.split()) <= _MOST_HEADING_WORDS and is_over_list and not re.match(r"[-*+•\d]", words)
    return is_underlined or is_named or (is_bare and not words.endswith((".", "!")))


def _asks(line: Line, raw: str) -> bool:
    """Whether the line asks something; in a chat also without a question mark."""
    words = _QUOTED.sub("", raw).strip()
    if _QUESTION.search(words):
        return _QUESTION.search(_TAG.sub("", words)) is not None and not _ends_with_answer(words)
    is_short = bool(line.stamped_at) and len(words) <= _MOST_ASKED_CHARS
    return is_short and _ASK_WORD.match(words) is not None and not words.endswith((".", "!"))


def _ends_with_answer(words: str) -> bool:
    """Whether a sentence of more than a word follows the last question: "Hall booked? Yes, by Ann."."""
    rest = words[words.rfind("?") + 1 :].strip(" )\"'”’»*_")
    return (
        re.match(r"(?:yes|no|ja|nein|oui|non|sí|si|nee|nei|done|erledigt|fait|hecho)\b", rest, re.IGNORECASE)
        is not None
    )


def _is_answered(lines: Sequence[Line], place: int) -> bool:
    """Whether the next line answers: "A: ...", or somebody else in the same chat."""
    line = lines[place]
    following = next((other for other in lines[place + 1 :] if other.raw.strip()), None)
    if following is None:
        return False
    if _ASKED.match(line.raw) and _ANSWERED.match(following.raw):
        return True
    if not line.stamped_at or not following.stamped_at:
        return False
    is_same_day = line.written_on == following.written_on
    return is_same_day and speaker_of(line) != speaker_of(following)


def speaker_of(line: Line) -> str:
    """Return who wrote a chat message, as its stamp says; empty elsewhere."""
    name = line.stamped_at.rstrip().removesuffix(":").rpartition("]")[2].rpartition(" - ")[2]
    return name.strip()
