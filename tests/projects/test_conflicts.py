"""What a project does about two things that do not go together: it judges, asks, and goes by the owner's word."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from reveries.knowledge.model import ChunkSource, ChunkType, Confidence, KnowledgeConflict, NewChunk, RelationType
from reveries.projects.answers import CONFLICT_TAG
from reveries.projects.conflicts import choose_conflict, describe_doubts, settle_by_owner
from reveries.projects.documents import update_document
from reveries.projects.model import OwnerQuestion, Project, QuestionKind, QuestionStatus
from reveries.projects.orientation_tools import GetOrientation, OrientationTools
from reveries.projects.task_execution import SourcedSearch
from reveries.tools.registry import ToolCaller
from tests.knowledge.kit import new_chunk, stored_chunk, stored_relation
from tests.memory.kit import WordEmbedder
from tests.projects.kit import Work, open_work
from tests.projects.test_goals_and_input import answers

OWN = NewChunk("The deposit of the flat is 1800.", ChunkType.USER_INPUT, Confidence.VERIFIED, ChunkSource.USER)
READ = new_chunk("The deposit of the flat is 2700.", foreign_sources=frozenset({"document:a"}))
NEAR = ("The hall of the old mill is 8 m long and 3 m high.", "The hall of the old mill is 9 m long and 4 m high.")


def embedder() -> WordEmbedder:
    return WordEmbedder("all-minilm-l6-v2 of words")


async def conflict(work: Work) -> tuple[str, list[str]]:
    project = await work.begin("Flat", "Find a flat")
    ids = await work.store.knowledge.store(project.id, [OWN])
    ids += await work.store.knowledge.store(project.id, [READ])
    await work.wake(project)
    return project.id, ids


@pytest.mark.requirement("V-37", "V-124")
@pytest.mark.parametrize(
    ("answer", "superseded", "fallen"),
    [
        ("A", {1}, set()),
        ("the later one", {0}, set()),
        ("B, for the landlord wrote it", {0}, set()),
        ("both", set(), set()),
        ("A new contract says 2000.", set(), {0, 1}),
        ("It is 2000 in the end.", set(), {0, 1}),
    ],
)
async def test_the_owner_is_asked_what_holds_and_it_goes_by_the_answer(
    tmp_path: Path, answer: str, superseded: set[int], fallen: set[int]
) -> None:
    async with open_work(tmp_path, answers, embedder=embedder()) as work:
        project_id, ids = await conflict(work)
        [asked] = [one for _, one in await work.store.questions.list_open() if "conflict" in one.context_tags]
        assert asked.kind is QuestionKind.DECISION
        assert "1800" in asked.context
        assert "2700" in asked.context
        assert asked.foreign_sources == {"document:a"}
        await work.store.questions.answer(asked.id, answer)
        await work.wake(await work.store.find(project_id))
        chunks = {one.id: one for one in await work.store.knowledge.of_project(project_id)}
        assert {place for place, name in enumerate(ids) if chunks[name].superseded_by} == superseded
        assert {place for place, name in enumerate(ids) if chunks[name].fell_because} == fallen
        assert await work.store.knowledge.contradictions(project_id) == []
        assert not [one for _, one in await work.store.questions.list_open() if "conflict" in one.context_tags]


@pytest.mark.requirement("V-123")
@pytest.mark.parametrize(
    ("verdict", "superseded", "left"),
    [("contradict", 1, 0), ("both_hold", 0, 0), ("unclear", 0, 1)],
)
async def test_a_capable_model_judges_what_is_only_alike(
    tmp_path: Path, verdict: str, superseded: int, left: int
) -> None:
    def judge(text: str) -> object:
        return {"why": "So it is.", "verdict": verdict} if text.startswith("You compare two") else answers(text)

    async with open_work(tmp_path, judge, embedder=embedder()) as work:
        project = await work.begin("Mill", "Restore the mill")
        for text in NEAR:
            await work.store.knowledge.store(project.id, [new_chunk(text)])
        await work.wake(project)
        chunks = await work.store.knowledge.of_project(project.id)
        assert sum(one.superseded_by is not None for one in chunks) == superseded
        assert len(await work.store.knowledge.contradictions(project.id)) == left


@pytest.mark.requirement("V-134", "V-57")
async def test_what_a_wake_found_together_is_counted_at_its_end_and_the_index_is_given_back(tmp_path: Path) -> None:
    async with open_work(tmp_path, answers, embedder=embedder()) as work:
        project = await work.begin("Shed", "Build a shed of oak")
        await work.store.knowledge.store(project.id, [new_chunk("Oak costs 20."), new_chunk("The shed needs oak.")])
        await work.wake(project)
        for _ in range(3):
            await work.answer("", "Soon.")
        await work.wake(project)
        named = {"project_id": project.id}
        assert await work.database.rows("relations.uncounted_pairs", named) == []
        assert any(one.access_count for one in await work.store.knowledge.of_project(project.id))


async def test_what_a_newer_chunk_replaces_is_no_ground_for_a_task(tmp_path: Path) -> None:
    async with open_work(tmp_path, answers, embedder=embedder()) as work:
        project = await work.begin("Flat", "Find a flat")
        for rent in (900, 950):
            await work.store.knowledge.store(project.id, [new_chunk(f"The rent of the flat is {rent} euros.")])
        await work.wake(project)
        for _ in range(3):
            await work.answer("", "Soon.")
        state = await work.state(project)
        search = SourcedSearch(work.store, state.session_id)
        task = replace(state.tasks[0], project_id=project.id)
        found = await search.find(task, "How high is the rent of the flat?", 5)
        assert [one.content for one in found if "rent" in one.content] == ["The rent of the flat is 950 euros."]


@pytest.mark.requirement("V-124")
@pytest.mark.parametrize(("is_owner_first", "replaced"), [(True, 0), (False, 1)])
async def test_a_model_that_finds_a_contradiction_lets_no_text_replace_the_owners_word(
    tmp_path: Path, is_owner_first: bool, replaced: int
) -> None:
    def judge(text: str) -> object:
        if text.startswith("You compare two"):
            return {"why": "So it is.", "verdict": "contradict"}
        return answers(text)

    async with open_work(tmp_path, judge, embedder=embedder()) as work:
        project = await work.begin("Mill", "Restore the mill")
        own = NewChunk(NEAR[0], ChunkType.USER_INPUT, Confidence.VERIFIED, ChunkSource.USER)
        read = new_chunk(NEAR[1], foreign_sources=frozenset({"document:a"}))
        for chunk in (own, read) if is_owner_first else (read, own):
            await work.store.knowledge.store(project.id, [chunk])
        await work.wake(project)
        chunks = await work.store.knowledge.of_project(project.id)
        gone = [one.content for one in chunks if one.superseded_by]
        assert gone == ([NEAR[1]] if replaced else [])
        asked = [one for _, one in await work.store.questions.list_open() if "conflict" in one.context_tags]
        assert len(asked) == (0 if replaced else 1)


async def _rents(work: Work, count: int) -> Project:
    """A project in which the owner's word on `count` rents is contradicted by what was read."""
    project = await work.begin("Flats", "Find a flat")
    for number in range(count):
        own = replace(OWN, content=f"The deposit of flat {'ABCDEF'[number]}{number} is 1800.")
        await work.store.knowledge.store(project.id, [own])
        await work.store.knowledge.store(project.id, [replace(READ, content=own.content.replace("1800", "2700"))])
    return project


