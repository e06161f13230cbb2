"""The table of slash commands: each of them does something, and what it shows has a page."""

import ast
import inspect
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

from reveries.client.answers import PAGES, JsonOption
from reveries.client.cli import cli
from reveries.client.plain_chat import PlainChat
from reveries.client.slash_commands import COMMANDS, Command
from reveries.client.tui.actions import CommandActions
from reveries.clock import SystemClock
from reveries.config import Home
from tests.client.slash import first_request
from tests.command_reference import _list_commands
from tests.rows import check_rows

if TYPE_CHECKING:
    import msgspec

    from reveries.client.tui.conversation_app import ConversationApp

_WORDS = {
    "/salience": "e1 0.5",
    "/correct": "e1 tea",
    "/answer": "3f9a Els",
    "/digest": "2d",
    "/task": "done Boat hull",
    "/conflict": "Boat dismiss 4f2a two hulls",
    "/know": "Boat how long is the hull?",
    "/draft": "Boat letter to the yard",
}
"""Arguments that must have a form."""


def test_every_command_is_carried_out_and_named_once(home: Home) -> None:
    in_terminal = CommandActions(cast("ConversationApp", SimpleNamespace())).names
    in_lines = PlainChat(home, SystemClock(), lambda: "", print).names
    names = [command.name for command in COMMANDS]
    assert len(set(names)) == len(names)
    assert in_terminal | in_lines <= set(names)
    assert {command.name for command in COMMANDS if command.fetch is None} <= in_terminal


@check_rows("command", [one for one in COMMANDS if one.fetch is not None])
def test_what_a_command_fetches_has_a_page_with_a_title(command: Command) -> None:
    assert command.fetch is not None
    words = _WORDS.get(command.name, "e1") if command.words else ""
    _, answer = first_request(f"{command.name} {words}".strip())
    of_several = inspect.get_annotations(command.fetch, eval_str=True)["return"]
    assert any(PAGES[shown].title for shown in {answer, of_several} & set(PAGES))


def test_a_command_line_module_imports_the_pages_of_its_answers() -> None:
    """A page is registered when its module is imported: one that is imported by accident may be missing tomorrow."""
    missing = [
        f"{words} needs {page.build.__module__}"
        for words, command in _list_commands(cli, "reveries")
        for option in command.params
        if isinstance(option, JsonOption)
        for answer in option.answers.values()
        if (page := PAGES.get(cast("type[msgspec.Struct]", answer))) is not None
        and page.build.__module__
        not in modules_imported_by(inspect.unwrap(cast("Callable[..., None]", command.callback)))
    ]
    assert not missing


def modules_imported_by(function: Callable[..., None]) -> set[str | None]:
    """The module of `function`, and the modules that it imports at once."""
    module = sys.modules[inspect.unwrap(function).__module__]
    tree = ast.parse(inspect.getsource(module))
    return {module.__name__, *(node.module for node in tree.body if isinstance(node, ast.ImportFrom))}
