"""The server over streamable HTTP, on loopback alone and behind a bearer token."""

import hmac
import logging
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from reveries.client.mcp.daemon_calls import DaemonCalls
from reveries.client.mcp.server import build_server
from reveries.errors import UsageError

_HOST = "127.0.0.1"
LEAST_TOKEN_CHARS = 32
_MOST_TOKEN_CHARS = 200


def serve_http(link: DaemonCalls, name: str, port: int, token: str, tell: Callable[[str], None]) -> None:
    """Serve until interrupted; `tell` receives the address. Raises UsageError if the port is taken."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((_HOST, port))
        except OSError as error:
            raise UsageError(
                f"Cannot listen on {_HOST}:{port}: {error.strerror}.", advice="Use a free port: --http 0"
            ) from error
        tell(f"http://{_HOST}:{listening.getsockname()[1]}/mcp")
        app = RequireToken(build_server(link, name).streamable_http_app(host=_HOST), token)
        uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False)).run(sockets=[listening])


class RequireToken:
    """Middleware that requires the bearer token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass requests with the token on; answer others with 401."""
        if scope["type"] == "http" and not self._has_token(scope["headers"]):
            headers = [(b"www-authenticate", b"Bearer"), (b"content-type", b"text/plain; charset=utf-8")]
            await send({"type": "http.response.start", "status": 401, "headers": headers})
            await send({"type": "http.response.body", "body": b"The bearer token is missing or wrong."})
            return
        await self._app(scope, receive, send)

    def _has_token(self, headers: Any) -> bool:
        given = [value for name, value in headers if name == b"authorization"]
        return len(given) == 1 and hmac.compare_digest(given[0], self._expected)


def read_token(file: Path) -> str:
    """Read the bearer token. Raises UsageError if it is unusable or readable by others."""
    try:
        token, mode = file.read_text(encoding="ascii").strip(), file.stat().st_mode
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read.", advice="Name a file that contains only the token.") from error
    if mode & 0o077:
        raise UsageError(f"Others may read {file}.", advice=f"Close it: chmod 600 {file}")
    if not LEAST_TOKEN_CHARS <= len(token) <= _MOST_TOKEN_CHARS or not token.isprintable() or " " in token:
        raise UsageError(
            f"{file} contains no valid token.",
            advice=f"At least {LEAST_TOKEN_CHARS} characters, e.g. openssl rand -hex 32",
        )
    return token