def _conflict_questions(questions: Sequence[OwnerQuestion]) -> list[OwnerQuestion]:
    return [one for one in questions if "conflict" in one.context_tags and one.status is QuestionStatus.OPEN]


@pytest.mark.requirement("V-124")
async def test_the_owner_is_asked_about_one_contradiction_at_a_time(tmp_path: Path) -> None:
    async with open_work(tmp_path, answers, embedder=embedder()) as work:
        project = await _rents(work, 4)
        assert len(await work.store.knowledge.contradictions(project.id)) == 4
        for left in (4, 3, 2, 1):
            await work.wake(project)
            assert len(await work.store.knowledge.contradictions(project.id)) == left
            [asked] = _conflict_questions((await work.state(project)).questions)
            await work.store.questions.answer(asked.id, "A")
        await work.wake(project)
        assert not _conflict_questions((await work.state(project)).questions)


async def test_a_question_about_a_contradiction_that_was_settled_otherwise_is_withdrawn(tmp_path: Path) -> None:
    async with open_work(tmp_path, answers, embedder=embedder()) as work:
        project = await _rents(work, 2)
        await work.wake(project)
        [first] = _conflict_questions((await work.state(project)).questions)
        [found] = [
            one
            for one in await work.store.knowledge.contradictions(project.id)
            if one.relation.id in first.context_tags
        ]
        async with work.database.transaction() as transaction:
            await work.store.knowledge.settle(transaction, found, "owner")
        await work.wake(project)
        [second] = _conflict_questions((await work.state(project)).questions)
        assert second.id != first.id


