"""Forgetting on the owner's word: archived, or erased for good. The plan is decided from one moment of the file, while
writes go on, and carried out if nothing was written since. A dry run carries it out too, counts, and rolls back: what
it says is what would go."""

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
from reveries.db.backups import Looked
from reveries.db.database import Reader, Row, Transaction
from reveries.db.failpoints import Step, reached
from reveries.errors import ReveriesError, StorageLostError
from reveries.memory.changes import ChangeSet
from reveries.memory.deep_recall import DeepRecall
from reveries.memory.forgetting.erasing import ErasedCounts, Erasing
from reveries.memory.forgetting.needles import Needle, TextMatcher
from reveries.memory.forgetting.plan import ForgetPlan
from reveries.memory.forgetting.selection import (
    BY_ID,
    BY_NAME,
    BY_TIME,
    BY_WORDS,
    ForgetDecision,
    Item,
    Rows,
    Selection,
    decision_again,
    decision_of,
    items_of,
    read_asides,
    read_rows,
)
from reveries.memory.forgetting.summaries import take_out_of_summaries
from reveries.memory.forgetting.tombstones import (
    FILE_ALONE,
    Erasure,
    Tombstone,
    Tombstones,
    Unfinished,
    counts_json,
    file_beside,
    leave_to_do,
    left_to_do,
    merge_tombstones,
    new_key,
    read_erasures,
    tombstones_for,
    write_erasures,
)
from reveries.memory.store import MemoryStore

_FORGOTTEN: Final = "forgotten"
"""Why an episode is dormant that the owner archived."""
_FILE_NOT_ANEW: Final = (
    "The file of the memory could not be written anew: there is too little room on the disk for a copy of it, or "
    "another program reads it. What was erased is deleted, but traces of it may be left in the file. Free some room, "
    "or end that program; the next wake tries again: reveries sleep, reveries wake"
)

log = structlog.get_logger("forgetting")


@dataclass(slots=True)
class ForgetReport:
    """What goes, or went: for the page and the receipt."""

    counts: ErasedCounts = field(default_factory=ErasedCounts)
    items: list[Item] = field(default_factory=list)
    remade: frozenset[str] = frozenset()
    notes: list[str] = field(default_factory=list)
    receipt_id: str = ""
    at: float = 0.0
    tombstones: int = 0
    holds: TextMatcher = field(default=Needle(), repr=False)
    """How what goes is known in files beside the memory."""
    is_whole: bool = True
    """Nothing of it is left in the memory's own file."""
    copied: Looked | None = None
    """What a look at the new backup found, where one was made in passing."""
    may_be_gone: bool = False
    """From here on an erasure goes on to its end: it may be on the disk, whatever is heard of it."""
    is_committed: bool = False
    is_given_up: bool = False
    """The caller has given it up: nothing is to be erased that is not yet."""

    @property
    def is_gone(self) -> bool:
        """Whether the memory does not hold any more what it held."""
        return self.is_committed and not self.is_empty

    @property
    def is_empty(self) -> bool:
        return not self.items and not any(self.counts.gone.values())


_Decide = Callable[[Reader], Awaitable[ForgetDecision]]
_MOST_LOOKS = 3
"""So many attempts while writes go on; then one while they wait."""


class _DryRunDone(Exception):  # Not an error: it rolls the transaction back.
    """A dry run has counted what it wanted to know."""


