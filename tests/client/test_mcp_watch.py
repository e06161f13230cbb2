"""Watched resources: what changed is reported once, and nothing is fetched for nobody."""

import asyncio
from collections.abc import Hashable
from typing import Any

import pytest

from reveries.client.mcp.resource_watch import MOST_WATCHED, ResourceWatch
from reveries.errors import AsleepError, NotFoundError, ReveriesError, UsageError

PAGE, TASKS = "reveries://projects/Shed/orientation", "reveries://projects/Shed/tasks"


class Daemon:
    """Content by URI; an error in its place is raised."""

    def __init__(self) -> None:
        self.content: dict[str, Any] = {PAGE: {"version": 1}, TASKS: {"tasks": []}}
        self.fetched: list[str] = []
        self.reported: list[tuple[str, frozenset[Hashable]]] = []
        self.watch = ResourceWatch(self.fetch, self.report, check_seconds=0.0)

    async def fetch(self, uri: str) -> Any:
        self.fetched.append(uri)
        content = self.content.get(uri, NotFoundError("none"))
        if isinstance(content, ReveriesError):
            raise content
        return content

    async def report(self, uri: str, watchers: frozenset[Hashable]) -> None:
        self.reported.append((uri, watchers))


async def test_a_change_is_reported_once_to_those_who_watch_that_resource() -> None:
    daemon = Daemon()
    await daemon.watch.add("agent", PAGE)
    await daemon.watch.add("editor", PAGE)
    await daemon.watch.add("editor", TASKS)
    await daemon.watch.check()
    assert daemon.reported == []
    daemon.content[PAGE] = {"version": 2}
    await daemon.watch.check()
    await daemon.watch.check()
    assert daemon.reported == [(PAGE, frozenset({"agent", "editor"}))]


async def test_who_stopped_watching_is_told_nothing_and_nothing_is_fetched_for_nobody() -> None:
    daemon = Daemon()
    await daemon.watch.add("agent", PAGE)
    await daemon.watch.add("agent", TASKS)
    daemon.watch.remove("agent", PAGE)
    daemon.content[PAGE] = {"version": 2}
    await daemon.watch.check()
    daemon.watch.remove("agent")
    fetched = len(daemon.fetched)
    await daemon.watch.check()
    assert daemon.reported == []
    assert len(daemon.fetched) == fetched


async def test_a_sleeping_mind_is_no_change_and_a_resource_that_is_gone_is_one() -> None:
    daemon = Daemon()
    await daemon.watch.add("agent", PAGE)
    daemon.content[PAGE] = AsleepError("asleep")
    await daemon.watch.check()
    assert daemon.reported == []
    daemon.content[PAGE] = {"version": 1}
    await daemon.watch.check()
    assert daemon.reported == []
    del daemon.content[PAGE]
    await daemon.watch.check()
    await daemon.watch.check()
    assert daemon.reported == [(PAGE, frozenset({"agent"}))]


async def test_what_is_not_there_and_more_than_the_limit_cannot_be_watched() -> None:
    daemon = Daemon()
    with pytest.raises(NotFoundError):
        await daemon.watch.add("agent", "reveries://projects/Boat/tasks")
    for number in range(MOST_WATCHED):
        daemon.content[f"{PAGE}/{number}"] = number
        await daemon.watch.add("agent", f"{PAGE}/{number}")
    with pytest.raises(UsageError, match="watched already"):
        await daemon.watch.add("agent", PAGE)
    await daemon.watch.add("editor", f"{PAGE}/1")


async def test_it_checks_by_itself_while_something_is_watched() -> None:
    daemon = Daemon()
    is_reported = asyncio.Event()

    async def report(uri: str, _: frozenset[Hashable]) -> None:
        daemon.reported.append((uri, frozenset()))
        is_reported.set()

    watch = ResourceWatch(daemon.fetch, report, check_seconds=0.0)
    async with asyncio.timeout(5), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(watch.run())
        await watch.add("agent", PAGE)
        daemon.content[PAGE] = {"version": 2}
        await is_reported.wait()
        running.cancel()
    assert daemon.reported == [(PAGE, frozenset())]
