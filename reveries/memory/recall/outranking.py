"""What was superseded ranks under what replaced it: a step after the ranking, which changes the order and nothing else.
Only where both came to mind. Pure.

The newer one takes the place of the older, which follows right behind it: both are seen, the newer first.
"""

from collections.abc import Sequence
from dataclasses import replace

from reveries.memory.model import RankedTurn, Reason, Recall, RecalledEpisode, Replacement
from reveries.memory.sleep.claim_index import ClaimIndex

REPLACES, REPLACED = "replaces", "replaced"
"""The names of the reasons."""
_AHEAD = 0.01
_LONGEST_CHAIN = 20


def outranked_last(recall: Recall, index: ClaimIndex) -> Recall:
    """`recall` with every superseded turn, and the episode that surfaced by it, under what replaced it."""
    if not index.conflicts:
        return recall
    turns = _marked(recall.turns, index)
    episodes = tuple(replace(found, turns=_marked(found.turns, index)) for found in recall.episodes)
    return replace(
        recall,
        turns=_reordered(turns),
        episodes=_episodes_reordered(episodes, turns),
        nearest=_marked(recall.nearest, index),
    )


def replacement_of(turn_id: str, index: ClaimIndex) -> Replacement | None:
    """What holds now in the place of what a turn says: the end of the chain."""
    found: Replacement | None = None
    seen = {turn_id}
    for _ in range(_LONGEST_CHAIN):
        conflict = index.above(turn_id)
        if conflict is None or (holds := conflict.holds) is None or holds.turn_id in seen:
            break
        turn_id = holds.turn_id
        seen.add(turn_id)
        found = Replacement(turn_id, holds.quote, holds.said_at)
    return found


def _marked(turns: Sequence[RankedTurn], index: ClaimIndex) -> tuple[RankedTurn, ...]:
    return tuple(
        ranked if (by := replacement_of(ranked.turn.id, index)) is None else replace(ranked, replaced_by=by)
        for ranked in turns
    )


def _reordered(turns: tuple[RankedTurn, ...]) -> tuple[RankedTurn, ...]:
    order = list(turns)
    for old in turns:
        if old.replaced_by is None:
            continue
        at = _place(order, old.turn.id)
        newer = next((i for i, one in enumerate(order) if one.turn.id == old.replaced_by.turn_id), None)
        if newer is None or newer < at:
            continue
        lifted = order.pop(newer)
        gain = order[at].score + _AHEAD - lifted.score
        reasons = (Reason(REPLACES, 1.0, gain), *lifted.reasons)
        order.insert(at, replace(lifted, score=lifted.score + gain, reasons=reasons))
        under = order[at + 1]
        order[at + 1] = replace(under, reasons=(Reason(REPLACED, 1.0, -gain), *under.reasons))
    return tuple(order)


def _place(order: Sequence[RankedTurn], turn_id: str) -> int:
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
