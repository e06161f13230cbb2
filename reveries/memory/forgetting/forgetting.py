"""Forgetting at the owner's request: archiving, or erasing for good. The plan is decided from a snapshot of the file
while writes go on, and applied if nothing was written since. A dry run applies it too, counts, and rolls back, so it
reports exactly what would go."""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

import structlog

from reveries.clock import Clock
from reveries.db.backups import VerificationResult
from reveries.db.database import Reader, Transaction
from reveries.db.failpoints import Step, reach_step
from reveries.errors import ReveriesError, StorageLostError
from reveries.memory.changes import ChangeSet
from reveries.memory.deep_recall import DeepRecall
from reveries.memory.forgetting.archiving import ArchiveRunner, plan_archive
from reveries.memory.forgetting.erasing import ErasedCounts, ErasureRunner
from reveries.memory.forgetting.needles import Needle, TextMatcher
from reveries.memory.forgetting.plan import ForgetPlan
from reveries.memory.forgetting.selection import (
    BY_DOCUMENT,
    BY_ID,
    BY_NAME,
    BY_TIME,
    BY_WORDS,
    ForgetDecision,
    ForgetItem,
    Rows,
    Selection,
    decide_document,
    decide_repetition,
    decide_selection,
    find_erased_documents,
    list_items,
    read_related_rows,
    read_rows,
)
from reveries.memory.forgetting.tombstones import (
    FILE_ONLY,
    Erasure,
    Tombstones,
    UnfinishedErasure,
    erasures_path,
    merge_tombstones,
    new_key,
    put_erasure,
    read_erasures,
    read_marker,
    read_stored_erasures,
    tombstones_for,
    write_erasures,
    write_marker,
)
from reveries.memory.store import MemoryStore

_ARCHIVED: Final = (
    "Nothing is deleted. It is archived on disk, where no recall, thought or deep search finds it. What was learned "
    "from it stays in the self-model. To delete it for good: --erase. To restore it: --bring-back"
)
_FILE_NOT_REWRITTEN: Final = (
    "The erased data is deleted, but traces of it may remain in the memory's file, because the file could not be "
    "rewritten: the disk has too little space for a copy, or another program is reading the file. Free some space or "
    "close that program. The next wake tries again: reveries sleep, reveries wake"
)

log = structlog.get_logger("forgetting")


@dataclass(slots=True)
class ForgetReport:
    """Result or preview of forgetting, for the owner and the receipt."""

    counts: ErasedCounts = field(default_factory=ErasedCounts)
    items: list[ForgetItem] = field(default_factory=list)
    rebuilt: frozenset[str] = frozenset()
    """Ids of the episodes that are rebuilt from what is left."""
    notes: list[str] = field(default_factory=list)
    receipt_id: str = ""
    at: float = 0.0
    tombstones: int = 0
    matches: TextMatcher = field(default=Needle(), repr=False)
    """Recognizes the forgotten text in files next to the memory."""
    is_scrubbed: bool = True
    """Whether no trace is left in the memory's own file."""
    copied: VerificationResult | None = None
    """Check of the new backup, if one was made along with the scrubbing."""
    has_no_backup: bool = False
    """Whether the earlier backups were deleted and no new one could be made."""
    may_be_gone: bool = False
    """Set when the erasure can no longer be cancelled: it may be on the disk, whatever is reported afterwards."""
    is_committed: bool = False
    is_cancelled: bool = False
    """Set by the caller to stop an erasure that is not committed yet."""

    @property
    def is_gone(self) -> bool:
        """Whether something was erased and committed."""
        return self.is_committed and not self.is_empty

    @property
    def is_empty(self) -> bool:
        return not self.items and not any(self.counts.gone.values())


_Decide = Callable[[Reader], Awaitable[ForgetDecision]]
_MAX_ATTEMPTS = 3
"""Attempts to decide while writes go on; after that it is decided while they wait."""


class DryRunDone(Exception):
    """Rolls back the transaction of a dry run. Not an error."""


