"""Compares the claims of new turns with earlier ones: which conflict, which update. Pure."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from reveries.config import MemorySettings
from reveries.memory.claims import (
    UPDATE,
    Claim,
    Conflict,
    as_contradiction,
    conflict_between,
    contradiction,
)
from reveries.memory.graph.claim_index import DENIES, ClaimIndex
from reveries.memory.model import Origin, Turn
from reveries.memory.sleep.claims.extraction import ClaimMatch, claim_of, claims_in
from reveries.memory.text.denials import Denial, affirmation_in, denial_in, is_worth_reading

_DENIED = "One says that it was never done, the other that it was."
_TOO_MANY = "So much would be superseded at once that you are asked."


@dataclass(slots=True)
class VerifiedClaims:
    """Claims to keep, and conflicts that they are part of."""

    claims: list[Claim] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)


Search = Callable[[Denial, str], Iterable[Turn]]
"""Earlier turns of a speaker that may say the contrary of a denial."""


def judge_turns(
    turns: Sequence[Turn], index: ClaimIndex, search: Search, weight: Callable[[str], float], now: float
) -> VerifiedClaims:
    """What `turns`, in order, claim, beside what is known and beside each other."""
    judged = judge_claims(claims_in(turns), index, now)
    for turn in turns:
        if turn.origin in (Origin.SELF, Origin.SYSTEM):
            continue
        _judge_denial(turn, turns, judged, search, weight, now)
        _judge_affirmation(turn, index, judged, weight, now)
    return judged


def judge_claims(claims: Iterable[Claim], index: ClaimIndex, now: float) -> VerifiedClaims:
    """New claims beside the known ones with the same key, and beside each other."""
    judged = VerifiedClaims()
    outranked: set[str] = set()
    for claim in claims:
        if claim.id in index.claims:
            continue
        rivals = [*index.with_key(claim.key), *(one for one in judged.claims if one.key == claim.key)]
        for rival in rivals:
            if rival.id not in outranked and (found := conflict_between(rival, claim, now)) is not None:
                judged.conflicts.append(found)
                outranked |= {found.outranked.id} if found.outranked is not None else set()
        judged.claims.append(claim)
    return judged


def limit_updates(judged: VerifiedClaims, allowed: float) -> VerifiedClaims:
    """`judged`, with nothing taking effect that is one too many: the owner is to settle all of it. Foreign text counts
    by itself, so that no number of its claims takes effect from what the owner said."""
    return _hold_within(_hold_within(judged, allowed, lambda one: one.is_own), allowed, lambda one: one.is_foreign)


def without_foreign(judged: VerifiedClaims) -> VerifiedClaims:
    """`judged`, with nothing in it that takes effect by foreign text."""
    return _hold_within(judged, -1.0, lambda one: one.is_foreign)


def _hold_within(judged: VerifiedClaims, allowed: float, is_counted: Callable[[Conflict], bool]) -> VerifiedClaims:
    counted = {one.id for one in judged.conflicts if one.kind == UPDATE and is_counted(one)}
    if len(counted) <= allowed:
        return judged
    held = [as_contradiction(one, _TOO_MANY) if one.id in counted else one for one in judged.conflicts]
    return VerifiedClaims(judged.claims, held)


def allowed_at_once(live_count: int, settings: MemorySettings) -> float:
    """How many episodes or claims one pass may take out of reach before the owner is asked."""
    if settings.ask_above_share >= 1.0:
        return float("inf")
    return max(float(settings.ask_above_count), settings.ask_above_share * live_count)


def _judge_denial(
    turn: Turn,
    turns: Sequence[Turn],
    judged: VerifiedClaims,
    search: Search,
    weight: Callable[[str], float],
    now: float,
) -> None:
    denial = denial_in(turn.fresh)
    if denial is None:
        return
    claim = _denial_claim(turn, denial)
    judged.claims.append(claim)
    among = [one for one in turns if one.speaker == turn.speaker and one.id != turn.id]
    for other in [*search(denial, turn.speaker), *among]:
        if (sentence := affirmation_in(other.fresh, denial, weight)) and other.id != turn.id:
            _contradict(judged, claim, _affirming_claim(other, sentence, claim), now)
            return


def _judge_affirmation(
    turn: Turn, index: ClaimIndex, judged: VerifiedClaims, weight: Callable[[str], float], now: float
) -> None:
    denials = {denial.sentence: (claim, denial) for claim, denial in index.denials_of(turn.speaker)}
    for denial in is_worth_reading(turn, [denial for _, denial in denials.values()]):
        claim = denials[denial.sentence][0]
        if turn.id != claim.turn_id and (sentence := affirmation_in(turn.fresh, denial, weight)):
            _contradict(judged, claim, _affirming_claim(turn, sentence, claim), now)


def _contradict(judged: VerifiedClaims, denial: Claim, affirming: Claim, now: float) -> None:
    found = contradiction(denial, affirming, _DENIED, now)
    if found.id not in {known.id for known in judged.conflicts}:
        judged.claims.append(affirming)
        judged.conflicts.append(found)


def _denial_claim(turn: Turn, denial: Denial) -> Claim:
    return claim_of(turn, "never", denial.sentence, ClaimMatch(turn.speaker, DENIES, "never", False), "pattern")


def _affirming_claim(turn: Turn, sentence: str, denial: Claim) -> Claim:
    return claim_of(turn, f"did {denial.id}", sentence, ClaimMatch(turn.speaker, "did", "done", False), "pattern")
