"""Tools for other programs, as the daemon answers them."""

import asyncio
import contextlib
import json
from typing import Any

import msgspec
import pytest

from reveries import protocol
from reveries.config import Home, Settings
from reveries.daemon import program_tools
from reveries.errors import ReveriesError, UsageError
from reveries.projects.model import NewQuestion, NewTask, TaskKind, TaskStatus
from reveries.projects.wake_report import RestReason
from tests.daemon.asking import ask
from tests.daemon.mind_kit import NOON, Living, living
from tests.daemon.test_project_work import QUIET, give_project, worker
from tests.fakes.patient_clock import PatientClock

_CHUNK: dict[str, Any] = {"type": "research", "tags": [], "confidence": "verified", "source": "research"}


def allowing(*names: str) -> Settings:
    return msgspec.structs.replace(QUIET, mcp=msgspec.structs.replace(QUIET.mcp, may_write=names))


async def call(
    life: Living, tool: str, *, program: str = "agent", session: str = "s", project: str = "", **given: object
) -> dict[str, Any]:
    asked = protocol.CallTool(1, program, tool, json.dumps(given).encode(), session=session, project=project)
    answer: dict[str, Any] = json.loads((await ask(life.mind, asked, protocol.ToolAnswered)).answer)
    return answer


async def test_leave_to_write_is_of_one_program_and_counts_from_its_next_call(home: Home) -> None:
    page: dict[str, Any] = {"vision_summary": "v", "success_criteria": [], "name": "Shed"}
    async with living(home, worker(), PatientClock(NOON), allowing("agent")) as life:
        with pytest.raises(UsageError, match="guest may not call"):
            await call(life, "create_project", program="guest", **page)
        await call(life, "create_project", **page)
        with pytest.raises(UsageError, match="guest may not call"):
            await call(life, "update_orientation", program="guest", project_id="Shed", orientation={})


async def test_the_answer_of_a_program_that_may_write_wakes_a_resting_project_and_that_of_another_does_not(
    home: Home,
) -> None:
    async with living(home, worker(), PatientClock(NOON), allowing("agent")) as life:
        store = life.mind.projects.store
        await give_project(life)
        await life.pass_time(1)
        project = await store.find("Shed")
        async with store.transaction() as transaction:
            goal = (await store.goals(project.id, transaction))[-1]
            [task_id] = await store.tasks.put(
                transaction, project.id, [NewTask("Paint it", "", TaskKind.OTHER, goal_id=goal.id)]
            )
            asked = await store.questions.put(transaction, project.id, NewQuestion("Which paint?", blocks=(task_id,)))
        await life.pass_time(1)
        assert (await store.find("Shed")).rested_because == RestReason.DONE.value
        for program, rest in (("guest", RestReason.DONE), ("agent", RestReason.RESTED)):
            with contextlib.suppress(UsageError):
                await call(
                    life, "answer_question", program=program, project_id="Shed", question_id=asked, answer="Oil."
                )
            assert (await store.find("Shed")).rested_because == rest.value
        await life.pass_time(1)
        [task] = [one for one in await store.tasks.of_project(project.id) if one.id == task_id]
        assert (task.status, set(task.foreign_sources)) == (TaskStatus.DONE, {"mcp:agent"})


async def test_what_a_program_asks_to_be_kept_is_recalled_as_what_it_said(home: Home) -> None:
    async with living(home, worker(), PatientClock(NOON), QUIET) as life:
        assert (await call(life, "remember", text="The boards lie behind the house."))["is_kept"]
        assert not (await call(life, "remember", text=" \n"))["is_kept"]
        found = await call(life, "recall", query="where are the boards?")
        assert found["turns"][0]["text"] == "agent noted: The boards lie behind the house."
        assert found["episodes"][0]["origin"] == "tool"
        nothing = await call(life, "recall", query="where are the boards?", until="yesterday")
        assert (nothing["turns"], nothing["episodes"]) == ([], [])
        assert [one["summary"] for one in (await call(life, "what_happened", since="today"))["moments"]] == [
            "agent noted: The boards lie behind the house."
        ]
        with pytest.raises(ReveriesError):
            await call(life, "what_happened", since="the day the earth stood still")


async def test_what_is_to_be_remembered_is_stored_with_its_lines(home: Home) -> None:
    async with living(home, worker(), PatientClock(NOON), QUIET) as life:
        await call(life, "remember", text="milk\rtea\r\n")
        await ask(life.mind, protocol.Remember(1, "eggs\rflour\u2028salt"), protocol.Remembered)
        rows = await life.mind.database.rows_of_text("SELECT text FROM turns ORDER BY id", ())
        assert [row["text"] for row in rows] == ["eggs\nflour\nsalt"]
        found = await call(life, "recall", query="milk tea")
        assert "agent noted: milk\ntea" in [turn["text"] for turn in found["turns"]]


async def test_a_limit_written_as_text_or_a_fraction_counts_and_null_is_nothing_said(home: Home) -> None:
    async with living(home, worker(), PatientClock(NOON), QUIET) as life:
        for place in ("house", "shed", "barn"):
            await call(life, "remember", text=f"The boards lie behind the {place}.")
        for limit in ("2", 2.0, "2.0"):
            found = await call(life, "recall", query="where are the boards?", limit=limit)
            assert len(found["turns"]) == 2
        found = await call(life, "recall", query="where are the boards?", limit=None, since=None, until=None)
        assert len(found["turns"]) == 3
        bound = await life.mind.projects.store.create("Fair")
        assert (await call(life, "get_tasks", project=bound.name, project_id=None))["project"] == "Fair"


