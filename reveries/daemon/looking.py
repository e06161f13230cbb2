"""Answers whoever looks: why, when, what hangs together, what was told, the self-model. Reinforces nothing (R-29)."""

from typing import assert_never

from reveries import protocol
from reveries.clock import Clock
from reveries.daemon.conversation import Conversation
from reveries.daemon.last_turns import LastTurn, shown_context
from reveries.daemon.looking_wire import (
    context_frame,
    history_frame,
    neighbourhood_frame,
    self_frame,
    timeline_frame,
    why_frame,
)
from reveries.daemon.wire import recalled_frame
from reveries.errors import NotFoundError
from reveries.memory.looking.moments import period_of
from reveries.memory.looking.neighbourhood import most_telling, neighbourhood
from reveries.memory.looking.searching import recall_within
from reveries.memory.looking.timeline import timeline
from reveries.memory.looking.views import find_episode
from reveries.memory.looking.why import explain
from reveries.memory.memory import Memory
from reveries.memory.model import Episode, Recall, RecallContext
from reveries.memory.sleep.encoding import infer_mood

_CENTRES = 8
"""Of what a cue brings up, so many episodes are what its picture is about."""


class Looking:
    """Reads the memory and the conversation; only the owner's hand on the self-model changes anything."""

    def __init__(self, memory: Memory, conversation: Conversation, clock: Clock) -> None:
        self._memory = memory
        self._conversation = conversation
        self._clock = clock

    async def answer(self, request: protocol.LookRequest) -> protocol.Frame:
        """Raises NotFoundError and UsageError."""
        number = request.request_id
        match request:
            case protocol.AskWhy():
                return await self._why(request)
            case protocol.AskTimeline():
                now = self._clock.now()
                period = period_of(request.since, request.until, now)
                return timeline_frame(number, timeline(self._memory.live, period, request.limit, now), period)
            case protocol.AskNeighbourhood():
                return await self._neighbourhood(request)
            case protocol.AskContext():
                return await self._context(request)
            case protocol.AskSelf():
                return await self._self(number)
            case protocol.AskSelfHistory():
                return history_frame(number, *await self._memory.self_hand.history(request.limit))
            case protocol.EditSelf():
                await self._memory.self_hand.edit(request.field, request.text)
                return await self._self_changed(number)
            case protocol.RevertSelf():
                await self._memory.self_hand.revert(request.number)
                return await self._self_changed(number)
            case _:
                assert_never(request)

    async def search(self, request: protocol.Search) -> Recall:
        """What comes to mind, of a period when one was named, with reasons when they are wanted. Raises UsageError."""
        since, until = request.since or "", request.until or ""
        if not since and not until and not request.explain:
            return await self._memory.search(request.query, request.limit)
        now = self._clock.now()
        period = period_of(since, until, now)
        vector = await self._memory.embed_cue(request.query)
        context = RecallContext(now=now, mood=infer_mood(request.query), limit=request.limit)
        return recall_within(self._memory.live, request.query, vector, context, period)

    async def _why(self, request: protocol.AskWhy) -> protocol.Why:
        live = self._memory.live
        episode = await self._live_episode(request.episode_id)
        asked_at, rank_then = 0.0, 0
        if request.cue.strip():
            cue = request.cue.strip()
            vector = await self._memory.embed_cue(cue)
            context = RecallContext(
                now=self._clock.now(), mood=infer_mood(cue), limit=self._conversation.settings.recall.limit
            )
        else:
            turn = self._last_turn("")
            if turn.recall is None:
                raise NotFoundError("Nothing was recalled for the last turn.", advice='Give a cue: --for "the garden".')
            cue, vector, context = turn.recall.cue, turn.recall.vector, turn.recall_context
            asked_at, ids = context.now, turn.recall.touched_ids
            rank_then = ids.index(episode.id) + 1 if episode.id in ids else 0
        why = explain(live, cue, vector, context, episode)
        entry = live.graph.get(why.steps[0].source_id) if why.steps else None
        return why_frame(request.request_id, why, entry, asked_at, rank_then)

    async def _live_episode(self, id_or_prefix: str) -> Episode:
        """Raises NotFoundError, which says so of one that is dormant: no cue reaches it where it is."""
        try:
            return find_episode(self._memory.live, id_or_prefix)
        except NotFoundError:
            shown = await self._memory.inspect(id_or_prefix)
        raise NotFoundError(
            f"Episode {shown.episode.id} is dormant: it is only on disk, where no cue's energy reaches it.",
            advice=f"A strong cue in a talk wakes it. To read it: reveries memory inspect {shown.episode.id}",
        )

    async def _neighbourhood(self, request: protocol.AskNeighbourhood) -> protocol.Neighbourhood:
        live = self._memory.live
        centres: dict[str, float] = {}
        title = ""
        if request.cue.strip():
            recall = await self._memory.search(request.cue, _CENTRES)
            centres = {found.episode.id: found.energy for found in recall.episodes}
            title = f"What \u201c{request.cue.strip()}\u201d brings to mind"
            if not centres and not request.around:
                raise NotFoundError("Nothing comes to mind for that.", advice="Try other words, or --around ID.")
        if request.around:
            episode = await self._live_episode(request.around)
            centres = {episode.id: max(centres.values(), default=1.0), **centres}
            title = title or f"Around: {episode.summary}"
        if not centres:
            best = most_telling(live)
            if best is None:
                raise NotFoundError("There is no episode yet.", advice="Talk with it, or: reveries import FILE")
            centres, title = {best: 1.0}, "What its memory hangs on"
        return neighbourhood_frame(request.request_id, title, neighbourhood(live, centres, request.limit))

    async def _context(self, request: protocol.AskContext) -> protocol.ToldContext:
        turn = self._last_turn(request.conversation_id)
        shown = await shown_context(turn, self._conversation.count_tokens)
        model = self._conversation.model_name
        number, recall = request.request_id, turn.recall
        recalled = recalled_frame(number, recall, turn.told).items if recall is not None else []
        return context_frame(number, turn, shown, model, model, recalled)

    def _last_turn(self, conversation_id: str) -> LastTurn:
        turn = self._conversation.last_turns.of(conversation_id)
        if turn is None:
            where = " in that conversation" if conversation_id else ""
            raise NotFoundError(
                f"Nothing was said{where} since the mind woke, and what it was told is kept only while it is awake.",
                advice="Say something first: reveries say HELLO",
            )
        return turn

    async def _self(self, number: int) -> protocol.SelfModelShown:
        _, changes = await self._memory.self_hand.history(1)
        return self_frame(number, self._memory.self_model, changes)

    async def _self_changed(self, number: int) -> protocol.SelfModelShown:
        self._conversation.want_warmth()
        return await self._self(number)
