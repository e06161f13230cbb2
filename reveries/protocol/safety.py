"""Messages about the mind's wellbeing."""

import msgspec

from reveries.protocol.message import Answer, Request
from reveries.protocol.registry import request


class Excerpt(msgspec.Struct, frozen=True):
    """One occurrence: the sentence, and how its thought ended."""

    happened_at: float
    text: str
    thought_ended: str


class Indicator(msgspec.Struct, frozen=True):
    """The counts of one indicator. `weeks` are the last eight, oldest first.

    `per_100_thoughts` is the rate over all thoughts, `per_100_thoughts_lately` over those of the last four weeks.
    """

    kind: str
    what: str
    occurrences: int
    days: int
    first_at: float | None
    last_at: float | None
    weeks: list[int]
    per_100_thoughts: float
    per_100_thoughts_lately: float
    is_consistent: bool
    excerpts: list[Excerpt]


class TripTold(msgspec.Struct, frozen=True):
    """One event of the breaker. `snapshot` is the end of the text that tripped it."""

    happened_at: float
    source: str
    action: str
    reason: str
    severity: str
    explanation: str
    response_taken: str
    snapshot: str


class Wellbeing(Answer, frozen=True):
    """Counts, and no conclusion (R-145, R-146)."""

    now: float
    thoughts: int
    thoughts_by_week: list[int]
    indicators: list[Indicator]
    trips: list[TripTold]
    trips_by_reason: dict[str, int]


@request(answer=Wellbeing, safe=True)
class AskWellbeing(Request, frozen=True):
    """Answered by `Wellbeing`, with up to `excerpts` excerpts of each kind, newest first."""

    excerpts: int = 3
