"""Text that may be shown: no control byte gets through, and nothing that a person can read is lost."""

import unicodedata
from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from reveries.safe_text import PlainStream, one_line, plain
from tests.rows import check_rows

ESCAPES = {
    "colour": "\x1b[31m",
    "colour with colons": "\x1b[38:2::255:0:0m",
    "cursor home and erase": "\x1b[H\x1b[2J",
    "private mode": "\x1b[?1049h",
    "intermediate byte": "\x1b[2 q",
    "title ended by BEL": "\x1b]0;owned\x07",
    "title ended by ST": "\x1b]0;owned\x1b\\",
    "clipboard": "\x1b]52;c;cm0gLXJm\x07",
    "hyperlink": "\x1b]8;;file:///etc/passwd\x1b\\",
    "device control string": "\x1bP+q544e\x1b\\",
    "start of string": "\x1bXowned\x1b\\",
    "privacy message": "\x1b^owned\x1b\\",
    "application command": "\x1b_Gf=100\x1b\\",
    "character set": "\x1b(0",
    "reset": "\x1bc",
    "keypad": "\x1b=",
    "8-bit CSI": "\x9b31m",
    "8-bit OSC ended by 8-bit ST": "\x9d0;owned\x9c",
    "8-bit DCS": "\x90q\x9c",
    "bare escape before a control": "\x1b\x00",
    "backspace and delete": "\x08\x7f",
    "bell and null": "\x07\x00",
    "bidirectional override": "\u202e",
    "bidirectional isolates": "\u2066\u2069",
    "tag characters": "\U000e0041\U000e007f",
}

_TAGS = "".join(map(chr, range(0xE0000, 0xE0080)))
_FLAGS = [
    "\U0001f3f4" + "".join(chr(0xE0000 + ord(letter)) for letter in region) + "\U000e007f"
    for region in ("gbeng", "gbsct", "gbwls")
]
_hostile = st.lists(
    st.one_of(
        st.sampled_from([*ESCAPES.values(), "\x1b", "\x1b[", "\x1b]", "\x9d", "\x07", "\r\n", "\x1b\\", "\x9c", "\r"]),
        st.sampled_from([*_FLAGS, _FLAGS[0][:4], _FLAGS[0][4:], "\U0001f3f4", "\u2028", "\x85"]),
        st.text(max_size=8),
        st.characters(max_codepoint=0x9F),
        st.characters(categories=["Cs", "Cf", "Cc"]),
    ),
    max_size=20,
).map("".join)
_readable = st.text(
    st.one_of(
        st.sampled_from("\n\t \u200d\u200c\ufe0f\u00a0"),
        st.characters(exclude_categories=["Cc", "Cf", "Cs", "Zl", "Zp"], exclude_characters=_TAGS),
    )
)


@check_rows("escape", ESCAPES.values())
def test_what_a_terminal_would_act_on_is_gone_and_the_words_around_it_stay(escape: str) -> None:
    assert plain(f"before{escape}after") == "beforeafter"


@given(text=_hostile)
def test_no_control_character_but_newline_and_tab_survives(text: str) -> None:
    shown = plain(text)
    left = {char for char in shown if unicodedata.category(char) in ("Cc", "Cs") and char not in "\n\t"}
    assert not left
    for flag in _FLAGS:
        shown = shown.replace(flag, "")
    assert not any("\U000e0000" <= char <= "\U000e007f" for char in shown)
    assert not set(shown) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


@given(text=_hostile)
def test_what_is_plain_stays_as_it_is(text: str) -> None:
    assert plain(plain(text)) == plain(text)


@given(text=_readable)
@example(text="Ich heiße Ólafur 👨‍👩‍👧 – 我喝茶 – שלום – نمی‌خواهم [bold]x[/bold] `code` <b>")
def test_readable_text_is_unchanged(text: str) -> None:
    assert plain(text) == text


@given(text=_hostile)
def test_what_is_shown_can_be_written_as_utf8(text: str) -> None:
    plain(text).encode("utf-8")


def test_a_lone_surrogate_is_shown_as_the_replacement_character() -> None:
    assert plain("a\ud800b") == "a\ufffdb"


@check_rows("line_end", ["\r", "\r\n", "\n", "\v", "\f", "\x85", "\u2028", "\u2029"])
def test_a_list_keeps_its_lines_whatever_ends_them(line_end: str) -> None:
    assert plain(f"eggs{line_end}flour") == "eggs\nflour"
    assert one_line(f"eggs{line_end}flour") == "eggs flour"
    stream = PlainStream()
    assert "".join(map(stream.feed, f"eggs{line_end}flour")) + stream.finish() == "eggs\nflour"


@check_rows(
    "written",
    [
        "می\u200cخواهم",
        "क्\u200dष",
        "👨\u200d👩\u200d👧\u200d👦",
        "🏳\ufe0f\u200d🌈",
        "葛\U000e0100",
        "e\u0301",
        "🇵🇹",
        "\u200fשלום!",
        "全角\u3000空白",
        *_FLAGS,
    ],
)
def test_what_a_script_or_an_emoji_needs_stays(written: str) -> None:
    assert plain(f"a {written} b") == f"a {written} b"


def test_words_hidden_in_tags_are_removed_also_behind_a_flag() -> None:
    hidden = "".join(chr(0xE0000 + ord(letter)) for letter in "obey me")
    assert plain(f"Hello{hidden} there \U0001f3f4{hidden}\U000e007f") == "Hello there \U0001f3f4"
    assert plain("file\u202egnp.exe \u2066x\u2069") == "filegnp.exe x"


def test_an_escape_that_never_ends_takes_only_itself_from_the_next_line() -> None:
    assert plain("\x1b[31\nnext") == "\nnext"


@given(data=st.data(), text=_hostile)
@example(data=None, text="\x1b]0;owned\x1b\\after")
def test_a_stream_shows_the_same_however_it_was_cut(data: st.DataObject | None, text: str) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(text)))) if data else list(range(len(text)))
    edges = [0, *sorted(cuts), len(text)]
    stream = PlainStream()
    shown = [stream.feed(text[begin:end]) for begin, end in pairwise(edges)]
    assert "".join(shown) + stream.finish() == plain(text)


@check_rows("escape", ESCAPES.values())
def test_no_half_of_an_escape_is_shown_while_it_arrives(escape: str) -> None:
    stream = PlainStream()
    shown = [stream.feed(char) for char in f"before{escape}after"]
    assert "".join(shown) + stream.finish() == "beforeafter"
    assert not any(unicodedata.category(char) == "Cc" for piece in shown for char in piece)


def test_a_stream_begins_anew_after_it_was_finished() -> None:
    stream = PlainStream()
    stream.feed("\x1b[3")
    stream.finish()
    assert stream.feed("1m") == "1m"


@given(text=_hostile, limit=st.integers(1, 300))
def test_one_line_is_one_line_within_its_limit(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert len(line) <= limit
    assert len(line.splitlines()) <= 1
    assert line == line.strip()


def test_one_line_says_that_it_was_cut() -> None:
    assert one_line("one two three", 8) == "one two…"
    assert one_line("one\n  two") == "one two"
