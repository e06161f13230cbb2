"""What a daemon did to its disk, and what it told its clients, in order: read from a log of its system calls.

The log is strace's, with `-f -yy -xx`: every string is in hexadecimal, and every descriptor is shown with its path.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from reveries.protocol import Frame, decode_frame

TRACED = (
    "open,openat,creat,write,pwrite64,fsync,fdatasync,ftruncate,"
    "rename,renameat,renameat2,unlink,unlinkat,sendto,sendmsg"
)
_BYTE = re.compile(r"\\x([0-9a-f]{2})")
_CALL = re.compile(r"^(?P<pid>\d+) +(?P<at>[\d.]*) *(?P<name>\w+)\((?P<arguments>.*)\) += (?P<result>-?\d+)")
_BEGUN = re.compile(r"^(?P<pid>\d+) +(?P<at>[\d.]*) *(?P<name>\w+)\((?P<arguments>.*) <unfinished \.\.\.>$")
_RESUMED = re.compile(
    r"^(?P<pid>\d+) +(?P<at>[\d.]*) *<\.\.\. (?P<name>\w+) resumed>(?P<arguments>.*)\) += (?P<result>-?\d+)"
)
_DESCRIPTOR = re.compile(r"^(\d+)<([^>]*)>")
_STRING = re.compile(r'"((?:\\x[0-9a-f]{2})*)"(\.\.\.)?')
_TEMPORARY = ("-shm",)


@dataclass(frozen=True, slots=True)
class Written:
    """Bytes that a file was given, not on the disk yet."""

    path: str
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Cut:
    path: str
    size: int


@dataclass(frozen=True, slots=True)
class Synced:
    """A file, or a folder and with it the names in it, is on the disk as it stood when the call began."""

    path: str


@dataclass(frozen=True, slots=True)
class Created:
    path: str


@dataclass(frozen=True, slots=True)
class Renamed:
    path: str
    to: str


@dataclass(frozen=True, slots=True)
class Removed:
    path: str


@dataclass(frozen=True, slots=True)
class Told:
    """A frame that left for a client."""

    frame: Frame


@dataclass(frozen=True, slots=True)
class Refused:
    """A write or a sync that the system refused. `at`: by the clock of the machine, where the log has it."""

    path: str
    call: str
    at: float


Event = Written | Cut | Synced | Created | Renamed | Removed | Told | Refused


def events(logs: Iterable[Path], home: Path) -> Iterator[Event]:
    """What happened to the files in `home`, and what was told, in the order in which the calls returned."""
    reader = _Reader(str(home))
    for log in logs:
        for call in _calls(log):
            yield from reader.read(call)


@dataclass(frozen=True, slots=True)
class _Call:
    name: str
    arguments: str
    result: int
    at: float


def _calls(log: Path) -> Iterator[_Call]:
    """Calls that returned. One that another thread's interrupted stands where it ended."""
    begun: dict[tuple[str, str], str] = {}
    with log.open(encoding="ascii") as lines:
        for line in lines:
            if found := _CALL.match(line):
                yield _Call(found["name"], found["arguments"], int(found["result"]), float(found["at"] or 0))
            elif found := _BEGUN.match(line):
                begun[found["pid"], found["name"]] = found["arguments"]
            elif (found := _RESUMED.match(line)) and (found["pid"], found["name"]) in begun:
                whole = begun.pop((found["pid"], found["name"])) + found["arguments"]
                yield _Call(found["name"], whole, int(found["result"]), float(found["at"] or 0))


class _Reader:
    """Turns calls into events: knows where each descriptor stands, and what of a frame has left."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._known: set[str] = set()
        self._positions: dict[str, int] = {}
        self._leaving: dict[str, bytes] = {}

    def read(self, call: _Call) -> Iterable[Event]:
        name, arguments, result = call.name, call.arguments, call.result
        if result < 0:
            return self._refused(call)
        match name:
            case "open" | "openat" | "creat":
                return self._open(arguments, result)
            case "rename" | "renameat" | "renameat2":
                return self._rename(*_strings(arguments))
            case "unlink" | "unlinkat":
                return self._unlink(*_strings(arguments))
            case "sendto" | "sendmsg":
                return self._send(arguments, result)
            case _:
                return self._change(name, arguments, result)

    def _refused(self, call: _Call) -> Iterator[Event]:
        found = _DESCRIPTOR.match(call.arguments)
        path = self._ours(_text(found[2])) if found else None
        if path is not None:
            yield Refused(path, call.name, call.at)

    def _open(self, arguments: str, result: int) -> Iterator[Event]:
        path = self._ours(next(iter(_strings(arguments)), ""))
        if path is None:
            return
        self._positions[str(result)] = 0
        if "O_CREAT" in arguments and path not in self._known:
            self._known.add(path)
            yield Created(path)
        if "O_TRUNC" in arguments:
            yield Cut(path, 0)

    def _rename(self, old: str, new: str) -> Iterator[Event]:
        source, target = self._ours(old), self._ours(new)
        if source is not None and target is not None:
            self._known = self._known - {source} | {target}
            yield Renamed(source, target)

    def _unlink(self, name: str) -> Iterator[Event]:
        if (path := self._ours(name)) is not None:
            self._known.discard(path)
            yield Removed(path)

    def _change(self, name: str, arguments: str, result: int) -> Iterator[Event]:
        found = _DESCRIPTOR.match(arguments)
        path = self._ours(_text(found[2])) if found else None
        if found is None or path is None:
            return
        match name:
            case "fsync" | "fdatasync":
                yield Synced(path)
            case "ftruncate":
                yield Cut(path, int(arguments.rpartition(",")[2]))
            case "pwrite64":
                yield Written(path, int(arguments.rpartition(",")[2]), _data(arguments)[:result])
            case "write":
                offset = self._positions.get(found[1], 0)
                self._positions[found[1]] = offset + result
                yield Written(path, offset, _data(arguments)[:result])

    def _send(self, arguments: str, result: int) -> Iterator[Event]:
        """To a client: no other unix socket here has a path. Frames may leave in pieces."""
        which, _, rest = arguments.partition("]>")
        if "<UNIX-STREAM:" not in which or ',"' not in which:
            return
        waiting = self._leaving.get(which, b"") + _data(rest)[:result]
        while len(waiting) >= 4 and len(waiting) >= 4 + (length := int.from_bytes(waiting[:4], "big")):
            body, waiting = waiting[4 : 4 + length], waiting[4 + length :]
            yield Told(decode_frame(body))
        self._leaving[which] = waiting

    def _ours(self, path: str) -> str | None:
        """Relative to the home, for what is to outlive a power cut."""
        if not path.startswith(self._home):
            return None
        inside = path[len(self._home) :].lstrip("/")
        is_kept = inside in ("", "backups") or inside.startswith(("memory.", "backups/"))
        return inside if is_kept and not inside.endswith(_TEMPORARY) else None


def _text(escaped: str) -> str:
    return bytes(int(code, 16) for code in _BYTE.findall(escaped)).decode("utf-8", "replace")


def _strings(arguments: str) -> list[str]:
    return [_text(found[1]) for found in _STRING.finditer(arguments)]


def _data(arguments: str) -> bytes:
    found = _STRING.search(arguments)
    if found is None or found[2]:
        raise ValueError("The log does not hold all that was written: raise strace's -s.")
    return bytes.fromhex(found[1].replace("\\x", ""))
