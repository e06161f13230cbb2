"""Builds the live memory from the database rows in bulk: numbers go into arrays, episodes are decoded when first
read."""

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np

from reveries.db.database import Database, Row
from reveries.index.arrays import Float64, Int64
from reveries.llm.base import Vector
from reveries.memory.graph.arena import PackedLinks, lay_out_links
from reveries.memory.graph.facts import PackedFacts
from reveries.memory.graph.memory_graph import PackedGraph, pack_episode
from reveries.memory.model import Episode, Turn
from reveries.memory.recall.turn_packing import PackedTurns, find_known_rows, pack_turns
from reveries.memory.rows import episode_of, experience_of, turn_of, vector_of
from reveries.memory.snapshot_file import allocate_vectors
from reveries.memory.text.indexed_text import passages_of

_SEPARATOR = "\x1f"


@dataclass(frozen=True, slots=True)
class GraphRows:
    """The database rows that the graph is built from."""

    episodes: Sequence[Row]
    sources: Sequence[Row]
    links: Sequence[Row]
    """One row per node with its links joined; each type is its number in `LINK_TYPES`, one digit."""
    vectors: Sequence[Row]


async def read_graph_rows(database: Database, model_id: str) -> GraphRows:
    """Read the committed rows of the graph."""
    return GraphRows(
        await database.rows("episodes.live"),
        await database.rows("episodes.live_sources"),
        await database.rows("episodes.packed_links"),
        await database.rows("episodes.live_vectors", {"owner_kind": "episode", "model_id": model_id}),
    )


@dataclass(frozen=True, slots=True)
class LiveTurns:
    """The turns of live episodes, and passages of experiences without turns, in order, with their episode ids."""

    turns: Sequence[Turn]
    homes: Sequence[str]
    earlier: PackedTurns | None
    """The turns of an outdated snapshot."""
    earlier_rows: Int64 | None
    """The row of each unchanged turn in `earlier`; -1 if it is not there."""
    missing_vector_ids: Sequence[str]
    """The turns whose vector is not in `earlier`."""


async def read_live_turns(database: Database, mind_name: str, earlier: PackedTurns | None) -> LiveTurns:
    """Read the committed turns of live episodes."""
    turns = await database.rows("turns.live")
    turnless = await database.rows("experiences.live_passages")
    disk_only = frozenset(row["owner_id"] for row in await database.rows("deep.passages"))
    return await asyncio.to_thread(_collect_live_turns, turns, turnless, mind_name, earlier, disk_only)


async def read_turn_vectors(database: Database, model_id: str, dimensions: int, spoken: LiveTurns) -> dict[str, Vector]:
    """Read the vectors that are not in the outdated snapshot. Vectors of another length are ignored."""
    named: dict[str, object] = {"owner_kind": "turn", "model_id": model_id}
    if spoken.earlier is None:
        rows = await database.rows("episodes.live_vectors", named)
    else:
        rows = await database.rows("vectors.of_owners", named | {"owner_ids": json.dumps(spoken.missing_vector_ids)})
    size = 4 * dimensions
    return {row["owner_id"]: vector_of(row["vector"]) for row in rows if len(row["vector"]) == size}


def build_turn_index(spoken: LiveTurns, vectors: Mapping[str, Vector], dimensions: int) -> PackedTurns:
    """Build the index of `spoken`. A turn without a vector gets zeros."""
    return pack_turns(spoken.turns, spoken.homes, vectors, dimensions, spoken.earlier, spoken.earlier_rows)


def _collect_live_turns(
    turns: Sequence[Row], turnless: Sequence[Row], mind_name: str, earlier: PackedTurns | None, disk_only: Set[str]
) -> LiveTurns:
    homes: dict[str, str] = {}
    spoken: dict[str, Turn] = {}
    for turn, home in pair_turns_with_episodes(turns, turnless, mind_name):
        if turn.id not in disk_only:
            spoken.setdefault(turn.id, turn)
            homes[turn.id] = home
    entries = list(spoken.values())
    rows, missing = None, list(spoken)
    if earlier is not None:
        rows = find_known_rows(entries, earlier)
        # A turn whose content changed needs its new vector as well.
        has_vector = np.append(np.any(earlier.values, axis=1), False)[rows]
        missing = [turn.id for turn, is_there in zip(entries, has_vector.tolist(), strict=True) if not is_there]
    return LiveTurns(entries, [homes[name] for name in spoken], earlier, rows, missing)


