"""What the work tells those who watch it."""

from types import SimpleNamespace
from typing import cast

import msgspec

from reveries.projects.model import WorkTask
from reveries.projects.store import ProjectStore
from reveries.projects.work_observers import StepRows


async def test_an_answer_longer_than_an_event_is_told_in_words() -> None:
    stored: list[str] = []
    events: list[tuple[str, str]] = []

    async def end_step(task: WorkTask, position: int, text: str, *_: object, is_done: bool) -> None:
        stored.append(text)

    store = cast(ProjectStore, SimpleNamespace(tasks=SimpleNamespace(end_step=end_step)))
    steps = StepRows(store, cast(WorkTask, None), lambda action, words: events.append((action, words)))
    learnings = [{"content": "Oak lasts. " * 20}] * 10
    step = {"tool": "finish", "status": "complete", "learnings": learnings, "outcome": "Oak it is."}
    answer = msgspec.json.encode({"steps": [step]}).decode()
    await steps.end(1, answer, is_done=True)
    assert len(answer) > 1000
    assert events == [("step", "finished, complete: Oak it is. (10 learned)")]
    assert stored == [answer]
