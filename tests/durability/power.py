"""Power cuts that never happened: from what a daemon did to its disk, the states that a cut could have left.

A write is on the disk when its file was synced after it, a name when its folder was. Of what was under way when the
power went, nothing, the beginning, or any part may be there, and a write may be there in part (of its sectors of 512
bytes, or its pages of 4096).
"""

import os
import random
import struct
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import msgspec

from reveries.db.integrity.seals import Seal
from tests.durability.recorded import Created, Cut, Event, Refused, Removed, Renamed, Synced, Told, Written

WAYS = ("nothing", "beginning", "some", "torn 512", "torn 4096")
"""What is left of what was not synced."""
_PAGES_HEAD = struct.Struct("<16sIQqI")
"""What stands before the checksums of a memory's pages (reveries/db/integrity/page_sums.py)."""


@dataclass
class _File:
    """One file, whatever it is called. `waiting`: what was done to it since it was last synced."""

    durable: bytearray = field(default_factory=bytearray)
    waiting: list[tuple[int, Written | Cut]] = field(default_factory=list)


@dataclass
class Disk:
    """What is on the disk for certain, and what may be, after each event."""

    names: dict[str, _File] = field(default_factory=dict)
    """As the program sees them."""
    durable_names: dict[str, _File] = field(default_factory=dict)
    waiting_names: list[tuple[int, str, str | None, _File | None]] = field(default_factory=list)
    """(when, name, the name that it takes the place of, the file)."""
    now: int = 0

    def happen(self, event: Event) -> None:
        self.now += 1
        match event:
            case Created(path):
                self._name(path, None, _File())
            case Renamed(path, to):
                self._name(to, path, self.names.get(path))
            case Removed(path):
                self._name(path, None, None)
            case Written(path) | Cut(path):
                if (file := self.names.get(path)) is not None:
                    file.waiting.append((self.now, event))
            case Synced(path):
                self._sync(path)
            case Told() | Refused():
                pass

    def left(self, way: str, chance: random.Random) -> dict[str, bytes]:
        """The files that a cut leaves now, by name."""
        beginning = chance.randint(0, self.now) if way == "beginning" else None
        names = dict(self.durable_names)
        for when, name, old, file in self.waiting_names:
            if _stays(way, when, beginning, chance):
                if old is not None:
                    names.pop(old, None)
                if file is None:
                    names.pop(name, None)
                else:
                    names[name] = file
        return {name: _content(file, way, beginning, chance) for name, file in names.items()}

    @property
    def waiting(self) -> int:
        """How much a cut could take."""
        return len(self.waiting_names) + sum(len(file.waiting) for file in self.names.values())

    def _name(self, name: str, old: str | None, file: _File | None) -> None:
        if old is not None:
            self.names.pop(old, None)
        if file is None:
            self.names.pop(name, None)
        else:
            self.names[name] = file
        self.waiting_names.append((self.now, name, old, file))

    def _sync(self, path: str) -> None:
        if (file := self.names.get(path)) is not None:
            for _, change in file.waiting:
                _apply(file.durable, change)
            file.waiting.clear()
            return
        # A folder: the names in it.
        inside = [entry for entry in self.waiting_names if _folder(entry[1]) == path]
        for entry in inside:
            _, name, old, named = entry
            if old is not None:
                self.durable_names.pop(old, None)
            if named is None:
                self.durable_names.pop(name, None)
            else:
                self.durable_names[name] = named
            self.waiting_names.remove(entry)


@dataclass(frozen=True, slots=True)
class State:
    """One state that a cut could have left: after how many events, and in which way."""

    after: int
    way: str
    files: dict[str, bytes]
    has_old_times: bool = False
    """The time of a file may reach the disk long after what was written: seals and checksums of pages that are
    there count then, whatever became of the file."""

    def lay_down(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in self.files.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        for name in self.files if self.has_old_times else ():
            for noted in (_sealed(self.files.get(f"{name}.seal")), _summed(self.files.get(f"{name}.pages"))):
                if noted is not None and noted[0] == len(self.files[name]):
                    os.utime(folder / name, ns=(noted[1], noted[1]))


def _sealed(raw: bytes | None) -> tuple[int, int] | None:
    """Size and time that a seal tells of its file."""
    try:
        seal = msgspec.json.decode(raw or b"", type=Seal)
    except msgspec.MsgspecError:
        return None
    return seal.size, seal.mtime_ns


def _summed(raw: bytes | None) -> tuple[int, int] | None:
    """The same of the checksums of pages."""
    if raw is None or len(raw) < _PAGES_HEAD.size:
        return None
    _, _, size, mtime_ns, _ = _PAGES_HEAD.unpack_from(raw)
    return size, mtime_ns


def cuts(recorded: Sequence[Event], count: int, seed: int) -> Iterable[State]:
    """`count` states, at random moments of the recording, in time's order."""
    chance = random.Random(seed)
    moments = Counter(chance.randint(1, len(recorded)) for _ in range(count))
    disk = Disk()
    for after, event in enumerate(recorded, start=1):
        disk.happen(event)
        for _ in range(moments[after]):
            way = chance.choice(WAYS)
            yield State(after, way, disk.left(way, chance), has_old_times=chance.random() < 0.5)


def _stays(way: str, when: int, beginning: int | None, chance: random.Random) -> bool:
    match way:
        case "nothing":
            return False
        case "beginning":
            return beginning is not None and when <= beginning
        case _:
            return chance.random() < 0.5


def _content(file: _File, way: str, beginning: int | None, chance: random.Random) -> bytes:
    left = bytearray(file.durable)
    for when, change in file.waiting:
        if not _stays(way, when, beginning, chance):
            continue
        if way.startswith("torn") and isinstance(change, Written):
            _tear(left, change, int(way.split()[1]), chance)
        else:
            _apply(left, change)
    return bytes(left)


def _tear(content: bytearray, change: Written, size: int, chance: random.Random) -> None:
    """Some of the sectors of one write."""
    start = change.offset - change.offset % size
    for sector in range(start, change.offset + len(change.data), size):
        if chance.random() < 0.5:
            begin = max(sector, change.offset)
            piece = change.data[begin - change.offset : sector + size - change.offset]
            _apply(content, Written(change.path, begin, piece))


def _apply(content: bytearray, change: Written | Cut) -> None:
    if isinstance(change, Cut):
        del content[change.size :]
        content.extend(bytes(change.size - len(content)))
        return
    end = change.offset + len(change.data)
    if len(content) < end:
        content.extend(bytes(end - len(content)))
    content[change.offset : end] = change.data


def _folder(name: str) -> str:
    parent = str(PurePosixPath(name).parent)
    return "" if parent == "." else parent
