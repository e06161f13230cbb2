"""The conversation line by line: what a screen reader reads out."""

import asyncio
import os
import signal
import threading
from pathlib import Path

import msgspec
import pytest

from reveries import protocol
from reveries.client.plain_chat import PlainChat, make_line_reader
from reveries.clock import SystemClock
from reveries.config import Home
from reveries.errors import AsleepError
from tests.client.looks import CONTEXT, LOOKS
from tests.client.test_tui import HOSTILE
from tests.fakes.daemon import NOW, FakeMind, Script, awake


class Owner:
    """Types when told to; hears what is printed."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._typed = threading.Semaphore(0)
        self.heard = ""
        self._more = asyncio.Event()

    def type(self, *lines: str) -> None:
        for line in lines:
            self._lines.append(line)
            self._typed.release()

    def read(self) -> str:
        self._typed.acquire()
        return self._lines.pop(0)

    def hear(self, text: str) -> None:
        self.heard += text
        self._more.set()

    async def until(self, words: str) -> None:
        while words not in self.heard:
            self._more.clear()
            await self._more.wait()


async def talk_plainly(home: Home, *lines: str, script: Script | None = None) -> tuple[str, FakeMind]:
    owner = Owner()
    owner.type(*[f"{line}\n" for line in lines], "")
    async with asyncio.timeout(300), awake(home, script) as mind:
        await PlainChat(home, SystemClock(), owner.read, owner.hear).run()
    return owner.heard, mind


async def test_a_line_is_a_turn_and_the_reply_is_printed_as_it_comes(home: Home) -> None:
    heard, mind = await talk_plainly(home, "hello", "", "  ", "/exit", "never said")
    assert "Reverie: Good morning.\n" in heard
    assert [request.text for request in mind.received if isinstance(request, protocol.Say)] == ["hello"]


async def test_nothing_that_is_printed_moves_the_cursor(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    turns = [protocol.SaidTurn("t", HOSTILE, False, HOSTILE, NOW, False)]
    heard, _ = await talk_plainly(home, "hi", "/context", script=Script(pieces=list(HOSTILE), turns=turns, looks=LOOKS))
    printed = heard + capsys.readouterr().out
    assert not [char for char in printed if ord(char) < 32 and char not in "\n\t"]
    assert "\u202e" not in printed


async def test_commands_answer_with_their_pages_and_say_nothing(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    heard, mind = await talk_plainly(home, "/context", "/search", "/copy", "/help", script=Script(looks=LOOKS))
    assert "321 of 3,584 tokens" in capsys.readouterr().out
    assert "/search needs an argument" in heard
    assert "/copy needs the terminal interface" in heard
    assert "/undo: take back your last message and its reply" in heard
    assert "/theme" not in heard
    assert mind.requests(protocol.Say) == []


async def test_contradictions_of_conversations_and_of_projects_are_shown(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    await talk_plainly(home, "/contradictions", script=Script(looks=LOOKS))
    printed = capsys.readouterr().out
    assert "I live in Porto." in printed
    assert "The hall costs 350 euros." in printed


async def test_long_work_is_done_here_too_and_says_how_far_it_is(
    home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "past.jsonl"
    file.write_text('{"time": "2025-03-04T14:02:00", "speaker": "Ada", "text": "Good morning"}\n')
    script = Script(looks={"MakeBackup": protocol.Backups(0, "/b", [])}, progress=[(f"copying{HOSTILE}", 3, 453)])
    heard, mind = await talk_plainly(
        home,
        "/consolidate",
        "/backup",
        f"/import --yes {file}",
        "/import ~nobody-of-this-name/x",
        "/help",
        script=script,
    )
    printed = capsys.readouterr().out
    for page in ("Processed 2 experiences", "no backup yet", "Stored 1 turn"):
        assert page in printed
    assert "3 of 453" in heard
    assert "nobody-of-this-name/x is not a valid path" in heard
    assert "/backup: make a backup of its memory" in heard
    assert not [char for char in heard + printed if ord(char) < 32 and char not in "\n\t"]
    assert [turn.text for turn in mind.imported] == ["Good morning"]


async def test_ctrl_c_stops_long_work_and_not_the_talk(home: Home) -> None:
    owner = Owner()
    script = Script(holds_reply=True, looks={"MakeBackup": protocol.Backups(0, "/b", [])})
    async with asyncio.timeout(300), awake(home, script), asyncio.TaskGroup() as tasks:
        chat = tasks.create_task(PlainChat(home, SystemClock(), owner.read, owner.hear).run(), name="chat")
        owner.type("/backup\n")
        await owner.until("1 of 2")
        os.kill(os.getpid(), signal.SIGINT)
        await owner.until("It was stopped.")
        assert not chat.done()
        owner.type("/exit\n", "")


async def test_ctrl_c_stops_an_import_and_not_the_talk(home: Home, tmp_path: Path) -> None:
    owner, file = Owner(), tmp_path / "past.jsonl"
    file.write_text('{"time": "2025-03-04T14:02:00", "speaker": "Ada", "text": "Good morning"}\n')
    async with asyncio.timeout(300), awake(home, Script(silent_on="Import")) as mind, asyncio.TaskGroup() as tasks:
        chat = tasks.create_task(PlainChat(home, SystemClock(), owner.read, owner.hear).run(), name="chat")
        owner.type(f"/import --yes {file}\n")
        while not mind.requests(protocol.Import):  # noqa: ASYNC110 - the mind tells nobody
            await asyncio.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)
        await owner.until("The import was stopped.")
        assert not chat.done()
        owner.type("/context\n", "/exit\n", "")
        await chat
        assert mind.requests(protocol.Cancel)


async def test_the_second_ctrl_c_ends_the_wait_for_a_mind_that_does_not_answer(home: Home) -> None:
    owner = Owner()
    async with asyncio.timeout(300), awake(home, Script(silent_on="AskContext")) as mind, asyncio.TaskGroup() as tasks:
        chat = tasks.create_task(PlainChat(home, SystemClock(), owner.read, owner.hear).run(), name="chat")
        owner.type("/context\n")
        for kind in (protocol.AskContext, protocol.Cancel):
            while not mind.requests(kind):  # noqa: ASYNC110 - the mind tells nobody
                await asyncio.sleep(0.01)
            os.kill(os.getpid(), signal.SIGINT)
        await owner.until("You no longer wait for the answer.")
        assert not chat.done()
        owner.type("/exit\n", "")


@pytest.mark.parametrize(("terminal", "page"), [(200, 74), (80, 74), (50, 50)])
async def test_a_page_fits_into_the_terminal_and_has_at_most_74_columns(
    home: Home, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, terminal: int, page: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(terminal))
    said = protocol.ContextPart("your words", 41, 0, "a word " * 60, "")
    context = msgspec.structs.replace(CONTEXT, parts=[said], notes=["a word " * 60])
    await talk_plainly(home, "/context", script=Script(looks={"AskContext": context}))
    rows = [row for row in capsys.readouterr().out.splitlines() if "a word" in row]
    assert page - 8 < max(len(row) for row in rows) <= page


async def test_undo_and_retry_work_here_too(home: Home) -> None:
    heard, mind = await talk_plainly(home, "one", "/retry", "/undo")
    assert heard.count("Taken back: one") == 2
    assert len(mind.requests(protocol.Say)) == 2


async def test_a_refusal_is_a_sentence_and_the_talk_goes_on(home: Home) -> None:
    failure = protocol.Failed(0, "budget", "Today's tokens are used up.", "Wait.")
    heard, _ = await talk_plainly(home, "one", "/new", script=Script(failures={"Say": failure}))
    assert "That failed: Today's tokens are used up." in heard
    assert "A new conversation." in heard


async def test_it_waits_until_the_mind_is_back(home: Home) -> None:
    owner = Owner()
    async with asyncio.timeout(300), awake(home) as mind, asyncio.TaskGroup() as tasks:
        tasks.create_task(PlainChat(home, SystemClock(), owner.read, owner.hear).run(), name="plain")
        await owner.until("you: ")
        await mind.stop()
        await owner.until("Waiting for the mind to return")
        await mind.start()
        await owner.until("Reverie is back.")
        owner.type("hello\n", "")
    assert "Good morning." in owner.heard


async def test_asleep_it_says_so(home: Home) -> None:
    home.path.mkdir(mode=0o700)
    owner = Owner()
    with pytest.raises(AsleepError):
        await PlainChat(home, SystemClock(), owner.read, owner.hear).run()
    owner.type("")


def test_lines_are_cut_where_they_end_and_not_where_a_read_does() -> None:
    out, into = os.pipe()
    read = make_line_reader(out)
    os.write(into, "one\nzw\u00f6".encode()[:-1])
    assert read() == "one\n"
    os.write(into, "\u00f6\nrest".encode()[1:])
    os.close(into)
    assert [read(), read(), read()] == ["zw\u00f6\n", "rest", ""]
    os.close(out)
