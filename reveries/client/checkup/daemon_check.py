"""Checks of the daemon from outside: its lock, its socket, its last starts, and what it reports if it answers."""

import asyncio
import contextlib
import errno
import fcntl
import json
import os
import socket
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from reveries import __version__
from reveries.client.checkup.machine import CheckupMachine
from reveries.config import Home
from reveries.errors import ConnectionLostError, OtherVersionError, ReveriesError
from reveries.protocol import Checkup, Finding, Status, make_finding
from reveries.safe_text import one_line

_ANSWER_SECONDS = 120.0
_TOO_MANY_STARTS = 5
_STARTS_SECONDS = 600.0
_LOG_TAIL_BYTES = 256 * 1024
_SLOW_LOOP_MS = 1000.0


@dataclass(frozen=True, slots=True)
class DaemonFindings:
    """`is_held`: a daemon holds the lock, so it is running; `checkup`: its own report, if it answered."""

    findings: list[Finding]
    is_running: bool = False
    checkup: Checkup | None = None


def check_daemon(home: Home, machine: CheckupMachine) -> DaemonFindings:
    """Check whether a daemon is running and reachable, and ask for its own report."""
    if home.lock.is_symlink() or (home.lock.exists() and not home.lock.is_file()):
        return DaemonFindings([make_finding("lock-not-file", f"{home.lock} is not a file.", where=str(home.lock))])
    is_running = lock_is_held(home.lock)
    findings = list(_check_socket(home, machine, is_running=is_running))
    if not is_running:
        return DaemonFindings([*findings, *_check_stopped_daemon(home, machine)])
    if any(finding.fault.startswith("socket-") and finding.fault != "socket-mode" for finding in findings):
        return DaemonFindings(findings, is_running)
    report = asyncio.run(_ask_daemon_findings(home, machine.greet_seconds))
    return DaemonFindings([*findings, *report.findings], is_running, report.checkup)


def lock_is_held(lock: Path) -> bool:
    """Whether a daemon is running: the kernel releases the lock when the process ends."""
    try:
        with lock.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def is_stale_socket(path: Path) -> bool:
    """Whether there is a socket that no process listens on."""
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            return False
    except OSError:
        return False
    return _connect_error(path) == errno.ECONNREFUSED


def _check_socket(home: Home, machine: CheckupMachine, *, is_running: bool) -> Iterator[Finding]:
    where = str(home.socket)
    try:
        socket_stat = home.socket.lstat()
    except OSError:
        if is_running:
            pid = _lock_holder(home.lock)
            yield make_finding(
                "socket-gone",
                f"Process {pid} is the daemon, but its socket {home.socket} is missing.",
                f"It may still be waking. If it stays so: kill {pid}, then: reveries wake",
                where,
            )
        return
    if not stat.S_ISSOCK(socket_stat.st_mode):
        yield make_finding("socket-not-socket", f"{home.socket} is in the way: it is not a socket.", where=where)
        return
    if socket_stat.st_uid != machine.uid:
        yield make_finding("socket-owner", f"The socket {home.socket} belongs to another user.", where=where)
    if socket_stat.st_mode & 0o077:
        mode = stat.S_IMODE(socket_stat.st_mode)
        yield make_finding("socket-mode", f"The socket {home.socket} has mode {mode:o}; it should be 600.", where=where)
    if not is_running:
        if is_stale_socket(home.socket):
            yield make_finding(
                "socket-stale", f"The socket {home.socket} was left behind by a daemon that died.", where=where
            )
        elif _connect_error(home.socket) is None:
            yield make_finding("socket-foreign", f"Another program listens on {home.socket}.", where=where)


