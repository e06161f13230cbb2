"""The one client that every call to an Ollama is made with: its own, within our limits.

What is asked goes to the address that the owner chose, and to no other: no redirect is followed, no proxy of the
environment is used, and no key of it is sent.
"""

from collections.abc import Awaitable, Callable

import httpx
import ollama

from reveries.llm.limits import CappedTransport
from reveries.llm.tls import speaks_tls, without_tls

CONNECT_SECONDS = 3.0

Hear = Callable[[httpx.Response], Awaitable[None]]


def ollama_client(url: str, timeout_seconds: float, limit_bytes: int, heard: Hear | None = None) -> ollama.AsyncClient:
    """For the Ollama at `url`; a response longer than `limit_bytes` is cut off; `heard` is given each. Close it."""
    # An Ollama is asked without TLS nearly always, and reading whom to trust takes tens of milliseconds of the loop.
    context = httpx.create_ssl_context(trust_env=False) if speaks_tls(url) else without_tls()
    return ollama.AsyncClient(
        host=url,
        timeout=httpx.Timeout(timeout_seconds, connect=min(CONNECT_SECONDS, timeout_seconds)),
        transport=CappedTransport(httpx.AsyncHTTPTransport(verify=context, trust_env=False), limit_bytes),
        trust_env=False,
        follow_redirects=False,
        event_hooks={"request": [_without_key], "response": [heard] if heard is not None else []},
    )


async def _without_key(request: httpx.Request) -> None:
    """Ollama's library sends the OLLAMA_API_KEY of the environment to whatever listens, in the clear."""
    request.headers.pop("authorization", None)
