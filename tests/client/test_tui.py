"""The terminal interface, run headless against a mind on a real socket."""

import asyncio
import time
from functools import partial

import pytest
from textual.widgets import Static

from reveries import protocol
from reveries.client.tui.app import ReveriesApp
from reveries.client.tui.chat import Chat
from reveries.client.tui.composer import Composer
from reveries.client.tui.conversation_app import HINT_SECONDS
from reveries.client.tui.link import MOST_HANGUPS
from reveries.client.tui.side import MonologuePane, RecalledPane
from reveries.client.tui.status_line import StatusLine
from reveries.client.tui.turns import STREAMED_MARKDOWN_CHARS, OwnerTurn, ReplyWidget
from reveries.config import Home
from tests.client.screen_text import press_until_it_ends, rows_of, text_of, until
from tests.fakes.clock import HandClock
from tests.fakes.daemon import NOW, FakeMind, Script, awake, status

_SIZES = [(120, 40), (80, 24), (50, 20)]

HOSTILE = (
    "\x1b]0;EVIL\x07\x1b]52;c;RVZJTA==\x07\x9b31m\x1b[2J\x1bP+q\x1b\\\u202e[/] [TODO] [@click=app.quit]x[/] "
    "[link=file:///etc/passwd]y[/link] [z](http://evil.example) ![i](http://evil.example/i.png) <b>bold</b> &#x202e; "
    "\n\n| [@click=app.quit]a[/] | [/ |\n|---|---|\n| [red]c | [/] |\n\n```[evil\n[/]\n```\n\n# [/]\n"
)


def _turn(number: int, text: str, *, is_owner: bool) -> protocol.SaidTurn:
    return protocol.SaidTurn(f"old{number}", "you" if is_owner else "Reverie", is_owner, text, time.time() - 60, False)


def _composer(app: ReveriesApp) -> Composer:
    return app.query_one(Composer)


def _replies(app: ReveriesApp) -> list[ReplyWidget]:
    return list(app.query(ReplyWidget))


@pytest.mark.requirement("R-19", "R-92")
@pytest.mark.parametrize("size", _SIZES)
async def test_a_reply_streams_onto_the_screen(home: Home, size: tuple[int, int]) -> None:
    app = ReveriesApp(home)
    async with (
        asyncio.timeout(300),
        awake(home, Script(pieces=["Good ", "**morning**", " to you."])) as fake,
        app.run_test(size=size) as pilot,
    ):
        await until(pilot, lambda: "Say something." in text_of(app))
        await pilot.press(*"hello", "enter")
        await until(pilot, lambda: "Good morning to you." in text_of(app))
        await until(pilot, lambda: app.query_one(StatusLine).state == "thinking")
        assert [request.text for request in fake.received if isinstance(request, protocol.Say)] == ["hello"]


async def test_the_mind_is_told_once_that_the_owner_writes_and_not_what_nor_of_a_command(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home) as fake, app.run_test(size=_SIZES[0]) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        await pilot.press(*"/status")
        await pilot.pause()
        assert fake.requests(protocol.NoteWriting) == []
        await pilot.press(*["backspace"] * 7, *"good morning")
        await until(pilot, lambda: bool(fake.requests(protocol.NoteWriting)))
        [noted] = fake.requests(protocol.NoteWriting)
        assert noted == protocol.NoteWriting(noted.request_id)
        assert fake.requests(protocol.Say) == []


def _has_hung_up(fake: FakeMind, times: int) -> bool:
    """Whether it hung up so often on a notice, and the terminal has attached again each time."""
    return len(fake.requests(protocol.NoteWriting)) == times == len(fake.requests(protocol.Attach)) - 1


async def test_a_mind_of_an_earlier_version_that_hangs_up_on_such_a_notice_gets_two_and_the_words(home: Home) -> None:
    app = ReveriesApp(home)
    async with (
        asyncio.timeout(300),
        awake(home, Script(dies_on="NoteWriting")) as fake,
        app.run_test(size=_SIZES[0]) as pilot,
    ):
        await until(pilot, lambda: app.is_attached_to_mind)
        for number, key in enumerate("hey", 1):
            await pilot.press(key)
            await until(pilot, partial(_has_hung_up, fake, min(number, MOST_HANGUPS)))
            await until(pilot, lambda: app.is_attached_to_mind)
        await pilot.press("enter")
        await until(pilot, lambda: bool(fake.requests(protocol.Say)))
        assert [one.text for one in fake.requests(protocol.Say)] == ["hey"]
        assert len(fake.requests(protocol.NoteWriting)) == MOST_HANGUPS


