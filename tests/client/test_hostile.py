"""Text of a model or of memory is never interpreted by a terminal, a markup parser or a mouse click (RELIABILITY F5).

A few hundred strings here, and 5,000 in the system tier: through the stream split at every place, through the pages of
the commands, through the widgets of the interface, and as bytes through a real terminal.
"""

import json
import os
import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.segment import Segment
from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.widget import Widget

from reveries import protocol
from reveries.client.answers import render_answer
from reveries.client.features.logs import entry_as_json, render_entry
from reveries.client.render import line, paragraph, show, show_json
from reveries.client.tui.panes import content_of, problem_page
from reveries.client.tui.side import MemoryCard
from reveries.client.tui.turns import OwnerTurn, PastReply, Remark, ReplyWidget
from reveries.config import Home
from reveries.safe_text import PlainStream, one_line, plain
from tests.client.filled_answers import answers_with_a_page, fill_answer
from tests.client.hostile import Hostile, dangers, hostile_strings
from tests.client.test_no_color import on_a_terminal, read_until
from tests.fakes.daemon import NOW, Script, awake_in_thread, status

_FEW, _ALL = 300, 5_000
_AT_ONCE = 10
_IN_ONE = 25
COUNTS = [
    pytest.param(_FEW, id="few"),
    pytest.param(_ALL, id="all", marks=[pytest.mark.system, pytest.mark.long, pytest.mark.timeout(1800)]),
]


# --- text ------------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("F5")
@pytest.mark.parametrize("count", COUNTS)
def test_what_a_person_would_read_is_kept_and_nothing_else(count: int) -> None:
    for one in hostile_strings(count):
        assert plain(one.text) == one.visible, repr(one.text)


@pytest.mark.requirement("F5")
@pytest.mark.parametrize("count", COUNTS)
def test_a_stream_that_is_cut_at_every_place_shows_the_same(count: int) -> None:
    for one in hostile_strings(count, seed=11):
        for cut in range(len(one.text) + 1):
            stream = PlainStream()
            shown = stream.feed(one.text[:cut]) + stream.feed(one.text[cut:]) + stream.finish()
            assert shown == one.visible, (cut, repr(one.text))
        stream = PlainStream()
        assert "".join(map(stream.feed, one.text)) + stream.finish() == one.visible


_TEXTS = st.lists(
    st.one_of(
        st.text(max_size=4), st.sampled_from(["\x1b", "[", "]", "\x07", "\x9b", "\x90", "\\", "\x9c", "\r", "\n"])
    )
).map("".join)


@given(_TEXTS, st.integers(0, 40))
def test_whatever_comes_nothing_is_left_that_a_terminal_obeys(text: str, cut: int) -> None:
    assert not dangers(plain(text))
    assert not dangers(one_line(text))
    stream = PlainStream()
    assert not dangers(stream.feed(text[:cut]) + stream.feed(text[cut:]) + stream.finish())


# --- the pages of the commands ---------------------------------------------------------------------------------------


