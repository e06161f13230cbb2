"""Long work that the owner begins here: import, consolidation, a backup, fetching a model. Each shows how far it is."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from reveries import protocol
from reveries.client.backup_page import backups_page
from reveries.client.bringing_in import bring_in, brought_in_page, read_past_of_owner
from reveries.client.memory_page import consolidated_page
from reveries.client.owner_files import place_named
from reveries.client.render import Page, line
from reveries.client.tui.asking import answer_of
from reveries.client.tui.results import show_result
from reveries.client.weights import pull_model, pulled_line
from reveries.errors import ReveriesError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reveries.client.json_answers import PulledModel
    from reveries.client.progress import Moved
    from reveries.client.tui.app import ReveriesApp


class Work:
    """The long commands of one application. While one runs the conversation goes on."""

    def __init__(self, app: "ReveriesApp") -> None:
        self._app = app
        self.deeds: dict[str, Callable[[str], Awaitable[None]]] = {
            "/consolidate": self._consolidate,
            "/import": self._import,
            "/backup": self._backup,
            "/pull": self._pull,
        }

    async def _consolidate(self, _: str) -> None:
        app = self._app
        with self._bar("sleeping on it") as moved:
            done = await answer_of(lambda make: app.link.ask(make, moved), protocol.Consolidate, protocol.Consolidated)
        await self._show("deep sleep", partial(consolidated_page, done))

    async def _import(self, words: str) -> None:
        file = place_named(words)
        turns = await asyncio.to_thread(lambda: read_past_of_owner(file, self._app.clock.now()))
        with self._bar("importing") as moved:
            done = await bring_in(self._app.link.mind, file.name, turns, moved)
        await self._show("imported", partial(brought_in_page, done))

    async def _backup(self, _: str) -> None:
        app = self._app
        with self._bar("making a backup") as moved:
            made = await answer_of(lambda make: app.link.ask(make, moved), protocol.MakeBackup, protocol.Backups)
        await self._show("backup", partial(backups_page, made, app.clock.now()))

    async def _pull(self, words: str) -> None:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[PulledModel] = loop.create_future()
        with self._bar(words, is_in_bytes=True) as moved:

            def tell(what: str, so_far: int, total: int) -> None:
                loop.call_soon_threadsafe(moved, what, so_far, total)

            def fetch() -> None:
                try:
                    result = pull_model(words, tell, lambda _: None)
                except ReveriesError as error:
                    _in(loop, done.set_exception, error)
                else:
                    _in(loop, done.set_result, result)

            # A daemon thread: who leaves need not wait for a download, and the next one goes on where it was.
            threading.Thread(target=fetch, name="tui.pull", daemon=True).start()
            result = await done
        await self._show("fetched", lambda: [line(f"  {pulled_line(result)}")])

    async def _show(self, title: str, make: Callable[[], Page]) -> None:
        await show_result(self._app, title, make)

    @contextmanager
    def _bar(self, name: str, *, is_in_bytes: bool = False) -> "Iterator[Moved]":
        jobs = self._app.jobs

        def moved(what: str, done: int, total: int) -> None:
            jobs.moved(name, what, done, total, is_in_bytes=is_in_bytes, is_ours=True)

        moved(name, 0, 0)
        try:
            yield moved
        finally:
            jobs.ended(name)


def _in(loop: asyncio.AbstractEventLoop, call: Callable[..., object], value: object) -> None:
    """Call it in the loop, if there still is one: the owner may have left."""
    try:
        loop.call_soon_threadsafe(call, value)
    except RuntimeError:
        return
