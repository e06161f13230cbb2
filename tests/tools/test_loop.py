"""The tool loop: what ends it, and what stands before the model."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest

from reveries.errors import ModelAnswerError, ToolError
from reveries.llm.structured import parse, schema_of
from reveries.tools.folder_tools import ReadFile, RunCommand
from reveries.tools.loop import (
    CallRecord,
    LoopLimits,
    StepState,
    ToolLoop,
    answer_type,
    arguments_of,
    describe_calls,
    describe_tools,
    name_of,
)  # fmt: skip
from reveries.tools.reach import Reach
from reveries.tools.registry import Tool, ToolCaller
from reveries.tools.results import ToolResult


class Done(msgspec.Struct, frozen=True, tag_field="tool", tag="finish"):
    outcome: str = ""


async def _nothing(given: Any, caller: ToolCaller) -> str:
    return ""


TOOLS = [
    Tool("A file.", Reach.LOOK, name="read_file", server="folder", arguments=ReadFile, run=_nothing),
    Tool("A command.", Reach.INSIDE, name="run_command", server="folder", arguments=RunCommand, run=_nothing),
]


def read(path: str) -> object:
    return parse(f'{{"steps": [{{"tool": "read_file", "path": "{path}"}}]}}', answer_type(TOOLS, Done)).steps[0]


_LIMITS = LoopLimits()


async def run(steps: Sequence[object], limits: LoopLimits = _LIMITS, **more: Any) -> tuple[Any, list[tuple[str, bool]]]:
    left, made = list(steps), list[tuple[str, bool]]()

    async def ask(calls: Sequence[CallRecord]) -> Sequence[object]:
        step = left.pop(0)
        if isinstance(step, Exception):
            raise step
        return step if isinstance(step, list) else [step]

    async def call(name: str, arguments: Mapping[str, object], is_unknown: bool) -> ToolResult:
        made.append((str(arguments["path"]), is_unknown))
        if arguments["path"] == "bad":
            raise ToolError("It is not there.", advice="")
        return ToolResult("text", exit_code=1 if arguments["path"] == "red" else None)

    loop = ToolLoop(ask, call, Done, limits, **more)
    return await loop.run(), made


def test_a_step_is_one_tools_arguments_or_what_is_handed_in_and_hidden_fields_are_not_asked_for() -> None:
    kinds = schema_of(answer_type(TOOLS, Done))["properties"]["steps"]["items"]["anyOf"]  # type: ignore[index]
    assert [one["properties"]["tool"]["enum"] for one in kinds] == [["read_file"], ["run_command"], ["finish"]]
    step = read("a.md")
    assert (name_of(step), arguments_of(step)) == ("read_file", {"path": "a.md", "from_line": 1})  # type: ignore[arg-type]
    hidden = schema_of(answer_type(TOOLS, Done, frozenset({"path"})))["properties"]["steps"]["items"]["anyOf"]  # type: ignore[index]
    assert "path" not in hidden[0]["properties"]
    assert describe_tools(TOOLS, frozenset({"path"})).splitlines()[0] == '- tool "read_file": from_line. A file.'


async def test_it_ends_with_what_is_handed_in_and_a_failed_call_does_not_end_it() -> None:
    end, made = await run([read("a"), read("bad"), read("b"), Done("found")])
    assert (end.finish, [path for path, _ in made]) == (Done("found"), ["a", "bad", "b"])


@pytest.mark.parametrize(
    ("steps", "limits", "why"),
    [
        ([read("a"), read("a")], LoopLimits(), "It did the same twice in a row: read_file."),
        ([read("a"), read("b"), read("c")], LoopLimits(steps=2), "It had not finished after 2 steps."),
        ([read("a"), read("b")], LoopLimits(chars=3), "It read more than one task may."),
    ],
)
async def test_what_ends_it(steps: list[object], limits: LoopLimits, why: str) -> None:
    end, _ = await run(steps, limits)
    assert end.why_ended == why


async def test_time_ends_it() -> None:
    clock = iter([0.0, 1.0, 61.0, 62.0])
    end, _ = await run([read("a"), read("b")], LoopLimits(seconds=60), now=lambda: next(clock))
    assert end.why_ended == "It had not finished after 1 minutes."


async def test_steps_of_one_answer_are_taken_in_order_and_those_after_a_failed_one_are_not() -> None:
    asked: list[object] = [
        [read("a"), read("bad"), read("never"), Done("too early")],
        [read("red"), Done("too early")],
        [read("b"), read("c"), Done("found")],
    ]
    calls: list[CallRecord] = []
    end, made = await run(asked, calls=calls)
    assert (end.finish, [path for path, _ in made]) == (Done("found"), ["a", "bad", "red", "b", "c"])
    assert calls[1].text.endswith("\nThe 2 steps after it were not taken.")
    assert calls[2].text == "text\nThe step after it was not taken."


async def test_a_call_between_makes_the_same_call_a_new_one() -> None:
    end, made = await run([read("a"), read("b"), read("a"), Done()])
    assert (end.finish, len(made)) == (Done(), 3)


async def test_what_was_broken_off_is_said_to_be_unknown_when_it_is_called_again() -> None:
    before = [CallRecord("read_file", {"path": "a", "from_line": 1}, "?", StepState.UNKNOWN)]
    _, made = await run([read("a"), read("b"), Done()], calls=before)
    assert made == [("a", True), ("b", False)]


def test_the_newest_result_stands_whole_and_older_ones_are_cut() -> None:
    calls = [CallRecord("read_file", {"path": str(number)}, f"{number} " + "x" * 3000) for number in range(30)]
    told = describe_calls(calls, 8000)
    assert len(told) < 9000
    assert told.rstrip().endswith("x" * 3000)
    assert "earlier steps are not shown)" in told.splitlines()[0]
    assert describe_calls([], 100) == "nothing yet"
    failed = CallRecord("read_file", {}, "It is not there.", StepState.FAILED)
    assert describe_calls([failed], 100) == "1. read_file {} (failed)\nIt is not there."


async def test_what_was_done_again_with_a_yes_is_in_doubt_no_more() -> None:
    calls = [
        CallRecord("read_file", {"path": "a", "from_line": 1}, "", StepState.UNKNOWN),
        CallRecord("read_file", {"path": "a", "from_line": 1}, "text"),
        CallRecord("read_file", {"path": "b", "from_line": 1}, "text"),
    ]
    _, made = await run([read("a"), Done()], calls=calls)
    assert made == [("a", False)]


async def test_what_a_try_did_before_it_was_broken_off_counts_as_its_steps() -> None:
    calls = [CallRecord("read_file", {"path": str(number)}, "text") for number in range(4)]
    end, made = await run([read("a"), read("b"), Done()], LoopLimits(steps=5), calls=calls)
    assert (made, end.why_ended) == ([("a", False)], "It had not finished after 5 steps.")


def refused() -> ModelAnswerError:
    return ModelAnswerError("It wrote the same over and over.", advice="")


async def test_a_model_is_told_why_its_answer_was_not_used_and_its_owner_if_that_did_not_help() -> None:
    end, made = await run([read("a"), refused(), read("b"), Done("found")])
    assert (end.finish, [path for path, _ in made]) == (Done("found"), ["a", "b"])
    calls = list[CallRecord]()
    end, _ = await run([refused(), refused()], calls=calls)
    assert "It wrote the same over and over. Answer otherwise." in describe_calls(calls, 1000)
    assert end.why_ended == "The model gave no usable answer: It wrote the same over and over."


async def test_a_call_of_unknown_effect_is_still_in_doubt_after_other_calls() -> None:
    before = [CallRecord("read_file", {"path": "a", "from_line": 1}, "?", StepState.UNKNOWN)]
    _, made = await run([read("b"), read("a"), Done()], calls=before)
    assert made == [("b", False), ("a", True)]


async def test_several_steps_in_one_answer_do_not_overrun_the_limit_of_steps() -> None:
    end, made = await run([[read(name) for name in "abcdefgh"]], LoopLimits(steps=3))
    assert ([path for path, _ in made], end.why_ended) == (["a", "b", "c"], "It had not finished after 3 steps.")
    end, made = await run([[read("a"), read("b"), Done()]], LoopLimits(steps=2))
    assert (end.finish, len(made)) == (Done(), 2)
