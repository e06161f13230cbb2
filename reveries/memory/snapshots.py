"""Writes snapshots of the live memory beside the database, and loads them at a wake (`snapshot_file` has the format).

A mark is committed before the memory is copied, and earlier marks, with what was noted before, go only after the file
stands: killed at any moment, the file that is there has its mark in the database, and every change since is noted.

The database notes by itself, in the transaction that changes a row, which episode, links, turn or experience it belongs
to (schema.sql, `changed_rows`). A wake fills the memory from the snapshot, then puts what those rows say now in the
place of what it holds of them, by the same operations as at run time. The rows stay the truth.
"""

import asyncio
import contextlib
import json
import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np
import structlog

from reveries.db.database import Database, Row
from reveries.db.failpoints import Step, reached
from reveries.llm.base import Vector
from reveries.memory.changes import ChangeSet, IndexedTurn
from reveries.memory.graph.facts import EpisodeValues
from reveries.memory.hydration import spoken_turns
from reveries.memory.live import LiveMemory, PackedMemory
from reveries.memory.model import Link, LinkType, Turn
from reveries.memory.rows import episode_of, vector_of
from reveries.memory.snapshot_file import erase_snapshot, read_snapshot, write_snapshot

_MARK_BYTES = 16

log = structlog.get_logger("memory")


