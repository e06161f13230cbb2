"""Ranks superseded turns under what replaced them: a step after the ranking, which changes the order and nothing else.
Only where both came to mind. Pure.

The newer one takes the place of the older, which follows right behind it: both are seen, the newer first. A turn may
claim more than one thing: it ranks under what replaced one of them unless the cue asks rather for one that still holds.
"""

from collections.abc import Sequence
from dataclasses import replace

from reveries.index.terms import terms_of
from reveries.memory.claims import Claim, same_value
from reveries.memory.graph.claim_index import ClaimIndex
from reveries.memory.model import RankedTurn, RankingReason, Recall, RecalledEpisode, Replacement
from reveries.memory.recall.cues import cue_terms

REPLACES, REPLACED = "replaces", "replaced"
"""The names of the reasons."""
_AHEAD = 0.01
_LONGEST_CHAIN = 20


def rank_outranked_last(recall: Recall, index: ClaimIndex) -> Recall:
    """`recall` with every superseded turn, and the episode that surfaced by it, under what replaced it."""
    if not index.conflicts:
        return recall
    asked = frozenset(cue_terms(recall.cue))
    turns = _mark_replaced(recall.turns, index, asked)
    episodes = tuple(replace(found, turns=_mark_replaced(found.turns, index, asked)) for found in recall.episodes)
    return replace(
        recall,
        turns=_order_by_replacement(turns),
        episodes=_episodes_reordered(episodes, turns),
        nearest=_mark_replaced(recall.nearest, index, asked),
    )


def replacements_in(turn_id: str, index: ClaimIndex, asked: frozenset[str]) -> tuple[Replacement, ...]:
    """What holds now in the place of what a turn claims: first that for which a cue of the terms `asked` asks most.
    Empty where the cue asks rather for a claim of the turn that still holds."""
    claims = list(index.made_in(turn_id))
    gone = sorted(
        ((_asked_for(claim, asked), claim, by) for claim in claims if (by := replacement_of(claim, index)) is not None),
        key=lambda entry: -entry[0],
    )
    if not gone:
        return ()
    outdated = [claim for _, claim, _ in gone]
    # One fact may be claimed twice, as the words are and as the model put it.
    holding = [one for one in claims if not any(same_value(one.value, other.value) for other in outdated)]
    if max((_asked_for(claim, asked) for claim in holding), default=0) > gone[0][0]:
        return ()
    return tuple({by.turn_id + by.of: by for _, _, by in gone}.values())


def replacement_of(claim: Claim, index: ClaimIndex) -> Replacement | None:
    """What holds now in the place of a claim: the end of the chain."""
    found: Replacement | None = None
    seen = {claim.id}
    at = claim.id
    for _ in range(_LONGEST_CHAIN):
        conflict = index.above(at)
        if conflict is None or (holds := conflict.holds) is None or holds.id in seen:
            break
        at = holds.id
        seen.add(at)
        if holds.turn_id != claim.turn_id:
            found = Replacement(holds.turn_id, holds.quote, holds.said_at, claim.quote)
    return found


def _asked_for(claim: Claim, asked: frozenset[str]) -> int:
    """How many of the terms of a cue a claim holds; those of its sentence count once more where they are its own."""
    own = frozenset(terms_of(f"{claim.subject} {claim.relation} {claim.value}"))
    return len(asked & own) + len(asked & frozenset(terms_of(claim.quote)))


def _mark_replaced(turns: Sequence[RankedTurn], index: ClaimIndex, asked: frozenset[str]) -> tuple[RankedTurn, ...]:
    marked: list[RankedTurn] = []
    for ranked in turns:
        by = replacements_in(ranked.turn.id, index, asked)
        marked.append(replace(ranked, replaced_by=by[0], also_replaced_by=by[1:]) if by else ranked)
    return tuple(marked)


def _order_by_replacement(turns: tuple[RankedTurn, ...]) -> tuple[RankedTurn, ...]:
    order = list(turns)
    for old in turns:
        if old.replaced_by is None:
            continue
        at = _place_in_order(order, old.turn.id)
        newer = next((i for i, one in enumerate(order) if one.turn.id == old.replaced_by.turn_id), None)
        if newer is None or newer < at:
            continue
        lifted = order.pop(newer)
        gain = order[at].score + _AHEAD - lifted.score
        reasons = (RankingReason(REPLACES, 1.0, gain), *lifted.reasons)
        order.insert(at, replace(lifted, score=lifted.score + gain, reasons=reasons))
        under = order[at + 1]
        order[at + 1] = replace(under, reasons=(RankingReason(REPLACED, 1.0, -gain), *under.reasons))
    return tuple(order)


def _place_in_order(order: Sequence[RankedTurn], turn_id: str) -> int:
    return next(i for i, one in enumerate(order) if one.turn.id == turn_id)


def _episodes_reordered(
    episodes: tuple[RecalledEpisode, ...], turns: Sequence[RankedTurn]
) -> tuple[RecalledEpisode, ...]:
    """An episode whose best turn was superseded goes behind the one that holds what replaced it."""
    homes = {ranked.turn.id: ranked.episode_id for ranked in turns}
    homes |= {ranked.turn.id: found.episode.id for found in episodes for ranked in found.turns}
    order = list(episodes)
    for old in episodes:
        by = old.turns[0].replaced_by if old.turns else None
        newer = homes.get(by.turn_id) if by is not None else None
        if newer is None or newer == old.episode.id:
            continue
        names = [found.episode.id for found in order]
        at = names.index(old.episode.id)
        if newer in names and names.index(newer) > at:
            order.insert(at, order.pop(names.index(newer)))
    return tuple(order)
