"""Views of memory: why, timeline, neighbourhood, prompt context, self-model. They reinforce nothing (R-29).

Only the owner's edits of the self-model change anything.
"""

import msgspec

from reveries import protocol
from reveries.daemon.requests.frames import recalled_frame
from reveries.daemon.requests.registry import Call, handles
from reveries.daemon.talk.last_turns import LastTurn, context_parts, surfaced_memories, turn_notes
from reveries.errors import NotFoundError
from reveries.memory.memory import Memory
from reveries.memory.model import Episode, SelfModel
from reveries.memory.self_model import EDITABLE, TEXT_FIELDS, day_of, statements_of
from reveries.memory.views.episodes import find_episode
from reveries.memory.views.neighbourhood import neighbourhood, select_centre
from reveries.memory.views.search import parse_period
from reveries.memory.views.timeline import timeline
from reveries.memory.views.why import explain
from reveries.safe_text import plain

_CENTRES = 8
"""Episodes recalled for a cue that are the centres of its picture."""


@handles(protocol.AskTimeline)
async def show_timeline(call: Call, request: protocol.AskTimeline) -> protocol.Timeline:
    now, live = call.mind.clock.now(), call.mind.memory.live
    period = parse_period(request.since, request.until, now, is_day_first=live.is_day_first)
    if not call.mind.safe_because:
        await call.mind.memory.make_latest_recallable()
    return timeline(live, period, request.limit, now, request.request_id)


@handles(protocol.AskSelf)
async def show_self_model(call: Call, request: protocol.AskSelf) -> protocol.SelfModelShown:
    memory = call.mind.memory
    _, changes = await memory.self_edits.history(1)
    return self_frame(request.request_id, memory.self_model, changes)


@handles(protocol.AskSelfHistory)
async def show_self_history(call: Call, request: protocol.AskSelfHistory) -> protocol.SelfHistory:
    return protocol.SelfHistory(request.request_id, *await call.mind.memory.self_edits.history(request.limit))


@handles(protocol.EditSelf)
async def edit_self_model(call: Call, request: protocol.EditSelf) -> protocol.SelfModelShown:
    await call.mind.memory.self_edits.edit(request.field, request.text)
    return await _show_changed_self(call)


@handles(protocol.RevertSelf)
async def revert_self_model(call: Call, request: protocol.RevertSelf) -> protocol.SelfModelShown:
    await call.mind.memory.self_edits.revert(request.number)
    return await _show_changed_self(call)


async def _show_changed_self(call: Call) -> protocol.SelfModelShown:
    call.mind.conversations.request_read_ahead()
    return await show_self_model(call, protocol.AskSelf(call.request_id))


@handles(protocol.AskWhy)
async def explain_recall(call: Call, request: protocol.AskWhy) -> protocol.Why:
    memory = call.mind.memory
    episode = await _find_live_episode(memory, request.episode_id)
    asked_at, rank_then = 0.0, 0
    if cue := request.cue.strip():
        vector = await memory.embed_cue(cue)
        context = memory.recall_context(cue, call.mind.conversation.turns.settings.recall.limit)
    else:
        turn = _last_turn(call, "")
        if turn.prepared.recall is None:
            raise NotFoundError("Nothing was recalled for the last turn.", advice='Give a cue: --for "the garden".')
        cue, vector, context = turn.prepared.recall.cue, turn.prepared.recall.vector, turn.prepared.context
        asked_at, ids = context.now, turn.prepared.recall.touched_ids
        rank_then = ids.index(episode.id) + 1 if episode.id in ids else 0
    why = explain(memory.live, cue, vector, context, episode)
    return msgspec.structs.replace(why, request_id=request.request_id, asked_at=asked_at, rank_then=rank_then)


@handles(protocol.AskNeighbourhood)
async def show_neighbourhood(call: Call, request: protocol.AskNeighbourhood) -> protocol.Neighbourhood:
    memory = call.mind.memory
    centres: dict[str, float] = {}
    title = ""
    if request.cue.strip():
        recall = await memory.search(request.cue, _CENTRES)
        centres = {recalled.episode.id: recalled.energy for recalled in recall.episodes}
        title = f"What \u201c{request.cue.strip()}\u201d brings to mind"
        if not centres and not request.around:
            raise NotFoundError("Nothing comes to mind for that.", advice="Try other words, or --around ID.")
    if request.around:
        episode = await _find_live_episode(memory, request.around)
        centres = {episode.id: max(centres.values(), default=1.0), **centres}
        title = title or f"Around: {episode.summary}"
    if not centres:
        best = select_centre(memory.live)
        if best is None:
            raise NotFoundError("There is no episode yet.", advice="Talk with it, or: reveries import FILE")
        centres, title = {best: 1.0}, "The core of its memories"
    return neighbourhood(memory.live, centres, request.limit, title, request.request_id)


@handles(protocol.AskContext)
async def show_context(call: Call, request: protocol.AskContext) -> protocol.ToldContext:
    talk = call.mind.conversation.turns
    turn = _last_turn(call, request.conversation_id)
    parts = await context_parts(turn, talk.tokens.count)
    return protocol.ToldContext(
        request_id=request.request_id,
        conversation_id=turn.conversation_id,
        asked_at=turn.prepared.context.now,
        model=talk.model.name,
        context_tokens=turn.context_tokens,
        reply_tokens=turn.reply_tokens,
        total_tokens=sum(part.tokens for part in parts),
        counted_by=talk.model.name,
        parts=parts,
        memories=await surfaced_memories(turn, talk.tokens.count),
        notes=turn_notes(turn),
        recalled=recalled_frame(0, turn.prepared.recall, turn.prepared.memories).items
        if turn.prepared.recall is not None
        else [],
    )


def _last_turn(call: Call, conversation_id: str) -> LastTurn:
    turn = call.mind.conversation.last_turns.of(conversation_id)
    if turn is None:
        where = " in that conversation" if conversation_id else ""
        raise NotFoundError(
            f"Nothing was said{where} since the mind woke. The context of a reply is only kept while it is awake.",
            advice="Say something first: reveries say HELLO",
        )
    return turn


async def _find_live_episode(memory: Memory, id_or_prefix: str) -> Episode:
    """Find a live episode. Raises NotFoundError, with its own message for a dormant one, which no cue reaches."""
    try:
        return find_episode(memory.live, id_or_prefix)
    except NotFoundError:
        shown = await memory.inspect(id_or_prefix)
    raise NotFoundError(
        f"Episode {shown.episode_id} is dormant: it is only on disk, where recall does not reach it.",
        advice=f"A strong cue in a conversation wakes it. To read it: reveries memory inspect {shown.episode_id}",
    )


def self_frame(request_id: int, model: SelfModel, changes: int) -> protocol.SelfModelShown:
    """R-82..R-85."""
    fields = []
    for name in EDITABLE:
        is_text = name in TEXT_FIELDS
        statements = [
            protocol.SelfStatement(
                plain(text),
                name in model.pinned_fields if is_text else text in model.pinned,
                day.at if (day := day_of(model, text)) is not None else 0.0,
            )
            for text in statements_of(model, name)
        ]
        fields.append(protocol.SelfField(name, not is_text, statements))
    return protocol.SelfModelShown(
        request_id, fields, [plain(refused) for refused in model.refused], model.updated_at, changes
    )