class Snapshots:
    """The snapshot of one live memory."""

    def __init__(self, database: Database, live: LiveMemory, mind_name: str) -> None:
        self._database = database
        self._live = live
        self._mind_name = mind_name
        self._saved: tuple[bytes, str, int] | None = None
        """The mark of the snapshot that stands there, and whose vectors are in it, and how long they are."""
        self._renoted: tuple[str, ...] = ()
        """The turns that were noted again with that mark."""
        self._saving = asyncio.Lock()
        self._unindexed: set[str] = set()
        """Turns that left the live index in this life. The rows may say nothing of it: they are read anew at a wake,
        however many snapshots come before it."""

    @property
    def path(self) -> Path:
        """Where the snapshot is. Whoever erases an episode calls `erase_snapshot` on it."""
        return self._database.path.with_suffix(".snapshot")

    async def load_snapshot(self, model_id: str) -> bool:
        """Fill the empty live memory from the snapshot and from what changed since; whether it could be done. Else
        the memory may hold anything: fill it from the rows."""
        dimensions = self._live.dimensions
        epochs = {bytes(row["mark"]): int(row["epoch"]) for row in await self._database.rows("changed.marks")}
        found = await asyncio.to_thread(read_snapshot, self.path, epochs.keys(), model_id, dimensions)
        if found is None:
            return False
        mark, packed = found
        try:
            await asyncio.to_thread(self._live.fill, packed)
            is_caught_up = await self._catch_up(epochs[mark], model_id)
        except (ValueError, LookupError, msgspec.MsgspecError) as error:
            log.warning("snapshot.unfit", why=type(error).__name__)
            log.debug("snapshot.unfit", exc_info=True)
            return False
        if is_caught_up:
            self._saved = mark, model_id, dimensions
        return is_caught_up

    async def _catch_up(self, epoch: int, model_id: str) -> bool:
        """Take over what changed from that epoch on; False when it is too much."""
        noted = await read_noted(self._database, epoch)
        noted.turns |= misnamed_passages(self._live, self._mind_name)
        if not noted.is_worth_it(self._live):
            log.info("snapshot.too_old", changed=noted.count)
            return False
        if noted.count or noted.standings:
            now = await read_rows_now(self._database, self._live, noted, model_id, self._mind_name)
            await asyncio.to_thread(catch_up, self._live, now, self._mind_name)
        log.info("snapshot.used", changed=noted.count, stand_otherwise=len(noted.standings))
        return True

    def note_commit(self, changes: ChangeSet) -> None:
        """`changes` are in the file and in memory."""
        self._unindexed |= set(changes.unindexed_turn_ids)

    @contextlib.asynccontextmanager
    async def suspend_for_erasure(self) -> AsyncIterator[None]:
        """While something is erased no snapshot is written; what stands there is overwritten and removed after it.
        Raises OSError."""
        async with self._saving:
            yield
            self._saved = None
            await asyncio.to_thread(erase_snapshot, self.path)

    async def save(
        self,
        quiet: contextlib.AbstractAsyncContextManager[None],
        model_id: Callable[[], str],
        longest_seconds: float,
        stop: asyncio.Event | None,
    ) -> bool:
        """Write the live memory beside the database, unless what is there is of the same state; whether one stands
        there now.

        Given up after `longest_seconds`, and when `stop` is set. Within `quiet` nothing is written; then it is asked
        whose vectors are in use, and the memory copied. Raises StorageError.
        """
        wanted = _Wanted(time.monotonic() + longest_seconds, stop)
        try:
            async with self._saving:
                return await self._save(quiet, model_id, wanted)
        finally:
            wanted.is_over = True  # Whoever is cancelled leaves no thread at work.

    async def _save(
        self, quiet: contextlib.AbstractAsyncContextManager[None], model_id: Callable[[], str], wanted: "_Wanted"
    ) -> bool:
        async with quiet:
            kind = model_id(), self._live.dimensions
            if await self._is_current(*kind):
                return True
            mark, renoted = secrets.token_bytes(_MARK_BYTES), tuple(sorted(self._unindexed))
            await self._begin_epoch(mark)
            reached(Step.SNAPSHOT_MARKED)
            copied = await asyncio.to_thread(self._live.begin_copy)
        if not await asyncio.to_thread(self._write_snapshot, copied, mark, kind[0], wanted):
            await self._run_in_thread("changed.drop", mark)
            return False
        self._saved, self._renoted = (mark, *kind), renoted
        await self._run_in_thread("changed.prune", mark, then="changed.prune_marks")
        return True

    def _write_snapshot(
        self, copied: Callable[[], PackedMemory], mark: bytes, model_id: str, wanted: "_Wanted"
    ) -> bool:
        return wanted() and write_snapshot(self.path, copied(), mark, model_id, wanted)

    async def _is_current(self, model_id: str, dimensions: int) -> bool:
        if self._saved is None or self._saved[1:] != (model_id, dimensions):
            return False
        named = {"mark": self._saved[0], "renoted": json.dumps(self._renoted)}
        return bool(await self._database.rows("changed.is_current", named))

    async def _begin_epoch(self, mark: bytes) -> None:
        async with self._database.transaction() as transaction:
            await transaction.run("changed.begin", {"mark": mark})
            await transaction.run_many("changed.note_turn", [{"id": name} for name in sorted(self._unindexed)])

    async def _run_in_thread(self, name: str, mark: bytes, then: str = "") -> None:
        async with self._database.transaction() as transaction:
            for statement in filter(None, (name, then)):
                await transaction.run(statement, {"mark": mark})


class _Wanted:
    """Whether a snapshot is still wanted; asked from a thread."""

    def __init__(self, deadline: float, stop: asyncio.Event | None) -> None:
        self._deadline = deadline
        self._stop = stop
        self.is_over = False

    def __call__(self) -> bool:
        is_stopped = self._stop is not None and self._stop.is_set()
        return not self.is_over and not is_stopped and time.monotonic() < self._deadline


_LEAST_REREAD = 2000
_REREAD_SHARE = 0.25
"""Of all episodes and turns. When more than that must be read anew, all of them are."""


@dataclass(slots=True)
class ChangedRows:
    """What changed since a snapshot, by kind."""

    episodes: set[str] = field(default_factory=set)
    """Rows, sources or vectors of these: laid down anew with their turns."""
    unlinked: set[str] = field(default_factory=set)
    """Episodes that lost a link."""
    links: set[str] = field(default_factory=set)
    """Episodes with a link that is new or of another strength."""
    standings: set[str] = field(default_factory=set)
    """Episodes of which only what recall and time change is another."""
    turns: set[str] = field(default_factory=set)
    experiences: set[str] = field(default_factory=set)

    @property
    def count(self) -> int:
        """Of what is laid down anew one by one."""
        return sum(map(len, (self.episodes, self.unlinked, self.links, self.turns, self.experiences)))

    def is_worth_it(self, live: LiveMemory) -> bool:
        """Whether to read this anew takes less than to read everything."""
        return self.count <= max(_LEAST_REREAD, _REREAD_SHARE * (len(live.graph) + len(live.turns)))


