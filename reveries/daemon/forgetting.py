"""Forgets what the owner names, in the whole home: the memory, the prompt context, files and backups."""

import asyncio
import contextlib
from collections.abc import Iterator
from dataclasses import replace

import msgspec
import structlog

from reveries import protocol
from reveries.daemon.lifecycle.backup_keeper import backup_name
from reveries.daemon.mind import Mind
from reveries.daemon.process import home_files
from reveries.daemon.process.home_files import FileTraces
from reveries.errors import StorageError, StorageLostError, UsageError
from reveries.memory.forgetting.forgetting import ForgetReport
from reveries.memory.forgetting.needles import Needle
from reveries.memory.forgetting.selection import BY_DOCUMENT, BY_ID, BY_NAME, BY_TIME, BY_WORDS, ForgetItem, Selection
from reveries.memory.forgetting.tombstones import FILE_ONLY, write_marker
from reveries.memory.views.search import parse_period
from reveries.progress import ProgressCallback
from reveries.safe_text import one_line

_CUES = 8
_CUE_CHARS = 1_000
_SHOWN = 8
_LEAST_WORDS = 4


async def find_similar_turns(mind: Mind, report: ForgetReport) -> list[protocol.ForgottenItem]:
    """Return the turns that would stay and say nearly the same as what would be forgotten, most similar first."""
    forgotten_ids = {item.id for item in report.items}
    texts = [item.text for item in report.items if item.kind == "turn" and _has_content(item.text)]
    longest = sorted(texts, key=len, reverse=True)[:_CUES]
    similar = await mind.memory.turns_like([text[:_CUE_CHARS] for text in longest], forgotten_ids, 2 * _SHOWN)
    return [
        protocol.ForgottenItem(turn.id, "turn", turn.said_at, one_line(f"{turn.speaker}: {turn.text}"))
        for turn in similar
        if _has_content(turn.text)
    ][:_SHOWN]


def _has_content(text: str) -> bool:
    """Whether `text` is long enough to compare: "I see." is similar to every other "I see."."""
    return len(text.split()) >= _LEAST_WORDS


_ITEMS_SHOWN = 300
_OUT_OF_REACH = (
    "Out of reach: what was sent to a hosted model, copies outside the home folder (also in backups of this machine), "
    "and what the disk keeps of deleted files."
)

NO_BACKUP = (
    "The earlier backups are deleted, but a new one could not be created, so there is none now. When there is disk "
    "space: reveries backup create."
)

log = structlog.get_logger("forgetting")


async def forget(
    mind: Mind, request: protocol.Forget, report_progress: ProgressCallback, report: ForgetReport | None = None
) -> protocol.Forgotten:
    """Forget, or show what would be forgotten; `report` is filled in during the erasure. Raises NotFoundError,
    UsageError, StorageError: then nothing is changed, or the error says what is left to do."""
    began = mind.clock.monotonic()
    selection = await _find_document(mind, request) or _parse_selection(
        request, mind.clock.now(), is_day_first=mind.memory.live.is_day_first
    )
    if request.bring_back:
        async with mind.activity.during_silence():
            report, files = await mind.memory.forgetting.restore(selection), FileTraces()
    elif request.dry_run:
        report = await mind.memory.forgetting.preview(selection, erase=request.erase)
        files = await _find_files(mind, report) if request.erase and not report.is_empty else FileTraces()
    elif request.erase:
        report = report or ForgetReport()
        files = await _erase(mind, selection, report_progress, report)
    else:
        async with mind.activity.during_silence():
            report, files = await mind.memory.forgetting.archive(selection), FileTraces()
            mind.monologue.forget_all(report.matches)
    answer = _forgotten_frame(request, report, files, mind.clock.monotonic() - began)
    left = await find_similar_turns(mind, report) if answer.is_dry_run else []
    return msgspec.structs.replace(answer, left=left) if left else answer


