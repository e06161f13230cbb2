"""`reveries sleep`."""

import fcntl
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from reveries.client.connection import Connection

GONE_SECONDS = 30.0
_LOOK_SECONDS = 0.05


@click.command("sleep", short_help="Put the mind to sleep, and wait until it is.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(as_json: bool) -> None:
    """Put the mind to sleep: it stops thinking, sleeps on what happened (a minute at most), and ends. Waits for it."""
    from reveries.client.json_answers import FellAsleep
    from reveries.client.render import say, write_struct
    from reveries.client.sync_call import call
    from reveries.config import find_home
    from reveries.errors import AsleepError, ReveriesError

    try:
        name = call(lambda mind: put_to_sleep(mind, as_json=as_json))
    except AsleepError:
        write_struct(FellAsleep(was_awake=False)) if as_json else say("It is asleep already.")
        return
    if not wait_until_free(find_home().lock):
        raise ReveriesError(
            f"The mind said that it sleeps, but its process has not ended within {GONE_SECONDS:g} s.",
            advice="See what it does: reveries status",
        )
    write_struct(FellAsleep(was_awake=True)) if as_json else say(f"{name} is asleep. Wake it: reveries wake")


async def put_to_sleep(mind: "Connection", *, as_json: bool = False) -> str:
    """Ask it, show how far it is, and wait until it has closed the socket. Its name."""
    import asyncio

    from reveries import protocol
    from reveries.client.progress import progress_bar
    from reveries.errors import ConnectionLostError
    from reveries.safe_text import one_line

    with progress_bar("falling asleep", as_json=as_json) as moved:
        has_agreed = False
        try:
            async for frame in mind.request(protocol.Sleep(mind.new_id())):
                has_agreed = True
                if isinstance(frame, protocol.Progress):
                    moved(frame.what, frame.done, frame.total)
        except ConnectionLostError:
            # It may close before its Ok has left; whether it is gone is seen at the lock.
            if not has_agreed:
                raise
        try:
            async with asyncio.timeout(GONE_SECONDS):
                await mind.wait_closed()
        except TimeoutError:
            pass
    return one_line(mind.welcome.mind, 60)


def wait_until_free(lock: Path) -> bool:
    """Whether the kernel's lock on `lock` became free in time: then the process is gone."""
    deadline = time.monotonic() + GONE_SECONDS
    while _is_held(lock):
        if time.monotonic() > deadline:
            return False
        time.sleep(_LOOK_SECONDS)
    return True


def _is_held(lock: Path) -> bool:
    try:
        with lock.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
