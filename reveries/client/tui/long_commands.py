"""Commands that take long, each with a progress bar: import, consolidation, backup, model download."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from textual.worker import get_current_worker

from reveries import protocol
from reveries.client.features.backup import backups_page
from reveries.client.features.importing import imported_page, read_past_conversations, send_turns
from reveries.client.features.memory import consolidated_page
from reveries.client.owner_files import resolve_path
from reveries.client.render import Page, line
from reveries.client.tui.conversation_app import ConversationApp
from reveries.client.tui.mind_queries import fetch_answer
from reveries.client.tui.results import show_result
from reveries.client.weights import pull_model, pulled_sentence
from reveries.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reveries.client.json_answers import PulledModel
    from reveries.client.progress import ProgressCallback

_Frame = TypeVar("_Frame")


class LongCommands:
    """The long-running commands of one application. The conversation goes on while one runs."""

    def __init__(self, app: ConversationApp) -> None:
        self._app = app
        self._stops: list[Callable[[], None]] = []
        self.commands: dict[str, Callable[[str], Awaitable[None]]] = {
            "/consolidate": self._consolidate,
            "/import": self._import,
            "/backup": self._backup,
            "/pull": self._pull,
        }

    def stop(self) -> bool:
        """Stop the job started last; False if none is running."""
        if not self._stops:
            return False
        self._stops[-1]()
        return True

    async def _consolidate(self, _: str) -> None:
        done = await self._ask_with_bar(protocol.Consolidate, protocol.Consolidated, "consolidating")
        await self._show_result("deep sleep", partial(consolidated_page, done))

    async def _import(self, words: str) -> None:
        file = resolve_path(words)
        turns = await asyncio.to_thread(lambda: read_past_conversations(file, self._app.clock.now()))
        # Stopping keeps what the daemon has imported so far.
        with self._bar("importing", get_current_worker().cancel) as report:
            done = await send_turns(self._app.link.mind, file.name, turns, report)
        await self._show_result("imported", partial(imported_page, done))

    async def _backup(self, _: str) -> None:
        backups = await self._ask_with_bar(protocol.MakeBackup, protocol.Backups, "creating a backup")
        await self._show_result("backup", partial(backups_page, backups, self._app.clock.now()))

    async def _ask_with_bar(self, make: Callable[[int], protocol.Request], kind: type[_Frame], name: str) -> _Frame:
        """Run a job in the daemon with a progress bar. When stopped, the daemon's answer says how far it got."""
        link, number = self._app.link, 0

        def make_numbered(new_id: int) -> protocol.Request:
            nonlocal number
            number = new_id
            return make(new_id)

        with self._bar(name, lambda: link.mind.cancel_soon(number)) as report:
            return await fetch_answer(lambda request: link.ask(request, report), make_numbered, kind)

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
        await self._show_result("downloaded", lambda: [line(f"  {pulled_sentence(result)}")])

    async def _show_result(self, title: str, make: Callable[[], Page]) -> None:
        await show_result(self._app, title, make)

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
