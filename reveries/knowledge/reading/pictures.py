"""Pictures and charts: images of the file, and clusters of drawn lines and shapes."""

from collections import defaultdict
from typing import Final

from reveries.knowledge.reading.content import PageContent, Rectangle, bounds_of

_CELL_POINTS: Final = 9.0
_FINEST_CELLS: Final = 320
"""Shapes in neighbouring cells of a raster are one picture. Cells are this large, and no more of them along a page."""
_BORDER_SHARE: Final = 0.7
_LARGE_SHARE: Final = 0.03
"""An image of this size is a picture by itself; smaller ones may be strips of one."""
_SMALLEST_SHARE: Final = 0.012
_LARGEST_SHARE: Final = 0.9
_SHORTEST_SIDE_SHARE: Final = 0.05
_BACKGROUND_SHARE: Final = 0.6
_FEWEST_SHAPES: Final = 8
"""Of drawn shapes: fewer are borders, rules and ornaments."""


def find_pictures(page: PageContent) -> list[Rectangle]:
    """Places of pictures and charts, largest first; none lies within another."""
    page_area = page.width * page.height
    clusters = [
        cluster
        for shapes, fewest in ((page.pictures, 1), (page.drawings, _FEWEST_SHAPES))
        for cluster in _cluster(
            [shape for shape in shapes if shape.area < 0.6 * page_area or fewest == 1], page, fewest
        )
    ]
    kept: list[Rectangle] = []
    for place in sorted(clusters, key=lambda place: -place.area):
        clipped = Rectangle(
            max(0.0, place.left), max(0.0, place.top), min(page.width, place.right), min(page.height, place.bottom)
        )
        if not _SMALLEST_SHARE * page_area <= clipped.area <= _LARGEST_SHARE * page_area:
            continue
        if clipped.width < _SHORTEST_SIDE_SHARE * page.width or clipped.height < _SHORTEST_SIDE_SHARE * page.height:
            continue
        if not any(clipped.shared_area(other) > 0.5 * clipped.area for other in kept):
            kept.append(clipped)
    return kept


def _is_border(shape: Rectangle, page: PageContent) -> bool:
    """A line along the page joins what it divides."""
    thin = min(shape.width, shape.height) < 3
    return thin and (shape.width > _BORDER_SHARE * page.width or shape.height > _BORDER_SHARE * page.height)


def picture_share(page: PageContent) -> float:
    """The share of the page that images of the file cover, at most 1."""
    covered = sum(_clip(picture, page).area for picture in page.pictures)
    return min(1.0, covered / max(1.0, page.width * page.height))


def _clip(place: Rectangle, page: PageContent) -> Rectangle:
    return Rectangle(
        max(0.0, place.left), max(0.0, place.top), min(page.width, place.right), min(page.height, place.bottom)
    )


def _cluster(shapes: list[Rectangle], page: PageContent, fewest: int) -> list[Rectangle]:
    """Shapes that touch or nearly touch on a coarse raster, as one rectangle for each cluster."""
    side = max(_CELL_POINTS, max(page.width, page.height) / _FINEST_CELLS)
    cells: dict[tuple[int, int], list[int]] = defaultdict(list)
    for number, shape in enumerate(shapes):
        for cell in _cells_of(shape, side, page):
            cells[cell].append(number)
    seen: set[tuple[int, int]] = set()
    clusters = []
    for start in cells:
        if start in seen:
            continue
        seen.add(start)
        waiting, members = [start], set()
        while waiting:
            x, y = waiting.pop()
            members.update(cells[x, y])
            for near in ((x + dx, y + dy) for dx in (-1, 0, 1) for dy in (-1, 0, 1)):
                if near in cells and near not in seen:
                    seen.add(near)
                    waiting.append(near)
        if len(members) >= fewest:
            clusters.append(bounds_of([shapes[number] for number in members]))
    return clusters


def _cells_of(shape: Rectangle, side: float, page: PageContent) -> list[tuple[int, int]]:
    left, right = max(0, int(shape.left / side)), min(int(shape.right / side), int(page.width / side))
    top, bottom = max(0, int(shape.top / side)), min(int(shape.bottom / side), int(page.height / side))
    if (right - left) * (bottom - top) > 400 and shape.width > 3 and shape.height > 3:
        # A large frame or background: its edges hold a cluster together, its inside holds nothing.
        rim = [(x, y) for x in range(left, right + 1) for y in (top, bottom)]
        return rim + [(x, y) for y in range(top, bottom + 1) for x in (left, right)]
    return [(x, y) for x in range(left, right + 1) for y in range(top, bottom + 1)]
