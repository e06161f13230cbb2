"""Two facts of which at most one holds."""

from dataclasses import dataclass
from enum import StrEnum

from reveries.knowledge.facts.model import Fact


class Certainty(StrEnum):
    SURE = "sure"
    """The words suffice."""
    ABOUT_ONE = "about_one"
    """They suffice beside a line that says that something changed."""
    NEAR = "near"
    """Somebody who understands the lines has to judge."""


@dataclass(frozen=True, slots=True)
class FactConflict:
    """Two facts of which at most one holds."""

    subject: str
    """The words that both share."""
    a: Fact
    b: Fact
    score: float
    certainty: Certainty = Certainty.SURE