async def test_a_notice_that_the_mind_refuses_does_not_end_the_connection(home: Home) -> None:
    app = ReveriesApp(home)
    refused = {"NoteWriting": protocol.Failed(0, "model_unavailable", "It is busy.", "")}
    async with asyncio.timeout(300), awake(home, Script(failures=refused)) as fake, app.run_test() as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        await pilot.press("h")
        await until(pilot, lambda: bool(fake.requests(protocol.NoteWriting)))
        await pilot.press("i", "enter")
        await until(pilot, lambda: bool(fake.requests(protocol.Say)))
        assert len(fake.requests(protocol.Attach)) == 1


async def test_the_lines_of_a_rhyme_stay_lines(home: Home) -> None:
    app = ReveriesApp(home)
    script = Script(pieces=["The kettle sings,\n", "the robin brings\nits song."])
    async with asyncio.timeout(300), awake(home, script), app.run_test(size=_SIZES[0]) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        await pilot.press(*"a rhyme", "enter")
        await until(pilot, lambda: "its song." in text_of(app))
        [first] = [row for row in text_of(app).splitlines() if "The kettle sings," in row]
        assert "the robin" not in first


@pytest.mark.parametrize("size", _SIZES)
async def test_no_row_is_wider_than_the_terminal_and_the_essentials_stay(home: Home, size: tuple[int, int]) -> None:
    app = ReveriesApp(home)
    turns = [_turn(1, "word " * 80, is_owner=True), _turn(2, "- a\n- b\n\n" + "answer " * 60, is_owner=False)]
    async with asyncio.timeout(300), awake(home, Script(turns=turns)), app.run_test(size=size) as pilot:
        await until(pilot, lambda: "answer" in text_of(app))
        rows = rows_of(app)
    assert len(rows) == size[1]
    assert all(len(row) == size[0] for row in rows)
    assert "thinking" in rows[-1]
    assert "63.5k" in rows[-1]


async def test_the_side_pane_hides_on_narrow_terminals_and_comes_on_ctrl_t(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home), app.run_test(size=(70, 24)) as pilot:
        await until(pilot, lambda: "Say something." in text_of(app))
        assert "recalled just now" not in text_of(app)
        await pilot.press("ctrl+t")
        await until(pilot, lambda: "recalled just now" in text_of(app))
        await pilot.press("ctrl+t")
        await until(pilot, lambda: "recalled just now" not in text_of(app))


async def test_the_side_pane_folds_on_wide_terminals(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home), app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "recalled just now" in text_of(app))
        await pilot.press("ctrl+t")
        await until(pilot, lambda: "recalled just now" not in text_of(app))


@pytest.mark.requirement("R-24")
async def test_the_monologue_shows_why_it_began_its_words_and_why_it_ended(home: Home) -> None:
    live: list[protocol.Frame] = [
        protocol.ThoughtBegan(0, "x", "the conversation ended", "She said "),
        protocol.ThoughtToken(0, "seven point four.", 0),
        protocol.ThoughtEnded(0, "x", "settled", "It had come to rest.", 12),
    ]
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home, Script(live=live)), app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "It had come to rest." in text_of(app))
        assert "the conversation ended" in text_of(app)
        assert app.query_one(MonologuePane).text == "She said seven point four."


async def test_what_was_recalled_shows_and_is_dim_when_it_was_not_told(home: Home) -> None:
    items = [
        protocol.RecalledItem("e1", "The pear tree stays.", 0.9, 1.0, "the pear stays", "Ada", True),
        protocol.RecalledItem("e2", "A walk with Tom.", 0.2, 1.0, "", "", False),
    ]
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home, Script(recalled=items)), app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "Say something." in text_of(app))
        await pilot.press("h", "i", "enter")
        await until(pilot, lambda: "A walk with Tom." in text_of(app))
        cards = list(app.query_one(RecalledPane).query(".card"))
        assert [card.has_class("not-in-prompt") for card in cards] == [False, True]
        assert "the pear stays" in text_of(app)


