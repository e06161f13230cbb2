"""The labels of the picture: broken into lines, and put above or below their node, where fewer links run through them.
Pure."""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

COLUMNS: Final = 25
LINES: Final = 2
_SAMPLES: Final = 24

Point = tuple[float, float]
Curve = tuple[Point, Point, Point]
"""A quadratic one: where it begins, what it bends towards, where it ends."""


@dataclass(frozen=True, slots=True)
class Rect:
    """From left to right, from top to bottom."""

    left: float
    top: float
    right: float
    bottom: float

    def holds(self, point: Point) -> bool:
        return self.left <= point[0] <= self.right and self.top <= point[1] <= self.bottom

    def covers(self, other: "Rect") -> bool:
        across = min(self.right, other.right) - max(self.left, other.left)
        return across > 0 and min(self.bottom, other.bottom) - max(self.top, other.top) > 0


@dataclass(frozen=True, slots=True)
class Spot:
    """A node with its label: the two places where the label may stand, and the node itself."""

    node: Rect
    below: Rect
    above: Rect


def turned_up(spots: Sequence[Spot], curves: Sequence[Curve], ground: Rect) -> list[bool]:
    """For each label whether it goes above its node: where fewer links run through it there, and nothing stands."""
    samples = [point for curve in curves for point in _sample_curve(curve)]
    up = [False] * len(spots)
    for number, spot in enumerate(spots):
        if _crossings(spot.above, samples) >= _crossings(spot.below, samples):
            continue
        is_inside = spot.above.top >= ground.top
        others = [other for place, other in enumerate(spots) if place != number]
        taken = [one.above if up[place] else one.below for place, one in enumerate(spots) if place != number]
        if is_inside and not any(spot.above.covers(one) for one in [*taken, *(other.node for other in others)]):
            up[number] = True
    return up


def _crossings(rect: Rect, samples: Iterable[Point]) -> int:
    return sum(rect.holds(point) for point in samples)


def _sample_curve(curve: Curve) -> list[Point]:
    (x1, y1), (cx, cy), (x2, y2) = curve
    found: list[Point] = []
    for place in range(1, _SAMPLES):
        t = place / _SAMPLES
        a, b, c = (1 - t) ** 2, 2 * t * (1 - t), t**2
        found.append((a * x1 + b * cx + c * x2, a * y1 + b * cy + c * y2))
    return found


def wrapped(text: str) -> list[str]:
    """`text` (one safe line) in at most two lines; the rest is an ellipsis.

    Broken at blanks, and where there are none anywhere.
    """
    words = text.split()
    rows: list[str] = []
    row = ""
    while words:
        word = words.pop(0)
        if columns_of(f"{row} {word}".strip()) <= COLUMNS:
            row = f"{row} {word}".strip()
        elif row:
            rows.append(row)
            row = ""
            words.insert(0, word)
        else:
            cut = _cut_to_columns(word, COLUMNS)
            rows.append(cut)
            words.insert(0, word[len(cut) :])
    rows += [row] if row else []
    if len(rows) <= LINES:
        return rows
    last = _cut_to_columns(rows[LINES - 1], COLUMNS - 1).rstrip(" ,.;:-–—")
    return [*rows[: LINES - 1], f"{last}…"]


def _cut_to_columns(text: str, columns: int) -> str:
    """As much of `text` as fits, at least one character."""
    kept = text[:columns]
    while len(kept) > 1 and columns_of(kept) > columns:
        kept = kept[:-1]
    return kept


def columns_of(text: str) -> int:
    """How wide a text is, in usual characters; those of East Asia take two."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)
