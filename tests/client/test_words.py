"""The owner's messages: never lost, never sent twice, never on the record when shown as off the record."""

import asyncio
import stat
import time
from pathlib import Path

import pytest
from textual import events
from textual.messages import ExitApp

from reveries import protocol
from reveries.client.draft_file import DraftFile
from reveries.client.slash_parsing import CommandCall, may_become_private, parse_command
from reveries.client.tui.app import ReveriesApp
from reveries.client.tui.outgoing_text import OutgoingText
from reveries.client.tui.slash_menu import SlashMenu
from reveries.client.tui.turns import OwnerTurn
from reveries.client.tui.welcome import WelcomeText
from reveries.config import Home
from tests.client.screen_text import press_until_it_ends, text_of, until
from tests.client.test_plain_chat import talk_plainly
from tests.fakes.daemon import NOW, FakeMind, Script, awake
from tests.rows import check_rows


def said(mind: FakeMind) -> list[tuple[str, bool]]:
    """The messages that the fake daemon received, and whether off the record."""
    return [(one.text, one.off_record is True) for one in mind.received if isinstance(one, protocol.Say)]


# --- what is private --------------------------------------------------------------------------------------------------


@check_rows("between", [" ", "\n", "\t", "\u00a0", "\n\n  "])
@check_rows("before", ["", " ", "\n", "\u200b"])
def test_private_words_are_private_whatever_blank_stands_around_the_command(before: str, between: str) -> None:
    what = parse_command(f"{before}/private{between}my secret")
    assert isinstance(what, CommandCall)
    assert (what.command.name, what.words) == ("/private", "my secret")


@pytest.mark.parametrize(
    "text", ["/private: hush", "/privately hush", " /PRIVATE hush", "/private/tmp is full", "/private\u200bx"]
)
def test_what_begins_with_private_is_never_said_on_the_record(text: str) -> None:
    assert isinstance(parse_command(text), str)


def test_words_on_a_new_line_are_a_commands_words_too() -> None:
    what = parse_command("/remember\nMarta likes tea\nand cake")
    assert isinstance(what, CommandCall)
    assert (what.command.name, what.words) == ("/remember", "Marta likes tea\nand cake")


@pytest.mark.parametrize("text", [" /exit", " /undo", "\t/remember tea", " /nothing"])
def test_a_blank_before_a_slash_makes_words_of_it(text: str) -> None:
    assert parse_command(text) is None


@pytest.mark.parametrize("text", [" /private hush", "/private\nhush", "/privat hush", "/Private hush", "/prviate hush"])
def test_what_is_meant_private_is_not_written_down_while_it_is_typed(text: str) -> None:
    assert may_become_private(text)
    assert not may_become_private("the /private command")
    assert not may_become_private("/priv")


async def test_private_words_on_a_new_line_are_said_off_the_record(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home) as mind, app.run_test() as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        await pilot.press(*"/private", "ctrl+j", *"hush")
        assert app.composer.draft_to_save == ""
        await pilot.press("enter")
        await until(pilot, lambda: bool(said(mind)))
        assert said(mind) == [("hush", True)]
        await pilot.press("home", "space", *"/private psst")
        assert app.composer.draft_to_save == ""


async def test_a_blank_before_a_command_says_it_plainly_too(home: Home) -> None:
    _, mind = await talk_plainly(home, " /exit", "/private\thush", "/private", "told", "/remember it")
    assert said(mind) == [("/exit", False), ("hush", True), ("told", True)]
    assert not mind.requests(protocol.Remember)


async def test_what_is_only_like_private_is_said_on_the_record_with_a_blank_before_it(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home) as mind, app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        await pilot.press(*"/pirate ships", "enter")
        await until(pilot, lambda: "put a space first" in text_of(app) and "/pirate" in app.composer.text)
        assert app.composer.draft_to_save == ""
        await pilot.press("home", "space", "enter")
        await until(pilot, lambda: bool(said(mind)))
        assert said(mind) == [("/pirate ships", False)]