async def scrub_after_restore(mind: Mind) -> None:
    """Finish an interrupted erasure after a start, or erase again what a restored backup brought back, in all files."""
    forgetting = mind.memory.forgetting
    again, mind.erased_again = mind.erased_again, None
    if again is None and not forgetting.marker.exists():
        return
    async with forgetting.erasure_lock:
        left = await forgetting.find_unfinished()
        if again is None and left is None:
            return
        if again is None and left == FILE_ONLY:  # This needs no silence.
            await _record_traces(mind, ForgetReport(is_scrubbed=await forgetting.finish_scrubbing()))
            return
        async with mind.activity.during_silence():
            report = again or ForgetReport(
                matches=forgetting.tombstones or Needle(), is_scrubbed=await forgetting.finish_scrubbing()
            )
            await _scrub_files(mind, report, await _find_files(mind, report), lambda what, done, total: None)


async def _erase(
    mind: Mind, selection: Selection, report_progress: ProgressCallback, report: ForgetReport
) -> FileTraces:
    copy = mind.home.backups / backup_name(mind.clock.now())
    forgetting = mind.memory.forgetting

    def drop_from_prompts() -> None:
        """Remove it from every prompt, even if the rest of the erasure fails."""
        mind.monologue.forget_all(report.matches)
        mind.conversations.forget_context()
        mind.knowledge.search.drop_all()
        mind.knowledge.places.drop_all()
        mind.projects.store.facts.drop_all()

    async with forgetting.erasure_lock, mind.activity.during_silence():
        report_progress("erasing", 0, 3)
        with _explain_failure(report):
            left = await forgetting.find_unfinished()
            await forgetting.erase(selection, copy, report, drop_from_prompts)
            files = await _find_files(mind, report)
            if left is not None and left != FILE_ONLY:
                # Finish an interrupted erasure by its hashes; its words are not known any more.
                earlier = ForgetReport(matches=forgetting.tombstones or Needle())
                await asyncio.to_thread(home_files.scrub, mind.home, await _find_files(mind, earlier), earlier.matches)
            elif report.is_empty:
                files = replace(files, copies=())
            await _scrub_files(mind, report, files, report_progress, copy.name)
    mind.conversations.request_read_ahead()
    return files


@contextlib.contextmanager
def _explain_failure(report: ForgetReport) -> Iterator[None]:
    """Raise a StorageError that says how much is erased: after the commit, "nothing is changed" would be untrue."""
    try:
        yield
    except (OSError, StorageError) as error:
        is_unchanged = not report.may_be_gone or (report.is_committed and report.is_empty)
        if isinstance(error, StorageError) and is_unchanged:
            raise
        why = error.strerror or type(error).__name__ if isinstance(error, OSError) else error.message
        # Keep the kind of error: lost storage must end the mind.
        kind = type(error) if isinstance(error, StorageLostError) else StorageError
        advice = "Free some disk space or check the disk."
        if is_unchanged:
            raise kind(f"Nothing is erased: {why.rstrip('.')}.", advice=advice) from error
        first = "It is" if report.is_gone else "It may be"
        raise kind(
            f"{first} erased from the memory, but copies and files may still hold it: {why.rstrip('.')}.",
            advice=f"{advice} The next wake finishes it: reveries sleep, reveries wake.",
        ) from error


async def _scrub_files(
    mind: Mind, report: ForgetReport, files: FileTraces, report_progress: ProgressCallback, copy: str = ""
) -> None:
    report_progress("erasing from logs and drafts", 1, 3)
    await asyncio.to_thread(home_files.scrub, mind.home, files, report.matches)
    await mind.projects.drop_folder_copies()
    await mind.documents.library.drop_unneeded_files(with_backups=True)
    if files.copies:
        report_progress("replacing the old backups by a new one", 2, 3)
        if report.copied is not None:
            mind.health.note_backup(report.copied)
        await _replace_copies(mind, report, copy if report.copied is not None else "")
    await _record_traces(mind, report)


async def _record_traces(mind: Mind, report: ForgetReport) -> None:
    """Have the next wake rewrite the memory file, and nothing else, if traces remain in it."""
    if not report.is_scrubbed:
        log.warning("erase.rewrite_failed")
    mind.health.has_traces = not report.is_scrubbed
    marker = mind.memory.forgetting.marker
    await asyncio.to_thread(write_marker, marker, None if report.is_scrubbed else FILE_ONLY)


