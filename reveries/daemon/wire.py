"""From what the mind has to what crosses the socket. Pure; every text that a person may see is made plain here."""

from collections.abc import Sequence

import msgspec

from reveries import protocol
from reveries.daemon.chat_context import Told
from reveries.daemon.frame_room import ROOM_CHARS, sharing_room
from reveries.daemon.looking_wire import factors_frame, reasons_frames
from reveries.memory.looking.views import EpisodeView, MemoryStatistics, ShownExemplar
from reveries.memory.model import Origin, Recall, RecalledEpisode, Turn
from reveries.memory.recall.deep import DeepFound, DeepHit
from reveries.monologue.thought import ThoughtBegan, ThoughtEnded, ThoughtEvent, ThoughtPiece
from reveries.plaintext import one_line, plain
from reveries.safety.wellbeing import Counted, WellbeingReport


def said_turn(turn: Turn) -> protocol.SaidTurn:
    """A stored turn for a client."""
    return protocol.SaidTurn(
        turn_id=turn.id,
        speaker=one_line(turn.speaker, 80),
        is_owner=turn.origin is Origin.OWNER,
        text=plain(turn.text),
        said_at=turn.said_at,
        is_partial=turn.is_partial,
    )


def said_turns(turns: Sequence[Turn]) -> list[protocol.SaidTurn]:
    """Stored turns for one message to a client: texts too long for it are cut, and say so."""
    shown = [said_turn(turn) for turn in turns]
    texts = sharing_room([turn.text for turn in shown])
    return [msgspec.structs.replace(turn, text=text) for turn, text in zip(shown, texts, strict=True)]


def recalled_frame(request_id: int, recall: Recall, told: Sequence[Told]) -> protocol.Recalled:
    """What surfaced for a turn, marked with what the model was told of it."""
    told_episodes = {item.episode_id for item in told}
    items = []
    for found in recall.episodes:
        quote, speaker = _quote(found)
        items.append(
            protocol.RecalledItem(
                episode_id=found.episode.id,
                summary=plain(found.episode.summary),
                energy=found.energy,
                happened_at=found.episode.created_at,
                quote=quote,
                quote_speaker=speaker,
                was_told=found.episode.id in told_episodes,
            )
        )
    return protocol.Recalled(request_id, items)


