"""What was decided of two lines of notes that do not go together: by the owner, or by a capable model. While both lines
are unchanged, a decision stands."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from reveries.clock import Clock
from reveries.db.checksums import checksum
from reveries.db.database import Database, Reader, Transaction
from reveries.db.typed_rows import read_row
from reveries.errors import NotFoundError
from reveries.knowledge.facts.fact_conflict import FactConflict
from reveries.knowledge.facts.model import Fact

_LEAST_ID_CHARS = 2


class DecisionState(StrEnum):
    DISMISSED = "dismissed"
    """They go together."""
    KEPT_A = "kept_a"
    """The first line holds, the other one does not."""
    KEPT_B = "kept_b"
    CONFIRMED = "confirmed"
    """A model found that they do not go together, where no rule was sure."""
    DENIED = "denied"
    """A model found that they go together."""


class DecidedBy(StrEnum):
    OWNER = "owner"
    MODEL = "model"


Place = tuple[str, str]
"""A document, and the text of a line in it."""


@dataclass(frozen=True, slots=True)
class ConflictDecision:
    """A decision about two lines."""

    id: str
    project_id: str
    a_document: str
    a_text: str
    b_document: str
    b_text: str
    state: DecisionState
    decided_by: DecidedBy
    reason: str
    model: str
    decided_at: float

    @property
    def a(self) -> Place:
        return self.a_document, self.a_text

    @property
    def b(self) -> Place:
        return self.b_document, self.b_text


@dataclass(frozen=True, slots=True)
class NewDecision:
    """A decision to be stored."""

    pair: FactConflict
    state: DecisionState
    decided_by: DecidedBy
    reason: str = ""
    model: str = ""
    rests_on: tuple[str, ...] = ()
    """Ids of the chunks that the lines stand in."""
    foreign_sources: frozenset[str] = frozenset()


class ConflictDecisions:
    """The decisions of all projects."""

    def __init__(self, database: Database, clock: Clock, new_id: Callable[[], str]) -> None:
        self._database = database
        self._clock = clock
        self._new_id = new_id

    async def of_project(self, project_id: str, source: Reader | None = None) -> list[ConflictDecision]:
        """Return the decisions, oldest first."""
        rows = await (source or self._database).rows("decided_conflicts.of_project", {"project_id": project_id})
        return [read_row(ConflictDecision, row) for row in rows]

    async def put(self, transaction: Transaction, project_id: str, decision: NewDecision) -> None:
        """Store a decision; it takes the place of an earlier one about the same lines."""
        named = await self.take_back(transaction, project_id, decision.pair)
        full: dict[str, object] = {
            **named,
            "id": self._new_id(),
            "state": decision.state.value,
            "decided_by": decision.decided_by.value,
            "reason": decision.reason,
            "model": decision.model,
            "now": self._clock.now(),
            "rests_on": json.dumps(sorted(decision.rests_on)),
            "foreign_sources": json.dumps(sorted(decision.foreign_sources)),
            "checksum": checksum(named["a_text"], named["b_text"]),
        }
        await transaction.run("decided_conflicts.put", full)

    async def take_back(self, transaction: Transaction, project_id: str, pair: FactConflict) -> dict[str, str]:
        """Delete what was decided of two lines, in either order. Return the columns that name them."""
        (a_document, a_text), (b_document, b_text) = place_of(pair.a), place_of(pair.b)
        named = {
            "project_id": project_id,
            "a_document": a_document,
            "a_text": a_text,
            "b_document": b_document,
            "b_text": b_text,
        }
        turned = named | {"a_document": b_document, "a_text": b_text, "b_document": a_document, "b_text": a_text}
        for row in (named, turned):
            await transaction.run("decided_conflicts.drop_same", row)
        return named


def place_of(fact: Fact) -> Place:
    """Return the document and the line of a fact: while both are unchanged, what was decided of it stands."""
    return fact.document, " ".join(fact.text.split())


def pair_id(pair: FactConflict) -> str:
    """Return the id of a conflict: the same as long as both lines are unchanged, whatever their order."""
    places = sorted("\0".join(place_of(fact)) for fact in (pair.a, pair.b))
    return hashlib.blake2b("\0".join(places).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def by_pair(decisions: Iterable[ConflictDecision]) -> Mapping[frozenset[Place], ConflictDecision]:
    """Return the decisions by the two lines that they are about. Pure."""
    return {frozenset((decision.a, decision.b)): decision for decision in decisions}


def lines_of(pair: FactConflict) -> frozenset[Place]:
    """Return the two lines of a pair. Pure."""
    return frozenset((place_of(pair.a), place_of(pair.b)))


def find_conflict(conflicts: Sequence[FactConflict], name: str) -> FactConflict:
    """Return the conflict whose id begins with `name`. Raises NotFoundError. Pure."""
    matching = [pair for pair in conflicts if len(name) >= _LEAST_ID_CHARS and pair_id(pair).startswith(name)]
    if len(matching) == 1:
        return matching[0]
    raise NotFoundError(
        f"{len(matching) or 'No'} conflicts have an id that begins with {name[:40]!r}.",
        advice="See: reveries project conflicts NAME",
    )
