"""Whom a call over TLS trusts: read from the disk once, not at every call, for that takes tens of milliseconds."""

import asyncio
import ssl
from collections.abc import Callable

import httpx


def speaks_tls(url: str) -> bool:
    """Whether what is asked at `url` is asked over TLS."""
    return url.lower().startswith("https:")


def without_tls() -> ssl.SSLContext:
    """For an address that is asked in the clear. It trusts nobody, so that no TLS can ever be spoken with it."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class TlsTrust:
    """The one context of everybody who calls with it."""

    def __init__(self, make: Callable[[], ssl.SSLContext] | None = None) -> None:
        """`make`: what reads it, in a thread; by default what httpx trusts, without a look at the environment."""
        self._make = make or (lambda: httpx.create_ssl_context(trust_env=False))
        self._context: ssl.SSLContext | None = None

    async def context(self, url: str) -> ssl.SSLContext:
        """For calls to `url`. Raises OSError where the list of whom to trust cannot be read."""
        if not speaks_tls(url):
            return without_tls()
        if self._context is None:
            self._context = await asyncio.to_thread(self._make)
        return self._context
