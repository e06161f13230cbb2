"""The live graph made from the rows of the database, in bulk: numbers into arrays, texts left until they are wanted."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

import numpy as np

from reveries.db.database import Database, Row
from reveries.memory.arena import PackedLinks
from reveries.memory.graph import LINK_TYPES, PackedGraph
from reveries.memory.model import Episode
from reveries.memory.rows import episode_of
from reveries.memory.snapshot import with_room

_SEPARATOR = "\x1f"
_NO_SOURCES: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GraphRows:
    """Everything in the database that the graph is made of."""

    episodes: Sequence[Row]
    sources: Sequence[Row]
    links: Sequence[Row]
    """One row a node: its links, joined."""
    vectors: Sequence[Row]


async def read_graph_rows(database: Database, model_id: str) -> GraphRows:
    """The rows, as they are committed."""
    return GraphRows(
        await database.rows("episodes.live"),
        await database.rows("episodes.live_sources"),
        await database.rows("episodes.packed_links"),
        await database.rows("episodes.live_vectors", {"owner_kind": "episode", "model_id": model_id}),
    )


def graph_of(rows: GraphRows, dimensions: int) -> PackedGraph:
    """The graph that `rows` describe. An episode whose vector is missing, or of another length, has zeros."""
    ids = [str(row["id"]) for row in rows.episodes]
    index = dict(zip(ids, range(len(ids)), strict=True))
    sources: dict[str, list[str]] = {}
    for row in rows.sources:
        sources.setdefault(row["episode_id"], []).append(row["experience_id"])
    vectors = with_room(len(ids), dimensions)
    for row in rows.vectors:
        place, raw = index.get(row["owner_id"]), row["vector"]
        if place is not None and len(raw) == 4 * dimensions:
            vectors[place] = np.frombuffer(raw, dtype="<f4")
    return PackedGraph(
        ids=ids,
        episodes=[partial(_episode, row, sources.get(row["id"], _NO_SOURCES)) for row in rows.episodes],
        vectors=vectors,
        links=_links_of(rows.links, index),
        accessibility=_column(rows.episodes, "accessibility"),
        valence=_column(rows.episodes, "valence"),
        last_accessed_at=_column(rows.episodes, "last_accessed_at"),
        created_at=_column(rows.episodes, "created_at"),
    )


def _episode(row: Row, sources: Iterable[str]) -> Episode:
    return episode_of(row, sources)


def _column(rows: Sequence[Row], name: str) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    return np.fromiter((row[name] for row in rows), dtype=np.float64, count=len(rows))


def _links_of(rows: Sequence[Row], index: dict[str, int]) -> PackedLinks:
    """Links between episodes that are both here, ordered by where they come from."""
    numbers = {kind.value: number for number, kind in enumerate(LINK_TYPES)}
    known = [row for row in rows if row["from_id"] in index]
    ends = [row["targets"].split(_SEPARATOR) for row in known]
    sources = np.repeat([index[row["from_id"]] for row in known], [len(end) for end in ends]).astype(np.int32)
    targets = np.fromiter((index.get(end, -1) for end in chain.from_iterable(ends)), dtype=np.int32, count=len(sources))
    kinds = np.fromiter(
        (numbers[kind] for row in known for kind in row["types"].split(_SEPARATOR)), dtype=np.uint8, count=len(sources)
    )
    strengths = np.array(
        [strength for row in known for strength in row["strengths"].split(_SEPARATOR)], dtype=np.float32
    )
    kept = (targets >= 0) & (targets != sources)
    sources, targets, kinds, strengths = sources[kept], targets[kept], kinds[kept], strengths[kept]
    order = np.argsort(sources, kind="stable")
    return PackedLinks(
        np.bincount(sources, minlength=len(index)).astype(np.int32),
        targets[order],
        kinds[order],
        np.clip(strengths[order], 0.0, 1.0),
    )
