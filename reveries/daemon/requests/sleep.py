"""Sleep requests: a pass, a preview, the log, undo, contradictions."""

from collections.abc import Iterable, Sequence

import msgspec

from reveries import protocol
from reveries.daemon.requests.registry import Call, handles
from reveries.llm.base import Role
from reveries.memory.claims import Claim, Conflict
from reveries.memory.sleep.pass_log import RunDetail
from reveries.safe_text import one_line, plain

_SUMMARY_CHARS = 700
_MAX_CHARS = 1_000_000
"""Limit for summaries and lines in one frame."""

_SLEEP_ASKED_FOR = "You asked for sleep."


@handles(protocol.Consolidate)
async def consolidate_memory(call: Call, request: protocol.Consolidate) -> protocol.Consolidated:
    progress = call.progress_for_all("consolidating")
    with call.mind.activity.displacing_work(_SLEEP_ASKED_FOR):
        report = await call.mind.sleep.consolidate(request.limit, trigger="owner", progress=progress)
    log = [plain(line) for line in report.log]
    return msgspec.structs.replace(report, request_id=request.request_id, log=log, question=plain(report.question))


@handles(protocol.PreviewSleep)
async def preview_sleep(call: Call, request: protocol.PreviewSleep) -> protocol.SleepPreview:
    ledger = call.mind.ledger
    before = {use.role: use for use in await ledger.usage_today()}[Role.CONSOLIDATION]
    with call.mind.activity.displacing_work(_SLEEP_ASKED_FOR):
        preview = await call.mind.sleep.preview(request.limit, call.progress_for_all("checking what waits"))
    after = {use.role: use for use in await ledger.usage_today()}[Role.CONSOLIDATION]
    return preview_frame(request.request_id, preview, before, after)


@handles(protocol.AskSleepLog)
async def show_sleep_log(call: Call, request: protocol.AskSleepLog) -> protocol.SleepLog:
    return protocol.SleepLog(
        request.request_id, [_run_frame(entry) for entry in await call.mind.memory.sleep_log(request.limit)]
    )


@handles(protocol.InspectSleep)
async def show_sleep_run(call: Call, request: protocol.InspectSleep) -> protocol.SleepRunDetail:
    return _detail_frame(request.request_id, await call.mind.memory.sleep_run(request.run_id))


@handles(protocol.UndoSleep)
async def undo_sleep(call: Call, request: protocol.UndoSleep) -> protocol.SleepUndone:
    undone = await call.mind.sleep.take_back(request.run_id, through=request.through)
    return protocol.SleepUndone(
        request.request_id, [protocol.UndoneRun(run.run_id, run.undo_id, plain(run.line)) for run in undone]
    )


@handles(protocol.AnswerSleep)
async def answer_sleep(call: Call, request: protocol.AnswerSleep) -> protocol.SleepAnswered:
    line = await call.mind.sleep.answer(request.run_id, do_it=request.do_it)
    return protocol.SleepAnswered(request.request_id, request.run_id, plain(line))


@handles(protocol.AskContradictions)
async def list_contradictions(call: Call, request: protocol.AskContradictions) -> protocol.Contradictions:
    conflicts = await call.mind.memory.contradictions(with_settled=request.with_settled)
    return protocol.Contradictions(request.request_id, [_contradiction_frame(conflict) for conflict in conflicts])


@handles(protocol.SettleContradiction)
async def settle_contradiction(call: Call, request: protocol.SettleContradiction) -> protocol.Contradictions:
    settled = await call.mind.memory.settle_contradiction(request.conflict_id, request.keep)
    return protocol.Contradictions(request.request_id, [_contradiction_frame(settled)])


def preview_frame(
    number: int, preview: protocol.SleepPreview, before: protocol.UsageToday, after: protocol.UsageToday
) -> protocol.SleepPreview:
    """Build the frame of a preview, with its own cost: the difference of the role's usage before and after."""
    changes = _changes_that_fit(preview.changes)
    return msgspec.structs.replace(
        preview,
        request_id=number,
        changes=changes,
        calls=after.calls - before.calls,
        tokens=_role_tokens(after) - _role_tokens(before),
        dollars=after.dollars - before.dollars,
        left_off=len(preview.changes) - len(changes),
    )


def _detail_frame(number: int, detail: RunDetail) -> protocol.SleepRunDetail:
    changes = _changes_that_fit(detail.changes)
    return protocol.SleepRunDetail(number, _run_frame(detail.run), changes, len(detail.changes) - len(changes))


def _changes_that_fit(diffs: Sequence[protocol.SleepChange]) -> list[protocol.SleepChange]:
    """Convert as many changes as fit into a frame, from the first on."""
    changes: list[protocol.SleepChange] = []
    chars = 0
    for diff in diffs:
        change = _change_frame(diff)
        chars += len(change.line) + sum(map(len, change.self_model)) + 80 * len(change.new_links)
        chars += sum(len(episode.old_summary) + len(episode.new_summary) + 100 for episode in change.episodes)
        if chars > _MAX_CHARS and changes:
            break
        changes.append(change)
    return changes


def _run_frame(run: protocol.SleepRun) -> protocol.SleepRun:
    return msgspec.structs.replace(
        run, trigger=one_line(run.trigger), outcome=one_line(run.outcome), question=plain(run.question)
    )


def _change_frame(change: protocol.SleepChange) -> protocol.SleepChange:
    return msgspec.structs.replace(
        change,
        line=plain(change.line),
        episodes=[_episode_frame(episode) for episode in change.episodes],
        superseded=_plain_lines(change.superseded),
        self_model=_plain_lines(change.self_model),
    )


def _episode_frame(episode: protocol.ChangedEpisode) -> protocol.ChangedEpisode:
    return msgspec.structs.replace(
        episode,
        old_summary=one_line(episode.old_summary, _SUMMARY_CHARS),
        new_summary=one_line(episode.new_summary, _SUMMARY_CHARS),
        added_quotes=_plain_lines(episode.added_quotes),
    )


def _contradiction_frame(conflict: Conflict) -> protocol.Contradiction:
    return protocol.Contradiction(
        conflict_id=conflict.id,
        kind=conflict.kind,
        reason=conflict.reason,
        earlier=_claim_frame(conflict.earlier),
        later=_claim_frame(conflict.later),
        settled=conflict.settled,
    )


def _claim_frame(claim: Claim) -> protocol.ClaimSaid:
    return protocol.ClaimSaid(
        quote=one_line(claim.quote, _SUMMARY_CHARS),
        speaker=one_line(claim.speaker, 80),
        said_at=claim.said_at,
        origin=claim.origin.value,
        turn_id=claim.turn_id,
    )


def _plain_lines(lines: Iterable[str]) -> list[str]:
    return [one_line(text, _SUMMARY_CHARS) for text in lines]


def _role_tokens(use: protocol.UsageToday) -> int:
    return use.prompt_tokens + use.completion_tokens
