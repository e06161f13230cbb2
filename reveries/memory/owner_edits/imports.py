"""The owner's corrections of an import: who in it is the owner, and taking it back as a whole.

An origin never changes and a taint never goes (schema.sql), not even here: the turns concerned are taken out with all
that was made of them, as an erasure does it, and stored anew, as if they came in now, with the same keys. Light sleep
then makes their episodes. The log of sleep records it; the same correction with the earlier name reverses it.
"""

import json
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from reveries.clock import Clock
from reveries.db.database import Reader, Row, Transaction
from reveries.errors import NotFoundError
from reveries.gates import Gate, inherits_taint
from reveries.memory.changes import ChangeSet
from reveries.memory.conversations import CHAT
from reveries.memory.forgetting.erasing import ErasureRunner
from reveries.memory.forgetting.forgetting import DryRunDone
from reveries.memory.forgetting.needles import Needle
from reveries.memory.forgetting.plan import ChosenRows, ForgetPlan, cascade
from reveries.memory.forgetting.selection import RelatedRows, read_related_rows, read_rows
from reveries.memory.importing import build_experience
from reveries.memory.model import Origin, Turn
from reveries.memory.owner_edits.episodes import REMEMBERED
from reveries.memory.rows import experience_row, turn_of, turn_row
from reveries.memory.sleep.pass_log import CORRECTION
from reveries.memory.sleep.pass_records import PassRecord, encode_record
from reveries.memory.store import MemoryStore

_NOT_IMPORTS: Final = (CHAT, REMEMBERED, "erased")
_RECORDS_KEPT: Final = ("passes", "pending")
"""What sleep recorded of the rows that go. Nothing is searched by words: the words stay."""
_TOLD: Final = ("episodes", "claims", "contradictions", "thoughts", "notes to you", "statements of the self-model")
"""What a person knows of, of all that is made of turns."""
_REASON: Final = "The import that it came from was corrected."


@dataclass(frozen=True, slots=True)
class ImportedSpeaker:
    """One speaker of an import, and whose words theirs count as."""

    name: str
    origin: Origin
    turns: int


@dataclass(frozen=True, slots=True)
class ImportEntry:
    """One import, by its source. Times in unix seconds."""

    source: str
    first_at: float
    last_at: float
    speakers: tuple[ImportedSpeaker, ...]


@dataclass(slots=True)
class ImportCorrection:
    """What a correction changes, or would change. `made_anew`: counts of what was made of the turns, by store."""

    run_id: str = ""
    turns: int = 0
    now_yours: int = 0
    no_longer_yours: int = 0
    made_anew: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Replacement:
    """An old turn, and the one that takes its place; None if nothing does."""

    old: Turn
    key: bytes | None
    new: Turn | None


