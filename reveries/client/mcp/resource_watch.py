"""Notices when watched resources change: each is fetched again every few seconds and compared by its hash.

Nothing is fetched while nothing is watched. The daemon has no event for every change of a project - by the owner, by
other programs, by its own work - so the content itself is compared. A resource that is watched under several URIs is
fetched once.
"""

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from reveries.client.mcp.resources import canonical_uri, is_large
from reveries.errors import NotFoundError, ReveriesError, UsageError

CHECK_SECONDS: Final = 2.0
CHECKS_PER_LARGE: Final = 15
"""A large resource is fetched at one check out of so many: each time all its text is moved."""
MOST_WATCHED: Final = 30
"""Limit of URIs for each watcher: three for each of ten projects."""
MOST_IN_ALL: Final = 300
"""Limit of URIs for all watchers of one server process: a check of them all takes seconds."""
_GONE: Final = "gone"

FetchContent = Callable[[str], Awaitable[Any]]
"""Fetches the content of a URI. Raises ReveriesError; NotFoundError if there is nothing at the URI."""
ReportChange = Callable[[str, frozenset[Hashable]], Awaitable[None]]
"""Called with the URI of a changed resource, and with those who watch it."""


@dataclass
class _WatchedUri:
    """A URI as it was given, what is there, and who watches it."""

    canonical: str
    content_hash: str = ""
    """Empty until the content was first read."""
    watchers: set[Hashable] = field(default_factory=set)


class ResourceWatch:
    """The watched resources of one server process."""

    def __init__(self, fetch: FetchContent, report: ReportChange, check_seconds: float = CHECK_SECONDS) -> None:
        self._fetch = fetch
        self._report = report
        self._check_seconds = check_seconds
        self._watched: dict[str, _WatchedUri] = {}
        self._checks = 0
        self._is_needed = asyncio.Event()

    async def add(self, watcher: Hashable, uri: str) -> None:
        """Watch a resource. Raises ReveriesError: NotFoundError if there is none, UsageError if there are too many."""
        self._require_room(watcher, [uri])
        content = await self._fetch(uri)
        self._require_room(watcher, [uri])  # Others were added meanwhile.
        self._watch(watcher, _WatchedUri(canonical_uri(uri, content), hash_content(content)), uri)

    def add_unread(self, watcher: Hashable, uris: Iterable[str]) -> None:
        """Watch resources that may not exist yet. Raises UsageError, and watches none, if there are too many."""
        wanted = set(uris)
        self._require_room(watcher, wanted)
        for uri in wanted:
            self._watch(watcher, _WatchedUri(uri), uri)

    async def read_unread(self, watcher: Hashable) -> None:
        """Read what this watcher watches and was never read, so that the next change shows. What cannot be read now is
        reported once it can."""
        for uri, watched in list(self._watched.items()):
            if watcher in watched.watchers and not watched.content_hash:
                canonical, content_hash = await self._read(uri)
                watched.canonical, watched.content_hash = canonical, watched.content_hash or content_hash

    def remove(self, watcher: Hashable, uri: str | None = None) -> None:
        """Stop watching a resource, or all of this watcher's."""
        for watched_uri in [uri] if uri is not None else list(self._watched):
            if watched := self._watched.get(watched_uri):
                watched.watchers.discard(watcher)
                if not watched.watchers:
                    del self._watched[watched_uri]
        if not self._watched:
            self._is_needed.clear()

    async def run(self) -> None:
        """Check at intervals while anything is watched, until cancelled."""
        while True:
            await self._is_needed.wait()
            await asyncio.sleep(self._check_seconds)
            await self.check()

    async def check(self) -> None:
        """Fetch everything that is watched and due, and report what changed."""
        self._checks += 1
        hashes: dict[str, str] = {}
        for uri, watched in list(self._watched.items()):
            if is_large(uri) and self._checks % CHECKS_PER_LARGE:
                continue
            if watched.canonical not in hashes:
                watched.canonical, content_hash = await self._read(watched.canonical)
                hashes[watched.canonical] = content_hash
            content_hash = hashes[watched.canonical]
            if self._watched.get(uri) is watched and content_hash not in ("", watched.content_hash):
                watched.content_hash = content_hash
                await self._report(uri, frozenset(watched.watchers))

    async def _read(self, uri: str) -> tuple[str, str]:
        """Return the canonical URI and the hash of the content; no hash if it cannot be read now."""
        try:
            content = await self._fetch(uri)
        except NotFoundError:
            return uri, _GONE
        except ReveriesError:  # Asleep or busy: compared again at the next check.
            return uri, ""
        return canonical_uri(uri, content), hash_content(content)

    def _watch(self, watcher: Hashable, new: _WatchedUri, uri: str) -> None:
        self._watched.setdefault(uri, new).watchers.add(watcher)
        self._is_needed.set()

    def _require_room(self, watcher: Hashable, uris: Iterable[str]) -> None:
        own = {uri for uri, watched in self._watched.items() if watcher in watched.watchers}
        if len(own.union(uris)) > MOST_WATCHED:
            raise UsageError(
                f"The limit of a session or stream is {MOST_WATCHED} resources at once.",
                advice="Ask for fewer, or unsubscribe from others first.",
            )
        if len(self._watched.keys() | set(uris)) > MOST_IN_ALL:
            raise UsageError(
                f"The limit of this server is {MOST_IN_ALL} watched resources at once.",
                advice="End other sessions or subscriptions first.",
            )


def hash_content(content: object) -> str:
    """Hash a JSON value. Pure."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
