"""Observers of the work: events for watching clients, and a database row for each model or tool call."""

from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec

from reveries.answer_wording import describe_answer
from reveries.db.database import Transaction
from reveries.projects.model import WorkTask
from reveries.projects.store import ProjectStore
from reveries.tools.reach import Reach
from reveries.tools.results import ToolResult

ReportEvent = Callable[[str, str], None]
"""Receives each event: the action and a short description."""
_MOST_ARGUMENT_CHARS = 2000
_MOST_RESULT_CHARS = 4000
_SHOWN_CHARS = 160
_SHOWN_ANSWER_CHARS = 1000


def ignore_event(action: str, words: str) -> None:
    """Ignore an event."""


class WorkMemory(Protocol):
    """Remembers the outcomes of tasks as experiences."""

    async def put_experience(self, transaction: Transaction, text: str, *, is_tainted: bool) -> None:
        """Store an outcome in the transaction that ends its task: a done task is remembered, and once."""
        ...

    async def light_sleep(self) -> None:
        """Make new experiences recallable. If that is broken off, the next light sleep does it."""
        ...


class StepRows:
    """Stores each model or tool call as a row: begun before the call, done or failed after it."""

    def __init__(self, store: ProjectStore, task: WorkTask, report_event: ReportEvent) -> None:
        self._store = store
        self._task = task
        self._report_event = report_event

    async def begin(self, tool: str, arguments: str) -> int:
        """Record the beginning of a model call."""
        return await self._begin(tool, arguments[-_MOST_ARGUMENT_CHARS:], "", frozenset())

    async def end(self, position: int, result: str, *, is_done: bool) -> None:
        text = result[:_MOST_RESULT_CHARS]
        await self._store.tasks.end_step(self._task, position, text, ToolResult(""), is_done=is_done)
        self._report_event("step", describe_answer(result)[:_SHOWN_ANSWER_CHARS])

    async def begin_call(
        self, tool: str, arguments: Mapping[str, object], reach: Reach, sources: frozenset[str], digest: str
    ) -> int:
        """Record the beginning of a tool call; a one-time approval of it is used up."""
        encoded = msgspec.json.encode(dict(arguments)).decode()
        self._report_event("tool", f"{tool} {encoded}"[:_SHOWN_CHARS])
        return await self._begin(tool, encoded, reach.value, sources, digest)

    async def end_call(self, position: int, result: ToolResult, *, is_done: bool) -> None:
        await self._store.tasks.end_step(self._task, position, result.text, result, is_done=is_done)
        self._report_event("result" if is_done else "no result", result.text.partition("\n")[0][:_SHOWN_CHARS])

    async def _begin(self, tool: str, arguments: str, reach: str, sources: frozenset[str], digest: str = "") -> int:
        async with self._store.transaction() as transaction:
            if digest:
                await self._store.grants.use_call(transaction, self._task.id, digest)
            return await self._store.tasks.begin_step(transaction, self._task, tool, arguments, reach, sources)