async def _replace_copies(mind: Mind, report: ForgetReport, new_name: str) -> None:
    """Replace the old backups by one new backup; `new_name` is its name if it exists already. The new one is created
    first, so that there is always one; without room for it the old ones are deleted anyway, as the owner asked."""
    with contextlib.suppress(StorageError):  # Tried again below, when the old ones are deleted.
        new_name = new_name or await mind.backups.back_up()
    rest = home_files.list_copies(mind.home, mind.database.path, but=new_name)
    await asyncio.to_thread(home_files.remove_copies, rest)
    try:
        if not new_name:
            await mind.backups.back_up()
    except StorageError as error:
        report.has_no_backup = True
        report.notes.append(f"{NO_BACKUP} {error}")
        log.warning("erase.backup_failed", why=error.for_log)


async def _find_files(mind: Mind, report: ForgetReport) -> FileTraces:
    return await asyncio.to_thread(home_files.find_traces, mind.home, mind.database.path, report.matches)


async def _find_document(mind: Mind, request: protocol.Forget) -> Selection | None:
    """Return the selection of the document that a request names; None if it names none. Raises NotFoundError,
    UsageError."""
    if request.document is msgspec.UNSET:
        return None
    others = (request.id, request.matching, request.about, request.since, request.until)
    if any(other.strip() for other in others) or request.project is msgspec.UNSET:
        raise UsageError("Name a document with its project, and nothing else.", advice="--document NAME --project NAME")
    if not request.erase:
        raise UsageError(
            "A document is not archived.",
            advice="To take it out: reveries document remove. To delete its words for good: --erase.",
        )
    project = await mind.projects.store.find(request.project)
    return Selection(BY_DOCUMENT, (await mind.documents.library.find(project, request.document)).document.id)


def _parse_selection(request: protocol.Forget, now: float, *, is_day_first: bool) -> Selection:
    by_time = bool(request.since.strip() or request.until.strip())
    given = [bool(request.id.strip()), bool(request.matching.strip()), bool(request.about.strip()), by_time]
    if sum(given) != 1:
        raise UsageError(
            "Name what to forget in only one way." if any(given) else "Name what to forget.",
            advice='An id, --matching "words", --all-about NAME, or --since and --until.',
        )
    if by_time:
        period = parse_period(request.since, request.until, now, is_day_first=is_day_first)
        since = period.start if period.start is not None else float("-inf")
        return Selection(BY_TIME, since=since, until=period.end if period.end is not None else float("inf"))
    if request.matching.strip():
        return Selection(BY_WORDS, request.matching.strip())
    if request.about.strip():
        return Selection(BY_NAME, request.about.strip())
    return Selection(BY_ID, request.id.strip())


def _forgotten_frame(
    request: protocol.Forget, report: ForgetReport, files: FileTraces, seconds: float
) -> protocol.Forgotten:
    counts = report.counts
    stores = [
        protocol.ForgottenStore(name, gone, counts.rebuilt.get(name, 0))
        for name, gone in counts.gone.items()
        if gone or counts.rebuilt.get(name)
    ]
    in_files = {
        "lines of logs": files.log_lines,
        "drafts": len(files.drafts),
        "cached files": len(files.caches),
        "copies of the whole memory": len(files.copies),
    }
    stores += [protocol.ForgottenStore(name, count) for name, count in in_files.items() if count]
    notes = [*report.notes]
    if files.copies and not report.has_no_backup:
        notes.append(
            "The earlier backups and copies contain it. They are deleted and replaced by one new backup, so you cannot "
            "go back to a time before this."
        )
    notes += [
        f"Your own file still contains it; delete it there yourself: {one_line(str(file), 300)}"
        for file in files.others
    ]
    if request.erase:
        notes.append(_OUT_OF_REACH)
    return protocol.Forgotten(
        request_id=request.request_id,
        is_dry_run=request.dry_run and not request.bring_back,
        is_erased=request.erase and not request.bring_back,
        receipt_id="" if request.dry_run else report.receipt_id,
        at=report.at,
        stores=stores,
        # Content is shown for confirmation only; a receipt contains none.
        items=[_forgotten_item(reported, report) for reported in report.items[:_ITEMS_SHOWN]]
        if request.dry_run
        else [],
        item_count=len(report.items),
        notes=notes,
        tombstones=0 if request.dry_run else report.tombstones,
        seconds=seconds,
    )


def _forgotten_item(item: ForgetItem, report: ForgetReport) -> protocol.ForgottenItem:
    return protocol.ForgottenItem(item.id, item.kind, item.at, one_line(item.text), is_remade=item.id in report.rebuilt)
