"""Memory requests: search, episodes and the owner's edits of them, import, forgetting."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Final

import msgspec

from reveries import protocol
from reveries.daemon.forgetting import forget
from reveries.daemon.requests.frames import ROOM_CHARS, cut_to_share, cut_turns
from reveries.daemon.requests.registry import Call, handles
from reveries.memory.deep_recall import DeepHit, DeepSearchResult
from reveries.memory.forgetting.forgetting import ForgetReport
from reveries.memory.importing import PastTurn
from reveries.memory.model import Origin, Recall
from reveries.memory.owner_edits.episodes import EditedEpisode
from reveries.memory.views.episodes import best_quote
from reveries.memory.views.search import parse_period
from reveries.memory.views.why import factors_frame, reasons_frames
from reveries.safe_text import one_line, plain

_SUMMARY_CHARS = 700


@handles(protocol.AskMemory)
async def show_statistics(call: Call, request: protocol.AskMemory) -> protocol.MemoryStats:
    stats = await call.mind.memory.stats()
    return msgspec.structs.replace(stats, request_id=request.request_id)


@handles(protocol.Search)
async def search_memory(call: Call, request: protocol.Search) -> protocol.Found:
    mind = call.mind
    began = mind.clock.monotonic()
    is_explained = request.explain is True
    period = parse_period(
        request.since or "",
        request.until or "",
        mind.clock.now(),
        is_day_first=mind.memory.live.is_day_first,
    )
    if not mind.safe_because:
        await mind.memory.make_latest_recallable()
    recall = await mind.memory.search(request.query, request.limit, period=period, is_explained=is_explained)
    deep = await mind.memory.search_deep(request.query, request.limit) if request.deep is True else None
    seconds = mind.clock.monotonic() - began
    return found_frame(request.request_id, recall, seconds, deep, is_explained=is_explained)


@handles(protocol.Inspect)
async def show_episode(call: Call, request: protocol.Inspect) -> protocol.EpisodeDetail:
    detail = await call.mind.memory.inspect(request.episode_id)
    return msgspec.structs.replace(detail, request_id=request.request_id, sources=cut_turns(detail.sources))


@handles(protocol.Remember)
async def remember_words(call: Call, request: protocol.Remember) -> protocol.Remembered:
    """Store the owner's words and run light sleep on them at once."""
    stored = await call.mind.memory.remember(plain(request.text))
    slept = await call.mind.sleep.light_sleep()
    return protocol.Remembered(request.request_id, stored, slept.episodes)


@handles(protocol.Import)
async def import_turns(call: Call, request: protocol.Import) -> protocol.Imported:
    past = [_past_turn(turn) for turn in request.turns]
    imports = call.session.imports
    under_way = imports.setdefault(request.source, call.mind.memory.begin_import(request.source))
    report = await under_way.add(past)
    episodes = 0
    if request.is_last:
        imports.pop(request.source, None)
        slept = await call.mind.sleep.light_sleep(call.progress_for_all("light sleep"))
        episodes = slept.episodes
    erased = report.erased or msgspec.UNSET
    return protocol.Imported(request.request_id, report.stored, report.known_already, episodes, erased)


_ORIGINS: Final = {"owner": Origin.OWNER, "mind": Origin.SELF, "other": Origin.DOCUMENT}


def _past_turn(turn: protocol.ImportedTurn) -> PastTurn:
    origin = None if turn.author is msgspec.UNSET else _ORIGINS[turn.author]
    key = b"" if turn.key is msgspec.UNSET else bytes.fromhex(turn.key)
    title = "" if turn.conversation is msgspec.UNSET else turn.conversation
    return PastTurn(turn.said_at, turn.speaker, turn.text, origin, key, title)


@handles(protocol.PinEpisode)
async def pin_episode(call: Call, request: protocol.PinEpisode) -> protocol.EpisodeHeld:
    edits = call.mind.memory.episode_edits
    edited = await (edits.pin if request.is_pinned else edits.unpin)(request.episode_id)
    return _edited_frame(request.request_id, edited)


@handles(protocol.WeighEpisode)
async def weigh_episode(call: Call, request: protocol.WeighEpisode) -> protocol.EpisodeHeld:
    edited = await call.mind.memory.episode_edits.set_salience(request.episode_id, request.salience)
    return _edited_frame(request.request_id, edited)


