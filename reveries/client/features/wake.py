"""`reveries wake`."""

import asyncio
import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
import msgspec

from reveries import __version__, protocol
from reveries.client.answers import json_option
from reveries.client.connection import connect
from reveries.client.features.sleep import STOP_SECONDS, put_to_sleep, wait_until_free
from reveries.client.render import is_terminal, say
from reveries.config import Home, find_home, load_settings
from reveries.crash_history import CRASHES_UNTIL_SAFE, count_recent_crashes
from reveries.errors import (
    AlreadyAwakeError,
    AsleepError,
    ConfigError,
    HomeError,
    OtherVersionError,
    ProtocolError,
    ReveriesError,
)
from reveries.own_files import open_own_file
from reveries.protocol import Welcome
from reveries.safe_text import plain

if TYPE_CHECKING:
    from collections.abc import Sequence


class WakeResult(msgspec.Struct, frozen=True):
    """`was_awake`: it was already awake, and was not restarted. `safe_because`: why it is in safe mode; else empty.
    `worries`: problems that did not prevent waking, such as a missing key of the chosen provider."""

    pid: int
    mind: str
    was_awake: bool
    safe_because: str = ""
    worries: list[str] = []


@click.command("wake", short_help="Wake the mind, and return when it is ready.")
@click.option(
    "--config", type=click.Path(path_type=Path), default=None, help="Use this settings file instead of the home's."
)
@click.option("--foreground", is_flag=True, help="Run in this terminal (for systemd and launchd).")
@click.option("--safe", is_flag=True, help="Safe mode: only read, search, export and back up.")
@json_option(WakeResult)
def command(config: Path | None, foreground: bool, safe: bool, as_json: bool) -> int:
    """Wake the mind, and return when it is ready. It stays awake when the terminal is closed. After an upgrade, a
    running mind of the old version is restarted.

    --safe works even if the settings are broken, or if it crashes while waking. After five crashes in ten minutes it
    wakes in safe mode by itself."""
    from reveries.client.render import say, show_json

    plan = prepare_wake(config, is_safe=safe)
    outcome = wake_installed_version(plan) if not foreground else run_in_foreground(plan)
    if isinstance(outcome, FailedWake):
        say(outcome.sentence, err=True)
        return outcome.exit_code
    why = _safe_mode_reason()
    # A daemon that was already awake has the keys of the shell that woke it.
    worries = () if outcome.was_awake else plan.worries
    if as_json:
        show_json(WakeResult(outcome.pid, outcome.mind, outcome.was_awake, why, list(worries)))
    else:
        _show_awake(outcome, why, worries, wanted_safe=safe)
    return 0


def _show_awake(awake: "Awake", why: str, worries: "Sequence[str]", *, wanted_safe: bool) -> None:
    from reveries.client.own_command import own_command
    from reveries.client.render import Part, line, paragraph, say, show

    if awake.was_awake:
        how = "in safe mode" if why else "not in safe mode; for that: reveries sleep, then reveries wake --safe"
        say(f"{awake.mind} is already awake (pid {awake.pid}){f', {how}' if why or wanted_safe else ''}.")
    else:
        show([line(Part("● ", "good"), Part(f"{awake.mind} is awake", "strong"), Part(f" (pid {awake.pid})", "dim"))])
    for worry in worries:
        show(paragraph(worry, indent=2, style="warn"))
    if why:
        show(paragraph(why, indent=2, style="warn"))
    elif not awake.was_awake:
        say(f"  Talk to it: {own_command()}", "dim")


def _safe_mode_reason() -> str:
    """Return why the mind is in safe mode; empty if it is not, or the reason is unknown."""
    from reveries.client.sync_call import ask_mind
    from reveries.errors import ReveriesError
    from reveries.safe_text import one_line

    try:
        status = ask_mind(protocol.AskStatus, protocol.Status)
    except ReveriesError:
        return ""
    return one_line(status.problems[0], 1000) if status.state == protocol.SAFE_MODE and status.problems else ""


WAKE_SECONDS: Final = 60.0
_POLL_SECONDS = 0.05
_GREETING_SECONDS = 2.0
_LOG_LIMIT_BYTES = 1_000_000
_NO_MODULE = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")


@dataclass(frozen=True, slots=True)
class WakePlan:
    """What to start, and in which home."""

    home: Home
    command: tuple[str, ...]
    wake_seconds: float = WAKE_SECONDS
    is_safe: bool = False
    """Whether it is started in safe mode."""
    worries: tuple[str, ...] = ()
    """Problems that do not prevent waking, with advice, such as a chosen provider without a key."""


@dataclass(frozen=True, slots=True)
class Awake:
    """A daemon that answers."""

    pid: int
    mind: str
    was_awake: bool
    reveries: str = __version__
    """The version that it runs."""


