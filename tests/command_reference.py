"""Reference pages generated from the program: commands, what they print as JSON, and exit codes."""

import inspect

import click
import msgspec

from reveries import errors
from reveries.client.answers import JsonOption


def cli_reference() -> str:
    """Return every command with its help, as Markdown."""
    from reveries.client.cli import cli

    pages = ["# Commands", "", "Generated from the program by docs/generate.py.", ""]
    for path, command in _list_commands(cli, "reveries"):
        context = click.Context(command, info_name=path, max_content_width=100, terminal_width=100)
        pages += [f"## `{path}`", "", "```text", command.get_help(context), "```", ""]
    return "\n".join(pages)


def exit_code_table() -> str:
    """Return every exit code with its meaning, as Markdown, from the error classes."""
    rows = {(0, "Success."), (130, "Stopped by Ctrl+C, or a confirmation was refused.")}
    for error in _list_error_types(errors.ReveriesError):
        meaning = inspect.getdoc(error) or ""
        parents = error.__mro__[1:]
        if not any(
            getattr(parent, "exit_code", None) == error.exit_code for parent in parents if parent in _known_types()
        ):
            rows.add((error.exit_code, meaning.partition("\n")[0]))
    rows = {(code, "Something failed; the message says what." if code == 1 else text) for code, text in rows}
    lines = [f"| {code} | {text} |" for code, text in sorted(rows)]
    head = [
        "# Exit codes",
        "",
        "Generated from reveries/errors.py by docs/generate.py.",
        "",
        "| code | meaning |",
        "|---:|---|",
    ]
    return "\n".join([*head, *lines, ""])


def _known_types() -> set[type]:
    return set(_list_error_types(errors.ReveriesError))


def _list_error_types(error: type[errors.ReveriesError]) -> list[type[errors.ReveriesError]]:
    return [error, *(below for child in error.__subclasses__() for below in _list_error_types(child))]


def list_json_options() -> dict[str, JsonOption]:
    """Return the `--json` of each command that has one, by the command's words."""
    from reveries.client.cli import cli

    return {
        path.removeprefix("reveries "): option
        for path, command in _list_commands(cli, "reveries")
        for option in command.params
        if isinstance(option, JsonOption)
    }


def list_json_answers() -> dict[str, type[msgspec.Struct] | str]:
    """Return what each command prints with `--json`, by its words: a struct, or a description where it is none."""
    return {
        f"{words} {arguments}".strip(): answer
        for words, option in list_json_options().items()
        for arguments, answer in option.answers.items()
    }


def _list_commands(command: click.Command, path: str) -> list[tuple[str, click.Command]]:
    commands = [(path, command)]
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=path)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None:
                commands += _list_commands(below, f"{path} {name}")
    return commands
