"""Compares the claims of new turns with earlier ones: contradictions and updates. Pure."""

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
from reveries.memory.sleep.claims.extraction import ClaimMatch, claim_of, extract_claims
from reveries.memory.text.denials import Denial, filter_denials, find_affirmation, find_denial

_DENIED = "One says that it never happened, the other that it did."
_TOO_MANY = "Too much would be superseded at once, so you are asked."


@dataclass(slots=True)
class VerifiedClaims:
    """Claims to store, and the conflicts they are part of."""

    claims: list[Claim] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)


Search = Callable[[Denial, str], Iterable[Turn]]
"""Returns earlier turns of a speaker that may contradict a denial."""


def judge_turns(
    turns: Sequence[Turn], index: ClaimIndex, search: Search, weight: Callable[[str], float], now: float
) -> VerifiedClaims:
    """Extract the claims of `turns`, in order, and compare them with the known ones and each other."""
    judged = judge_claims(extract_claims(turns), index, now)
    for turn in turns:
        if turn.origin in (Origin.SELF, Origin.SYSTEM):
            continue
        _judge_denial(turn, turns, judged, search, weight, now)
        _judge_affirmation(turn, index, judged, weight, now)
    return judged


def judge_claims(claims: Iterable[Claim], index: ClaimIndex, now: float) -> VerifiedClaims:
    """Compare new claims with the known ones of the same key, and with each other."""
    judged = VerifiedClaims()
    outranked: set[str] = set()
    for claim in claims:
        if claim.id in index.claims:
            continue
        rivals = [
            *index.claims_about(claim.key),
            *(judged_claim for judged_claim in judged.claims if judged_claim.key == claim.key),
        ]
        for rival in rivals:
            if rival.id not in outranked and (conflict := conflict_between(rival, claim, now)) is not None:
                judged.conflicts.append(conflict)
                outranked |= {conflict.outranked_claim.id} if conflict.outranked_claim is not None else set()
        judged.claims.append(claim)
    return judged


def limit_updates(judged: VerifiedClaims, allowed: float) -> VerifiedClaims:
    """If there are more updates than allowed, turn them all into contradictions for the owner to settle. Updates by
    untrusted text are counted separately, so that they cannot block those of the owner."""
    own_limited = _limit_counted(judged, allowed, lambda conflict: conflict.is_earlier_trusted)
    return _limit_counted(own_limited, allowed, lambda conflict: conflict.is_later_untrusted)


def hold_untrusted_updates(judged: VerifiedClaims) -> VerifiedClaims:
    """Turn all updates by untrusted text into contradictions, so that none takes effect."""
    return _limit_counted(judged, -1.0, lambda conflict: conflict.is_later_untrusted)


def _limit_counted(judged: VerifiedClaims, allowed: float, is_counted: Callable[[Conflict], bool]) -> VerifiedClaims:
    counted = {conflict.id for conflict in judged.conflicts if conflict.kind == UPDATE and is_counted(conflict)}
    if len(counted) <= allowed:
        return judged
    conflicts = [
        as_contradiction(conflict, _TOO_MANY) if conflict.id in counted else conflict for conflict in judged.conflicts
    ]
    return VerifiedClaims(judged.claims, conflicts)


def max_changes_at_once(live_count: int, settings: MemorySettings) -> float:
    """Return how many episodes or claims one pass may merge away or supersede before the owner is asked."""
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
    denial = find_denial(turn.own_text)
    if denial is None:
        return
    claim = _denial_claim(turn, denial)
    judged.claims.append(claim)
    others = [candidate for candidate in turns if candidate.speaker == turn.speaker and candidate.id != turn.id]
    for other in [*search(denial, turn.speaker), *others]:
        if (sentence := find_affirmation(other.own_text, denial, weight)) and other.id != turn.id:
            _add_contradiction(judged, claim, _affirming_claim(other, sentence, claim), now)
            return


def _judge_affirmation(
    turn: Turn, index: ClaimIndex, judged: VerifiedClaims, weight: Callable[[str], float], now: float
) -> None:
    denials = {denial.sentence: (claim, denial) for claim, denial in index.denials_of(turn.speaker)}
    for denial in filter_denials(turn, [denial for _, denial in denials.values()]):
        claim = denials[denial.sentence][0]
        if turn.id != claim.turn_id and (sentence := find_affirmation(turn.own_text, denial, weight)):
            _add_contradiction(judged, claim, _affirming_claim(turn, sentence, claim), now)


def _add_contradiction(judged: VerifiedClaims, denial: Claim, affirming: Claim, now: float) -> None:
    conflict = contradiction(denial, affirming, _DENIED, now)
    if conflict.id not in {recorded.id for recorded in judged.conflicts}:
        judged.claims.append(affirming)
        judged.conflicts.append(conflict)


def _denial_claim(turn: Turn, denial: Denial) -> Claim:
    return claim_of(turn, "never", denial.sentence, ClaimMatch(turn.speaker, DENIES, "never", False), "pattern")


def _affirming_claim(turn: Turn, sentence: str, denial: Claim) -> Claim:
    return claim_of(turn, f"did {denial.id}", sentence, ClaimMatch(turn.speaker, "did", "done", False), "pattern")
