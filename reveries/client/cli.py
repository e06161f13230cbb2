"""The command line: the list of commands, and the one place where errors become a message and an exit code.

Only click is imported here. A command's module and its dependencies are imported when the command runs.
"""

import importlib
import os
import sys
from typing import IO, TYPE_CHECKING, Final, NamedTuple, NoReturn

import click

from reveries import __version__
from reveries.client.terminal_encoding import spell_missing_characters
from reveries.errors import ReveriesError
from reveries.own_process import protect_process

if TYPE_CHECKING:
    from reveries.config import Home


class CommandEntry(NamedTuple):
    """The module of a command, and its line in `--help`."""

    module: str
    help: str
    name: str = "command"


_COMMANDS: Final = {
    "init": CommandEntry("init", "Set up Reveries: a few questions; Enter accepts each default."),
    "wake": CommandEntry("wake", "Wake the mind, and return when it is ready."),
    "sleep": CommandEntry("sleep", "Put the mind to sleep, and wait until it has stopped."),
    "status": CommandEntry("status", "What the mind is doing, and what it has used."),
    "doctor": CommandEntry("doctor", "Find problems, and say how to fix them."),
    "usage": CommandEntry("usage", "What the models used, and what is left of the budget."),
    "wellbeing": CommandEntry("wellbeing", "Possible signs of distress, counted in its thoughts."),
    "say": CommandEntry("say", "Say something and print the reply."),
    "remember": CommandEntry("memory_edits", "Tell it something to remember.", "remember_command"),
    "forget": CommandEntry("forgetting", "Forget something: archive it, or erase it for good."),
    "digest": CommandEntry("digest", "What it thought and learned since yesterday."),
    "consolidate": CommandEntry("sleep_log", "Run deep sleep now; show and undo what sleep changed."),
    "memory": CommandEntry("memory", "Search, inspect and correct what it remembers."),
    "context": CommandEntry("context", "What the model was given for the last turn."),
    "self": CommandEntry("self_model", "How it sees itself and you: the self-model."),
    "monologue": CommandEntry("thinking", "Watch it think, or read what it thought."),
    "notes": CommandEntry("thinking", "Notes that it left for you while thinking.", "notes_command"),
    "project": CommandEntry("projects", "Projects that it works on for you."),
    "document": CommandEntry("document", "Files that your projects read: add, list, show, remove."),
    "work": CommandEntry("work", "Work on your projects: start it, watch it, pause it."),
    "questions": CommandEntry("questions", "Questions that your projects ask you."),
    "grant": CommandEntry("grants", "What your projects may do outside their folders."),
    "mcp": CommandEntry("mcp", "Share memory and projects with MCP clients."),
    "config": CommandEntry("config", "Show and change the settings."),
    "import": CommandEntry("importing", "Import past conversations, or a whole mind, from a file."),
    "export": CommandEntry("mind_export", "Export the whole mind to a file."),
    "backup": CommandEntry("backup", "Back up the memory: create, list, verify, restore."),
    "models": CommandEntry("models", "The models: list, test, choose, download."),
    "logs": CommandEntry("logs", "Show the daemon's log."),
    "open": CommandEntry("paths", "Show where the files are."),
    "service": CommandEntry("service", "Keep it awake with systemd or launchd."),
    "web": CommandEntry("web", "Open the conversation in a browser on this machine."),
    "completion": CommandEntry("completion", "Print a completion script for your shell."),
    "uninstall": CommandEntry("uninstall", "Remove the service; with --purge the mind too."),
}
"""In the order of `--help`; a module of `features` is imported when its command runs."""
_INTERRUPTED = 130