def pair_turns_with_episodes(
    turns: Sequence[Row], turnless: Sequence[Row], mind_name: str
) -> Iterator[tuple[Turn, str]]:
    """Yield turns, and passages of experiences without turns, each with the id of its episode."""
    for row in turns:
        yield turn_of(row), str(row["episode_id"])
    for row in turnless:
        for passage in passages_of(experience_of(row), mind_name):
            yield passage, str(row["episode_id"])


class RowShelf:
    """Episode rows, decoded when read."""

    def __init__(self, rows: Sequence[Row], sources: Mapping[str, Sequence[str]]) -> None:
        self._rows = rows
        self._sources = sources

    def __call__(self, place: int) -> Episode:
        row = self._rows[place]
        return episode_of(row, self._sources.get(row["id"], ()))

    def raw(self, place: int) -> bytes:
        return pack_episode(self(place))


class _Places(dict[str, int]):
    """Index of each episode; -1 for an unknown one."""

    def __missing__(self, _: str) -> int:
        return -1


def build_graph(rows: GraphRows, dimensions: int) -> PackedGraph:
    """Build the graph from its rows. An episode whose vector is missing, or of another length, gets zeros."""
    ids = [str(row["id"]) for row in rows.episodes]
    places = _Places(zip(ids, range(len(ids)), strict=True))
    sources: dict[str, list[str]] = {}
    for row in rows.sources:
        sources.setdefault(row["episode_id"], []).append(row["experience_id"])
    vectors = allocate_vectors(len(ids), dimensions)
    for row in rows.vectors:
        place, raw = places[row["owner_id"]], row["vector"]
        if place >= 0 and len(raw) == 4 * dimensions:
            vectors[place] = np.frombuffer(raw, dtype="<f4")
    return PackedGraph(
        ids=ids,
        lazy_episodes=RowShelf(rows.episodes, sources),
        vectors=vectors,
        links=_pack_links(rows.links, places),
        facts=_pack_facts(rows.episodes),
    )


def _pack_facts(rows: Sequence[Row]) -> PackedFacts:
    codes: dict[str, int] = {}
    named = (row["conversation_id"] for row in rows)
    conversation = [codes.setdefault(name, len(codes)) if name else -1 for name in named]
    return PackedFacts(
        accessibility=_column(rows, "accessibility"),
        valence=_column(rows, "valence"),
        salience=_column(rows, "salience"),
        last_accessed_at=_column(rows, "last_accessed_at"),
        created_at=_column(rows, "created_at"),
        ended_at=_column(rows, "ended_at"),
        conversation=np.array(conversation, dtype=np.int32),
        conversations=list(codes),
    )


def _column(rows: Sequence[Row], name: str) -> Float64:
    return np.fromiter((row[name] for row in rows), dtype=np.float64, count=len(rows))


def _pack_links(rows: Sequence[Row], places: _Places) -> PackedLinks:
    """Return the links between known episodes, ordered by source."""
    counts = np.fromiter((len(row["types"]) for row in rows), dtype=np.int64, count=len(rows))
    sources = np.repeat(np.array([places[row["from_id"]] for row in rows], dtype=np.int64), counts)
    names = _SEPARATOR.join([row["targets"] for row in rows]).split(_SEPARATOR) if rows else []
    targets = np.fromiter(map(places.__getitem__, names), dtype=np.int64, count=len(names))
    kinds = np.frombuffer("".join([row["types"] for row in rows]).encode("ascii"), dtype=np.uint8) - ord("0")
    strengths = np.fromstring(" ".join([row["strengths"] for row in rows]), dtype=np.float64, sep=" ")
    kept = (targets >= 0) & (sources >= 0) & (targets != sources)
    order = np.flatnonzero(kept)[np.argsort(sources[kept], kind="stable")]
    return lay_out_links(
        np.bincount(sources[order], minlength=len(places)).astype(np.int32),
        targets[order].astype(np.int32),
        kinds[order],
        np.clip(strengths[order], 0.0, 1.0).astype(np.float32),
    )
