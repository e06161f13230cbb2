"""Labels of a picture: wrap them, and place each above or below its node, where fewer links cross it. Pure."""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

COLUMNS: Final = 25
LINES: Final = 2
_SAMPLES: Final = 24

Point = tuple[float, float]
Curve = tuple[Point, Point, Point]
"""A quadratic curve: start, control point, end."""


@dataclass(frozen=True, slots=True)
class Rect:
    """A rectangle; `top` is less than `bottom`."""

    left: float
    top: float
    right: float
    bottom: float

    def contains(self, point: Point) -> bool:
        return self.left <= point[0] <= self.right and self.top <= point[1] <= self.bottom

    def overlaps(self, other: "Rect") -> bool:
        across = min(self.right, other.right) - max(self.left, other.left)
        return across > 0 and min(self.bottom, other.bottom) - max(self.top, other.top) > 0


@dataclass(frozen=True, slots=True)
class Spot:
    """A node, and the two possible places of its label."""

    node: Rect
    below: Rect
    above: Rect


def choose_labels_above(spots: Sequence[Spot], curves: Sequence[Curve], ground: Rect) -> list[bool]:
    """Decide for each label whether it goes above its node: if fewer links cross it there, and the place is free."""
    samples = [point for curve in curves for point in _sample_curve(curve)]
    is_above = [False] * len(spots)
    for number, spot in enumerate(spots):
        if _count_crossings(spot.above, samples) >= _count_crossings(spot.below, samples):
            continue
        is_inside = spot.above.top >= ground.top
        others = [other for place, other in enumerate(spots) if place != number]
        taken = [one.above if is_above[place] else one.below for place, one in enumerate(spots) if place != number]
        if is_inside and not any(spot.above.overlaps(one) for one in [*taken, *(other.node for other in others)]):
            is_above[number] = True
    return is_above


def _count_crossings(rect: Rect, samples: Iterable[Point]) -> int:
    return sum(rect.contains(point) for point in samples)


def _sample_curve(curve: Curve) -> list[Point]:
    (x1, y1), (cx, cy), (x2, y2) = curve
    points: list[Point] = []
    for place in range(1, _SAMPLES):
        t = place / _SAMPLES
        a, b, c = (1 - t) ** 2, 2 * t * (1 - t), t**2
        points.append((a * x1 + b * cx + c * x2, a * y1 + b * cy + c * y2))
    return points


def wrap_label(text: str) -> list[str]:
    """Wrap `text` (one safe line) into at most two lines, ending with an ellipsis if it was cut.

    Lines break at spaces, or anywhere in words that are too long.
    """
    words = text.split()
    rows: list[str] = []
    row = ""
    while words:
        word = words.pop(0)
        if count_columns(f"{row} {word}".strip()) <= COLUMNS:
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
    """Return the part of `text` that fits, at least one character."""
    kept = text[:columns]
    while len(kept) > 1 and count_columns(kept) > columns:
        kept = kept[:-1]
    return kept


def count_columns(text: str) -> int:
    """Return the width of a text in columns; wide East Asian characters take two."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)