@dataclass(frozen=True, slots=True)
class CurrentRows:
    """What the rows say of all that changed."""

    named: frozenset[str]
    """The episodes that are laid down anew, or leave."""
    relaid: frozenset[str]
    """Those of them that are live and lose every link first, or have none here yet."""
    turn_ids: frozenset[str]
    episodes: Sequence[Row]
    sources: Sequence[Row]
    links: Sequence[Row]
    standings: Sequence[Row]
    turns: Sequence[Row]
    wordless: Sequence[Row]
    away: frozenset[str]
    vectors: Mapping[str, Mapping[str, Vector]]
    """By kind and owner."""


async def read_noted(database: Database, epoch: int) -> ChangedRows:
    """What changed in that epoch and later."""
    noted = ChangedRows()
    sets = {
        "episode": noted.episodes,
        "unlinked": noted.unlinked,
        "links": noted.links,
        "standing": noted.standings,
        "turn": noted.turns,
        "experience": noted.experiences,
    }
    for row in await database.rows("changed.since", {"epoch": epoch}):
        sets[row["kind"]].add(row["id"])
    return noted


def misnamed_passages(live: LiveMemory, mind_name: str) -> set[str]:
    """Ids of the mind's passages that stand there under a name which it no longer has: no row changes by that."""
    index = live.turns
    own, code = index.marks["own"], index.speaker_code(mind_name)
    others = index.marks["speaker"] != (-1 if code is None else code)
    found = (index.turn_id(row) for row in np.flatnonzero(index.live & own & others).tolist())
    return {name for name in found if "#" in name}


async def read_rows_now(
    database: Database, live: LiveMemory, noted: ChangedRows, model_id: str, mind_name: str
) -> CurrentRows:
    """The rows of what changed, as they are committed; `live` is what the snapshot says."""
    lived = await _experiences_of_turns(database, live, noted) | noted.experiences
    homes = await database.rows("changed.homes", _id_parameters(lived))
    named = noted.episodes | noted.unlinked | {str(row["episode_id"]) for row in homes}
    episodes = await database.rows("changed.episodes", _id_parameters(named))
    sources = await database.rows("changed.sources", _id_parameters(named))
    here = (turn.experience_id for name in named for turn in live.turns.turns_of(name))
    lived |= {str(row["experience_id"]) for row in sources} | {name for name in here if name is not None}
    now = {str(row["id"]) for row in episodes}
    relaid = {name for name in now if name in noted.unlinked or name not in live.graph}
    turns = await database.rows("changed.turns", _id_parameters(lived))
    wordless = await database.rows("changed.passages", _id_parameters(lived))
    turn_names = [turn.id for turn, _ in spoken_turns(turns, wordless, mind_name)]
    return CurrentRows(
        named=frozenset(named),
        relaid=frozenset(relaid),
        turn_ids=frozenset(noted.turns),
        episodes=episodes,
        sources=sources,
        links=[
            *await database.rows("changed.links_from", _id_parameters(noted.links - relaid)),
            *(await database.rows("episodes.links_around", _id_parameters(relaid)) if relaid else ()),
        ],
        standings=await database.rows("changed.standings", _id_parameters(noted.standings - named)),
        turns=turns,
        wordless=wordless,
        away=frozenset(
            str(row["owner_id"]) for row in await database.rows("changed.passages_away", _id_parameters(lived))
        ),
        vectors={
            kind: await _vectors(database, kind, names, model_id, live.dimensions)
            for kind, names in (("episode", now), ("turn", turn_names))
        },
    )


