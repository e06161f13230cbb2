"""Saves snapshots of the live memory next to the database, and loads them at a wake (format: `snapshot_file`).

A mark is committed before the memory is copied; earlier marks, and the changes noted before them, are deleted only
after the file is in place. So after a kill at any moment the existing file has its mark in the database, and every
change since that mark is noted.

Triggers in the database note, in the transaction that changes a row, the episode, links, turn or experience that it
belongs to (schema.sql, `changed_rows`). A wake loads the snapshot, then applies the current rows of everything noted,
with the same operations as at run time. The rows stay authoritative.
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
from reveries.db.failpoints import Step, reach_step
from reveries.llm.base import Vector
from reveries.memory.changes import ChangeSet, IndexedTurn
from reveries.memory.graph.facts import EpisodeValues
from reveries.memory.hydration import pair_turns_with_episodes
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
        """Mark, model id and vector length of the snapshot on disk."""
        self._renoted: tuple[str, ...] = ()
        """The turns that were noted again with that mark."""
        self._saving = asyncio.Lock()
        self._unindexed: set[str] = set()
        """Turns that left the live index since the daemon started. Their rows may not show it, so they are noted again
        with every mark and re-read at a wake."""

    @property
    def path(self) -> Path:
        """Path of the snapshot. After erasing an episode, call `erase_snapshot` on it."""
        return self._database.path.with_suffix(".snapshot")

    async def load_snapshot(self, model_id: str) -> bool:
        """Load the empty live memory from the snapshot and from what changed since; whether that succeeded. If not,
        the memory may be partly filled: load it from the rows."""
        dimensions = self._live.dimensions
        epochs = {bytes(row["mark"]): int(row["epoch"]) for row in await self._database.rows("changed.marks")}
        snapshot = await asyncio.to_thread(read_snapshot, self.path, epochs.keys(), model_id, dimensions)
        if snapshot is None:
            return False
        mark, packed = snapshot
        try:
            await asyncio.to_thread(self._live.load_packed, packed)
            is_caught_up = await self._catch_up(epochs[mark], model_id)
        except (ValueError, LookupError, msgspec.MsgspecError) as error:
            log.warning("snapshot.load_failed", why=type(error).__name__)
            log.debug("snapshot.load_failed", exc_info=True)
            return False
        if is_caught_up:
            self._saved = mark, model_id, dimensions
        return is_caught_up

    async def _catch_up(self, epoch: int, model_id: str) -> bool:
        """Apply everything that changed from that epoch on; False if that is too much."""
        changed = await read_changed_rows(self._database, epoch)
        changed.turns |= find_misnamed_passages(self._live, self._mind_name)
        if not changed.is_cheaper_than_reload(self._live):
            log.info("snapshot.skipped", changed=changed.count)
            return False
        if changed.count or changed.values:
            current = await read_current_rows(self._database, self._live, changed, model_id, self._mind_name)
            await asyncio.to_thread(apply_current_rows, self._live, current, self._mind_name)
        log.info("snapshot.loaded", changed=changed.count, values_changed=len(changed.values))
        return True

    def note_commit(self, changes: ChangeSet) -> None:
        """Note that `changes` are committed."""
        self._unindexed |= set(changes.unindexed_turn_ids)

    @contextlib.asynccontextmanager
    async def suspend_for_erasure(self) -> AsyncIterator[None]:
        """Keep snapshots from being saved within the block; afterwards erase the one on disk. Raises OSError."""
        async with self._saving:
            yield
            self._saved = None
            await asyncio.to_thread(erase_snapshot, self.path)

    async def save(
        self,
        writes_paused: contextlib.AbstractAsyncContextManager[None],
        model_id: Callable[[], str],
        longest_seconds: float,
        stop: asyncio.Event | None,
    ) -> bool:
        """Save the live memory next to the database unless the snapshot there is current; whether a current one exists
        now.

        Gives up after `longest_seconds`, and when `stop` is set. Within `writes_paused` no writes happen: there
        `model_id` is called for the model of the current vectors, and the memory is copied. Raises StorageError.
        """
        permit = _SavePermit(time.monotonic() + longest_seconds, stop)
        try:
            async with self._saving:
                return await self._save(writes_paused, model_id, permit)
        finally:
            permit.is_revoked = True  # If this is cancelled, the thread stops too.

    async def _save(
        self,
        writes_paused: contextlib.AbstractAsyncContextManager[None],
        model_id: Callable[[], str],
        permit: "_SavePermit",
    ) -> bool:
        async with writes_paused:
            vector_space = model_id(), self._live.dimensions
            if await self._is_current(*vector_space):
                return True
            mark, renoted = secrets.token_bytes(_MARK_BYTES), tuple(sorted(self._unindexed))
            await self._begin_epoch(mark)
            reach_step(Step.SNAPSHOT_MARKED)
            copied = await asyncio.to_thread(self._live.begin_copy)
        if not await asyncio.to_thread(self._write_snapshot, copied, mark, vector_space[0], permit):
            await self._run_statements(mark, "changed.drop")
            return False
        self._saved, self._renoted = (mark, *vector_space), renoted
        await self._run_statements(mark, "changed.prune", "changed.prune_marks")
        return True

    def _write_snapshot(
        self, copied: Callable[[], PackedMemory], mark: bytes, model_id: str, permit: "_SavePermit"
    ) -> bool:
        return permit() and write_snapshot(self.path, copied(), mark, model_id, permit)

    async def _is_current(self, model_id: str, dimensions: int) -> bool:
        if self._saved is None or self._saved[1:] != (model_id, dimensions):
            return False
        named = {"mark": self._saved[0], "renoted": json.dumps(self._renoted)}
        return bool(await self._database.rows("changed.is_current", named))

    async def _begin_epoch(self, mark: bytes) -> None:
        async with self._database.transaction() as transaction:
            await transaction.run("changed.begin", {"mark": mark})
            await transaction.run_many("changed.note_turn", [{"id": name} for name in sorted(self._unindexed)])

    async def _run_statements(self, mark: bytes, *names: str) -> None:
        async with self._database.transaction() as transaction:
            for name in names:
                await transaction.run(name, {"mark": mark})


class _SavePermit:
    """Whether the save may still go on. Called from a thread."""

    def __init__(self, deadline: float, stop: asyncio.Event | None) -> None:
        self._deadline = deadline
        self._stop = stop
        self.is_revoked = False

    def __call__(self) -> bool:
        is_stopped = self._stop is not None and self._stop.is_set()
        return not self.is_revoked and not is_stopped and time.monotonic() < self._deadline


_LEAST_REREAD = 2000
_REREAD_SHARE = 0.25
"""Share of all episodes and turns. If more than this has changed, everything is loaded from the rows."""


@dataclass(slots=True)
class ChangedRows:
    """Ids of what changed since a snapshot, by kind."""

    episodes: set[str] = field(default_factory=set)
    """Episodes whose row, sources or vector changed: rebuilt with their turns."""
    unlinked: set[str] = field(default_factory=set)
    """Episodes that lost a link."""
    links: set[str] = field(default_factory=set)
    """Episodes with a new link or a changed link strength."""
    values: set[str] = field(default_factory=set)
    """Episodes where only the values that recall and decay change are different."""
    turns: set[str] = field(default_factory=set)
    experiences: set[str] = field(default_factory=set)

    @property
    def count(self) -> int:
        """Number of items that are rebuilt one by one."""
        return sum(map(len, (self.episodes, self.unlinked, self.links, self.turns, self.experiences)))

    def is_cheaper_than_reload(self, live: LiveMemory) -> bool:
        """Whether applying these changes is cheaper than loading everything from the rows."""
        return self.count <= max(_LEAST_REREAD, _REREAD_SHARE * (len(live.graph) + len(live.turns)))


@dataclass(frozen=True, slots=True)
class CurrentRows:
    """The current rows of everything that changed."""

    episode_ids: frozenset[str]
    """The episodes to rebuild or remove."""
    relinked_ids: frozenset[str]
    """Those of them that are live and get all their links again: they lost one, or are not in the snapshot."""
    turn_ids: frozenset[str]
    episodes: Sequence[Row]
    sources: Sequence[Row]
    links: Sequence[Row]
    values: Sequence[Row]
    turns: Sequence[Row]
    turnless: Sequence[Row]
    """Experiences without turns."""
    disk_only_ids: frozenset[str]
    """Passages that are only on disk."""
    vectors: Mapping[str, Mapping[str, Vector]]
    """By kind and owner."""


async def read_changed_rows(database: Database, epoch: int) -> ChangedRows:
    """Read what changed in that epoch and later."""
    changed = ChangedRows()
    sets = {
        "episode": changed.episodes,
        "unlinked": changed.unlinked,
        "links": changed.links,
        "standing": changed.values,
        "turn": changed.turns,
        "experience": changed.experiences,
    }
    for row in await database.rows("changed.since", {"epoch": epoch}):
        sets[row["kind"]].add(row["id"])
    return changed


def find_misnamed_passages(live: LiveMemory, mind_name: str) -> set[str]:
    """Find the mind's passages that have a former name of the mind as speaker. Renaming it changes no row."""
    index = live.turns
    own, code = index.marks["own"], index.speaker_code(mind_name)
    has_other_name = index.marks["speaker"] != (-1 if code is None else code)
    turn_ids = (index.turn_id(row) for row in np.flatnonzero(index.live & own & has_other_name).tolist())
    return {turn_id for turn_id in turn_ids if "#" in turn_id}