class Forgetting:
    """Archives and erases at the owner's request, and repeats erasures that an old copy of the memory undid."""

    def __init__(self, store: MemoryStore, clock: Clock, new_id: Callable[[], str]) -> None:
        self._store = store
        self._clock = clock
        self._new_id = new_id
        self._erasures: dict[str, Erasure] = {}
        self._tombstones: Tombstones | None = None
        self._fresh_key = new_key()
        self.repeated_erasure: ForgetReport | None = None
        """Report of the erasure that was repeated because an old copy had brought the data back."""
        self.erasure_lock = asyncio.Lock()
        """Locked during an erasure, and while a broken-off one is finished."""

    # --- erasing -----------------------------------------------------------------------------------------------------

    async def preview(self, selection: Selection, *, erase: bool) -> ForgetReport:
        """Return what would be forgotten. Changes nothing. Raises NotFoundError, UsageError."""
        if not erase:
            return await self._archive(selection, is_dry_run=True)
        report = ForgetReport(at=self._clock.now())
        decided = await self._decide_concurrently(lambda reader: self._decide(reader, selection))

        async def work(transaction: Transaction) -> ChangeSet:
            await self._apply(transaction, await decided(transaction), selection.chosen_by, report, self._new_id())
            raise DryRunDone

        try:
            await self._store.commit(work)
        except DryRunDone:
            report.receipt_id = ""
        return report

    async def erase(
        self,
        selection: Selection,
        copy: Path | None = None,
        report: ForgetReport | None = None,
        when_gone: Callable[[], None] = lambda: None,
    ) -> ForgetReport:
        """Erase for good, in one transaction, then scrub the file.

        If something was erased and there is space, a new backup without it is written to `copy`. `report` is filled in
        as it proceeds; `when_gone` is called right after the commit, even if the caller was cancelled. Raises
        NotFoundError, UsageError, StorageError, OSError: then nothing is changed, or `report` says how far it got.
        """
        report, decide = report or ForgetReport(), partial(self._decide, selection=selection)
        await self._erase(decide, selection.chosen_by, report, copy=copy, when_gone=when_gone)
        return report

    async def _erase(
        self,
        decide: _Decide,
        by: str,
        report: ForgetReport,
        *,
        copy: Path | None = None,
        erasures: Collection[Erasure] = (),
        when_gone: Callable[[], None] = lambda: None,
    ) -> None:
        report.at, receipt_id = self._clock.now(), self._new_id()
        # The marker makes the next wake finish this erasure if the process ends. One that an earlier broken-off
        # erasure left is kept, since that one is still to be finished.
        earlier = await self.find_unfinished()
        is_marked = earlier is None or earlier.is_file_only

        def gone() -> None:
            report.is_committed = True
            when_gone()

        try:
            if is_marked:
                await self._set_marker(UnfinishedErasure(receipt_id="" if erasures else receipt_id))
            reach_step(Step.ERASING_MARKED)
            async with (
                self._store.reembedding_lock,
                self._store.embedding_lock,
                self._store.snapshots.suspend_for_erasure(),
            ):
                decided = await self._decide_concurrently(decide)

                async def work(transaction: Transaction) -> ChangeSet:
                    for erasure in erasures:
                        await put_erasure(transaction, erasure)
                    changes = await self._apply(transaction, await decided(transaction), by, report, receipt_id)
                    _require_not_cancelled(report)
                    return changes

                await self._store.commit(work, gone)
        except BaseException as error:
            if not report.may_be_gone or (isinstance(error, ReveriesError) and not isinstance(error, StorageLostError)):
                report.is_cancelled, report.may_be_gone = True, False
                if is_marked:
                    # If this fails too, the marker names a receipt that is not in the memory, and is recognized by it.
                    with contextlib.suppress(OSError):
                        await self._set_marker(earlier)
            raise
        reach_step(Step.ERASED)
        await self._store.deep.recount()
        await self.reload()
        scrubbed = await self._store.database.scrub(None if report.is_empty else copy)
        report.copied, report.is_scrubbed = scrubbed.copied, scrubbed.is_whole
        if not report.is_scrubbed:
            report.notes.append(_FILE_NOT_REWRITTEN)
        log.info("erase.completed", receipt=report.receipt_id, rows=sum(report.counts.gone.values()))

    @property
    def marker(self) -> Path:
        """Path of the marker file. It exists from before an erasure until no trace is left in the home; the code that
        cleans the home removes it."""
        path = self._store.database.path
        return path.with_name(f"{path.name}.erasing")

    async def _set_marker(self, unfinished: UnfinishedErasure | None) -> None:
        """Write or remove the marker. A cancelled caller still waits for the disk, since it may have to revert it."""
        writing = asyncio.get_running_loop().run_in_executor(None, write_marker, self.marker, unfinished)
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            await asyncio.wait((writing,))
            raise

    async def find_unfinished(self) -> UnfinishedErasure | None:
        """Return what a broken-off erasure has left to do; only the file if it stopped before anything was erased.
        Raises OSError, StorageError."""
        unfinished = await asyncio.to_thread(read_marker, self.marker)
        if unfinished is None or unfinished.is_file_only:
            return unfinished
        await self.reload()
        receipt_id = unfinished.receipt_id
        is_committed = receipt_id in self._erasures if receipt_id else self._tombstones is not None
        return unfinished if is_committed else FILE_ONLY

    async def finish_scrubbing(self) -> bool:
        """Remove the traces of a committed but broken-off erasure from the memory's own files; whether none are
        left."""
        async with self._store.snapshots.suspend_for_erasure():
            pass
        return (await self._store.database.scrub()).is_whole

    async def _decide(self, reader: Reader, selection: Selection) -> ForgetDecision:
        rows = await read_rows(reader)
        if selection.chosen_by == BY_DOCUMENT:
            decision = await decide_document(reader, rows, selection.text)
        else:
            decision = await asyncio.to_thread(decide_selection, rows, selection)
        decision.related = await read_related_rows(reader, decision.plan, decision.needle)
        if selection.chosen_by == BY_DOCUMENT:
            decision.related.ids["documents"] = (selection.text,)
        return decision

    async def _decide_concurrently(self, decide: _Decide) -> Callable[[Reader], Awaitable[ForgetDecision]]:
        """Decide while writes go on. The returned function, called within a transaction, returns that decision if
        nothing was written since; otherwise it decides again."""
        database = self._store.database
        for _ in range(_MAX_ATTEMPTS):
            before = database.commits
            async with database.snapshot() as reader:
                decision = await decide(reader)
            if database.commits == before:
                break

        async def decided(reader: Reader) -> ForgetDecision:
            return decision if database.commits == before else await decide(reader)

        return decided

    async def _apply(
        self, transaction: Transaction, decision: ForgetDecision, by: str, report: ForgetReport, receipt_id: str
    ) -> ChangeSet:
        rows, plan, needle = decision.rows, decision.plan, decision.needle
        report.items = await asyncio.to_thread(list_items, rows, plan)
        report.rebuilt, report.matches = plan.rebuilt, needle
        texts = await _turn_texts(transaction, plan)
        spans = _matched_spans(rows, plan, needle) if by in (BY_WORDS, BY_NAME) else set[tuple[str, ...]]()
        runner = ErasureRunner(self._store, transaction, plan, decision.related, needle)
        changes = await runner.apply(report.at)
        report.counts = runner.counts
        report.notes = _notes(plan, runner.counts, by)
        if report.is_empty:
            return changes
        texts += runner.counts.lost_statements
        listed = [str(value) for rows in decision.related.listed.values() for row in rows for value in tuple(row)[1:]]
        if by in (BY_WORDS, BY_NAME) and isinstance(needle, Needle):
            spans |= {span for text in listed for span in needle.spans(text)}
        ids = plan.ids.union(map(str, decision.related.of("documents")))
        tombstones = tombstones_for(self._key(), ids, texts, spans)
        report.receipt_id, report.tombstones = receipt_id, len(tombstones)
        counts = {store: count for store, count in report.counts.gone.items() if count}
        # A document is recorded as what it is chosen by: its id.
        recorded_by = BY_ID if by == BY_DOCUMENT else by
        erasure = Erasure(report.receipt_id, report.at, recorded_by, self._key(), counts, tombstones)
        await put_erasure(transaction, erasure)
        return changes

    # --- archiving ---------------------------------------------------------------------------------------------------

    async def archive(self, selection: Selection) -> ForgetReport:
        """Archive what is selected: it is no longer recalled, but nothing is deleted. Raises NotFoundError,
        UsageError."""
        return await self._archive(selection, is_dry_run=False)

    async def _archive(self, selection: Selection, *, is_dry_run: bool) -> ForgetReport:
        report = ForgetReport(at=self._clock.now())
        decided = await self._decide_concurrently(lambda reader: self._decide(reader, selection))

        async def work(transaction: Transaction) -> ChangeSet:
            decision = await decided(transaction)
            plan = plan_archive(decision.plan, frozenset(decision.rows.relations.merged_into))
            report.matches, report.rebuilt = decision.needle, plan.rebuilt
            report.items = await asyncio.to_thread(list_items, decision.rows, plan)
            runner = ArchiveRunner(self._store, transaction, plan, decision.needle, self._new_id)
            changes = await runner.apply(report.at)
            report.counts, report.notes = runner.counts, [*_rebuilt_notes(plan), _ARCHIVED]
            if is_dry_run:
                raise DryRunDone
            return changes

        try:
            await self._store.commit(work)
        except DryRunDone:
            return report
        await self._store.deep.recount()
        return report

    async def restore(self, selection: Selection) -> ForgetReport:
        """Restore the archived episodes that are selected. Raises NotFoundError, UsageError."""
        report = ForgetReport(at=self._clock.now())
        async with self._store.database.snapshot() as reader:
            rows = await read_rows(reader)
        decision = await asyncio.to_thread(decide_selection, rows, selection)
        archived = {row["id"] for row in await self._store.database.rows("forget.archived")}
        names = sorted(archived & decision.plan.touched)
        items = await asyncio.to_thread(list_items, rows, decision.plan)
        report.items = [item for item in items if item.id in names]
        sources = [source for name in names for source in rows.relations.episode_sources.get(name, ())]

        async def work(transaction: Transaction) -> ChangeSet:
            ids = json.dumps(sorted({*sources, *decision.plan.experiences}))
            await transaction.run("forget.readmit", {"ids": ids})
            return ChangeSet()

        await self._store.commit(work)
        report.counts.add("episodes", len(await DeepRecall(self._store, self._clock).wake_episodes(names, "owner")))
        return report

    # --- tombstones --------------------------------------------------------------------------------------------------

    @property
    def tombstones(self) -> Tombstones | None:
        """Hashes of everything erased; None if nothing ever was."""
        return self._tombstones

    def is_erased_text(self, text: str, said_at: float) -> bool:
        """Whether this text was erased, and dates from before the erasure: it must not be imported again."""
        return self._tombstones is not None and said_at <= self._latest and self._tombstones(text)

    @property
    def _latest(self) -> float:
        return max((erasure.at for erasure in self._erasures.values()), default=float("-inf"))

    def _key(self) -> bytes:
        return next(iter(self._erasures.values())).key if self._erasures else self._fresh_key

    async def reload(self) -> list[Erasure]:
        """Load all erasures from the memory and from the file next to it, and add to the file what only the memory has.

        Returns the erasures that only the file has, oldest first: then the memory was replaced by an old copy.
        """
        in_memory = await read_stored_erasures(self._store.database)
        file = erasures_path(self._store.database.path)
        in_file = {erasure.id: erasure for erasure in await asyncio.to_thread(read_erasures, file)}
        self._erasures = in_file | in_memory
        self._tombstones = merge_tombstones(self._erasures.values())
        if in_memory.keys() - in_file.keys():
            ordered = sorted(self._erasures.values(), key=lambda erasure: (erasure.at, erasure.id))
            await asyncio.to_thread(write_erasures, file, ordered)
        missing = (in_file[name] for name in in_file.keys() - in_memory.keys())
        return sorted(missing, key=lambda erasure: erasure.at)

    async def repeat_erasures(self) -> ForgetReport | None:
        """Repeat the erasures that the memory does not know because it was replaced by an old copy; None if there are
        none. Works by ids and hashes alone, without the erased words.
        """
        unknown = await self.reload()
        tombstones = merge_tombstones(unknown)
        if tombstones is None:
            return None
        until = max(erasure.at for erasure in unknown)

        async def decide(reader: Reader) -> ForgetDecision:
            decision = await asyncio.to_thread(decide_repetition, await read_rows(reader), tombstones, until)
            decision.related = await read_related_rows(reader, decision.plan, decision.needle)
            decision.related.ids["documents"] = await find_erased_documents(reader, tombstones)
            return decision

        log.warning("erase.repeated", erasures=len(unknown))
        report = ForgetReport()
        await self._erase(decide, BY_ID, report, erasures=unknown)
        self.repeated_erasure = report
        return report


