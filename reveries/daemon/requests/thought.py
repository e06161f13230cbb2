"""Monologue requests: watch it, read its log, control it, notes."""

import contextlib

from reveries import protocol
from reveries.daemon.requests.registry import Call, handles
from reveries.monologue.observers import ThoughtEnd, ThoughtEvent, ThoughtPiece, ThoughtStart
from reveries.monologue.thought import Reactivation, ThinkingReason
from reveries.safe_text import one_line, plain


@handles(protocol.Observe)
async def watch_thoughts(call: Call, request: protocol.Observe) -> None:
    """Stream the monologue until the watcher stops. A slow watcher misses pieces; the thought never waits (R-39)."""
    outbox = call.session.outbox
    async with contextlib.aclosing(call.mind.monologue.cycle.observers.watch()) as events:
        async for event in events:
            frame = thought_frame(request.request_id, event)
            (outbox.send_piece if isinstance(frame, protocol.ThoughtToken) else outbox.send)(frame)


@handles(protocol.AskThoughts)
async def list_thoughts(call: Call, request: protocol.AskThoughts) -> protocol.Thoughts:
    return protocol.Thoughts(request.request_id, await call.mind.sources.entries(request.since, request.limit))


@handles(protocol.ControlThinking)
async def control_thinking(call: Call, request: protocol.ControlThinking) -> protocol.ThinkingControlled:
    if request.do == "step":
        await call.mind.thinking.ask(Reactivation(ThinkingReason.STEP))
    else:
        await call.mind.thinking.pause(is_paused=request.do == "pause")
    return _controlled_frame(call)


@handles(protocol.NudgeThinking)
async def nudge_thinking(call: Call, request: protocol.NudgeThinking) -> protocol.ThinkingControlled:
    await call.mind.thinking.ask(Reactivation(ThinkingReason.NUDGE, plain(request.about)))
    return _controlled_frame(call)


@handles(protocol.ReleaseThinking)
async def release_thinking(call: Call, request: protocol.ReleaseThinking) -> protocol.ThinkingReleased:
    because = await call.mind.thinking.release()
    return protocol.ThinkingReleased(request.request_id, because is not None, because or "")


@handles(protocol.MarkThought)
async def mark_thought(call: Call, request: protocol.MarkThought) -> protocol.ThoughtMarked:
    thinking = call.mind.thinking
    if request.mark == "pin":
        return protocol.ThoughtMarked(request.request_id, await thinking.pin(request.thought_id), "pinned")
    return protocol.ThoughtMarked(request.request_id, await thinking.drop(request.thought_id), "dropped")


@handles(protocol.AskNotes)
async def list_notes(call: Call, request: protocol.AskNotes) -> protocol.Notes:
    return _notes_frame(call, await call.mind.thinking.notes.latest(request.limit))


@handles(protocol.DismissNote)
async def dismiss_note(call: Call, request: protocol.DismissNote) -> protocol.Notes:
    return _notes_frame(call, [await call.mind.thinking.notes.dismiss(request.note_id)])


def _controlled_frame(call: Call) -> protocol.ThinkingControlled:
    state, detail = call.mind.activity.state()
    return protocol.ThinkingControlled(call.request_id, state, one_line(detail), call.mind.permission.is_paused)


def _notes_frame(call: Call, notes: list[protocol.Note]) -> protocol.Notes:
    return protocol.Notes(call.request_id, notes, call.mind.settings.monologue.notes_per_day)


def thought_frame(request_id: int, event: ThoughtEvent) -> protocol.Frame:
    """Convert an event of the monologue to its frame."""
    match event:
        case ThoughtStart():
            return protocol.ThoughtBegan(request_id, event.thought_id, event.reason, plain(event.so_far))
        case ThoughtPiece():
            # As with replies, the client sanitises the whole text.
            return protocol.ThoughtToken(request_id, event.text, event.skipped)
        case ThoughtEnd():
            return protocol.ThoughtEnded(
                request_id, event.thought_id, event.reason, one_line(event.explanation, 300), event.tokens
            )