@dataclass(frozen=True, slots=True)
class FailedWake:
    """A failed start: its message and exit code."""

    sentence: str
    exit_code: int


def prepare_wake(config: Path | None, *, is_safe: bool = False) -> WakePlan:
    """Check home and settings; for safe mode only the home. Raises HomeError or ConfigError before anything is started
    or written."""
    home = find_home()
    home.check()
    if config is not None and not config.is_file():
        raise ConfigError(f"There is no settings file {config}.", advice="Omit --config to use the home's own.")
    worries = () if is_safe else _check_settings(config or home.config)
    chosen = ("--config", str(config.absolute())) if config is not None else ()
    safe = ("--safe",) if is_safe else ()
    return WakePlan(home, (sys.executable, "-m", "reveries.daemon", *chosen, *safe), is_safe=is_safe, worries=worries)


def _check_settings(file: Path) -> tuple[str, ...]:
    """Return problems that do not prevent waking. Raises ConfigError if the settings are invalid."""
    from reveries.client.checkup.api_key import check_keys

    try:
        settings = load_settings(file)
    except ConfigError as error:
        offer = "To read its memory meanwhile: reveries wake --safe"
        raise ConfigError(error.message, advice=f"{error.advice} {offer}") from error
    return tuple(f"{finding.sentence} {finding.advice}".strip() for finding in check_keys(settings.llm))


def wake_mind(plan: WakePlan) -> Awake | FailedWake:
    """Start the daemon unless one answers. Return when it answers, or has failed."""
    if (welcome := probe_daemon(plan.home)) is not None:
        return Awake(welcome.pid, plain(welcome.mind), was_awake=True, reveries=plain(welcome.reveries))
    plan.home.create()
    log = plan.home.logs / "daemon.out"
    child, begins_at = _start_daemon(plan, log)
    with _show_spinner("waking"):
        return _wait_until_awake(plan, child, log, begins_at)


def run_in_foreground(plan: WakePlan) -> Awake:
    """Replace this process by the daemon, unless one answers."""
    if (welcome := probe_daemon(plan.home)) is not None:
        return Awake(welcome.pid, plain(welcome.mind), was_awake=True)
    plan.home.create()
    os.chdir(_package_parent())
    os.execv(plan.command[0], plan.command)


def probe_daemon(home: Home) -> Welcome | None:
    """Return the greeting of the daemon; None if none answers (yet). Raises ProtocolError for another version."""

    async def greet() -> Welcome:
        async with connect(home, client="wake", seconds=_GREETING_SECONDS) as mind:
            return mind.welcome

    try:
        return asyncio.run(greet())
    except AsleepError:
        return None
    except ProtocolError as error:
        if isinstance(error.__cause__, TimeoutError | asyncio.IncompleteReadError | OSError):
            return None
        raise


def _start_daemon(plan: WakePlan, log: Path) -> "tuple[subprocess.Popen[bytes], int]":
    """Start the daemon. Return the process, and the offset in the log at which its output begins."""
    flags = os.O_APPEND
    if log.exists() and log.stat().st_size > _LOG_LIMIT_BYTES:
        flags |= os.O_TRUNC
    try:
        output = open_own_file(log, flags)
    except OSError as error:
        raise HomeError(
            f"The log {log} cannot be written: {error.strerror}.", advice="Check its permissions, or move it away."
        ) from error
    try:
        begins_at = os.fstat(output).st_size
        child = subprocess.Popen(
            plan.command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            close_fds=True,
            cwd=_package_parent(),
        )
    finally:
        os.close(output)
    return child, begins_at


def _wait_until_awake(
    plan: WakePlan, child: "subprocess.Popen[bytes]", log: Path, begins_at: int
) -> Awake | FailedWake:
    deadline = time.monotonic() + plan.wake_seconds
    while time.monotonic() < deadline:
        if plan.home.socket.exists() and (welcome := probe_daemon(plan.home)) is not None:
            # The daemon outlives this process: Popen must not warn that it was not waited for.
            child.returncode = child.poll() if child.poll() is not None else 0
            return Awake(welcome.pid, plain(welcome.mind), was_awake=welcome.pid != child.pid)
        code = child.poll()
        if code not in (None, AlreadyAwakeError.exit_code):
            return _failed_wake(plan, code or 0, log, begins_at)
        # Exit code 75: another process is waking this home at the same moment, and will answer.
        time.sleep(_POLL_SECONDS)
    return _wake_timeout(plan, child, log, begins_at)


