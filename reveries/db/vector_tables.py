"""The sqlite-vec tables: one for each embedding model.

They only repeat what is in `vectors`, so they can be emptied and rebuilt at any time. Their names end in a number of
ours, the only text that is ever put into SQL.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reveries.db.database import Database, Transaction

_SHADOWS = ("vector_chunks00", "chunks", "rowids")


@dataclass(frozen=True, slots=True)
class StoredVectorTable:
    """`is_whole`: it holds every vector that belongs in it, so it may be searched."""

    number: int
    model_id: str
    dimensions: int
    is_whole: bool


async def list_vector_tables(source: Database | Transaction) -> list[StoredVectorTable]:
    """Return all vector tables."""
    rows = await source.rows("deep.tables")
    return [StoredVectorTable(row["number"], row["model_id"], row["dimensions"], bool(row["is_whole"])) for row in rows]


async def create_vector_table(
    transaction: Transaction, model_id: str, dimensions: int, is_whole: bool
) -> StoredVectorTable:
    """Create an empty table for the vectors of a model. sqlite-vec must be loaded."""
    named = {"model_id": model_id, "dimensions": dimensions, "is_whole": int(is_whole)}
    number = int((await transaction.rows("deep.add_table", named))[0]["number"])
    await transaction.run_text(
        f"CREATE VIRTUAL TABLE deep_vectors_{number} USING vec0 (vector int8[{int(dimensions)}] distance_metric=cosine)"
    )
    return StoredVectorTable(number, model_id, dimensions, is_whole)


async def drop_vector_table(transaction: Transaction, table: StoredVectorTable) -> None:
    """Delete a table; its pages are overwritten (`secure_delete`). sqlite-vec must be loaded."""
    await transaction.run_text(f"DROP TABLE IF EXISTS deep_vectors_{table.number}")
    await transaction.run("deep.drop_table", {"number": table.number})


async def erase_without_extension(transaction: Transaction, table: StoredVectorTable) -> None:
    """Erase a table's content although sqlite-vec cannot be loaded.

    It would not be kept up to date, and nothing that is forgotten meanwhile may stay in it. It is rebuilt when the
    extension is back.
    """
    for shadow in _SHADOWS:
        await transaction.run_text(f"DELETE FROM deep_vectors_{table.number}_{shadow}")  # noqa: S608 - a number
    await transaction.run("deep.table_is_whole", {"number": table.number, "is_whole": 0})


async def put_vectors(transaction: Transaction, table: StoredVectorTable, vectors: Iterable[tuple[int, bytes]]) -> None:
    """Add vectors of unit length by id, float32 little-endian; those of another length are skipped.

    They are stored as int8, a quarter of the size; searches compare the nearest again with `vectors`.
    """
    size = 4 * table.dimensions
    rows = [(row_id, raw) for row_id, raw in vectors if len(raw) == size]
    if rows:
        statement = f"INSERT INTO deep_vectors_{table.number} (rowid, vector) VALUES (?, vec_quantize_int8(?, 'unit'))"  # noqa: S608 - a number
        await transaction.run_text_many(statement, rows)


async def remove_vectors(transaction: Transaction, table: StoredVectorTable, row_ids: Sequence[int]) -> None:
    """Delete vectors by id; sqlite-vec overwrites them."""
    statement = f"DELETE FROM deep_vectors_{table.number} WHERE rowid = ?"  # noqa: S608 - a number
    await transaction.run_text_many(statement, [(row_id,) for row_id in row_ids])


async def nearest_rows(database: Database, table: StoredVectorTable, vector: bytes, count: int) -> list[int]:
    """Return the ids of the `count` (at most 4,096) vectors nearest to `vector`, nearest first."""
    statement = (
        f"SELECT rowid AS id FROM deep_vectors_{table.number} WHERE vector MATCH vec_quantize_int8(?, 'unit') AND k = ?"  # noqa: S608
    )
    return [int(row["id"]) for row in await database.rows_of_text(statement, (vector, count))]
