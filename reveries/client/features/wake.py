"""`reveries wake`."""

import asyncio
import contextlib
import os
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

from reveries import __version__
from reveries.client.connection import connect
from reveries.client.features.sleep import GONE_SECONDS, put_to_sleep, wait_until_free
from reveries.client.render import is_terminal, say
from reveries.config import Home, find_home, load_settings
from reveries.crash_history import CRASHES_UNTIL_SAFE, crashes_lately
from reveries.errors import (
    AlreadyAwakeError,
    AsleepError,
    ConfigError,
    HomeError,
    OtherVersionError,
    ProtocolError,
    ReveriesError,
)
from reveries.own_files import open_own
from reveries.protocol import Welcome
from reveries.safe_text import plain

if TYPE_CHECKING:
    from collections.abc import Sequence


@click.command("wake", short_help="Wake the mind, and return when it answers.")
@click.option("--config", type=click.Path(path_type=Path), default=None, help="Another settings file than the home's.")
@click.option("--foreground", is_flag=True, help="Stay in this terminal (for systemd and launchd).")
@click.option("--safe", is_flag=True, help="Safe mode: look, search, export, back up; nothing else.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(config: Path | None, foreground: bool, safe: bool, as_json: bool) -> int:
    """Wake the mind, and return when it answers. It stays awake when the terminal is closed. After an upgrade one that
    is awake falls asleep first, and wakes as what is installed.

    With --safe even where the settings are broken, or where it crashes while it wakes; after five crashes in ten
    minutes it wakes so by itself."""
    from reveries.client.json_answers import Woken
    from reveries.client.render import say, write_struct

    plan = prepare(config, is_safe=safe)
    outcome = wake_what_is_installed(plan) if not foreground else run_in_foreground(plan)
    if isinstance(outcome, FailedWake):
        say(outcome.sentence, err=True)
        return outcome.exit_code
    why = _safe_because()
    # One that was awake has the keys of where it was woken.
    worries = () if outcome.was_awake else plan.worries
    if as_json:
        write_struct(Woken(outcome.pid, outcome.mind, outcome.was_awake, why, list(worries)))
    else:
        _show_awake(outcome, why, worries, wanted_safe=safe)
    return 0


def _show_awake(awake: "Awake", why: str, worries: "Sequence[str]", *, wanted_safe: bool) -> None:
    from reveries.client.render import Part, line, paragraph, say, show

    if awake.was_awake:
        how = "in safe mode" if why else "in full; for safe mode: reveries sleep, then reveries wake --safe"
        say(f"{awake.mind} is already awake (pid {awake.pid}){f', {how}' if why or wanted_safe else ''}.")
    else:
        show([line(Part("● ", "good"), Part(f"{awake.mind} is awake", "strong"), Part(f" (pid {awake.pid})", "dim"))])
    for worry in worries:
        show(paragraph(worry, indent=2, style="warn"))
    if why:
        show(paragraph(why, indent=2, style="warn"))
    elif not awake.was_awake:
        say("  Talk to it: reveries", "dim")


def _safe_because() -> str:
    """Why it is in safe mode; empty when it is not, or does not say."""
    from reveries import protocol
    from reveries.client.sync_call import ask
    from reveries.errors import ReveriesError
    from reveries.safe_text import one_line

    try:
        status = ask(protocol.AskStatus, protocol.Status)
    except ReveriesError:
        return ""
    return one_line(status.problems[0], 1000) if status.state == protocol.SAFE_MODE and status.problems else ""


WAKE_SECONDS: Final = 60.0
_LOOK_SECONDS = 0.05
_GREET_SECONDS = 2.0
_LOG_LIMIT_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class WakePlan:
    """What is to be started, and where it will live."""

    home: Home
    command: tuple[str, ...]
    wake_seconds: float = WAKE_SECONDS
    is_safe: bool = False
    """It is to wake in safe mode."""
    worries: tuple[str, ...] = ()
    """What keeps none from waking and will be missed, each with what to do: a chosen provider without a key."""


@dataclass(frozen=True, slots=True)
class Awake:
    """A mind answers."""

    pid: int
    mind: str
    was_awake: bool
    reveries: str = __version__
    """The version that runs."""


@dataclass(frozen=True, slots=True)
class FailedWake:
    """It could not wake: what it wrote, and what it ended with."""

    sentence: str
    exit_code: int


def prepare(config: Path | None, *, is_safe: bool = False) -> WakePlan:
    """Check home and settings; for safe mode the home alone. Raises HomeError or ConfigError, before anything is
    started or written."""
    home = find_home()
    home.check()
    if config is not None and not config.is_file():
        raise ConfigError(f"There is no settings file {config}.", advice="Leave --config out for the home's own.")
    worries = () if is_safe else _require_settings(config or home.config)
    chosen = ("--config", str(config.absolute())) if config is not None else ()
    safe = ("--safe",) if is_safe else ()
    return WakePlan(home, (sys.executable, "-m", "reveries.daemon", *chosen, *safe), is_safe=is_safe, worries=worries)


def _require_settings(file: Path) -> tuple[str, ...]:
    """The worries about them. Raises ConfigError where they are wrong."""
    from reveries.client.checkup.settings_check import check_keys

    try:
        settings = load_settings(file)
    except ConfigError as error:
        offer = "To look at what it knows meanwhile: reveries wake --safe"
        raise ConfigError(error.message, advice=f"{error.advice} {offer}") from error
    return tuple(f"{finding.sentence} {finding.advice}".strip() for finding in check_keys(settings.llm))


def wake(plan: WakePlan) -> Awake | FailedWake:
    """Start the daemon unless one answers. Returns when it answers, or when it is clear that it will not."""
    if (welcome := probe(plan.home)) is not None:
        return Awake(welcome.pid, plain(welcome.mind), was_awake=True, reveries=plain(welcome.reveries))
    plan.home.create()
    log = plan.home.logs / "daemon.out"
    child, begins_at = _start_daemon(plan, log)
    with _note_progress("waking"):
        return _wait_until_awake(plan, child, log, begins_at)


def run_in_foreground(plan: WakePlan) -> Awake:
    """Become the daemon, unless one answers."""
    if (welcome := probe(plan.home)) is not None:
        return Awake(welcome.pid, plain(welcome.mind), was_awake=True)
    plan.home.create()
    os.chdir(_package_parent())
    os.execv(plan.command[0], plan.command)


def probe(home: Home) -> Welcome | None:
    """Who answers on the socket; None if nobody does, or not yet. Raises ProtocolError for another version."""

    async def greeted() -> Welcome:
        async with connect(home, client="wake", seconds=_GREET_SECONDS) as mind:
            return mind.welcome

    try:
        return asyncio.run(greeted())
    except AsleepError:
        return None
    except ProtocolError as error:
        if isinstance(error.__cause__, TimeoutError | asyncio.IncompleteReadError | OSError):
            return None
        raise


def _start_daemon(plan: WakePlan, log: Path) -> "tuple[subprocess.Popen[bytes], int]":
    """The child, and where in the log its own words begin."""
    flags = os.O_APPEND
    if log.exists() and log.stat().st_size > _LOG_LIMIT_BYTES:
        flags |= os.O_TRUNC
    try:
        output = open_own(log, flags)
    except OSError as error:
        raise HomeError(
            f"The log {log} cannot be written: {error.strerror}.", advice="Look at it, and move it away."
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
        if plan.home.socket.exists() and (welcome := probe(plan.home)) is not None:
            # It lives on without us: Popen must not warn that nobody waited for it.
            child.returncode = child.poll() if child.poll() is not None else 0
            return Awake(welcome.pid, plain(welcome.mind), was_awake=welcome.pid != child.pid)
        code = child.poll()
        if code not in (None, AlreadyAwakeError.exit_code):
            return _failed_wake(plan, code or 0, log, begins_at)
        # Exit code 75: somebody else is waking this home at the same moment, and will answer.
        time.sleep(_LOOK_SECONDS)
    return _too_slow(plan, child, log, begins_at)


def _failed_wake(plan: WakePlan, code: int, log: Path, begins_at: int) -> FailedWake:
    said = _last_sentence(log, begins_at)
    how = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
    sentence = said or f"reveries: The mind {how} while it was waking. What it wrote: {log}"
    return FailedWake(f"{sentence} {_of_crashes(plan)}".strip(), code if code > 0 else 1)


def _of_crashes(plan: WakePlan) -> str:
    """What helps where it crashes while it wakes; empty where it said why it cannot."""
    crashes = crashes_lately(plan.home, time.time())
    if not crashes or plan.is_safe:
        return ""
    times = "once" if crashes == 1 else f"{crashes} times"
    more = f"After {CRASHES_UNTIL_SAFE} it wakes so by itself."
    return f"It crashed {times} lately while it woke. To look at what it knows: reveries wake --safe. {more}"


def _too_slow(plan: WakePlan, child: "subprocess.Popen[bytes]", log: Path, begins_at: int) -> FailedWake:
    if child.poll() == AlreadyAwakeError.exit_code:
        said = _last_sentence(log, begins_at)
        sentence = said or "reveries: Another daemon holds this home and does not answer. Look at: " + str(log)
        return FailedWake(sentence, AlreadyAwakeError.exit_code)
    child.returncode = 0
    seconds = f"{plan.wake_seconds:g} s"
    return FailedWake(
        f"reveries: The mind did not answer within {seconds} (pid {child.pid}); it may still be waking. "
        f"See: reveries status, or what it writes: {log}",
        1,
    )


def _last_sentence(log: Path, begins_at: int) -> str:
    """From the last line that begins with "reveries: " on, of what the child wrote; empty if there is none."""
    try:
        with log.open("rb") as file:
            file.seek(begins_at)
            rows = plain(file.read().decode("utf-8", "replace")).splitlines()
    except OSError:
        return ""
    starts = [place for place, row in enumerate(rows) if row.startswith("reveries: ")]
    return "\n".join(rows[starts[-1] :]).strip() if starts else ""


def _package_parent() -> Path:
    """The folder that holds the package. `-m` looks for modules in the working folder first: let that be ours."""
    return Path(__file__).parents[2]


@contextmanager
def _note_progress(what: str) -> Iterator[None]:
    """A spinner on a terminal."""
    if not is_terminal(err=True):
        yield
        return
    from rich.console import Console

    with Console(stderr=True, markup=False).status(f"{what}…", spinner="dots"):
        yield


def wake_what_is_installed(plan: WakePlan) -> Awake | FailedWake:
    """As `wake`; what answers afterwards is of this version. Raises ReveriesError when the other one does not end."""
    try:
        outcome = wake(plan)
    except OtherVersionError as error:
        say(f"{error.message} It falls asleep and wakes as {__version__}.", "warn", err=True)
        _end_by_signal(plan.home.lock)
    else:
        if isinstance(outcome, FailedWake) or not outcome.was_awake or outcome.reveries == __version__:
            return outcome
        told = f"{outcome.mind} runs Reveries {outcome.reveries}, and {__version__} is installed."
        say(f"{told} It falls asleep and wakes anew.", "warn", err=True)
        _end_politely(plan.home)
    if not wait_until_free(plan.home.lock):
        raise ReveriesError(
            f"The daemon of the other version has not ended within {GONE_SECONDS:g} s.",
            advice="See what is wrong: reveries doctor",
        )
    return wake(plan)


def _end_politely(home: Home) -> None:
    """With a last sleep and a backup, as `reveries sleep`."""

    async def end() -> None:
        async with connect(home) as mind:
            await put_to_sleep(mind)

    with contextlib.suppress(AsleepError):
        asyncio.run(end())


def _end_by_signal(lock: Path) -> None:
    """One that we cannot talk to: the signal on which it stores everything and ends. Only while it holds the lock."""
    from reveries.client.checkup.daemon_check import lock_is_held

    with contextlib.suppress(OSError, ValueError):
        holder = int(lock.read_text(encoding="ascii"))
        if lock_is_held(lock) and holder > 1:
            os.kill(holder, signal.SIGTERM)
