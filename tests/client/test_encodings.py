"""Terminals whose encoding is not UTF-8: every command answers, and what a person types arrives."""

import json
import subprocess
import sys

import pytest

from reveries import protocol
from reveries.client import terminal_encoding
from reveries.config import Home
from tests.client.command_line import environment
from tests.client.test_cli import FOUND
from tests.fakes.daemon import Script, awake_in_thread, status

_ENCODINGS = ["iso-8859-1", "gbk", "koi8-r", "cp1252", "euc-jp", "ascii"]
_WORDS = "Ólafur wrote “Привет” to 山田 👩\u200d🚀 – ﬁne…"


def run_in(home: Home, encoding: str, *words: str, stdin: bytes = b"") -> tuple[int, str, str]:
    """Run `reveries WORDS` where the terminal's encoding is `encoding`."""
    ran = subprocess.run(
        [sys.executable, "-m", "reveries", *words],
        input=stdin,
        capture_output=True,
        env=environment(home, PYTHONIOENCODING=encoding, PYTHONUTF8="0", PYTHONCOERCECLOCALE="0"),
        timeout=300,
        check=False,
    )
    # click writes UTF-8 where Python was told ASCII, which most often means that nobody has set a locale.
    written = "utf-8" if encoding == "ascii" else encoding
    return ran.returncode, ran.stdout.decode(written), ran.stderr.decode(written)


@pytest.mark.parametrize("encoding", _ENCODINGS)
def test_every_page_is_written_in_the_encoding_of_the_terminal(home: Home, encoding: str) -> None:
    with awake_in_thread(home, Script(pieces=[_WORDS], found=FOUND, status=status(home, problems=[_WORDS]))):
        for words in (["status"], ["usage"], ["memory"], ["memory", "search", "x"], ["models"], ["say", "hello"]):
            code, out, err = run_in(home, encoding, *words)
            assert code == 0, (words, err)
            assert out.strip()
        code, out, _ = run_in(home, encoding, "say", "--json", "hello")
        assert json.loads(out)["text"] == _WORDS
        code, _, err = run_in(home, encoding, "memory", "inspect", _WORDS)
        assert (code, "unexpected" in err) == (1, False)


def test_a_missing_character_is_spelled_with_those_that_the_encoding_has() -> None:
    terminal_encoding.spell_missing_characters()
    for encoding, written in (
        ("iso-8859-1", b'\xd3lafur wrote "??????" to ?? ?? - fine...'),
        ("koi8-r", 'Olafur wrote "Привет" to ?? ?? - fine...'.encode("koi8-r")),
    ):
        assert _WORDS.encode(encoding, "reveries.spelling") == written
    assert "█▌· ─│┌ ✓ café ½ ①".encode("ascii", "reveries.spelling") == b"#-* -|+ + cafe 1?2 1"


def test_what_is_piped_in_in_the_encoding_of_the_terminal_is_said_as_it_was_written(home: Home) -> None:
    with awake_in_thread(home) as fake:
        assert run_in(home, "iso-8859-1", "say", stdin="Café à Évora".encode("iso-8859-1"))[0] == 0
        assert run_in(home, "gbk", "say", stdin="山田太郎".encode("gbk"))[0] == 0
    said = [request.text for request in fake.received if isinstance(request, protocol.Say)]
    assert said == ["Café à Évora", "山田太郎"]