class ImportEdits:
    """Lists imports, changes who in one is the owner, and takes one back; each change in one transaction."""

    def __init__(self, store: MemoryStore, clock: Clock, new_id: Callable[[], str]) -> None:
        self._store = store
        self._clock = clock
        self._new_id = new_id

    async def list_imports(self) -> list[ImportEntry]:
        """List the imports, by their names."""
        rows: dict[str, list[Row]] = {}
        for row in await self._store.database.rows("imports.speakers"):
            rows.setdefault(str(row["source"]), []).append(row)
        return [
            ImportEntry(
                source,
                min(row["first_at"] for row in group),
                max(row["last_at"] for row in group),
                tuple(ImportedSpeaker(row["speaker"], Origin(row["origin"]), row["turns"]) for row in group),
            )
            for source, group in rows.items()
        ]

    async def set_owner(self, source: str, names: Collection[str], *, is_dry_run: bool = False) -> ImportCorrection:
        """Make the speakers of these names, and no others, the owner in an import. Raises NotFoundError."""
        owners = frozenset(name.casefold() for name in names)
        shown = ", ".join(sorted(names)) or "nobody"
        line = f"In the import {source}, you are {shown}."
        return await self._correct(source, lambda turns: relabel(turns, owners), owners, line, is_dry_run=is_dry_run)

    async def take_back(self, source: str, *, is_dry_run: bool = False) -> ImportCorrection:
        """Remove an import as if it had never come in: it can be imported again. Raises NotFoundError."""
        line = f"The import {source} was taken back."
        return await self._correct(source, lambda turns: [None] * len(turns), (), line, is_dry_run=is_dry_run)

    async def _correct(
        self,
        source: str,
        change: Callable[[Sequence[Turn]], Sequence[Turn | None]],
        names: Collection[str],
        line: str,
        *,
        is_dry_run: bool,
    ) -> ImportCorrection:
        result = ImportCorrection()

        async def work(transaction: Transaction) -> ChangeSet:
            changes = await self._apply(transaction, source, change, names, line, result)
            if is_dry_run:
                raise DryRunDone
            return changes

        store = self._store
        async with store.reembedding_lock, store.embedding_lock, store.snapshots.suspend_for_erasure():
            try:
                await store.commit(work)
            except DryRunDone:
                result.run_id = ""
                return result
        await store.deep.recount()
        return result

    async def _apply(
        self,
        transaction: Transaction,
        source: str,
        change: Callable[[Sequence[Turn]], Sequence[Turn | None]],
        names: Collection[str],
        line: str,
        result: ImportCorrection,
    ) -> ChangeSet:
        rows = await self._turn_rows(transaction, source, names)
        turns = [turn_of(row) for row in rows]
        replacements = [
            _Replacement(old, row["import_key"], new) for row, old, new in zip(rows, turns, change(turns), strict=True)
        ]
        concerned = select_concerned(replacements)
        if not concerned:
            return ChangeSet()
        _count(concerned, result)
        plan = await self._plan(transaction, concerned)
        runner = ErasureRunner(self._store, transaction, plan, await _related(transaction, plan), Needle(), _REASON)
        kept = await _read_standing(transaction, concerned)
        changes = await runner.apply(self._clock.now())
        result.made_anew = {store: count for store, count in runner.counts.gone.items() if count and store in _TOLD}
        await self._store_anew(transaction, concerned, kept)
        result.run_id = await self._record(transaction, line, len({entry.old.experience_id for entry in concerned}))
        return changes

    async def _turn_rows(self, transaction: Transaction, source: str, names: Collection[str]) -> list[Row]:
        rows = [] if source in _NOT_IMPORTS else await transaction.rows("imports.turns", {"source": source})
        if not rows:
            raise NotFoundError(f"There is no import called {source!r}.", advice="To list them: reveries import --list")
        speakers = {str(row["speaker"]).casefold() for row in rows}
        if missing := sorted(set(names) - speakers):
            listed = ", ".join(sorted({str(row["speaker"]) for row in rows})[:10])
            raise NotFoundError(f"Nobody in {source} is called {missing[0]!r}.", advice=f"Its people: {listed}")
        return rows

    async def _plan(self, transaction: Transaction, concerned: Sequence[_Replacement]) -> ForgetPlan:
        rows = await read_rows(transaction)
        return cascade(ChosenRows(turns=frozenset(entry.old.id for entry in concerned)), rows.relations)

    async def _store_anew(self, transaction: Transaction, concerned: Sequence[_Replacement], kept: "_Standing") -> None:
        groups: dict[str, list[Turn]] = {}
        for entry in concerned:
            if entry.new is not None:
                new = replace(entry.new, id=self._new_id(), experience_id=None)
                await transaction.run("turns.insert", turn_row(new, entry.key))
                if entry.old.experience_id is not None:
                    groups.setdefault(entry.old.experience_id, []).append(new)
        for old_id, turns in groups.items():
            experience = build_experience(turns, self._new_id())
            await transaction.run("experiences.insert", experience_row(experience, len(turns)))
            adopted = [{"id": turn.id, "experience_id": experience.id} for turn in turns]
            await transaction.run_many("turns.adopt", adopted)
            await kept.restore(transaction, old_id, experience.id, self._clock.now())

    async def _record(self, transaction: Transaction, line: str, exchanges: int) -> str:
        run_id, now = self._new_id(), self._clock.now()
        begun = {"id": run_id, "depth": "light", "trigger": CORRECTION, "began_at": now}
        await transaction.run("consolidation.begin", begun)
        counts = {"id": run_id, "processed": exchanges, "created": 0, "merged": 0, "fallbacks": 0}
        # As after an erasure, the previous state is not kept: the same correction with the earlier name restores it.
        record = encode_record(PassRecord(is_erased=True))
        changed = {"run_id": run_id, "experience_id": None, "change_set": record, "log": line}
        await transaction.run("consolidation.record", changed)
        await transaction.run("consolidation.count", counts)
        await transaction.run("consolidation.end", {"id": run_id, "ended_at": now, "outcome": "done"})
        return run_id


