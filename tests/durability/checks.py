"""What must hold of a memory's file after whatever happened, seen from outside: against the ledger and in itself."""

import contextlib
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from reveries.db.checksums import checksum
from reveries.db.driver import dbapi
from tests.durability.ledger import Acknowledged, hash_of

# Written down once more, on purpose: what the code leaves out of its own list is to be missed here.
CHECKSUMMED = {
    "turns": ("speaker", "text"),
    "raw_experiences": ("content",),
    "monologue_log": ("text",),
    "claims": ("value", "quote"),
    "owner_notes": ("text",),
    "deep_texts": ("speaker", "text"),
    "episodes": ("summary",),
}

ORPHANS = {
    "a vector of no episode": """
        SELECT owner_id FROM vectors WHERE owner_kind = 'episode' AND owner_id NOT IN (SELECT id FROM episodes)""",
    # A passage of an experience that has no turns is called EXPERIENCE#NUMBER.
    "a vector of no turn": """
        SELECT owner_id FROM vectors WHERE owner_kind = 'turn' AND owner_id NOT IN (SELECT id FROM turns)
        AND substr(owner_id, 1, instr(owner_id || '#', '#') - 1) NOT IN (SELECT id FROM raw_experiences)""",
    "an episode of nothing": "SELECT id FROM episodes WHERE id NOT IN (SELECT episode_id FROM episode_sources)"
    " AND merged_into IS NULL",
    "a reply without its experience": """
        SELECT id FROM turns WHERE origin = 'self' AND experience_id IS NULL""",
    "a reply that answers nothing": """
        SELECT reply.id FROM turns AS reply LEFT JOIN turns AS asked
            ON asked.conversation_id = reply.conversation_id AND asked.position = reply.position - 1
        WHERE reply.origin = 'self' AND reply.import_key IS NULL
            AND (asked.id IS NULL OR asked.origin = 'self' OR asked.experience_id IS NOT reply.experience_id)""",
    "a gap in a conversation": """
        SELECT conversation_id FROM turns GROUP BY conversation_id
        HAVING count(*) <> max(position) - min(position) + 1""",
    "a conversation's experience without turns": """
        SELECT id FROM raw_experiences WHERE kind = 'conversation' AND id NOT IN (
            SELECT experience_id FROM turns WHERE experience_id IS NOT NULL)""",
    # One that says nothing new is worked through at once and belongs to no episode; of one that the owner took away
    # nothing is to come.
    "slept on, and nothing came of it": """
        SELECT id FROM raw_experiences WHERE light_slept AND NOT processed
        AND id NOT IN (SELECT experience_id FROM episode_sources)
        AND id NOT IN (SELECT experience_id FROM withdrawn_experiences)""",
    "in two episodes at once": """
        SELECT experience_id FROM episode_sources JOIN episodes ON episodes.id = episode_id
        WHERE merged_into IS NULL GROUP BY experience_id HAVING count(*) > 1""",
    "a thought in the log whose experience is another's": """
        SELECT experience_id FROM monologue_log WHERE experience_id IS NOT NULL GROUP BY 1 HAVING count(*) > 1""",
    "a change of no pass": """
        SELECT id FROM consolidation_changes WHERE run_id NOT IN (SELECT id FROM consolidation_runs)""",
    "a text on disk that the word index has not": """
        SELECT id FROM deep_texts WHERE id NOT IN (SELECT rowid FROM deep_words)""",
    "a call that was settled and is still reserved": """
        SELECT id FROM usage_ledger WHERE outcome = 'reserved' AND settled_at IS NOT NULL""",
}
"""Queries that must find nothing."""


@contextlib.contextmanager
def copied(database: Path, folder: Path) -> Iterator[Path]:
    """A copy of the file and its log as they lie there, so that looking changes nothing of what the next wake finds."""
    folder.mkdir(mode=0o700)
    try:
        for suffix in ("", "-wal"):
            if (source := database.with_name(database.name + suffix)).exists():
                shutil.copyfile(source, folder / source.name)
        if (snapshot := database.with_suffix(".snapshot")).exists():
            shutil.copyfile(snapshot, folder / snapshot.name)
        yield folder / database.name
    finally:
        shutil.rmtree(folder)


def violations(database: Path, ledger: Acknowledged) -> list[str]:
    """Everything that does not hold of the file at `database`, which nobody has open. Empty is what is wanted."""
    connection = dbapi.connect(str(database), isolation_level=None)
    try:
        found = [f"integrity: {row[0]}" for row in connection.execute("PRAGMA integrity_check(3)") if row[0] != "ok"]
        if found:
            return found
        found += [f"foreign key: {tuple(row)}" for row in connection.execute("PRAGMA foreign_key_check")]
        return [*found, *_lost(connection, ledger), *half_made(connection), *_twice(connection, ledger)]
    except dbapi.Error as error:
        return [f"it cannot be read: {error}"]
    finally:
        connection.close()


def _lost(connection: "dbapi.Connection", ledger: Acknowledged) -> Iterator[str]:
    stored = {row[0]: hash_of(row[1]) for row in connection.execute("SELECT id, text FROM turns")}
    for name, digest in ledger.turns.items():
        if stored.get(name) != digest:
            yield f"acknowledged and {'changed' if name in stored else 'lost'}: turn {name}"
    texts = {row[0] for row in connection.execute("SELECT text FROM turns WHERE import_key IS NOT NULL")}
    yield from (f"imported and lost: {text}" for text in ledger.imported if text not in texts)
    told = [row[0] for row in connection.execute("SELECT current_focus FROM self_model")]
    told += [row[0] for row in connection.execute("SELECT before FROM self_model_history")]
    yield from (f"written and lost: {line}" for line in ledger.self_edits if not any(line in one for one in told))
    runs = {row[0]: row[1:] for row in connection.execute("SELECT id, processed, outcome FROM consolidation_runs")}
    for name, processed in ledger.passes.items():
        if name not in runs or runs[name][0] < processed or runs[name][1] == "running":
            yield f"a pass that ended is not so: {name} {runs.get(name)}"


def half_made(connection: "dbapi.Connection") -> Iterator[str]:
    for what, query in ORPHANS.items():
        yield from (f"{what}: {row[0]}" for row in connection.execute(query).fetchmany(3))
    for table, columns in CHECKSUMMED.items():
        for *texts, kept in connection.execute(f"SELECT {', '.join(columns)}, checksum FROM {table}"):
            if checksum(*texts) != bytes(kept):
                yield f"a row of {table} is not what was written: {texts}"


def _twice(connection: "dbapi.Connection", ledger: Acknowledged) -> Iterator[str]:
    rows = connection.execute("SELECT text FROM turns WHERE origin = 'owner' OR import_key IS NOT NULL")
    for text, count in Counter(row[0] for row in rows).items():
        if count > 1:
            yield f"stored {count} times: {text}"
        if text not in ledger.said:
            yield f"nobody said this: {text}"
