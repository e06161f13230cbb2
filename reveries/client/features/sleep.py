"""`reveries sleep`."""

import fcntl
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from reveries import protocol
from reveries.client.answers import json_option

if TYPE_CHECKING:
    from reveries.client.connection import Connection


class SleepResult(msgspec.Struct, frozen=True):
    """`was_awake`: false if it was already asleep."""

    was_awake: bool


STOP_SECONDS = 30.0
_POLL_SECONDS = 0.05


@click.command("sleep", short_help="Put the mind to sleep, and wait until it has stopped.")
@json_option(SleepResult, takes_long=True)
def command(as_json: bool) -> None:
    """Put the mind to sleep: it stops thinking, processes what happened (at most a minute), and ends."""
    from reveries.client.render import say, show_json
    from reveries.client.sync_call import call_mind
    from reveries.config import find_home
    from reveries.errors import AsleepError, ReveriesError

    try:
        name = call_mind(lambda mind: put_to_sleep(mind, as_json=as_json))
    except AsleepError:
        show_json(SleepResult(was_awake=False)) if as_json else say("It is already asleep.")
        return
    if not wait_until_free(find_home().lock):
        raise ReveriesError(
            f"The mind stopped, but its process did not end within {STOP_SECONDS:g} s.",
            advice="See what it is doing: reveries status",
        )
    show_json(SleepResult(was_awake=True)) if as_json else say(f"{name} is asleep. Wake it: reveries wake")


async def put_to_sleep(mind: "Connection", *, as_json: bool = False) -> str:
    """Ask the daemon to stop, show its progress, and wait until it has closed the socket. Return the mind's name."""
    import asyncio

    from reveries.client.progress import progress_bar
    from reveries.errors import ConnectionLostError
    from reveries.safe_text import one_line

    with progress_bar("falling asleep", as_json=as_json) as on_progress:
        has_agreed = False
        try:
            async for frame in mind.start(protocol.Sleep, protocol.Ok):
                has_agreed = True
                if isinstance(frame, protocol.Progress):
                    on_progress(frame.what, frame.done, frame.total)
        except ConnectionLostError:
            # It may close before its Ok is sent; the lock tells whether the process has ended.
            if not has_agreed:
                raise
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await mind.wait_closed()
        except TimeoutError:
            pass
    return one_line(mind.welcome.mind, 60)


def wait_until_free(lock: Path) -> bool:
    """Wait until the kernel's lock on `lock` is free, that is, the process has ended. Whether it did in time."""
    deadline = time.monotonic() + STOP_SECONDS
    while _is_locked(lock):
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def _is_locked(lock: Path) -> bool:
    try:
        with lock.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
