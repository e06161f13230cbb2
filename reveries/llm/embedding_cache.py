"""Vectors that were paid for, by the hash of the exact text, so that no text is paid for twice in a row.

Only a cache: it is bounded, and emptying it loses no memory.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping

import numpy as np

from reveries.db.database import Database
from reveries.llm.base import Vector

MAX_ROWS = 20_000
"""About 30 MB of 384 dimensions, 120 MB of 1,536."""


class EmbeddingCache:
    """The table `embedding_cache`."""

    def __init__(self, database: Database, max_rows: int = MAX_ROWS) -> None:
        self._database = database
        self._max_rows = max_rows

    async def find(self, model_id: str, texts: Iterable[str]) -> dict[str, Vector]:
        """Return the cached vectors, by text."""
        by_hash = {content_hash(text): text for text in texts}
        named = {"model_id": model_id, "hashes": json.dumps(list(by_hash))}
        rows = await self._database.rows("embedding_cache.find", named)
        return {by_hash[row["content_hash"]]: np.frombuffer(row["vector"], "<f4").astype(np.float32) for row in rows}

    async def keep(self, model_id: str, vectors: Mapping[str, Vector]) -> None:
        """Store `vectors`, by text; the oldest rows are deleted when there are too many. Raises StorageError."""
        rows = [
            {"content_hash": content_hash(text), "model_id": model_id, "vector": vector.astype("<f4").tobytes()}
            for text, vector in vectors.items()
        ]
        async with self._database.transaction() as transaction:
            await transaction.run_many("embedding_cache.put", rows)
            await transaction.run("embedding_cache.bound", {"rows": self._max_rows})


def content_hash(text: str) -> str:
    """Return the SHA-256 of the exact text, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
