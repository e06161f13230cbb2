"""What the triggers of the database refuse: words in the owner's name that the owner did not say, and rows without the
taint of their sources."""

import asyncio
import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
import pytest

from reveries.daemon.talk.owner_notes import OwnerNotes
from reveries.db.checksums import checksum
from reveries.db.driver import dbapi
from reveries.db.mind_file import check_mind, export_mind, import_mind
from reveries.db.opening import open_database
from reveries.db.schemas import schema_statements
from reveries.errors import StorageError
from reveries.gates import Gate
from reveries.memory.importing import PastTurn
from reveries.memory.sleep.pass_records import EpisodeChange, decode_record, encode_record
from tests.fakes.clock import HandClock
from tests.fakes.openable_gates import opened
from tests.fakes.scripted import ScriptedModel
from tests.memory.kit import NOW, context, deep_answer, open_memory, talk
from tests.memory.test_memory import picture

Row = dict[str, object]
_DEFAULTS: Final[dict[str, Row]] = {
    "conversations": {"began_at": 1, "last_said_at": 1, "source": "chat"},
    "raw_experiences": {"kind": "conversation", "happened_at": 1, "content": "w", "salience": 0.5, "origin": "owner",
                        "tainted": 0, "checksum": checksum("w")},
    "turns": {"conversation_id": "chat", "position": 0, "origin": "owner", "tainted": 0, "speaker": "s", "text": "w",
              "said_at": 1, "checksum": checksum("s", "w")},
    "episodes": {"created_at": 1, "ended_at": 1, "last_accessed_at": 1, "summary": "w", "exemplars": "[]",
                 "salience": 0.5, "confidence": 1, "last_decayed_at": 1, "depth": "light", "origin": "owner",
                 "tainted": 0, "checksum": checksum("w")},
    "episode_sources": {},
    "claims": {"subject": "s", "relation": "r", "value": "v", "quote": "q", "is_change": 0, "speaker": "s",
               "said_at": 1, "found_by": "pattern", "origin": "owner", "tainted": 0, "checksum": checksum("v", "q")},
    "deep_texts": {"kind": "turn", "speaker": "s", "text": "w", "said_at": 1, "origin": "owner", "tainted": 0,
                   "checksum": checksum("s", "w")},
    "monologue_log": {"began_at": 1, "ended_at": 1, "why_began": "b", "why_ended": "e", "text": "w", "tokens": 1,
                      "model": "m", "checksum": checksum("w")},
    "owner_notes": {"written_at": 1, "text": "w", "reason": "r", "checksum": checksum("w")},
    "projects": {"name": "p", "created_at": 1},
    "orientation": {"project_id": "fair", "version": 2, "content": "{}", "trigger": "t", "written_at": 1,
                    "checksum": checksum("{}")},
    "tasks": {"project_id": "fair", "title": "t", "description": "d", "kind": "ask", "status": "ready",
              "created_at": 1, "updated_at": 1, "checksum": checksum("t", "d")},
    "questions": {"project_id": "fair", "kind": "question", "question": "q", "asked_at": 1,
                  "checksum": checksum("q", "")},
    "steps": {"task_id": "theirs", "attempt": 1, "position": 1, "tool": "t", "arguments": "a", "state": "begun",
              "began_at": 1},
    "chunks": {"project_id": "fair", "content": "c", "type": "resource", "confidence": "verified",
               "source": "research", "created_at": 1, "last_accessed_at": 1, "checksum": checksum("", "c")},
    "proposals": {"project_id": "fair", "title": "t", "due": "", "state": "accepted", "document": "d", "line": 1,
                  "source_line": "t", "created_at": 1, "checksum": b"c"},
    "decided_conflicts": {"project_id": "fair", "a_document": "a", "a_text": "a", "b_document": "b", "b_text": "b",
                          "state": "dismissed", "decided_by": "owner", "rests_on": "[]", "decided_at": 1,
                          "checksum": b"c"},
    "drafts": {"project_id": "fair", "wish": "w", "content": "c", "created_at": 1, "rests_on": "[]", "checksum": b"c"},
}  # fmt: skip
_THERE: Final[tuple[tuple[str, Row], ...]] = (
    ("conversations", {"id": "chat"}),
    ("conversations", {"id": "letters", "source": "letters"}),
    ("raw_experiences", {"id": "clean"}),
    ("raw_experiences", {"id": "foul", "tainted": 1}),
    ("raw_experiences", {"id": "letter", "kind": "external", "origin": "document", "tainted": 1}),
    ("turns", {"id": "said", "position": 90}),
    ("turns", {"id": "answered", "position": 91, "origin": "self", "tainted": 1, "experience_id": "foul"}),
    ("turns", {"id": "waiting", "position": 92, "origin": "self", "tainted": 1}),
    ("turns", {"id": "theirs", "position": 93, "origin": "document", "tainted": 1, "conversation_id": "letters",
               "import_key": b"theirs"}),
    ("episodes", {"id": "pure"}),
    ("episodes", {"id": "mixed", "tainted": 1}),
    ("monologue_log", {"id": "led", "tainted": 1}),
    ("monologue_log", {"id": "free"}),
    ("projects", {"id": "fair"}),
    ("chunks", {"id": "letter", "foreign_sources": '["document:a"]'}),
    ("tasks", {"id": "theirs", "foreign_sources": '["document:a"]'}),
    ("orientation", {"version": 1, "foreign_sources": '["document:a"]'}),
)  # fmt: skip

