"""Sanitizing of text before it is shown: control characters are removed, readable text is kept.

Text from a model or from memory never reaches a terminal, a log or a markup parser unsanitized (DESIGN, "Text is
data"). The daemon sanitizes it at the source, the client again before showing it.
"""

import re
from typing import Final

from reveries import gates

# ECMA-48: CSI, OSC, DCS/SOS/PM/APC strings (ended by BEL or ST), two-byte escapes; 7-bit and 8-bit forms.
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)
# An escape sequence that the next piece of a stream may continue.
_UNFINISHED = re.compile(
    r"(?:(?:\x1b\[|\x9b)[0-?]*[ -/]*|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*|\x1b[ -/]*)\Z"
)
# Line ends of every kind: terminals paste CR, old files end lines with it, word processors write U+2028 and VT.
_LINE_ENDS = re.compile("\r\n|[\r\v\f\x85\u2028\u2029]")
# The three flags that Unicode recommends whose letters are tag characters: England, Scotland, Wales (UTS 51, 1.4.6).
_TAG_FLAGS = "\U0001f3f4(?:{})\U000e007f".format(
    "|".join("".join(chr(0xE0000 + ord(letter)) for letter in region) for region in ("gbeng", "gbsct", "gbwls"))
)
_UNFINISHED_FLAG = re.compile("\U0001f3f4[\U000e0061-\U000e007a]{0,5}\\Z")
# Control characters; bidirectional overrides and isolates, and other tag characters: invisible, and able to disguise
# text. Joiners, marks of direction (U+200E, U+200F) and variation selectors are part of how words are written.
_REMOVED = re.compile(
    f"(?P<flag>{_TAG_FLAGS})|{_ESCAPES.pattern}"
    "|[\x00-\x08\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]"
)
_SURROGATES = re.compile("[\ud800-\udfff]")
# Square brackets, which delimit records, and characters that look like them.
_BRACKETS: Final = str.maketrans("[]\uff3b\uff3d\u27e6\u27e7\u3010\u3011\u3014\u3015\u2045\u2046", "()" * 6)


def plain(text: str) -> str:
    """Return `text` with newlines as its only line ends, and without escape sequences, control characters (except
    newline and tab), direction overrides and hidden tags."""
    text = _LINE_ENDS.sub("\n", text)
    text = _REMOVED.sub(lambda removed: removed["flag"] or "", text)
    return _SURROGATES.sub("\ufffd", text)


def one_line(text: str, limit_chars: int = 200) -> str:
    """Return `plain(text)` on one line, cut with an ellipsis at `limit_chars`."""
    line = " ".join(plain(text).split())
    return line if len(line) <= limit_chars else line[: limit_chars - 1] + "…"


def format_record(text: str, limit_chars: int) -> str:
    """Return `text` for a record in square brackets in a prompt: on one line, with brackets replaced, so that no part
    of it can look like text after the record (F1)."""
    line = one_line(text, limit_chars)
    return line.translate(_BRACKETS) if gates.is_enforced(gates.Gate.RECORD) else line


class PlainStream:
    """Streaming `plain`: the joined output is `plain` of the whole text, however it was cut into pieces."""

    def __init__(self) -> None:
        self._pending = ""

    def feed(self, piece: str) -> str:
        """Return what can be shown now. An unfinished escape sequence, flag or line end is held back."""
        text = self._pending + piece
        flag = _UNFINISHED_FLAG.search(text)
        cut = flag.start() if flag else len(text.removesuffix("\r"))
        for escape in _ESCAPES.finditer(text):
            if escape.end() == len(text) and _UNFINISHED.match(text, escape.start()):
                cut = min(cut, escape.start())
        self._pending = text[cut:]
        return plain(text[:cut])

    def finish(self) -> str:
        """Return the sanitized rest that was held back, and reset the stream."""
        pending, self._pending = self._pending, ""
        return plain(pending)
