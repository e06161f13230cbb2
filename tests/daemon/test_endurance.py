"""A day and a night of a whole mind: at the end it uses no more resources than its memory needs."""

import pytest

from reveries.config import Home, load_settings
from tests.daemon.endurance import MEGABYTE, endure


@pytest.mark.system  # For its length alone.
@pytest.mark.requirement("E7")
async def test_a_day_of_talk_and_thoughts_leaves_no_task_no_file_and_no_thread_behind(home: Home) -> None:
    """The full run has thirty days with fifty turns each: make soak PART=endurance."""
    seen = await endure(home, load_settings(None), days=1, turns_a_day=6)
    first, last = seen.samples[8], seen.samples[-1]
    assert seen.unhandled == []
    assert (last.descriptors, last.tasks) == (first.descriptors, first.tasks)
    assert last.threads <= first.threads + 1
    assert max(sample.log for sample in seen.samples) < 64 * MEGABYTE
    assert seen.thoughts > 2
    assert seen.episodes > 2
