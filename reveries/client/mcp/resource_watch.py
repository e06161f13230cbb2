"""Notices when watched resources change: each is fetched again every few seconds and compared by its hash.

Nothing is fetched while nothing is watched. The daemon has no event for every change of a project - by the owner, by
other programs, by its own work - so the content itself is compared.
"""

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Hashable
from typing import Final

from reveries.client.mcp.resources import FetchContent
from reveries.errors import NotFoundError, ReveriesError, UsageError

CHECK_SECONDS: Final = 2.0
MOST_WATCHED: Final = 30
"""Limit of watched URIs: three for each of ten projects."""
_GONE: Final = "gone"

ReportChange = Callable[[str, frozenset[Hashable]], Awaitable[None]]
"""Called with the URI of a changed resource, and with those who watch it."""


class ResourceWatch:
    """The watched resources of one server process."""

    def __init__(self, fetch: FetchContent, report: ReportChange, check_seconds: float = CHECK_SECONDS) -> None:
        self._fetch = fetch
        self._report = report
        self._check_seconds = check_seconds
        self._watchers: dict[str, set[Hashable]] = {}
        self._hashes: dict[str, str] = {}
        self._is_needed = asyncio.Event()

    async def add(self, watcher: Hashable, uri: str) -> None:
        """Watch a resource. Raises ReveriesError: NotFoundError if there is none, UsageError if there are too many."""
        if uri not in self._watchers and len(self._watchers) >= MOST_WATCHED:
            raise UsageError(f"{MOST_WATCHED} resources are watched already.", advice="Unsubscribe from others first.")
        content_hash = hash_content(await self._fetch(uri))
        self._hashes.setdefault(uri, content_hash)
        self._watchers.setdefault(uri, set()).add(watcher)
        self._is_needed.set()

    def remove(self, watcher: Hashable, uri: str | None = None) -> None:
        """Stop watching a resource, or all of this watcher's."""
        for one in [uri] if uri is not None else list(self._watchers):
            watchers = self._watchers.get(one, set())
            watchers.discard(watcher)
            if not watchers:
                self._watchers.pop(one, None)
                self._hashes.pop(one, None)
        if not self._watchers:
            self._is_needed.clear()

    async def run(self) -> None:
        """Check at intervals while anything is watched, until cancelled."""
        while True:
            await self._is_needed.wait()
            await asyncio.sleep(self._check_seconds)
            await self.check()

    async def check(self) -> None:
        """Fetch everything that is watched, and report what changed."""
        for uri in list(self._watchers):
            try:
                content_hash = hash_content(await self._fetch(uri))
            except NotFoundError:
                content_hash = _GONE
            except ReveriesError:  # Asleep or busy: compared again at the next check.
                continue
            if uri in self._watchers and content_hash != self._hashes.get(uri):
                self._hashes[uri] = content_hash
                await self._report(uri, frozenset(self._watchers[uri]))


def hash_content(content: object) -> str:
    """Hash a JSON value. Pure."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