class Forgetting:
    """Carries out the owner's word. `reload` when the memory is awake; `erase_again` where an old copy came back."""

    def __init__(self, store: MemoryStore, clock: Clock, new_id: Callable[[], str]) -> None:
        self._store = store
        self._clock = clock
        self._new_id = new_id
        self._erasures: dict[str, Erasure] = {}
        self._stones: Tombstones | None = None
        self._fresh_key = new_key()
        self.came_back: ForgetReport | None = None
        """What an old copy had brought back, and was erased again."""
        self.alone = asyncio.Lock()
        """One erasure, or what one has left to do, at a time."""

    # --- choosing ----------------------------------------------------------------------------------------------------

    async def preview(self, selection: Selection, *, erase: bool) -> ForgetReport:
        """What would go. Changes nothing. Raises NotFoundError, UsageError."""
        if not erase:
            return await self._archive(selection, is_dry_run=True)
        report = ForgetReport(at=self._clock.now())
        decided = await self._beside(lambda reader: self._decide(reader, selection))

        async def work(transaction: Transaction) -> ChangeSet:
            await self._carry_out(transaction, await decided(transaction), selection.chosen_by, report, self._new_id())
            raise _DryRunDone

        try:
            await self._store.commit(work)
        except _DryRunDone:
            report.receipt_id = ""
        return report

    async def erase(
        self,
        selection: Selection,
        copy: Path | None = None,
        report: ForgetReport | None = None,
        when_gone: Callable[[], None] = lambda: None,
    ) -> ForgetReport:
        """Erase for good, in one transaction; then nothing of it is in the file or in the live memory. Where something
        went and there is room, a backup without it stands at `copy`. `report` is filled in on the way; `when_gone` is
        called as soon as it is gone, also where the caller was cancelled. Raises NotFoundError, UsageError,
        StorageError, OSError: then nothing is changed, or `report` says how far it came."""
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
        known: Collection[Erasure] = (),
        when_gone: Callable[[], None] = lambda: None,
    ) -> None:
        report.at, receipt_id = self._clock.now(), self._new_id()
        # Whatever ends the process from here on: the next wake does what is left to do. An earlier erasure that was
        # broken off has left one: that is still to be done.
        was_left = await self.unfinished()
        is_marked = was_left is None or was_left.is_file_alone

        def gone() -> None:
            report.is_committed = True
            when_gone()

        try:
            if is_marked:
                await self._leave_undone(Unfinished(receipt_id="" if known else receipt_id))
            reached(Step.ERASING_MARKED)
            async with self._store.making_up, self._store.space, self._store.snapshots.suspend_for_erasure():
                decided = await self._beside(decide)

                async def work(transaction: Transaction) -> ChangeSet:
                    for erasure in known:
                        await _put_erasure(transaction, erasure)
                    changes = await self._carry_out(transaction, await decided(transaction), by, report, receipt_id)
                    _require_wanted(report)
                    return changes

                await self._store.commit(work, gone)
        except BaseException as error:
            if not report.may_be_gone or (isinstance(error, ReveriesError) and not isinstance(error, StorageLostError)):
                report.is_given_up, report.may_be_gone = True, False
                if is_marked:
                    # Where the disk refuses that, too, the marker names a receipt that the memory has not.
                    with contextlib.suppress(OSError):
                        await self._leave_undone(was_left)
            raise
        reached(Step.ERASED)
        await self._store.deep.recount()
        await self.reload()
        scrubbed = await self._store.database.scrub(None if report.is_empty else copy)
        report.copied, report.is_whole = scrubbed.copied, scrubbed.is_whole
        if not report.is_whole:
            report.notes.append(_FILE_NOT_ANEW)
        log.info("erase.completed", receipt=report.receipt_id, rows=sum(report.counts.gone.values()))

    @property
    def marker(self) -> Path:
        """A file that stands there from before an erasure until its last trace is gone from the home; whoever cleans
        the home removes it."""
        path = self._store.database.path
        return path.with_name(f"{path.name}.erasing")

    async def _leave_undone(self, what: Unfinished | None) -> None:
        """Note it. A caller that is cancelled waits for the disk all the same: it may want to take it back."""
        writing = asyncio.get_running_loop().run_in_executor(None, leave_to_do, self.marker, what)
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            await asyncio.wait((writing,))
            raise

    async def unfinished(self) -> Unfinished | None:
        """What an erasure has left to do; of one that was broken off before anything was erased the file alone. Raises
        OSError, StorageError."""
        left = await asyncio.to_thread(left_to_do, self.marker)
        if left is None or left.is_file_alone:
            return left
        await self.reload()
        is_carried_out = left.receipt_id in self._erasures if left.receipt_id else self._stones is not None
        return left if is_carried_out else FILE_ALONE

    async def finish(self) -> bool:
        """Leave nothing in the memory's own files of what an erasure that was broken off had deleted already. Whether
        that is so now."""
        async with self._store.snapshots.suspend_for_erasure():
            pass
        return (await self._store.database.scrub()).is_whole

    async def _decide(self, reader: Reader, selection: Selection) -> ForgetDecision:
        decision = await asyncio.to_thread(decision_of, await read_rows(reader), selection)
        decision.beside = await read_asides(reader, decision.plan, decision.needle)
        return decision

    async def _beside(self, decide: _Decide) -> Callable[[Reader], Awaitable[ForgetDecision]]:
        """Decide while others write. What is returned gives the decision within a transaction: that one, where nothing
        was written since; else it is decided there."""
        database = self._store.database
        for _ in range(_MOST_LOOKS):
            before = database.commits
            async with database.moment() as reader:
                decision = await decide(reader)
            if database.commits == before:
                break

        async def decided(reader: Reader) -> ForgetDecision:
            return decision if database.commits == before else await decide(reader)

        return decided

    async def _carry_out(
        self, transaction: Transaction, decision: ForgetDecision, by: str, report: ForgetReport, receipt_id: str
    ) -> ChangeSet:
        rows, plan, needle = decision.rows, decision.plan, decision.needle
        report.items = await asyncio.to_thread(items_of, rows, plan)
        report.remade, report.holds = plan.remade, needle
        texts = await _whole_texts(transaction, plan)
        spans = _words_named(rows, plan, needle) if by in (BY_WORDS, BY_NAME) else set[tuple[str, ...]]()
        erasing = Erasing(self._store, transaction, plan, decision.beside, needle)
        changes = await erasing.apply(report.at)
        report.counts = erasing.counts
        report.notes = _notes(plan, erasing.counts, by)
        if report.is_empty:
            return changes
        texts += erasing.counts.lost_statements
        listed = [str(value) for rows in decision.beside.listed.values() for row in rows for value in tuple(row)[1:]]
        if by in (BY_WORDS, BY_NAME) and isinstance(needle, Needle):
            spans |= {span for text in listed for span in needle.spans(text)}
        stones = tombstones_for(self._key(), plan.ids, texts, spans)
        report.receipt_id, report.tombstones = receipt_id, len(stones)
        counts = {store: count for store, count in report.counts.gone.items() if count}
        erasure = Erasure(report.receipt_id, report.at, by, self._key(), counts, stones)
        await _put_erasure(transaction, erasure)
        return changes

    # --- archiving ---------------------------------------------------------------------------------------------------

    async def archive(self, selection: Selection) -> ForgetReport:
        """Take what is chosen out of everything that comes to mind; nothing is deleted. Raises NotFoundError,
        UsageError."""
        return await self._archive(selection, is_dry_run=False)

    async def _archive(self, selection: Selection, *, is_dry_run: bool) -> ForgetReport:
        report = ForgetReport(at=self._clock.now())
        decided = await self._beside(lambda reader: self._decide(reader, selection))

        async def work(transaction: Transaction) -> ChangeSet:
            decision = await decided(transaction)
            # Whole episodes: of some of one nothing is made anew, for nothing is lost.
            plan, report.holds = decision.plan, decision.needle
            episodes = frozenset(name for name in plan.touched if name not in decision.rows.relations.merged_into)
            report.items = [
                item for item in items_of(decision.rows, plan) if item.kind in ("episode", "turn", "thought")
            ]
            changes = await self._put_aside(transaction, episodes, plan, report)
            if is_dry_run:
                raise _DryRunDone
            return changes

        try:
            await self._store.commit(work)
        except _DryRunDone:
            return report
        await self._store.deep.recount()
        return report

    async def _put_aside(
        self, transaction: Transaction, episodes: frozenset[str], plan: ForgetPlan, report: ForgetReport
    ) -> ChangeSet:
        live = self._store.live
        ids, now = json.dumps(sorted(episodes)), report.at
        sources = [str(row["experience_id"]) for name in sorted(episodes) for row in await _sources(transaction, name)]
        await self._store.deep.erase(transaction, episodes, sources)
        report.counts.add("episodes", await transaction.run("forget.archive", {"ids": ids}))
        await transaction.run("forget.withdraw", {"ids": ids, "now": now})
        await transaction.run("forget.withdraw_ones", {"ids": json.dumps(sorted(plan.experiences)), "now": now})
        experiences = sorted({*sources, *plan.experiences})
        await take_out_of_summaries(transaction, experiences, report.holds)
        report.counts.add("experiences", len(experiences))
        await transaction.run_many(
            "deep.note",
            [{"episode_id": n, "at": now, "became": "dormant", "reason": _FORGOTTEN} for n in sorted(episodes)],
        )
        report.notes.append(
            "Nothing is deleted: it is only on disk, and neither a cue nor a thought nor a deep look finds it. "
            "What was learnt from it stays in the self-model. For good: --erase. To have it back: --bring-back"
        )
        leaving = tuple(sorted(name for name in episodes if name in live.graph))
        turns = tuple(live.turns.turn_id(row) for name in leaving for row in live.turns.rows_of(name))
        return ChangeSet(removed_ids=leaving, unindexed_turn_ids=turns)

    async def bring_back(self, selection: Selection) -> ForgetReport:
        """Bring back what is archived and chosen. Raises NotFoundError, UsageError."""
        report = ForgetReport(at=self._clock.now())
        async with self._store.database.moment() as reader:
            rows = await read_rows(reader)
        decision = await asyncio.to_thread(decision_of, rows, selection)
        archived = {row["id"] for row in await self._store.database.rows("forget.archived")}
        names = sorted(archived & decision.plan.touched)
        report.items = [item for item in items_of(rows, decision.plan) if item.id in names]
        sources = [one for name in names for one in rows.relations.episode_sources.get(name, ())]

        async def work(transaction: Transaction) -> ChangeSet:
            ids = json.dumps(sorted({*sources, *decision.plan.experiences}))
            await transaction.run("forget.readmit", {"ids": ids})
            return ChangeSet()

        await self._store.commit(work)
        report.counts.add("episodes", len(await DeepRecall(self._store, self._clock).wake_episodes(names, "owner")))
        return report

    # --- that it does not come back ----------------------------------------------------------------------------------

    @property
    def stones(self) -> Tombstones | None:
        """What was erased, to be asked; None when nothing was."""
        return self._stones

    def refuses(self, text: str, said_at: float) -> bool:
        """Whether words from outside were erased, and were said before that: they are not taken in again."""
        return self._stones is not None and said_at <= self._latest and self._stones(text)

    @property
    def _latest(self) -> float:
        return max((erasure.at for erasure in self._erasures.values()), default=float("-inf"))

    def _key(self) -> bytes:
        return next(iter(self._erasures.values())).key if self._erasures else self._fresh_key

    async def reload(self) -> list[Erasure]:
        """Read what was erased, from the memory and from the file beside it, and write into each what only the other
        has; the erasures that the memory did not know of, oldest first: an old copy came back."""
        in_memory = await self._in_memory()
        beside = file_beside(self._store.database.path)
        in_file = {one.id: one for one in await asyncio.to_thread(read_erasures, beside)}
        self._erasures = in_file | in_memory
        self._stones = merge_tombstones(self._erasures.values())
        if in_memory.keys() - in_file.keys():
            ordered = sorted(self._erasures.values(), key=lambda one: (one.at, one.id))
            await asyncio.to_thread(write_erasures, beside, ordered)
        return sorted((in_file[name] for name in in_file.keys() - in_memory.keys()), key=lambda one: one.at)

    async def erase_again(self) -> ForgetReport | None:
        """Where an old copy took the memory's place, erase from it what was erased; None where there is nothing to do.

        By id and by hash alone: nobody has to say the words again.
        """
        unknown = await self.reload()
        stones = merge_tombstones(unknown)
        if stones is None:
            return None
        until = max(erasure.at for erasure in unknown)

        async def decide(reader: Reader) -> ForgetDecision:
            decision = await asyncio.to_thread(decision_again, await read_rows(reader), stones, until)
            decision.beside = await read_asides(reader, decision.plan, decision.needle)
            return decision

        log.warning("erase.repeated", erasures=len(unknown))
        report = ForgetReport()
        await self._erase(decide, BY_ID, report, known=unknown)
        self.came_back = report
        return report

    async def _in_memory(self) -> dict[str, Erasure]:
        stones: dict[str, list[Tombstone]] = {}
        for row in await self._store.database.rows("forget.tombstones"):
            stone = Tombstone(row["kind"], bytes(row["hash"]), row["words"])
            stones.setdefault(row["erasure_id"], []).append(stone)
        return {
            row["id"]: Erasure(
                row["id"],
                row["erased_at"],
                row["chosen_by"],
                bytes(row["hash_key"]),
                json.loads(row["counts"]),
                stones.get(row["id"], []),
            )
            for row in await self._store.database.rows("forget.erasures")
        }