class LazyGroup(click.Group):
    """A group that imports a command when it is used."""

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
        """List the commands from the table, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in _COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        is_unknown = bool(args) and args[0] not in _COMMANDS and not args[0].startswith("-")
        if is_unknown and not ctx.resilient_parsing:  # So a key that completes words gives no error.
            import difflib

            near = self._find_in_groups(ctx, args[0]) or difflib.get_close_matches(args[0], _COMMANDS, n=1)
            hint = f"Did you mean {near[0]}?" if near else "For a list: reveries --help"
            raise click.UsageError(f"There is no command {args[0]!r}. {hint}")
        return super().resolve_command(ctx, args)

    def _find_in_groups(self, ctx: click.Context, name: str) -> list[str]:
        """Return how the commands called `name` in a group are run: "reveries memory search"."""
        commands = {group: self.get_command(ctx, group) for group in _COMMANDS}
        groups = [
            group
            for group, command in commands.items()
            if isinstance(command, click.Group) and name in command.commands
        ]
        return [f"reveries {group} {name}" for group in groups]


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="reveries %(version)s")
@click.option("--plain", "is_plain", is_flag=True, help="Show the conversation line by line, for screen readers.")
@click.pass_context
def cli(ctx: click.Context, is_plain: bool) -> None:
    """A mind that stays awake on your machine.

    Without a command, this opens the conversation. Closing it does not stop the mind; `reveries sleep` does.
    """
    if os.environ.get("NO_COLOR"):
        ctx.color = False
    if ctx.invoked_subcommand is None:
        _open_conversation(is_plain=is_plain)


def _open_conversation(*, is_plain: bool) -> None:
    """Open the conversation: the terminal interface, or line by line. Raises AsleepError if the mind is asleep."""
    import gc

    from reveries.client.features.wake import probe_daemon
    from reveries.config import find_home, load_settings
    from reveries.errors import AsleepError, UsageError

    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "The conversation needs a terminal.", advice='Without one: reveries say "Good morning", or reveries --help'
        )
    home = find_home()
    home.check()
    if probe_daemon(home) is None:
        raise AsleepError("The mind is asleep.", advice="Wake it: reveries wake")
    settings = load_settings(home.config).client
    if is_plain or settings.plain or os.environ.get("TERM") == "dumb":
        from reveries.client.plain_chat import run_plain_chat
        from reveries.clock import SystemClock

        run_plain_chat(home, SystemClock())
        return
    from reveries.client.tui.textual_switches import remove_textual_switches

    remove_textual_switches(os.environ)
    gc.disable()  # Until the first screen is drawn; the application enables it again.
    from reveries.client.own_command import own_command
    from reveries.client.render import say
    from reveries.client.tui.app import ReveriesApp

    app = ReveriesApp(home, settings=settings)
    app.run()
    if app.crash is not None:
        raise app.crash
    if app.ended_by is not None:
        raise SystemExit(128 + app.ended_by)
    say(f"You left, and the mind stays awake. To return: {own_command()}", "dim")


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and end the process with its exit code."""
    protect_process()
    spell_missing_characters()
    code = run(arguments)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of our output has closed it; Python must not report that again when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def run(arguments: list[str] | None = None) -> int:
    """Run the command line, and return its exit code. Never raises, never prints a traceback."""
    try:
        outcome = cli.main(arguments, prog_name="reveries", standalone_mode=False)
        return outcome if isinstance(outcome, int) else 0
    except (KeyboardInterrupt, click.Abort):
        return _INTERRUPTED
    except click.exceptions.Exit as end:
        return int(end.exit_code)
    except click.ClickException as error:
        return _print_message(_usage_message(error), error.exit_code)
    except ReveriesError as error:
        from reveries.api_keys import load_home_secrets
        from reveries.config import find_home
        from reveries.redaction import list_spellings, redact

        return _print_message(redact(str(error), list_spellings(load_home_secrets(find_home()))), error.exit_code)
    except BaseException as error:  # noqa: BLE001 - the boundary: the user gets a message, the log the details
        from reveries.config import find_home

        return _report_crash(error, find_home())


def _usage_message(error: click.ClickException) -> str:
    sentence = error.format_message().rstrip(".")
    path = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx is not None else "reveries"
    return sentence if sentence.endswith("--help") or sentence.endswith("?") else f"{sentence}. See: {path} --help"


def _print_message(sentence: str, code: int) -> int:
    from reveries.safe_text import plain

    _write_text(sys.stderr, f"reveries: {plain(sentence)}\n")
    return code


def _write_text(stream: IO[str], text: str) -> None:
    """Write `text`, with escapes for what the terminal's encoding cannot represent."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()
    except OSError:
        return


def _report_crash(error: BaseException, home: "Home") -> int:
    import asyncio

    if isinstance(error, asyncio.CancelledError):
        return _INTERRUPTED
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 1
    from reveries.client.crash_log import log_crash

    return _print_message(log_crash(error, home), 1)
