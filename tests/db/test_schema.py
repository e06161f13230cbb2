"""The tables of the specification (R-147 to R-153): each column with its type, and why a row is refused.

Names follow the code (a time ends in `_at`), vectors have a separate table, and links one row per type (RA-18).
"""

from collections.abc import Iterator
from importlib import resources

import pytest

from reveries.db.driver import dbapi

Column = tuple[str, str, bool]
"""Name, type, and whether it has to have a value."""

_EXPERIENCE = "'x', 'conversation', 1.0, 'Said.', 0.5, 'owner', 0, x'00'"
_NEW_EXPERIENCE = (
    "INSERT INTO raw_experiences (id, kind, happened_at, content, salience, origin, tainted, checksum) VALUES"
)
_NEW_EPISODE = (
    "INSERT INTO episodes (id, created_at, ended_at, last_accessed_at, summary, exemplars, salience, confidence,"
    " last_decayed_at, depth, origin, tainted, checksum) VALUES"
)
_EPISODE = "'a', 1.0, 2.0, 2.0, 'It was.', '[]', 0.5, 1.0, 2.0, 'light', 'owner', 0, x'00'"


@pytest.fixture
def schema() -> Iterator["dbapi.Connection"]:
    connection = dbapi.connect(":memory:")
    connection.executescript(resources.files("reveries").joinpath("schema.sql").read_text(encoding="utf-8"))
    connection.execute("PRAGMA foreign_keys=ON")
    yield connection
    connection.close()


def columns(schema: "dbapi.Connection", table: str) -> set[Column]:
    found = schema.execute(f"PRAGMA table_info({table})").fetchall()
    return {(name, declared, bool(is_required or key)) for _, name, declared, is_required, _, key in found}


def refused(schema: "dbapi.Connection", statement: str, *fills: str) -> None:
    """Whether `statement` is accepted, and refused with any of `fills` ("column=value")."""
    for fill in fills:
        old, _, new = fill.partition("=")
        assert old in statement
        with pytest.raises(dbapi.IntegrityError):
            schema.execute(statement.replace(old, new))
    schema.execute(statement)


@pytest.mark.requirement("R-147")
def test_raw_experiences_have_a_kind_a_time_content_and_begin_unprocessed(schema: "dbapi.Connection") -> None:
    assert columns(schema, "raw_experiences") >= {
        ("id", "TEXT", True),
        ("kind", "TEXT", True),
        ("happened_at", "REAL", True),
        ("content", "TEXT", True),
        ("salience", "REAL", True),
        ("processed", "INTEGER", True),
        ("metadata", "TEXT", True),
    }
    refused(
        schema,
        f"{_NEW_EXPERIENCE} ({_EXPERIENCE})",
        "'x'=NULL", "'conversation'='dream'", "1.0=NULL", "'Said.'=NULL", "0.5=1.1", "0.5=-0.1", "'owner'='anybody'",
    )  # fmt: skip
    assert schema.execute("SELECT processed, metadata FROM raw_experiences").fetchall() == [(0, "{}")]
    with pytest.raises(dbapi.IntegrityError):
        schema.execute("UPDATE raw_experiences SET processed = 2")
    with pytest.raises(dbapi.IntegrityError):
        schema.execute(f"{_NEW_EXPERIENCE} ({_EXPERIENCE})")
    with pytest.raises(dbapi.IntegrityError):
        schema.execute("UPDATE raw_experiences SET metadata = 'no JSON'")


@pytest.mark.requirement("R-148")
def test_episodes_have_every_field_and_begin_unasked(schema: "dbapi.Connection") -> None:
    assert columns(schema, "episodes") >= {
        ("id", "TEXT", True),
        ("created_at", "REAL", True),
        ("last_accessed_at", "REAL", True),
        ("access_count", "INTEGER", True),
        ("summary", "TEXT", True),
        ("exemplars", "TEXT", True),
        ("temporal_before", "TEXT", True),
        ("temporal_after", "TEXT", True),
        ("gap", "TEXT", False),
        ("salience", "REAL", True),
        ("confidence", "REAL", True),
        ("topics", "TEXT", True),
    }
    refused(
        schema,
        f"{_NEW_EPISODE} ({_EPISODE})",
        "'a'=NULL", "1.0, 2.0, 2.0=NULL, 2.0, 2.0", "'It was.'=NULL", "'[]'='no JSON'", "0.5=1.1", "0.5=-0.1",
        "1.0, 2.0, 'light'=1.1, 2.0, 'light'", "1.0, 2.0, 'light'=-0.1, 2.0, 'light'", "'light'='dream'",
    )  # fmt: skip
    begun = schema.execute("SELECT access_count, temporal_before, temporal_after, topics, gap FROM episodes").fetchall()
    assert begun == [(0, "[]", "[]", "[]", None)]
    vectors = columns(schema, "vectors")
    assert vectors >= {("owner_kind", "TEXT", True), ("owner_id", "TEXT", True), ("vector", "BLOB", True)}


