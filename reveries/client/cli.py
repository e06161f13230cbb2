"""The command line: which commands there are, and the one place where an error becomes a sentence and an exit code.

Only click is imported here. A command's module, and all that it needs, is imported when the command is run.
"""

import importlib
import os
import sys
from typing import IO, TYPE_CHECKING, Final, NamedTuple, NoReturn

import click

from reveries import __version__
from reveries.errors import ReveriesError
from reveries.own_process import keep_to_itself

if TYPE_CHECKING:
    from reveries.config import Home


class CommandEntry(NamedTuple):
    """Where a command stands, and its line in `--help`."""

    module: str
    help: str
    name: str = "command"


_COMMANDS: Final = {
    "init": CommandEntry("init", "Set it up: a few questions, and every answer may be Enter."),
    "wake": CommandEntry("wake", "Wake the mind, and return when it answers."),
    "sleep": CommandEntry("sleep", "Put the mind to sleep, and wait until it is."),
    "status": CommandEntry("status", "How it is, what it does, what it used."),
    "doctor": CommandEntry("doctor", "What is wrong, and what to do about it."),
    "usage": CommandEntry("usage", "What models used, and what is left."),
    "wellbeing": CommandEntry("wellbeing", "What was counted about its welfare."),
    "say": CommandEntry("say", "Say something and print the reply."),
    "remember": CommandEntry("memory_edits", "Tell it something to remember.", "remember_command"),
    "forget": CommandEntry("forgetting", "Forget something: archive it, or erase it for good."),
    "digest": CommandEntry("digest", "What it thought and learned since yesterday."),
    "consolidate": CommandEntry("sleep_log", "Sleep on what happened, now; see and undo what sleep did."),
    "memory": CommandEntry("memory", "What it remembers: search, why, correct."),
    "context": CommandEntry("context", "What it was told for the last turn."),
    "self": CommandEntry("self_model", "What it takes itself and you to be."),
    "monologue": CommandEntry("thinking", "Watch it think, or read what it thought."),
    "notes": CommandEntry("thinking", "What its thinking wanted you to know.", "notes_command"),
    "project": CommandEntry("projects", "What it works on for you."),
    "work": CommandEntry("work", "The work on your projects: now, or watch it."),
    "questions": CommandEntry("questions", "What your projects ask you."),
    "grant": CommandEntry("grants", "What your projects may do outside."),
    "mcp": CommandEntry("mcp", "A memory for your coding agent, and your projects."),
    "config": CommandEntry("config", "The settings: show, get, set."),
    "import": CommandEntry("importing", "Remember a past conversation from a file."),
    "export": CommandEntry("mind_export", "Write the whole mind into a file."),
    "backup": CommandEntry("backup", "Copies of the memory: make, list, verify, restore."),
    "models": CommandEntry("models", "The models: in use and why, available, test, pull."),
    "logs": CommandEntry("logs", "What the daemon wrote."),
    "open": CommandEntry("paths", "Where things are."),
    "service": CommandEntry("service", "Let systemd or launchd keep it awake."),
    "web": CommandEntry("web", "The conversation in a browser of this machine."),
    "completion": CommandEntry("completion", "Let your shell complete commands."),
    "uninstall": CommandEntry("uninstall", "Remove the service; with --purge the mind too."),
}
"""As `--help` lists them; a module of `features` is imported when its command is run."""
_INTERRUPTED = 130


class LazyGroup(click.Group):
    """A group whose commands are imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        entry = _COMMANDS[cmd_name]
        module = importlib.import_module(f"reveries.client.features.{entry.module}")
        command: click.Command = getattr(module, entry.name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """As click does it, but from the table: nothing is imported for a list."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in _COMMANDS.items()])

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
        from reveries.client.features.chat import open_chat

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
    from reveries.safe_text import plain

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
    from reveries.client.crash_log import unforeseen

    return _complain(unforeseen(error, home), 1)
