"""Columns of running text, so that a line of the left one is never read into the right one."""

from statistics import median
from typing import Final

from reveries.knowledge.reading.content import Line, bounds_of

_BIN_POINTS: Final = 2.0
_NARROWEST_GUTTER: Final = 0.7
"""In heights of the type."""
_FEWEST_LINES: Final = 3
_CROSSING_SHARE: Final = 0.3
"""Titles, pictures' captions and tables may cross a gutter, but no more of the lines than this."""
_FILLED_SHARE: Final = 0.55
_PROSE_CHARACTERS: Final = 18
_MOST_DEPTH: Final = 4
_FEWEST_BESIDE: Final = 6
_LEVEL: Final = 0.15
"""Two lines whose feet differ by less than this share of the type stand at the same height."""
_LEVEL_SHARE: Final = 0.6


def split_columns(lines: list[Line], depth: int = 0) -> list[list[Line]]:
    """Groups of lines in reading order; each is one column, or what stands above, between and below columns."""
    gutter = _find_gutter(lines) if len(lines) >= 2 * _FEWEST_LINES and depth < _MOST_DEPTH else None
    if gutter is None:
        return [lines] if lines else []
    groups: list[list[Line]] = []
    strip: list[Line] = []
    crossing: list[Line] = []
    for line in sorted(lines, key=lambda line: line.top):
        if line.left < gutter - _BIN_POINTS and line.right > gutter + _BIN_POINTS:
            groups += _split_strip(strip, gutter, depth)
            strip = []
            crossing.append(line)
        else:
            groups += [crossing] if crossing else []
            crossing = []
            strip.append(line)
    return groups + _split_strip(strip, gutter, depth) + ([crossing] if crossing else [])


def _split_strip(lines: list[Line], gutter: float, depth: int) -> list[list[Line]]:
    left = [line for line in lines if line.left + line.right < 2 * gutter]
    right = [line for line in lines if line.left + line.right >= 2 * gutter]
    return split_columns(left, depth + 1) + split_columns(right, depth + 1)


def _find_gutter(lines: list[Line]) -> float | None:
    """The middle of the widest upright gap between two columns of running text."""
    around = bounds_of(lines)
    bins = int(around.width / _BIN_POINTS) + 1
    changes = [0] * (bins + 1)
    for line in lines:
        changes[int((line.left - around.left) / _BIN_POINTS)] += 1
        changes[min(bins, int((line.right - around.left) / _BIN_POINTS) + 1)] -= 1
    covered, counts = 0, []
    for change in changes[:bins]:
        covered += change
        counts.append(covered)
    size = median(line.size for line in lines)
    most = _CROSSING_SHARE * len(lines)
    candidates = []
    for start, end in _find_gaps(counts, most):
        width = (end - start) * _BIN_POINTS
        if width >= _NARROWEST_GUTTER * size and start > 0 and end < bins:
            candidates.append((width, around.left + (start + end) / 2 * _BIN_POINTS))
    for _, gutter in sorted(candidates, reverse=True):
        if _divides_prose(lines, gutter):
            return gutter
    return None


def _find_gaps(counts: list[int], most: float) -> list[tuple[int, int]]:
    """Runs of bins that few lines cover: of each dip, its lowest part."""
    gaps, at = [], 0
    while at < len(counts):
        if counts[at] > most:
            at += 1
            continue
        end = at
        while end < len(counts) and counts[end] <= most:
            end += 1
        lowest = min(counts[at:end])
        start = at + counts[at:end].index(lowest)
        stop = start
        while stop < end and counts[stop] == lowest:
            stop += 1
        gaps.append((start, stop))
        at = end
    return gaps


def _divides_prose(lines: list[Line], gutter: float) -> bool:
    """Running text on both sides, or on one, at other heights than the lines of a chart or table beside it."""
    left = [line for line in lines if line.right <= gutter + _BIN_POINTS]
    right = [line for line in lines if line.left >= gutter - _BIN_POINTS]
    if len(left) < _FEWEST_LINES or len(right) < _FEWEST_LINES:
        return False
    if _is_prose(left) and _is_prose(right):
        return True
    return _runs_beside(left, right) or _runs_beside(right, left)


def _runs_beside(lines: list[Line], others: list[Line]) -> bool:
    """Whether those of the lines that have others beside them are running text and no heads of rows."""
    top, bottom = min(other.top for other in others), max(other.bottom for other in others)
    beside = [line for line in lines if top - line.size < line.top and line.bottom < bottom + line.size]
    if len(beside) < _FEWEST_BESIDE or not _is_prose(beside):
        return False
    return _share_of_rows(beside, others) < _LEVEL_SHARE


def _share_of_rows(lines: list[Line], others: list[Line]) -> float:
    """The share of lines that have one of the others at the same height, as the cells of a row do."""
    level = sum(any(abs(line.bottom - other.bottom) < _LEVEL * line.size for other in others) for line in lines)
    return level / len(lines)


def _is_prose(lines: list[Line]) -> bool:
    """Lines that fill their column and are mostly letters."""
    if len(lines) < _FEWEST_LINES:
        return False
    width = bounds_of(lines).width
    texts = [line.text for line in lines]
    characters = sum(map(len, texts))
    digits = sum(char.isdigit() for text in texts for char in text)
    return (
        median(len(text) for text in texts) >= _PROSE_CHARACTERS
        and median(line.width for line in lines) >= _FILLED_SHARE * width
        and digits < 0.25 * characters
    )