async def test_what_is_kept_is_answered_though_it_cannot_be_slept_on_yet_and_is_slept_on_later(home: Home) -> None:
    async with living(home, worker(), PatientClock(NOON), QUIET) as life:
        async with life.mind.memory.pause_light_sleep(), asyncio.TaskGroup() as tasks:
            kept = tasks.create_task(call(life, "remember", text="The boards lie behind the house."), name="remember")
            await life.pass_time(0.01)
            assert kept.done()
            assert kept.result()["is_kept"]
        await life.pass_time(0.001)
        assert (await call(life, "recall", query="where are the boards?"))["turns"]


async def test_what_is_found_together_is_counted_by_the_programs_session(home: Home) -> None:
    async with living(home, worker(), PatientClock(NOON), allowing("agent")) as life:
        await call(life, "create_project", vision_summary="v", success_criteria=[], name="Shed")
        for text in ("Oak is a hard wood.", "Pine is a soft wood."):
            await call(life, "store_chunk", project_id="Shed", content=text, **_CHUNK)
        for session in ("one", "two"):
            await call(life, "search_semantic", session=session, project_id="Shed", query="wood", min_similarity=0.0)
        await call(life, "search_semantic", program="guest", session="three", project_id="Shed", query="wood")
        rows = await life.mind.database.rows_of_text(
            "SELECT DISTINCT session_id FROM coretrievals ORDER BY session_id", ()
        )
        assert [row["session_id"] for row in rows] == ["mcp one", "mcp two"]


async def test_an_answer_that_fits_into_no_message_says_to_ask_for_less(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program_tools, "_MOST_ANSWER_BYTES", 300)
    async with living(home, worker(), PatientClock(NOON), QUIET) as life:
        assert await call(life, "list_projects") == {"projects": []}
        await call(life, "remember", text="word " * 100)
        with pytest.raises(UsageError, match="too long"):
            await call(life, "recall", query="word")


@pytest.mark.parametrize("arguments", [b"", b"[]", b"{", b'"x"', b"\xff"])
async def test_arguments_that_are_no_object_are_refused_with_a_sentence(home: Home, arguments: bytes) -> None:
    async with living(home, worker(), PatientClock(NOON), QUIET) as life:
        with pytest.raises(UsageError):
            await ask(life.mind, protocol.CallTool(1, "agent", "recall", arguments), protocol.ToolAnswered)


@pytest.mark.parametrize("tool", ["get_orientation", "get_tasks", "store_chunk"])
async def test_a_bound_program_hears_one_sentence_for_every_project_that_is_not_its_own(home: Home, tool: str) -> None:
    given = {"content": "Oak.", **_CHUNK} if tool == "store_chunk" else {}
    async with living(home, worker(), PatientClock(NOON), QUIET) as life:
        for name in ("Fair", "Divorce"):
            await life.mind.projects.store.create(name)
        told = []
        for guess in ("zzz", "Divorce"):
            with pytest.raises(UsageError) as refused:
                await call(life, tool, project="Fair", project_id=guess, **given)
            told.append((refused.value.message, refused.value.advice))
        assert told[0] == told[1]
        assert "Divorce" not in " ".join(told[0])
        await call(life, tool, project="Fair", project_id="Fair", **given)


async def test_a_program_that_is_bound_to_no_project_that_there_is_hears_only_that(home: Home) -> None:
    async with living(home, worker(), PatientClock(NOON), QUIET) as life:
        await life.mind.projects.store.create("Divorce")
        with pytest.raises(ReveriesError, match="no project 'Fiar'") as refused:
            await call(life, "get_tasks", project="Fiar")
        assert "Divorce" not in f"{refused.value.message} {refused.value.advice}"


async def test_status_tells_a_bound_program_of_the_work_on_its_own_project_alone(home: Home) -> None:
    async with living(home, worker(), PatientClock(NOON), QUIET) as life:
        for name in ("Fair", "Divorce"):
            await life.mind.projects.store.create(name)
        async with life.mind.activity.during_work("Divorce"):
            told = [await call(life, "status", project=name) for name in ("", "Divorce", "Fair")]
        assert [(one["state"], one["detail"], one["work"]) for one in told] == [
            ("working", "Divorce", "Divorce"),
            ("working", "Divorce", "Divorce"),
            ("working", "", ""),
        ]


@pytest.mark.requirement("V-16")
async def test_a_program_is_told_of_each_tool_that_it_may_call_and_of_no_other(home: Home) -> None:
    async with living(home, worker(), PatientClock(NOON), QUIET) as life:
        told = await ask(life.mind, protocol.AskTools(1), protocol.Tools)
        callable_names = [tool.name for tool in program_tools.ProgramTools(life.mind).list_tools([])]
        assert [tool.name for tool in told.tools] == callable_names
        assert {"recall", "get_orientation", "create_task", "search_hybrid", "ask_notes"} <= set(callable_names)
