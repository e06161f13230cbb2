"""Index of texts that are only on disk (dormant episodes, and turns that left the live index), searchable by words and
by vectors. A text is added in the transaction that takes it out of the live memory, and removed in the one that wakes
it."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

import structlog

from reveries.db import vector_tables
from reveries.db.checksums import checksum
from reveries.db.database import Database, Row, Transaction
from reveries.db.vector_tables import StoredVectorTable
from reveries.memory.changes import ChangeSet, Waking
from reveries.memory.live import LiveMemory
from reveries.memory.model import Episode, Turn

_FILL_ROWS = 1000

log = structlog.get_logger("deep")


@dataclass(frozen=True, slots=True)
class DeepCounts:
    """Number of texts that are only on disk."""

    episodes: int = 0
    """Dormant episodes."""
    turns: int = 0
    texts: int = 0


class DeepStore:
    """The texts that are only on disk, and the two indexes over them. Call `open` first."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._tables: dict[str, StoredVectorTable] = {}
        self.counts = self._next_counts = DeepCounts()
        """As of the last commit, so that a search can be skipped without reading the disk."""

    @property
    def is_indexed(self) -> bool:
        """Whether sqlite-vec is available; otherwise the vectors are scanned."""
        return self._database.has_vector_search

    def table_of(self, model_id: str) -> StoredVectorTable | None:
        """Return the vector table of a model; None if the vectors must be scanned."""
        table = self._tables.get(model_id)
        return table if table is not None and table.is_whole and self.is_indexed else None

    async def open(self) -> None:
        """Load the state from the file; drop vector tables that are unfinished or cannot be kept up to date."""
        tables = await vector_tables.list_vector_tables(self._database)
        if stale := [table for table in tables if not (self.is_indexed and table.is_whole)]:
            async with self._database.transaction() as transaction:
                for table in stale:
                    if self.is_indexed:
                        await vector_tables.drop_vector_table(transaction, table)
                    else:
                        await vector_tables.erase_without_extension(transaction, table)
        self._tables = {table.model_id: table for table in tables if table not in stale}
        self.counts = _counts((await self._database.rows("deep.counts"))[0])

    async def write_changes(
        self, transaction: Transaction, changes: ChangeSet, live: LiveMemory, model_id: str
    ) -> None:
        """Add the texts that `changes` moves to the disk and remove those it wakes; `live` has the state before."""
        if changes.dormant or changes.put_away_turn_ids:
            await self._move_to_disk(transaction, changes, live, model_id)
        if changes.woken:
            await self._restore(transaction, changes)
        if changes.dormant or changes.put_away_turn_ids or changes.woken:
            self._next_counts = _counts((await transaction.rows("deep.counts"))[0])

    def note_commit(self, changes: ChangeSet) -> None:
        """Update the counts after `write_changes` for `changes` is committed."""
        if changes.dormant or changes.put_away_turn_ids or changes.woken:
            self.counts = self._next_counts

    async def erase(self, transaction: Transaction, owners: Iterable[str], experiences: Iterable[str]) -> int:
        """Delete the texts of episodes and turns (`owners`), and all texts of `experiences`; how many. Call `recount`
        after the commit."""
        named = {"owners": json.dumps(sorted(owners)), "experiences": json.dumps(sorted(experiences))}
        ids = [int(row["id"]) for row in await transaction.rows("forget.deep_ids", named)]
        for table in self._tables.values():
            await vector_tables.remove_vectors(transaction, table, ids)
        await transaction.run("forget.drop_deep", {"ids": json.dumps(ids)})
        return len(ids)

    async def recount(self) -> None:
        """Read the counts again."""
        self.counts = self._next_counts = _counts((await self._database.rows("deep.counts"))[0])

    async def put_episode(self, transaction: Transaction, episode: Episode) -> None:
        """Insert the new text of a dormant episode; `erase` the old one first."""
        await transaction.run("deep.insert", _deep_episode_row(episode))

    async def update_vectors(
        self, transaction: Transaction, model_id: str, kind: str, owner_ids: Sequence[str]
    ) -> None:
        """Copy vectors that were just written into the vector table, for texts that are already here."""
        table = self._tables.get(model_id)
        if table is None or not self.is_indexed:
            return
        named = {"model_id": model_id, "kind": kind, "owner_ids": json.dumps(list(owner_ids))}
        rows = await transaction.rows("deep.vectors_of", named)
        await vector_tables.remove_vectors(transaction, table, [int(row["id"]) for row in rows])
        await vector_tables.put_vectors(transaction, table, [(int(row["id"]), row["vector"]) for row in rows])

    async def ensure_table(self, model_id: str, dimensions: int) -> None:
        """Build a model's vector table if it is missing, a thousand rows per transaction, and drop those of other
        models. Until it is complete the vectors are scanned."""
        if not self.is_indexed or not dimensions:
            return
        if others := [table for name, table in self._tables.items() if name != model_id]:
            async with self._database.transaction() as transaction:
                for table in others:
                    await vector_tables.drop_vector_table(transaction, table)
            self._tables = {name: table for name, table in self._tables.items() if table not in others}
        if model_id not in self._tables and self.counts.texts:
            await self._fill_table(model_id, dimensions)

    async def _fill_table(self, model_id: str, dimensions: int) -> None:
        async with self._database.transaction() as transaction:
            table = await vector_tables.create_vector_table(transaction, model_id, dimensions, is_whole=False)
            until = int((await transaction.rows("deep.last_id"))[0]["id"])
        # From now on new texts are written into it as well.
        self._tables[model_id] = table
        after, rows = 0, 0
        while after < until:
            async with self._database.transaction() as transaction:
                named = {"model_id": model_id, "after": after, "until": until, "limit": _FILL_ROWS}
                page = await transaction.rows("deep.vectors_after", named)
                vectors = [(int(row["id"]), row["vector"]) for row in page if row["vector"] is not None]
                # Vectors that were re-embedded meanwhile are already in the table.
                await vector_tables.remove_vectors(transaction, table, [row_id for row_id, _ in vectors])
                await vector_tables.put_vectors(transaction, table, vectors)
            rows += len(vectors)
            after = int(page[-1]["id"]) if page else until
        async with self._database.transaction() as transaction:
            await transaction.run("deep.table_is_whole", {"number": table.number, "is_whole": 1})
        self._tables[model_id] = StoredVectorTable(table.number, model_id, dimensions, is_whole=True)
        log.info("deep_table.built", model=model_id, vectors=rows)

    async def _move_to_disk(
        self, transaction: Transaction, changes: ChangeSet, live: LiveMemory, model_id: str
    ) -> None:
        dormant = [episode for entry in changes.dormant if (episode := live.graph.get(entry.episode_id)) is not None]
        names = dict.fromkeys([turn.id for episode in dormant for turn in live.turns.turns_of(episode.id)])
        names |= dict.fromkeys(changes.put_away_turn_ids)
        turns = [live.turns.turn(row) for name in names if (row := live.turns.row_of(name)) is not None]
        await transaction.run_many("deep.insert", [*map(_deep_turn_row, turns), *map(_deep_episode_row, dormant)])
        gone = [entry for entry in changes.dormant if entry.episode_id in live.graph]
        await transaction.run_many("deep.fall_dormant", [{"episode_id": entry.episode_id} for entry in gone])
        await transaction.run_many(
            "deep.note", [{**_dormancy_row(e.episode_id, e.since, e.reason), "became": "dormant"} for e in gone]
        )
        if model_id not in self._tables and self.is_indexed and not self.counts.texts and live.dimensions:
            # There are no texts yet, so the new table is complete.
            table = await vector_tables.create_vector_table(transaction, model_id, live.dimensions, is_whole=True)
            self._tables[model_id] = table
        await self.update_vectors(transaction, model_id, "turn", [turn.id for turn in turns])
        await self.update_vectors(transaction, model_id, "episode", [episode.id for episode in dormant])

    async def _restore(self, transaction: Transaction, changes: ChangeSet) -> None:
        woken = {entry.episode_id for entry in changes.woken}
        turn_ids = [entry.turn.id for entry in changes.indexed if entry.episode_id in woken]
        ids = [*await _text_ids(transaction, "turn", turn_ids), *await _text_ids(transaction, "episode", woken)]
        if self.is_indexed:
            for table in self._tables.values():
                await vector_tables.remove_vectors(transaction, table, ids)
        await transaction.run_many("deep.take_back", [{"id": row_id} for row_id in ids])
        for entry in changes.woken:
            await transaction.run("deep.wake", {"episode_id": entry.episode_id})
            await transaction.run("deep.note", _waking_row(entry))