async def test_enter_sends_and_ctrl_j_begins_a_line(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home) as fake, app.run_test() as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        await pilot.press("a", "ctrl+j", "b", "shift+enter", "c")
        assert _composer(app).text == "a\nb\nc"
        await pilot.press("enter")
        await until(pilot, lambda: bool(fake.requests(protocol.Say)))
        assert _composer(app).text == ""


async def test_what_is_said_while_it_answers_waits_its_turn(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home, Script(holds_reply=True)) as fake, app.run_test() as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        await pilot.press("o", "n", "e", "enter")
        await until(pilot, lambda: len(_replies(app)) == 1)
        await pilot.press("t", "w", "o", "enter")
        await until(pilot, lambda: "waits" in text_of(app))
        assert len(fake.requests(protocol.Say)) == 1
        fake.release.set()
        await until(pilot, lambda: len(_replies(app)) == 2 and not app.is_answering)
        order = [type(widget).__name__ for widget in app.query_one(Chat).query(".turn")]
        assert order == ["OwnerTurn", "ReplyWidget", "OwnerTurn", "ReplyWidget"]


@pytest.mark.parametrize("key", ["escape", "ctrl+c"])
async def test_escape_and_ctrl_c_stop_the_reply(home: Home, key: str) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home, Script(holds_reply=True)), app.run_test() as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        await pilot.press("h", "i", "enter")
        await until(pilot, lambda: "Good morning." in text_of(app))
        assert "esc stops it" in text_of(app)
        await pilot.press(key)
        await until(pilot, lambda: "You stopped it." in text_of(app))
        await until(pilot, lambda: "enter sends" in text_of(app))


async def test_what_is_nearly_a_command_stays_in_the_draft_and_a_blank_before_it_says_it(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home) as fake, app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        await pilot.press(*"/foo", "enter")
        await until(pilot, lambda: "There is no command /foo" in text_of(app))
        assert app.composer.text == "/foo"
        await pilot.press("home", "space", "enter")
        await until(pilot, lambda: len(fake.requests(protocol.Say)) == 1)
        assert [said.text for said in fake.requests(protocol.Say) if isinstance(said, protocol.Say)] == ["/foo"]


@pytest.mark.requirement("R-5", "R-13", "E9")
async def test_it_comes_back_by_itself_and_keeps_the_draft(home: Home) -> None:
    app = ReveriesApp(home)
    async with (
        asyncio.timeout(300),
        awake(home, Script(turns=[_turn(1, "before", is_owner=True)])) as fake,
        app.run_test(size=(100, 30)) as pilot,
    ):
        await until(pilot, lambda: "before" in text_of(app))
        await pilot.press(*"draft")
        await fake.stop()
        await until(pilot, lambda: "The mind is away, reconnecting" in text_of(app))
        assert app.query_one(StatusLine).state == "away"
        await pilot.press("enter")
        assert _composer(app).text == "draft"
        await fake.start()
        await until(pilot, lambda: app.is_attached_to_mind and "reconnecting" not in text_of(app))
        assert _composer(app).text == "draft"
        assert "before" in text_of(app)


async def test_words_that_were_not_stored_come_back_into_the_draft(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home, Script(dies_on="Say")) as fake, app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        await pilot.press(*"lost", "enter")
        await until(pilot, lambda: _composer(app).text == "lost")
        assert not app.query(OwnerTurn)
        fake.script.dies_on = ""
        await until(pilot, lambda: app.is_attached_to_mind)
        await pilot.press("enter")
        await until(pilot, lambda: "Good morning." in text_of(app))


