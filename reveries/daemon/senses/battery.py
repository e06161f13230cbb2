"""Detects battery power, from the kernel on Linux and from `pmset` on macOS. Without a battery it is False."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from reveries.api_keys import remove_secrets
from reveries.clock import Clock
from reveries.notifier import Notifier

POLL_SECONDS = 60.0
_SUPPLIES: Final = Path("/sys/class/power_supply")
_PMSET_SECONDS = 5.0


class Power:
    """Checks the power source once a minute, in a thread."""

    def __init__(self, clock: Clock, read: Callable[[], bool]) -> None:
        self._clock = clock
        self._read = read
        self.is_on_battery = False
        self.changed: Notifier[[]] = Notifier()

    async def run(self) -> None:
        """Check the power source and notify of changes, until cancelled."""
        while True:
            now = await asyncio.to_thread(self._read)
            if now != self.is_on_battery:
                self.is_on_battery = now
                self.changed.notify()
            await self._clock.sleep(POLL_SECONDS)


def on_battery() -> bool:
    """Whether this machine runs on its battery; False if unknown."""
    return pmset_says_battery(_pmset()) if sys.platform == "darwin" else supplies_say_battery(_SUPPLIES)


def supplies_say_battery(supplies: Path) -> bool:
    """Whether a folder like /sys/class/power_supply has a discharging battery and no charger that is online.

    Batteries of mice and the like (scope "Device") do not count.
    """
    is_discharging = False
    try:
        entries = sorted(supplies.iterdir())
    except OSError:
        return False
    for supply in entries:
        match _first_line(supply / "type"):
            case "Mains" | "USB" | "Wireless" if _first_line(supply / "online") in ("1", "2"):
                return False
            case "Battery" if _first_line(supply / "scope") != "Device":
                is_discharging |= _first_line(supply / "status") == "Discharging"
            case _:
                pass
    return is_discharging


def pmset_says_battery(output: str) -> bool:
    """Whether the first line of `pmset -g batt` names the battery as the source."""
    return "Battery Power" in output.partition("\n")[0]


def _pmset() -> str:
    try:
        result = subprocess.run(
            ["/usr/bin/pmset", "-g", "batt"],
            capture_output=True,
            text=True,
            timeout=_PMSET_SECONDS,
            check=False,
            env=remove_secrets(os.environ),
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return result.stdout


def _first_line(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