async def test_off_the_record_nothing_is_given_to_memory(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home) as mind, app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        app.composer.set_private(True)
        await pilot.press(*"/remember it", "enter")
        await until(pilot, lambda: "off the record" in text_of(app) and "/remember" in app.composer.text)
        assert not mind.requests(protocol.Remember)
        assert said(mind) == []


async def test_said_again_off_the_record_it_is_off_the_record(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home) as mind, app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        await pilot.press(*"one", "enter")
        await until(pilot, lambda: "Good morning." in text_of(app) and not app.is_answering)
        await pilot.press(*"/private", "enter")
        await until(pilot, lambda: app.composer.is_private)
        await pilot.press(*"/retry", "enter")
        await until(pilot, lambda: len(said(mind)) == 2)
        assert said(mind) == [("one", False), ("one", True)]


async def test_said_again_plainly_off_the_record_it_is_off_the_record(home: Home) -> None:
    _, mind = await talk_plainly(home, "one", "/private", "/retry")
    assert said(mind) == [("one", False), ("one", True)]


# --- keys that come at once -------------------------------------------------------------------------------------------


def burst(app: ReveriesApp, *typed: str) -> None:
    """Press keys without waiting in between: letters, and names of other keys in angle brackets."""
    for piece in typed:
        keys = [piece[1:-1]] if piece.startswith("<") else list(piece)
        for key in keys:
            app.post_message(events.Key("space" if key == " " else key, key if len(key) == 1 else None))


async def test_keys_behind_enter_are_another_text_and_nothing_is_said_twice(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home) as mind, app.run_test() as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        burst(app, "alpha", "<enter>", "beta", "<enter>", "gamma")
        await until(pilot, lambda: len(said(mind)) == 2 and app.composer.text == "gamma" and not app.link.is_busy)
        await until(pilot, lambda: text_of(app).count("Good morning.") == 2)
        assert said(mind) == [("alpha", False), ("beta", False)]


async def test_keys_behind_a_command_are_another_text(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home) as mind, app.run_test() as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        burst(app, "/private", "<enter>", "hush", "<enter>", "/private", "<enter>", "aloud", "<enter>", "rest")
        await until(pilot, lambda: len(said(mind)) == 2 and app.composer.text == "rest" and not app.link.is_busy)
        await until(pilot, lambda: text_of(app).count("Good morning.") == 2)
        assert said(mind) == [("hush", True), ("aloud", False)]
        assert app.composer.draft_to_save == "rest"


async def test_what_is_refused_comes_back_before_what_was_typed_since(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), app.run_test() as pilot:
        burst(app, "alpha", "<enter>", "beta")
        await until(pilot, lambda: app.composer.text == "alpha\n\nbeta")
        app.composer.clear()
        burst(app, "/private hush", "<enter>", "beta")
        await until(pilot, lambda: app.composer.text == "/private hush" and app.composer.is_private)
        assert app.composer.draft_to_save == "beta"
        app.composer.clear()
        app.composer.set_private(False)
        await until(pilot, lambda: app.composer.text == "beta")


async def test_leaving_right_behind_enter_loses_nothing(home: Home) -> None:
    home.path.mkdir(mode=0o700)
    app = ReveriesApp(home)
    async with asyncio.timeout(300), app.run_test() as pilot:
        burst(app, "alpha", "<enter>", "<ctrl+d>")
        await pilot.pause()
    assert DraftFile(home.draft).load() == "alpha"


async def test_a_tab_that_is_closed_loses_nothing(home: Home) -> None:
    home.path.mkdir(mode=0o700)
    app = ReveriesApp(home)
    async with asyncio.timeout(300), app.run_test() as pilot:
        app.composer.write("half a thought")
        app.post_message(ExitApp())
        await pilot.pause()
    assert DraftFile(home.draft).load() == "half a thought"