async def read_current_rows(
    database: Database, live: LiveMemory, changed: ChangedRows, model_id: str, mind_name: str
) -> CurrentRows:
    """Read the committed rows of what changed; `live` has the state of the snapshot."""
    experience_ids = await _experiences_of_turns(database, live, changed) | changed.experiences
    homes = await database.rows("changed.homes", _id_parameters(experience_ids))
    episode_ids = changed.episodes | changed.unlinked | {str(row["episode_id"]) for row in homes}
    episodes = await database.rows("changed.episodes", _id_parameters(episode_ids))
    sources = await database.rows("changed.sources", _id_parameters(episode_ids))
    in_snapshot = (turn.experience_id for name in episode_ids for turn in live.turns.turns_of(name))
    experience_ids |= {str(row["experience_id"]) for row in sources}
    experience_ids |= {name for name in in_snapshot if name is not None}
    live_ids = {str(row["id"]) for row in episodes}
    relinked_ids = {name for name in live_ids if name in changed.unlinked or name not in live.graph}
    turns = await database.rows("changed.turns", _id_parameters(experience_ids))
    turnless = await database.rows("changed.passages", _id_parameters(experience_ids))
    turn_ids = [turn.id for turn, _ in pair_turns_with_episodes(turns, turnless, mind_name)]
    disk_only = await database.rows("changed.passages_away", _id_parameters(experience_ids))
    return CurrentRows(
        episode_ids=frozenset(episode_ids),
        relinked_ids=frozenset(relinked_ids),
        turn_ids=frozenset(changed.turns),
        episodes=episodes,
        sources=sources,
        links=[
            *await database.rows("changed.links_from", _id_parameters(changed.links - relinked_ids)),
            *(await database.rows("episodes.links_around", _id_parameters(relinked_ids)) if relinked_ids else ()),
        ],
        values=await database.rows("changed.standings", _id_parameters(changed.values - episode_ids)),
        turns=turns,
        turnless=turnless,
        disk_only_ids=frozenset(str(row["owner_id"]) for row in disk_only),
        vectors={
            kind: await _read_vectors(database, kind, names, model_id, live.dimensions)
            for kind, names in (("episode", live_ids), ("turn", turn_ids))
        },
    )


