"""Long work on files yields to conversations (A9)."""

import os
import sys
import threading

import pytest

from reveries.db.busy_backoff import run_at_low_priority


def niceness() -> int:
    """Of this thread."""
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a thread has no niceness of its own")
@pytest.mark.requirement("A9")
def test_what_is_done_calmly_is_nicer_than_who_asks_for_it_and_nobody_else_is() -> None:
    before = niceness()
    assert run_at_low_priority(niceness) == min(19, before + 10)
    assert niceness() == before


def test_what_goes_wrong_in_it_is_heard_of() -> None:
    def fail() -> None:
        raise ValueError("the disk is gone")

    with pytest.raises(ValueError, match="the disk is gone"):
        run_at_low_priority(fail)
