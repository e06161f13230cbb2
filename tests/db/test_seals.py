"""A file that changed while no program had it open is noticed; one that a program wrote to is not reported."""

import os
from pathlib import Path

import pytest

from reveries.db.integrity.seals import is_broken, seal, unseal

_MIB = 2**20


def _flip(file: Path, at: int) -> None:
    """As a disk does: neither the size nor the time changes."""
    state = file.stat()
    with file.open("r+b") as opened:
        opened.seek(at)
        (before,) = opened.read(1)
        opened.seek(at)
        opened.write(bytes([before ^ 16]))
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))


@pytest.mark.requirement("A8")
@pytest.mark.parametrize("at", [0, 8 * _MIB - 1, 8 * _MIB, 16 * _MIB, 17 * _MIB + 4])
def test_one_flipped_bit_breaks_the_seal_in_whichever_piece_of_the_file_it_is(tmp_path: Path, at: int) -> None:
    file = tmp_path / "memory.db"
    file.write_bytes(os.urandom(17 * _MIB + 5))
    seal(file)
    assert not is_broken(file)
    _flip(file, at)
    assert is_broken(file)


@pytest.mark.requirement("A8")
def test_two_pieces_that_changed_places_break_the_seal(tmp_path: Path) -> None:
    file = tmp_path / "memory.db"
    first, second = os.urandom(8 * _MIB), os.urandom(8 * _MIB)
    file.write_bytes(first + second)
    seal(file)
    state = file.stat()
    file.write_bytes(second + first)
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert is_broken(file)


def test_an_empty_file_can_be_sealed(tmp_path: Path) -> None:
    file = tmp_path / "memory.db"
    file.touch()
    seal(file)
    assert not is_broken(file)


@pytest.mark.parametrize("beside", [b"", b"{}", b'{"size":3,"mtime_ns":1,"digest":"AAAA"}', b"\xff"])
def test_a_seal_that_cannot_be_read_is_none(tmp_path: Path, beside: bytes) -> None:
    file = tmp_path / "memory.db"
    file.write_bytes(b"abc")
    file.with_name("memory.db.seal").write_bytes(beside)
    assert not is_broken(file)


def test_a_file_that_was_written_to_has_no_seal_that_counts(tmp_path: Path) -> None:
    file = tmp_path / "memory.db"
    file.write_bytes(b"abc")
    seal(file)
    file.write_bytes(b"abd and more")
    assert not is_broken(file)
    unseal(file)
    assert not file.with_name("memory.db.seal").exists()