@dataclass(frozen=True, slots=True)
class _Standing:
    """What the owner decided on the experiences that go: archived, or not to be slept on."""

    withdrawn: frozenset[str]
    holds: dict[str, tuple[float, str]]

    async def restore(self, transaction: Transaction, old_id: str, new_id: str, now: float) -> None:
        if old_id in self.withdrawn:
            await transaction.run("forget.withdraw_ones", {"ids": json.dumps([new_id]), "now": now})
        if old_id in self.holds:
            held_at, why = self.holds[old_id]
            await transaction.run("experiences.hold", {"experience_id": new_id, "held_at": held_at, "why": why})


async def _read_standing(transaction: Transaction, concerned: Sequence[_Replacement]) -> _Standing:
    named = {"ids": json.dumps(sorted({entry.old.experience_id or "" for entry in concerned}))}
    withdrawn = await transaction.rows("imports.withdrawn", named)
    held_rows = await transaction.rows("imports.held", named)
    return _Standing(
        frozenset(row["experience_id"] for row in withdrawn),
        {row["experience_id"]: (row["held_at"], row["why"]) for row in held_rows},
    )


async def _related(reader: Reader, plan: ForgetPlan) -> RelatedRows:
    related = await read_related_rows(reader, plan, Needle())
    return RelatedRows({table: related.of(table) for table in _RECORDS_KEPT})


def relabel(turns: Sequence[Turn], owners: Collection[str]) -> list[Turn]:
    """Return the turns of an import as they would be stored if exactly the speakers of these names (in small letters)
    were the owner: what the mind said after somebody else in a conversation inherits the taint. Pure."""
    relabelled: list[Turn] = []
    tainted_conversations: set[str] = set()
    for turn in turns:
        origin = _origin_for(turn, owners)
        if origin.is_tainted:
            tainted_conversations.add(turn.conversation_id)
        after_others = origin is Origin.SELF and turn.conversation_id in tainted_conversations
        tainted = inherits_taint(Gate.TALK, origin.is_tainted, after_others)
        relabelled.append(replace(turn, origin=origin, tainted=tainted))
    return relabelled


def _origin_for(turn: Turn, owners: Collection[str]) -> Origin:
    if turn.speaker.casefold() in owners:
        return Origin.OWNER
    return Origin.DOCUMENT if turn.origin is Origin.OWNER else turn.origin


def select_concerned(replacements: Sequence[_Replacement]) -> list[_Replacement]:
    """Return the turns that change, with all turns of the exchanges that they are in. Pure."""
    changed = [entry for entry in replacements if entry.new is None or _differs(entry.old, entry.new)]
    exchanges = {entry.old.experience_id for entry in changed} - {None}
    ids = {entry.old.id for entry in changed}
    return [entry for entry in replacements if entry.old.id in ids or entry.old.experience_id in exchanges]


def _differs(old: Turn, new: Turn) -> bool:
    return old.origin is not new.origin or old.tainted != new.tainted


def _count(concerned: Sequence[_Replacement], result: ImportCorrection) -> None:
    counts = Counter(
        (entry.old.origin is Origin.OWNER, entry.new is not None and entry.new.origin is Origin.OWNER)
        for entry in concerned
    )
    result.turns = len(concerned)
    result.now_yours, result.no_longer_yours = counts[(False, True)], counts[(True, False)]
