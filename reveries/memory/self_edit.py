"""The owner's hand on the self-model: what changed when and why (R-87), back to before a change, the owner's own words.

Deciding is pure; `SelfHand` is the thin shell that reads the history and writes a change with what was there before.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from typing import Final

import msgspec

from reveries.clock import Clock
from reveries.db.database import Database, Transaction
from reveries.errors import NotFoundError, UsageError
from reveries.index.terms import terms_of
from reveries.memory.changes import ChangeSet, SelfModelChange
from reveries.memory.live import LiveMemory
from reveries.memory.model import Exemplar, Pattern, SelfModel
from reveries.memory.rows import episode_of
from reveries.memory.sleep.runs import record_self_change
from reveries.memory.store import MemoryStore

BY_THE_OWNER: Final = "by the owner"
TEXT_FIELDS: Final = ("narrative", "communication_style", "current_focus")
LIST_FIELDS: Final = (
    "values",
    "tendencies",
    "owner_facts",
    "patterns",
    "strengths",
    "limitations",
    "unresolved_threads",
    "anticipations",
)
EDITABLE: Final = (*TEXT_FIELDS, *LIST_FIELDS)
MAX_FIELD_CHARS: Final = 4000
MAX_STATEMENTS: Final = 40
_OWN_CONFIDENCE = 1.0
_REFUSED_KEPT = 200


@dataclass(frozen=True, slots=True)
class FieldChange:
    """What a change took out of a field and put into it; a text counts as one statement."""

    field: str
    removed: tuple[str, ...]
    added: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChangeEvidence:
    """An episode that a change was made from, with a quote of it."""

    episode_id: str
    summary: str
    exemplar: Exemplar | None
    merged_into: str


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One change. `number` is what `revert` takes."""

    number: int
    at: float
    reason: str
    run_id: str
    changes: tuple[FieldChange, ...]
    evidence: tuple[ChangeEvidence, ...]

    @property
    def by_owner(self) -> bool:
        return self.reason.startswith(BY_THE_OWNER)


# --- decisions -------------------------------------------------------------------------------------------------------


def statements(model: SelfModel, field: str) -> tuple[str, ...]:
    """What a field says, one statement each. Raises UsageError for a field that is none."""
    if field in TEXT_FIELDS:
        text = str(getattr(model, field))
        return (text,) if text else ()
    if field == "patterns":
        return tuple(pattern.description for pattern in model.patterns)
    if field in LIST_FIELDS:
        return tuple(getattr(model, field))
    raise UsageError(f"The self-model has no field {field!r}.", advice=f"It has: {', '.join(EDITABLE)}.")


def differences(before: SelfModel, after: SelfModel) -> tuple[FieldChange, ...]:
    """What differs, field by field; a pattern that only gained confidence says so by its number of episodes."""
    found: list[FieldChange] = []
    for field in EDITABLE:
        old, new = _shown(before, field), _shown(after, field)
        removed = tuple(text for text in old if text not in new)
        added = tuple(text for text in new if text not in old)
        if removed or added:
            found.append(FieldChange(field, removed, added))
    return tuple(found)


def edit_field(before: SelfModel, field: str, text: str, now: float) -> SelfModel:
    """The self-model with a field in the owner's words: one statement a line for a list. What is new is pinned, what
    went is refused: no sleep overwrites the one or brings back the other. Raises UsageError."""
    old = statements(before, field)
    new = _own_words(field, text)
    removed, added = [one for one in old if one not in new], [one for one in new if one not in old]
    if field in TEXT_FIELDS:
        pinned_fields = tuple(name for name in before.pinned_fields if name != field)
        # An emptied field is given back to sleep.
        after = replace(before, pinned_fields=(*pinned_fields, field) if new else pinned_fields)
        return replace(after, **{field: new[0] if new else ""}, updated_at=now)  # type: ignore[arg-type]
    after = replace(
        before,
        pinned=tuple(dict.fromkeys([*(one for one in before.pinned if one not in removed), *added])),
        refused=_refused_statements(before.refused, removed, new),
        updated_at=now,
    )
    if field == "patterns":
        return replace(after, patterns=_patterns(before.patterns, new))
    return replace(after, **{field: new})  # type: ignore[arg-type]


def reverted(current: SelfModel, before: SelfModel, now: float) -> SelfModel:
    """The self-model as `before` was. What went since does not come back by itself; what returns is refused no more."""
    gone = [one for field in LIST_FIELDS for one in statements(current, field) if one not in statements(before, field)]
    back = [one for field in LIST_FIELDS for one in statements(before, field)]
    return replace(before, refused=_refused_statements((*before.refused, *current.refused), gone, back), updated_at=now)


