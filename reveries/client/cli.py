"""The command line: which commands there are, and the one place where an error becomes a sentence and an exit code.

Only click is imported here. A command's module, and all that it needs, is imported when the command is run.
"""

import importlib
import os
import sys
from typing import IO, TYPE_CHECKING, Final, NoReturn

import click

from reveries import __version__
from reveries.errors import ReveriesError
from reveries.own_process import keep_to_itself

if TYPE_CHECKING:
    from reveries.config import Home

_COMMANDS: Final = {
    "init": "init",
    "wake": "waking",
    "sleep": "sleeping",
    "status": "status",
    "doctor": "doctor",
    "usage": "usage",
    "wellbeing": "wellbeing",
    "say": "say",
    "remember": "remember",
    "forget": "forgetting",
    "digest": "digest",
    "consolidate": "consolidate",
    "memory": "memory",
    "context": "context",
    "self": "selfhood",
    "monologue": "monologue",
    "notes": "notes",
    "config": "settings",
    "import": "importing",
    "export": "exporting",
    "backup": "backup",
    "models": "models",
    "logs": "logs",
    "open": "where",
    "service": "service",
    "web": "web",
    "completion": "completion",
    "uninstall": "uninstall",
}
_INTERRUPTED = 130


class LazyGroup(click.Group):
    """A group whose commands are imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"reveries.client.commands.{_COMMANDS[cmd_name]}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], _COMMANDS, n=1)
            hint = f"Did you mean {near[0]}?" if near else "All of them: reveries --help"
            raise click.UsageError(f"There is no command {args[0]!r}. {hint}")
        return super().resolve_command(ctx, args)


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="reveries %(version)s")
@click.option("--plain", "is_plain", is_flag=True, help="The conversation line by line, for screen readers.")
@click.pass_context
def cli(ctx: click.Context, is_plain: bool) -> None:
    """A mind that stays awake on your machine.

    Without a command it opens the conversation. Closing it does not stop the mind: `reveries sleep` does.
    """
    if os.environ.get("NO_COLOR"):
        ctx.color = False
    if ctx.invoked_subcommand is None:
        from reveries.client.commands.chat import open_chat

        open_chat(is_plain=is_plain)


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and end the process with its exit code."""
    keep_to_itself()
    code = run(arguments)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output is gone; the interpreter must not complain about it when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def run(arguments: list[str] | None = None) -> int:
    """Run the command line; its exit code. Never raises, never shows a traceback."""
    try:
        outcome = cli.main(arguments, prog_name="reveries", standalone_mode=False)
        return outcome if isinstance(outcome, int) else 0
    except (KeyboardInterrupt, click.Abort):
        return _INTERRUPTED
    except click.exceptions.Exit as end:
        return int(end.exit_code)
    except click.ClickException as error:
        return _complain(_usage_sentence(error), error.exit_code)
    except ReveriesError as error:
        from reveries.api_keys import secrets_at
        from reveries.config import find_home
        from reveries.redaction import redacted, spellings

        return _complain(redacted(str(error), spellings(secrets_at(find_home()))), error.exit_code)
    except BaseException as error:  # noqa: BLE001 - the boundary: a person gets a sentence, the log the details
        from reveries.config import find_home

        return _complain_of_unforeseen(error, find_home())


def _usage_sentence(error: click.ClickException) -> str:
    sentence = error.format_message().rstrip(".")
    path = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx is not None else "reveries"
    return sentence if sentence.endswith("--help") or sentence.endswith("?") else f"{sentence}. See: {path} --help"


def _complain(sentence: str, code: int) -> int:
    from reveries.plaintext import plain

    _write_text(sys.stderr, f"reveries: {plain(sentence)}\n")
    return code


def _write_text(stream: IO[str], text: str) -> None:
    """Write what the terminal's encoding can say; the rest as escapes rather than an error."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()
    except OSError:
        return


def _complain_of_unforeseen(error: BaseException, home: "Home") -> int:
    import asyncio

    if isinstance(error, asyncio.CancelledError):
        return _INTERRUPTED
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 1
    from reveries.client.mishaps import unforeseen

    return _complain(unforeseen(error, home), 1)
