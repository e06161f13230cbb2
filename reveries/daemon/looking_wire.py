"""From what was looked at to what crosses the socket. Pure; every text that a person may see is made plain here."""

import re
from collections.abc import Sequence

from reveries import protocol
from reveries.daemon.last_turns import LastTurn, ShownContext
from reveries.memory.looking.neighbourhood import Neighbourhood
from reveries.memory.looking.searching import Period
from reveries.memory.looking.timeline import Silence, Timeline
from reveries.memory.looking.why import Why
from reveries.memory.model import Episode, Factors, Reason, SelfModel
from reveries.memory.self_edit import EDITABLE, TEXT_FIELDS, Evidence, HistoryEntry, statements
from reveries.plaintext import one_line, plain

_LABEL_CHARS = 160
_SPEAKER = re.compile(r"(?:^|(?<=[.!?:] ))[^\s:]{1,30}: ")
_BRACKETS = re.compile(r"\[[^\]]{0,400}\]")


def why_frame(request_id: int, why: Why, entry: Episode | None, asked_at: float, rank_then: int) -> protocol.Why:
    """`entry` is the episode that the way began at, when it was another one."""
    return protocol.Why(
        request_id=request_id,
        cue=plain(why.cue),
        episode_id=why.episode.id,
        summary=plain(why.episode.summary),
        happened_at=why.episode.created_at,
        surfaced=why.surfaced,
        rank=why.rank,
        surfaced_count=why.surfaced_count,
        limit=why.limit,
        threshold=why.threshold,
        cosine=why.cosine,
        shared_words=list(why.shared_words),
        unmet_words=list(why.unmet_words),
        entry=_entry(why),
        entry_id=entry.id if entry else "",
        entry_summary=plain(entry.summary) if entry else "",
        steps=[
            protocol.WhyStep(
                step.source_id,
                step.target_id,
                plain(step.target_summary),
                [protocol.WhyLink(kind.value, strength) for kind, strength in step.links],
            )
            for step in why.steps
        ],
        salience=why.salience,
        factors=factors_frame(why.factors),
        energy_direct=why.energy_direct,
        energy_spread=why.energy_spread,
        share_of_spread=why.share_of_spread,
        energy_whole=why.energy_whole,
        energy=why.energy,
        turns=[
            protocol.WhyTurn(
                turn_id=told.ranked.turn.id,
                speaker=one_line(told.ranked.turn.speaker, 80),
                said_at=told.ranked.turn.said_at,
                text=plain(told.ranked.turn.text),
                score=told.ranked.score,
                place=told.place,
                shared_words=list(told.shared_words),
                reasons=reasons_frames(told.ranked.reasons),
            )
            for told in why.turns
        ],
        missing=list(why.missing),
        asked_at=asked_at,
        rank_then=rank_then,
    )


def factors_frame(factors: Factors) -> protocol.WhyFactors:
    """R-122."""
    return protocol.WhyFactors(factors.recency, factors.resonance, factors.temporal, factors.accessibility)


def reasons_frames(reasons: Sequence[Reason]) -> list[protocol.TurnReason]:
    """What moved a turn."""
    return [protocol.TurnReason(reason.name, reason.value, reason.amount, reason.usual) for reason in reasons]


def timeline_frame(request_id: int, told: Timeline, period: Period) -> protocol.Timeline:
    """R-74..R-77 for people."""
    moments = [
        protocol.TimelineMoment(
            episode_id=moment.episode.id,
            happened_at=moment.episode.created_at,
            ended_at=moment.episode.ended_at,
            summary=plain(moment.episode.summary),
            salience=moment.episode.salience,
            accessibility=moment.episode.accessibility,
            valence=moment.episode.valence,
            origin=moment.episode.origin.value,
            depth=moment.episode.depth,
            conversation_id=moment.episode.conversation_id or "",
            gap=_gap(moment.silence),
        )
        for moment in told.moments
    ]
    lasting = _gap(told.later_silence)
    return protocol.Timeline(request_id, moments, told.earlier_count, period.start, period.end, lasting)


