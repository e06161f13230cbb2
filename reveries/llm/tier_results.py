"""Results of tier tests by model, kept over restarts."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from reveries.db.connecting import connect_read_only
from reveries.db.database import Database, Row
from reveries.db.driver import dbapi
from reveries.db.queries import statements
from reveries.llm.tier import GroupScore, Tier, tier_of_scores
from reveries.llm.tier_test_tasks import TaskGroup

_scores = msgspec.json.Decoder(tuple[GroupScore, ...])


@dataclass(frozen=True, slots=True)
class TierResult:
    """The result of a model's last test."""

    tier: Tier
    tested_at: float
    scores: tuple[GroupScore, ...]

    @property
    def sees(self) -> bool | None:
        """Whether the model read every number that it was shown; None if it was shown none."""
        return next((score.right == score.asked for score in self.scores if score.group is TaskGroup.SIGHT), None)


class TierResults:
    """Created by `open_tier_results`."""

    def __init__(self, database: Database, results: dict[str, TierResult]) -> None:
        self._database = database
        self._known = results

    @property
    def known(self) -> Mapping[str, TierResult]:
        """Results by model name; later ones appear in it at once."""
        return self._known

    async def record(self, model: str, scores: Sequence[GroupScore], tested_at: float) -> TierResult:
        """Replace the model's last result. Raises StorageError, and then nothing is changed."""
        result = TierResult(tier_of_scores(scores), tested_at, tuple(scores))
        row = {"model": model, "tier": int(result.tier), "tested_at": tested_at}
        async with self._database.transaction() as transaction:
            await transaction.run("model_tiers.put", row | {"scores": msgspec.json.encode(result.scores).decode()})
        self._known[model] = result
        return result


async def open_tier_results(database: Database) -> TierResults:
    """Load the results of earlier runs."""
    rows = await database.rows("model_tiers.all")
    return TierResults(database, {str(row["model"]): _result_from_row(row) for row in rows})


def read_tier_results(path: Path) -> Mapping[str, TierResult]:
    """Read the results from the memory at `path` without changing it, while no one has it open.

    Empty where it cannot be read, or is older than the table: waking it reports what is wrong.
    """
    try:
        with contextlib.closing(connect_read_only(path, busy_seconds=1.0)) as look:
            look.row_factory = dbapi.Row
            return {str(row["model"]): _result_from_row(row) for row in look.execute(statements()["model_tiers.all"])}
    except (dbapi.Error, ValueError):
        return {}


def _result_from_row(row: Row) -> TierResult:
    return TierResult(Tier(int(row["tier"])), float(row["tested_at"]), _scores.decode(row["scores"]))
