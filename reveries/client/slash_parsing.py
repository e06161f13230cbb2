"""Parsing a typed line into a slash command, and completing a command while it is typed. Pure."""

import difflib
import re
import string
from dataclasses import dataclass
from typing import Final

from reveries.client.slash_commands import COMMANDS, Command
from reveries.safe_text import one_line

_PRIVATE: Final = "/private"
_BLANKS: Final = f"{string.whitespace}\u00a0\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\u3000\ufeff"
"""Characters that are invisible before a word, zero-width ones included."""
_TYPO_SIMILARITY: Final = 0.8
"""The similarity (0 to 1) from which a word counts as a mistyped command."""
_SLASH_WORD: Final = re.compile(r"/[A-Za-z-]{1,30}")
_WITHOUT_ARGUMENTS: Final = {"/why": "/recalled"}
"""Commands that mean another one when given no argument."""
_ALIASES: Final = {"/quit": "/exit", "/sessions": "/resume", "/conversations": "/resume", "/sleep": "/sleeps"}


@dataclass(frozen=True, slots=True)
class CommandCall:
    """A command with its arguments."""

    command: Command
    words: str


def parse_command(text: str) -> CommandCall | str | None:
    """Parse `text`: a command call, a message to show when it is nearly one, or None for text to send.

    A blank before the slash makes it text, except for /private: text that begins with that is never sent on the record.
    """
    if is_meant_private(text):
        return _parse_private(text.lstrip(_BLANKS))
    if not text.startswith("/"):
        return None
    name, rest = _split_command(text)
    command = find_command(name)
    if command is None:
        return _mistyped_command(name, is_alone=not rest)
    if not rest:
        command = find_command(_WITHOUT_ARGUMENTS.get(command.name, command.name)) or command
    if command.needs_words and not rest:
        return f"{command.name} needs an argument: {command.usage}"
    if rest and not command.words:
        # "/new shoes would be nice" is text, not a command.
        return None
    return CommandCall(command, rest)


def is_meant_private(text: str) -> bool:
    """Whether `text` begins with /private, after any blanks and whatever follows."""
    return text.lstrip(_BLANKS)[: len(_PRIVATE)].lower() == _PRIVATE


def may_become_private(text: str) -> bool:
    """Whether `text` begins with /private or a likely typo of it; it is then not written to disk while it is typed."""
    if is_meant_private(text):
        return True
    name, rest = _split_command(text.lstrip(_BLANKS))
    return bool(rest) and bool(difflib.get_close_matches(name.lower(), [_PRIVATE], n=1, cutoff=_TYPO_SIMILARITY))


def _split_command(text: str) -> tuple[str, str]:
    """Split off the first word; any whitespace separates it, a new line too."""
    name, *rest = text.split(maxsplit=1) or [""]
    return name, "".join(rest).strip()


def _parse_private(text: str) -> CommandCall | str:
    name, rest = _split_command(text)
    command = find_command(name)
    if command is not None:
        return CommandCall(command, rest)
    return (
        f"{one_line(name, 20)} begins with /private, so it was not sent. "
        "Off the record: /private WORDS. To send it on the record, put a word before it."
    )


def _mistyped_command(name: str, *, is_alone: bool) -> str | None:
    """Return the message for an unknown slash word, or None to send it as text.

    Alone it was hardly meant as text; before other words it counts as a typo only if it is similar to a command."""
    if not _SLASH_WORD.fullmatch(name):
        return None
    names = [*(command.name for command in COMMANDS), *_ALIASES]
    like = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.6 if is_alone else _TYPO_SIMILARITY)
    if not (like or is_alone):
        return None
    suggestion = f" Did you mean {like[0]}?" if like else " For all commands: /help."
    return f"There is no command {name}.{suggestion} To send it, put a space first."


def find_command(name: str) -> Command | None:
    """Find a command by its name or an alias."""
    name = _ALIASES.get(name, name)
    return next((command for command in COMMANDS if command.name == name), None)


def name_contains(command: Command, text: str) -> bool:
    """Whether the letters after the slash in `text` are part of the command's name."""
    return text[1:].lower() in command.name[1:]


def complete_command(text: str) -> list[Command]:
    """List the commands that `text` may become: name prefix first, then name part, then description."""
    if not text.startswith("/") or any(char.isspace() for char in text):
        return []
    typed = text[1:].lower()
    beginning = [command for command in COMMANDS if command.name[1:].startswith(typed)]
    inside = [command for command in COMMANDS if typed and name_contains(command, text) and command not in beginning]
    about = [
        command
        for command in COMMANDS
        if len(typed) > 2 and typed in command.description.lower() and command not in (*beginning, *inside)
    ]
    return [*beginning, *inside, *about]
