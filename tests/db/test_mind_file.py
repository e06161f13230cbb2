"""A whole mind goes into a file and comes back: the same bytes again, and nothing that was changed on the way."""

import asyncio
import contextlib
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reveries.db.checksums import checksum
from reveries.db.driver import dbapi
from reveries.db.mind_file import FORMAT, MindFileSummary, check_mind, export_mind, import_mind
from reveries.db.opening import open_database
from reveries.db.schemas import SCHEMA_VERSION
from reveries.errors import DatabaseTooNewError, InputDataError, InputFileError
from reveries.memory.forgetting.selection import BY_WORDS, Selection
from tests.fakes.clock import HandClock
from tests.memory.forgetting.test_forgetting import spread
from tests.memory.kit import NOW, context, open_memory
from tests.memory.test_memory import picture


def told(rows: int, total: int) -> None:
    assert rows >= total


def bring_in(source: Path, folder: Path) -> Path:
    """Import a mind into a separate folder."""

    async def closed() -> None:
        await (await open_database(folder / "memory.db")).aclose()

    folder.mkdir(exist_ok=True)
    check_mind(source, told)
    asyncio.run(closed())
    import_mind(source, folder / "memory.db", told)
    return folder / "memory.db"


async def lived(folder: Path) -> dict[str, object]:
    clock = HandClock(NOW)
    async with open_memory(folder, clock) as memory:
        await spread(memory, clock)
        await memory.forgetting.erase(Selection(BY_WORDS, "fine colour"))
        return picture(memory)


@pytest.fixture(scope="module")
def mind(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, object]]:
    """The database of a mind with a history, and its export."""
    folder = tmp_path_factory.mktemp("lived")
    return folder / "memory.db", asyncio.run(lived(folder))


