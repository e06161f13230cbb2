"""Texts that were made when the owner asked: kept apart from knowledge and progress, and flagged when something
that they were made from changes."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from reveries.clock import Clock
from reveries.db.checksums import checksum
from reveries.db.database import Database, Reader, Transaction
from reveries.db.typed_rows import read_row
from reveries.errors import NotFoundError
from reveries.knowledge.model import Chunk
from reveries.projects.model import DraftMaker
from reveries.projects.premise import is_unchanged, last_version


@dataclass(frozen=True, slots=True)
class NewDraft:
    """A text that was worded on request, to be stored."""

    wish: str
    content: str
    doubts: tuple[str, ...]
    """Days and numbers in it that no source has."""
    rests_on: tuple[str, ...]
    """Ids of the chunks that it was made from."""
    foreign_sources: frozenset[str]
    made_by: DraftMaker = DraftMaker.RULES


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft(NewDraft):
    """A stored draft."""

    id: str
    project_id: str
    flagged_because: str
    created_at: float


class DraftStore:
    """The drafts of all projects."""

    def __init__(self, database: Database, clock: Clock, new_id: Callable[[], str]) -> None:
        self._database = database
        self._clock = clock
        self._new_id = new_id

    async def of_project(self, project_id: str, source: Reader | None = None) -> list[Draft]:
        """Return the drafts, newest first."""
        rows = await (source or self._database).rows("drafts.of_project", {"project_id": project_id})
        return [read_row(Draft, row) for row in rows]

    async def put(self, transaction: Transaction, project_id: str, draft: NewDraft) -> str:
        """Store a draft and return its id. One with the same wish takes the place of the earlier one."""
        await transaction.run("drafts.drop_same", {"project_id": project_id, "wish": draft.wish})
        row = {
            "id": (draft_id := self._new_id()),
            "project_id": project_id,
            "wish": draft.wish,
            "content": draft.content,
            "doubts": json.dumps(draft.doubts, ensure_ascii=False),
            "rests_on": json.dumps(sorted(set(draft.rests_on))),
            "made_by": draft.made_by.value,
            "now": self._clock.now(),
            "foreign_sources": json.dumps(sorted(draft.foreign_sources)),
            "checksum": checksum(draft.wish, draft.content),
        }
        await transaction.run("drafts.put", row)
        return draft_id

    async def drop(self, transaction: Transaction, draft: Draft) -> None:
        """Delete a draft that the owner does not want."""
        await transaction.run("drafts.drop", {"id": draft.id})

    async def flag_fallen(self, transaction: Transaction, project_id: str, chunks: Sequence[Chunk]) -> list[Draft]:
        """Flag the drafts that rest on a chunk which changed, fell or was erased; return those that were not yet."""
        by_id = {chunk.id: chunk for chunk in chunks}
        newly = []
        for draft in await self.of_project(project_id, transaction):
            why = find_fallen(draft.rests_on, by_id)
            if why and not draft.flagged_because:
                await transaction.run("drafts.flag", {"id": draft.id, "why": why})
                newly.append(draft)
        return newly


def find_fallen(bases: Sequence[str], chunks: Mapping[str, Chunk]) -> str:
    """Say which of `bases` no longer holds; empty if all do. Pure."""
    for base in bases:
        chunk = chunks.get(base)
        if chunk is None:
            return "something that it was made from was erased"
        if not is_unchanged(chunk, [*chunks.values()]):
            newer = last_version(base, chunks)
            how = f"replaced by “{newer.title}”" if newer is not None and newer.id != base else chunk.fell_because
            return f"“{chunk.title or chunk.content[:60]}” changed: {how or 'it no longer holds'}"
    return ""


def find_draft(drafts: Sequence[Draft], name: str) -> Draft:
    """Find the draft whose id or wish begins with `name`. Raises NotFoundError. Pure."""
    wanted = name.strip().casefold()
    matching = [
        draft for draft in drafts if wanted and (draft.id.startswith(name) or draft.wish.casefold().startswith(wanted))
    ]
    if len(matching) == 1:
        return matching[0]
    raise NotFoundError(
        f"{len(matching) or 'No'} drafts begin with {name[:60]!r}.", advice="See: reveries project drafts"
    )