async def test_what_was_written_off_the_record_stays_it_when_that_ends(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home) as mind, app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        app.composer.toggle_private()
        await pilot.press(*"hush")
        app.composer.toggle_private()
        await until(pilot, lambda: "this draft is off the record" in text_of(app))
        assert app.composer.draft_to_save == ""
        await pilot.press("enter", *"aloud")
        assert app.composer.draft_to_save == "aloud"
        await until(pilot, lambda: said(mind) == [("hush", True)])
        await pilot.press("ctrl+z", "ctrl+z", "ctrl+z")
        assert "hush" not in app.composer.text


# --- what waits -------------------------------------------------------------------------------------------------------


def kept(home: Home) -> str:
    """The saved draft that another terminal would load."""
    return home.draft.read_text().partition("\n\x1e")[0] if home.draft.exists() else ""


async def test_what_waits_is_on_the_disk_before_the_terminal_is_closed(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home, Script(holds_reply=True)) as mind, app.run_test() as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        await pilot.press(*"one", "enter")
        await until(pilot, lambda: app.is_answering and not app.link.unacknowledged)
        await pilot.press(*"two", "enter", *"/private hush", "enter", *"thr")
        await until(pilot, lambda: kept(home) == "two\n\nthr")
        mind.release.set()
        await until(pilot, lambda: len(said(mind)) == 3 and kept(home) == "thr")
        assert said(mind)[2] == ("hush", True)


async def test_a_private_message_that_waits_takes_no_other_word_with_it(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home, Script(holds_reply=True)), app.run_test() as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        await pilot.press(*"one", "enter")
        await until(pilot, lambda: app.is_answering and not app.link.unacknowledged)
        await pilot.press(*"two", "enter", *"/private hush", "enter", *"three", "ctrl+d")
    assert kept(home) == "two\n\nthree"


async def test_private_words_that_come_back_stand_alone_and_the_others_come_after(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home, Script(holds_reply=True)) as mind, app.run_test() as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        await pilot.press(*"one", "enter")
        await until(pilot, lambda: app.is_answering and not app.link.unacknowledged)
        await pilot.press(*"two", "enter", *"/private hush", "enter", *"three")
        await mind.stop()
        await until(pilot, lambda: app.composer.text == "hush" and app.composer.is_private)
        await until(pilot, lambda: kept(home) == "two\n\nthree")
        mind.script.holds_reply = False
        await mind.start()
        await until(pilot, lambda: app.is_attached_to_mind)
        await pilot.press("enter", *"/private", "enter")
        await until(pilot, lambda: app.composer.text == "two\n\nthree" and not app.composer.is_private)
        await until(pilot, lambda: ("hush", True) in said(mind))
        assert kept(home) == "two\n\nthree"


async def test_words_that_were_refused_and_not_stored_are_in_the_draft_again(home: Home) -> None:
    app = ReveriesApp(home)
    full = protocol.Failed(0, "storage", "The disk is full: nothing new is stored.", "Free some space.")
    script = Script(failures={"Say": full})
    async with asyncio.timeout(300), awake(home, script) as mind, app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        await pilot.press(*"one", "enter")
        await until(pilot, lambda: app.composer.text == "one" and "The disk is full" in text_of(app))
        await pilot.press(*[" "], *"more")
        await until(pilot, lambda: kept(home) == "one more")
        app.composer.clear()
        await pilot.press(*"/private hush", "enter")
        await until(pilot, lambda: app.composer.text == "hush" and app.composer.is_private)
        await until(pilot, lambda: kept(home) == "")
        assert said(mind) == [("one", False), ("hush", True)]


async def test_words_taken_back_to_be_said_again_are_the_draft_until_they_are(home: Home) -> None:
    app = ReveriesApp(home)
    home.path.mkdir(mode=0o700)
    async with asyncio.timeout(300), app.run_test() as pilot:
        app.draft.resend_later(OutgoingText("again"))
        await pilot.press(*"and", "ctrl+d")
    assert kept(home) == "again\n\nand"


async def test_words_that_were_heard_before_the_connection_was_lost_are_not_in_the_draft(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home, Script(dies_on="Say")) as mind, app.run_test() as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        mind.script.turns = [protocol.SaidTurn("t9", "you", True, "heard", time.time() + 5, False)]
        await pilot.press(*"heard", "enter")
        await until(pilot, lambda: bool(said(mind)) and app.is_attached_to_mind and not app.link.unacknowledged)
        await until(pilot, lambda: app.composer.text == "")