def _failed_wake(plan: WakePlan, code: int, log: Path, begins_at: int) -> FailedWake:
    if module := _missing_module(log, begins_at):
        return FailedWake(
            f"reveries: The daemon did not start: the Python package {module} is not installed. An update needs it: "
            "make wake, in the folder of Reveries, installs it and starts the mind.",
            code if code > 0 else 1,
        )
    message = _last_sentence(log, begins_at)
    how = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
    sentence = message or f"reveries: The daemon {how} while waking. Its log: {log}"
    return FailedWake(f"{sentence} {_crash_advice(plan)}".strip(), code if code > 0 else 1)


def _crash_advice(plan: WakePlan) -> str:
    """Return advice if it crashed while waking; empty if it ended with an error message."""
    crashes = count_recent_crashes(plan.home, time.time())
    if not crashes or plan.is_safe:
        return ""
    times = "once" if crashes == 1 else f"{crashes} times"
    more = f"After {CRASHES_UNTIL_SAFE} crashes this happens by itself."
    return f"It crashed {times} recently while waking. To start in safe mode: reveries wake --safe. {more}"


def _wake_timeout(plan: WakePlan, child: "subprocess.Popen[bytes]", log: Path, begins_at: int) -> FailedWake:
    if child.poll() == AlreadyAwakeError.exit_code:
        message = _last_sentence(log, begins_at)
        sentence = message or "reveries: Another daemon uses this home and does not answer. Its log: " + str(log)
        return FailedWake(sentence, AlreadyAwakeError.exit_code)
    child.returncode = 0
    seconds = f"{plan.wake_seconds:g} s"
    return FailedWake(
        f"reveries: The mind did not answer within {seconds} (pid {child.pid}); it may still be starting. "
        f"See: reveries status, or its log: {log}",
        1,
    )


def _read_output(log: Path, begins_at: int) -> list[str]:
    try:
        with log.open("rb") as file:
            file.seek(begins_at)
            return plain(file.read().decode("utf-8", "replace")).splitlines()
    except OSError:
        return []


def _missing_module(log: Path, begins_at: int) -> str:
    """Return the package whose absence ended the child; empty if that is not why it ended."""
    last = next(iter(reversed(_read_output(log, begins_at))), "")
    missing = _NO_MODULE.match(last)
    return missing.group(1) if missing and missing.group(1) != __package__.partition(".")[0] else ""


def _last_sentence(log: Path, begins_at: int) -> str:
    """Return the child's output from its last line that begins with "reveries: "; empty if there is none."""
    rows = _read_output(log, begins_at)
    starts = [place for place, row in enumerate(rows) if row.startswith("reveries: ")]
    return "\n".join(rows[starts[-1] :]).strip() if starts else ""


def _package_parent() -> Path:
    """Return the folder that contains the package. `-m` searches the working folder first, so it is started there."""
    return Path(__file__).parents[2]


@contextmanager
def _show_spinner(what: str) -> Iterator[None]:
    """Show a spinner if stderr is a terminal."""
    if not is_terminal(err=True):
        yield
        return
    from rich.console import Console

    with Console(stderr=True, markup=False).status(f"{what}…", spinner="dots"):
        yield


def wake_installed_version(plan: WakePlan) -> Awake | FailedWake:
    """Wake the mind, restarting a daemon of another version. Raises ReveriesError if that one does not end."""
    try:
        outcome = wake_mind(plan)
    except OtherVersionError as error:
        say(f"{error.message} It is restarted with {__version__}.", "warn", err=True)
        _stop_by_signal(plan.home.lock)
    else:
        if isinstance(outcome, FailedWake) or not outcome.was_awake or outcome.reveries == __version__:
            return outcome
        versions = f"{outcome.mind} runs Reveries {outcome.reveries}, and {__version__} is installed."
        say(f"{versions} It is restarted.", "warn", err=True)
        _stop_gracefully(plan.home)
    if not wait_until_free(plan.home.lock):
        raise ReveriesError(
            f"The daemon of the other version did not end within {STOP_SECONDS:g} s.",
            advice="To find the problem: reveries doctor",
        )
    return wake_mind(plan)


def _stop_gracefully(home: Home) -> None:
    """Stop the daemon as `reveries sleep` does, with a last sleep and a backup."""

    async def end() -> None:
        async with connect(home) as mind:
            await put_to_sleep(mind)

    with contextlib.suppress(AsleepError):
        asyncio.run(end())


def _stop_by_signal(lock: Path) -> None:
    """Stop a daemon of another protocol with SIGTERM, on which it saves everything. Only while it holds the lock."""
    from reveries.client.checkup.place import lock_is_held

    with contextlib.suppress(OSError, ValueError):
        holder = int(lock.read_text(encoding="ascii"))
        if lock_is_held(lock) and holder > 1:
            os.kill(holder, signal.SIGTERM)