_NAME, _FOREIGN, _MADE = "in the name of the owner", "what others wrote", "made of tainted text"


def _of_others(guard: str, table: str) -> list[tuple[str, str, str, Row]]:
    return [(guard, _FOREIGN, table, {"origin": origin}) for origin in ("tool", "document", "channel")]


REFUSED: Final[tuple[tuple[str, str, str, Row], ...]] = (
    ("turns_guarded", _NAME, "turns", {"experience_id": "clean"}),
    ("turns_guarded", _NAME, "turns", {"is_partial": 1}),
    ("turns_guarded", _NAME, "turns", {"import_key": b"k"}),
    ("turns_guarded", _NAME, "turns", {"conversation_id": "letters"}),
    ("raw_experiences_guarded", _NAME, "raw_experiences", {"kind": "monologue"}),
    ("raw_experiences_guarded", _NAME, "raw_experiences", {"kind": "external"}),
    ("claims_guarded", _NAME, "claims", {"turn_id": "answered", "experience_id": "foul", "tainted": 1}),
    ("claims_guarded", _NAME, "claims", {"turn_id": "theirs", "experience_id": "letter", "tainted": 1}),
    ("claims_guarded", _NAME, "claims", {"turn_id": "letter#0", "experience_id": "letter", "tainted": 1}),
    ("deep_texts_guarded", _NAME, "deep_texts", {"owner_id": "theirs", "tainted": 1}),
    ("deep_texts_guarded", _NAME, "deep_texts",
     {"owner_id": "letter#0", "experience_id": "letter", "tainted": 1}),
    ("deep_texts_guarded", _NAME, "deep_texts", {"kind": "episode", "owner_id": "pure", "origin": "self"}),
    *_of_others("turns_guarded", "turns"),
    *_of_others("raw_experiences_guarded", "raw_experiences"),
    *_of_others("episodes_guarded", "episodes"),
    ("turns_guarded", _MADE, "turns", {"origin": "self", "tainted": 1, "experience_id": "clean"}),
    ("episode_sources_guarded", _MADE, "episode_sources", {"episode_id": "pure", "experience_id": "foul"}),
    ("episodes_guarded", _MADE, "episodes", {"tainted": 1, "merged_into": "pure"}),
    ("claims_guarded", _MADE, "claims", {"turn_id": "answered", "experience_id": "foul", "origin": "self"}),
    ("claims_guarded", _MADE, "claims", {"turn_id": "foul#0", "experience_id": "foul"}),
    ("deep_texts_guarded", _MADE, "deep_texts", {"owner_id": "answered", "origin": "self"}),
    ("deep_texts_guarded", _MADE, "deep_texts", {"owner_id": "foul#0", "experience_id": "foul"}),
    ("deep_texts_guarded", _MADE, "deep_texts", {"kind": "episode", "owner_id": "mixed"}),
    ("monologue_log_guarded", _MADE, "monologue_log", {"experience_id": "foul"}),
    ("monologue_log_guarded", _MADE, "monologue_log", {"experience_id": "clean", "tainted": 1}),
    ("owner_notes_guarded", "nothing tainted", "owner_notes", {"thought_id": "led"}),
    ("chunks_guarded", _MADE, "chunks", {"rests_on": '["letter"]'}),
    ("chunks_guarded", _MADE, "chunks", {"rests_on": '["letter"]', "foreign_sources": '["document:b"]'}),
    ("tasks_guarded", _MADE, "tasks", {"rests_on": '["letter"]'}),
    ("proposals_guarded", _MADE, "proposals", {"task_id": "theirs"}),
    ("drafts_guarded", _MADE, "drafts", {"rests_on": '["letter"]'}),
    ("decided_conflicts_guarded", _MADE, "decided_conflicts", {"rests_on": '["letter"]'}),
    ("questions_guarded", _MADE, "questions", {"task_id": "theirs"}),
    ("steps_guarded", _MADE, "steps", {}),
    ("orientation_guarded", _MADE, "orientation", {}),
)  # fmt: skip
"""Which guard, what it says, the table and what of the row is not as it is by default."""
UPDATES: Final = (
    ("turns_adoption_guarded", _MADE, "UPDATE turns SET experience_id = 'clean' WHERE id = 'waiting'"),
    ("episodes_merger_guarded", _MADE, "UPDATE episodes SET merged_into = 'pure' WHERE id = 'mixed'"),
)
TAKEN: Final[tuple[tuple[str, Row], ...]] = (
    ("turns", {}),
    ("turns", {"conversation_id": "letters", "import_key": b"k"}),
    ("turns", {"origin": "self", "experience_id": "clean", "is_partial": 1}),
    ("turns", {"origin": "self", "experience_id": "foul", "tainted": 1}),
    ("turns", {"origin": "self", "experience_id": "foul"}),
    ("raw_experiences", {"kind": "monologue", "origin": "self"}),
    ("raw_experiences", {"tainted": 1, "metadata": '{"taintedBy": ["mixed"]}'}),
    ("episodes", {"merged_into": "mixed"}),
    ("episodes", {"merged_into": "mixed", "tainted": 1}),
    ("episode_sources", {"episode_id": "mixed", "experience_id": "foul"}),
    ("episode_sources", {"episode_id": "mixed", "experience_id": "clean"}),
    ("claims", {"turn_id": "said", "experience_id": "foul"}),
    ("claims", {"turn_id": "theirs", "experience_id": "letter", "origin": "document", "tainted": 1}),
    ("deep_texts", {"owner_id": "said", "experience_id": "foul"}),
    ("deep_texts", {"kind": "episode", "owner_id": "mixed", "tainted": 1}),
    ("monologue_log", {"experience_id": "foul", "tainted": 1}),
    ("monologue_log", {}),
    ("owner_notes", {"thought_id": "free"}),
    ("chunks", {"rests_on": '["letter"]', "foreign_sources": '["document:a", "document:b"]'}),
    ("tasks", {}),
    ("questions", {"task_id": "theirs", "foreign_sources": '["document:a"]'}),
    ("steps", {"foreign_sources": '["document:a"]'}),
    ("orientation", {"foreign_sources": '["document:a"]'}),
)


