"""A3: the power goes at any moment, and of what the disk had not finished anything may be there or not."""

import random
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.durability.cuts import Cuts, in_memory, record, try_cuts
from tests.durability.mind import ROOT
from tests.durability.power import Disk
from tests.durability.recorded import Created, Cut, Refused, Removed, Renamed, Synced, Written, events
from tests.durability.seeded import seeded

NORMAL = (
    ("db/connecting.py", '"synchronous=FULL"', '"synchronous=NORMAL"'),
    ("db/connecting.py", "fetchone()[0] != 2", "fetchone()[0] != 1"),
)
"""The daemon without its syncs at every commit."""
_FIRST_CHANGES = 60
"""Of the disk, from when there is nothing to when there are tables."""


@pytest.fixture
def folder() -> Iterator[Path]:
    # Not tmp_path: a socket's path may have about a hundred bytes.
    with tempfile.TemporaryDirectory(prefix="rvp") as name:
        yield Path(name)


@pytest.fixture
def states() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="rvp", dir=in_memory()) as name:
        yield Path(name)


async def cut(folder: Path, states: Path, count: int, package: Path = ROOT) -> Cuts:
    return await try_cuts(await record(folder, (5.0, 6.0), package), count, seed=7, folder=states)


@pytest.mark.system
@pytest.mark.requirement("A3", "A9")
async def test_two_hundred_power_cuts_lose_nothing_that_was_acknowledged(folder: Path, states: Path) -> None:
    """Ten thousand: make soak PART=power."""
    seen = await cut(folder, states, 200)
    assert seen.wrong == []
    assert (seen.states, seen.lost, seen.corrupt) == (200, 0, 0)
    assert len(seen.by_way) == 5


@pytest.mark.system
@pytest.mark.requirement("A3")
@pytest.mark.parametrize("cuts", [120, pytest.param(600, marks=pytest.mark.long)])
async def test_no_cut_in_the_first_moments_of_a_memory_keeps_it_from_waking(
    folder: Path, states: Path, cuts: int
) -> None:
    """Of all the moments of a life few are these: they are tried by themselves."""
    recording = await record(folder, (1.0,))
    first = replace(recording, happened=recording.happened[:_FIRST_CHANGES])
    seen = await try_cuts(first, cuts, seed=7, folder=states)
    assert seen.wrong == []
    assert seen.empty < seen.states


@pytest.mark.system
@pytest.mark.requirement("A3", "H4")
async def test_without_a_sync_at_every_commit_the_same_cuts_lose_much(folder: Path, states: Path) -> None:
    """The control: what cannot fail shows nothing."""
    (folder / "p").mkdir()
    seen = await cut(folder, states, 40, seeded(folder / "p", *NORMAL))
    assert seen.lost > 12


# --- the simulated disk ----------------------------------------------------------------------------------------------


def disk_after(*happened: object) -> Disk:
    disk = Disk()
    for event in happened:
        disk.happen(event)  # type: ignore[arg-type]
    return disk


FILE = (Created("memory.db"), Written("memory.db", 0, b"old"), Synced("memory.db"), Synced(""))


def test_what_was_synced_is_there_and_what_was_not_may_be_gone() -> None:
    disk = disk_after(*FILE, Written("memory.db", 0, b"new"))
    assert disk.left("nothing", random.Random(0)) == {"memory.db": b"old"}
    kept = {disk.left("some", random.Random(seed))["memory.db"] for seed in range(20)}
    assert kept == {b"old", b"new"}


def test_a_write_can_be_torn_between_its_sectors() -> None:
    disk = disk_after(*FILE, Written("memory.db", 0, b"n" * 1024))
    kept = {disk.left("torn 512", random.Random(seed))["memory.db"] for seed in range(60)}
    assert b"n" * 512 in kept
    assert b"old" + bytes(509) + b"n" * 512 in kept


def test_a_name_is_there_when_its_folder_was_synced() -> None:
    disk = disk_after(Created("backups/a"), Written("backups/a", 0, b"x"), Synced("backups/a"))
    assert disk.left("nothing", random.Random(0)) == {}
    disk.happen(Synced(""))
    assert disk.left("nothing", random.Random(0)) == {}
    disk.happen(Synced("backups"))
    assert disk.left("nothing", random.Random(0)) == {"backups/a": b"x"}


def test_a_name_that_is_taken_over_is_the_old_file_or_the_new_one() -> None:
    new = (Created("new"), Written("new", 0, b"new"), Synced("new"), Renamed("new", "memory.db"))
    disk = disk_after(*FILE, *new)
    assert disk.left("nothing", random.Random(0)) == {"memory.db": b"old"}
    kept = {disk.left("some", random.Random(seed))["memory.db"] for seed in range(20)}
    assert kept == {b"old", b"new"}
    disk.happen(Synced(""))
    assert disk.left("nothing", random.Random(0)) == {"memory.db": b"new"}


def test_a_removal_and_a_cut_wait_for_the_disk_too() -> None:
    disk = disk_after(*FILE, Cut("memory.db", 1), Removed("memory.db"))
    kept = {disk.left("some", random.Random(seed)).get("memory.db") for seed in range(40)}
    assert kept == {b"old", b"o", None}


def test_a_log_of_calls_is_read_with_calls_that_another_thread_interrupted(tmp_path: Path) -> None:
    def hexed(text: str) -> str:
        return "".join(f"\\x{code:02x}" for code in text.encode())

    file = hexed("/h/memory.db")
    log = tmp_path / "calls.log"
    log.write_text(
        f'7  openat(AT_FDCWD<{hexed("/x")}>, "{file}", O_RDWR|O_CREAT, 0600) = 3<{file}>\n'
        f'8  pwrite64(3<{file}>, "{hexed("ab")}", 2, 4 <unfinished ...>\n'
        f"7  fdatasync(3<{file}>) = -1 EIO (Input/output error)\n"
        f"8  <... pwrite64 resumed>) = 2\n"
        f"7  fdatasync(3<{file}>) = 0\n"
        f"7  ftruncate(3<{file}>, 1) = 0\n"
    )
    assert list(events([log], Path("/h"))) == [
        Created("memory.db"),
        Refused("memory.db", "fdatasync", 0.0),
        Written("memory.db", 4, b"ab"),
        Synced("memory.db"),
        Cut("memory.db", 1),
    ]
