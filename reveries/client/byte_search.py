"""Search all files of a home for words: as text, in UTF-16, base64 and hex, and across the page borders of SQLite
files. Only reads files.

The owner checks an erasure with it, independently of the process that erased.
"""

import base64
import contextlib
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from reveries.client.overflow import Border, find_borders

_PIECE_BYTES = 16 * 2**20
_LONGEST_WORDS = 500
_WEIGHTS = (".gguf", ".onnx")
_CONTEXT_BYTES = 16
_MOST_LONGER_WORDS = 10_000
_WORD_BEFORE = re.compile(rb"[0-9A-Za-z\x80-\xff]+$")
_BLANKS = rb"(?:[\x09-\x0d\x20]|\xc2[\x85\xa0]|\xe2\x80[\x80-\x8b\xa8\xa9\xaf]|\xe3\x80\x80|\\[nrt])+"
"""White space in UTF-8, and its JSON escapes."""
_WORD_AFTER = re.compile(rb"[0-9A-Za-z\x80-\xff]+")


class TraceSearch(msgspec.Struct):
    """`found`: the number of matches in each file of the home, by form; empty if there are none."""

    found: dict[str, dict[str, int]] = {}
    files: int = 0
    bytes: int = 0
    passed_over: list[str] = []
    """Files that were not searched: weights of models, and unreadable files."""
    longer_words: dict[str, int] = {}
    """Words that contain the searched one ("history" for "Tor"), with the number of each."""


@dataclass(frozen=True, slots=True)
class Form:
    """One encoding of the words in a file. `hints`: byte strings of which at least one is present wherever the pattern
    matches, in lower case if `is_folded`; they are searched first, which is many times faster. Empty: no hint."""

    pattern: re.Pattern[bytes]
    hints: tuple[bytes, ...] = ()
    is_folded: bool = True

    def count(self, piece: bytes, folded: bytes, overlap: int) -> int:
        """Count matches in `piece`, except those within its first `overlap` bytes: these were counted before."""
        among = folded if self.is_folded else piece
        if self.hints and not any(hint in among for hint in self.hints):
            return 0
        return sum(match.end() > overlap for match in self.pattern.finditer(piece))

    def count_across(self, border: Border) -> int:
        """Count the matches that cross the border."""
        piece, at = border.before + border.after, len(border.before)
        among = piece.lower() if self.is_folded else piece
        if self.hints and not any(hint in among for hint in self.hints):
            return 0
        return sum(match.start() < at < match.end() for match in self.pattern.finditer(piece))

    def longer_words(self, piece: bytes, overlap: int) -> Iterator[str]:
        """Yield the longer words that contain a match."""
        for match in self.pattern.finditer(piece):
            start, end = match.span()
            if end > overlap:
                before = _WORD_BEFORE.search(piece[max(0, start - _CONTEXT_BYTES) : start])
                after = _WORD_AFTER.match(piece[end : end + _CONTEXT_BYTES])
                whole = (before[0] if before else b"") + match[0] + (after[0] if after else b"")
                if len(whole) > len(match[0]):
                    yield whole.decode("utf-8", "ignore")


def build_forms(words: str) -> dict[str, Form]:
    """Return the encodings in which `words` may be in a file, in any case. For base64, in which case matters, only as
    given, in lower, upper and title case.

    The first and last characters of base64 depend on the neighbouring text, and are left out.
    """
    words = words[:_LONGEST_WORDS]
    spelled = dict.fromkeys((words, words.lower(), words.upper(), words.title(), words.capitalize()))
    coded = tuple(
        dict.fromkeys(
            piece for text in spelled for name in ("utf-8", "utf-16-le") for piece in _base64_pieces(text.encode(name))
        )
    )
    forms = {
        "text": _text_form(words),
        "UTF-16 (little)": _any_case_form(words, "utf-16-le"),
        "UTF-16 (big)": _any_case_form(words, "utf-16-be"),
        "hex": _hex_form(words),
    }
    if coded:
        forms["base64"] = Form(re.compile(b"|".join(map(re.escape, coded))), coded, is_folded=False)
    if not words.isascii():
        forms["JSON escapes"] = _json_form(words)
    return forms


def search_files(
    home: Path,
    words: str,
    progress: Callable[[int, int], None] = lambda done, total: None,
    database: Path | None = None,
) -> TraceSearch:
    """Search every file under `home`, and the database with its files if that is elsewhere. Unreadable files are listed
    in the result. A daemon may be running: files are only read."""
    forms, result = build_forms(words), TraceSearch()
    files = sorted({*_files_under(home), *(_memory_files(database) if database is not None else ())})
    for number, file in enumerate(files):
        progress(number, len(files))
        name = str(file.relative_to(home) if file.is_relative_to(home) else file)
        if file.suffix in _WEIGHTS:
            result.passed_over.append(name)
            continue
        try:
            counts = _search_file(file, forms, result)
        except OSError:
            result.passed_over.append(name)
            continue
        try:
            _search_borders(file, forms, counts, 16 * min(len(words), _LONGEST_WORDS))
        except OSError:
            # The paired file (database or log) may be gone; the matches in this one still count.
            result.passed_over.append(name)
        for form, count in {"in its name": _count_in_name(name, forms), **counts}.items():
            if count:
                result.found.setdefault(name, {})[form] = count
        result.files += 1
    return result