@pytest.fixture(scope="module")
def exported(mind: tuple[Path, dict[str, object]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("out") / "mind.jsonl"
    export_mind(mind[0], target, with_vectors=False, tell=told)
    return target


@pytest.mark.requirement("F12")
@pytest.mark.parametrize("with_vectors", [False, True])
def test_what_was_imported_is_exported_again_byte_for_byte(
    mind: tuple[Path, dict[str, object]], tmp_path: Path, with_vectors: bool
) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    moved = export_mind(mind[0], first, with_vectors=with_vectors, tell=told)
    database = bring_in(first, tmp_path / "other")
    again = export_mind(database, second, with_vectors=with_vectors, tell=told)
    assert first.read_bytes() == second.read_bytes()
    assert moved == again
    assert moved.rows > 30
    assert (first.stat().st_mode & 0o777) == 0o600


@pytest.mark.requirement("F12")
def test_an_imported_mind_is_the_mind_that_was_exported(
    mind: tuple[Path, dict[str, object]], exported: Path, tmp_path: Path
) -> None:
    bring_in(exported, tmp_path / "other")

    async def wake() -> None:
        async with open_memory(tmp_path / "other", HandClock(NOW), first_id=50_000) as memory:
            found = picture(memory)
            for part in ("episodes", "links", "self_model", "claims", "conflicts"):
                assert found[part] == mind[1][part], part
            recall = await memory.recall("the safe", context())
            assert "safe" in str(recall.turns)
            # What was erased there stays erased here.
            assert memory.forgetting.is_erased_text("A fine colour.", NOW - 1.0)

    asyncio.run(wake())


def test_a_file_that_schema_13_wrote_is_imported_and_its_documents_are_found(tmp_path: Path) -> None:
    """Its chunks had two columns more, and a document was a part of their titles."""
    source = tmp_path / "schema13.db"
    schema = (Path(__file__).parent / "schemas" / "0013.sql").read_text(encoding="utf-8")
    with contextlib.closing(dbapi.connect(str(source))) as connection:
        connection.executescript(schema)
        connection.execute("INSERT INTO projects (id, name, created_at) VALUES ('p1', 'Flat', 0)")
        connection.execute(
            "INSERT INTO chunks (id, title, type, project_id, content, confidence, source, created_at,"
            " last_accessed_at, checksum)"
            " VALUES ('c1', 'lease.md › Rent', 'resource', 'p1', 'text', 'verified', 'user', 0, 0, ?)",
            (checksum("lease.md › Rent", "text"),),
        )
        connection.execute("PRAGMA user_version=13")
        connection.commit()
    export_mind(source, tmp_path / "mind.jsonl", with_vectors=False, tell=told)
    with contextlib.closing(dbapi.connect(str(bring_in(tmp_path / "mind.jsonl", tmp_path / "other")))) as connection:
        found = connection.execute(
            "SELECT documents.path, documents.is_trusted FROM chunks JOIN documents ON documents.id = document_id"
        )
        assert found.fetchall() == [("lease.md", 1)]


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.floats(0.0, 0.999), bit=st.integers(0, 7))
@pytest.mark.requirement("F12")
def test_a_changed_bit_anywhere_is_noticed(exported: Path, tmp_path: Path, place: float, bit: int) -> None:
    raw = bytearray(exported.read_bytes())
    raw[int(place * len(raw))] ^= 1 << bit
    changed = tmp_path / "changed.jsonl"
    changed.write_bytes(raw)
    with pytest.raises((InputDataError, DatabaseTooNewError)):
        check_mind(changed, told)


@pytest.mark.requirement("F12")
def test_what_is_cut_off_or_lacks_a_line_or_has_one_more_is_refused(exported: Path, tmp_path: Path) -> None:
    lines = exported.read_bytes().splitlines(keepends=True)
    for wrong in (lines[:-1], [*lines[:5], *lines[6:]], [*lines, lines[3]], [*lines[:-1], lines[-1][:-5]], []):
        changed = tmp_path / "changed.jsonl"
        changed.write_bytes(b"".join(wrong))
        with pytest.raises(InputDataError):
            check_mind(changed, told)


@pytest.mark.requirement("F12")
@pytest.mark.parametrize(
    "newer", [{"reveries_mind": FORMAT + 1, "schema": 1}, {"reveries_mind": 1, "schema": SCHEMA_VERSION + 1}]
)
def test_a_newer_file_is_refused(tmp_path: Path, newer: dict[str, int]) -> None:
    file = tmp_path / "newer.jsonl"
    file.write_bytes(msgspec.json.encode(newer) + b"\n")
    with pytest.raises(DatabaseTooNewError, match="newer Reveries"):
        check_mind(file, told)


@pytest.mark.parametrize(
    "line",
    [
        b"[" * 100_000,
        b'{"a":' * 50_000,
        b"null",
        b"7",
        b'"x"',
        b"\xff\xfe",
        b'{"reveries_mind": "1", "schema": 1}',
        b"{}",
    ],
)
def test_what_is_no_mind_is_refused_with_a_sentence(tmp_path: Path, line: bytes) -> None:
    file = tmp_path / "hostile.jsonl"
    file.write_bytes(line + b"\n")
    with pytest.raises(InputDataError):
        check_mind(file, told)


@pytest.mark.parametrize(
    ("table", "row"),
    [
        ("turns; DROP TABLE turns", {"id": "a"}),
        ("schedule", {"job": "backup", "next_run_at": 1.0}),
        ("sqlite_master", {"sql": "x"}),
        ("conversations", {'id") VALUES (1); --': "a"}),
        ("conversations", {"id": ["a"]}),
        ("conversations", {"id": {"x": "a"}}),
        ("conversations", {"id": 7, "began_at": "soon"}),
        ("episode_sources", {"episode_id": "nobody", "experience_id": "nothing"}),
        ("conversations", {}),
    ],
)
def test_a_row_that_fits_nowhere_is_refused(tmp_path: Path, table: str, row: dict[str, object]) -> None:
    """With right checksums: who can write such a file can compute them."""
    from reveries.db import mind_file as portable

    lines = [
        msgspec.json.encode({"reveries_mind": 1, "schema": SCHEMA_VERSION, "vectors": False}),
        msgspec.json.encode({"table": table, "row": row, "check": portable._checksum_of_row(table, row)}),
    ]
    total = portable._Total()
    for line in lines:
        total.add(line)
    end = msgspec.json.encode({"end": {"rows": 1, "check": total.hex}})
    file = tmp_path / "hostile.jsonl"
    file.write_bytes(b"\n".join([*lines, end, b""]))
    with pytest.raises(InputDataError):
        bring_in(file, tmp_path / "other")


def test_what_came_under_the_name_while_it_was_written_stays(
    mind: tuple[Path, dict[str, object]], tmp_path: Path
) -> None:
    target, other = tmp_path / "out.jsonl", tmp_path / "other.jsonl"
    target.symlink_to(tmp_path / "nowhere yet")  # Seen by no look at what it leads to, as what comes after the look.
    with pytest.raises(InputFileError, match="cannot be written"):
        export_mind(mind[0], target, with_vectors=False, tell=told)
    partial = other.with_name("other.jsonl.partial")
    partial.write_text("mine, too")
    with pytest.raises(InputFileError, match="cannot be written"):
        export_mind(mind[0], other, with_vectors=False, tell=told)
    assert (target.is_symlink(), partial.read_text()) == (True, "mine, too")
    assert not other.exists()
    assert not list(tmp_path.glob("out.jsonl.*"))


def test_nothing_is_written_over_and_a_file_that_is_not_there_is_said(
    mind: tuple[Path, dict[str, object]], exported: Path, tmp_path: Path
) -> None:
    with pytest.raises(InputFileError, match="already"):
        export_mind(mind[0], exported, with_vectors=False, tell=told)
    with pytest.raises(InputFileError):
        check_mind(tmp_path / "nowhere", told)
    assert isinstance(check_mind(exported, told), MindFileSummary)
