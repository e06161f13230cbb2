"""What replies cite, as rows: a reload shows what was shown."""

import json
from collections.abc import Iterable, Sequence

import msgspec

from reveries.db.database import Reader, Transaction
from reveries.db.typed_rows import read_row
from reveries.knowledge.citations import Citation
from reveries.knowledge.reading.layout import PlacedBox


async def put_citations(transaction: Transaction, turn_id: str, citations: Sequence[Citation]) -> None:
    """Store what a reply cites, as it is shown."""
    rows = [
        {
            "turn_id": turn_id,
            "position": position,
            "pointer_id": citation.pointer_id,
            "short_id": citation.short_id,
            "state": citation.state.value,
            "made_by": citation.made_by.value,
            "document": citation.document,
            "page_number": citation.page_number,
            "page_label": citation.page_label,
            "quote": citation.quote,
            "boxes": msgspec.json.encode(citation.boxes).decode(),
        }
        for position, citation in enumerate(citations, 1)
    ]
    await transaction.run_many("citations.put", rows)


async def read_citations(source: Reader, turn_ids: Iterable[str]) -> dict[str, list[Citation]]:
    """What these turns cite, by turn."""
    cited: dict[str, list[Citation]] = {}
    for row in await source.rows("citations.of_turns", {"ids": json.dumps(sorted(set(turn_ids)))}):
        boxes = msgspec.json.decode(row["boxes"], type=tuple[PlacedBox, ...])
        cited.setdefault(str(row["turn_id"]), []).append(read_row(Citation, row, boxes=boxes))
    return cited
