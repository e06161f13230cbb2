"""Change sets: what one decision about memory changes, as data. The store writes a change set in one transaction, then
the live memory applies it."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from reveries.llm.base import Vector
from reveries.memory.claims import Claim, Conflict, Settlement
from reveries.memory.model import Episode, Link, SelfModel, Turn


@dataclass(frozen=True, slots=True)
class Touch:
    """An episode after a real recall (R-125); the new values, not differences."""

    episode_id: str
    access_count: int
    last_accessed_at: float
    salience: float
    accessibility: float


@dataclass(frozen=True, slots=True)
class Fading:
    """An episode after decay and prune (R-114..R-116); the new values."""

    episode_id: str
    salience: float
    accessibility: float
    last_decayed_at: float


@dataclass(frozen=True, slots=True)
class Retirement:
    """An episode that went into another. Its row stays; it leaves the live graph."""

    episode_id: str
    merged_into: str


@dataclass(frozen=True, slots=True)
class Dormancy:
    """An episode that leaves the live graph for the disk, with its turns. Its row, links and vectors stay."""

    episode_id: str
    since: float
    reason: str
    """"faded", or "limit" where more were live than fit."""


@dataclass(frozen=True, slots=True)
class Waking:
    """An episode that a strong cue brings back: the change set puts it, its vector, links and turns in the live memory.
    One that was live all the time only gets back the words that were put away."""

    episode_id: str
    at: float
    reason: str


@dataclass(frozen=True, slots=True)
class Processed:
    """An experience that deep sleep has worked on, with what it thinks of it now."""

    experience_id: str
    salience: float
    valence: float


@dataclass(frozen=True, slots=True)
class IndexedTurn:
    """A source turn on its way into the live index."""

    turn: Turn
    episode_id: str
    vector: Vector = field(repr=False)


@dataclass(frozen=True, slots=True)
class SelfModelChange:
    """R-86, R-87 with history: what it was, what it is now, why, and the episodes that show it."""

    before: SelfModel
    after: SelfModel
    reason: str
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """Everything that one decision changes. Applying it to the live memory cannot fail and never waits."""

    removed_ids: tuple[str, ...] = ()
    """Episodes that leave the live memory with all their links before anything below is put: what undoing takes."""
    episodes: tuple[Episode, ...] = ()
    """Put: new, or in the place of the one with the same id."""
    vectors: tuple[tuple[str, Vector], ...] = ()
    """Episode id and its vector."""
    links: tuple[Link, ...] = ()
    """Put: new, or with a new strength."""
    touches: tuple[Touch, ...] = ()
    fadings: tuple[Fading, ...] = ()
    retired: tuple[Retirement, ...] = ()
    indexed: tuple[IndexedTurn, ...] = ()
    dormant: tuple[Dormancy, ...] = ()
    woken: tuple[Waking, ...] = ()
    put_away_turn_ids: tuple[str, ...] = ()
    """Turns that leave the live index for the disk (R-66, RA-14), where deep search finds them."""
    unindexed_turn_ids: tuple[str, ...] = ()
    """Turns that leave the live index because sleep has not worked on them any more: what undoing takes."""
    provisional_ids: tuple[str, ...] = ()
    """Episodes whose vector is made of less than it should be: it serves, and is made anew instead of being stored."""
    light_slept_ids: tuple[str, ...] = ()
    """Experiences."""
    processed: tuple[Processed, ...] = ()
    self_model: SelfModelChange | None = None
    claims: tuple[Claim, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    settlements: tuple[Settlement, ...] = ()
    gone_claim_ids: tuple[str, ...] = ()
    gone_conflict_ids: tuple[str, ...] = ()
    """What undoing takes back of them: out of the live memory; out of the file it is taken beside this."""

    @property
    def is_empty(self) -> bool:
        return self == ChangeSet()


@dataclass(frozen=True, slots=True)
class ExperienceBefore:
    """What sleep thought of an experience until then."""

    experience_id: str
    salience: float
    valence: float
    light_slept: bool
    processed: bool
    attempts: int


@dataclass(frozen=True, slots=True)
class Before:
    """What stood where a change set put something: enough to undo it, with the vectors that are kept beside it."""

    episodes: tuple[Episode, ...] = ()
    links: tuple[Link, ...] = ()
    experiences: tuple[ExperienceBefore, ...] = ()


def join_changes(parts: Iterable[ChangeSet]) -> ChangeSet:
    """One change set out of several; of two values for one place the later counts."""
    joined = ChangeSet()
    for part in parts:
        joined = replace(
            joined,
            removed_ids=joined.removed_ids + part.removed_ids,
            episodes=joined.episodes + part.episodes,
            vectors=joined.vectors + part.vectors,
            links=joined.links + part.links,
            touches=joined.touches + part.touches,
            fadings=joined.fadings + part.fadings,
            retired=joined.retired + part.retired,
            dormant=joined.dormant + part.dormant,
            woken=joined.woken + part.woken,
            indexed=joined.indexed + part.indexed,
            put_away_turn_ids=joined.put_away_turn_ids + part.put_away_turn_ids,
            unindexed_turn_ids=joined.unindexed_turn_ids + part.unindexed_turn_ids,
            provisional_ids=joined.provisional_ids + part.provisional_ids,
            light_slept_ids=joined.light_slept_ids + part.light_slept_ids,
            processed=joined.processed + part.processed,
            self_model=part.self_model or joined.self_model,
            claims=joined.claims + part.claims,
            conflicts=joined.conflicts + part.conflicts,
            settlements=joined.settlements + part.settlements,
            gone_claim_ids=joined.gone_claim_ids + part.gone_claim_ids,
            gone_conflict_ids=joined.gone_conflict_ids + part.gone_conflict_ids,
        )
    return joined
