"""Looks for words in every byte of a home: as they stand, in UTF-16, in base64, in hex. Pure, but for reading files.

It is the owner's own look, by a process that has nothing to do with the one that erased.
"""

import base64
import contextlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

_PIECE_BYTES = 16 * 2**20
_LONGEST_WORDS = 500
_WEIGHTS = (".gguf", ".onnx")


@dataclass(slots=True)
class Search:
    """What was found: by file, by form, how often."""

    found: dict[str, dict[str, int]] = field(default_factory=dict)
    files: int = 0
    bytes: int = 0
    passed_over: list[str] = field(default_factory=list)
    """Weights of models, and what cannot be read."""


def forms_of(words: str) -> dict[str, re.Pattern[bytes]]:
    """How `words` may stand in a file: one expression a form. Case counts for base64 alone, where it is tried as
    given, lower, upper and with capitals.

    The first and last characters of base64 hold bits of what stands beside them, and are left out.
    """
    words = words[:_LONGEST_WORDS]
    spelled = dict.fromkeys((words, words.lower(), words.upper(), words.title(), words.capitalize()))
    coded = [piece for text in spelled for name in ("utf-8", "utf-16-le") for piece in _base64(text.encode(name))]
    return {
        "text": _any_case(words, "utf-8"),
        "UTF-16 (little)": _any_case(words, "utf-16-le"),
        "UTF-16 (big)": _any_case(words, "utf-16-be"),
        "base64": re.compile(b"|".join(re.escape(piece) for piece in dict.fromkeys(coded))),
        "hex": re.compile(_hex(words), re.IGNORECASE),
        "JSON escapes": _escaped(words),
    }


def search(home: Path, words: str, tell: Callable[[int, int], None] = lambda done, total: None) -> Search:
    """Read every file under `home`; what cannot be read is said. The memory may be awake: its file is only read."""
    forms, found = forms_of(words), Search()
    files = [file for file in sorted(home.rglob("*")) if not file.is_symlink() and file.is_file()]
    for number, file in enumerate(files):
        tell(number, len(files))
        name = str(file.relative_to(home))
        if file.suffix in _WEIGHTS:
            found.passed_over.append(name)
            continue
        try:
            counts = _search_file(file, forms, found)
        except OSError:
            found.passed_over.append(name)
            continue
        for form, count in {"in its name": _named(name, forms), **counts}.items():
            if count:
                found.found.setdefault(name, {})[form] = count
        found.files += 1
    return found


def _search_file(file: Path, forms: dict[str, re.Pattern[bytes]], found: Search) -> dict[str, int]:
    counts = dict.fromkeys(forms, 0)
    for overlap, piece in _pieces(file):
        found.bytes += len(piece) - overlap
        for form, pattern in forms.items():
            # What lies wholly in the overlap was counted with the piece before.
            counts[form] += sum(match.end() > overlap for match in pattern.finditer(piece))
    return counts


def _pieces(file: Path) -> Iterator[tuple[int, bytes]]:
    """The bytes of a file, each piece with the end of the one before it, and how much of it that is."""
    keep = 16 * _LONGEST_WORDS
    tail = b""
    with file.open("rb", buffering=0) as opened:
        while read := opened.read(_PIECE_BYTES):
            piece = tail + read
            yield len(tail), piece
            tail = piece[-keep:]


def _named(name: str, forms: dict[str, re.Pattern[bytes]]) -> int:
    with contextlib.suppress(UnicodeEncodeError):
        return len(forms["text"].findall(name.encode()))
    return 0


def _any_case(words: str, coding: str) -> re.Pattern[bytes]:
    if words.isascii() and coding == "utf-8":
        return re.compile(re.escape(words.encode()), re.IGNORECASE)
    return re.compile(b"".join(_either(char, coding) for char in words))


def _either(char: str, coding: str) -> bytes:
    cases = dict.fromkeys((char, char.lower(), char.upper()))
    return b"(?:" + b"|".join(re.escape(one.encode(coding, "replace")) for one in cases) + b")"


def _hex(words: str) -> bytes:
    one = b"|".join(
        text.encode("utf-8", "replace").hex().encode() for text in dict.fromkeys((words, words.lower(), words.upper()))
    )
    return b"(?:" + one + b")"


def _escaped(words: str) -> re.Pattern[bytes]:
    """As JSON writes what is not ASCII; words that are ASCII are found as text."""
    if words.isascii():
        return re.compile(rb"(?!)")

    def one(char: str) -> bytes:
        units = char.encode("utf-16-be", "replace")
        return b"".join(rb"\\u%02x%02x" % (units[at], units[at + 1]) for at in range(0, len(units), 2))

    parts = [re.escape(char.encode()) if char.isascii() else one(char) for char in words]
    return re.compile(b"".join(parts), re.IGNORECASE)


def _base64(raw: bytes) -> Iterator[bytes]:
    """`raw` at each of the three places in a group of three where it may begin, without what depends on its
    neighbours; in both alphabets."""
    for before in range(3):
        coded = base64.b64encode(bytes(before) + raw)
        # Only the characters all of whose six bits are ours.
        piece = coded[(0, 2, 3)[before] : (before + len(raw)) * 8 // 6]
        if len(piece) >= 4:
            yield piece
            yield piece.replace(b"+", b"-").replace(b"/", b"_")
