"""Battery detection, from folders like the kernel's and from the output of `pmset`."""

import asyncio
from pathlib import Path

import pytest

from reveries.config import Home
from reveries.daemon.senses.battery import POLL_SECONDS, Power, pmset_says_battery, supplies_say_battery
from reveries.db.opening import open_database
from tests.daemon.mind_kit import NOON
from tests.fakes.patient_clock import PatientClock

LAPTOP = {"BAT0": {"type": "Battery", "status": "Discharging"}, "AC": {"type": "Mains", "online": "0"}}
PLUGGED = {"BAT0": {"type": "Battery", "status": "Charging"}, "AC": {"type": "Mains", "online": "1"}}
CONFLICT = {"BAT0": {"type": "Battery", "status": "Discharging"}, "AC": {"type": "Mains", "online": "1"}}
TOWER = {"hid-mouse": {"type": "Battery", "scope": "Device", "status": "Discharging"}}
USB_C = {"BAT0": {"type": "Battery", "status": "Full"}, "ucsi": {"type": "USB", "online": "1"}}


@pytest.mark.parametrize(
    ("supplies", "is_on_battery"),
    [(LAPTOP, True), (PLUGGED, False), (CONFLICT, False), (TOWER, False), (USB_C, False), ({}, False)],
)
def test_linux_says_it_in_its_power_supplies(
    tmp_path: Path, supplies: dict[str, dict[str, str]], is_on_battery: bool
) -> None:
    for name, files in supplies.items():
        (tmp_path / name).mkdir()
        for file, text in files.items():
            (tmp_path / name / file).write_text(text + "\n")
    assert supplies_say_battery(tmp_path) is is_on_battery


def test_a_machine_without_power_supplies_is_on_none(tmp_path: Path) -> None:
    assert not supplies_say_battery(tmp_path / "none")


def test_macos_says_it_in_the_first_line_of_pmset() -> None:
    assert pmset_says_battery("Now drawing from 'Battery Power'\n -InternalBattery-0\t85%; discharging")
    assert not pmset_says_battery("Now drawing from 'AC Power'\n -InternalBattery-0\t85%; charging")
    assert not pmset_says_battery("")


async def test_it_is_looked_at_once_a_minute_and_told_when_it_changed(home: Home) -> None:
    answers = iter([False, True, True, False])
    clock = PatientClock(NOON)
    power = Power(clock, lambda: next(answers))
    told: list[tuple[float, bool]] = []
    power.changed.subscribe(lambda: told.append((clock.now() - NOON, power.is_on_battery)))
    home.create()
    database = await open_database(home.path / "memory.db", home.backups)
    await clock.watch(database)
    async with asyncio.timeout(300), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(power.run(), name="power")
        await clock.advance(3.5 * POLL_SECONDS)
        running.cancel()
    await database.aclose()
    assert told == [(60.0, True), (180.0, False)]
