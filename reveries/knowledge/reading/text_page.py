"""A page of text: tables, pictures and paragraphs in reading order, each with its title."""

from typing import Final

from reveries.knowledge.reading.blocks import Block, flatten, form_blocks, is_caption, mark_headings
from reveries.knowledge.reading.columns import split_columns
from reveries.knowledge.reading.content import Line, PageContent, bounds_of, is_within
from reveries.knowledge.reading.layout import PointerKind
from reveries.knowledge.reading.pictures import find_pictures
from reveries.knowledge.reading.tables import Table, find_tables, middle_size

_JOINED_CHARACTERS: Final = 700
"""Paragraphs under one heading are one pointer up to this length."""
_JOINED_AREA_SHARE: Final = 0.16
_CAPTION_GAP: Final = 3.0
_FRAME_CHARACTERS: Final = 1_800
"""A picture whose words are more than this, on a whole page, is a frame around text."""


def cut_text_page(page: PageContent, lines: list[Line], grids: list[Table]) -> list[Block]:
    """Tables, pictures and paragraphs in reading order, with their titles."""
    tables = [Block(PointerKind.TABLE, table.place, table.lines, table) for table in grids]
    taken = {id(line) for table in grids for line in table.lines}
    pictures = [
        Block(PointerKind.PICTURE, place)
        for place in find_pictures(page)
        if not any(place.shared_area(table.place) > 0.3 * min(place.area, table.place.area) for table in grids)
    ]
    free: list[Line] = []
    prose_size = middle_size(lines)
    for line in lines:
        holder = next((picture for picture in pictures if is_within(line, picture.place)), None)
        if id(line) in taken:
            continue
        if holder is not None:
            holder.lines.append(line)
        else:
            free.append(line)
    pictures, returned = _keep_pictures(pictures, page)
    blocks = [*_cut_text(free + returned), *tables, *pictures]
    mark_headings(blocks, prose_size)
    blocks = _order(blocks)
    _name(blocks)
    return _join_paragraphs(blocks, page)


def _keep_pictures(pictures: list[Block], page: PageContent) -> tuple[list[Block], list[Line]]:
    """A background or a frame around running text is no picture: its lines are given back."""
    kept, returned = [], []
    for picture in pictures:
        letters = sum(len(line.text) for line in picture.lines)
        share = picture.place.area / max(1.0, page.width * page.height)
        if letters > _FRAME_CHARACTERS * max(0.15, share) or (share > 0.7 and letters > 40):
            returned += picture.lines
        else:
            kept.append(picture)
    return kept, returned


def _cut_text(lines: list[Line]) -> list[Block]:
    blocks = []
    for column in split_columns([line for line in lines if line.angle == 0]):
        tables = find_tables(column)
        taken = {id(line) for table in tables for line in table.lines}
        inside = [
            line for line in column if id(line) not in taken and any(is_within(line, table.place) for table in tables)
        ]
        taken.update(map(id, inside))
        blocks += [Block(PointerKind.TABLE, table.place, table.lines, table) for table in tables]
        blocks += form_blocks([line for line in column if id(line) not in taken])
    for angle in (90, 180, 270):
        blocks += form_blocks([line for line in lines if line.angle == angle])
    return blocks


def _order(blocks: list[Block]) -> list[Block]:
    """Reading order: columns where a gap runs down between them, else from the top."""
    if len(blocks) < 2:
        return blocks
    for axis in ("left", "top"):
        groups = _divide(blocks, axis)
        if len(groups) > 1:
            if axis == "top":
                groups = _regroup(groups)
                if len(groups) == 1:
                    break
            return [block for group in groups for block in _order(group)]
    return sorted(blocks, key=lambda block: (block.place.top, block.place.left))


def _divide(blocks: list[Block], axis: str) -> list[list[Block]]:
    """Groups of blocks that a gap across the whole page part divides."""
    end = {"left": "right", "top": "bottom"}[axis]
    groups: list[list[Block]] = []
    reached = float("-inf")
    for block in sorted(blocks, key=lambda block: float(getattr(block.place, axis))):
        if getattr(block.place, axis) >= reached - 1.0:
            groups.append([])
        groups[-1].append(block)
        reached = max(reached, getattr(block.place, end))
    return groups


def _regroup(groups: list[list[Block]]) -> list[list[Block]]:
    """Strips that share the gap between their columns stay together: the left column is read to its end first."""
    joined = [groups[0]]
    for group in groups[1:]:
        both = [*joined[-1], *group]
        if len(_divide(joined[-1], "left")) > 1 and len(_divide(group, "left")) > 1 and len(_divide(both, "left")) > 1:
            joined[-1] = both
        else:
            joined.append(group)
    return joined


def _name(blocks: list[Block]) -> None:
    """Captions and headings become the titles of tables and pictures; other blocks bear the heading above them."""
    heading = ""
    for at, block in enumerate(blocks):
        if block.is_heading:
            heading = flatten(block.text)
            block.title = heading
            continue
        if block.kind in (PointerKind.TABLE, PointerKind.PICTURE):
            caption = _caption_of(block, blocks[max(0, at - 2) : at] + blocks[at + 1 : at + 3])
            if caption is not None:
                block.title = flatten(caption.text)
                caption.title = block.title
                if block.kind is PointerKind.PICTURE and not caption.is_heading:
                    block.lines = [*block.lines, *caption.lines]
                    block.place = bounds_of([block.place, caption.place])
                    caption.lines = []
        block.title = block.title or heading


def _caption_of(block: Block, near: list[Block]) -> Block | None:
    for other in near:
        if other.kind is PointerKind.PARAGRAPH and other.lines and is_caption(other.text) and len(other.text) < 600:
            gap = max(other.place.top - block.place.bottom, block.place.top - other.place.bottom)
            if gap < _CAPTION_GAP * other.size:
                return other
    return None


def _join_paragraphs(blocks: list[Block], page: PageContent) -> list[Block]:
    """A heading goes with what it heads; short paragraphs under one heading are one pointer."""
    joined: list[Block] = []
    for block in blocks:
        if not block.lines and block.kind is PointerKind.PARAGRAPH:
            continue  # A caption that went to its picture.
        last = joined[-1] if joined else None
        if last is not None and _can_join(last, block, page):
            last.is_heading = last.is_heading and block.is_heading
            if block.kind is PointerKind.LIST:
                last.kind = PointerKind.LIST
            last.lines = [*last.lines, *block.lines]
            last.place = bounds_of([last.place, block.place])
        else:
            joined.append(block)
    return joined


def _can_join(last: Block, block: Block, page: PageContent) -> bool:
    text_kinds = (PointerKind.PARAGRAPH, PointerKind.LIST)
    if last.kind not in text_kinds or block.kind not in text_kinds or (block.is_heading and not last.is_heading):
        return False
    if block.lines[0].angle != last.lines[-1].angle or block.place.top < last.place.top:
        return False
    shared = min(last.place.right, block.place.right) - max(last.place.left, block.place.left)
    if shared < 0.5 * min(last.place.width, block.place.width):
        return False
    if block.place.top - last.place.bottom > 4 * max(block.size, last.size):
        return False
    if last.is_heading:
        return True
    around = bounds_of([last.place, block.place])
    letters = len(last.text) + len(block.text)
    return letters <= _JOINED_CHARACTERS and around.area <= _JOINED_AREA_SHARE * page.width * page.height
