"""What the owner has erased is gone from projects too, and what rests on it is held."""

from pathlib import Path

from reveries.memory.forgetting.selection import BY_WORDS, Selection
from reveries.projects.documents import chunks_of_text
from reveries.projects.model import NewTask, TaskKind, TaskStatus
from tests.fakes.clock import HandClock
from tests.memory.forgetting.test_forgetting import bytes_left
from tests.memory.kit import NOW, open_memory
from tests.projects.kit import open_work
from tests.projects.test_goals_and_input import answers

WORD = "zqvorblax7741"


async def test_an_erased_word_leaves_no_trace_in_a_project_and_what_rests_on_it_is_held_and_asked_about(
    tmp_path: Path,
) -> None:
    async with open_work(tmp_path, answers) as work:
        project = await work.begin("Shed", f"Build a shed for {WORD}")
        text = f"{WORD} sells oak for 20 euros."
        [name] = await work.store.knowledge.store(project.id, chunks_of_text("notes", text, is_own=True))
        async with work.database.transaction() as transaction:
            [goal] = await work.store.goals(project.id, transaction)
            new = NewTask("Buy oak", f"from {WORD}", TaskKind.FIND_OUT, rests_on=(name,), goal_id=goal.id)
            other = NewTask("Look into part 9", "", TaskKind.FIND_OUT, goal_id=goal.id)
            await work.store.tasks.put(transaction, project.id, [new, other])
    assert bytes_left(tmp_path, WORD)
    async with open_memory(tmp_path, HandClock(NOW + 9e7), first_id=50_000) as memory:
        report = await memory.forgetting.erase(Selection(BY_WORDS, WORD))
        assert report.counts.gone["chunks of projects"] == 1
    assert not bytes_left(tmp_path, WORD)
    async with open_work(tmp_path, answers, first_id=500) as work:
        await work.wake(project)
        held = await work.task(project, "Buy oak")
        assert (held.status, held.description) == (TaskStatus.BLOCKED, "(erased)")
        assert "something erased" in held.held_because
        assert (await work.task(project, "Look into part 9")).status is TaskStatus.DONE
