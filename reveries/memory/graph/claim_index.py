"""The claims of the live memory and their conflicts. No I/O, no waiting."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from reveries.memory.claims import Claim, Conflict
from reveries.memory.text.denials import Denial, find_denial

if TYPE_CHECKING:
    from reveries.memory.changes import ChangeSet


class ClaimIndex:
    """Claims by key (subject and relation) and by turn, conflicts by id, and which claim ranks below which."""

    def __init__(self) -> None:
        self._claims: dict[str, Claim] = {}
        self._by_key: dict[tuple[str, str], dict[str, Claim]] = {}
        self._by_turn: dict[str, dict[str, Claim]] = {}
        self._conflicts: dict[str, Conflict] = {}
        self._denials: dict[str, dict[str, tuple[Claim, Denial]]] = {}
        self._newer: dict[str, Conflict] = {}

    @property
    def claims(self) -> Mapping[str, Claim]:
        return self._claims

    @property
    def conflicts(self) -> Mapping[str, Conflict]:
        return self._conflicts

    def claims_about(self, key: tuple[str, str]) -> Iterable[Claim]:
        """Return the claims with this key that no other outranks, in the order in which they were added."""
        return [claim for claim in self._by_key.get(key, {}).values() if claim.id not in self._newer]

    def denials_of(self, speaker: str) -> Iterable[tuple[Claim, Denial]]:
        """Return what a speaker said they never did."""
        return self._denials.get(speaker.casefold(), {}).values()

    def claims_in_turn(self, turn_id: str) -> Iterable[Claim]:
        return self._by_turn.get(turn_id, {}).values()

    def outranking_conflict(self, claim_id: str) -> Conflict | None:
        """Return the conflict by which a claim ranks below another; None if it does not."""
        return self._newer.get(claim_id)

    def apply(self, changes: "ChangeSet") -> None:
        """Apply new, removed and settled claims and conflicts. Cannot fail."""
        for claim in changes.claims:
            self._put_claim(claim)
        for conflict in changes.conflicts:
            self._conflicts[conflict.id] = conflict
        for settlement in changes.settlements:
            if (unsettled := self._conflicts.get(settlement.conflict_id)) is not None:
                self._conflicts[unsettled.id] = unsettled.settle(settlement.settled)
        for name in changes.gone_conflict_ids:
            self._conflicts.pop(name, None)
        for name in changes.gone_claim_ids:
            self._drop_claim(name)
        if changes.conflicts or changes.settlements or changes.gone_conflict_ids:
            self._rebuild_ranks()

    def _put_claim(self, claim: Claim) -> None:
        self._claims[claim.id] = claim
        self._by_key.setdefault(claim.key, {})[claim.id] = claim
        self._by_turn.setdefault(claim.turn_id, {})[claim.id] = claim
        if claim.relation == DENIES and (denial := find_denial(claim.quote)) is not None:
            self._denials.setdefault(claim.speaker.casefold(), {})[claim.id] = (claim, denial)

    def _drop_claim(self, claim_id: str) -> None:
        claim = self._claims.pop(claim_id, None)
        if claim is not None:
            self._by_key[claim.key].pop(claim_id, None)
            self._by_turn[claim.turn_id].pop(claim_id, None)
            self._denials.get(claim.speaker.casefold(), {}).pop(claim_id, None)

    def _rebuild_ranks(self) -> None:
        self._newer = {}
        for conflict in sorted(self._conflicts.values(), key=lambda unranked: (unranked.found_at, unranked.id)):
            if (under := conflict.outranked_claim) is not None:
                self._newer[under.id] = conflict


DENIES = "never did"
"""The relation of a denial claim; what it denies is parsed from its sentence."""
