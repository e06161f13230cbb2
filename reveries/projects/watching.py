"""Who watches the work: what is told as it happens, and each call of a model as a row."""

import json
from collections.abc import Awaitable, Callable

from reveries.projects.model import WorkTask
from reveries.projects.store import ProjectStore

Tell = Callable[[str, str], None]
"""Told of each thing that happens: the action, and a few words."""
Remember = Callable[[str, bool], Awaitable[None]]
"""Told what work came to, and whether it is tainted: it becomes an experience."""
_MOST_ARGUMENT_CHARS = 2000
_MOST_RESULT_CHARS = 4000
_SHOWN_CHARS = 160


def tell_nobody(action: str, words: str) -> None:
    """Where nobody watches."""


class StepRows:
    """Each call of a model as a row, with what was asked and what came."""

    def __init__(self, store: ProjectStore, task: WorkTask, tell: Tell) -> None:
        self._store = store
        self._task = task
        self._tell = tell

    async def begin(self, tool: str, arguments: str) -> int:
        row = {"tool": tool, "arguments": arguments[-_MOST_ARGUMENT_CHARS:], "now": self._store.now}
        row |= {"foreign_sources": json.dumps(sorted(self._task.foreign_sources))}
        async with self._store.database.transaction() as transaction:
            [stored] = await transaction.rows("projects.put_step", self._key | row)
        return int(stored["position"])

    async def end(self, position: int, result: str, *, is_done: bool) -> None:
        row = {"result": result[:_MOST_RESULT_CHARS], "state": "done" if is_done else "failed", "now": self._store.now}
        async with self._store.database.transaction() as transaction:
            await transaction.run("projects.end_step", self._key | {"position": position} | row)
        self._tell("step", result[:_SHOWN_CHARS])

    @property
    def _key(self) -> dict[str, object]:
        return {"task_id": self._task.id, "attempt": self._task.tries}