THEIRS: Final = (PastTurn(NOW - 500.0, "Tomas", "My boss is now Teresa. I live in Oslo now."),)
"""What somebody else wrote, with claims in it."""


_WITHOUT_ID: Final = ("episode_sources", "orientation", "steps")


def put(connection: dbapi.Connection, table: str, chosen: Row) -> None:
    row = {**_DEFAULTS[table], **({} if table in _WITHOUT_ID else {"id": "new"}), **chosen}
    if table == "deep_texts" and row["id"] == "new":
        del row["id"]
    names = ", ".join(f'"{name}"' for name in row)
    marks = ", ".join("?" * len(row))
    connection.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(row.values()))


@pytest.fixture
def file() -> Iterator[dbapi.Connection]:
    """A memory of today's schema with a little of everything in it."""
    with contextlib.closing(dbapi.connect(":memory:", isolation_level=None)) as connection:
        for statement in schema_statements():
            connection.execute(statement)
        for table, row in _THERE:
            put(connection, table, row)
        yield connection


@pytest.mark.requirement("F1", "F3")
@pytest.mark.parametrize(("guard", "says", "table", "row"), REFUSED)
def test_no_row_comes_in_that_says_less_of_where_it_is_from_than_what_it_is_made_of(
    file: dbapi.Connection, guard: str, says: str, table: str, row: Row
) -> None:
    with pytest.raises(dbapi.IntegrityError, match=says):
        put(file, table, row)
    file.execute(f"DROP TRIGGER {guard}")
    put(file, table, row)  # It is this guard that held it, and no other.


