"""Silences between conversations."""

from pathlib import Path

import pytest

from reveries.memory.gaps import meaning_of
from tests.fakes.clock import HandClock
from tests.memory.kit import NOW, open_memory, talk

HOUR = 3600.0


@pytest.mark.requirement("R-75", "R-76", "R-77", "R-152")
async def test_a_gap_opens_at_rest_survives_a_restart_and_ends_with_the_next_word(tmp_path: Path) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        name = await talk(memory, ("We argued about the garden.", "We did."))
        gap = await memory.rest_conversation(name)
        assert await memory.rest_conversation(name) == gap
        assert memory.open_gap == gap
    await clock.advance(48 * HOUR)
    async with open_memory(tmp_path, clock, first_id=1000) as memory:
        assert gap == memory.open_gap
        await talk(memory, ("The garden again: I bought seeds.", "Good."))
        assert not memory.open_gap
        await memory.light_sleep()
        (after,) = [one for one in memory.live.graph.episodes() if one.gap_seconds is not None]
        assert after.gap_seconds == 48 * HOUR
        assert after.gap_significance == "2 days of silence"
        assert "seeds" in after.summary


def test_a_short_silence_means_nothing() -> None:
    assert meaning_of(23 * HOUR) == ""
    assert meaning_of(25 * HOUR) == "a day of silence"
