"""Claims (who says what of what), and how two claims on one matter relate: the later updates the earlier, or they
contradict each other (DESIGN, section 3: "a superseded fact ranks under what replaced it"). Pure.

A claim is one value for one subject and relation, anchored to the turn that states it. Of two that differ the later is
an update, or the two contradict each other. Who is trusted less never outranks who is trusted more.
"""

import hashlib
from dataclasses import dataclass, replace

from reveries import gates
from reveries.index.terms import stem, terms_of, words_of
from reveries.memory.model import Origin

UPDATE, CONTRADICTION = "update", "contradiction"
EARLIER, LATER, BOTH = "earlier", "later", "both"
SPAN_SECONDS = 86_400.0
"""Two values of one speaker within so long, where no word says that anything changed, contradict each other."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One value for one subject and relation. Both are keys: lower case, stemmed."""

    id: str
    subject: str
    relation: str
    value: str
    """As it was said."""
    quote: str
    """The sentence, word for word."""
    is_change: bool
    """It says itself that something is different from now on."""
    turn_id: str
    experience_id: str
    speaker: str
    said_at: float
    found_by: str
    """ "pattern" or "model"."""
    origin: Origin
    tainted: bool

    @property
    def key(self) -> tuple[str, str]:
        return self.subject, self.relation

    @property
    def trust(self) -> int:
        """2 for the owner's own words, 1 for others, 0 for what somebody from outside may have had a hand in."""
        if self.tainted or self.origin.is_tainted:
            return 0
        return 2 if self.origin is Origin.OWNER else 1


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two claims of which only one can hold now."""

    id: str
    earlier: Claim
    later: Claim
    kind: str
    """UPDATE or CONTRADICTION."""
    reason: str
    found_at: float
    settled: str = ""
    """What the owner said of it: EARLIER, LATER or BOTH hold; empty while nothing was said."""

    @property
    def holds(self) -> Claim | None:
        """The claim that outranks the other; None while neither does."""
        if self.settled == BOTH:
            return None
        if self.settled:
            return self.earlier if self.settled == EARLIER else self.later
        return self.later if self.kind == UPDATE else None

    @property
    def is_own(self) -> bool:
        """It is a trusted claim that would rank under another."""
        return self.earlier.trust > 0

    @property
    def is_foreign(self) -> bool:
        """The claim that would rank above the other is not trusted."""
        return self.later.trust == 0

    def settle(self, settled: str) -> "Conflict":
        """The same with the owner's word on it."""
        return replace(self, settled=settled)

    @property
    def outranked(self) -> Claim | None:
        """The claim that ranks under the other."""
        holds = self.holds
        return None if holds is None else self.earlier if holds is self.later else self.later


@dataclass(frozen=True, slots=True)
class Settlement:
    """The owner's word on a conflict."""

    conflict_id: str
    settled: str
    settled_at: float


def conflict_between(one: Claim, other: Claim, found_at: float) -> Conflict | None:
    """What two claims with one key are to each other; None when both can hold."""
    if one.key != other.key or one.turn_id == other.turn_id or same_value(one.value, other.value):
        return None
    earlier, later = sorted((one, other), key=lambda claim: (claim.said_at, claim.id))
    kind, reason = _kind(earlier, later)
    return Conflict(conflict_id(earlier, later), earlier, later, kind, reason, found_at)


def contradiction(one: Claim, other: Claim, reason: str, found_at: float) -> Conflict:
    """Two claims that cannot both hold, whatever their keys."""
    earlier, later = sorted((one, other), key=lambda claim: (claim.said_at, claim.id))
    return Conflict(conflict_id(earlier, later), earlier, later, CONTRADICTION, reason, found_at)


def same_value(one: str, other: str) -> bool:
    """Whether two values say the same, or one says it more exactly."""
    a, b = _value_terms(one), _value_terms(other)
    return a <= b or b <= a


def key_of(text: str) -> str:
    """What two ways of writing a subject or a relation have in common."""
    terms = terms_of(text) or [stem(word) for word in words_of(text)]
    return " ".join(sorted(set(terms)))


def as_contradiction(conflict: Conflict, reason: str) -> Conflict:
    """`conflict` for the owner to settle, in the place of taking effect."""
    return replace(conflict, kind=CONTRADICTION, reason=reason)


def _kind(earlier: Claim, later: Claim) -> tuple[str, str]:
    if later.trust < earlier.trust and gates.stands(gates.Gate.SUPERSEDE):
        return CONTRADICTION, "The later one comes from somebody who is trusted less."
    if earlier.speaker.casefold() != later.speaker.casefold():
        return CONTRADICTION, "Two speakers say different things."
    if later.is_change:
        return UPDATE, "The same speaker says that it has changed."
    if later.relation.startswith(FEELS):
        return CONTRADICTION, "Both were said, and no word says that anything changed."
    if later.said_at - earlier.said_at >= SPAN_SECONDS:
        return UPDATE, "The same speaker said something else later."
    return CONTRADICTION, "The same speaker says both within a day, and no word says that anything changed."


FEELS = "feels about "
"""Relations that begin so do not go out of date by themselves."""


def _value_terms(value: str) -> frozenset[str]:
    return frozenset(terms_of(value)) or frozenset(words_of(value))


def conflict_id(earlier: Claim, later: Claim) -> str:
    """The same for the same two."""
    return hashlib.blake2b(f"{earlier.id}\n{later.id}".encode(), digest_size=4).hexdigest()