@pytest.mark.requirement("F1", "F3")
@pytest.mark.parametrize(("guard", "says", "statement"), UPDATES)
def test_no_row_is_made_a_part_of_something_that_is_less_tainted(
    file: dbapi.Connection, guard: str, says: str, statement: str
) -> None:
    with pytest.raises(dbapi.IntegrityError, match=says):
        file.execute(statement)
    file.execute(f"DROP TRIGGER {guard}")
    file.execute(statement)


@pytest.mark.requirement("F3")
def test_each_guard_has_a_row_that_it_refuses(file: dbapi.Connection) -> None:
    there = file.execute("SELECT name FROM sqlite_master WHERE type = 'trigger' AND name LIKE '%~_guarded' ESCAPE '~'")
    assert {name for (name,) in there} == {one[0] for one in (*REFUSED, *UPDATES)}


@pytest.mark.requirement("F3")
@pytest.mark.parametrize(("table", "row"), TAKEN)
def test_what_says_where_it_is_from_comes_in(file: dbapi.Connection, table: str, row: Row) -> None:
    before = _count_rows(file, table)
    put(file, table, row)
    assert _count_rows(file, table) == before + 1


def _count_rows(file: dbapi.Connection, table: str) -> int:
    [count] = file.execute(f"SELECT count(*) FROM {table}").fetchone()
    return int(count)


# --- the code behind it forgets a taint ------------------------------------------------------------------------------


@pytest.mark.requirement("F1", "F3", "H4")
@pytest.mark.parametrize("gate", [Gate.EXCHANGE, Gate.EPISODE, Gate.CLAIM])
async def test_where_the_code_forgets_the_taint_the_file_refuses_the_row(tmp_path: Path, gate: Gate) -> None:
    async with open_memory(tmp_path) as memory:
        await memory.begin_import("letters").add(THEIRS)

        async def live() -> None:
            with opened(gate):
                await memory.light_sleep()
                conversation = await memory.conversations.open_conversation(0.0)
                turn = await memory.conversations.append_owner_turn(conversation.id, "Who is my boss?")
                recall = await memory.recall("boss", context())
                await memory.conversations.record_exchange(turn, "Teresa.", recall=recall)

        with pytest.raises(StorageError, match="is tainted"):
            await live()
        rows = await memory._store.database.rows_of_text(
            "SELECT (SELECT count(*) FROM episodes WHERE tainted = 0)"
            " + (SELECT count(*) FROM claims WHERE tainted = 0)"
            " + (SELECT count(*) FROM raw_experiences WHERE tainted = 0) AS lost",
            (),
        )
        assert rows[0]["lost"] == 0


# --- what comes in past the doors ------------------------------------------------------------------------------------

_LOST: Final = (
    "UPDATE raw_experiences SET tainted = 0", "UPDATE episodes SET tainted = 0", "UPDATE claims SET tainted = 0",
    "UPDATE monologue_log SET tainted = 0",
)  # fmt: skip
_TAINTS: Final = (
    "SELECT 'turn ' || id FROM turns WHERE tainted = 1 UNION ALL"
    " SELECT 'experience ' || id FROM raw_experiences WHERE tainted = 1 UNION ALL"
    " SELECT 'episode ' || id FROM episodes WHERE tainted = 1 UNION ALL"
    " SELECT 'claim ' || id FROM claims WHERE tainted = 1 ORDER BY 1"
)


def lived(folder: Path) -> Path:
    """A memory with foreign text in it, slept on."""

    async def live() -> None:
        async with open_memory(folder) as memory:
            await memory.begin_import("letters").add(THEIRS)
            await memory.light_sleep()
            await talk(memory, ("Good morning.", "Good morning to you."))
            turn = await memory.conversations.append_owner_turn(
                (await memory.conversations.open_conversation(0.0)).id, "Who is my boss?"
            )
            recall = await memory.recall("boss", context())
            await memory.conversations.record_exchange(turn, "Teresa.", recall=recall)
            await memory.light_sleep()

    asyncio.run(live())
    return folder / "memory.db"


