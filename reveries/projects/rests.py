"""Why the last wake of a project ended, which decides when the next one comes."""

import json

from reveries.clock import Clock
from reveries.db.database import Transaction
from reveries.projects.wake_report import NOTHING_TO_DO, RestReason


class RestStore:
    """Keeps why each project rests."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def note(self, transaction: Transaction, project_id: str, why: str) -> None:
        """Store why a wake ended; empty: the next one does not wait."""
        await transaction.run("projects.note_rest", {"id": project_id, "now": self._clock.now(), "why": why})

    async def clear(self, transaction: Transaction, project_id: str) -> None:
        """Clear why the last wake ended: the owner gave the project something to do, so the next one does not wait."""
        await transaction.run("projects.note_rest", {"id": project_id, "now": None, "why": ""})

    async def end_idle(self, transaction: Transaction, project_id: str) -> None:
        """Let a project that had nothing to do go on in its turn: a program is not the owner, so nothing else waits."""
        idle = json.dumps(sorted(NOTHING_TO_DO))
        row = {"id": project_id, "why": RestReason.RESTED.value, "idle": idle}
        await transaction.run("projects.end_idle_rest", row)
