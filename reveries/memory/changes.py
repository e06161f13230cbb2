"""Change sets: the changes of one decision about memory, as data. The store writes a change set in one transaction,
then the live memory applies it."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from reveries.llm.base import Vector
from reveries.memory.claims import Claim, Conflict, Settlement
from reveries.memory.model import Episode, Link, SelfModel, Turn


@dataclass(frozen=True, slots=True)
class Touch:
    """New values of an episode after a real recall (R-125)."""

    episode_id: str
    access_count: int
    last_accessed_at: float
    salience: float
    accessibility: float


@dataclass(frozen=True, slots=True)
class Fading:
    """New values of an episode after decay and pruning (R-114..R-116)."""

    episode_id: str
    salience: float
    accessibility: float
    last_decayed_at: float


@dataclass(frozen=True, slots=True)
class Retirement:
    """An episode that was merged into another. It leaves the live graph; its row stays."""

    episode_id: str
    merged_into: str


@dataclass(frozen=True, slots=True)
class Dormancy:
    """An episode that becomes dormant: it leaves the live graph with its turns. Its row, links and vectors stay."""

    episode_id: str
    since: float
    reason: str
    """"faded", or "limit" when there were more live episodes than allowed."""


@dataclass(frozen=True, slots=True)
class Waking:
    """A dormant episode that a strong cue wakes: the change set puts it back with its vector, links and turns. An
    episode that was already live only gets back its turns that were only on disk."""

    episode_id: str
    at: float
    reason: str


@dataclass(frozen=True, slots=True)
class ProcessedExperience:
    """An experience that deep sleep has processed, with its new values."""

    experience_id: str
    salience: float
    valence: float


@dataclass(frozen=True, slots=True)
class IndexedTurn:
    """A source turn to add to the live index."""

    turn: Turn
    episode_id: str
    vector: Vector = field(repr=False)


@dataclass(frozen=True, slots=True)
class SelfModelChange:
    """A change of the self-model with its reason and the ids of the episodes behind it (R-86, R-87)."""

    before: SelfModel
    after: SelfModel
    reason: str
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """Everything that one decision changes. Applying it to the live memory cannot fail and never waits."""

    removed_ids: tuple[str, ...] = ()
    """Episodes that leave the live memory with all their links before anything below is added (used by undo)."""
    episodes: tuple[Episode, ...] = ()
    """Added, or replacing the episode with the same id."""
    vectors: tuple[tuple[str, Vector], ...] = ()
    """Episode id and its vector."""
    links: tuple[Link, ...] = ()
    """Added, or updated to a new strength."""
    touches: tuple[Touch, ...] = ()
    fadings: tuple[Fading, ...] = ()
    retired: tuple[Retirement, ...] = ()
    indexed: tuple[IndexedTurn, ...] = ()
    dormant: tuple[Dormancy, ...] = ()
    woken: tuple[Waking, ...] = ()
    put_away_turn_ids: tuple[str, ...] = ()
    """Turns that leave the live index and stay only on disk (R-66, RA-14), where deep search finds them."""
    unindexed_turn_ids: tuple[str, ...] = ()
    """Turns that leave the live index because the sleep pass that added them was undone."""
    provisional_ids: tuple[str, ...] = ()
    """Episodes whose vector was built from incomplete input: it is used but not stored, and re-embedded later."""
    light_slept_ids: tuple[str, ...] = ()
    """Experiences that light sleep has processed."""
    processed: tuple[ProcessedExperience, ...] = ()
    self_model: SelfModelChange | None = None
    claims: tuple[Claim, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    settlements: tuple[Settlement, ...] = ()
    gone_claim_ids: tuple[str, ...] = ()
    gone_conflict_ids: tuple[str, ...] = ()
    """Claims and conflicts that leave the live memory (undo, erasure). Their rows are deleted separately."""

    @property
    def is_empty(self) -> bool:
        return self == ChangeSet()


@dataclass(frozen=True, slots=True)
class ExperienceBefore:
    """Values of an experience before a sleep pass changed them."""

    experience_id: str
    salience: float
    valence: float
    light_slept: bool
    processed: bool
    attempts: int


@dataclass(frozen=True, slots=True)
class PriorState:
    """The values that a change set replaced. With the vectors, which are kept separately, it is enough to undo it."""

    episodes: tuple[Episode, ...] = ()
    links: tuple[Link, ...] = ()
    experiences: tuple[ExperienceBefore, ...] = ()


def join_changes(parts: Iterable[ChangeSet]) -> ChangeSet:
    """Join several change sets into one. Of two values for the same item the later one wins."""
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
