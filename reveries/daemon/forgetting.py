"""Carries out the owner's word to forget, in the whole home: the memory, what the mind has before it, files, copies."""

import asyncio
import contextlib
from collections.abc import Iterator
from dataclasses import replace

import msgspec
import structlog

from reveries import protocol
from reveries.daemon import home_files
from reveries.daemon.backup_keeper import copy_name
from reveries.daemon.home_files import InFiles
from reveries.daemon.mind import Mind
from reveries.errors import StorageError, StorageLostError, UsageError
from reveries.memory.forgetting.forgetting import ForgetReport
from reveries.memory.forgetting.needles import Needle
from reveries.memory.forgetting.selection import BY_ID, BY_NAME, BY_TIME, BY_WORDS, Item, Selection
from reveries.memory.forgetting.tombstones import FILE_ALONE, leave_to_do
from reveries.memory.views.search import period_of
from reveries.progress import ProgressCallback
from reveries.safe_text import one_line

_CUES = 8
_CUE_CHARS = 1_000
_SHOWN = 8
_LEAST_WORDS = 4


async def left_behind(mind: Mind, told: ForgetReport) -> list[protocol.ForgottenItem]:
    """The turns that would stay and say nearly the same as what would go, the most alike first."""
    gone = {item.id for item in told.items}
    said = [item.text for item in told.items if item.kind == "turn" and _has_content(item.text)]
    longest = sorted(said, key=len, reverse=True)[:_CUES]
    like = await mind.memory.turns_like([text[:_CUE_CHARS] for text in longest], gone, 2 * _SHOWN)
    return [
        protocol.ForgottenItem(turn.id, "turn", turn.said_at, one_line(f"{turn.speaker}: {turn.text}"))
        for turn in like
        if _has_content(turn.text)
    ][:_SHOWN]


def _has_content(text: str) -> bool:
    """ "I see." is like every other "I see."."""
    return len(text.split()) >= _LEAST_WORDS


_ITEMS_SHOWN = 300
_OUT_OF_REACH = (
    "Out of reach: what a hosted model was sent, copies outside the home folder (backups of this machine, too), and "
    "what the disk keeps of files that were removed."
)

NO_BACKUP = (
    "The backups from before are removed, and no new one could be made: there is none now. When there is room: "
    "reveries backup create."
)

log = structlog.get_logger("forgetting")


async def forget(
    mind: Mind, request: protocol.Forget, tell: ProgressCallback, told: ForgetReport | None = None
) -> protocol.Forgotten:
    """`told` is filled in while it is erased. Raises NotFoundError, UsageError, StorageError: then nothing is changed,
    or the error says what is left to do."""
    began = mind.clock.monotonic()
    selection = _selection(request, mind.clock.now())
    if request.bring_back:
        async with mind.activity.during_silence():
            told, files = await mind.memory.forgetting.bring_back(selection), InFiles()
    elif request.dry_run:
        told = await mind.memory.forgetting.preview(selection, erase=request.erase)
        files = await _files(mind, told) if request.erase and not told.is_empty else InFiles()
    elif request.erase:
        told = told or ForgetReport()
        files = await _erase(mind, selection, tell, told)
    else:
        async with mind.activity.during_silence():
            told, files = await mind.memory.forgetting.archive(selection), InFiles()
            mind.monologue.forget_all(told.holds)
    answer = _frame(request, told, files, mind.clock.monotonic() - began)
    left = await left_behind(mind, told) if answer.is_dry_run else []
    return msgspec.structs.replace(answer, left=left) if left else answer


async def scrub_after_restore(mind: Mind) -> None:
    """After waking: where an old copy had come back, or an erasure was broken off, what is left of it in the home goes
    too."""
    forgetting = mind.memory.forgetting
    again, mind.erased_again = mind.erased_again, None
    if again is None and not forgetting.marker.exists():
        return
    async with forgetting.alone:
        left = await forgetting.unfinished()
        if again is None and left is None:
            return
        if again is None and left == FILE_ALONE:  # Nobody has to be silent for that.
            await _note_what_is_left(mind, ForgetReport(is_whole=await forgetting.finish()))
            return
        async with mind.activity.during_silence():
            told = again or ForgetReport(holds=forgetting.stones or Needle(), is_whole=await forgetting.finish())
            await _scrub_files(mind, told, await _files(mind, told), lambda what, done, total: None)


async def _erase(mind: Mind, selection: Selection, tell: ProgressCallback, told: ForgetReport) -> InFiles:
    copy = mind.home.backups / copy_name(mind.clock.now())
    forgetting = mind.memory.forgetting

    def gone() -> None:
        """Whatever comes of the rest: no prompt has it any more."""
        mind.monologue.forget_all(told.holds)
        mind.conversations.forget_context()
        mind.knowledge.search.drop_all()

    async with forgetting.alone, mind.activity.during_silence():
        tell("erasing", 0, 3)
        with _told_when_half_done(told):
            left = await forgetting.unfinished()
            await forgetting.erase(selection, copy, told, gone)
            files = await _files(mind, told)
            if left is not None and left != FILE_ALONE:
                # An earlier one was broken off: by its hashes alone, for nobody says its words now.
                earlier = ForgetReport(holds=forgetting.stones or Needle())
                await asyncio.to_thread(home_files.scrub, mind.home, await _files(mind, earlier), earlier.holds)
            elif told.is_empty:
                files = replace(files, copies=())
            await _scrub_files(mind, told, files, tell, copy.name)
    mind.conversations.want_warmth()
    return files


