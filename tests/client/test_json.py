"""--json: every command has it or is named here, and what it writes has the fields of the reference."""

import json

import click
import msgspec
import pytest

from reveries import protocol
from reveries.client.answers import print_answer
from reveries.client.cli import cli
from reveries.client.render import Page, json_line
from reveries.config import Home
from tests.client.command_line import reveries
from tests.client.test_cli import DETAIL, FOUND
from tests.command_reference import _list_commands, list_json_answers
from tests.fakes.daemon import Script, awake_in_thread

WITHOUT = {
    "reveries",
    "reveries monologue",
    "reveries service",
    "reveries backup",
    "reveries grant",
    "reveries project task",
    "reveries project conflict",
    "reveries completion",
    "reveries document",
    "reveries web",
    "reveries mcp",
    "reveries mcp serve",
    "reveries mcp add",
    "reveries mcp remove",
}
"""What is watched, what only groups commands, what prints a script, what serves a page or programs, what only writes
settings."""


def with_json() -> set[str]:
    return {
        path for path, command in _list_commands(cli, "reveries") if any("--json" in one.opts for one in command.params)
    }


def test_every_command_has_json_or_is_known_to_have_none() -> None:
    assert {path for path, _ in _list_commands(cli, "reveries")} - with_json() == WITHOUT


def test_what_every_command_writes_is_in_the_reference() -> None:
    documented = {f"reveries {name}" for name in list_json_answers()}
    variants = {"reveries consolidate --dry-run", "reveries consolidate log RUN", "reveries status --short"}
    variants |= {"reveries forget --verify", "reveries import --mind", "reveries import --dry-run"}
    variants |= {f"reveries import --{name}" for name in ("list", "correct", "take-back", "visioneer")}
    variants |= {"reveries project log --why", "reveries work --now", "reveries work --watch"}
    variants |= {"reveries memory contradictions settle PROJECT-CONFLICT"}
    assert documented - variants == with_json()


def fields(name: str) -> set[str]:
    answer = list_json_answers()[name]
    assert not isinstance(answer, str)
    return {field.name for field in msgspec.structs.fields(answer)} - {"request_id"}


@pytest.mark.parametrize(
    "words",
    [
        "status", "usage", "say hello", "consolidate", "memory", "memory search tea", "memory inspect e1", "models",
        "config get mind.name", "config set mind.name Ada", "open", "service status", "doctor", "wake", "sleep",
        "monologue history",
    ],
)  # fmt: skip
def test_what_is_written_has_exactly_the_fields_that_are_documented(home: Home, words: str) -> None:
    with awake_in_thread(home, Script(found=FOUND, episode=DETAIL)):
        ran = reveries(home, *words.split(), "--json", more={"REVERIES_MODELS": str(home.path)})
    name = next(name for name in sorted(list_json_answers(), key=len, reverse=True) if words.startswith(name))
    assert set(json.loads(ran.out)) == fields(name)


def test_a_line_of_json_has_no_field_of_the_wire() -> None:
    happened = protocol.WorkHappened(7, "Fair", "done", "Find the fees")
    assert set(json.loads(json_line(happened))) == fields("work --watch")


def test_a_fault_in_a_page_does_not_break_the_json(capsys: pytest.CaptureFixture[str]) -> None:
    def build_page() -> Page:
        raise AssertionError

    print_answer(protocol.SleepAnswered(7, "r1", "Nothing waits."), True, build_page)
    assert json.loads(capsys.readouterr().out) == {"run_id": "r1", "line": "Nothing waits."}
    with pytest.raises(AssertionError):
        print_answer(protocol.SleepAnswered(7, "r1", "Nothing waits."), False, build_page)


def test_a_mind_that_sleeps_already_is_told_in_json_too(home: Home) -> None:
    assert json.loads(reveries(home, "sleep", "--json").out) == {"was_awake": False}


def test_an_error_is_a_sentence_and_no_object(home: Home) -> None:
    ran = reveries(home, "status", "--json")
    assert (ran.code, ran.out) == (3, "")
    assert ran.err.startswith("reveries: ")


def test_json_is_an_option_without_a_value() -> None:
    for _, command in _list_commands(cli, "reveries"):
        assert all(isinstance(one, click.Option) and one.is_flag for one in command.params if "--json" in one.opts)
