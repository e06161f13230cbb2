"""Memory: search, an episode, the owner's hand on it, what is brought in."""

import msgspec

from reveries import protocol
from reveries.daemon.requests.frames import ROOM_CHARS, best_quote, cut_to_share, cut_turns
from reveries.daemon.requests.registry import Call, handles
from reveries.memory.deep_recall import DeepFound, DeepHit
from reveries.memory.importing import PastTurn
from reveries.memory.model import Recall, RecallContext
from reveries.memory.owner_edits.episodes import EditedEpisode
from reveries.memory.text.appraisal import infer_mood
from reveries.memory.views.search import period_of, recall_within
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
    recall = await _search(call, request)
    deep = await mind.memory.search_deep(request.query, request.limit) if request.deep is True else None
    seconds = mind.clock.monotonic() - began
    return found_frame(request.request_id, recall, seconds, deep, is_explained=request.explain is True)


async def _search(call: Call, request: protocol.Search) -> Recall:
    """What comes to mind, of a period when one was named, with reasons when they are wanted. Raises UsageError."""
    memory, now = call.mind.memory, call.mind.clock.now()
    since, until = request.since or "", request.until or ""
    if not since and not until and not request.explain:
        return await memory.search(request.query, request.limit)
    period = period_of(since, until, now)
    vector = await memory.embed_cue(request.query)
    context = RecallContext(now=now, mood=infer_mood(request.query), limit=request.limit)
    return recall_within(memory.live, request.query, vector, context, period)


@handles(protocol.Inspect)
async def show_episode(call: Call, request: protocol.Inspect) -> protocol.EpisodeDetail:
    detail = await call.mind.memory.inspect(request.episode_id)
    return msgspec.structs.replace(detail, request_id=request.request_id, sources=cut_turns(detail.sources))


@handles(protocol.Remember)
async def remember_words(call: Call, request: protocol.Remember) -> protocol.Remembered:
    """Keep the owner's words, and sleep on them lightly at once."""
    stored = await call.mind.memory.remember(request.text)
    slept = await call.mind.sleep.light_sleep()
    return protocol.Remembered(request.request_id, stored, slept.episodes)


@handles(protocol.Import)
async def import_turns(call: Call, request: protocol.Import) -> protocol.Imported:
    past = [PastTurn(turn.said_at, turn.speaker, turn.text, turn.is_owner is True) for turn in request.turns]
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


@handles(protocol.PinEpisode)
async def pin_episode(call: Call, request: protocol.PinEpisode) -> protocol.EpisodeHeld:
    hand = call.mind.memory.episode_edits
    held = await (hand.pin if request.is_pinned else hand.unpin)(request.episode_id)
    return _held_frame(request.request_id, held)


@handles(protocol.WeighEpisode)
async def weigh_episode(call: Call, request: protocol.WeighEpisode) -> protocol.EpisodeHeld:
    held = await call.mind.memory.episode_edits.set_salience(request.episode_id, request.salience)
    return _held_frame(request.request_id, held)


@handles(protocol.CorrectEpisode)
async def correct_episode(call: Call, request: protocol.CorrectEpisode) -> protocol.EpisodeCorrected:
    done = await call.mind.memory.correct(request.episode_id, request.text)
    quotes = [one_line(turn.text, _SUMMARY_CHARS) for turn in done.replaced]
    return protocol.EpisodeCorrected(request.request_id, done.run_id, done.episode_id, done.new_episode_id, quotes)


def _held_frame(number: int, held: EditedEpisode) -> protocol.EpisodeHeld:
    episode = held.episode
    summary = one_line(plain(episode.summary), _SUMMARY_CHARS)
    return protocol.EpisodeHeld(number, episode.id, summary, episode.salience, episode.accessibility, held.is_pinned)


def found_frame(
    request_id: int, recall: Recall, seconds: float, deep: DeepFound | None = None, *, is_explained: bool = False
) -> protocol.Found:
    """The answer to a search; explained, with what speaks for each. `deep` is what a deep one found besides."""
    episodes = []
    for found in recall.episodes:
        quote, speaker = best_quote(found)
        episodes.append(
            protocol.FoundEpisode(
                episode_id=found.episode.id,
                summary=plain(found.episode.summary),
                happened_at=found.episode.created_at,
                energy=found.energy,
                salience=found.episode.salience,
                origin=found.episode.origin.value,
                depth=found.episode.depth,
                quote=quote,
                quote_speaker=speaker,
                path=list(found.path),
                cosine=found.seed_cosine if is_explained else msgspec.UNSET,
                words=found.seed_words if is_explained else msgspec.UNSET,
                factors=factors_frame(found.factors) if is_explained else msgspec.UNSET,
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
    looked = deep or DeepFound()
    on_disk = [_disk_frame(hit) for hit in looked.hits]
    texts = cut_to_share([hit.text for hit in on_disk], ROOM_CHARS // 2)
    on_disk = [msgspec.structs.replace(hit, text=text) for hit, text in zip(on_disk, texts, strict=True)]
    return protocol.Found(request_id, episodes, turns, recall.edges_touched, seconds, on_disk, looked.is_whole)


def _disk_frame(hit: DeepHit) -> protocol.FoundOnDisk:
    return protocol.FoundOnDisk(
        kind=hit.kind,
        owner_id=hit.owner_id,
        episode_id=hit.episode_id,
        is_dormant=hit.is_dormant,
        speaker=one_line(hit.speaker, 80),
        said_at=hit.said_at,
        origin=hit.origin.value,
        tainted=hit.tainted,
        text=plain(hit.text),
        score=hit.score,
        cosine=hit.cosine,
        words=hit.words,
    )