def found_frame(
    request_id: int, recall: Recall, seconds: float, deep: DeepFound | None = None, *, is_explained: bool = False
) -> protocol.Found:
    """The answer to a search; explained, with what speaks for each. `deep` is what a deep one found besides."""
    episodes = []
    for found in recall.episodes:
        quote, speaker = _quote(found)
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
    texts = sharing_room([plain(ranked.turn.text) for ranked in recall.turns], ROOM_CHARS // 2)
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
    on_disk = [_on_disk(hit) for hit in looked.hits]
    texts = sharing_room([hit.text for hit in on_disk], ROOM_CHARS // 2)
    on_disk = [msgspec.structs.replace(hit, text=text) for hit, text in zip(on_disk, texts, strict=True)]
    return protocol.Found(request_id, episodes, turns, recall.edges_touched, seconds, on_disk, looked.is_whole)


def _on_disk(hit: DeepHit) -> protocol.FoundOnDisk:
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


def _quote(found: RecalledEpisode) -> tuple[str, str]:
    """The words that answer the cue best, and who said them; an exemplar when no turn was ranked."""
    if found.turns:
        turn = found.turns[0].turn
        return plain(turn.text), one_line(turn.speaker, 80)
    if found.episode.exemplars:
        return plain(found.episode.exemplars[0].quote), ""
    return "", ""


def stats_frame(request_id: int, stats: MemoryStatistics) -> protocol.MemoryStats:
    """R-171."""
    return protocol.MemoryStats(
        request_id=request_id,
        experiences=stats.experiences,
        unprocessed=stats.unprocessed,
        turns=stats.turns,
        episodes=stats.episodes,
        links=dict(stats.links),
        mean_salience=stats.mean_salience,
        min_salience=stats.min_salience,
        faded=stats.faded,
        database_bytes=stats.database_bytes,
        last_consolidation=stats.last_consolidation,
        dormant=stats.dormant,
        put_away_turns=stats.put_away_turns,
        deep_search=stats.deep_search,
    )


def detail_frame(request_id: int, view: EpisodeView) -> protocol.EpisodeDetail:
    """R-23."""
    episode = view.episode
    return protocol.EpisodeDetail(
        request_id=request_id,
        episode_id=episode.id,
        summary=plain(episode.summary),
        happened_at=episode.created_at,
        ended_at=episode.ended_at,
        last_accessed_at=episode.last_accessed_at,
        access_count=episode.access_count,
        salience=episode.salience,
        confidence=episode.confidence,
        accessibility=episode.accessibility,
        valence=episode.valence,
        origin=episode.origin.value,
        tainted=episode.tainted,
        depth=episode.depth,
        topics=[one_line(topic) for topic in episode.topics],
        entities=[one_line(entity) for entity in episode.entities],
        exemplars=[_exemplar(shown) for shown in view.exemplars],
        links=[
            protocol.LinkDetail(
                shown.link.target_id, shown.link.type.value, shown.link.strength, one_line(shown.summary)
            )
            for shown in view.links
        ],
        before=list(episode.before),
        after=list(episode.after),
        gap_seconds=episode.gap_seconds,
        gap_significance=one_line(episode.gap_significance),
        sources=said_turns(view.sources),
        is_dormant=view.is_dormant,
        provenance=[
            protocol.Provenance(
                experience_id=one.experience.id,
                kind=one.experience.kind.value,
                origin=one.experience.origin.value,
                tainted=one.experience.tainted,
                happened_at=one.experience.happened_at,
                speakers=[one_line(speaker, 80) for speaker in one.speakers],
                by=[one_line(way) for way in one.by],
            )
            for one in view.provenance
        ],
        is_pinned=view.is_pinned,
    )


def _exemplar(shown: ShownExemplar) -> protocol.ExemplarDetail:
    exemplar = shown.exemplar
    return protocol.ExemplarDetail(
        quote=plain(exemplar.quote),
        context=plain(exemplar.context),
        said_at=exemplar.said_at,
        speaker=one_line(shown.speaker, 80),
        turn_id=exemplar.turn_id or "",
        significance=one_line(exemplar.significance),
    )


def thought_frame(request_id: int, event: ThoughtEvent) -> protocol.Frame:
    """What a watcher of the monologue is told."""
    match event:
        case ThoughtBegan():
            return protocol.ThoughtBegan(request_id, event.thought_id, event.reason, plain(event.so_far))
        case ThoughtPiece():
            # As with the reply: made plain on the whole by the client.
            return protocol.ThoughtToken(request_id, event.text, event.skipped)
        case ThoughtEnded():
            return protocol.ThoughtEnded(
                request_id, event.thought_id, event.reason, one_line(event.explanation, 300), event.tokens
            )


def wellbeing_frame(request_id: int, report: WellbeingReport) -> protocol.Wellbeing:
    """What was counted, as it crosses the socket."""
    return protocol.Wellbeing(
        request_id=request_id,
        now=report.now,
        thoughts=report.thoughts,
        thoughts_by_week=list(report.thoughts_by_week),
        indicators=[_indicator(one) for one in report.indicators],
        trips=[
            protocol.TripTold(
                happened_at=trip.happened_at,
                source=trip.source,
                action=trip.verdict.action.value,
                reason=trip.verdict.reason.value,
                severity=trip.verdict.severity.value,
                explanation=trip.verdict.explanation,
                response_taken=trip.response_taken,
                snapshot=trip.snapshot,
            )
            for trip in report.trips
        ],
        trips_by_reason=dict(report.trips_by_reason),
    )


def _indicator(one: Counted) -> protocol.Indicator:
    return protocol.Indicator(
        kind=one.kind,
        what=one.what,
        occurrences=one.occurrences,
        days=one.days,
        first_at=one.first_at,
        last_at=one.last_at,
        weeks=list(one.weeks),
        per_100_thoughts=one.per_100_thoughts,
        per_100_thoughts_lately=one.per_100_thoughts_lately,
        is_consistent=one.is_consistent,
        excerpts=[protocol.Excerpt(said.happened_at, said.text, said.thought_ended) for said in one.excerpts],
    )
