"""Random but reproducible strings that attack a terminal, each with the text that a person should see of it.

A string is visible pieces with attacks between them: the whole grammar of ECMA-48 (CSI, OSC, DCS, SOS, PM, APC and the
two-byte escapes, in their 7-bit and 8-bit forms), the other control characters, marks of direction and tag characters;
and, as part of what is visible, what a markup or Markdown parser might act upon.
"""

import random
from dataclasses import dataclass
from typing import Final

_WORDS: Final = (
    "good morning", "[TODO]", "[/]", "[/b]", "[red]", "[@click=app.quit]x[/]", "[link=file:///etc/passwd]y[/link]",
    "[z](http://evil.example)", "![i](http://evil.example/i.png)", "<http://evil.example>", "http://evil.example/a",
    "<b>bold</b>", "<script>alert(1)</script>", "&#x1b;[31m", "\\u001b]0;x\\u0007", "\\[31m", "$accent", "{0}", "%s",
    "naïve Überraschung",
    "日本語", "👩‍👩‍👧", "e\u0301", "a\u200bb", "| a | [/ |", "`[/]`", "```[evil", "# [/]", "1 < 2 > 0",
    ":skull:", "[bold", "]", "[", "::", "[x][y]", "[y]: http://evil.example", "\t", "***", "javascript:alert(1)",
)  # fmt: skip
_PRIVATE: Final = "".join(map(chr, range(0x30, 0x40)))
_INTERMEDIATE: Final = "".join(map(chr, range(0x20, 0x30)))
_FINAL: Final = "".join(map(chr, range(0x40, 0x7F)))
_OSC: Final = (
    "0;EVIL", "2;EVIL", "8;;file:///etc/passwd", "8;id=1;http://evil.example", "52;c;RVZJTA==", "52;p;?",
    "1337;File=name=RVZJTA==;inline=1:AAAA", "9;EVIL", "777;notify;EVIL;EVIL", "4;1;rgb:00/00/00", "10;?", "133;A",
)  # fmt: skip
_DCS: Final = ("+q544e", "$q m", "1;2|17/AB", "q#0;2;0;0;0#0~~@@", "tmux;\x1b\x1b]0;EVIL\x1b\x1b\\")
_PLAIN_C0: Final = "".join(map(chr, [*range(0, 9), *range(14, 27), *range(28, 32), 127]))
# Without line ends (VT, FF, NEL), which become newlines.
_PLAIN_C1: Final = "".join(
    chr(code) for code in range(0x80, 0xA0) if code not in (0x85, 0x90, 0x98, 0x9B, 0x9D, 0x9E, 0x9F)
)
_INVISIBLE: Final = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\U000e0001\U000e0041\U000e007f"
_KEPT: Final = frozenset("\n\t")


@dataclass(frozen=True, slots=True)
class Hostile:
    """An attacking text, and the part of it that should be visible."""

    text: str
    visible: str


def hostile_strings(count: int, seed: int = 7) -> list[Hostile]:
    """Generate `count` strings; the same seed gives the same ones."""
    chance = random.Random(seed)
    return [_one(chance) for _ in range(count)]


def dangers(shown: str) -> set[str]:
    """Return the characters in `shown` that a terminal would interpret or that are invisible."""
    return {
        char for char in shown if (ord(char) < 32 or 127 <= ord(char) < 160 or char in _INVISIBLE) and char not in _KEPT
    }


def _one(chance: random.Random) -> Hostile:
    text = visible = ""
    for _ in range(chance.randint(1, 7)):
        piece = chance.choice(_WORDS)
        attack = _attack(chance)
        # Occasionally a newline, because lists, headings and fences begin at one.
        end = chance.choice(("", " ", " ", "\n"))
        text += piece + attack + end
        visible += piece + end
    if chance.random() < 0.1:
        # Unterminated sequences only at the end, where they cannot swallow visible text.
        text += chance.choice(("\x1b", "\x1b[31", "\x1b]0;EVIL", "\x90q", "\x9b1;2"))
    return Hostile(text, visible)


def _attack(chance: random.Random) -> str:
    match chance.randrange(8):
        case 0:
            return _csi(chance)
        case 1:
            return chance.choice(("\x1b]", "\x9d")) + chance.choice(_OSC) + chance.choice(("\x07", "\x1b\\", "\x9c"))
        case 2:
            words = chance.choice(_DCS[:-1])
            return chance.choice(("\x1bP", "\x90")) + words + chance.choice(("\x1b\\", "\x9c"))
        case 3:
            start = chance.choice(("\x1bX", "\x1b^", "\x1b_", "\x98", "\x9e", "\x9f"))
            return start + "EVIL" + chance.choice(("\x1b\\", "\x9c"))
        case 4:
            return (
                "\x1b" + "".join(chance.choices(_INTERMEDIATE, k=chance.randint(0, 2))) + chance.choice("0789=>cEDMNHZ")
            )
        case 5:
            return "".join(chance.choices(_PLAIN_C0 + _PLAIN_C1, k=chance.randint(1, 4)))
        case 6:
            return "".join(chance.choices(_INVISIBLE, k=chance.randint(1, 30)))
        case _:
            return _csi(chance) + "".join(chance.choices(_PLAIN_C0, k=2)) + _csi(chance)


def _csi(chance: random.Random) -> str:
    parameters = "".join(chance.choices(_PRIVATE, k=chance.randint(0, 6)))
    middle = "".join(chance.choices(_INTERMEDIATE, k=chance.choice((0, 0, 0, 1))))
    return chance.choice(("\x1b[", "\x9b")) + parameters + middle + chance.choice(_FINAL)
