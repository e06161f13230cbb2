"""Which models refused a JSON schema, kept over restarts: they are told the form of an answer in words.

A refusal counts for a month. Then a schema is tried again: providers learn, and so does our table of their rules.
"""

from collections.abc import Mapping

import structlog

from reveries.clock import Clock
from reveries.db.database import Database
from reveries.errors import DiskFullError

log = structlog.get_logger("models")

COUNTS_SECONDS = 30 * 86400.0


class SchemaRefusals:
    """Created by `open_schema_refusals`."""

    def __init__(self, database: Database, clock: Clock, refused_at: dict[str, float]) -> None:
        self._database = database
        self._clock = clock
        self._known = refused_at

    def has(self, model: str) -> bool:
        """Whether `model` refused a schema within a month."""
        return model in self.known

    @property
    def known(self) -> Mapping[str, float]:
        """When each model last refused a schema, in unix seconds."""
        since = self._clock.now() - COUNTS_SECONDS
        return {model: refused_at for model, refused_at in self._known.items() if refused_at > since}

    async def note(self, model: str) -> None:
        """Remember that `model` refused a schema just now. On a full disk only until the mind sleeps."""
        self._known[model] = self._clock.now()
        row = {"model": model, "refused_at": self._known[model]}
        try:
            async with self._database.transaction() as transaction:
                await transaction.run("structured_answers.note_refusal", row)
        except DiskFullError:
            log.warning("provider.refusal_store_failed", model=model)


async def open_schema_refusals(database: Database, clock: Clock) -> SchemaRefusals:
    """Load the refusals of earlier runs."""
    rows = await database.rows("structured_answers.refusals")
    return SchemaRefusals(database, clock, {str(row["model"]): float(row["schema_refused_at"]) for row in rows})