def catch_up(live: LiveMemory, now: CurrentRows, mind_name: str) -> None:
    """Put what the rows say now in the place of what `live` holds of it. Slow: call it in a thread while nobody else
    uses `live`."""
    spoken: dict[str, tuple[Turn, str]] = {}
    for turn, home in spoken_turns(now.turns, now.wordless, mind_name):
        if turn.id not in now.away:
            spoken[turn.id] = (spoken[turn.id][0] if turn.id in spoken else turn, home)
    live.apply(ChangeSet(removed_ids=_turns_leaving(live, now), unindexed_turn_ids=_turns_unindexed(live, now, spoken)))
    sources: dict[str, list[str]] = {}
    for row in now.sources:
        sources.setdefault(row["episode_id"], []).append(row["experience_id"])
    episodes = tuple(episode_of(row, sources.get(row["id"], ())) for row in now.episodes)
    own, said = now.vectors["episode"], now.vectors["turn"]
    live.apply(
        ChangeSet(
            episodes=episodes,
            vectors=tuple((one.id, own.get(one.id, live.no_vector)) for one in episodes),
            links=tuple(_links(now.links)),
            indexed=tuple(IndexedTurn(turn, home, said.get(turn.id, live.no_vector)) for turn, home in spoken.values()),
        )
    )
    if now.standings:
        live.graph.update_values(_standings(now.standings))


def _turns_leaving(live: LiveMemory, now: CurrentRows) -> tuple[str, ...]:
    """Episodes that are not live any more, and those that are laid down with other links."""
    there = {str(row["id"]) for row in now.episodes}
    return tuple(sorted(name for name in now.named if name in live.graph and (name not in there or name in now.relaid)))


def _turns_unindexed(live: LiveMemory, now: CurrentRows, spoken: Mapping[str, tuple[Turn, str]]) -> tuple[str, ...]:
    """Turns that are not live any more, and those that read otherwise by now."""
    index = live.turns
    rows = {row for name in now.named for row in index.rows_of(name)}
    rows |= {row for name in (*now.turn_ids, *spoken) if (row := index.row_of(name)) is not None}
    here = [index.turn(row) for row in sorted(rows)]
    return tuple(turn.id for turn in here if turn.id not in spoken or spoken[turn.id][0] != turn)


def _links(rows: Iterable[Row]) -> Iterable[Link]:
    for row in rows:
        yield Link(row["from_id"], row["to_id"], LinkType(row["type"]), row["strength"])


def _standings(rows: Sequence[Row]) -> EpisodeValues:
    columns = {
        name: np.array([row[name] for row in rows], dtype=np.float64)
        for name in ("last_accessed_at", "salience", "accessibility", "last_decayed_at")
    }
    counts = np.array([row["access_count"] for row in rows], dtype=np.int64)
    return EpisodeValues(ids=[str(row["id"]) for row in rows], access_count=counts, **columns)


async def _experiences_of_turns(database: Database, live: LiveMemory, noted: ChangedRows) -> set[str]:
    """The experiences that turns and passages belong to: by the rows, by the snapshot, and by a passage's own id."""
    rows = await database.rows("changed.experiences_of_turns", _id_parameters(noted.turns))
    places = [row for name in noted.turns if (row := live.turns.row_of(name)) is not None]
    here = {name for row in places if (name := live.turns.turn(row).experience_id) is not None}
    passages = {name.rpartition("#")[0] for name in noted.turns if "#" in name}
    return {str(row["experience_id"]) for row in rows} | here | passages


async def _vectors(
    database: Database, kind: str, owner_ids: Iterable[str], model_id: str, dimensions: int
) -> dict[str, Vector]:
    named = _id_parameters(owner_ids)
    rows = await database.rows(
        "vectors.of_owners", {"owner_kind": kind, "model_id": model_id, "owner_ids": named["ids"]}
    )
    return {row["owner_id"]: vector_of(row["vector"]) for row in rows if len(row["vector"]) == 4 * dimensions}


def _id_parameters(names: Iterable[str]) -> dict[str, object]:
    return {"ids": json.dumps(sorted(names))}
