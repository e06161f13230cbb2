"""The owner's own search finds words in every form that it promises, wherever they begin."""

import base64
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.client.byte_search import build_forms, search_files
from reveries.client.features.forgetting import trace_search_page

WORDS = "zqvorblax-7741"


@pytest.mark.requirement("F10")
@pytest.mark.parametrize(
    ("form", "raw"),
    [
        ("text", b"xxZqVorblax-7741yy"),
        ("UTF-16 (little)", "a ZQVORBLAX-7741".encode("utf-16-le")),
        ("UTF-16 (big)", "a ZQVORBLAX-7741".encode("utf-16-be")),
        ("hex", WORDS.encode().hex().upper().encode()),
        ("base64", base64.b64encode(b"z" + WORDS.encode() + b"?")),
    ],
)
def test_words_are_found_in_this_form(tmp_path: Path, form: str, raw: bytes) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").write_bytes(b"before " + raw + b" behind")
    found = search_files(tmp_path, WORDS)
    assert form in found.found["a/file"]
    assert search_files(tmp_path, "something else").found == {}


@given(
    before=st.binary(max_size=9), after=st.binary(max_size=9), words=st.sampled_from([WORDS, "Grüße aus Köln", "Anna"])
)
@pytest.mark.requirement("F10")
def test_base64_is_found_at_all_alignments(before: bytes, after: bytes, words: str) -> None:
    coded = base64.b64encode(before + words.encode() + after)
    assert build_forms(words)["base64"].pattern.search(coded)
    assert build_forms(words)["base64"].pattern.search(base64.urlsafe_b64encode(before + words.encode() + after))


def test_words_across_two_pieces_are_counted_once(tmp_path: Path) -> None:
    at = 16 * 2**20 - 5
    (tmp_path / "large").write_bytes(b"." * at + WORDS.encode() + b"." * 100)
    assert search_files(tmp_path, WORDS).found == {"large": {"text": 1}}


def test_names_of_files_and_escapes_of_json_are_found_and_weights_passed_over(tmp_path: Path) -> None:
    (tmp_path / f"{WORDS}.txt").write_bytes(b"")
    (tmp_path / "model.gguf").write_bytes(WORDS.encode())
    (tmp_path / "escaped.json").write_bytes(b'"Gr\\u00fc\\u00dfe"')
    found = search_files(tmp_path, WORDS)
    assert found.found == {f"{WORDS}.txt": {"in its name": 1}}
    assert found.passed_over == ["model.gguf"]
    assert search_files(tmp_path, "grüße").found == {"escaped.json": {"JSON escapes": 1}}


def test_a_short_name_inside_other_words_is_told_as_such(tmp_path: Path) -> None:
    (tmp_path / "memory.db").write_bytes(b"\x00history\x00stored; history and TorHello")
    found = search_files(tmp_path, "tor")
    assert found.longer_words == {"history": 2, "stored": 1, "TorHello": 1}
    page = "\n".join("".join(part.text for part in row) for row in trace_search_page(found))
    assert "Every time it is part of a longer word: history, TorHello, stored." in page
    (tmp_path / "memory.db").write_bytes(b"history, and Tor. ")
    page = "\n".join("".join(part.text for part in row) for row in trace_search_page(search_files(tmp_path, "tor")))
    assert "1 of 2 times that it was found as text, it is part of a longer word: history." in page
