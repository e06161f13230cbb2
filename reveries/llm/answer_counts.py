"""How many of each model's structured answers were valid, counted over all runs (R-113)."""

import contextlib
from dataclasses import dataclass

from reveries.db.database import Database
from reveries.errors import DiskFullError
from reveries.llm.structured import AnswerOutcome


@dataclass(frozen=True, slots=True)
class StructuredAnswerCount:
    """The structured answers of one model."""

    model: str
    valid: int
    repaired: int
    failed: int


class AnswerCounts:
    """The AnswerRecorder port on the table `structured_answers`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def record(self, model: str, outcome: AnswerOutcome) -> None:
        """Count one answer. On a full disk it is not counted: the answer matters more."""
        row = {"model": model} | {kind.value: int(kind is outcome) for kind in AnswerOutcome}
        with contextlib.suppress(DiskFullError):
            async with self._database.transaction() as transaction:
                await transaction.run("structured_answers.count", row)

    async def counts(self) -> list[StructuredAnswerCount]:
        """Return the counts of every model, by name."""
        return [
            StructuredAnswerCount(str(row["model"]), int(row["valid"]), int(row["repaired"]), int(row["failed"]))
            for row in await self._database.rows("structured_answers.all")
        ]
