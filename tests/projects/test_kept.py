"""What has to stay as it was: tries that were broken off, sources of what was read, decisions, drafts."""

from pathlib import Path

import pytest

from reveries.errors import ModelUnavailableError
from reveries.knowledge.model import Chunk, ChunkSource, ChunkType, Confidence, NewChunk
from reveries.projects.documents import chunks_of_text
from reveries.projects.model import KeyDecision, TaskStatus
from reveries.projects.orientation_rewrite import MOST_DECISIONS, compress_decisions
from reveries.projects.premise import Fallen
from reveries.projects.sections import source_name
from reveries.projects.wake import wake_project
from reveries.projects.wake_report import RestReason
from tests.projects.kit import asked_for, finished, open_work
from tests.projects.test_goals_and_input import answers

NOTHING_FELL = Fallen({}, {}, {}, (), ())


@pytest.mark.requirement("V-81", "V-85")
async def test_a_try_that_a_missing_model_or_a_crash_broke_off_does_not_count(tmp_path: Path) -> None:
    def away(text: str) -> object:
        if asked_for(text) == "step":
            raise ModelUnavailableError("Nobody answers.", advice="Wait.")
        return answers(text)

    async with open_work(tmp_path, away) as work:
        project = await work.begin("Shed", "Build a shed")
        for _ in range(4):
            report = await work.wake(project)
            assert (report.reason, report.wait_seconds) == (RestReason.NO_MODEL, 60.0)
        tasks = (await work.state(project)).tasks
        assert [(task.status, task.tries) for task in tasks] == [(TaskStatus.READY, 0)] * 3
        async with work.database.transaction() as transaction:
            await transaction.run("projects.begin_task", {"id": tasks[0].id, "now": work.clock.now()})
        # As if the process had ended there: the next wake gives it back.
        await wake_project(work.store, project.id)
        first = await work.task(project, tasks[0].title)
        assert (first.status, first.tries) == (TaskStatus.READY, 0)


async def test_what_is_written_beside_a_foreign_text_names_it_though_it_says_that_it_rests_on_nothing(
    tmp_path: Path,
) -> None:
    def learns(text: str) -> object:
        if asked_for(text) != "step":
            return answers(text)
        learned = {"content": "Oak is good.", "type": "insight", "tags": [], "confidence": "inferred"}
        return finished(learnings=[learned | {"rests_on": [], "quote": ""}])

    async with open_work(tmp_path, learns) as work:
        project = await work.begin("Shed", "Build a shed")
        foreign = chunks_of_text("letter.md", "Look into part 1: oak is good for sheds.", is_own=False)
        await work.store.knowledge.store(project.id, foreign)
        await work.wake(project)
        chunks = await work.store.knowledge.of_project(project.id)
        learned = [one for one in chunks if one.type is ChunkType.INSIGHT]
        assert learned
        assert {one.foreign_sources for one in learned} == {frozenset({source_name("letter.md")})}
        assert all(is_tainted for _, is_tainted in await work.remembered())


async def test_a_chunk_has_the_sources_of_what_it_was_made_of(tmp_path: Path) -> None:
    async with open_work(tmp_path, answers) as work:
        project = await work.begin("Shed")
        foreign = chunks_of_text("letter.md", "Oak is good for sheds.", is_own=False)
        [base] = await work.store.knowledge.store(project.id, foreign)
        made = NewChunk("So take oak.", ChunkType.INSIGHT, Confidence.INFERRED, ChunkSource.DEDUCTION, rests_on=(base,))
        [name] = await work.store.knowledge.store(project.id, [made])
        [found] = [one for one in await work.store.knowledge.of_project(project.id) if one.id == name]
        assert found.foreign_sources == {source_name("letter.md")}


@pytest.mark.requirement("V-95", "V-96")
def test_the_newest_seven_decisions_are_kept_each_in_one_line_with_a_sentence_of_why() -> None:
    old = [KeyDecision(f"old {n}", "", float(n)) for n in range(6)]
    long = "It lasts. " + "And there is more to say of it " * 9
    told = [_decision(f"new {n}", f"new {n}\n{long}", 100.0 + n) for n in range(3)]
    kept = compress_decisions(old, told, NOTHING_FELL)
    assert [one.decision for one in kept] == ["old 2", "old 3", "old 4", "old 5", "new 0", "new 1", "new 2"]
    assert len(kept) == MOST_DECISIONS
    assert kept[-1].reasoning == "It lasts."


def _decision(name: str, content: str, at: float) -> Chunk:
    return Chunk(
        name, "p", "", content, ChunkType.DECISION, (), Confidence.VERIFIED, ChunkSource.DEDUCTION, (), None, "", at,
        frozenset(),
    )  # fmt: skip
