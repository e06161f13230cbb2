"""How many of each model's structured answers were valid, counted over all runs (R-113)."""

import contextlib

from reveries.db.database import Database
from reveries.errors import DiskFullError
from reveries.llm.structured import AnswerOutcome
from reveries.protocol import AnswerCount


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

    async def counts(self) -> list[AnswerCount]:
        """Return the counts of every model, by name."""
        rows = await self._database.rows("structured_answers.all")
        return [AnswerCount(row["model"], row["valid"], row["repaired"], row["failed"]) for row in rows]
