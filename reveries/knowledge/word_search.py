"""Search the chunks of a project by words: FTS5, which splits at spaces, and parts of words where there are none."""

import asyncio

from reveries.db.database import Database
from reveries.index.terms import is_unspaced, stop_words, words_of
from reveries.knowledge.project_index import ProjectIndex
from reveries.knowledge.scoring import fuse_ranks

DEPTH = 200
"""Number of results of each source that are ranked."""
_MOST_WORDS = 200


async def find_rows_by_words(database: Database, index: ProjectIndex, project_id: str, query: str) -> list[int]:
    """Return the rows of the chunks that contain the query's content words, best first (V-115)."""
    stops = stop_words()
    words = [word for word in dict.fromkeys(words_of(query)) if word not in stops]
    spaced = [word for word in words if not is_unspaced(word)][:_MOST_WORDS]
    parts = [word for word in words if is_unspaced(word)][:_MOST_WORDS]
    rows, rows_with_parts = list[int](), list[int]()
    if spaced:
        any_of = " OR ".join(map(_quote, spaced))
        named = {"words": f"{{project_id}} : {_quote(project_id)} AND {{title content}} : ({any_of})", "limit": DEPTH}
        rows = index.rows_of(int(row["number"]) for row in await database.rows("chunks.by_words", named))
    if parts:
        rows_with_parts = await asyncio.to_thread(index.rows_with_parts, parts, DEPTH)
    fused = fuse_ranks({"spaced": rows, "parts": rows_with_parts})
    return sorted(fused, key=lambda row: -fused[row])[:DEPTH]


def _quote(word: str) -> str:
    return '"' + word.replace('"', '""') + '"'
