"""Who may call which tool, and what becomes of arguments that do not fit."""

import msgspec
import pytest

from reveries.errors import UsageError
from reveries.tools.reach import Reach
from reveries.tools.registry import Tool, ToolCaller, ToolRegistry
from tests.rows import check_rows


class Add(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    first: int
    second: int = 1


class Sum(msgspec.Struct, frozen=True):
    value: int
    by: str


async def add(given: Add, caller: ToolCaller) -> Sum:
    return Sum(given.first + given.second, caller.role)


TOOLS = [
    Tool("Add.", Reach.LOOK, name="add", server="sums", arguments=Add, run=add),
    Tool("Put.", Reach.INSIDE, name="put", server="sums", arguments=Add, run=add),
]
REGISTRY = ToolRegistry(TOOLS, {"work": frozenset({"add", "put"}), "reading": frozenset({"add"})})
WORK = ToolCaller("work")


async def test_a_listed_tool_is_called_with_its_arguments_and_answers_in_plain_values() -> None:
    assert await REGISTRY.call(WORK, "add", {"first": 2, "second": 3}) == {"value": 5, "by": "work"}
    assert await REGISTRY.call(WORK, "add", {"first": 2}) == {"value": 3, "by": "work"}


@pytest.mark.parametrize(
    ("caller", "name", "says"),
    [
        (ToolCaller("reading"), "put", "may not be called here"),
        (ToolCaller("work", may_write=False), "put", "may not be called here"),
        (ToolCaller("nobody"), "add", "may not be called here"),
        (WORK, "subtract", "is not there"),
        (WORK, "x" * 10_000, "is not there"),
    ],
)
async def test_a_tool_that_is_not_listed_is_refused_and_those_that_are_are_named(
    caller: ToolCaller, name: str, says: str
) -> None:
    with pytest.raises(UsageError, match=says) as error:
        await REGISTRY.call(caller, name, {"first": 1})
    assert len(error.value.message) < 400
    assert ("add" in error.value.advice) == (caller.role != "nobody")


class Filter(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    tags: list[str] = []
    least: float = 0.5


class Ask(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    words: str
    limit: int = 5
    since: str = ""
    most: int | None = 3
    is_open: bool = True
    filters: Filter = Filter()


async def answer_with_arguments(given: Ask, _: ToolCaller) -> Ask:
    return given


@check_rows(
    ("given", "read"),
    [
        ({"limit": "3"}, {"limit": 3}),
        ({"limit": 3.0}, {"limit": 3}),
        ({"limit": None, "since": None, "filters": None, "is_open": None}, {}),
        ({"most": None}, {"most": None}),
        ({"is_open": "false"}, {"is_open": False}),
        ({"filters": {"least": "0.25", "tags": None}}, {"filters": {"tags": [], "least": 0.25}}),
        ({"filters": '{"tags": ["wood"]}'}, {"filters": {"tags": ["wood"], "least": 0.5}}),
        ({"filters": {"tags": '["wood"]'}}, {"filters": {"tags": ["wood"], "least": 0.5}}),
        ({"words": "3", "since": "[1]"}, {"words": "3", "since": "[1]"}),
    ],
)
async def test_arguments_count_as_they_are_meant(given: dict[str, object], read: dict[str, object]) -> None:
    tools = ToolRegistry(
        [Tool("Ask.", Reach.LOOK, name="ask", server="asks", arguments=Ask, run=answer_with_arguments)],
        {"work": frozenset({"ask"})},
    )
    usual = await tools.call(WORK, "ask", {"words": "cat"})
    assert await tools.call(WORK, "ask", {"words": "cat"} | given) == usual | read


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"first": "two"},
        {"first": 1, "third": 2},
        {"first": None},
        {"first": 1.5},
        {"first": "1.5"},
        {"first": "[1]"},
    ],
    ids=str,
)
async def test_arguments_that_do_not_fit_are_told_and_nothing_runs(arguments: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="add: "):
        await REGISTRY.call(WORK, "add", arguments)


def test_a_caller_is_shown_what_it_may_call_with_a_whole_schema() -> None:
    assert [tool.name for tool in REGISTRY.tools_for(ToolCaller("work", may_write=False))] == ["add"]
    schema = TOOLS[0].schema
    assert schema["type"] == "object"
    assert schema["required"] == ["first"]
    assert schema["properties"]["second"]["default"] == 1


def test_the_schema_of_an_answer_is_that_of_what_the_tool_returns() -> None:
    schema = TOOLS[0].answer_schema
    assert schema["type"] == "object"
    assert schema["required"] == ["value", "by"]
    assert schema["properties"] == {"value": {"type": "integer"}, "by": {"type": "string"}}


def test_a_program_outside_taints_what_it_writes_and_a_role_of_the_mind_does_not() -> None:
    assert ToolCaller("mcp", "mcp:editor").foreign_sources == {"mcp:editor"}
    assert WORK.foreign_sources == frozenset()
