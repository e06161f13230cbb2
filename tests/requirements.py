"""Every numbered requirement (requirements.toml) with its state, and the tests that show it.

A test is tied to a requirement or a goal (tests/goals.py) by a marker: `@pytest.mark.requirement("R-118", "A1")`.
tests/test_requirements.py fails if a number is missing, a requirement that is said to be shown has no test, or a marker
names none. docs/generate.py generates the page from both.
"""

import ast
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

from tests.goals import GOALS, LEFT_OPEN, WITHOUT_A_TEST

TESTS: Final = Path(__file__).parent


class RowState(StrEnum):
    """What became of a requirement."""

    SHOWN = "shown"
    """A test shows it; a reason says what is otherwise than the row asks."""
    REPLACED = "replaced"
    """Something else does what it is for; the reason says what and why."""
    NOT_BUILT = "not_built"


class Requirement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of the specification, in one sentence of our own."""

    state: RowState
    title: str
    reason: str = ""


REQUIREMENTS: Final = msgspec.toml.decode(
    (TESTS / "requirements.toml").read_bytes(), type=dict[str, Requirement], strict=True
)


@dataclass(frozen=True, slots=True)
class Shown:
    """A test with a requirement marker."""

    requirement: str
    test: str
    """`daemon/test_server.py::test_name`, from tests/."""


@functools.cache
def read_markers() -> list[Shown]:
    """Return every marker in tests/, read from the source; nothing is imported or run."""
    markers: list[Shown] = []
    for file in sorted(TESTS.rglob("test_*.py")):
        place = str(file.relative_to(TESTS))
        for owner, requirement in _markers(ast.parse(file.read_text(encoding="utf-8")), place):
            markers.append(Shown(requirement, owner))
    return markers


def find_untested(markers: list[Shown]) -> list[str]:
    """Return requirements that are said to be shown, and goals, without a test, except those in WITHOUT_A_TEST."""
    tested = {marker.requirement for marker in markers}
    said = [name for name, row in REQUIREMENTS.items() if row.state is RowState.SHOWN]
    return [name for name in (*said, *GOALS) if name not in tested and name not in WITHOUT_A_TEST]


def find_unknown(markers: list[Shown]) -> list[Shown]:
    """Return markers that name neither a requirement nor a goal."""
    return [
        marker
        for marker in markers
        if marker.requirement not in (REQUIREMENTS | GOALS) and not LEFT_OPEN.fullmatch(marker.requirement)
    ]


def render_requirements_page() -> str:
    """Return the content of docs/reference/requirements.md."""
    tests: dict[str, list[str]] = {}
    for marker in read_markers():
        tests.setdefault(marker.requirement, []).append(marker.test)
    goals = {name: Requirement(RowState.SHOWN, text) for name, text in GOALS.items()}
    head = [
        "# Requirements and goals",
        "",
        "Generated from tests/requirements.toml, tests/goals.py and the tests' markers by docs/generate.py. A marker",
        "says what a test is meant to show. A count cannot tell whether it shows all that the row says: read the test.",
        "",
        "R is the core, V is projects, M is documents, as far as they are begun. *Shown*: a test shows it; what is",
        "otherwise than the row asks is said below it. *Replaced*: something else does what it is for, with a reason.",
        "*Not built*: it is missing.",
        "",
        *_count_states(),
        "",
        *_table("requirement", REQUIREMENTS, tests),
        "## Goals",
        "",
        "Guarantees on reliability, trust and money. The measured results are in [benchmarks](../benchmarks.md).",
        "",
        f"{sum(name in tests for name in goals)} of {len(goals)} are named by a test.",
        "",
        *_table("goal", goals, tests),
    ]
    return "\n".join(head)


def _count_states() -> list[str]:
    """Count the rows of each specification by state, as a table."""
    lines = ["| | rows | shown | of these otherwise in part | replaced | not built |", "|---|---|---|---|---|---|"]
    for letter, what in (("R", "the core"), ("V", "projects"), ("M", "documents")):
        rows = [row for name, row in REQUIREMENTS.items() if name.startswith(letter)]
        shown, replaced, missing = (sum(row.state is state for row in rows) for state in RowState)
        partly = sum(row.state is RowState.SHOWN and bool(row.reason) for row in rows)
        lines.append(f"| {letter}, {what} | {len(rows)} | {shown} | {partly} | {replaced} | {missing} |")
    return lines


def _table(what: str, rows: dict[str, Requirement], tests: dict[str, list[str]]) -> list[str]:
    lines = [
        f"| {name} | {row.title}{f'<br>*{row.reason}*' if row.reason else ''} | {_describe_state(name, row, tests)} |"
        for name, row in rows.items()
    ]
    return [f"| | {what} | state |", "|---|---|---|", *lines, ""]


def _describe_state(name: str, row: Requirement, tests: dict[str, list[str]]) -> str:
    if row.state is not RowState.SHOWN:
        return f"**{row.state.value.replace('_', ' ')}**"
    matches = sorted(set(tests.get(name, ())))
    parts = [f"`{test}`" for test in matches[:3]]
    if len(matches) > 3:
        parts.append(f"and {len(matches) - 3} more")
    return "<br>".join(parts) or WITHOUT_A_TEST[name]


def _markers(module: ast.Module, place: str) -> Iterator[tuple[str, str]]:
    """Yield each test of `module` with each requirement named by its own, its class's or its module's markers."""
    of_module = [name for node in module.body if isinstance(node, ast.Assign) for name in _named(node.value)]
    for node in module.body:
        if isinstance(node, ast.ClassDef):
            of_class = of_module + _decorated(node)
            for inner in node.body:
                yield from _of_test(inner, f"{place}::{node.name}", of_class)
        else:
            yield from _of_test(node, place, of_module)


def _of_test(node: ast.stmt, place: str, above: list[str]) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
        for name in above + _decorated(node):
            yield f"{place}::{node.name}", name


def _decorated(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> list[str]:
    return [name for decorator in node.decorator_list for name in _named(decorator)]


def _named(expression: ast.expr) -> list[str]:
    """Return the names in the `requirement(...)` calls within `expression`."""
    return [
        str(argument.value)
        for call in ast.walk(expression)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "requirement"
        for argument in call.args
        if isinstance(argument, ast.Constant)
    ]
