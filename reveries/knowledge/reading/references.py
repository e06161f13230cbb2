"""References of a text to other places, by pattern: sheets, details, sections, tables, pages."""

import re
from typing import Final

_SHEET: Final = r"[A-Z]{1,3}-?\d{1,3}(?:\.\d{1,2})?[A-Z]?"
_NUMBER: Final = r"\d{1,3}(?:\.\d{1,3}){0,3}[a-z]?"
_PATTERNS: Final = (
    re.compile(rf"\b(?:detail|section|elevation|dtl|elev)\.?\s+[A-Z0-9]{{1,3}}\s?/\s?{_SHEET}\b", re.IGNORECASE),
    re.compile(rf"\b[A-Z0-9]{{1,2}}/{_SHEET}\b"),
    re.compile(rf"\b(?:sheet|dwg|drawing)s?\.?\s+{_SHEET}\b", re.IGNORECASE),
    re.compile(r"\b[A-Z]{1,2}-\d{3}[A-Z]?\b|\b[A-Z]{1,2}\d{1,2}\.\d{1,2}[A-Z]?\b|\b[A-Z]{2}\d{3}[A-Z]?\b"),
    re.compile(
        rf"\b(?:section|chapter|table|figure|fig|appendix|annex|article|clause|exhibit|note|item|part|page|step)s?\.?\s+"
        rf"(?:{_NUMBER}|[A-Z]\d{{0,2}}(?:\.\d{{1,2}})?|[IVX]{{1,5}})\b",
        re.IGNORECASE,
    ),
    re.compile(rf"§+\s?{_NUMBER}"),
    re.compile(rf"\b(?:Abschnitt|Kapitel|Tabelle|Abbildung|Abb\.|Anhang|Seite|Blatt|Ziffer)\s+{_NUMBER}\b"),
)
_MOST: Final = 24


def find_references(text: str) -> tuple[str, ...]:
    """Places that a text names, as it names them, each once, in its order. A longer reference holds a shorter one."""
    taken: list[tuple[int, int]] = []
    named: dict[int, str] = {}
    for pattern in _PATTERNS:
        for match in pattern.finditer(text):
            if any(start < match.end() and match.start() < end for start, end in taken):
                continue
            taken.append(match.span())
            named[match.start()] = " ".join(match.group().split())
    ordered = dict.fromkeys(named[start] for start in sorted(named))
    return tuple(ordered)[:_MOST]
