"""Looks for words in every byte of a home: as they stand, in UTF-16, in base64, in hex; in files of SQLite also where
a long text is cut. Pure, but for reading files.

It is the owner's own look, by a process that has nothing to do with the one that erased.
"""

import base64
import contextlib
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from reveries.client.overflow import Border, borders

_PIECE_BYTES = 16 * 2**20
_LONGEST_WORDS = 500
_WEIGHTS = (".gguf", ".onnx")
_BESIDE_BYTES = 16
_MOST_LONGER_WORDS = 10_000
_WORD_BEFORE = re.compile(rb"[0-9A-Za-z\x80-\xff]+$")
_BLANKS = rb"(?:[\x09-\x0d\x20]|\xc2[\x85\xa0]|\xe2\x80[\x80-\x8b\xa8\xa9\xaf]|\xe3\x80\x80|\\[nrt])+"
"""In UTF-8; the last as JSON writes them."""
_WORD_AFTER = re.compile(rb"[0-9A-Za-z\x80-\xff]+")


@dataclass(slots=True)
class TraceSearch:
    """What was found: by file, by form, how often."""

    found: dict[str, dict[str, int]] = field(default_factory=dict)
    files: int = 0
    bytes: int = 0
    passed_over: list[str] = field(default_factory=list)
    """Weights of models, and what cannot be read."""
    longer_words: dict[str, int] = field(default_factory=dict)
    """What stands as text with letters or digits beside it: the longer words, each with how often."""


@dataclass(frozen=True, slots=True)
class Form:
    """One way in which words may stand in a file. `hints`: of which one stands there whenever the expression fits, in
    lower case where `is_folded`; looked for first, which is many times as fast. None: only the expression knows."""

    pattern: re.Pattern[bytes]
    hints: tuple[bytes, ...] = ()
    is_folded: bool = True

    def count(self, piece: bytes, folded: bytes, overlap: int) -> int:
        """How often in `piece`; what lies wholly in its first `overlap` bytes was counted with the piece before."""
        among = folded if self.is_folded else piece
        if self.hints and not any(hint in among for hint in self.hints):
            return 0
        return sum(match.end() > overlap for match in self.pattern.finditer(piece))

    def count_across(self, border: Border) -> int:
        """How often with some of it before the border and some behind it."""
        piece, at = border.before + border.after, len(border.before)
        among = piece.lower() if self.is_folded else piece
        if self.hints and not any(hint in among for hint in self.hints):
            return 0
        return sum(match.start() < at < match.end() for match in self.pattern.finditer(piece))

    def longer_words(self, piece: bytes, overlap: int) -> Iterator[str]:
        """Where letters or digits stand beside it, the whole of what they make."""
        for match in self.pattern.finditer(piece):
            start, end = match.span()
            if end > overlap:
                before = _WORD_BEFORE.search(piece[max(0, start - _BESIDE_BYTES) : start])
                after = _WORD_AFTER.match(piece[end : end + _BESIDE_BYTES])
                whole = (before[0] if before else b"") + match[0] + (after[0] if after else b"")
                if len(whole) > len(match[0]):
                    yield whole.decode("utf-8", "ignore")


def forms_of(words: str) -> dict[str, Form]:
    """How `words` may stand in a file. Case counts for base64 alone, where it is tried as given, lower, upper and with
    capitals.

    The first and last characters of base64 hold bits of what stands beside them, and are left out.
    """
    words = words[:_LONGEST_WORDS]
    spelled = dict.fromkeys((words, words.lower(), words.upper(), words.title(), words.capitalize()))
    coded = tuple(
        dict.fromkeys(
            piece for text in spelled for name in ("utf-8", "utf-16-le") for piece in _base64(text.encode(name))
        )
    )
    forms = {
        "text": _as_text(words),
        "UTF-16 (little)": _any_case(words, "utf-16-le"),
        "UTF-16 (big)": _any_case(words, "utf-16-be"),
        "hex": _hex(words),
    }
    if coded:
        forms["base64"] = Form(re.compile(b"|".join(map(re.escape, coded))), coded, is_folded=False)
    if not words.isascii():
        forms["JSON escapes"] = _json_form(words)
    return forms


def search(
    home: Path,
    words: str,
    tell: Callable[[int, int], None] = lambda done, total: None,
    database: Path | None = None,
) -> TraceSearch:
    """Read every file under `home`, and the memory with what lies beside it where that is elsewhere; what cannot be
    read is said. The memory may be awake: its file is only read."""
    forms, found = forms_of(words), TraceSearch()
    files = sorted({*_files_under(home), *(_memory_files(database) if database is not None else ())})
    for number, file in enumerate(files):
        tell(number, len(files))
        name = str(file.relative_to(home) if file.is_relative_to(home) else file)
        if file.suffix in _WEIGHTS:
            found.passed_over.append(name)
            continue
        try:
            counts = _search_file(file, forms, found)
        except OSError:
            found.passed_over.append(name)
            continue
        try:
            _search_borders(file, forms, counts, 16 * min(len(words), _LONGEST_WORDS))
        except OSError:
            # The file beside it may be gone by now; what was found in this one was found.
            found.passed_over.append(name)
        for form, count in {"in its name": _count_in_name(name, forms), **counts}.items():
            if count:
                found.found.setdefault(name, {})[form] = count
        found.files += 1
    return found


