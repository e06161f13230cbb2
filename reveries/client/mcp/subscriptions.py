"""Subscriptions to resources: resources/subscribe, and since 2026-07-28 subscriptions/listen."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Hashable
from typing import Any
from weakref import WeakSet

import mcp_types as types
from mcp.server.connection import Connection
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourcesListChanged, ResourceUpdated
from mcp.shared.exceptions import MCPError

from reveries.client.mcp.program_log import Context, connection_of
from reveries.client.mcp.resource_watch import CHECK_SECONDS, ResourceWatch
from reveries.client.mcp.resources import PROJECT_LIST, ProjectResources
from reveries.errors import NotFoundError, ReveriesError

_SEND_SECONDS = 5.0
_READ_SECONDS = 5.0
"""Time limit of the first reading of what a program listens to, after which it is acknowledged. What it left unread is
reported when it is read."""
_LIST = PROJECT_LIST
"""Watched for the list of resources, which changes with that of the projects; no resource itself."""


class Subscriptions:
    """Who is told of which changes. `program`: in whose name the resources are read again."""

    def __init__(self, resources: ProjectResources, program: str, *, check_seconds: float = CHECK_SECONDS) -> None:
        async def fetch(uri: str) -> Any:
            return await (resources.project_names(program) if uri == _LIST else resources.fetch(program, uri))

        self._watch = ResourceWatch(fetch, self._report, check_seconds)
        self._bus = InMemorySubscriptionBus()
        self._streams = ListenHandler(self._bus)
        self._ending: WeakSet[Connection] = WeakSet()
        """The connections whose end ends their subscriptions."""

    @contextlib.asynccontextmanager
    async def run(self, _: object) -> AsyncIterator[dict[str, Any]]:
        """Watch as long as the server runs."""
        async with asyncio.TaskGroup() as tasks:
            watching = tasks.create_task(self._watch.run(), name="mcp-watch")
            try:
                yield {}
            finally:
                watching.cancel()

    async def subscribe(self, context: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        """Tell this connection of changes, until it unsubscribes or ends."""
        connection, uri = connection_of(context), str(params.uri)
        try:
            if uri == _LIST:
                raise NotFoundError(f"There is no resource {uri}.")
            await self._watch.add(connection, uri)
        except ReveriesError as error:
            raise _convert_error(error) from error
        if connection not in self._ending:
            self._ending.add(connection)
            connection.exit_stack.callback(self._watch.remove, connection)
        return types.EmptyResult()

    async def unsubscribe(self, context: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        """Tell this connection of no more changes of a resource."""
        self._watch.remove(connection_of(context), str(params.uri))
        return types.EmptyResult()

    async def listen(
        self, context: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Send changes as the answer to this request, until the program ends it. Raises MCPError if there are too many.

        What does not exist, or cannot be read now, is watched as well: the protocol can only acknowledge."""
        stream, wanted = object(), params.notifications
        uris = [*(wanted.resource_subscriptions or ()), *([_LIST] * bool(wanted.resources_list_changed))]
        try:
            self._watch.add_unread(stream, uris)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_READ_SECONDS):
                    await self._watch.read_unread(stream)
            return await self._streams(context, params)
        except ReveriesError as error:
            raise _convert_error(error) from error
        finally:
            self._watch.remove(stream)

    async def _report(self, uri: str, watchers: frozenset[Hashable]) -> None:
        await self._bus.publish(ResourcesListChanged() if uri == _LIST else ResourceUpdated(uri))
        for connection in watchers:
            if isinstance(connection, Connection):
                with contextlib.suppress(TimeoutError):  # A program that does not read misses it.
                    async with asyncio.timeout(_SEND_SECONDS):
                        await connection.notify("notifications/resources/updated", {"uri": uri})


def _convert_error(error: ReveriesError) -> MCPError:
    return MCPError(types.INVALID_PARAMS, f"{error.message} {error.advice}".strip())