def _require_not_cancelled(report: ForgetReport) -> None:
    """Last point at which the erasure can be cancelled. Raises CancelledError, which rolls the transaction back."""
    if report.is_cancelled:
        raise asyncio.CancelledError
    report.may_be_gone = True


def _notes(plan: ForgetPlan, counts: ErasedCounts, by: str) -> list[str]:
    notes = _rebuilt_notes(plan)
    if counts.gone.get("records of sleep"):
        notes.append("The sleep passes that processed it can no longer be undone.")
    if by in (BY_ID, BY_TIME):
        notes.append(
            "This does not find what was said about it elsewhere in other words. To include that: --matching WORDS, "
            "or --all-about NAME"
        )
    return notes


def _rebuilt_notes(plan: ForgetPlan) -> list[str]:
    if not plan.rebuilt:
        return []
    count = len(plan.rebuilt)
    have, are = ("1 episode has", "It is") if count == 1 else (f"{count} episodes have", "They are")
    return [
        f"{have} other sources too. {are} rebuilt from what is left, in its own words, and processed by sleep again."
    ]


async def _turn_texts(transaction: Transaction, plan: ForgetPlan) -> list[str]:
    rows = await transaction.rows("forget.turn_texts", {"ids": json.dumps(sorted(plan.turns))})
    return [str(row["text"]) for row in rows]


def _matched_spans(rows: Rows, plan: ForgetPlan, needle: TextMatcher) -> set[tuple[str, ...]]:
    """Return the words that the owner named, as written in the erased texts; they are hashed too.

    Used only where the owner named words: the hash of a single word, such as a code, could be guessed.
    """
    if not isinstance(needle, Needle):
        return set()
    affected = plan.ids | plan.rebuilt
    tables = rows.chosen_tables.values()
    return {span for table in tables for row in table if row["id"] in affected for span in needle.spans(row["text"])}