def _files_under(folder: Path) -> Iterator[Path]:
    """Through links, too: an owner may keep the memory, or the copies of it, elsewhere."""
    for file in folder.rglob("*"):
        if not file.is_symlink():
            yield from [file] if file.is_file() else []
        elif file.is_file():
            yield file
        elif file.is_dir() and not folder.resolve().is_relative_to(file.resolve()):
            yield from (inner for inner in file.resolve().rglob("*") if inner.is_file() and not inner.is_symlink())


def _memory_files(database: Path) -> Iterator[Path]:
    beside = {
        database,
        *database.parent.glob(f"{database.name}[-.]*"),
        *database.parent.glob(f"{database.stem}.snapshot*"),
    }
    yield from (file for file in beside if file.is_file())


def _search_file(file: Path, forms: dict[str, Form], found: TraceSearch) -> dict[str, int]:
    counts = dict.fromkeys(forms, 0)
    for overlap, piece in _read_pieces(file):
        found.bytes += len(piece) - overlap
        folded = piece.lower()
        for name, form in forms.items():
            counts[name] += form.count(piece, folded, overlap)
        if counts["text"]:
            _note_longer_words(forms["text"].longer_words(piece, overlap), found.longer_words)
    return counts


def _search_borders(file: Path, forms: dict[str, Form], counts: dict[str, int], reach: int) -> None:
    for border in borders(file, reach):
        for name, form in forms.items():
            counts[name] += form.count_across(border)


def _note_longer_words(words: Iterator[str], noted: dict[str, int]) -> None:
    for word in words:
        if word in noted or len(noted) < _MOST_LONGER_WORDS:
            noted[word] = noted.get(word, 0) + 1


def _read_pieces(file: Path) -> Iterator[tuple[int, bytes]]:
    """The bytes of a file, each piece with the end of the one before it, and how much of it that is."""
    keep = 16 * _LONGEST_WORDS
    tail = b""
    with file.open("rb", buffering=0) as opened:
        while read := opened.read(_PIECE_BYTES):
            piece = tail + read
            yield len(tail), piece
            tail = piece[-keep:]


def _count_in_name(name: str, forms: dict[str, Form]) -> int:
    with contextlib.suppress(UnicodeEncodeError):
        return forms["text"].count(name.encode(), name.encode().lower(), 0)
    return 0


def _as_text(words: str) -> Form:
    """In any case; with whatever blanks between them, also as JSON writes those; composed and decomposed."""
    spelled = dict.fromkeys(unicodedata.normalize(form, words) for form in ("NFC", "NFD"))
    if words.isascii() and len(words.split()) == 1:
        return _any_case(words, "utf-8")
    patterns = [
        _BLANKS.join(b"".join(_either(char, "utf-8") for char in word) for word in one.split()) for one in spelled
    ]
    whole = [word.lower().encode() for word in words.split() if word.isascii()]
    return Form(re.compile(b"|".join(patterns)), (max(whole, key=len),) if whole else ())


def _any_case(words: str, coding: str) -> Form:
    """Of ASCII words the bytes of either case differ as ASCII letters do, in UTF-16 too."""
    if words.isascii():
        raw = words.lower().encode(coding)
        return Form(re.compile(re.escape(raw), re.IGNORECASE), (raw,))
    return Form(re.compile(b"".join(_either(char, coding) for char in words)))


def _either(char: str, coding: str) -> bytes:
    cases = dict.fromkeys((char, char.lower(), char.upper()))
    return b"(?:" + b"|".join(re.escape(one.encode(coding, "replace")) for one in cases) + b")"


def _hex(words: str) -> Form:
    """Of the words as given, lower and upper; of ASCII words in any case."""
    spelled = dict.fromkeys((words, words.lower(), words.upper()))
    hints = tuple(dict.fromkeys(text.encode("utf-8", "replace").hex().encode() for text in spelled))
    return Form(re.compile(b"|".join(hints), re.IGNORECASE), hints)


def _json_form(words: str) -> Form:
    """As JSON writes what is not ASCII; words that are ASCII are found as text."""

    def one(char: str) -> bytes:
        units = char.encode("utf-16-be", "replace")
        return b"".join(rb"\\u%02x%02x" % (units[at], units[at + 1]) for at in range(0, len(units), 2))

    parts = [re.escape(char.encode()) if char.isascii() else one(char) for char in words]
    return Form(re.compile(b"".join(parts), re.IGNORECASE))


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
