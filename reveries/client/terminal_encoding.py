"""Terminals whose encoding is not UTF-8: what they lack is spelled with what they have, and their input is read.

Locales as ISO-8859-1, KOI8-R or GBK have neither our bars and dots nor every letter that a person says.
"""

import codecs
import io
import sys
import unicodedata
from typing import Final

_ERRORS: Final = "reveries.spelling"
_SPELLINGS: Final = {
    **dict.fromkeys("█▉▊▋▇▆▅", "#"),
    **dict.fromkeys("▌▍▎▏▄▃▂▁", "-"),
    **dict.fromkeys("─━┄┈═‐‑‒–—−⁃", "-"),
    **dict.fromkeys("│┃║‖", "|"),
    **dict.fromkeys("┌┐└┘├┤┬┴┼╭╮╰╯", "+"),
    **dict.fromkeys("‘’‚‹›′", "'"),
    **dict.fromkeys("“”„«»″", '"'),
    **dict.fromkeys("·•●○◐◉▪⠶", "*"),
    **dict.fromkeys("▸▶→", ">"),
    **dict.fromkeys("◂◀←", "<"),
    **dict.fromkeys("▾▼↓", "v"),
    **dict.fromkeys("▴▲↑", "^"),
    "✓": "+",
    "✗": "x",
    "×": "x",
    "€": "EUR",
    "ß": "ss",
    "ø": "o",
    "Ø": "O",
    "æ": "ae",
    "Æ": "AE",
    "ł": "l",
    "Ł": "L",
    "đ": "d",
    "ı": "i",
}


def spell_missing_characters() -> None:
    """From now on standard output and error spell what their encoding cannot represent, instead of failing."""
    codecs.register_error(_ERRORS, _spell_run)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_ERRORS)


def can_write(text: str) -> bool:
    """Whether standard output's encoding has every character of `text`."""
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def decode_input(raw: bytes) -> str:
    """Decode what came in on standard input: UTF-8, else the terminal's encoding. Raises UnicodeDecodeError."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode(getattr(sys.stdin, "encoding", None) or "utf-8")


def _spell_run(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    run = error.object[error.start : error.end]
    return "".join(_spell(character, error.encoding) for character in run), error.end


def _spell(character: str, encoding: str) -> str:
    """Return `character` with what `encoding` has: a spelling, the letter without its accent, or a question mark;
    nothing for joiners and variation selectors."""
    if character in _SPELLINGS:
        return _SPELLINGS[character]
    base = "".join(part for part in unicodedata.normalize("NFKD", character) if not unicodedata.combining(part))
    if base and base != character:
        return base.encode(encoding, "replace").decode(encoding)
    return "" if unicodedata.category(character) in ("Cf", "Mn") else "?"