def _counts(row: Row) -> DeepCounts:
    return DeepCounts(row["episodes"], row["turns"], row["texts"])


async def _text_ids(transaction: Transaction, kind: str, owner_ids: Iterable[str]) -> list[int]:
    named = {"kind": kind, "owner_ids": json.dumps(sorted(owner_ids))}
    return [int(row["id"]) for row in await transaction.rows("deep.ids_of", named)]


def _dormancy_row(episode_id: str, at: float, reason: str) -> dict[str, object]:
    return {"episode_id": episode_id, "at": at, "reason": reason}


def _waking_row(entry: Waking) -> dict[str, object]:
    return asdict(entry) | {"became": "awake"}


def _deep_turn_row(turn: Turn) -> dict[str, object]:
    return {
        "kind": "turn",
        "owner_id": turn.id,
        "experience_id": turn.experience_id,
        "speaker": turn.speaker,
        "text": turn.text,
        "said_at": turn.said_at,
        "origin": turn.origin.value,
        "tainted": int(turn.tainted or turn.origin.is_tainted),
        "checksum": checksum(turn.speaker, turn.text),
    }


def _deep_episode_row(episode: Episode) -> dict[str, object]:
    return {
        "kind": "episode",
        "owner_id": episode.id,
        "experience_id": None,
        "speaker": "",
        "text": episode.summary,
        "said_at": episode.created_at,
        "origin": episode.origin.value,
        "tainted": int(episode.tainted),
        "checksum": checksum("", episode.summary),
    }