@handles(protocol.CorrectEpisode)
async def correct_episode(call: Call, request: protocol.CorrectEpisode) -> protocol.EpisodeCorrected:
    correction = await call.mind.memory.correct(request.episode_id, request.text)
    quotes = [one_line(turn.text, _SUMMARY_CHARS) for turn in correction.replaced]
    return protocol.EpisodeCorrected(
        request.request_id, correction.run_id, correction.episode_id, correction.new_episode_id, quotes
    )


@handles(protocol.Forget)
async def forget_memories(call: Call, request: protocol.Forget) -> protocol.Forgotten:
    report = ForgetReport()
    work = partial(_forget_and_notify, call, request, report)
    is_erasing = request.erase and not request.dry_run and not request.bring_back
    return await (_finish_erasure(call, work, report) if is_erasing else work())


async def _forget_and_notify(call: Call, request: protocol.Forget, report: ForgetReport) -> protocol.Forgotten:
    is_done = False
    try:
        answer = await forget(call.mind, request, call.report_progress, report)
        is_done = not request.dry_run
        return answer
    finally:
        if is_done or report.is_gone:  # Clients reload the conversation, even if the erasure failed later.
            for conversation in call.mind.conversations:
                call.clients.notify_switched(conversation)


async def _finish_erasure(
    call: Call, work: Callable[[], Coroutine[None, None, protocol.Forgotten]], report: ForgetReport
) -> protocol.Forgotten:
    """Run the erasure; once something may be erased, it finishes even if no client waits for it (F10)."""
    erasing = call.detached.start(call.session, work, "erasing")
    while not erasing.done():
        try:
            await asyncio.wait((erasing,))
        except asyncio.CancelledError:
            if not report.may_be_gone:
                report.is_cancelled = True
                erasing.cancel()  # It rolls back what it has prepared.
            elif call.session.is_gone:
                raise
    answer = erasing.result()
    if isinstance(answer, Exception):
        raise answer
    return answer


def _edited_frame(number: int, edited: EditedEpisode) -> protocol.EpisodeHeld:
    episode = edited.episode
    summary = one_line(plain(episode.summary), _SUMMARY_CHARS)
    return protocol.EpisodeHeld(number, episode.id, summary, episode.salience, episode.accessibility, edited.is_pinned)


def found_frame(
    request_id: int, recall: Recall, seconds: float, deep: DeepSearchResult | None = None, *, is_explained: bool = False
) -> protocol.Found:
    """Build the answer to a search, with the hits of a deep search and, if explained, the reasons for each hit."""
    episodes = []
    for recalled in recall.episodes:
        quote, speaker = best_quote(recalled)
        episodes.append(
            protocol.FoundEpisode(
                episode_id=recalled.episode.id,
                summary=plain(recalled.episode.summary),
                happened_at=recalled.episode.created_at,
                energy=recalled.energy,
                salience=recalled.episode.salience,
                origin=recalled.episode.origin.value,
                depth=recalled.episode.depth,
                quote=quote,
                quote_speaker=speaker,
                path=list(recalled.path),
                cosine=recalled.seed_cosine if is_explained else msgspec.UNSET,
                words=recalled.seed_words if is_explained else msgspec.UNSET,
                factors=factors_frame(recalled.factors) if is_explained else msgspec.UNSET,
            )
        )
    texts = cut_to_share([plain(ranked.turn.text) for ranked in recall.turns], ROOM_CHARS // 2)
    turns = [
        protocol.FoundTurn(
            turn_id=ranked.turn.id,
            episode_id=ranked.episode_id,
            speaker=one_line(ranked.turn.speaker, 80),
            said_at=ranked.turn.said_at,
            text=text,
            score=ranked.score,
            reasons=reasons_frames(ranked.reasons) if is_explained else msgspec.UNSET,
        )
        for ranked, text in zip(recall.turns, texts, strict=True)
    ]
    deep = deep or DeepSearchResult()
    on_disk = [_disk_frame(hit) for hit in deep.hits]
    texts = cut_to_share([hit.text for hit in on_disk], ROOM_CHARS // 2)
    on_disk = [msgspec.structs.replace(hit, text=text) for hit, text in zip(on_disk, texts, strict=True)]
    return protocol.Found(request_id, episodes, turns, recall.edges_touched, seconds, on_disk, deep.is_complete)


def _disk_frame(hit: DeepHit) -> protocol.FoundOnDisk:
    return protocol.copy_fields(protocol.FoundOnDisk, hit, speaker=one_line(hit.speaker, 80), text=plain(hit.text))
