"""A4: a write or a sync that failed is never papered over: nothing is acknowledged after it, and the daemon ends."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from reveries import protocol
from tests.durability.broken import (
    SYNC,
    WRITE,
    end_on_a_broken_disk,
    live_on_a_broken_disk,
    look_at_a_broken_file,
    told_too_early,
)
from tests.durability.cuts import in_memory
from tests.durability.mind import Zygote
from tests.durability.recorded import Event, Refused, Synced, Told, Written
from tests.rows import check_rows

_LIVES = 4
"""How soon it ends is measured again where it was slow: a machine that is busy with other tests may be why."""


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    started = Zygote.start()
    yield started
    started.close()


@pytest.mark.system
@pytest.mark.requirement("A4")
@pytest.mark.parametrize(
    ("call", "when"),
    [(SYNC, "1+"), (SYNC, "3"), (SYNC, "10"), (SYNC, "30+"), (WRITE, "5+"), (WRITE, "10"), (WRITE, "80")],
)
async def test_after_the_first_refusal_nothing_is_acknowledged_and_the_daemon_ends(
    call: str, when: str, zygote: Zygote
) -> None:
    """`make soak PART=disk` has every N."""
    took: list[float] = []
    for _ in range(_LIVES):
        # Not tmp_path: a socket's path may have about a hundred bytes.
        with tempfile.TemporaryDirectory(prefix="rvb", dir=in_memory()) as folder:
            seen = await live_on_a_broken_disk(Path(folder), call, when, zygote)
        assert seen.wrong == []
        assert seen.exit_code == 74
        took.append(seen.seconds)
        if not seen.is_slow:
            return
    pytest.fail(f"it ended after {took} s")


@pytest.mark.requirement("A4")
async def test_a_disk_that_fails_when_the_mind_was_told_to_end_already_is_told_by_the_exit_code(zygote: Zygote) -> None:
    with tempfile.TemporaryDirectory(prefix="rvb", dir=in_memory()) as folder:
        assert await end_on_a_broken_disk(Path(folder), zygote) == 74


@pytest.mark.requirement("A4", "A8")
async def test_damage_that_the_doctor_sees_while_the_mind_is_awake_is_told_and_ends_it(zygote: Zygote) -> None:
    with tempfile.TemporaryDirectory(prefix="rvb", dir=in_memory()) as folder:
        told, exit_code = await look_at_a_broken_file(Path(folder), "erasures", zygote)
    assert told.startswith("storage_damaged: The memory is damaged")
    assert "restores the newest intact backup" in told
    assert exit_code == 74


LOG = "memory.db-wal"
STORED = Told(protocol.Stored(1, "words", "turn7"))
SLEPT = Told(protocol.Consolidated(1, "run7", 1, 1, 0, 0, 0, 0.1, False, []))


@pytest.mark.requirement("H4", "A4")
@check_rows(
    ("happened", "is_too_early"),
    [
        ([Written(LOG, 0, b"..turn7.."), Synced(LOG), STORED], False),
        ([Written(LOG, 0, b"..turn7.."), STORED, Synced(LOG)], True),
        ([STORED], True),
        ([Written(LOG, 0, b"..turn7.."), Refused(LOG, "fsync", 1.0), STORED], True),
        ([Written(LOG, 0, b"..turn7.."), Refused(LOG, "fsync", 1.0), Synced(LOG), STORED], True),
        ([Written(LOG, 0, b"..turn7.."), Synced(LOG), Refused(LOG, "fsync", 1.0), STORED], False),
        ([Written(LOG, 0, b"..run7.."), Synced(LOG), SLEPT], False),
        ([Written(LOG, 0, b"..run7.."), SLEPT], True),
        ([Written("memory.snapshot", 0, b"..turn7.."), Synced("memory.snapshot"), STORED], True),
    ],
)
def test_what_is_told_before_it_is_on_the_disk_is_noticed(happened: list[Event], is_too_early: bool) -> None:
    assert bool(told_too_early(happened)) is is_too_early
