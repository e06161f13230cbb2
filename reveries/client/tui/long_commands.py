"""Commands that take long, each with a progress bar: import, consolidation, backup, model download."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import msgspec
from textual.worker import get_current_worker

from reveries import protocol
from reveries.client.answers import PAGES, render_answer
from reveries.client.features.importing import read_import_words, send_turns
from reveries.client.render import line
from reveries.client.slash_commands import Command
from reveries.client.tui.conversation_app import ConversationApp
from reveries.client.tui.results import show_result
from reveries.client.weights import pull_model, pulled_sentence
from reveries.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reveries.client.progress import ProgressCallback
    from reveries.client.weights import PulledModel

_Answer = TypeVar("_Answer")


class LongCommands:
    """The long-running commands of one application. The conversation goes on while one runs."""

    def __init__(self, app: ConversationApp) -> None:
        self._app = app
        self._stops: list[Callable[[], None]] = []
        self.commands: dict[str, Callable[[str], Awaitable[None]]] = {
            "/import": self._import,
            "/pull": self._pull,
        }

    def stop(self) -> bool:
        """Stop the job started last; False if none is running."""
        if not self._stops:
            return False
        self._stops[-1]()
        return True

    async def run(self, command: Command, words: str) -> None:
        """Run a command that fetches its answer with a progress bar. When stopped, the answer says how far it got."""

        async def ask(make: Callable[[int], protocol.Request], answer: type[_Answer]) -> _Answer:
            running = self._app.link.mind.start(make, answer)
            with self._bar(command.work, running.stop) as report:
                return await running.result(report)

        assert command.fetch is not None
        await self._show_answer(await command.fetch(ask, words, self._app.clock.now()))

    async def _import(self, words: str) -> None:
        asked = await asyncio.to_thread(lambda: read_import_words(words, self._app.clock.now()))
        if not asked.is_confirmed:
            await self._show_answer(asked.past.preview)
            return
        # Stopping keeps what the daemon has imported so far.
        with self._bar("importing", get_current_worker().cancel) as report:
            done = await send_turns(self._app.link.mind, asked.file.name, asked.past.turns, report)
        await self._show_answer(done)

    async def _pull(self, words: str) -> None:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[PulledModel] = loop.create_future()
        stopped = threading.Event()
        with self._bar(words, stopped.set, is_in_bytes=True) as report:

            def report_download(what: str, so_far: int, total: int) -> None:
                if stopped.is_set():
                    raise UsageError(
                        "It was stopped.", advice=f"The part that was downloaded is kept. Continue: /pull {words}"
                    )
                _call_in_loop(loop, report, what, so_far, total)

            def fetch() -> None:
                try:
                    result = pull_model(words, report_download, lambda _: None)
                except Exception as error:  # noqa: BLE001 - passed on: otherwise its bar would stay forever
                    _call_in_loop(loop, _set_error, done, error)
                else:
                    _call_in_loop(loop, _set_result, done, result)

            # A daemon thread: leaving does not wait for the download, and the next one resumes it.
            threading.Thread(target=fetch, name="tui.pull", daemon=True).start()
            try:
                result = await done
            finally:
                stopped.set()
        await show_result(self._app, "downloaded", lambda: [line(f"  {pulled_sentence(result)}")])

    async def _show_answer(self, answer: msgspec.Struct) -> None:
        now = self._app.clock.now()
        await show_result(self._app, PAGES[type(answer)].title, lambda: render_answer(answer, now))

    @contextmanager
    def _bar(self, name: str, stop: Callable[[], None], *, is_in_bytes: bool = False) -> "Iterator[ProgressCallback]":
        jobs = self._app.jobs

        def report(what: str, done: int, total: int) -> None:
            jobs.update_job(name, what, done, total, is_in_bytes=is_in_bytes, is_ours=True)

        report(name, 0, 0)
        self._stops.append(stop)
        try:
            yield report
        finally:
            self._stops.remove(stop)
            jobs.remove_job(name)


def _call_in_loop(loop: asyncio.AbstractEventLoop, call: Callable[..., object], *values: object) -> None:
    """Schedule a call in the loop, unless the loop is closed because the owner has left."""
    try:
        loop.call_soon_threadsafe(call, *values)
    except RuntimeError:
        return


def _set_error(done: "asyncio.Future[PulledModel]", error: Exception) -> None:
    if not done.done():
        done.set_exception(error)


def _set_result(done: "asyncio.Future[PulledModel]", result: "PulledModel") -> None:
    if not done.done():
        done.set_result(result)
