"""Watched resources: what changed is reported once, and nothing is fetched for nobody."""

import asyncio
import contextlib
from collections.abc import Hashable
from types import SimpleNamespace
from typing import Any, cast

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from reveries.client.mcp.daemon_calls import DaemonCalls
from reveries.client.mcp.program_log import Context
from reveries.client.mcp.resource_watch import CHECKS_PER_LARGE, MOST_IN_ALL, MOST_WATCHED, ResourceWatch
from reveries.client.mcp.resources import PROJECT_LIST, ProjectResources
from reveries.client.mcp.subscriptions import Subscriptions
from reveries.errors import AsleepError, NotFoundError, ReveriesError, UsageError
from tests.fakes.clock import settle

PAGE, TASKS = "reveries://projects/Shed/orientation", "reveries://projects/Shed/tasks"


def page(version: int) -> dict[str, Any]:
    return {"project": "Shed", "version": version}


class Daemon:
    """Content by URI; an error in its place is raised."""

    def __init__(self) -> None:
        self.content: dict[str, Any] = {PAGE: page(1), TASKS: {"project": "Shed", "tasks": []}}
        self.fetched: list[str] = []
        self.reported: list[tuple[str, frozenset[Hashable]]] = []
        self.watch = ResourceWatch(self.fetch, self.report, check_seconds=0.0)

    async def fetch(self, uri: str) -> Any:
        self.fetched.append(uri)
        await asyncio.sleep(0)
        content = self.content.get(uri, NotFoundError("none"))
        if isinstance(content, ReveriesError):
            raise content
        return content

    def add_projects(self, count: int) -> list[str]:
        """Give it projects; return the URIs of their pages."""
        new = {f"{PROJECT_LIST}/P{number}/orientation": {"project": f"P{number}"} for number in range(count)}
        self.content |= new
        return list(new)

    async def report(self, uri: str, watchers: frozenset[Hashable]) -> None:
        self.reported.append((uri, watchers))


async def test_a_change_is_reported_once_to_those_who_watch_that_resource() -> None:
    daemon = Daemon()
    await daemon.watch.add("agent", PAGE)
    await daemon.watch.add("editor", PAGE)
    await daemon.watch.add("editor", TASKS)
    await daemon.watch.check()
    assert daemon.reported == []
    daemon.content[PAGE] = page(2)
    await daemon.watch.check()
    await daemon.watch.check()
    assert daemon.reported == [(PAGE, frozenset({"agent", "editor"}))]


async def test_who_stopped_watching_is_told_nothing_and_nothing_is_fetched_for_nobody() -> None:
    daemon = Daemon()
    await daemon.watch.add("agent", PAGE)
    await daemon.watch.add("agent", TASKS)
    daemon.watch.remove("agent", PAGE)
    daemon.content[PAGE] = page(2)
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
    daemon.content[PAGE] = page(1)
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
    pages = daemon.add_projects(MOST_WATCHED)
    for uri in pages:
        await daemon.watch.add("agent", uri)
    with pytest.raises(UsageError, match="30 resources"):
        await daemon.watch.add("agent", PAGE)
    await daemon.watch.add("agent", pages[0])
    await daemon.watch.add("editor", PAGE)


async def test_concurrent_subscriptions_cannot_pass_the_limit() -> None:
    daemon = Daemon()
    adding = [daemon.watch.add("agent", uri) for uri in daemon.add_projects(500)]
    answers = await asyncio.gather(*adding, return_exceptions=True)
    assert answers.count(None) == MOST_WATCHED
    daemon.fetched.clear()
    await daemon.watch.check()
    assert len(daemon.fetched) == MOST_WATCHED