def _files_under(folder: Path) -> Iterator[Path]:
    """Follow links too: the memory or its backups may be kept elsewhere."""
    for file in folder.rglob("*"):
        if not file.is_symlink():
            yield from [file] if file.is_file() else []
        elif file.is_file():
            yield file
        elif file.is_dir() and not folder.resolve().is_relative_to(file.resolve()):
            yield from (inner for inner in file.resolve().rglob("*") if inner.is_file() and not inner.is_symlink())


def _memory_files(database: Path) -> Iterator[Path]:
    files = {
        database,
        *database.parent.glob(f"{database.name}[-.]*"),
        *database.parent.glob(f"{database.stem}.snapshot*"),
    }
    yield from (file for file in files if file.is_file())


def _search_file(file: Path, forms: dict[str, Form], result: TraceSearch) -> dict[str, int]:
    counts = dict.fromkeys(forms, 0)
    for overlap, piece in _read_pieces(file):
        result.bytes += len(piece) - overlap
        folded = piece.lower()
        for name, form in forms.items():
            counts[name] += form.count(piece, folded, overlap)
        if counts["text"]:
            _count_longer_words(forms["text"].longer_words(piece, overlap), result.longer_words)
    return counts


def _search_borders(file: Path, forms: dict[str, Form], counts: dict[str, int], reach: int) -> None:
    for border in find_borders(file, reach):
        for name, form in forms.items():
            counts[name] += form.count_across(border)


def _count_longer_words(words: Iterator[str], counts: dict[str, int]) -> None:
    for word in words:
        if word in counts or len(counts) < _MOST_LONGER_WORDS:
            counts[word] = counts.get(word, 0) + 1


def _read_pieces(file: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the file in pieces, each prefixed with the end of the previous one, and the length of that prefix."""
    keep = 16 * _LONGEST_WORDS
    tail = b""
    with file.open("rb", buffering=0) as stream:
        while read := stream.read(_PIECE_BYTES):
            piece = tail + read
            yield len(tail), piece
            tail = piece[-keep:]


def _count_in_name(name: str, forms: dict[str, Form]) -> int:
    with contextlib.suppress(UnicodeEncodeError):
        return forms["text"].count(name.encode(), name.encode().lower(), 0)
    return 0


def _text_form(words: str) -> Form:
    """Match in any case, with any white space between the words (or its JSON escapes), in NFC and NFD."""
    spelled = dict.fromkeys(unicodedata.normalize(form, words) for form in ("NFC", "NFD"))
    if words.isascii() and len(words.split()) == 1:
        return _any_case_form(words, "utf-8")
    patterns = [
        _BLANKS.join(b"".join(_case_pattern(char, "utf-8") for char in word) for word in spelling.split())
        for spelling in spelled
    ]
    whole = [word.lower().encode() for word in words.split() if word.isascii()]
    return Form(re.compile(b"|".join(patterns)), (max(whole, key=len),) if whole else ())


def _any_case_form(words: str, coding: str) -> Form:
    """Match in any case. For ASCII words a case-insensitive byte pattern is enough, in UTF-16 too."""
    if words.isascii():
        raw = words.lower().encode(coding)
        return Form(re.compile(re.escape(raw), re.IGNORECASE), (raw,))
    return Form(re.compile(b"".join(_case_pattern(char, coding) for char in words)))


def _case_pattern(char: str, coding: str) -> bytes:
    cases = dict.fromkeys((char, char.lower(), char.upper()))
    return b"(?:" + b"|".join(re.escape(case.encode(coding, "replace")) for case in cases) + b")"


def _hex_form(words: str) -> Form:
    """Match the hex digits of the words as given, in lower and in upper case."""
    spelled = dict.fromkeys((words, words.lower(), words.upper()))
    hints = tuple(dict.fromkeys(text.encode("utf-8", "replace").hex().encode() for text in spelled))
    return Form(re.compile(b"|".join(hints), re.IGNORECASE), hints)


def _json_form(words: str) -> Form:
    """Match words with non-ASCII characters as JSON escapes; ASCII words are found as text."""

    def escape(char: str) -> bytes:
        units = char.encode("utf-16-be", "replace")
        return b"".join(rb"\\u%02x%02x" % (units[at], units[at + 1]) for at in range(0, len(units), 2))

    parts = [re.escape(char.encode()) if char.isascii() else escape(char) for char in words]
    return Form(re.compile(b"".join(parts), re.IGNORECASE))


def _base64_pieces(raw: bytes) -> Iterator[bytes]:
    """Yield the base64 of `raw` for each of its three possible alignments, without the characters that depend on
    neighbouring bytes, in both alphabets."""
    for before in range(3):
        coded = base64.b64encode(bytes(before) + raw)
        # Only characters whose six bits all belong to `raw`.
        piece = coded[(0, 2, 3)[before] : (before + len(raw)) * 8 // 6]
        if len(piece) >= 4:
            yield piece
            yield piece.replace(b"+", b"-").replace(b"/", b"_")
