"""Reorders ranked turns so that superseded ones follow what replaced them, if both were recalled. Pure.

The newer turn takes the place of the older one, which comes right after it. A turn may make several claims: it ranks
below the replacement of one of them unless the cue is rather about a claim that still holds.
"""

from collections.abc import Sequence
from dataclasses import replace

from reveries.index.terms import terms_of
from reveries.memory.claims import Claim, is_same_value
from reveries.memory.graph.claim_index import ClaimIndex
from reveries.memory.model import RankedTurn, RankingReason, Recall, RecalledEpisode, Replacement
from reveries.memory.recall.cues import cue_terms

REPLACES, REPLACED = "replaces", "replaced"
"""The names of the reasons."""
_AHEAD = 0.01
_LONGEST_CHAIN = 20


def tell_in_order(recall: Recall) -> Recall:
    """Return `recall`; if its cue names only a time, with the episodes in the order of their turns, those without one
    last."""
    if not recall.names_only_time:
        return recall
    places: dict[str, int] = {}
    for place, ranked in enumerate(recall.turns):
        places.setdefault(ranked.episode_id, place)
    last = len(recall.turns)
    return replace(
        recall, episodes=tuple(sorted(recall.episodes, key=lambda recalled: places.get(recalled.episode.id, last)))
    )


def rank_outranked_last(recall: Recall, index: ClaimIndex) -> Recall:
    """Return `recall` with every superseded turn, and the episode it belongs to, below what replaced it."""
    if not index.conflicts:
        return recall
    asked = frozenset(cue_terms(recall.cue))
    turns = _mark_replaced(recall.turns, index, asked)
    episodes = tuple(
        replace(recalled, turns=_mark_replaced(recalled.turns, index, asked)) for recalled in recall.episodes
    )
    return replace(
        recall,
        turns=_order_by_replacement(turns),
        episodes=_reorder_episodes(episodes, turns),
        nearest=_mark_replaced(recall.nearest, index, asked),
    )


def replacements_of_turn(turn_id: str, index: ClaimIndex, asked: frozenset[str]) -> tuple[Replacement, ...]:
    """Return the current claims that replaced claims of a turn, those with the most cue terms (`asked`) first. Empty if
    the cue is rather about a claim of the turn that still holds."""
    claims = list(index.claims_in_turn(turn_id))
    replaced = sorted(
        (
            (_count_cue_terms(claim, asked), claim, by)
            for claim in claims
            if (by := replacement_of(claim, index)) is not None
        ),
        key=lambda entry: -entry[0],
    )
    if not replaced:
        return ()
    outdated = [claim for _, claim, _ in replaced]
    # One fact may be claimed twice, in the speaker's words and in the model's.
    holding = [claim for claim in claims if not any(is_same_value(claim.value, other.value) for other in outdated)]
    if max((_count_cue_terms(claim, asked) for claim in holding), default=0) > replaced[0][0]:
        return ()
    return tuple({by.turn_id + by.of: by for _, _, by in replaced}.values())


def replacement_of(claim: Claim, index: ClaimIndex) -> Replacement | None:
    """Return the current claim at the end of the chain of replacements of a claim."""
    replacement: Replacement | None = None
    seen = {claim.id}
    at = claim.id
    for _ in range(_LONGEST_CHAIN):
        conflict = index.outranking_conflict(at)
        if conflict is None or (holds := conflict.prevailing_claim) is None or holds.id in seen:
            break
        at = holds.id
        seen.add(at)
        if holds.turn_id != claim.turn_id:
            replacement = Replacement(holds.turn_id, holds.quote, holds.said_at, claim.quote)
    return replacement


def _count_cue_terms(claim: Claim, asked: frozenset[str]) -> int:
    """Count the cue terms in a claim; a term in both its parts and its quoted sentence counts twice."""
    own = frozenset(terms_of(f"{claim.subject} {claim.relation} {claim.value}"))
    return len(asked & own) + len(asked & frozenset(terms_of(claim.quote)))


def _mark_replaced(turns: Sequence[RankedTurn], index: ClaimIndex, asked: frozenset[str]) -> tuple[RankedTurn, ...]:
    marked: list[RankedTurn] = []
    for ranked in turns:
        by = replacements_of_turn(ranked.turn.id, index, asked)
        marked.append(replace(ranked, replaced_by=by[0], also_replaced_by=by[1:]) if by else ranked)
    return tuple(marked)


def _order_by_replacement(turns: tuple[RankedTurn, ...]) -> tuple[RankedTurn, ...]:
    order = list(turns)
    for old in turns:
        if old.replaced_by is None:
            continue
        at = _position_of(order, old.turn.id)
        newer = next((i for i, ranked in enumerate(order) if ranked.turn.id == old.replaced_by.turn_id), None)
        if newer is None or newer < at:
            continue
        lifted = order.pop(newer)
        gain = order[at].score + _AHEAD - lifted.score
        reasons = (RankingReason(REPLACES, 1.0, gain), *lifted.reasons)
        order.insert(at, replace(lifted, score=lifted.score + gain, reasons=reasons))
        under = order[at + 1]
        order[at + 1] = replace(under, reasons=(RankingReason(REPLACED, 1.0, -gain), *under.reasons))
    return tuple(order)


def _position_of(order: Sequence[RankedTurn], turn_id: str) -> int:
    return next(i for i, ranked in enumerate(order) if ranked.turn.id == turn_id)


def _reorder_episodes(
    episodes: tuple[RecalledEpisode, ...], turns: Sequence[RankedTurn]
) -> tuple[RecalledEpisode, ...]:
    """Move an episode whose best turn was superseded behind the episode of what replaced it."""
    episode_of = {ranked.turn.id: ranked.episode_id for ranked in turns}
    episode_of |= {ranked.turn.id: recalled.episode.id for recalled in episodes for ranked in recalled.turns}
    order = list(episodes)
    for old in episodes:
        by = old.turns[0].replaced_by if old.turns else None
        newer = episode_of.get(by.turn_id) if by is not None else None
        if newer is None or newer == old.episode.id:
            continue
        ids = [recalled.episode.id for recalled in order]
        at = ids.index(old.episode.id)
        if newer in ids and ids.index(newer) > at:
            order.insert(at, order.pop(ids.index(newer)))
    return tuple(order)