@pytest.mark.requirement("E9")
async def test_a_reply_cut_by_a_lost_connection_is_marked_and_the_rest_comes_back(home: Home) -> None:
    app = ReveriesApp(home)
    async with (
        asyncio.timeout(300),
        awake(home, Script(holds_reply=True)) as fake,
        app.run_test(size=(100, 30)) as pilot,
    ):
        await until(pilot, lambda: app.is_attached_to_mind)
        await pilot.press(*"one", "enter")
        await until(pilot, lambda: "Good morning." in text_of(app))
        await pilot.press(*"two", "enter")
        await until(pilot, lambda: "waits" in text_of(app))
        await fake.stop()
        await until(pilot, lambda: "The connection to the mind was lost here." in text_of(app))
        await until(pilot, lambda: _composer(app).text == "two")
        fake.release.set()
        await fake.start()
        await until(pilot, lambda: app.is_attached_to_mind)
        await until(pilot, lambda: [turn.text for turn in app.query(OwnerTurn)] == ["one"])


async def test_a_reattached_terminal_shows_the_conversation(home: Home) -> None:
    turns = [_turn(1, "first", is_owner=True), _turn(2, "# Second\n\n- *item*", is_owner=False)]
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home, Script(turns=turns)), app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "item" in text_of(app))
        assert "Say something." not in text_of(app)
        assert "first" in text_of(app)


async def test_what_another_terminal_says_shows_here(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home) as fake, app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        await fake.broadcast(protocol.Spoken(0, _turn(7, "from the other room", is_owner=True)))
        await fake.broadcast(protocol.Spoken(0, _turn(8, "heard you", is_owner=False)))
        await until(pilot, lambda: "from the other room" in text_of(app) and "heard you" in text_of(app))


@pytest.mark.parametrize(("stored", "shown"), [("You", "you"), ("Jule", "Jule")])
async def test_the_owner_has_one_name_live_and_when_it_is_read_again(home: Home, stored: str, shown: str) -> None:
    said = protocol.SaidTurn("t1", stored, True, "Good morning.", NOW, False)
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home, Script(turns=[said])), app.run_test() as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        await app.chat.add_message("And now?")
        await pilot.pause()
        heads = [str(turn.content).splitlines()[0].split()[0] for turn in app.query(OwnerTurn)]
    assert heads == [shown, shown]


async def test_our_own_turn_is_not_shown_twice(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home) as fake, app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        await pilot.press(*"hello", "enter")
        await until(pilot, lambda: "Good morning." in text_of(app) and not app.is_answering)
        await fake.broadcast(protocol.StateChanged(0, "settled", ""))
        await until(pilot, lambda: app.query_one(StatusLine).state == "settled")
        assert len(app.query(".turn")) == 2


@pytest.mark.requirement("F5")
@pytest.mark.parametrize("chunk_chars", [1, 2, 7, 10_000])
async def test_hostile_text_is_shown_harmlessly(home: Home, chunk_chars: int) -> None:
    pieces = [HOSTILE[start : start + chunk_chars] for start in range(0, len(HOSTILE), chunk_chars)]
    item = protocol.RecalledItem("e", HOSTILE, 0.5, 1.0, HOSTILE, HOSTILE, True)
    began, ended = protocol.ThoughtBegan(0, "x", HOSTILE, ""), protocol.ThoughtEnded(0, "x", "", HOSTILE, 1)
    script = Script(
        pieces=pieces,
        recalled=[item],
        live=[began, *(protocol.ThoughtToken(0, piece, 0) for piece in pieces), ended],
        turns=[_turn(1, HOSTILE, is_owner=True), _turn(2, HOSTILE, is_owner=False)],
        status=status(home, state=HOSTILE, problems=[HOSTILE], models=[protocol.ModelUse("conversation", HOSTILE, "")]),
    )
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home, script), app.run_test(size=(120, 60)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        await pilot.press("h", "i", "enter")
        await until(pilot, lambda: len(_replies(app)) == 2 and not app.is_answering)
        await until(pilot, lambda: text_of(app).count("[TODO]") >= 2)
        for cell in app.query("MarkdownTableCellContents"):
            assert cell.tooltip is None
        seen = text_of(app)
        assert app.is_running
        assert not [
            char for char in seen if char != "\n" and (ord(char) < 32 or 0x7F <= ord(char) < 0xA0 or char == "\u202e")
        ]
        assert "EVIL" not in seen
        for visible in ("[TODO]", "[@click=app.quit]x[/]", "[z](http://evil.example)", "<b>bold</b>", "&#x202e;"):
            assert visible in seen
        assert not _clickable(app)


def _clickable(app: ReveriesApp) -> list[str]:
    return [
        str(segment.style.meta)
        for strip in app.screen._compositor.render_strips()
        for segment in strip
        if segment.style is not None and (segment.style.link or "@click" in segment.style.meta)
    ]


@pytest.mark.requirement("E9")
async def test_a_very_long_reply_ends_whole(home: Home) -> None:
    words = [f"word{number} " for number in range(3000)]
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home, Script(pieces=words)), app.run_test() as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        await pilot.press("h", "i", "enter")
        await until(pilot, lambda: bool(_replies(app)) and not app.is_answering)
        await until(pilot, lambda: "word2999" in text_of(app))
        assert len(_replies(app)[0].text) > STREAMED_MARKDOWN_CHARS
        assert _replies(app)[0].text.strip() == "".join(words).strip()


