"""Frame parts that several requests share. Pure; every text that a person may see is sanitised here."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import msgspec

from reveries import protocol
from reveries.daemon.talk.prompt_memories import PromptMemory
from reveries.knowledge.citations import Citation
from reveries.knowledge.pages import Pointer
from reveries.knowledge.reading.layout import PlacedBox
from reveries.memory.model import Recall, Turn
from reveries.memory.views.episodes import best_quote, said_turn
from reveries.safe_text import one_line, plain

_NAME_CHARS = 200
_QUOTE_CHARS = 400
ROOM_CHARS = 700_000
"""A character has at most 4 bytes in UTF-8, so this fits into a frame of 4 MiB with the rest of it."""


def said_turns(
    turns: Sequence[Turn], cited: Mapping[str, Sequence[Citation]] = MappingProxyType({})
) -> list[protocol.SaidTurn]:
    """Convert stored turns, with what they cite, for one frame; texts that are too long are cut, with a note."""
    return cut_turns(
        [msgspec.structs.replace(said_turn(turn), citations=citation_entries(cited.get(turn.id, ()))) for turn in turns]
    )


def citation_entries(citations: Sequence[Citation]) -> tuple[protocol.CitationEntry, ...]:
    """Convert what a reply rests on in documents."""
    return tuple(
        protocol.copy_fields(
            protocol.CitationEntry,
            citation,
            pointer_id=citation.pointer_id or "",
            document=one_line(citation.document, _NAME_CHARS),
            page_label=one_line(citation.page_label or str(citation.page_number), _NAME_CHARS),
            quote=one_line(citation.quote, _QUOTE_CHARS),
            boxes=place_boxes(citation.boxes),
        )
        for citation in citations
    )


def place_boxes(boxes: Sequence[PlacedBox]) -> list[protocol.PlaceBox]:
    """Convert the places of a pointer."""
    return [
        protocol.PlaceBox(placed.page, placed.box.x, placed.box.y, placed.box.width, placed.box.height)
        for placed in boxes
    ]


def pointer_entry(pointer: Pointer, document: str, number: int) -> protocol.PointerEntry:
    """Convert a pointer to its frame part. `number`: the place of its document among those of its project."""
    return protocol.PointerEntry(
        pointer_id=pointer.id,
        short_id=f"d{number}.p{pointer.page_number}.b{pointer.position}",
        document=one_line(document, _NAME_CHARS),
        page_number=pointer.page_number,
        page_label=one_line(pointer.shown_label, _NAME_CHARS),
        kind=pointer.kind,
        title=one_line(pointer.title, _NAME_CHARS),
        text=plain(pointer.text),
        boxes=place_boxes(pointer.boxes),
        cross_references=[one_line(text, _NAME_CHARS) for text in pointer.cross_references],
        is_tainted=bool(pointer.foreign_sources),
    )


def cut_turns(turns: Sequence[protocol.SaidTurn]) -> list[protocol.SaidTurn]:
    """Cut the texts of `turns` that are too long for one frame, with a note."""
    texts = cut_to_share([turn.text for turn in turns])
    return [msgspec.structs.replace(turn, text=text) for turn, text in zip(turns, texts, strict=True)]


def recalled_frame(request_id: int, recall: Recall, memories: Sequence[PromptMemory]) -> protocol.Recalled:
    """Build the frame of what was recalled for a turn; `memories` are those included in the prompt."""
    episodes_in_prompt = {item.episode_id for item in memories}
    items = [_project_item(item) for item in memories if item.project]
    for recalled in recall.episodes:
        quote, speaker = best_quote(recalled)
        items.append(
            protocol.RecalledItem(
                episode_id=recalled.episode.id,
                summary=plain(recalled.episode.summary),
                energy=recalled.energy,
                happened_at=recalled.episode.created_at,
                quote=quote,
                quote_speaker=speaker,
                was_told=recalled.episode.id in episodes_in_prompt,
            )
        )
    return protocol.Recalled(request_id, items)


def _project_item(item: PromptMemory) -> protocol.RecalledItem:
    return protocol.RecalledItem(
        episode_id=item.episode_id,
        summary=one_line(item.line.removeprefix("- "), 1000),
        energy=1.0,
        happened_at=item.said_at,
        quote="",
        quote_speaker="",
        was_told=True,
        project=one_line(item.project),
    )


def cut_to_share(texts: Sequence[str], room_chars: int = ROOM_CHARS) -> list[str]:
    """Cut `texts` to about `room_chars` characters together. Short ones stay whole; long ones are cut at one length,
    with a note of how much is missing."""
    most = _shared_cut_length(sorted(map(len, texts)), room_chars)
    return [
        text if len(text) <= most else f"{text[:most]}\u2026 ({len(text) - most:,} more characters)" for text in texts
    ]


def _shared_cut_length(lengths: Sequence[int], room_chars: int) -> int:
    """Return the length at which all of `lengths` (ascending) must be cut to fit."""
    left = room_chars
    for place, length in enumerate(lengths):
        share = left // (len(lengths) - place)
        if length > share:
            return share
        left -= length
    return lengths[-1] if lengths else 0
