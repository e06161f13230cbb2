"""What a limit of a call waits for is not waited for here: the loop's time passes while everybody rests."""

import asyncio
from collections.abc import Callable, Mapping

import pytest

from tests.fakes.idle_time_loop import IdleTimeLoop

_BY_REAL_TIME = ("test_disk.py", "test_provider_promises.py")
"""A daemon of its own, whose work this process does not see; and a clock that is turned by hand."""


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Which loop a test of this folder runs in; the name stands in its id."""
    is_real = item.path.name in _BY_REAL_TIME
    return {"real_time": asyncio.new_event_loop} if is_real else {"idle_time": IdleTimeLoop}