def taints(file: Path) -> list[str]:
    with contextlib.closing(dbapi.connect(str(file))) as connection:
        return [str(row[0]) for row in connection.execute(_TAINTS)]


def lose_taints(file: Path) -> None:
    """As if earlier code had written it so."""
    with contextlib.closing(dbapi.connect(str(file))) as connection:
        stay = connection.execute("SELECT name FROM sqlite_master WHERE name LIKE '%~_taint~_stays' ESCAPE '~'")
        for (name,) in stay.fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        for statement in _LOST:
            connection.execute(statement)
        connection.commit()


@pytest.mark.requirement("F1", "F3", "C1")
def test_a_migration_gives_what_lost_its_taint_the_taint_of_what_it_is_made_of(tmp_path: Path) -> None:
    made = lived(tmp_path)
    before = taints(made)
    assert {name.split()[0] for name in before} == {"turn", "experience", "episode", "claim"}
    old = tmp_path / "old.db"
    with contextlib.closing(dbapi.connect(str(old))) as connection:
        connection.executescript((Path(__file__).parent / "schemas" / "0006.sql").read_text(encoding="utf-8"))
        connection.execute("ATTACH ? AS made", (str(made),))
        for table in ("conversations", "raw_experiences", "turns", "episodes", "episode_sources", "claims"):
            columns = ", ".join(str(row[1]) for row in connection.execute(f"PRAGMA main.table_info({table})"))
            connection.execute(f"INSERT INTO main.{table} ({columns}) SELECT {columns} FROM made.{table}")
        connection.execute("DROP TABLE model_tiers")
        connection.execute("PRAGMA user_version=6")
        connection.commit()
    lose_taints(old)
    with contextlib.closing(dbapi.connect(str(old))) as connection:
        for name, statement in _stays():
            connection.execute(f"DROP TRIGGER IF EXISTS {name}")
            connection.execute(statement)
        connection.commit()
    assert len(taints(old)) < len(before)

    async def migrate() -> None:
        await (await open_database(old, tmp_path)).aclose()

    asyncio.run(migrate())
    assert taints(old) == before


def _stays() -> list[tuple[str, str]]:
    # Those of projects name sources, and came later: no migration has to give them any.
    made = [one for one in schema_statements() if "_taint_stays" in one and "foreign_sources" not in one]
    return [(re.findall(r"TRIGGER (\w+)", one)[0], one) for one in made]


@pytest.mark.requirement("F3", "F12")
def test_a_mind_that_comes_in_whole_gets_the_taints_that_its_file_has_lost_and_the_doors_stand_after_it(
    tmp_path: Path,
) -> None:
    made = lived(tmp_path)
    before = taints(made)
    lose_taints(made)
    assert len(taints(made)) < len(before)
    target, other = tmp_path / "mind.jsonl", tmp_path / "other"
    export_mind(made, target, with_vectors=False, tell=lambda *_: None)
    check_mind(target, lambda *_: None)
    other.mkdir()

    async def empty() -> None:
        await (await open_database(other / "memory.db")).aclose()

    asyncio.run(empty())
    import_mind(target, other / "memory.db", lambda *_: None)
    assert taints(other / "memory.db") == before
    with contextlib.closing(dbapi.connect(str(other / "memory.db"), isolation_level=None)) as connection:
        put(connection, "conversations", {"id": "chat"})
        with pytest.raises(dbapi.IntegrityError, match="in the name"):
            put(connection, "turns", {"is_partial": 1})


# --- what was written down before the doors --------------------------------------------------------------------------


def drop_projects(connection: "dbapi.Connection") -> None:
    """As before schema 10."""
    connection.execute("DROP VIEW chunk_texts")
    connection.execute("DROP TRIGGER pages_without_their_text")
    for table in (
        "citations", "pointer_boxes", "pointers", "pages",
        "reminders", "wishes", "proposals", "drafts", "decided_conflicts",
        "chunk_words", "chunk_numbers", "coretrievals", "relations", "chunk_vectors", "chunks", "documents", "steps",
        "activities",
        "grants", "question_blocks", "questions", "task_needs", "tasks",
        "orientation", "goals", "projects",
    ):  # fmt: skip
        connection.execute(f"DROP TABLE {table}")
    connection.execute("ALTER TABLE usage_ledger DROP COLUMN project_id")
    connection.execute("ALTER TABLE usage_ledger DROP COLUMN reasoning_tokens")
    connection.execute("ALTER TABLE structured_answers DROP COLUMN schema_refused_at")


