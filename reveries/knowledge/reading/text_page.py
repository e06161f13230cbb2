"""A page of text: tables, pictures and paragraphs in reading order, each with its title."""

from typing import Final

from reveries.knowledge.reading.blocks import Block, flatten, form_blocks, is_caption, mark_headings
from reveries.knowledge.reading.columns import split_columns
from reveries.knowledge.reading.content import Line, PageContent, Rectangle, bounds_of, is_within
from reveries.knowledge.reading.layout import PointerKind
from reveries.knowledge.reading.pictures import find_pictures
from reveries.knowledge.reading.tables import Table, find_tables, middle_size

_JOINED_CHARACTERS: Final = 700
"""Paragraphs under one heading are one pointer up to this length."""
_JOINED_AREA_SHARE: Final = 0.16
_CAPTION_GAP: Final = 3.0
_CAPTION_CHARACTERS: Final = 600
_BACKGROUND_SHARE: Final = 0.7
_LABEL_CHARACTERS: Final = 40
_TABLE_SHARE: Final = 0.6
_LEAD_LINES: Final = 5
_LEAD_GAP: Final = 2.5
_LEAD_CHARACTERS: Final = 320
_FRAME_CHARACTERS: Final = 2_200
"""A picture whose words are more than this, on a whole page, is a frame around text, unless it has a caption."""


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
    pictures, returned = _keep_pictures(pictures, page, lines)
    blocks = [*_cut_text(free + returned), *tables, *pictures]
    mark_headings(blocks, prose_size)
    blocks = _order(blocks)
    return _join_paragraphs(_name(blocks), page)


def _keep_pictures(pictures: list[Block], page: PageContent, lines: list[Line]) -> tuple[list[Block], list[Line]]:
    """A background or a frame around running text is no picture: its lines are given back."""
    kept, returned = [], []
    for picture in pictures:
        letters = sum(len(line.text) for line in picture.lines)
        share = picture.place.area / max(1.0, page.width * page.height)
        is_dense = letters > _FRAME_CHARACTERS * max(0.1, share) and not _has_caption(picture, lines)
        if is_dense or _is_shaded_table(picture) or (share > _BACKGROUND_SHARE and letters > _LABEL_CHARACTERS):
            returned += picture.lines
        else:
            kept.append(picture)
    return kept, returned


def _is_shaded_table(picture: Block) -> bool:
    """Rows with a background are a table."""
    inside = [line for line in picture.lines if line.angle == 0]
    in_tables = sum(len(table.lines) for table in find_tables(inside))
    return in_tables >= _TABLE_SHARE * len(picture.lines) > 0


def _has_caption(picture: Block, lines: list[Line]) -> bool:
    return any(
        is_caption(line.text)
        and _overlap_across(line, picture.place) > 0
        and -line.size
        < max(line.top - picture.place.bottom, picture.place.top - line.bottom)
        < _CAPTION_GAP * line.size
        for line in lines
    )


def _cut_text(lines: list[Line]) -> list[Block]:
    blocks = []
    for column in split_columns([line for line in lines if line.angle == 0]):
        tables = find_tables(column)
        taken = {id(line) for table in tables for line in table.lines}
        inside = [
            line for line in column if id(line) not in taken and any(is_within(line, table.place) for table in tables)
        ]
        taken.update(map(id, inside))
        if tables:
            tables[0].lines = [*tables[0].lines, *inside]
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


def _name(blocks: list[Block]) -> list[Block]:
    """Captions and what stands close above become the titles of tables and pictures; others bear the heading above.

    Returns the blocks without those that went to a table or picture.
    """
    heading, taken = "", set()
    for at, block in enumerate(blocks):
        if block.is_heading:
            heading = block.title = flatten(block.text)
        if block.kind not in (PointerKind.TABLE, PointerKind.PICTURE):
            block.title = block.title or heading
            continue
        near = [other for other in blocks[max(0, at - 2) : at + 3] if id(other) not in taken]
        caption = next((other for other in near if _is_caption_of(other, block)), None)
        above = next((other for other in reversed(near) if _leads(other, block)), None)
        for other in {id(part): part for part in (above, caption) if part is not None}.values():
            taken.add(id(other))
            block.head = [*block.head, *other.lines]
            block.place = bounds_of([block.place, other.place])
        block.title = _title_of(caption or above, is_caption=caption is not None) or heading
    return [block for block in blocks if id(block) not in taken]


def _title_of(lead: Block | None, *, is_caption: bool) -> str:
    """The bold lines above a table, or all but those in brackets, which tell its units."""
    if lead is None:
        return ""
    if is_caption:
        return flatten(lead.text)
    named = [line for line in lead.lines if not line.text.startswith("(") and not line.text.endswith(":")]
    bold = [line.text for line in named if line.is_bold]
    return flatten(" ".join(bold or [line.text for line in named]))


def _is_caption_of(other: Block, block: Block) -> bool:
    """Whether a text begins like a caption and stands right above or below."""
    if other.kind is not PointerKind.PARAGRAPH or not is_caption(other.text) or len(other.text) > _CAPTION_CHARACTERS:
        return False
    gap = max(other.place.top - block.place.bottom, block.place.top - other.place.bottom)
    return gap < _CAPTION_GAP * other.size and _overlap_across(other.place, block.place) > 0


def _leads(other: Block, block: Block) -> bool:
    """Whether a few lines right above are the name and the units of a table, or the heading of a chart."""
    if other.kind is not PointerKind.PARAGRAPH or not other.lines or len(other.lines) > _LEAD_LINES:
        return False
    gap = block.place.top - other.place.bottom
    if not -0.5 * other.size <= gap < _LEAD_GAP * other.size or len(other.text) > _LEAD_CHARACTERS:
        return False
    if _overlap_across(other.place, block.place) < 0.5 * min(other.place.width, block.place.width):
        return False
    return block.kind is PointerKind.TABLE or other.is_heading or other.lines[0].is_bold


def _overlap_across(place: Rectangle, other: Rectangle) -> float:
    return min(place.right, other.right) - max(place.left, other.left)


def _join_paragraphs(blocks: list[Block], page: PageContent) -> list[Block]:
    """A heading goes with what it heads; short paragraphs under one heading are one pointer."""
    joined: list[Block] = []
    for block in blocks:
        last = joined[-1] if joined else None
        if last is not None and _can_join(last, block, page):
            last.is_heading = last.is_heading and block.is_heading
            if block.kind is PointerKind.LIST:
                last.kind = PointerKind.LIST
            last.join(block)
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
