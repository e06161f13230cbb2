"""Which live episode an experience lives in."""

from reveries.db.database import Database, Transaction
from reveries.memory.live import LiveMemory
from reveries.memory.model import Episode


async def home_of(source: Database | Transaction, live: LiveMemory, experience_id: str) -> Episode | None:
    """The live episode that holds an experience; None while there is none. The file is asked: an index of it in memory
    would read every episode of a large mind first. Within a transaction `source` is that transaction."""
    rows = await source.rows("episodes.home_of", {"experience_id": experience_id})
    return live.graph.get(rows[0]["id"]) if rows else None