def _require_wanted(report: ForgetReport) -> None:
    """The last moment at which it can be left. Raises CancelledError, which takes the transaction back."""
    if report.is_given_up:
        raise asyncio.CancelledError
    report.may_be_gone = True


def _notes(plan: ForgetPlan, counts: ErasedCounts, by: str) -> list[str]:
    notes: list[str] = []
    if plan.remade:
        notes.append(
            f"{len(plan.remade)} episodes were made of other things too: they are made anew from what is left, in its "
            "own words, and slept on again."
        )
    if counts.gone.get("records of sleep"):
        notes.append("What the passes of sleep did with it can no longer be taken back.")
    if by in (BY_ID, BY_TIME):
        notes.append(
            "What was said about it in other words elsewhere is found by no id. To be sure: --matching WORDS, or "
            "--all-about NAME"
        )
    return notes


async def _whole_texts(transaction: Transaction, plan: ForgetPlan) -> list[str]:
    found = await transaction.rows("forget.turn_texts", {"ids": json.dumps(sorted(plan.turns))})
    return [str(row["text"]) for row in found]


def _words_named(rows: Rows, plan: ForgetPlan, needle: TextMatcher) -> set[tuple[str, ...]]:
    """The words that the owner named, as they stand in what goes: by hashes of these too it is known again. Where
    nobody named words there are none: of a code that somebody said, the hash of the code alone would be guessed."""
    if not isinstance(needle, Needle):
        return set()
    goes = plan.ids | plan.remade
    tables = rows.chosen_tables.values()
    return {span for table in tables for row in table if row["id"] in goes for span in needle.spans(row["text"])}


async def _put_erasure(transaction: Transaction, erasure: Erasure) -> None:
    await transaction.run(
        "forget.put_erasure",
        {
            "id": erasure.id,
            "erased_at": erasure.at,
            "chosen_by": erasure.chosen_by,
            "hash_key": erasure.key,
            "counts": counts_json(erasure.counts),
        },
    )
    await transaction.run_many(
        "forget.put_tombstone",
        [
            {"kind": stone.kind, "hash": stone.hash, "words": stone.words, "erasure_id": erasure.id}
            for stone in erasure.tombstones
        ],
    )


async def _sources(transaction: Transaction, episode_id: str) -> list[Row]:
    return await transaction.rows("deep.sources_of", {"id": episode_id})
