"""Lay out a small graph: linked nodes close together, labels without overlap. Pure and deterministic.

Stress is minimised by gradient descent over the shortest path lengths (Zheng, Pawar, Goodman 2018), then overlapping
boxes are pushed apart; if the canvas is too small for that, it grows.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import combinations
from typing import Final

_ROUNDS: Final = 60
_PUSHES: Final = 400
_GROWTH: Final = 1.08
_MOST_GROWTHS: Final = 40
_GOLDEN_ANGLE: Final = math.pi * (3.0 - math.sqrt(5.0))
_LENGTH_POWER: Final = 0.6
_RANK_SHARE: Final = 0.5
_UNCONNECTED_FACTOR: Final = 2.0
"""Unconnected nodes are this many times further apart than the longest shortest path."""


@dataclass(frozen=True, slots=True)
class LabelBox:
    """The space of a node with its label, measured from its centre."""

    half_width: float
    above: float
    below: float


@dataclass(frozen=True, slots=True)
class Bond:
    """A connection of two nodes (indices), with a strength of 0 to 1."""

    first: int
    second: int
    strength: float


@dataclass(frozen=True, slots=True)
class Layout:
    """The centre of each node, in a canvas of this size."""

    width: float
    height: float
    points: tuple[tuple[float, float], ...]


def arrange_boxes(boxes: Sequence[LabelBox], bonds: Sequence[Bond], width: float, height: float) -> Layout:
    """Place each box in a canvas of at least this size, without overlap."""
    if not boxes:
        return Layout(width, height, ())
    raw = _relax_layout(len(boxes), bonds)
    for _ in range(_MOST_GROWTHS):
        points = _push_apart(_fit_canvas(raw, boxes, width, height), boxes, width, height)
        if not has_overlaps(points, boxes):
            return Layout(width, height, tuple(points))
        width, height = width * _GROWTH, height * _GROWTH
    return _arrange_in_rows(boxes, width)


def has_overlaps(points: Sequence[tuple[float, float]], boxes: Sequence[LabelBox]) -> bool:
    """Whether any two boxes overlap."""
    return any(
        across > 1e-6 and down > 1e-6
        for first, second in combinations(range(len(boxes)), 2)
        for across, down in [_overlap(points[first], points[second], boxes[first], boxes[second])]
    )


def spanning_bonds(count: int, bonds: Sequence[Bond]) -> list[int]:
    """Return the indices of the bonds of a maximum spanning forest."""
    leader = list(range(count))

    def root(node: int) -> int:
        while leader[node] != node:
            leader[node] = leader[leader[node]]
            node = leader[node]
        return node

    kept: list[int] = []
    for place in sorted(
        range(len(bonds)), key=lambda index: (-bonds[index].strength, bonds[index].first, bonds[index].second)
    ):
        first, second = root(bonds[place].first), root(bonds[place].second)
        if first != second:
            leader[first] = second
            kept.append(place)
    return kept


def _relax_layout(count: int, bonds: Sequence[Bond]) -> list[tuple[float, float]]:
    """Place points so that their distances approximate the shortest path lengths."""
    lengths = _path_lengths(count, bonds)
    points = [
        (
            math.sqrt(place + 0.5) * math.cos(place * _GOLDEN_ANGLE),
            math.sqrt(place + 0.5) * math.sin(place * _GOLDEN_ANGLE),
        )
        for place in range(count)
    ]
    pairs = [(a, b, lengths[a][b]) for a, b in combinations(range(count), 2)]
    if not pairs:
        return points
    longest, shortest = max(length for *_, length in pairs), min(length for *_, length in pairs)
    fastest, slowest = longest**2, 0.05 * shortest**2
    for done in range(_ROUNDS):
        step = fastest * (slowest / fastest) ** (done / (_ROUNDS - 1))
        # A different but deterministic order each round, so that the list order has no influence.
        turn = (done * 7919) % len(pairs)
        for a, b, wanted in pairs[turn:] + pairs[:turn]:
            share = min(1.0, step / wanted**2)
            (ax, ay), (bx, by) = points[a], points[b]
            apart = math.hypot(ax - bx, ay - by) or 1e-9
            pull = share * (apart - wanted) / (2.0 * apart)
            points[a] = (ax - pull * (ax - bx), ay - pull * (ay - by))
            points[b] = (bx + pull * (ax - bx), by + pull * (ay - by))
    return points


def _path_lengths(count: int, bonds: Sequence[Bond]) -> list[list[float]]:
    """Return the shortest path length between all pairs; a strong bond is short."""
    neighbours: dict[int, dict[int, float]] = {node: {} for node in range(count)}
    for bond in bonds:
        length = 1.6 - max(0.0, min(1.0, bond.strength))
        for start, other in ((bond.first, bond.second), (bond.second, bond.first)):
            neighbours[start][other] = min(length, neighbours[start].get(other, math.inf))
    lengths = [_path_lengths_from(node, neighbours) for node in range(count)]
    furthest = max((length for row in lengths for length in row if length < math.inf), default=1.0) or 1.0
    return [
        [(length if length < math.inf else furthest * _UNCONNECTED_FACTOR) ** _LENGTH_POWER for length in row]
        for row in lengths
    ]


def _path_lengths_from(start: int, neighbours: Mapping[int, Mapping[int, float]]) -> list[float]:
    lengths = [math.inf] * len(neighbours)
    lengths[start] = 0.0
    waiting = [(0.0, start)]
    while waiting:
        length, node = heappop(waiting)
        if length > lengths[node]:
            continue
        for other, more in neighbours[node].items():
            if length + more < lengths[other]:
                lengths[other] = length + more
                heappush(waiting, (length + more, other))
    return lengths


def _fit_canvas(
    points: Sequence[tuple[float, float]], boxes: Sequence[LabelBox], width: float, height: float
) -> list[tuple[float, float]]:
    """Rotate the points along the canvas, and stretch them to fill it."""
    rotated = _align_horizontally(points)
    side = max(box.half_width for box in boxes)
    above, below = max(box.above for box in boxes), max(box.below for box in boxes)
    across = _spread_evenly([x for x, _ in rotated])
    down = _spread_evenly([y for _, y in rotated])
    return [
        (side + (width - 2 * side) * x, above + (height - above - below) * y) for x, y in zip(across, down, strict=True)
    ]


def _spread_evenly(values: Sequence[float]) -> list[float]:
    """Scale values to 0..1, half by value and half by rank: dense groups are spread out, and empty areas filled."""
    first, last = min(values), max(values)
    ranks = {
        place: rank for rank, place in enumerate(sorted(range(len(values)), key=lambda index: (values[index], index)))
    }
    most = max(1, len(values) - 1)
    if last - first <= 1e-9:
        return [ranks[place] / most for place in range(len(values))]
    return [
        (1.0 - _RANK_SHARE) * (value - first) / (last - first) + _RANK_SHARE * ranks[place] / most
        for place, value in enumerate(values)
    ]


def _align_horizontally(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Rotate the points about their centre so that they are widest horizontally."""
    middle_x = sum(x for x, _ in points) / len(points)
    middle_y = sum(y for _, y in points) / len(points)
    centred = [(x - middle_x, y - middle_y) for x, y in points]
    xx, yy, xy = (sum(x * x for x, _ in centred), sum(y * y for _, y in centred), sum(x * y for x, y in centred))
    angle = 0.5 * math.atan2(2.0 * xy, xx - yy)
    cos, sin = math.cos(angle), math.sin(angle)
    return [(x * cos + y * sin, y * cos - x * sin) for x, y in centred]