@pytest.mark.requirement("V-123")
async def test_what_a_model_could_not_judge_is_judged_once_and_then_asked(tmp_path: Path) -> None:
    judged: list[str] = []

    def judge(text: str) -> object:
        if text.startswith("You compare two"):
            judged.append(text)
            return {"why": "Who knows.", "verdict": "unclear"}
        return answers(text)

    async with open_work(tmp_path, judge, embedder=embedder()) as work:
        project = await work.begin("Mill", "Restore the mill")
        for text in NEAR:
            await work.store.knowledge.store(project.id, [new_chunk(text)])
        for _ in range(3):
            await work.wake(project)
        assert len(judged) == 1
        [asked] = _conflict_questions((await work.state(project)).questions)
        assert "may not go together" in asked.question
        [doubt] = describe_doubts(await work.store.knowledge.contradictions(project.id))
        assert doubt == f"“{NEAR[0]}” and “{NEAR[1]}” may not go together (not verified)"
        tools = OrientationTools(work.store)
        page = (await tools.get_orientation(GetOrientation(project.id), ToolCaller("work"))).orientation
        assert page.doubts == [doubt]


def test_of_many_contradictions_the_newest_are_named_and_the_rest_counted() -> None:
    one = KnowledgeConflict(stored_chunk(id="n"), stored_chunk(id="o"), stored_relation(type=RelationType.CONTRADICTS))
    lines = describe_doubts([one] * 7)
    assert len(lines) == 6
    assert lines[-1] == "2 more contradictions: reveries memory contradictions"


@pytest.mark.parametrize(
    ("status", "is_asked"),
    [(QuestionStatus.OPEN, False), (QuestionStatus.ANSWERED, False), (QuestionStatus.DROPPED, True)],
)
def test_a_contradiction_whose_question_was_withdrawn_is_asked_again(status: QuestionStatus, is_asked: bool) -> None:
    found = stored_relation(type=RelationType.CONTRADICTS, confidence_source="rule")
    one = KnowledgeConflict(stored_chunk(id="n"), stored_chunk(id="o"), found)
    tags = (CONFLICT_TAG, found.id)
    question = OwnerQuestion(
        "A or B?", QuestionKind.DECISION, context_tags=tags, id="q", project_id="p", status=status, answer="",
        asked_at=1.0, answered_at=None, noted_at=None,
    )  # fmt: skip
    assert choose_conflict([one], [question], can_judge=False) == (one if is_asked else None)


@pytest.mark.requirement("V-124")
@pytest.mark.parametrize("first", ["earlier", "later", "rule"])
async def test_both_undoes_that_one_of_two_was_replaced(tmp_path: Path, first: str) -> None:
    async with open_work(tmp_path, answers, embedder=embedder()) as work:
        project = await work.begin("Flat", "Find a flat")
        for rent in (900, 950):
            await work.store.knowledge.store(project.id, [new_chunk(f"The rent of the flat is {rent} euros.")])
        for keep in (first, "both") if first != "rule" else ("both",):
            [one] = await work.store.knowledge.contradictions(project.id, unresolved_only=False)
            await settle_by_owner(work.store, project, one, keep)
        assert all(chunk.stands for chunk in await work.store.knowledge.of_project(project.id))
        [left] = await work.store.knowledge.contradictions(project.id, unresolved_only=False)
        assert left.relation.resolution == "owner"


async def test_two_sections_of_one_document_are_not_said_to_contradict_each_other(tmp_path: Path) -> None:
    async with open_work(tmp_path, answers, embedder=embedder()) as work:
        project = await work.begin("Flat", "Find a flat")
        text = "# Leith\n\nThe rent of the flat is 900 euros.\n\n# Leith\n\nThe rent of the flat is 950 euros.\n"
        await update_document(work.store, project, "flats.md", text, is_own=True)
        assert len(await work.store.knowledge.of_project(project.id)) == 2
        assert await work.store.knowledge.contradictions(project.id, unresolved_only=False) == []
