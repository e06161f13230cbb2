"""What says nearly the same as a given text, by meaning alone. Pure."""

from collections.abc import Collection, Sequence
from itertools import islice
from typing import Final

import numpy as np

from reveries.llm.base import Vector
from reveries.memory.model import Turn
from reveries.memory.recall.turn_index import TurnIndex

LIKE_COSINE: Final = 0.45
"""By all-MiniLM-L6-v2, of twelve pairs of our own about one thing each the least alike had 0.52; of 348 pairs about
different things two had more than this. Somebody reads what it finds: a few too many do no harm."""


def turns_like(index: TurnIndex, vectors: Sequence[Vector], without: Collection[str], limit: int) -> list[Turn]:
    """Up to `limit` turns whose meaning is like that of any of `vectors`, the most alike first, but those whose ids are
    in `without`. None for vectors of another embedder than the index has."""
    rows = index.vectors
    fitting = [vector for vector in vectors if vector.shape == (rows.dimensions,)]
    if not len(rows) or not fitting:
        return []
    cosines = np.where(index.live, np.max([rows @ vector for vector in fitting], axis=0), -np.inf)
    order = np.argsort(-cosines, kind="stable")
    alike = order[: np.count_nonzero(cosines >= LIKE_COSINE)].tolist()
    others = (row for row in alike if index.turn_id(row) not in without)
    return [index.turn(row) for row in islice(others, limit)]
