"""A fact: one value that stands in one line of a document."""

from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from reveries.knowledge.facts.vocabulary import VOCABULARY


class FactKind(StrEnum):
    DATE = "date"
    TIME = "time"
    """A time of day without a day: "doors at half past six"."""
    AMOUNT = "amount"
    MEASURE = "measure"
    OPEN = "open"


class Bound(StrEnum):
    """How a day limits what is said of it."""

    ON = "on"
    BY = "by"
    FROM = "from"


class DayStatus(StrEnum):
    AHEAD = "ahead"
    PAST = "past"
    CANCELLED = "cancelled"
    """Called off, or denied: "not on the 10th"."""


@dataclass(frozen=True, slots=True)
class Day:
    """A day or a span of days that a text names."""

    first: date
    last: date
    """The same as `first` if it is one day."""
    time: str = ""
    """HH:MM; empty if the text names none."""
    bound: Bound = Bound.ON
    is_cancelled: bool = False

    def status_on(self, today: date) -> DayStatus:
        """Say where it stands seen from `today`."""
        if self.is_cancelled:
            return DayStatus.CANCELLED
        return DayStatus.AHEAD if self.last >= today else DayStatus.PAST

    @property
    def value(self) -> str:
        """ISO 8601: a day, a day with a time, or `FROM/TO`."""
        if self.last != self.first:
            return f"{self.first.isoformat()}/{self.last.isoformat()}"
        return f"{self.first.isoformat()}T{self.time}" if self.time else self.first.isoformat()


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with its unit."""

    number: float
    unit: str
    """A code of ISO 4217 for a sum of money; else as in `vocabulary.toml`."""
    dimension: str
    """`money`, or what the unit measures: two quantities of one dimension can be compared."""

    @property
    def base(self) -> float:
        """The number in the first unit of its dimension. Money is never converted."""
        return self.number * VOCABULARY.factors.get(self.unit, 1.0)


@dataclass(frozen=True, slots=True)
class Fact:
    """A value, the line it stands in, and its place."""

    kind: FactKind
    text: str
    """The line, verbatim, without the mark of a list."""
    document: str
    line: int
    """From 1."""
    start: int = 0
    """Where the value begins in the line as it stands in the document; 0 for an open end."""
    end: int = 0
    day: Day | None = None
    quantity: Quantity | None = None
    time: str = ""
    written_on: date | None = None
    """When the line was written, as far as the document says so."""
    starts_later: bool = False
    """Whether its line names a day from which on it holds, after the day of writing."""

    @property
    def is_listed(self) -> bool:
        """Whether it is worth a line by itself: a nought in a table only counts among the others."""
        return self.quantity is None or self.quantity.number != 0

    @property
    def value(self) -> str:
        """The value in words that a program can read; empty for an open end."""
        if self.day is not None:
            return self.day.value
        if self.quantity is not None:
            return f"{self.quantity.number:.10g}"
        return self.time

    @property
    def unit(self) -> str | None:
        return self.quantity.unit if self.quantity is not None else None