@pytest.mark.requirement("R-149")
def test_links_join_two_episodes_that_are_there_once_for_each_type(schema: "dbapi.Connection") -> None:
    assert columns(schema, "episode_links") == {
        ("from_id", "TEXT", True),
        ("to_id", "TEXT", True),
        ("type", "TEXT", True),
        ("strength", "REAL", True),
    }
    for name in ("a", "b"):
        schema.execute(f"{_NEW_EPISODE} ({_EPISODE.replace('a', name, 1)})")
    link = "INSERT INTO episode_links (from_id, to_id, type, strength) VALUES ('a', 'b', 'causal', 0.5)"
    refused(schema, link, "'a'='nobody'", "'b'='nobody'", "'causal'='odd'", "0.5=1.5", "0.5=-0.5", "'a'=NULL")
    with pytest.raises(dbapi.IntegrityError):
        schema.execute(link)
    schema.execute(link.replace("causal", "thematic"))


SELF_MODEL = (
    "narrative", '"values"', "tendencies", "relationship", "strengths", "limitations", "current_focus",
    "unresolved_threads", "anticipations", "closed_threads", "past_facts", "days",
)  # fmt: skip


@pytest.mark.requirement("R-150")
def test_the_self_model_has_every_field(schema: "dbapi.Connection") -> None:
    expected = {(name.strip('"'), "TEXT", True) for name in SELF_MODEL}
    assert columns(schema, "self_model") == expected | {("id", "INTEGER", True), ("updated_at", "REAL", True)}
    schema.execute(f"INSERT INTO self_model VALUES {SINGLE_ROWS['self_model']}", (1,))
    for name in SELF_MODEL:
        change = f"UPDATE self_model SET {name} = 'no JSON'"
        if name in {"narrative", "current_focus"}:
            schema.execute(change)
            continue
        with pytest.raises(dbapi.IntegrityError):
            schema.execute(change)


@pytest.mark.requirement("R-151")
def test_the_state_of_the_monologue_has_every_field(schema: "dbapi.Connection") -> None:
    assert columns(schema, "monologue_state") == {
        ("id", "INTEGER", True),
        ("last_buffer", "TEXT", True),
        ("last_context", "TEXT", True),
        ("quiescent", "INTEGER", True),
        ("updated_at", "REAL", True),
    }
    state = "INSERT INTO monologue_state VALUES (1, 'It thinks.', '{}', 0, 1.0)"
    refused(schema, state, "'{}'='no JSON'", "0, 1.0=2, 1.0", "'It thinks.'=NULL")


SINGLE_ROWS = {
    "self_model": "(?, '', '[]', '[]', '{}', '[]', '[]', '', '[]', '[]', 1.0, '[]', '[]', '[]')",
    "monologue_state": "(?, '', '{}', 0, 1.0)",
    "monologue_control": "(?, NULL)",
    "embedding_space": "(?, 'a model', 1.0)",
}


@pytest.mark.requirement("R-87", "R-150", "R-151")
@pytest.mark.parametrize("table", SINGLE_ROWS)
def test_a_table_of_one_row_takes_no_second(schema: "dbapi.Connection", table: str) -> None:
    schema.execute(f"INSERT INTO {table} VALUES {SINGLE_ROWS[table]}", (1,))
    for key in (1, 2, 0, None):
        with pytest.raises(dbapi.IntegrityError):
            schema.execute(f"INSERT INTO {table} VALUES {SINGLE_ROWS[table]}", (key,))
    with pytest.raises(dbapi.IntegrityError):
        schema.execute(f"UPDATE {table} SET id = 2")


@pytest.mark.requirement("R-152")
def test_gaps_have_a_beginning_an_end_a_length_and_a_meaning(schema: "dbapi.Connection") -> None:
    assert columns(schema, "gaps") >= {
        ("id", "TEXT", True),
        ("conversation_id", "TEXT", True),
        ("started_at", "REAL", True),
        ("ended_at", "REAL", False),
        ("duration_seconds", "REAL", False),
        ("significance", "TEXT", True),
    }
    schema.execute("INSERT INTO conversations (id, began_at, last_said_at, source) VALUES ('c', 1.0, 1.0, 'chat')")
    refused(
        schema, "INSERT INTO gaps (id, conversation_id, started_at) VALUES ('g', 'c', 1.0)", "'c'='none'", "1.0=NULL"
    )
    assert schema.execute("SELECT ended_at, duration_seconds, significance FROM gaps").fetchall() == [(None, None, "")]


@pytest.mark.requirement("R-153")
def test_events_of_the_breaker_have_every_field_and_no_number_is_given_twice(schema: "dbapi.Connection") -> None:
    texts = ("action", "reason", "severity", "buffer_snapshot", "response_taken")
    expected = {(name, "TEXT", True) for name in texts}
    assert columns(schema, "circuit_breaker_events") >= expected | {
        ("id", "INTEGER", True),
        ("happened_at", "REAL", True),
    }
    event = (
        "INSERT INTO circuit_breaker_events (happened_at, source, action, reason, severity, explanation,"
        " buffer_snapshot, response_taken) VALUES (1.0, 'monologue', 'a', 'r', 's', '', '', '')"
    )
    refused(schema, event, "1.0=NULL", "'a'=NULL", "'r'=NULL", "'s'=NULL", "'monologue'='dream'")
    schema.execute("DELETE FROM circuit_breaker_events")
    schema.execute(event)
    assert schema.execute("SELECT id FROM circuit_breaker_events").fetchone()[0] > 1