def apply_current_rows(live: LiveMemory, current: CurrentRows, mind_name: str) -> None:
    """Replace what `live` has of the changed items by their current rows. Slow: call it in a thread while nothing else
    uses `live`."""
    spoken: dict[str, tuple[Turn, str]] = {}
    for turn, home in pair_turns_with_episodes(current.turns, current.turnless, mind_name):
        if turn.id not in current.disk_only_ids:
            spoken[turn.id] = (spoken[turn.id][0] if turn.id in spoken else turn, home)
    removed_ids = _removed_episode_ids(live, current)
    live.apply(ChangeSet(removed_ids=removed_ids, unindexed_turn_ids=_unindexed_turn_ids(live, current, spoken)))
    sources: dict[str, list[str]] = {}
    for row in current.sources:
        sources.setdefault(row["episode_id"], []).append(row["experience_id"])
    episodes = tuple(episode_of(row, sources.get(row["id"], ())) for row in current.episodes)
    of_episodes, of_turns = current.vectors["episode"], current.vectors["turn"]
    live.apply(
        ChangeSet(
            episodes=episodes,
            vectors=tuple((episode.id, of_episodes.get(episode.id, live.no_vector)) for episode in episodes),
            links=tuple(_links_from_rows(current.links)),
            indexed=tuple(
                IndexedTurn(turn, home, of_turns.get(turn.id, live.no_vector)) for turn, home in spoken.values()
            ),
        )
    )
    if current.values:
        live.graph.update_values(_values_from_rows(current.values))


