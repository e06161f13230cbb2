"""The log of sleep: which passes there were, and what one of them did, episode by episode. Only reads."""

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from reveries.db.database import Database, Row
from reveries.errors import NotFoundError, UndoError
from reveries.memory.changes import SelfModelChange
from reveries.memory.model import Link
from reveries.memory.sleep.claims import UPDATE
from reveries.memory.sleep.past_records import from_json
from reveries.memory.sleep.records import AtOdds, EpisodeChange, Recorded, Value

CORRECTION = "correction"
"""The trigger of a pass that the owner's correction is."""
_SELF_FIELDS = ("narrative", "communication_style", "current_focus")
_SELF_LISTS = ("owner_facts", "unresolved_threads", "values", "tendencies", "strengths", "limitations", "anticipations")


@dataclass(frozen=True, slots=True)
class RunEntry:
    """One pass, with its counts."""

    id: str
    depth: str
    trigger: str
    """Why it began: "arrival", "time", "volume", "owner", "sleep", "undo", "correction" …"""
    began_at: float
    ended_at: float | None
    processed: int
    created: int
    merged: int
    fallbacks: int
    outcome: str
    undone_by: str = ""
    """The undo that took it back."""
    undoes: str = ""
    """The pass that it took back, when it is an undo."""
    question: str = ""
    """What it asks before it does more."""


@dataclass(frozen=True, slots=True)
class EpisodeDiff:
    """An episode before and after."""

    episode_id: str
    what: str
    """"new", "changed", "merged away", "taken away" or "dormant"."""
    old_summary: str
    new_summary: str
    merged_into: str = ""
    added_quotes: tuple[str, ...] = ()
    old_salience: float | None = None
    new_salience: float | None = None


@dataclass(frozen=True, slots=True)
class ChangeDiff:
    """What was done about one experience, or one batch of them."""

    experience_id: str
    line: str
    episodes: tuple[EpisodeDiff, ...]
    new_links: tuple[Link, ...]
    stronger_links: int
    self_model: tuple[str, ...]
    """Lines that begin with "+ " or "- "."""
    superseded: tuple[str, ...] = ()
    """Sentences: which claim ranks under which from now on, and why."""


@dataclass(frozen=True, slots=True)
class RunDetail:
    """A pass with everything it did, in order."""

    run: RunEntry
    changes: tuple[ChangeDiff, ...]


async def recent_runs(database: Database, limit: int) -> list[RunEntry]:
    """The latest passes, newest first."""
    return [_run_from_row(row) for row in await database.rows("consolidation.list_runs", {"limit": limit})]


async def find_run(database: Database, id_or_prefix: str) -> RunEntry:
    """The pass called so, or whose id alone begins so. Raises NotFoundError, UndoError when several do."""
    rows = await database.rows("consolidation.find_run", {"prefix": id_or_prefix})
    exact = [row for row in rows if row["id"] == id_or_prefix]
    if not rows or not id_or_prefix:
        raise NotFoundError(f"There is no pass {id_or_prefix}.", advice="They are listed by: reveries consolidate log")
    if len(rows) > 1 and not exact:
        raise UndoError(f"More than one pass begins with {id_or_prefix}.", advice="Give more of its letters.")
    return _run_from_row((exact or rows)[0])


async def run_detail(database: Database, id_or_prefix: str) -> RunDetail:
    """A pass, change by change. Raises NotFoundError."""
    run = await find_run(database, id_or_prefix)
    rows = await database.rows("consolidation.changes_of", {"run_id": run.id})
    recorded = await asyncio.to_thread(_decode_changes, rows)
    gone = json.dumps(sorted({entry.episode_id for one in recorded for entry in one.dormant}))
    summaries = {row["id"]: row["summary"] for row in await database.rows("episodes.summaries", {"ids": gone})}
    told = zip(rows, recorded, strict=True)
    return RunDetail(run, tuple(diff_of(row["experience_id"] or "", row["log"], one, summaries) for row, one in told))


def _decode_changes(rows: Iterable[Row]) -> list[Recorded]:
    return [from_json(row["change_set"]) for row in rows]


