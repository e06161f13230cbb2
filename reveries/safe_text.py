"""Text that may be shown: control characters out, everything a person can read kept.

Model text and remembered text never reach a terminal, a log or a markup parser unescaped (DESIGN, "Text is data").
The daemon strips at the source, the client again at the sink.
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
# An escape that the next piece of a stream may go on with.
_UNFINISHED = re.compile(
    r"(?:(?:\x1b\[|\x9b)[0-?]*[ -/]*|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*|\x1b[ -/]*)\Z"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# Bidirectional overrides and isolates, and tag characters: invisible, and able to make text read as what it is not.
_INVISIBLE = re.compile("[\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")
_SURROGATES = re.compile("[\ud800-\udfff]")
# The square brackets of records, and what looks like them.
_BRACKETS: Final = str.maketrans("[]\uff3b\uff3d\u27e6\u27e7\u3010\u3011\u3014\u3015\u2045\u2046", "()" * 6)


def plain(text: str) -> str:
    """`text` without escape sequences, control characters (but newline and tab) and invisible direction marks."""
    text = text.replace("\r\n", "\n")
    text = _ESCAPES.sub("", text)
    text = _CONTROLS.sub("", text)
    text = _INVISIBLE.sub("", text)
    return _SURROGATES.sub("\ufffd", text)


def one_line(text: str, limit_chars: int = 200) -> str:
    """`plain(text)` on one line, cut with an ellipsis at `limit_chars`."""
    line = " ".join(plain(text).split())
    return line if len(line) <= limit_chars else line[: limit_chars - 1] + "…"


def record(text: str, limit_chars: int) -> str:
    """`text` as it stands in a record between square brackets of a prompt: on one line, and without any bracket that
    would end the record, so that nothing in it can look like what stands after it (F1)."""
    line = one_line(text, limit_chars)
    return line.translate(_BRACKETS) if gates.stands(gates.Gate.RECORD) else line


class PlainStream:
    """`plain` for text that comes in pieces: what is given out, joined, is `plain` of the whole, however it was cut."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """What of `piece` may be shown now. An escape that is not finished is held back."""
        text = self._held + piece
        cut = len(text)
        for escape in _ESCAPES.finditer(text):
            if escape.end() == len(text) and _UNFINISHED.match(text, escape.start()):
                cut = escape.start()
        self._held = text[cut:]
        return plain(text[:cut])

    def finish(self) -> str:
        """What was held back, made plain. The stream begins anew."""
        held, self._held = self._held, ""
        return plain(held)