@pytest.mark.requirement("H3")
async def test_a_banner_says_what_is_wrong(home: Home) -> None:
    script = Script(status=status(home, health="not storing", problems=["The disk is full: nothing new is stored."]))
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home, script), app.run_test() as pilot:
        await until(pilot, lambda: "The disk is full" in text_of(app))
        assert not app.query_one("#banner", Static).has_class("hidden")


async def test_a_refused_turn_says_why(home: Home) -> None:
    failure = protocol.Failed(0, "budget", "Today's tokens are used up.", "Raise budget.conversation.tokens_per_day.")
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home, Script(failures={"Say": failure})), app.run_test() as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        await pilot.press("h", "i", "enter")
        await until(pilot, lambda: "used up" in text_of(app))


@pytest.mark.parametrize("is_told_before", [True, False])
async def test_a_reply_that_broke_off_stands_there_once(home: Home, is_told_before: bool) -> None:
    kept = protocol.SaidTurn("r1", "Reverie", False, "The pear tree is", NOW, True)
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home), app.run_test() as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        await app.chat.add_message("How is the tree?")
        await app.chat.mark_stored("w1")
        await app.chat.extend_reply("The pear tree is")
        if is_told_before:
            await app.chat.add_stored_turn(kept)
        await app.chat.show_refusal("The model fell silent.")
        if not is_told_before:
            await app.chat.add_stored_turn(kept)
        await until(pilot, lambda: "fell silent" in text_of(app))
        assert text_of(app).count("The pear tree is") == 1
        other = protocol.SaidTurn("r2", "Reverie", False, "The pear tree is", NOW, True)
        await app.chat.add_stored_turn(other)
        await until(pilot, lambda: text_of(app).count("The pear tree is") == 2)


async def test_a_hint_goes_after_its_time_by_the_clock_of_the_app(home: Home, clock: HandClock) -> None:
    app = ReveriesApp(home, clock)
    async with asyncio.timeout(300), awake(home), app.run_test() as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        await pilot.press("ctrl+c")
        await until(pilot, lambda: "again leaves" in text_of(app))
        await clock.advance(HINT_SECONDS - 0.1)
        await pilot.pause()
        assert "again leaves" in text_of(app)
        await clock.advance(0.2)
        await until(pilot, lambda: "again leaves" not in text_of(app))


async def test_one_ctrl_c_stays_and_two_leave(home: Home, clock: HandClock) -> None:
    app = ReveriesApp(home, clock)
    async with asyncio.timeout(300), awake(home), app.run_test() as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        await pilot.press("ctrl+c")
        await until(pilot, lambda: "again leaves" in text_of(app))
        assert app.is_running
        await press_until_it_ends(app, "ctrl+c")


async def test_f1_shows_the_keys_and_escape_closes_them(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home), app.run_test() as pilot:
        await pilot.press("f1")
        await until(pilot, lambda: "Ctrl+J" in text_of(app))
        await pilot.press("escape")
        await until(pilot, lambda: "Ctrl+J" not in text_of(app))


@pytest.mark.requirement("E9")
async def test_it_starts_while_the_mind_is_away_and_resizes_to_nothing(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "reconnecting" in text_of(app))
        await pilot.resize_terminal(1, 1)
        await pilot.resize_terminal(200, 60)
        await until(pilot, lambda: "reconnecting" in text_of(app))