@pytest.mark.parametrize(("said_before_seconds", "draft"), [(5.0, "more"), (600.0, "heard\n\nmore")])
async def test_words_heard_before_the_terminal_was_killed_are_not_in_its_draft(
    home: Home, said_before_seconds: float, draft: str
) -> None:
    home.path.mkdir(mode=0o700)
    killed = DraftFile(home.draft)
    killed.keep("heard\n\nmore", time.time() - 30.0)
    killed.close()
    turn = protocol.SaidTurn("t9", "you", True, "heard", time.time() - said_before_seconds, False)
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home, Script(turns=[turn])), app.run_test() as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        await until(pilot, lambda: app.composer.text == draft)


async def test_words_that_nobody_sent_stay_though_the_same_were_just_said(home: Home) -> None:
    turns = [protocol.SaidTurn("t9", "you", True, "yes", time.time() - 5, False)]
    home.path.mkdir(mode=0o700)
    left = DraftFile(home.draft)
    left.keep("yes")
    left.close()
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home, Script(turns=turns)), app.run_test() as pilot:
        await until(pilot, lambda: app.is_attached_to_mind and bool(app.chat.query(".turn")))
        await pilot.pause()
        assert app.composer.text == "yes"


def test_the_file_says_since_when_its_words_may_have_been_heard(tmp_path: Path) -> None:
    one = DraftFile(tmp_path / "draft.txt")
    assert one.keep("said\n\nwritten", 1_750_000_000.25)
    one.close()
    two = DraftFile(tmp_path / "draft.txt")
    assert (two.load(), two.doubt_since) == ("said\n\nwritten", 1_750_000_000.25)
    assert two.keep("written")
    two.close()
    three = DraftFile(tmp_path / "draft.txt")
    assert (three.load(), three.doubt_since) == ("written", None)


async def test_words_that_were_sent_stand_in_the_file_with_a_doubt_until_they_are_heard(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home, Script(silent_on="Say")) as mind, app.run_test() as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        began = time.time()
        await pilot.press(*"one", "enter", *"two")
        await until(pilot, lambda: bool(said(mind)))
        app.draft.save()
        text, _, since = home.draft.read_text().partition("\n\x1e")
        assert text == "one\n\ntwo"
        assert began - 3 < float(since) < time.time()


async def test_what_was_sent_to_a_mind_that_is_away_comes_back_in_its_order(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), app.run_test() as pilot:
        burst(app, "one", "<enter>", "two", "<enter>", "three")
        await until(pilot, lambda: app.composer.text == "one\n\ntwo\n\nthree")
        await pilot.pause()
        assert app.composer.text == "one\n\ntwo\n\nthree"


async def test_what_the_mind_heard_is_taken_out_of_what_waits_aside_too(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), app.run_test():
        app.composer.restore_texts([OutgoingText("heard"), OutgoingText("hush", is_private=True), OutgoingText("more")])
        assert app.composer.draft_to_save == "heard\n\nmore"
        app.composer.remove_received(["heard"])
        assert (app.composer.text, app.composer.draft_to_save) == ("hush", "more")


async def test_what_came_back_and_is_sent_again_at_once_is_not_said_twice(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home) as mind, app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind and bool(app.query(WelcomeText)))
        app.link.unconfirmed_since = NOW
        app.composer.write("heard")
        turn = protocol.SaidTurn("t9", "you", True, "heard", NOW + 1, False)
        app.composer.post_message(events.Key("enter", None))
        await until(pilot, lambda: app.composer.text == "heard" and "not sent" in text_of(app))
        app.composer._submit("heard")
        app.draft.drop_received([turn])
        await pilot.pause()
        assert (said(mind), app.composer.draft_to_save) == ([], "")
        await pilot.press(*"more", "enter")
        await until(pilot, lambda: said(mind) == [("more", False)])