def _push_apart(
    points: list[tuple[float, float]], boxes: Sequence[LabelBox], width: float, height: float
) -> list[tuple[float, float]]:
    """Move overlapping boxes apart in the shorter direction, until none overlap or the round limit is reached."""
    placed = [_clamp_inside(point, box, width, height) for point, box in zip(points, boxes, strict=True)]
    for _ in range(_PUSHES):
        has_moved = False
        for a, b in combinations(range(len(boxes)), 2):
            across, down = _overlap(placed[a], placed[b], boxes[a], boxes[b])
            if across <= 1e-6 or down <= 1e-6:
                continue
            has_moved = True
            (ax, ay), (bx, by) = placed[a], placed[b]
            if across < down:
                step = (across / 2 + 0.01) * (1.0 if ax >= bx else -1.0)
                placed[a], placed[b] = (ax + step, ay), (bx - step, by)
            else:
                step = (down / 2 + 0.01) * (1.0 if ay >= by else -1.0)
                placed[a], placed[b] = (ax, ay + step), (bx, by - step)
            placed[a] = _clamp_inside(placed[a], boxes[a], width, height)
            placed[b] = _clamp_inside(placed[b], boxes[b], width, height)
        if not has_moved:
            break
    return placed


def _overlap(
    point: tuple[float, float], other: tuple[float, float], box: LabelBox, other_box: LabelBox
) -> tuple[float, float]:
    """Return the overlap of two boxes, horizontally and vertically; negative: their distance."""
    across = box.half_width + other_box.half_width - abs(point[0] - other[0])
    upper, lower = (box, other_box) if point[1] <= other[1] else (other_box, box)
    return across, upper.below + lower.above - abs(point[1] - other[1])


def _clamp_inside(point: tuple[float, float], box: LabelBox, width: float, height: float) -> tuple[float, float]:
    x = min(max(point[0], box.half_width), max(box.half_width, width - box.half_width))
    y = min(max(point[1], box.above), max(box.above, height - box.below))
    return x, y


def _arrange_in_rows(boxes: Sequence[LabelBox], width: float) -> Layout:
    """Place the boxes row by row, if nothing else worked."""
    points: list[tuple[float, float]] = []
    x, y, row = 0.0, 0.0, 0.0
    widest = max(width, max(2 * box.half_width for box in boxes))
    for box in boxes:
        if x + 2 * box.half_width > widest:
            x, y, row = 0.0, y + row, 0.0
        points.append((x + box.half_width, y + max(other.above for other in boxes)))
        x, row = x + 2 * box.half_width + 0.1, max(row, max(b.above for b in boxes) + max(b.below for b in boxes) + 0.1)
    return Layout(widest, y + row, tuple(points))
