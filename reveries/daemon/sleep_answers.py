"""What the owner asks about passes of sleep, and the answers as frames. Nothing is decided here."""

from collections.abc import Iterable, Sequence
from typing import assert_never

from reveries import protocol
from reveries.daemon.mind import Mind
from reveries.llm.budget import RoleUsage
from reveries.memory.sleep.claims import Claim, Conflict
from reveries.memory.sleep.preview import Preview
from reveries.memory.sleep.run_log import ChangeDiff, EpisodeDiff, RunDetail, RunEntry
from reveries.plaintext import one_line, plain

SleepQuestion = (
    protocol.AskSleepLog
    | protocol.InspectSleep
    | protocol.UndoSleep
    | protocol.AnswerSleep
    | protocol.AskContradictions
    | protocol.SettleContradiction
)

_SUMMARY_CHARS = 700
_MAX_CHARS = 1_000_000
"""Of summaries and lines in one frame."""


async def answer_about_sleep(mind: Mind, request: SleepQuestion) -> protocol.Frame:
    """The answer to one of these requests. Raises ReveriesError."""
    number = request.request_id
    match request:
        case protocol.AskSleepLog():
            return protocol.SleepLog(number, [_run(entry) for entry in await mind.memory.sleep_log(request.limit)])
        case protocol.InspectSleep():
            return _detail(number, await mind.memory.sleep_run(request.run_id))
        case protocol.UndoSleep():
            undone = await mind.take_back(request.run_id, through=request.through)
            return protocol.SleepUndone(
                number, [protocol.UndoneRun(one.run_id, one.undo_id, plain(one.line)) for one in undone]
            )
        case protocol.AnswerSleep():
            line = await mind.answer_sleep(request.run_id, do_it=request.do_it)
            return protocol.SleepAnswered(number, request.run_id, plain(line))
        case protocol.AskContradictions():
            found = await mind.memory.contradictions(with_settled=request.with_settled)
            return protocol.Contradictions(number, [_contradiction(one) for one in found])
        case protocol.SettleContradiction():
            settled = await mind.memory.settle_contradiction(request.conflict_id, request.keep)
            return protocol.Contradictions(number, [_contradiction(settled)])
        case _:
            assert_never(request)


def preview_frame(number: int, preview: Preview, before: RoleUsage, after: RoleUsage) -> protocol.SleepPreview:
    """What a pass would do, with what asking has cost: the difference of the role's usage before and after."""
    changes = _fitting(preview.changes)
    return protocol.SleepPreview(
        request_id=number,
        changes=changes,
        fallbacks=preview.fallbacks,
        left=preview.left,
        would_ask=preview.would_ask,
        was_interrupted=preview.was_interrupted,
        seconds=preview.seconds,
        calls=after.calls - before.calls,
        tokens=_tokens(after) - _tokens(before),
        dollars=after.dollars - before.dollars,
        left_off=len(preview.changes) - len(changes),
    )


def _detail(number: int, detail: RunDetail) -> protocol.SleepRunDetail:
    changes = _fitting(detail.changes)
    return protocol.SleepRunDetail(number, _run(detail.run), changes, len(detail.changes) - len(changes))


def _fitting(diffs: Sequence[ChangeDiff]) -> list[protocol.SleepChange]:
    """As many as a frame has room for, from the first on."""
    changes: list[protocol.SleepChange] = []
    chars = 0
    for diff in diffs:
        change = _change(diff)
        chars += len(change.line) + sum(map(len, change.self_model)) + 80 * len(change.new_links)
        chars += sum(len(one.old_summary) + len(one.new_summary) + 100 for one in change.episodes)
        if chars > _MAX_CHARS and changes:
            break
        changes.append(change)
    return changes


def _run(entry: RunEntry) -> protocol.SleepRun:
    return protocol.SleepRun(
        run_id=entry.id,
        depth=entry.depth,
        trigger=one_line(entry.trigger),
        began_at=entry.began_at,
        ended_at=entry.ended_at,
        processed=entry.processed,
        created=entry.created,
        merged=entry.merged,
        fallbacks=entry.fallbacks,
        outcome=one_line(entry.outcome),
        undone_by=entry.undone_by,
        undoes=entry.undoes,
        question=plain(entry.question),
    )


def _change(diff: ChangeDiff) -> protocol.SleepChange:
    return protocol.SleepChange(
        experience_id=diff.experience_id,
        line=plain(diff.line),
        episodes=[_episode(one) for one in diff.episodes],
        new_links=[
            protocol.NewLink(link.source_id, link.target_id, link.type.value, link.strength) for link in diff.new_links
        ],
        stronger_links=diff.stronger_links,
        superseded=_plain_lines(diff.superseded),
        self_model=_plain_lines(diff.self_model),
    )


def _episode(diff: EpisodeDiff) -> protocol.ChangedEpisode:
    return protocol.ChangedEpisode(
        episode_id=diff.episode_id,
        what=diff.what,
        old_summary=one_line(diff.old_summary, _SUMMARY_CHARS),
        new_summary=one_line(diff.new_summary, _SUMMARY_CHARS),
        merged_into=diff.merged_into,
        added_quotes=_plain_lines(diff.added_quotes),
        old_salience=diff.old_salience,
        new_salience=diff.new_salience,
    )


def _contradiction(conflict: Conflict) -> protocol.Contradiction:
    return protocol.Contradiction(
        conflict_id=conflict.id,
        kind=conflict.kind,
        reason=conflict.reason,
        earlier=_said(conflict.earlier),
        later=_said(conflict.later),
        settled=conflict.settled,
    )


def _said(claim: Claim) -> protocol.ClaimSaid:
    return protocol.ClaimSaid(
        quote=one_line(claim.quote, _SUMMARY_CHARS),
        speaker=one_line(claim.speaker, 80),
        said_at=claim.said_at,
        origin=claim.origin.value,
        turn_id=claim.turn_id,
    )


def _plain_lines(lines: Iterable[str]) -> list[str]:
    return [one_line(text, _SUMMARY_CHARS) for text in lines]


def _tokens(use: RoleUsage) -> int:
    return use.prompt_tokens + use.completion_tokens