@contextlib.contextmanager
def _told_when_half_done(told: ForgetReport) -> Iterator[None]:
    """Where the disk fails after the rows are gone, say so: "nothing is changed" would be untrue."""
    try:
        yield
    except (OSError, StorageError) as error:
        is_nothing = not told.may_be_gone or (told.is_committed and told.is_empty)
        if isinstance(error, StorageError) and is_nothing:
            raise
        why = error.strerror or type(error).__name__ if isinstance(error, OSError) else error.message
        # Who is to end the mind where its storage is lost must see that it is.
        kind = type(error) if isinstance(error, StorageLostError) else StorageError
        advice = "Free some room or look at the disk."
        if is_nothing:
            raise kind(f"Nothing is erased: {why.rstrip('.')}.", advice=advice) from error
        first = "It is" if told.is_gone else "It may be"
        raise kind(
            f"{first} erased from the memory, but copies and files may still hold it: {why.rstrip('.')}.",
            advice=f"{advice} The next wake does the rest: reveries sleep, reveries wake.",
        ) from error


async def _scrub_files(mind: Mind, told: ForgetReport, files: InFiles, tell: ProgressCallback, copy: str = "") -> None:
    tell("erasing from logs and drafts", 1, 3)
    await asyncio.to_thread(home_files.scrub, mind.home, files, told.holds)
    await mind.projects.drop_folder_copies()
    if files.copies:
        tell("making a new backup in the place of the old ones", 2, 3)
        if told.copied is not None:
            mind.health.backup_made(told.copied)
        await _replace_copies(mind, told, copy if told.copied is not None else "")
    await _note_what_is_left(mind, told)


async def _note_what_is_left(mind: Mind, told: ForgetReport) -> None:
    """Where traces are left in the memory's file, the next wake is to write that anew, and nothing else."""
    if not told.is_whole:
        log.warning("erasing.file_not_anew")
    mind.health.has_traces = not told.is_whole
    marker = mind.memory.forgetting.marker
    await asyncio.to_thread(leave_to_do, marker, None if told.is_whole else FILE_ALONE)


async def _replace_copies(mind: Mind, told: ForgetReport, made: str) -> None:
    """One new backup in the place of the old ones; `made` is its name where there is one already. First the new one, so
    that at no time there is none; where there is no room for that the old ones go all the same, on the owner's word."""
    with contextlib.suppress(StorageError):  # Tried again below: the old ones took the room.
        made = made or await mind.backups.back_up()
    rest = home_files.copies(mind.home, mind.database.path, but=made)
    await asyncio.to_thread(home_files.remove_copies, rest)
    try:
        if not made:
            await mind.backups.back_up()
    except StorageError as error:
        told.notes.append(f"{NO_BACKUP} {error}")
        log.warning("erasing.no_backup", why=error.for_log)


async def _files(mind: Mind, told: ForgetReport) -> InFiles:
    return await asyncio.to_thread(home_files.look, mind.home, mind.database.path, told.holds)


def _selection(request: protocol.Forget, now: float) -> Selection:
    by_time = bool(request.since.strip() or request.until.strip())
    given = [bool(request.id.strip()), bool(request.matching.strip()), bool(request.about.strip()), by_time]
    if sum(given) != 1:
        raise UsageError(
            "Say what to forget, in one way." if any(given) else "There is nothing named to forget.",
            advice='An id, --matching "words", --all-about NAME, or --since and --until.',
        )
    if by_time:
        period = period_of(request.since, request.until, now)
        since = period.start if period.start is not None else float("-inf")
        return Selection(BY_TIME, since=since, until=period.end if period.end is not None else float("inf"))
    if request.matching.strip():
        return Selection(BY_WORDS, request.matching.strip())
    if request.about.strip():
        return Selection(BY_NAME, request.about.strip())
    return Selection(BY_ID, request.id.strip())


def _frame(request: protocol.Forget, told: ForgetReport, files: InFiles, seconds: float) -> protocol.Forgotten:
    counts = told.counts
    stores = [
        protocol.ForgottenStore(name, gone, counts.remade.get(name, 0))
        for name, gone in counts.gone.items()
        if gone or counts.remade.get(name)
    ]
    in_files = {
        "lines of logs": files.log_lines,
        "drafts": len(files.drafts),
        "cached files": len(files.caches),
        "copies of the whole memory": len(files.copies),
    }
    stores += [protocol.ForgottenStore(name, count) for name, count in in_files.items() if count]
    notes = [*told.notes]
    if files.copies and not any(note.startswith(NO_BACKUP) for note in notes):
        notes.append(
            "The backups and other copies from before hold it: they are removed, and one new backup is made in their "
            "place. There is no way back to a time before this."
        )
    notes += [f"This file of yours holds it and is left to you: {one_line(str(file), 300)}" for file in files.others]
    if request.erase:
        notes.append(_OUT_OF_REACH)
    return protocol.Forgotten(
        request_id=request.request_id,
        is_dry_run=request.dry_run and not request.bring_back,
        is_erased=request.erase and not request.bring_back,
        receipt_id="" if request.dry_run else told.receipt_id,
        at=told.at,
        stores=stores,
        # Content is shown to whoever has to agree to it, and stands in no receipt.
        items=[_item(one, told) for one in told.items[:_ITEMS_SHOWN]] if request.dry_run else [],
        item_count=len(told.items),
        notes=notes,
        tombstones=0 if request.dry_run else told.tombstones,
        seconds=seconds,
    )


def _item(item: Item, told: ForgetReport) -> protocol.ForgottenItem:
    return protocol.ForgottenItem(item.id, item.kind, item.at, one_line(item.text), is_remade=item.id in told.remade)
