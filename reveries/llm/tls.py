"""TLS trust for outgoing calls: loaded from the disk once, because that takes tens of milliseconds."""

import asyncio
import ssl
from collections.abc import Callable

import httpx


def speaks_tls(url: str) -> bool:
    """Whether calls to `url` use TLS."""
    return url.lower().startswith("https:")


def without_tls() -> ssl.SSLContext:
    """Return a context for plain-text addresses. It trusts no certificate, so TLS can never succeed with it."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class TlsTrust:
    """A shared TLS context."""

    def __init__(self, make: Callable[[], ssl.SSLContext] | None = None) -> None:
        """`make` builds the context, in a thread; by default httpx's trust store, ignoring the environment."""
        self._make = make or (lambda: httpx.create_ssl_context(trust_env=False))
        self._context: ssl.SSLContext | None = None

    async def context(self, url: str) -> ssl.SSLContext:
        """Return the context for calls to `url`. Raises OSError where the trust store cannot be read."""
        if not speaks_tls(url):
            return without_tls()
        if self._context is None:
            self._context = await asyncio.to_thread(self._make)
        return self._context