def _check_stopped_daemon(home: Home, machine: CheckupMachine) -> Iterator[Finding]:
    yield make_finding("asleep")
    if (last := _last_start_error(home.logs)) is not None:
        yield make_finding("last-wake-failed", f"The last start failed: {last}", where=str(home.logs / "daemon.out"))
    starts = _count_starts(home.logs / "daemon.log", machine.now() - _STARTS_SECONDS)
    if starts >= _TOO_MANY_STARTS:
        sentence = f"The daemon started {starts} times in ten minutes without a regular shutdown."
        yield make_finding("crash-loop", sentence, where=str(home.logs / "daemon.log"))


async def _ask_daemon_findings(home: Home, greet_seconds: float) -> DaemonFindings:
    from reveries import protocol
    from reveries.client.connection import connect

    pid = _lock_holder(home.lock)
    try:
        async with connect(home, client="doctor", seconds=greet_seconds) as mind:
            status = await mind.ask(protocol.AskStatus, protocol.Status)
            findings = list(_check_status(status))
            try:
                checkup = await mind.ask(protocol.AskCheckup, protocol.Checkup, seconds=_ANSWER_SECONDS)
            except ConnectionLostError:
                # A daemon too old for this request closes the connection.
                checkup = None
            return DaemonFindings(findings, checkup=checkup)
    except OtherVersionError as error:
        return DaemonFindings([make_finding("other-protocol", error.message, where=str(home.socket))])
    except ReveriesError as error:
        return DaemonFindings([_not_answering_finding(home, pid, error)])


def _not_answering_finding(home: Home, pid: str, error: ReveriesError) -> Finding:
    sentence = f"The daemon (process {pid}) does not answer: {error.message}"
    advice = f"It may still be waking. If it stays so: kill {pid}, then: reveries wake"
    return make_finding("not-answering", sentence, advice, str(home.socket))


def _check_status(status: Status) -> Iterator[Finding]:
    if status.reveries != __version__:
        sentence = f"The daemon runs Reveries {status.reveries}, and {__version__} is installed."
        yield make_finding("other-version", sentence)
    for problem in status.problems:
        yield make_finding("degraded", one_line(problem, 600), "Then check again: reveries doctor")
    if status.loop_lag_p99_ms > _SLOW_LOOP_MS:
        yield make_finding(
            "loop-slow", f"One event loop step in a hundred is {status.loop_lag_p99_ms / 1000:.1f} s late or more."
        )


def _lock_holder(lock: Path) -> str:
    with contextlib.suppress(OSError):
        return one_line(lock.read_text(encoding="ascii", errors="replace"), 20) or "unknown"
    return "unknown"


def _connect_error(path: Path) -> int | None:
    """Return the errno of connecting to the socket; None on success."""
    with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(str(path))
        except OSError as error:
            return error.errno or errno.ETIMEDOUT
    return None


def _last_start_error(logs: Path) -> str | None:
    """Return the error of the last failed start, unless a daemon started since."""
    output = logs / "daemon.out"
    rows = _read_tail(output).strip().splitlines()
    if not rows or not rows[-1].startswith("reveries: "):
        return None
    awake = [happened for happened, event in _log_events(logs / "daemon.log") if event == "awake"]
    if awake and awake[-1] >= output.stat().st_mtime:
        return None
    return one_line(rows[-1].removeprefix("reveries: "), 600)


def _count_starts(log: Path, since: float) -> int:
    """Count the starts since a time that were not followed by a regular shutdown."""
    starts = 0
    for happened, event in _log_events(log):
        if happened >= since:
            starts = starts + 1 if event == "waking" else 0 if event == "closing" else starts
    return starts


def _log_events(log: Path) -> Iterator[tuple[float, str]]:
    """Yield time (unix seconds) and event of the log's last lines."""
    from datetime import datetime

    for row in _read_tail(log).splitlines():
        try:
            entry = json.loads(row)
            yield datetime.fromisoformat(entry["timestamp"]).timestamp(), str(entry["event"])
        except (ValueError, KeyError, TypeError):
            continue


def _read_tail(log: Path) -> str:
    try:
        with log.open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(0, end - _LOG_TAIL_BYTES))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""