def as_schema_6(file: Path) -> None:
    """As if earlier code had lived and slept there, and had lost the taints from the first: in its records, too."""
    lose_taints(file)
    with contextlib.closing(dbapi.connect(str(file))) as connection:
        doors = connection.execute("SELECT name FROM sqlite_master WHERE name LIKE '%~_guarded' ESCAPE '~'")
        for (name,) in doors.fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        for _, statement in _stays():
            connection.execute(statement)
        for change_id, text in connection.execute("SELECT id, change_set FROM consolidation_changes").fetchall():
            connection.execute("UPDATE consolidation_changes SET change_set = ? WHERE id = ?", (_lost(text), change_id))
        connection.execute("DROP TABLE model_tiers")
        connection.execute("ALTER TABLE conversations DROP COLUMN channel")
        for column in ("closed_threads", "past_facts", "days"):
            connection.execute(f"ALTER TABLE self_model DROP COLUMN {column}")
        connection.execute("ALTER TABLE owner_notes DROP COLUMN answered_in")
        drop_projects(connection)
        connection.execute("PRAGMA user_version=6")
        connection.commit()


def _lost(text: str) -> str:
    """A record of which each episode that changed was tainted by that alone."""
    record = decode_record(text.replace('"tainted":true', '"tainted":false'))
    assert '"tainted":true' not in encode_record(record)
    changed = (one if one.is_new else _tainted_by(one) for one in record.episodes)
    return encode_record(msgspec.structs.replace(record, episodes=tuple(changed)))


def _tainted_by(change: EpisodeChange) -> EpisodeChange:
    return msgspec.structs.replace(change, values=change.values | {"tainted": (False, True)})


@pytest.mark.requirement("F1", "R-104", "C1")
async def test_a_pass_that_lost_taints_is_taken_back_after_the_migration_that_gave_them_back(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        for name, hours in (("a", 50), ("b", 20)):
            await memory.begin_import(name).add(
                [PastTurn(NOW - hours * 3600, "Bea", "The boat Sole needs blue paint.")]
            )
        await memory.light_sleep()
        light, before = (await memory.sleep_log(1))[0].run_id, picture(memory)
        answer = deep_answer(0.5, "The boat Sole needs blue paint.", summary="The boat Sole needs blue paint.")
        deep = await memory.deep_sleep(ScriptedModel([answer] * 2))
        assert deep.merged == 1
    as_schema_6(tmp_path / "memory.db")
    async with open_memory(tmp_path, first_id=900_000) as memory:
        await memory.undo_pass(deep.run_id)
        assert [one.tainted for one in memory.live.graph.episodes()] == [True, True]
        assert picture(memory)["episodes"] == before["episodes"]
    assert len([name for name in taints(tmp_path / "memory.db") if name.startswith("episode")]) == 2
    async with open_memory(tmp_path, first_id=950_000) as memory:
        assert picture(memory)["episodes"] == before["episodes"]
        await memory.undo_pass(light)
        assert not len(memory.live.graph)


@pytest.mark.requirement("F3")
async def test_a_note_of_a_thought_that_got_its_taint_late_is_in_the_list_and_not_told_by_itself(
    tmp_path: Path,
) -> None:
    file = tmp_path / "memory.db"
    await (await open_database(file)).aclose()
    with contextlib.closing(dbapi.connect(str(file), isolation_level=None)) as connection:
        for thought in ("clean", "led"):
            put(connection, "monologue_log", {"id": thought})
            put(connection, "owner_notes", {"id": f"of {thought}", "thought_id": thought})
        connection.execute("UPDATE monologue_log SET tainted = 1 WHERE id = 'led'")
    database = await open_database(file)
    try:
        notes = OwnerNotes(database, HandClock(NOW))
        shown, listed = await notes.show(4.0), await notes.latest(9)
    finally:
        await database.aclose()
    assert [note.note_id for note in shown] == ["of clean"]
    assert {note.note_id for note in listed} == {"of clean", "of led"}
