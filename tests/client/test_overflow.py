"""Words are found where SQLite cuts a long text: on the next page, on the one after it, in the log."""

import contextlib
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reveries.client.byte_search import search_files
from reveries.client.overflow import find_borders
from reveries.db.driver import dbapi

WORDS = "zqvorblax-7741"


def made(path: Path, texts: list[str], page_bytes: int, *, is_index: bool = False) -> None:
    with contextlib.closing(dbapi.connect(str(path))) as file:
        file.execute(f"PRAGMA page_size={page_bytes}")
        file.execute("CREATE TABLE turns (text TEXT PRIMARY KEY) WITHOUT ROWID" if is_index else
                     "CREATE TABLE turns (text TEXT)")  # fmt: skip
        file.executemany("INSERT INTO turns VALUES (?)", [(text,) for text in texts])
        file.commit()


def filled(before: int, after: int) -> str:
    """Words of no meaning around the word."""
    letters = random.Random(before)
    return "".join(letters.choices("abcdefghijk ", k=before)) + WORDS + "".join(letters.choices("lmnop ", k=after))


@pytest.mark.requirement("F10")
@settings(max_examples=60, deadline=None)
@given(
    page_bytes=st.sampled_from([512, 1024, 4096]),
    before=st.integers(0, 12_000),
    after=st.integers(0, 9_000),
    is_index=st.booleans(),
)
def test_wherever_it_stands_in_a_long_text_it_is_found(
    tmp_path_factory: pytest.TempPathFactory, page_bytes: int, before: int, after: int, is_index: bool
) -> None:
    folder = tmp_path_factory.mktemp("home")
    made(folder / "memory.db", ["short", filled(before, after), "x" * 3000], page_bytes, is_index=is_index)
    # SQLite may have left a part of it where it stood before.
    assert search_files(folder, WORDS).found["memory.db"]["text"] >= 1
    assert search_files(folder, "another").found == {}


@pytest.mark.requirement("F10")
@pytest.mark.parametrize("page_bytes", [512, 4096])
def test_in_texts_with_the_word_at_every_place_it_is_found_once_in_each(tmp_path: Path, page_bytes: int) -> None:
    texts = [filled(before, 9900 - before) for before in range(1, 2 * page_bytes, 5)]
    made(tmp_path / "memory.db", texts, page_bytes)
    assert (tmp_path / "memory.db").read_bytes().count(WORDS.encode()) < len(texts)
    assert search_files(tmp_path, WORDS).found == {"memory.db": {"text": len(texts)}}


_WRITER = """
import sqlite3, sys
file = sqlite3.connect(sys.argv[1])
file.execute("PRAGMA journal_mode=WAL")
file.execute("CREATE TABLE turns (text TEXT)")
file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
file.execute("INSERT INTO turns VALUES (?)", (sys.argv[2],))
file.commit()
print("there", flush=True)
sys.stdin.read()
"""


@pytest.mark.requirement("F10")
def test_it_is_found_in_the_log_of_a_mind_that_is_awake(tmp_path: Path) -> None:
    pipe = subprocess.PIPE
    for before in (1500, 1715, 1720, 1725, 5811, 5815):
        path = tmp_path / f"{before}" / "memory.db"
        path.parent.mkdir()
        words = [sys.executable, "-c", _WRITER, str(path), filled(before, 9900 - before)]
        with subprocess.Popen(words, stdin=pipe, stdout=pipe) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"there\n"
            assert "memory.db-wal" in search_files(path.parent, WORDS).found, before
            writer.communicate(timeout=300)


@given(st.binary(max_size=3000), st.sampled_from([b"", b"SQLite format 3\x00", b"\x37\x7f\x06\x82"]))
@settings(max_examples=100, deadline=None)
def test_no_file_however_broken_ends_the_search(
    tmp_path_factory: pytest.TempPathFactory, raw: bytes, head: bytes
) -> None:
    file = tmp_path_factory.mktemp("broken") / "memory.db"
    for size in (b"\x02\x00", b"\x10\x00", b"\x00\x01"):
        file.write_bytes(head + size + raw)
        borders = list(find_borders(file, 200))
        assert not borders or head
        assert all(len(border.before) <= 200 and len(border.after) <= 200 for border in borders)


@pytest.mark.requirement("F10")
def test_a_database_whose_pages_lead_in_a_circle_is_read_to_its_end(tmp_path: Path) -> None:
    file = tmp_path / "memory.db"
    made(file, [filled(3000, 6900)], 512)
    raw = bytearray(file.read_bytes())
    for page in range(3 * 512, len(raw), 512):
        raw[page : page + 4] = (4).to_bytes(4, "big")
    file.write_bytes(raw)
    assert list(find_borders(file, 100))


@pytest.mark.requirement("F10")
@pytest.mark.parametrize(
    "raw", ["the Pear\n  tree", "the pear\u00a0tree", "a pear\ttree", '"pear\\ntree"', "PEAR\u2009TREE"]
)
def test_whatever_blank_stands_between_words_they_are_found(tmp_path: Path, raw: str) -> None:
    (tmp_path / "file").write_text(raw, encoding="utf-8")
    assert search_files(tmp_path, "pear tree").found == {"file": {"text": 1}}


@pytest.mark.requirement("F10")
@pytest.mark.parametrize("words", ["Gr\u00fc\u00dfe", "Gru\u0308\u00dfe", "gr\u00fc\u00dfe  aus K\u00f6ln"])
@pytest.mark.parametrize("there", ["Gr\u00fc\u00dfe aus K\u00f6ln", "Gru\u0308\u00dfe aus Ko\u0308ln"])
def test_composed_and_decomposed_letters_are_the_same(tmp_path: Path, words: str, there: str) -> None:
    (tmp_path / "file").write_text(there, encoding="utf-8")
    assert search_files(tmp_path, words).found == {"file": {"text": 1}}


@pytest.mark.requirement("F10")
def test_a_log_that_cannot_be_read_takes_nothing_from_what_was_found_beside_it(tmp_path: Path) -> None:
    made(tmp_path / "memory.db", [WORDS], 4096)
    # A file that is there, and fails when it is read.
    (tmp_path / "memory.db-wal").symlink_to("/proc/self/mem")
    found = search_files(tmp_path, WORDS)
    assert found.found["memory.db"]["text"] >= 1
    assert {"memory.db", "memory.db-wal"} <= set(found.passed_over)
