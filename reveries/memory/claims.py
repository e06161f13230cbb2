"""Claims, and how two claims with one key relate: the later updates the earlier, or they contradict each other
(DESIGN, section 3: "a superseded fact ranks under what replaced it"). Pure.

A claim is one value for one subject and relation, anchored to the turn that states it. A claim of a less trusted source
never outranks one of a more trusted source.
"""

import hashlib
from dataclasses import dataclass, replace

from reveries import gates
from reveries.index.terms import stem, terms_of, words_of
from reveries.memory.model import Origin

UPDATE, CONTRADICTION = "update", "contradiction"
EARLIER, LATER, BOTH = "earlier", "later", "both"
SPAN_SECONDS = 86_400.0
"""Two values stated by one speaker within this time contradict each other, unless the later says that it changed."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One value for one subject and relation. Both are keys: lower case, stemmed."""

    id: str
    subject: str
    relation: str
    value: str
    """As stated."""
    quote: str
    """The sentence, word for word."""
    is_change: bool
    """Whether the claim itself says that something has changed."""
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
        """2 for the owner's own words, 1 for other trusted text, 0 for tainted text."""
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
    """The owner's decision: EARLIER, LATER or BOTH hold; empty while undecided."""

    @property
    def prevailing_claim(self) -> Claim | None:
        """The claim that outranks the other; None if neither does."""
        if self.settled == BOTH:
            return None
        if self.settled:
            return self.earlier if self.settled == EARLIER else self.later
        return self.later if self.kind == UPDATE else None

    @property
    def is_earlier_trusted(self) -> bool:
        """Whether a trusted claim would be outranked."""
        return self.earlier.trust > 0

    @property
    def is_later_untrusted(self) -> bool:
        """Whether an untrusted claim would outrank the other."""
        return self.later.trust == 0

    def settle(self, settled: str) -> "Conflict":
        """Return the conflict with the owner's decision."""
        return replace(self, settled=settled)

    @property
    def outranked_claim(self) -> Claim | None:
        """The claim that is outranked by the other; None if neither is."""
        prevailing = self.prevailing_claim
        return None if prevailing is None else self.earlier if prevailing is self.later else self.later


@dataclass(frozen=True, slots=True)
class Settlement:
    """The owner's decision on a conflict."""

    conflict_id: str
    settled: str
    settled_at: float


def conflict_between(first: Claim, other: Claim, found_at: float) -> Conflict | None:
    """Return the conflict between two claims; None if their keys differ or both can hold."""
    if first.key != other.key or first.turn_id == other.turn_id or is_same_value(first.value, other.value):
        return None
    earlier, later = sorted((first, other), key=lambda claim: (claim.said_at, claim.id))
    kind, reason = _classify(earlier, later)
    return Conflict(conflict_id(earlier, later), earlier, later, kind, reason, found_at)


def contradiction(first: Claim, other: Claim, reason: str, found_at: float) -> Conflict:
    """Return a contradiction between two claims, whatever their keys."""
    earlier, later = sorted((first, other), key=lambda claim: (claim.said_at, claim.id))
    return Conflict(conflict_id(earlier, later), earlier, later, CONTRADICTION, reason, found_at)


def is_same_value(value: str, other: str) -> bool:
    """Whether two values say the same, or one is more specific."""
    a, b = _value_terms(value), _value_terms(other)
    return a <= b or b <= a


def normalize_key(text: str) -> str:
    """Normalize a subject or relation, so that different spellings give the same key."""
    terms = terms_of(text) or [stem(word) for word in words_of(text)]
    return " ".join(sorted(set(terms)))


def as_contradiction(conflict: Conflict, reason: str) -> Conflict:
    """Turn an update into a contradiction for the owner to settle, so that it does not take effect."""
    return replace(conflict, kind=CONTRADICTION, reason=reason)


def _classify(earlier: Claim, later: Claim) -> tuple[str, str]:
    if later.trust < earlier.trust and gates.is_enforced(gates.Gate.SUPERSEDE):
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
"""Prefix of relations that do not become outdated by time alone."""


def _value_terms(value: str) -> frozenset[str]:
    return frozenset(terms_of(value)) or frozenset(words_of(value))


def conflict_id(earlier: Claim, later: Claim) -> str:
    """Return an id that depends only on the two claims."""
    return hashlib.blake2b(f"{earlier.id}\n{later.id}".encode(), digest_size=4).hexdigest()
