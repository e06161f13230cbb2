"""Log messages for the program on the other side: what came of its calls, at the level that it asked for.

Before 2026-07-28 a program sets a level for its connection (logging/setLevel); since then each request names its own.
Without either nothing is sent. The server's own log goes to standard error.
"""

from typing import Any, Final, get_args
from weakref import WeakKeyDictionary

import mcp_types as types
from mcp.server import ServerRequestContext
from mcp.server.connection import Connection, allowed_log_levels
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

LEVELS: Final[tuple[types.LoggingLevel, ...]] = get_args(types.LoggingLevel)
"""Least severe first."""

Context = ServerRequestContext[dict[str, Any]]


class ProgramLog:
    """The levels that the connected programs asked for."""

    def __init__(self) -> None:
        self._levels: WeakKeyDictionary[Connection, int] = WeakKeyDictionary()

    async def set_level(self, context: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
        """Send this connection messages of this level and above."""
        self._levels[connection_of(context)] = LEVELS.index(params.level)
        return types.EmptyResult()

    async def send(self, context: Context, level: types.LoggingLevel, text: str) -> None:
        """Send a message with the answer to a request, if the program asked for messages of its level."""
        if not self._is_wanted(context, level):
            return
        params = types.LoggingMessageNotificationParams(level=level, logger="reveries", data=text)
        await context.session.send_notification(
            types.LoggingMessageNotification(params=params), related_request_id=context.request_id
        )

    def _is_wanted(self, context: Context, level: types.LoggingLevel) -> bool:
        if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return level in allowed_log_levels(context.protocol_version, context.meta)
        return LEVELS.index(level) >= self._levels.get(connection_of(context), len(LEVELS))


def connection_of(context: Context) -> Connection:
    """Return the connection that a request came over. It lasts as long as what the program asked for on it."""
    # The SDK has no public way to it.
    return context.session._connection
