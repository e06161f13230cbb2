"""The conversation line by line, without an interface: for screen readers and simple terminals.

Nothing is redrawn: replies are printed as they are generated, and every command prints its output.
"""

import asyncio
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from reveries import protocol
from reveries.client.answers import render_answer
from reveries.client.citation_lines import citation_lines
from reveries.client.connection import Connection, connect
from reveries.client.mind import Exchange
from reveries.client.own_command import own_command
from reveries.client.plain_work import PlainWork
from reveries.client.render import PAGE_COLUMNS, columns_now, page_columns, say, show
from reveries.client.slash_commands import COMMANDS
from reveries.client.slash_parsing import CommandCall, parse_command
from reveries.client.terminal_encoding import decode_input
from reveries.client.wording import clock_time, plural
from reveries.clock import Clock
from reveries.config import Home
from reveries.errors import AsleepError, ConnectionLostError, ReveriesError
from reveries.safe_text import one_line, plain

_LAST_TURNS: Final = 6
_LINES: Final = 10_000
_AGAIN_SECONDS: Final = 1.0
_READ_BYTES: Final = 65_536


class PlainChat:
    """One conversation: `read` returns the next line, "" at the end; `write` prints text."""

    def __init__(self, home: Home, clock: Clock, read: Callable[[], str], write: Callable[[str], object]) -> None:
        self._home = home
        self._clock = clock
        self._read_line = read
        self._out = write
        self._lines: asyncio.Queue[str] = asyncio.Queue(_LINES)
        self._stop: Callable[[], object] | None = None
        """Stops the running reply or command."""
        self._is_private = False
        self._was_private = False
        self._is_leaving = False
        self._actions: dict[str, Callable[[Connection, str], Awaitable[object]]] = {
            "/exit": self._exit,
            "/help": self._print_help,
            "/new": self._begin_anew,
            "/private": self._talk_privately,
            "/undo": self._take_back,
            "/retry": self._retry,
            "/import": self._import,
        }

    @property
    def names(self) -> frozenset[str]:
        """The commands that it carries out itself."""
        return frozenset(self._actions)

    async def run(self) -> None:
        """Run until the owner leaves or the input ends. A lost connection is retried. Raises AsleepError if the mind is
        asleep at the beginning."""
        loop = asyncio.get_running_loop()
        # A daemon thread: a blocked read of the terminal cannot be cancelled, and must not prevent the exit.
        threading.Thread(target=self._read_lines, args=(loop,), name="plain.read", daemon=True).start()
        was_there = False
        while True:
            try:
                async with connect(self._home, client="plain") as mind:
                    await self._greet(mind, is_back=was_there)
                    was_there = True
                    await self._hold_conversation(mind, loop)
                return
            except (AsleepError, ConnectionLostError) as error:
                if not was_there:
                    raise
                if isinstance(error, ConnectionLostError):
                    self._write_text("\nThe connection was lost. Waiting for the mind to return.")
            await self._clock.sleep(_AGAIN_SECONDS)

    async def _hold_conversation(self, mind: Connection, loop: asyncio.AbstractEventLoop) -> None:
        loop.add_signal_handler(signal.SIGINT, self._interrupt)
        try:
            while not self._is_leaving and (line := await self._next_line(mind)):
                await self._take_line(mind, line)
        finally:
            loop.remove_signal_handler(signal.SIGINT)

    def _read_lines(self, loop: asyncio.AbstractEventLoop) -> None:
        while True:
            line = self._read_line()
            with contextlib.suppress(RuntimeError):
                # RuntimeError: the owner has left, and the loop is closed.
                loop.call_soon_threadsafe(self._queue_line, line)
            if not line:
                return

    def _queue_line(self, line: str) -> None:
        # A person does not type ten thousand lines ahead; further lines, piped in by a program, are dropped.
        with contextlib.suppress(asyncio.QueueFull):
            self._lines.put_nowait(line)

    def _interrupt(self) -> None:
        """Handle Ctrl+C: stop the reply or command; if there is none, leave."""
        if self._stop is not None:
            self._stop()
        else:
            self._queue_line("")

    async def _next_line(self, mind: Connection) -> str:
        """Return the next line. Raises ConnectionLostError as soon as the connection is lost."""
        self._write_text("you: ", end="")
        async with asyncio.TaskGroup() as tasks:
            line = tasks.create_task(self._lines.get(), name="plain.line")
            gone = tasks.create_task(mind.wait_closed(), name="plain.gone")
            trouble = tasks.create_task(self._print_problems(mind), name="plain.trouble")
            await asyncio.wait((line, gone), return_when=asyncio.FIRST_COMPLETED)
            trouble.cancel()
            line.cancel()
            gone.cancel()
        if line.cancelled():
            raise ConnectionLostError("The connection was lost.", advice="Waiting for the mind to return.")
        return line.result()

    async def _print_problems(self, mind: Connection) -> None:
        with contextlib.suppress(ConnectionLostError):
            async for frame in mind.broadcasts():
                if isinstance(frame, protocol.Trouble):
                    self._write_text(
                        "".join(f"\n{plain(problem)}" for problem in frame.problems) or "\nAll problems are solved."
                    )

    async def _greet(self, mind: Connection, *, is_back: bool) -> None:
        attached = await mind.ask(protocol.Attach, protocol.Attached)
        if is_back:
            self._write_text(f"{one_line(mind.welcome.mind, 60)} is back.")
            return
        self._write_text(
            f"{one_line(mind.welcome.mind, 60)} is awake. Each line is a turn. /help lists the commands; /exit leaves."
        )
        if earlier := attached.earlier_count + max(0, len(attached.turns) - _LAST_TURNS):
            self._write_text(f"{plural(earlier, 'earlier turn')}.")
        for turn in attached.turns[-_LAST_TURNS:]:
            self._write_text(f"{one_line(turn.speaker, 60)}, {clock_time(turn.said_at)}: {plain(turn.text)}")
        for notice in attached.notices:
            self._write_text(plain(notice))

    async def _take_line(self, mind: Connection, line: str) -> None:
        """Say the line or run its command."""
        # A space before a slash means that it does not begin a command.
        entered = parse_command(plain(line).rstrip())
        text = plain(line).strip()
        try:
            if isinstance(entered, str):
                self._write_text(entered)
            elif entered is not None and entered.command.keeps_words and self._is_private:
                self._write_text(
                    f"{entered.command.name} stores text, but you are off the record. To end that: /private"
                )
            elif entered is not None:
                await self._run_command(mind, entered)
            elif text:
                await self._say_words(mind, text, is_private=self._is_private)
        except ReveriesError as error:
            if not mind.is_open:
                self._write_text(f"\nNot answered: {text}")
                raise
            self._write_text(f"That failed: {error}")

    async def _run_command(self, mind: Connection, call: CommandCall) -> None:
        command = call.command
        if (action := self._actions.get(command.name)) is not None:
            await action(mind, call.words)
        elif command.fetch is not None:
            self._show_answer(await command.fetch(self._work(mind).ask, call.words, self._clock.now()))
        else:
            self._write_text(f"{command.name} needs the terminal interface. See reveries --help for similar commands.")

    async def _exit(self, _: Connection, __: str) -> None:
        self._is_leaving = True

    async def _print_help(self, _: Connection, __: str) -> None:
        for command in COMMANDS:
            if command.name in self._actions or command.fetch is not None:
                self._write_text(f"{command.usage}: {command.description}")
        self._write_text("Ctrl+C stops a reply or a command; if there is none, it leaves.")

    async def _begin_anew(self, mind: Connection, _: str) -> None:
        await mind.ask(protocol.NewConversation, protocol.Ok)
        self._write_text("A new conversation.")

    async def _talk_privately(self, mind: Connection, words: str) -> None:
        """Say `words` off the record; without words, all that follows."""
        if words:
            await self._say_words(mind, words, is_private=True)
            return
        self._is_private = not self._is_private
        self._write_text("Off the record: nothing is kept." if self._is_private else "On the record again.")

    async def _take_back(self, mind: Connection, _: str) -> str:
        """Take back the last turn, and return its words; "" if it was off the record."""
        if self._was_private:
            self._write_text("The last turn was off the record, so there is nothing to take back.")
            return ""
        words = (await mind.ask(protocol.TakeBack, protocol.TakenBack)).words
        self._write_text(f"Taken back: {plain(words)}")
        return words

    async def _retry(self, mind: Connection, _: str) -> None:
        if words := await self._take_back(mind, _):
            await self._say_words(mind, words, is_private=self._is_private)

    async def _import(self, mind: Connection, words: str) -> None:
        self._show_answer(await self._work(mind).import_file(words))

    def _work(self, mind: Connection) -> PlainWork:
        """Ctrl+C stops it, like a reply."""
        return PlainWork(mind, self._clock, self._write_text, self._set_stop)

    def _show_answer(self, answer: msgspec.Struct) -> None:
        with page_columns(min(PAGE_COLUMNS, columns_now())):
            show(render_answer(answer, self._clock.now()))

    def _set_stop(self, stop: Callable[[], object] | None) -> None:
        self._stop = stop

    async def _say_words(self, mind: Connection, text: str, *, is_private: bool = False) -> None:
        def show_help(offered: str) -> None:
            self._write_text(f"\n{plain(offered)}\n")

        exchange = Exchange(mind, text, show_help, off_record=is_private)
        self._stop = exchange.stop
        self._was_private = is_private
        self._write_text(f"{one_line(mind.welcome.mind, 60)}: ", end="")
        try:
            async for piece in exchange:
                self._write_text(piece, end="")
            self._write_text("")
            for shown in citation_lines(exchange.end.citations if exchange.end is not None else ()):
                self._write_text(shown)
            if exchange.end is not None and exchange.end.reason != "stop":
                self._write_text(f"({plain(exchange.end.explanation) or exchange.end.reason})")
        finally:
            self._stop = None

    def _write_text(self, text: str, end: str = "\n") -> None:
        self._out(text + end)


def run_plain_chat(home: Home, clock: Clock) -> None:
    """Run the conversation on the standard streams. Raises AsleepError, and the errors of `connect`."""

    def write(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    asyncio.run(PlainChat(home, clock, make_line_reader(sys.stdin.fileno()), write).run())
    say(f"You left, and the mind stays awake. To return: {own_command('--plain')}")


def make_line_reader(file: int) -> Callable[[], str]:
    """Return a function that reads a file line by line without Python's buffers: these are locked while a read waits,
    which crashes the interpreter at exit."""
    buffered = b""

    def read() -> str:
        nonlocal buffered
        while b"\n" not in buffered:
            try:
                piece = os.read(file, _READ_BYTES)
            except OSError:
                piece = b""
            if not piece:
                line, buffered = buffered, b""
                return _decode_line(line)
            buffered += piece
        line, _, buffered = buffered.partition(b"\n")
        return _decode_line(line) + "\n"

    return read


def _decode_line(line: bytes) -> str:
    try:
        return decode_input(line)
    except UnicodeDecodeError:
        return line.decode("utf-8", "replace")