def _refused_statements(refused: Iterable[str], removed: Iterable[str], kept: Iterable[str]) -> tuple[str, ...]:
    said = {frozenset(terms_of(text)) for text in kept}
    found = [text for text in dict.fromkeys([*refused, *removed]) if frozenset(terms_of(text)) not in said]
    return tuple(found[-_REFUSED_KEPT:])


def _own_words(field: str, text: str) -> tuple[str, ...]:
    if len(text) > MAX_FIELD_CHARS:
        raise UsageError(
            f"{field} would have {len(text)} characters.",
            advice=f"{MAX_FIELD_CHARS} at most: it is told at every turn.",
        )
    lines = [" ".join(line.removeprefix("- ").split()) for line in text.splitlines()]
    found = tuple(dict.fromkeys(line for line in lines if line))
    if field in TEXT_FIELDS:
        return (" ".join(found),) if found else ()
    if len(found) > MAX_STATEMENTS:
        raise UsageError(f"{field} would have {len(found)} lines.", advice=f"{MAX_STATEMENTS} at most.")
    return found


def _patterns(old: tuple[Pattern, ...], wanted: tuple[str, ...]) -> tuple[Pattern, ...]:
    known = {pattern.description: pattern for pattern in old}
    return tuple(known.get(one) or Pattern(one, _OWN_CONFIDENCE, ()) for one in wanted)


def _shown(model: SelfModel, field: str) -> tuple[str, ...]:
    if field != "patterns":
        return statements(model, field)
    return tuple(f"{one.description} (confidence {one.confidence:.2f})" for one in model.patterns)


# --- the shell -------------------------------------------------------------------------------------------------------


class SelfHand:
    """Reads the history; writes what the owner decides. Each change is kept with what stood there before."""

    def __init__(self, store: MemoryStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def history(self, limit: int) -> tuple[list[HistoryEntry], int]:
        """The last changes, oldest first, and how many there are in all."""
        database = self._store.database
        rows = await database.rows("self_model.history", {"limit": limit})
        after = self._store.live.self_model
        found: list[HistoryEntry] = []
        for row in rows:
            before = model_of(row["before"])
            evidence = [await _evidence(database, self._store.live, name) for name in _names_of(row["evidence"])]
            found.append(
                HistoryEntry(
                    number=row["id"],
                    at=row["replaced_at"],
                    reason=row["reason"],
                    run_id=row["run_id"] or "",
                    changes=differences(before, after),
                    evidence=tuple(evidence),
                )
            )
            after = before
        counted = await database.rows("self_model.history_count")
        return found[::-1], int(counted[0]["changes"])

    async def edit(self, field: str, text: str) -> SelfModel:
        """Put the owner's words into a field. Raises UsageError."""
        now = self._clock.now()
        edit_field(self._store.live.self_model, field, text, now)
        return await self._change(
            lambda current: edit_field(current, field, text, now), f"{BY_THE_OWNER}: {field}", now
        )

    async def revert(self, number: int) -> SelfModel:
        """Back to before change `number`, and so of all that came after it. Raises NotFoundError."""
        rows = await self._store.database.rows("self_model.history_entry", {"id": number})
        if not rows:
            raise NotFoundError(f"There is no change {number}.", advice="They stand in: reveries self history")
        before, now = model_of(rows[0]["before"]), self._clock.now()
        reason = f"{BY_THE_OWNER}: back to before change {number}"
        return await self._change(lambda current: reverted(current, before, now), reason, now)

    async def _change(self, decide: Callable[[SelfModel], SelfModel], reason: str, now: float) -> SelfModel:
        live = self._store.live

        async def work(transaction: Transaction) -> ChangeSet:
            current = live.self_model
            after = decide(current)
            if replace(after, updated_at=current.updated_at) == current:
                return ChangeSet()
            change = SelfModelChange(current, after, reason, ())
            await record_self_change(transaction, None, change, now)
            return ChangeSet(self_model=change)

        await self._store.commit(work)
        return live.self_model


def model_of(raw: str) -> SelfModel:
    """A self-model as it was kept; one from an older Reveries lacks the newer fields."""
    known = {field.name for field in fields(SelfModel)}
    values = {name: value for name, value in msgspec.json.decode(raw, type=dict[str, object]).items() if name in known}
    return msgspec.convert(values, SelfModel)


def _names_of(raw: str) -> list[str]:
    return msgspec.json.decode(raw, type=list[str])


async def _evidence(database: Database, live: LiveMemory, episode_id: str) -> ChangeEvidence:
    """The episode behind a change; of one that was merged since, its own row still tells."""
    episode = live.graph.get(episode_id)
    if episode is None:
        rows = await database.rows("episodes.one", {"id": episode_id})
        if not rows:
            return ChangeEvidence(episode_id, "", None, "")
        episode = episode_of(rows[0], ())
    quote = episode.exemplars[0] if episode.exemplars else None
    return ChangeEvidence(episode.id, episode.summary, quote, episode.merged_into or "")
