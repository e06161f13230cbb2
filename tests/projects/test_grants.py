"""What the owner allows: given, used up, taken back, and never made by anybody else."""

from pathlib import Path

import msgspec
import pytest

from reveries.errors import NotFoundError, UsageError
from reveries.projects.approvals import ApprovalScope, PendingCall, read_scope, scope_or_refusal
from reveries.projects.grant_store import GrantKind
from reveries.projects.grants import give_grant, grants_for_task, revoke_grants, source_id
from reveries.projects.model import NewQuestion, NewTask, Project, QuestionKind, TaskKind
from reveries.tools.reach import GrantSet, source_of_host
from tests.projects.kit import Work, finished, open_work


async def granted(work: Work, project: Project, task_id: str = "") -> GrantSet:
    return grants_for_task(await work.store.grants.of_project(project.id), task_id)


async def asked(work: Work, project: Project) -> tuple[str, str]:
    """An approval of a fetch, and the task that waits for it."""
    held = PendingCall("fetch", '{"url": "https://a.example"}', "digest", "fetch", ("folder", "web:a.example"))
    async with work.database.transaction() as transaction:
        [task_id] = await work.store.tasks.put(transaction, project.id, [NewTask("Look", "", TaskKind.OTHER)])
        payload = msgspec.json.encode(held).decode()
        new = NewQuestion("May it?", QuestionKind.APPROVAL, blocks=(task_id,), task_id=task_id, payload=payload)
        return await work.store.questions.put(transaction, project.id, new), task_id


@pytest.mark.requirement("F9")
async def test_a_grant_is_of_one_project_and_gone_when_it_is_taken_back(tmp_path: Path) -> None:
    async with open_work(tmp_path, lambda text: finished()) as work:
        one, other = await work.begin("One"), await work.begin("Other")
        for name in ("fetch", "fetch", "folder", "web:a.example"):
            await give_grant(work.store, one, name)
        assert await granted(work, one) == GrantSet(
            tools=frozenset({"fetch"}), sources=frozenset({"folder", source_of_host("a.example")})
        )
        assert await granted(work, other) == GrantSet()
        assert await revoke_grants(work.store, one, "fetch") == 1
        assert (await granted(work, one)).tools == frozenset()
        with pytest.raises(NotFoundError, match="no grant 'fetch'"):
            await revoke_grants(work.store, one, "fetch")


@pytest.mark.parametrize("name", ["run_command", "web:", "everything", "", "mcp:x"])
async def test_only_what_reaches_out_and_where_texts_come_from_can_be_granted(tmp_path: Path, name: str) -> None:
    async with open_work(tmp_path, lambda text: finished()) as work:
        project = await work.begin("One")
        with pytest.raises(UsageError, match="cannot be granted"):
            await give_grant(work.store, project, name)
        assert await work.store.grants.of_project(project.id) == []


@pytest.mark.requirement("F9", "V-88")
@pytest.mark.parametrize(
    ("answer", "here", "elsewhere"),
    [
        ("once", GrantSet(calls=frozenset({"digest"})), GrantSet()),
        ("no", GrantSet(denied=frozenset({"digest"})), GrantSet()),
        (
            "this task",
            GrantSet(frozenset({"fetch"}), frozenset({"folder", source_of_host("a.example")}), frozenset({"digest"})),
            GrantSet(),
        ),
        (
            "Always.",
            GrantSet(frozenset({"fetch"}), frozenset({"folder", source_of_host("a.example")}), frozenset({"digest"})),
            GrantSet(frozenset({"fetch"}), frozenset({"folder", source_of_host("a.example")})),
        ),
    ],
)
async def test_an_answer_allows_just_as_much_as_it_says(
    tmp_path: Path, answer: str, here: GrantSet, elsewhere: GrantSet
) -> None:
    async with open_work(tmp_path, lambda text: finished()) as work:
        project = await work.begin("One")
        question_id, task_id = await asked(work, project)
        await work.store.questions.answer(question_id, answer)
        await work.wake(project)
        assert await granted(work, project, task_id) == here
        assert await granted(work, project, "another") == elsewhere
        assert await work.store.knowledge.of_project(project.id) == [], "a yes is no knowledge"


async def test_an_approval_takes_no_answer_that_says_neither_yes_nor_no(tmp_path: Path) -> None:
    async with open_work(tmp_path, lambda text: finished()) as work:
        project = await work.begin("One")
        question_id, _ = await asked(work, project)
        with pytest.raises(UsageError, match='Answer "once", "this task", "always"'):
            await work.store.questions.answer(question_id, "I am not sure")
        assert len(await work.store.questions.list_open()) == 1


def test_how_far_an_answer_goes() -> None:
    assert [read_scope(one) for one in ("Yes", "ja", " once. ", "yes, please")] == [ApprovalScope.ONCE] * 4
    assert [read_scope(one) for one in ("no", "Nope.", "never", "nein", "No, thanks!")] == [ApprovalScope.NO] * 5
    for one in ("fine", "keep it", "done", "already done"):  # A yes to a draft, or a doubtful one: no tool acts on it.
        assert scope_or_refusal(one) is ApprovalScope.NO
    assert scope_or_refusal("do what you like") is ApprovalScope.NO
    assert {kind.value for kind in GrantKind} == {"tool", "source", "call", "denial"}
    assert source_id("web:A.example") == source_of_host("a.example")
    assert source_id("folder") == "folder"
