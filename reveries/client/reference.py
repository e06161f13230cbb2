"""The reference pages that are made from the program itself: the commands, and the exit codes."""

import inspect

import click

from reveries import errors


def cli_reference() -> str:
    """Every command with its help, as Markdown."""
    from reveries.client.cli import cli

    pages = ["# Commands", "", "Made from the program by docs/generate.py.", ""]
    for path, command in _walk(cli, "reveries"):
        context = click.Context(command, info_name=path, max_content_width=100, terminal_width=100)
        pages += [f"## `{path}`", "", "```text", command.get_help(context), "```", ""]
    return "\n".join(pages)


def exit_code_table() -> str:
    """Every exit code with what it says, as Markdown. From the error tree, so that there is one table."""
    rows = {(0, "It was done."), (130, "Ctrl+C ended it, or its question was answered with no.")}
    for error in _tree(errors.ReveriesError):
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
        "Made from reveries/errors.py by docs/generate.py.",
        "",
        "| code | meaning |",
        "|---:|---|",
    ]
    return "\n".join([*head, *lines, ""])


def _known_types() -> set[type]:
    return set(_tree(errors.ReveriesError))


def _tree(error: type[errors.ReveriesError]) -> list[type[errors.ReveriesError]]:
    return [error, *(below for child in error.__subclasses__() for below in _tree(child))]


def _walk(command: click.Command, path: str) -> list[tuple[str, click.Command]]:
    found = [(path, command)]
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=path)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None:
                found += _walk(below, f"{path} {name}")
    return found
