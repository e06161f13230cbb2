"""Waking after an upgrade: a daemon of another version is put to sleep, politely, and woken as what is installed."""

import asyncio
import contextlib
import os
import signal
from pathlib import Path

from reveries import __version__
from reveries.client.commands.sleeping import GONE_SECONDS, put_to_sleep, wait_until_free
from reveries.client.connection import connect
from reveries.client.render import say
from reveries.client.waking import Awake, FailedWake, WakePlan, wake
from reveries.config import Home
from reveries.errors import AsleepError, OtherVersionError, ReveriesError


def wake_what_is_installed(plan: WakePlan) -> Awake | FailedWake:
    """As `wake`; what answers afterwards is of this version. Raises ReveriesError when the other one does not end."""
    try:
        outcome = wake(plan)
    except OtherVersionError as error:
        say(f"{error.message} It falls asleep and wakes as {__version__}.", "warn", err=True)
        _end_by_signal(plan.home.lock)
    else:
        if isinstance(outcome, FailedWake) or not outcome.was_awake or outcome.reveries == __version__:
            return outcome
        told = f"{outcome.mind} runs Reveries {outcome.reveries}, and {__version__} is installed."
        say(f"{told} It falls asleep and wakes anew.", "warn", err=True)
        _end_politely(plan.home)
    if not wait_until_free(plan.home.lock):
        raise ReveriesError(
            f"The daemon of the other version has not ended within {GONE_SECONDS:g} s.",
            advice="See what is wrong: reveries doctor",
        )
    return wake(plan)


def _end_politely(home: Home) -> None:
    """With a last sleep and a backup, as `reveries sleep`."""

    async def end() -> None:
        async with connect(home) as mind:
            await put_to_sleep(mind)

    with contextlib.suppress(AsleepError):
        asyncio.run(end())


def _end_by_signal(lock: Path) -> None:
    """One that we cannot talk to: the signal on which it stores everything and ends. Only while it holds the lock."""
    from reveries.client.checkup.daemon_check import lock_is_held

    with contextlib.suppress(OSError, ValueError):
        holder = int(lock.read_text(encoding="ascii"))
        if lock_is_held(lock) and holder > 1:
            os.kill(holder, signal.SIGTERM)