async def test_what_is_on_the_record_waits_aside_when_that_ends_by_the_palette(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home), app.run_test() as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        await pilot.press(*"a letter")
        app.composer.toggle_private()
        assert (app.composer.text, app.composer.draft_to_save) == ("", "a letter")
        await pilot.press(*"hush")
        assert app.composer.draft_to_save == "a letter"
        await pilot.press("enter")
        app.composer.toggle_private()
        await until(pilot, lambda: app.composer.text == "a letter" and not app.composer.is_off_record)


async def test_two_replies_that_are_wanted_anew_lose_no_words(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home) as mind, app.run_test() as pilot:
        await until(pilot, lambda: app.is_attached_to_mind and bool(mind.requests(protocol.AskContext)))
        app.draft.resend_later(OutgoingText("later"))
        app.draft.resend_later(OutgoingText("earlier"))
        await mind.broadcast(protocol.Switched(0, "c1"))
        await until(pilot, lambda: len(said(mind)) == 2 and text_of(app).count("Good morning.") == 2)
        assert said(mind) == [("earlier", False), ("later", False)]


async def test_what_waits_stands_on_the_screen_after_another_terminals_new_conversation(home: Home) -> None:
    app = ReveriesApp(home)
    script = Script(holds_reply=True)
    async with asyncio.timeout(300), awake(home, script) as mind, app.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        await pilot.press(*"one", "enter")
        await until(pilot, lambda: app.is_answering and not app.link.unacknowledged)
        await pilot.press(*"two", "enter", *"/private hush", "enter")
        await until(pilot, lambda: len(app.link.unacknowledged) == 2)
        asked = len(mind.requests(protocol.Attach))
        await mind.broadcast(protocol.Switched(0, "c1"))
        await until(pilot, lambda: len(mind.requests(protocol.Attach)) > asked)
        await until(pilot, lambda: [turn.text for turn in app.query(OwnerTurn)][-2:] == ["two", "hush"])
        assert app.was_private
        assert "esc stops it" in str(app.composer.border_subtitle)
        mind.release.set()
        await until(pilot, lambda: len(said(mind)) == 3 and not app.link.is_busy)
        order = ["OwnerTurn", "ReplyWidget", "OwnerTurn", "ReplyWidget"]
        await until(pilot, lambda: [type(turn).__name__ for turn in app.query(".turn")][-4:] == order)


# --- several terminals ------------------------------------------------------------------------------------------------


def test_terminals_do_not_touch_each_others_drafts(tmp_path: Path) -> None:
    file = tmp_path / "draft.txt"
    one, two = DraftFile(file), DraftFile(file)
    assert one.keep("of one")
    assert two.load() == ""
    assert two.keep("of two")
    assert two.keep("")
    assert one.keep("of one")
    assert file.read_text() == "of one"
    assert two.keep("of two again")
    assert sorted(place.name for place in tmp_path.iterdir()) == ["draft-2.txt", "draft.txt"]
    assert all(stat.S_IMODE(place.stat().st_mode) == 0o600 for place in tmp_path.iterdir())


def test_drafts_of_terminals_that_are_gone_are_found_one_by_each_that_opens(tmp_path: Path) -> None:
    file = tmp_path / "draft.txt"
    gone = [DraftFile(file), DraftFile(file)]
    for number, draft in enumerate(gone):
        draft.keep(f"of {number}")
    for draft in gone:
        draft.close()
    (tmp_path / "draft-3.txt").touch()
    one, two, three = DraftFile(file), DraftFile(file), DraftFile(file)
    assert [(draft.load(), draft.has_others) for draft in (one, two, three)] == [
        ("of 0", True),
        ("of 1", False),
        ("", False),
    ]
    assert not (tmp_path / "draft-3.txt").exists()


def test_a_draft_that_was_erased_is_not_written_over_anothers(tmp_path: Path) -> None:
    file = tmp_path / "draft.txt"
    one, two = DraftFile(file), DraftFile(file)
    one.keep("of one")
    file.unlink()
    two.keep("of two")
    assert one.keep("of one and more")
    assert file.read_text() == "of two"
    assert one.keep("")
    assert [place.name for place in tmp_path.iterdir()] == ["draft.txt"]


