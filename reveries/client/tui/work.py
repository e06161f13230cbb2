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
from reveries.client.features.importing import bring_in, brought_in_page, read_past_of_owner
from reveries.client.features.memory import consolidated_page
from reveries.client.owner_files import place_named
from reveries.client.render import Page, line
from reveries.client.tui.asking import answer_of
from reveries.client.tui.conversation_app import ConversationApp
from reveries.client.tui.results import show_result
from reveries.client.weights import pull_model, pulled_line
from reveries.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reveries.client.json_answers import PulledModel
    from reveries.client.progress import Moved

_Frame = TypeVar("_Frame")


class Work:
    """The long-running commands of one application. The conversation goes on while one runs."""

    def __init__(self, app: ConversationApp) -> None:
        self._app = app
        self._stops: list[Callable[[], None]] = []
        self.deeds: dict[str, Callable[[str], Awaitable[None]]] = {
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
        done = await self._ask_with_bar(protocol.Consolidate, protocol.Consolidated, "sleeping on it")
        await self._show_result("deep sleep", partial(consolidated_page, done))

    async def _import(self, words: str) -> None:
        file = place_named(words)
        turns = await asyncio.to_thread(lambda: read_past_of_owner(file, self._app.clock.now()))
        # Stopping keeps what the daemon has imported so far.
        with self._bar("importing", get_current_worker().cancel) as moved:
            done = await bring_in(self._app.link.mind, file.name, turns, moved)
        await self._show_result("imported", partial(brought_in_page, done))

    async def _backup(self, _: str) -> None:
        made = await self._ask_with_bar(protocol.MakeBackup, protocol.Backups, "making a backup")
        await self._show_result("backup", partial(backups_page, made, self._app.clock.now()))

    async def _ask_with_bar(self, make: Callable[[int], protocol.Request], kind: type[_Frame], name: str) -> _Frame:
        """Run a job in the daemon with a progress bar. When stopped, the daemon's answer says how far it got."""
        link, number = self._app.link, 0

        def numbered(new_id: int) -> protocol.Request:
            nonlocal number
            number = new_id
            return make(new_id)

        with self._bar(name, lambda: link.mind.cancel_soon(number)) as moved:
            return await answer_of(lambda request: link.ask(request, moved), numbered, kind)

    async def _pull(self, words: str) -> None:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[PulledModel] = loop.create_future()
        stopped = threading.Event()
        with self._bar(words, stopped.set, is_in_bytes=True) as moved:

            def tell(what: str, so_far: int, total: int) -> None:
                if stopped.is_set():
                    raise UsageError("It was stopped.", advice=f"What came is kept: /pull {words}")
                _in(loop, moved, what, so_far, total)

            def fetch() -> None:
                try:
                    result = pull_model(words, tell, lambda _: None)
                except Exception as error:  # noqa: BLE001 - passed on: otherwise its bar would stay forever
                    _in(loop, _fail, done, error)
                else:
                    _in(loop, _finish_import, done, result)

            # A daemon thread: leaving does not wait for the download, and the next one resumes it.
            threading.Thread(target=fetch, name="tui.pull", daemon=True).start()
            try:
                result = await done
            finally:
                stopped.set()
        await self._show_result("fetched", lambda: [line(f"  {pulled_line(result)}")])

    async def _show_result(self, title: str, make: Callable[[], Page]) -> None:
        await show_result(self._app, title, make)

    @contextmanager
    def _bar(self, name: str, stop: Callable[[], None], *, is_in_bytes: bool = False) -> "Iterator[Moved]":
        jobs = self._app.jobs

        def moved(what: str, done: int, total: int) -> None:
            jobs.moved(name, what, done, total, is_in_bytes=is_in_bytes, is_ours=True)

        moved(name, 0, 0)
        self._stops.append(stop)
        try:
            yield moved
        finally:
            self._stops.remove(stop)
            jobs.ended(name)


def _in(loop: asyncio.AbstractEventLoop, call: Callable[..., object], *values: object) -> None:
    """Schedule a call in the loop, unless the loop is closed because the owner has left."""
    try:
        loop.call_soon_threadsafe(call, *values)
    except RuntimeError:
        return


def _fail(done: "asyncio.Future[PulledModel]", error: Exception) -> None:
    if not done.done():
        done.set_exception(error)


def _finish_import(done: "asyncio.Future[PulledModel]", result: "PulledModel") -> None:
    if not done.done():
        done.set_result(result)