def _removed_episode_ids(live: LiveMemory, current: CurrentRows) -> tuple[str, ...]:
    """Episodes that are no longer live, and those that are rebuilt with other links."""
    live_ids = {str(row["id"]) for row in current.episodes}
    leaving = (name for name in current.episode_ids if name not in live_ids or name in current.relinked_ids)
    return tuple(sorted(name for name in leaving if name in live.graph))


def _unindexed_turn_ids(
    live: LiveMemory, current: CurrentRows, spoken: Mapping[str, tuple[Turn, str]]
) -> tuple[str, ...]:
    """Turns that are no longer live, and those whose content changed."""
    index = live.turns
    rows = {row for name in current.episode_ids for row in index.rows_of(name)}
    rows |= {row for name in (*current.turn_ids, *spoken) if (row := index.row_of(name)) is not None}
    turns = [index.turn(row) for row in sorted(rows)]
    return tuple(turn.id for turn in turns if turn.id not in spoken or spoken[turn.id][0] != turn)


def _links_from_rows(rows: Iterable[Row]) -> Iterable[Link]:
    for row in rows:
        yield Link(row["from_id"], row["to_id"], LinkType(row["type"]), row["strength"])


def _values_from_rows(rows: Sequence[Row]) -> EpisodeValues:
    columns = {
        name: np.array([row[name] for row in rows], dtype=np.float64)
        for name in ("last_accessed_at", "salience", "accessibility", "last_decayed_at")
    }
    counts = np.array([row["access_count"] for row in rows], dtype=np.int64)
    return EpisodeValues(ids=[str(row["id"]) for row in rows], access_count=counts, **columns)


async def _experiences_of_turns(database: Database, live: LiveMemory, changed: ChangedRows) -> set[str]:
    """Ids of the experiences of changed turns and passages: by their rows, by the snapshot, and by a passage's id."""
    rows = await database.rows("changed.experiences_of_turns", _id_parameters(changed.turns))
    places = [row for name in changed.turns if (row := live.turns.row_of(name)) is not None]
    in_snapshot = {name for row in places if (name := live.turns.turn(row).experience_id) is not None}
    passages = {name.rpartition("#")[0] for name in changed.turns if "#" in name}
    return {str(row["experience_id"]) for row in rows} | in_snapshot | passages


async def _read_vectors(
    database: Database, kind: str, owner_ids: Iterable[str], model_id: str, dimensions: int
) -> dict[str, Vector]:
    named = _id_parameters(owner_ids)
    rows = await database.rows(
        "vectors.of_owners", {"owner_kind": kind, "model_id": model_id, "owner_ids": named["ids"]}
    )
    return {row["owner_id"]: vector_of(row["vector"]) for row in rows if len(row["vector"]) == 4 * dimensions}


def _id_parameters(names: Iterable[str]) -> dict[str, object]:
    return {"ids": json.dumps(sorted(names))}