def neighbourhood_frame(request_id: int, title: str, shown: Neighbourhood) -> protocol.Neighbourhood:
    """What a picture is drawn from."""
    nodes = [
        protocol.GraphNode(
            episode_id=node.episode.id,
            label=_label(node.episode),
            summary=plain(node.episode.summary),
            happened_at=node.episode.created_at,
            salience=node.episode.salience,
            accessibility=node.episode.accessibility,
            valence=node.episode.valence,
            origin=node.episode.origin.value,
            distance=node.distance,
            energy=node.energy,
        )
        for node in shown.nodes
    ]
    ties = [
        protocol.GraphTie(tie.first_id, tie.second_id, tie.type.value, tie.strength, tie.is_directed)
        for tie in shown.ties
    ]
    return protocol.Neighbourhood(request_id, one_line(title), nodes, ties, shown.left_out)


def context_frame(
    request_id: int,
    turn: LastTurn,
    shown: ShownContext,
    model: str,
    counted_by: str,
    recalled: list[protocol.RecalledItem],
) -> protocol.ToldContext:
    """What the model was told, part by part."""
    return protocol.ToldContext(
        request_id=request_id,
        conversation_id=turn.conversation_id,
        asked_at=turn.asked_at,
        model=model,
        context_tokens=turn.context_tokens,
        reply_tokens=turn.reply_tokens,
        total_tokens=shown.total_tokens,
        counted_by=counted_by,
        parts=[
            protocol.ContextPart(part.name, part.tokens, part.budget, plain(part.text), part.note)
            for part in shown.parts
        ],
        memories=[
            protocol.ContextMemory(
                one.episode_id, one.turn_id, plain(one.line), one.tokens, one.was_told, one_line(one.why_not)
            )
            for one in shown.memories
        ],
        notes=list(shown.notes),
        recalled=recalled,
    )


def self_frame(request_id: int, model: SelfModel, changes: int) -> protocol.SelfModelShown:
    """R-82..R-85."""
    fields = []
    for name in EDITABLE:
        is_text = name in TEXT_FIELDS
        said = [
            protocol.SelfStatement(plain(text), name in model.pinned_fields if is_text else text in model.pinned)
            for text in statements(model, name)
        ]
        fields.append(protocol.SelfField(name, not is_text, said))
    return protocol.SelfModelShown(request_id, fields, [plain(one) for one in model.refused], model.updated_at, changes)


def history_frame(request_id: int, entries: Sequence[HistoryEntry], total: int) -> protocol.SelfHistory:
    """R-87 with what each change was made from."""
    return protocol.SelfHistory(
        request_id,
        [
            protocol.SelfChange(
                number=entry.number,
                at=entry.at,
                reason=plain(entry.reason),
                run_id=entry.run_id,
                by_owner=entry.by_owner,
                changes=[
                    protocol.SelfFieldChange(
                        change.field, [plain(one) for one in change.removed], [plain(one) for one in change.added]
                    )
                    for change in entry.changes
                ],
                evidence=[_evidence(one) for one in entry.evidence],
            )
            for entry in entries
        ],
        total,
    )


def _entry(why: Why) -> protocol.WhyEntry | None:
    entry = why.entry
    if entry is None:
        return None
    return protocol.WhyEntry(
        by_meaning=entry.by_meaning,
        by_turn=entry.by_turn,
        cosine=entry.cosine,
        share_of_words=entry.share_of_words,
        match=entry.match,
        energy=entry.energy,
    )


def _gap(silence: Silence | None) -> protocol.TimelineGap | None:
    return protocol.TimelineGap(silence.seconds, one_line(silence.significance)) if silence else None


def _label(episode: Episode) -> str:
    """What it was, in short: without who said it, and without what stands in brackets."""
    said = one_line(_BRACKETS.sub(" ", episode.summary), 1000)
    text = _SPEAKER.sub("", f"{said} ").strip(" …")
    return one_line(text or ", ".join(episode.topics) or episode.summary, _LABEL_CHARS)


def _evidence(one: Evidence) -> protocol.SelfEvidence:
    quote = one.exemplar
    return protocol.SelfEvidence(
        one.episode_id,
        plain(one.summary),
        plain(quote.quote) if quote else "",
        quote.said_at if quote else 0.0,
        one.merged_into,
    )