def test_a_draft_is_read_through_no_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("a key")
    (tmp_path / "draft.txt").symlink_to(tmp_path / "elsewhere")
    draft = DraftFile(tmp_path / "draft.txt")
    assert draft.load() == ""
    assert draft.keep("words")
    assert (tmp_path / "elsewhere").read_text() == "a key"


def test_what_a_kill_left_beside_a_draft_goes_with_it(tmp_path: Path) -> None:
    one = DraftFile(tmp_path / "draft.txt")
    one.keep("words")
    (tmp_path / "draft.txt.new").write_text("words an")
    one.close()
    two = DraftFile(tmp_path / "draft.txt")
    assert two.load() == "words"
    assert [place.name for place in tmp_path.iterdir()] == ["draft.txt"]
    (tmp_path / "draft.txt.new").write_text("words an")
    assert two.keep("")
    assert list(tmp_path.iterdir()) == []


async def test_a_terminal_that_opens_and_sends_leaves_the_other_ones_draft(home: Home) -> None:
    one, two = ReveriesApp(home), ReveriesApp(home)
    async with asyncio.timeout(300), awake(home), one.run_test() as first:
        await until(first, lambda: one.is_attached_to_mind)
        await first.press(*"a letter")
        await until(first, lambda: kept(home) == "a letter")
        async with two.run_test() as second:
            await until(second, lambda: two.is_attached_to_mind)
            assert two.composer.text == ""
            await second.press(*"hi", "enter")
            await until(second, lambda: not two.is_answering and not two.link.unacknowledged)
            await press_until_it_ends(two, "ctrl+d")
        assert kept(home) == "a letter"


# --- the editor -------------------------------------------------------------------------------------------------------


async def test_no_editor_gets_what_is_off_the_record(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home), app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        await pilot.press(*"/private hush", "ctrl+g")
        await until(pilot, lambda: "an editor would save your text" in text_of(app))
        assert app.composer.text == "/private hush"
        app.composer.clear()
        app.hint("")
        app.composer.toggle_private()
        await pilot.press(*"hush", "ctrl+g")
        await until(pilot, lambda: "an editor would save your text" in text_of(app))


async def test_what_an_editor_made_takes_the_place_of_what_it_got(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), app.run_test():
        composer = app.composer
        composer.write("before")
        composer.apply_edit("before", "after")
        assert composer.text == "after"
        composer.restore_texts([OutgoingText("came back")])
        composer.apply_edit("after", "later")
        assert composer.text == "came back\n\nlater"
        composer.restore_texts([OutgoingText("hush", is_private=True)])
        composer.apply_edit("came back\n\nlater", "last")
        assert (composer.text, composer.draft_to_save) == ("hush", "last")


# --- what Enter runs --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["/take", "/last", "/again", "/word"])
async def test_a_word_of_what_a_command_does_runs_nothing(home: Home, word: str) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home) as mind, app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        await pilot.press(*word)
        await until(pilot, lambda: app.query_one(SlashMenu).is_open)
        await pilot.press("enter")
        await until(pilot, lambda: "There is no command" in text_of(app) and app.composer.text == word)
        assert not mind.requests(protocol.TakeBack)
        assert said(mind) == []


async def test_a_command_that_the_owner_moved_to_runs_and_a_part_of_a_name_does(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home) as mind, app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        await pilot.press(*"one", "enter")
        await until(pilot, lambda: bool(said(mind)) and not app.is_answering)
        await pilot.press(*"/take")
        await until(pilot, lambda: app.query_one(SlashMenu).is_open)
        await pilot.press("down", "up", "enter")
        await until(pilot, lambda: bool(mind.requests(protocol.TakeBack)))
        await until(pilot, lambda: app.composer.text == "one")
        app.composer.clear()
        await pilot.press(*"/elp", "enter")
        await until(pilot, lambda: "keys and commands" in text_of(app))