@pytest.mark.requirement("F5")
@pytest.mark.parametrize("count", COUNTS)
def test_no_page_of_any_answer_carries_an_attack_and_each_says_what_it_was_given(
    count: int, capsys: pytest.CaptureFixture[str]
) -> None:
    for one in hostile_strings(max(1, count // len(answers_with_a_page())), seed=13):
        silent = set()
        for answer in answers_with_a_page():
            filled = fill_answer(answer, f"plum {one.text}")
            show(render_answer(filled, NOW))
            out = capsys.readouterr().out
            assert not dangers(out), (answer, one.text)
            if "plum" in repr(filled) and "plum" not in out:
                silent.add(answer)
        assert silent <= {protocol.Remembered, protocol.ThinkingControlled}  # Their pages quote nothing.


@pytest.mark.requirement("F5")
@pytest.mark.parametrize("count", COUNTS)
def test_no_error_and_no_json_carries_an_attack(count: int, capsys: pytest.CaptureFixture[str]) -> None:
    for one in hostile_strings(count, seed=13):
        for page in (problem_page(one.text), paragraph(f"Traceback (most recent call last):\n  {one.text}")):
            show(page)
        show_json(protocol.SleepAnswered(0, one.text, one.text))
        out = capsys.readouterr().out
        assert not dangers(out), repr(one.text)
        answer = json.loads(out[out.rindex('{\n  "run_id"') :])
        assert answer["line"] == one.text.encode("utf-8", "replace").decode("utf-8")


@pytest.mark.requirement("F5")
@pytest.mark.parametrize("count", COUNTS)
def test_a_line_of_the_log_carries_no_attack(count: int, capsys: pytest.CaptureFixture[str]) -> None:
    for one in hostile_strings(count, seed=17):
        entry = json.dumps({"event": one.text, "level": "info", "timestamp": one.text, "why": one.text})
        for raw in (entry, one.text):
            show([render_entry(raw)])
            show([line(entry_as_json(raw))])
        assert not dangers(capsys.readouterr().out), repr(one.text)


# --- the interface ---------------------------------------------------------------------------------------------------


def joined(strings: list[Hostile]) -> list[str]:
    """Join many strings into one text, because a widget is slow; one that would swallow the next stays alone."""
    closed = [one.text for one in strings if plain(f"{one.text}\n") == f"{one.visible}\n"]
    alone = [one.text for one in strings if plain(f"{one.text}\n") != f"{one.visible}\n"]
    texts = ["\n\n".join(closed[start : start + _IN_ONE]) for start in range(0, len(closed), _IN_ONE)]
    return [*texts, *alone[: len(texts)]]


class Wall(App[None]):
    """Every widget that shows a turn, one below the other."""

    def __init__(self, texts: list[str]) -> None:
        super().__init__()
        self._texts = texts

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            for text in self._texts:
                yield from _widgets(text)


def _widgets(text: str) -> Iterator[Widget]:
    yield OwnerTurn(text, NOW, speaker=text)
    yield PastReply(text, NOW, text, is_partial=False)
    yield ReplyWidget(text, NOW, text)
    yield Remark(text)
    yield MemoryCard(protocol.RecalledItem("e1", text, 0.5, NOW, text, text, True), NOW)


def _segments(app: App[None]) -> Iterator[Segment]:
    for widget in app.query(Widget):
        if not widget.size:
            continue
        for strip in widget.render_lines(widget.size.region):
            yield from strip


@pytest.mark.requirement("F5")
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "count", [pytest.param(100, id="few"), pytest.param(_ALL, id="all", marks=[pytest.mark.system, pytest.mark.long])]
)
async def test_no_widget_shows_an_attack_or_lets_it_be_clicked(count: int) -> None:
    texts = joined(hostile_strings(count, seed=19))
    for start in range(0, len(texts), _AT_ONCE):
        app = Wall(texts[start : start + _AT_ONCE])
        async with app.run_test(size=(100, 40)) as pilot:
            await pilot.pause()
            for segment in _segments(app):
                assert not dangers(segment.text), repr(segment.text)
                assert segment.control is None
                if segment.style is not None:
                    assert segment.style.link is None
                    assert not any(name.startswith("@click") for name in segment.style.meta)
            assert [turn.text for turn in app.query(ReplyWidget)] == [
                plain(text) for text in texts[start : start + _AT_ONCE]
            ]


@pytest.mark.requirement("F5")
def test_content_of_a_page_is_text_and_no_markup() -> None:
    for one in hostile_strings(_FEW, seed=23):
        content = content_of(paragraph(one.text, width=90))
        assert not dangers(content.plain)
        assert not any("@click" in str(span.style) for span in content.spans)


# --- a real terminal -------------------------------------------------------------------------------------------------


@pytest.mark.requirement("F5")
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("count", [pytest.param(100, id="few"), COUNTS[1]])
def test_the_bytes_of_a_terminal_hold_no_attack(count: int, home: Home) -> None:
    # A string that ends in the middle of an escape swallows what follows it, which is correct.
    strings = [one for one in hostile_strings(count, seed=29) if plain(f"{one.text}\n") == f"{one.visible}\n"]
    # Three characters at a time, so that every escape is split in many places.
    text = "".join(f"{one.text}\n" for one in strings)
    pieces = [text[place : place + 3] for place in range(0, len(text), 3)]
    end = "That was all of it."
    with awake_in_thread(home, Script(pieces=[*pieces, end])), on_a_terminal(home, "say", "hello") as (held, _):
        written = read_until(held, end.encode(), 20.0 + count / 10)
    shown = written.decode("utf-8").replace("\r\n", "\n")
    assert len(strings) > 0.9 * count
    assert not dangers(shown)
    assert "".join(f"{one.visible}\n" for one in strings) + end in shown


_INTERFACES_OWN = re.compile(
    r"\x1b\[[0-9;]*m"  # colours
    r"|\x1b\[[0-9]+;[0-9]+H"  # cursor position
    r"|\x1b\[\?(?:25|7|1000|1003|1004|1006|1015|1016|1049|2004|2026|2031|2048)[hl]"  # modes
    r"|\x1b\[\?(?:2026|2048|2031)\$p"
    r"|\x1b\[[<>=][0-9]*u|\x1b\[\?u|\x1b\[c|\x1b\[6n"  # keyboard modes, queries
    r"|\x1b\]22;[a-z-]+\x07"  # the mouse pointer
)
"""Escape sequences of the interface itself; any other would come from untrusted text."""


@pytest.mark.requirement("F5")
def test_the_bytes_of_the_interface_in_a_terminal_hold_no_attack(home: Home) -> None:
    texts = [one.text for one in hostile_strings(60, seed=31)]
    items = [protocol.RecalledItem(f"e{n}", text, 0.5, NOW, text, text, True) for n, text in enumerate(texts[:20])]
    turns = [protocol.SaidTurn(f"t{n}", text, n % 2 == 0, text, NOW, False) for n, text in enumerate(texts[:20])]
    live: list[protocol.Frame] = [protocol.ThoughtBegan(0, "x", texts[21], texts[22])]
    live += [protocol.ThoughtToken(0, text, 0) for text in texts[22:30]]
    live.append(protocol.ThoughtEnded(0, "x", texts[30], texts[31], 12))
    said = "".join(f"{text}\n\n" for text in texts[30:])
    pieces = [said[place : place + 3] for place in range(0, len(said), 3)]
    script = Script(
        pieces=pieces, recalled=items, turns=turns, live=live,
        status=status(home, problems=texts[40:43], health="degraded"), progress=[(texts[43], 1, 2)], holds_reply=True,
    )  # fmt: skip
    with awake_in_thread(home, script) as mind, on_a_terminal(home, COLUMNS="140", LINES="40") as (held, _):
        # Not before it is attached: until then messages stay in the draft.
        written = read_until(held, b"qwen2.5-coder")
        os.write(held, b"hello there")
        written += read_until(held, b"there")
        os.write(held, b"\r")
        written += read_until(held, b"esc stops it")
        written += read_until(held, b"never written", 4.0)
        for key, words in ((b"\x1bOR", b"recalled for your last"), (b"\x1b[17~", b"thoughts")):
            os.write(held, key)
            written += read_until(held, words)
            os.write(held, b"\x1b")
            written += read_until(held, b"never written", 1.0)
    shown = _INTERFACES_OWN.sub("", written.decode("utf-8"))
    assert mind.requests(protocol.Say)
    assert not dangers(shown.replace("\r", ""))
    assert "good morning" in shown
    assert "recalled for your last" in shown
