"""Transcripts of lines "Name: words", as text or Markdown, without times. Who is a speaker is decided from the whole
file. Pure."""

import datetime as dt
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from reveries.client.past.parsed import (
    TIMELESS_SECONDS,
    ExportDocument,
    ExportForm,
    Format,
    ParsedConversation,
    ParsedFile,
    PastMessage,
    ReadChoices,
    hash_parts,
    local_time,
    read_words,
)
from reveries.client.past.roles import has_roles, is_role, mark_roles

NAME: Final = r"[^:\n]{1,60}?"
_SPOKEN: Final = re.compile(rf"(?:[-+>•]\s+)?[*_]{{0,3}}(?P<name>{NAME})[*_]{{0,3}}:[*_]{{0,3}}\s+(?P<text>\S.*)")
_ALONE: Final = re.compile(rf"(?:#{{1,6}}\s+|[*_]{{2}})?(?P<name>{NAME})[*_]{{0,3}}:?[*_]{{0,3}}\s*")
"""A name that has a line to itself, as a heading, in bold, or with a colon."""
_NOT_NAMES: Final = re.compile(r"\d+|https?|file|mailto|.*[\[\]{}<>=/\\|@#*`;!?].*|.*[.,]$", re.IGNORECASE)
_PHONE: Final = re.compile(r"\+?[\d\s().-]{7,}")
_NAME_WORDS: Final = 5
_NAME_CHARS: Final = 40
_SAID: Final = re.compile(r"\s+said$", re.IGNORECASE)
_ADDED: Final = re.compile(r"\s*\([^()]*\)$")
_LABELS: Final = read_words(
    "note|notes|nb|ps|p.s|re|todo|tip|warning|important|example|edit|update|summary|notiz|hinweis|"
    "achtung|wichtig|nota|atención|importante|remarque|attention|let op|opmerking|huom|obs|uwaga|bemærk|"
    "merk|viktigt|важно|примечание|注意|備考|참고|catatan|not|dikkat|ghi chú|ملاحظة|নোট|नोट"
)
"""Words in front of a colon that are no names, where they stand there once."""


@dataclass(slots=True)
class _Piece:
    name: str
    words: list[str]


def is_person_name(name: str) -> bool:
    """Whether this could be a person's name in front of a colon, by its form alone."""
    if not name or len(name) > _NAME_CHARS or len(name.split()) > _NAME_WORDS:
        return False
    return _PHONE.fullmatch(name) is not None or _NOT_NAMES.fullmatch(name) is None


def _fits(document: ExportDocument) -> bool:
    return document.value is None and bool(_count_names(document.text))


def _count_names(text: str) -> Counter[str]:
    """Count the names that could be speakers. A name alone in its line counts only where the others are not clearer."""
    spoken: Counter[str] = Counter()
    alone: Counter[str] = Counter()
    for line in text.split("\n"):
        name, words = _candidate(line)
        (spoken if words else alone)[name] += bool(name)
    for name, count in alone.items():
        if name in spoken or is_role(name) or (count > 1 and not +spoken):
            spoken[name] += count
    for name in [name for name in spoken if (bare := _ADDED.sub("", name)) != name and spoken[bare]]:
        spoken[_ADDED.sub("", name)] += spoken.pop(name)
    return +spoken


def _candidate(line: str) -> tuple[str, str]:
    """Return a possible speaker and the words after the colon, both empty if there is none."""
    stripped = line.strip()
    if (match := _SPOKEN.fullmatch(stripped)) is not None:
        name = _clean_name(match["name"])
        return (name, match["text"]) if is_person_name(name) else ("", "")
    is_marked = stripped.startswith(("#", "**", "__")) or stripped.endswith(":")
    if is_marked and (match := _ALONE.fullmatch(stripped)) is not None:
        name = _clean_name(match["name"])
        return (name, "") if name and is_person_name(name) else ("", "")
    return "", ""


def _clean_name(name: str) -> str:
    return _SAID.sub("", " ".join(name.strip(" \t*_#").split()))


def _speaker_in(name: str, speakers: Collection[str]) -> str:
    """Return the speaker that `name` stands for, with or without what is added to it: "ANA (laughs)"; else nothing."""
    plain = _ADDED.sub("", name)
    return name if name in speakers else plain if plain in speakers else ""


def _read(documents: Sequence[ExportDocument], choices: ReadChoices) -> ParsedFile:
    parsed = ParsedFile(ExportForm.TRANSCRIPT)
    for document in documents:
        names = _count_names(document.text)
        speakers = frozenset(choices.speakers) or _decide_speakers(names)
        parsed.ignored_names += tuple(name for name in names if not _speaker_in(name, speakers))
        if names and max(names.values()) == 1 and not has_roles(names):
            parsed.doubts.append("No name occurs twice. If these are no speakers, this is no conversation")
        pieces = list(_gather_pieces(document.text, speakers, parsed))
        messages = mark_roles(list(_date_pieces(pieces, choices)), parsed)
        parsed.conversations.append(ParsedConversation(document.name if len(documents) > 1 else "", messages))
    parsed.doubts.append(
        f"The file has no times: its messages are taken for {choices.day:%d %B %Y}. Another day: --on 2025-03-04"
    )
    return parsed


def _decide_speakers(names: Counter[str]) -> frozenset[str]:
    """Return the names that are speakers: those that return, and where less than two do, those that could be."""
    if has_roles(names):
        return frozenset(filter(is_role, names))
    returning = frozenset(name for name, count in names.items() if count > 1)
    singles = [name for name in names if name not in returning and name.casefold() not in _LABELS]
    if len(returning) > 1 or (returning and len(singles) > 1):
        return returning
    return returning.union(singles)


def _gather_pieces(text: str, speakers: frozenset[str], parsed: ParsedFile) -> Iterator[_Piece]:
    piece: _Piece | None = None
    is_code = False
    for number, line in enumerate(text.split("\n"), 1):
        name, words = ("", "") if is_code else _candidate(line)
        is_code ^= line.lstrip().startswith(("```", "~~~"))
        if speaker := _speaker_in(name, speakers):
            if piece is not None:
                yield piece
            piece = _Piece(speaker, [words] if words else [])
        elif piece is not None:
            piece.words.append(line)
        elif line.strip().startswith("#"):
            parsed.left_out["headings"] += 1
        elif line.strip(" -=*_\t\ufeff"):
            parsed.unread.append(f"line {number}: no name before it ({line.strip()[:40]!r})")
    if piece is not None:
        yield piece


def _date_pieces(pieces: Sequence[_Piece], choices: ReadChoices) -> Iterator[PastMessage]:
    """Date the messages on the chosen day, and identify each by all that was said before it: a longer version of the
    file begins with the same messages."""
    noon = dt.datetime.combine(choices.day, dt.time(12))
    first = min(choices.now - TIMELESS_SECONDS * (len(pieces) - 1), local_time(noon))
    before = ""
    for place, piece in enumerate(pieces):
        if text := "\n".join(piece.words).strip():
            before = hash_parts(before, piece.name, text)
            yield PastMessage(piece.name, text, first + place * TIMELESS_SECONDS, ("after", before))


TRANSCRIPT: Final = Format("transcript", _fits, _read)