async def test_all_programs_together_have_a_limit_and_its_refusal_says_so() -> None:
    daemon = Daemon()
    pages = daemon.add_projects(MOST_IN_ALL)
    for number, uri in enumerate(pages):
        await daemon.watch.add(number // MOST_WATCHED, uri)
    with pytest.raises(UsageError, match="limit of this server"):
        await daemon.watch.add("one more", PAGE)


async def test_a_resource_watched_under_several_addresses_is_fetched_once_and_reported_under_each() -> None:
    daemon = Daemon()
    aliases = [PAGE, PAGE.replace("Shed", "shed"), PAGE.replace("S", "%53"), PAGE.replace("Shed", "0123456789ab")]
    daemon.content |= dict.fromkeys(aliases, page(1))
    for uri in aliases:
        await daemon.watch.add("agent", uri)
    daemon.fetched.clear()
    daemon.content |= dict.fromkeys(aliases, page(2))
    await daemon.watch.check()
    assert daemon.fetched == [PAGE]
    assert daemon.reported == [(uri, frozenset({"agent"})) for uri in aliases]


async def test_an_address_with_a_line_end_is_none() -> None:
    calls = cast(DaemonCalls, SimpleNamespace(servers=()))
    with pytest.raises(NotFoundError):
        await ProjectResources(calls).fetch("agent", f"{PAGE}\n")


async def test_a_stream_is_told_of_what_could_not_be_read_when_it_began() -> None:
    daemon = Daemon()
    daemon.content[PAGE] = AsleepError("asleep")
    boat = PAGE.replace("Shed", "Boat")
    daemon.watch.add_unread("stream", [PAGE, TASKS, boat])
    await daemon.watch.read_unread("stream")
    await daemon.watch.check()
    assert daemon.reported == []
    daemon.content |= {PAGE: page(1), boat: {"project": "Boat", "version": 1}}
    await daemon.watch.check()
    await daemon.watch.check()
    assert sorted(daemon.reported) == [(boat, frozenset({"stream"})), (PAGE, frozenset({"stream"}))]


class Stream:
    """The context of a request to listen, which keeps what it sends."""

    request_id = 7

    def __init__(self) -> None:
        self.sent: asyncio.Queue[Any] = asyncio.Queue()
        self.session = self

    async def send_notification(self, notification: Any, **_: object) -> None:
        self.sent.put_nowait(notification)


class Resources:
    """The resources of a daemon that can be asleep."""

    def __init__(self, daemon: Daemon) -> None:
        self.daemon = daemon

    async def fetch(self, program: str, uri: str) -> Any:
        return await self.daemon.fetch(uri)


async def test_listening_while_the_mind_is_asleep_tells_of_what_comes_later() -> None:
    daemon, stream = Daemon(), Stream()
    daemon.content[PAGE] = AsleepError("asleep")
    subscriptions = Subscriptions(cast(ProjectResources, Resources(daemon)), "agent", check_seconds=0.0)
    async with asyncio.timeout(300), subscriptions.run(None), asyncio.TaskGroup() as tasks:
        listening = tasks.create_task(subscriptions.listen(cast(Context, stream), listen_to(PAGE)))
        assert isinstance(await stream.sent.get(), types.SubscriptionsAcknowledgedNotification)
        daemon.content[PAGE] = page(1)
        told = await stream.sent.get()
        assert str(told.params.uri) == PAGE
        listening.cancel()


class Connection:
    """What the SDK closes when a program goes."""

    def __init__(self) -> None:
        self.exit_stack = contextlib.AsyncExitStack()


async def fetches_of(daemon: Daemon) -> int:
    """How often a server that checks all the time fetches something in fifty turns of the loop."""
    daemon.fetched.clear()
    await settle()
    daemon.fetched.clear()
    for _ in range(50):
        await asyncio.sleep(0)
    return len(daemon.fetched)


async def test_nothing_is_fetched_for_a_stream_that_ended() -> None:
    daemon, stream = Daemon(), Stream()
    subscriptions = Subscriptions(cast(ProjectResources, Resources(daemon)), "agent", check_seconds=0.0)
    async with asyncio.timeout(300), subscriptions.run(None), asyncio.TaskGroup() as tasks:
        listening = tasks.create_task(subscriptions.listen(cast(Context, stream), listen_to(PAGE)))
        await stream.sent.get()
        assert await fetches_of(daemon) > 0
        listening.cancel()
        assert await fetches_of(daemon) == 0


async def test_nothing_is_fetched_for_a_program_whose_connection_ended() -> None:
    daemon, connection = Daemon(), Connection()
    context = cast(Context, SimpleNamespace(session=SimpleNamespace(_connection=connection)))
    subscriptions = Subscriptions(cast(ProjectResources, Resources(daemon)), "agent", check_seconds=0.0)
    async with asyncio.timeout(300), subscriptions.run(None):
        await subscriptions.subscribe(context, types.SubscribeRequestParams(uri=PAGE))
        assert await fetches_of(daemon) > 0
        await connection.exit_stack.aclose()
        assert await fetches_of(daemon) == 0


async def test_it_rests_once_nothing_is_watched_any_more() -> None:
    checks = 0

    class CountedWatch(ResourceWatch):
        async def check(self) -> None:
            nonlocal checks
            checks += 1
            await super().check()

    daemon = Daemon()
    watch = CountedWatch(daemon.fetch, daemon.report, check_seconds=0.0)
    async with asyncio.timeout(300), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(watch.run())
        await watch.add("agent", PAGE)
        await fetches_of(daemon)
        watch.remove("agent")
        await fetches_of(daemon)
        before = checks
        await fetches_of(daemon)
        running.cancel()
    assert checks == before > 0


async def test_listening_to_too_much_is_refused() -> None:
    daemon, stream = Daemon(), Stream()
    subscriptions = Subscriptions(cast(ProjectResources, Resources(daemon)), "agent")
    with pytest.raises(MCPError, match="30 resources"):
        await subscriptions.listen(cast(Context, stream), listen_to(*daemon.add_projects(MOST_WATCHED + 1)))
    assert stream.sent.empty()


def listen_to(*uris: str) -> types.SubscriptionsListenRequestParams:
    wanted = types.SubscriptionFilter(resource_subscriptions=list(uris))
    return types.SubscriptionsListenRequestParams(notifications=wanted)


async def test_a_stream_that_wants_too_much_is_refused_and_watches_nothing() -> None:
    daemon = Daemon()
    with pytest.raises(UsageError, match="30 resources"):
        daemon.watch.add_unread("stream", daemon.add_projects(MOST_WATCHED + 1))
    await daemon.watch.check()
    assert daemon.fetched == []


async def test_documents_are_fetched_seldom_and_their_change_is_reported() -> None:
    daemon = Daemon()
    uri = f"{PROJECT_LIST}/Shed/documents"
    daemon.content[uri] = {"project": "Shed", "documents": []}
    await daemon.watch.add("agent", uri)
    daemon.fetched.clear()
    daemon.content[uri] = {"project": "Shed", "documents": ["Oak."]}
    for _ in range(CHECKS_PER_LARGE):
        await daemon.watch.check()
    assert daemon.fetched == [uri]
    assert daemon.reported == [(uri, frozenset({"agent"}))]


async def test_it_checks_by_itself_while_something_is_watched() -> None:
    daemon = Daemon()
    is_reported = asyncio.Event()

    async def report(uri: str, _: frozenset[Hashable]) -> None:
        daemon.reported.append((uri, frozenset()))
        is_reported.set()

    watch = ResourceWatch(daemon.fetch, report, check_seconds=0.0)
    async with asyncio.timeout(300), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(watch.run())
        await watch.add("agent", PAGE)
        daemon.content[PAGE] = page(2)
        await is_reported.wait()
        running.cancel()
    assert daemon.reported == [(PAGE, frozenset())]