def diff_of(
    experience_id: str, line: str, recorded: Recorded, summaries: Mapping[str, str] = MappingProxyType({})
) -> ChangeDiff:
    """One recorded change as people read it; `summaries`, by id, of the episodes that went to the disk. Pure."""
    diffs = [_episode_diff(change) for change in recorded.episodes if change.is_shown]
    diffs += [
        EpisodeDiff(gone.id, "merged away", gone.was.summary if gone.was is not None else "", "", gone.into)
        for gone in recorded.retired
    ]
    put = {episode.id for episode in recorded.episodes}
    diffs += [EpisodeDiff(name, "taken away", "", "") for name in recorded.removed_ids if name not in put]
    diffs += [dormant_diff(entry.episode_id, summaries.get(entry.episode_id, "")) for entry in recorded.dormant]
    return ChangeDiff(
        experience_id=experience_id,
        line=line,
        episodes=tuple(diffs),
        new_links=tuple(link for link, before in recorded.each_link if before is None),
        stronger_links=sum(before is not None for _, before in recorded.each_link),
        self_model=self_lines(recorded.self_model),
        superseded=tuple(_conflict_line(conflict) for conflict in recorded.conflicts),
    )


def _conflict_line(conflict: AtOdds) -> str:
    earlier, later = f"\u201c{conflict.earlier}\u201d", f"\u201c{conflict.later}\u201d"
    if conflict.kind == UPDATE:
        return f"{earlier} ranks under {later}. {conflict.reason}"
    return f"{earlier} and {later} contradict each other. {conflict.reason}"


def dormant_diff(episode_id: str, summary: str) -> EpisodeDiff:
    """An episode that leaves memory for the disk: its words stay as they are."""
    return EpisodeDiff(episode_id, "dormant", summary, "")


def self_lines(change: SelfModelChange | None) -> tuple[str, ...]:
    """What a change of the self-model takes away ("- ") and adds ("+ ")."""
    if change is None:
        return ()
    before, after = change.before, change.after
    lines: list[str] = []
    for name in _SELF_FIELDS:
        if (old := getattr(before, name)) != (new := getattr(after, name)):
            lines += [f"{sign} {name}: {text}" for sign, text in (("-", old), ("+", new)) if text]
    for name in _SELF_LISTS:
        lines += _list_lines(name, getattr(before, name), getattr(after, name))
    was = [f"{pattern.description} ({pattern.confidence:.2f})" for pattern in before.patterns]
    lines += _list_lines("patterns", was, [f"{one.description} ({one.confidence:.2f})" for one in after.patterns])
    return tuple(lines)


def _list_lines(name: str, before: Sequence[str], after: Sequence[str]) -> Iterable[str]:
    yield from (f"- {name}: {text}" for text in before if text not in after)
    yield from (f"+ {name}: {text}" for text in after if text not in before)


def _episode_diff(change: EpisodeChange) -> EpisodeDiff:
    if change.is_new:
        return EpisodeDiff(change.id, "new", "", change.summary, new_salience=change.salience)
    old_summary, new_summary = change.values.get("summary", (change.summary, change.summary))
    old_salience, new_salience = change.values.get("salience", (change.salience, change.salience))
    return EpisodeDiff(
        episode_id=change.id,
        what="changed",
        old_summary=str(old_summary),
        new_summary=str(new_summary),
        added_quotes=change.added_quotes,
        old_salience=_weight(old_salience),
        new_salience=_weight(new_salience),
    )


def _weight(value: Value) -> float | None:
    return value if isinstance(value, int | float) else None


def _run_from_row(row: Row) -> RunEntry:
    return RunEntry(
        id=row["id"],
        depth=row["depth"],
        trigger=row["trigger"],
        began_at=row["began_at"],
        ended_at=row["ended_at"],
        processed=row["processed"],
        created=row["created"],
        merged=row["merged"],
        fallbacks=row["fallbacks"],
        outcome=row["outcome"],
        undone_by=row["undo_id"] or "",
        undoes=row["undoes"] or "",
        question=row["question"] or "",
    )
