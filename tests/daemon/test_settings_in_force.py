"""Settings that change while the mind is awake: which apply at once, and which wait for the next wake."""

import gc
import types
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from reveries.config import (
    BreakerSettings,
    Home,
    LlmSettings,
    LogSettings,
    MindSettings,
    Settings,
    known_keys,
    load_settings,
)
from reveries.daemon.mind import reload_settings
from reveries.daemon.process.settings_in_force import READ_AT_WAKE, SettingsInForce
from reveries.errors import ConfigError
from tests.daemon.mind_kit import NOON, living
from tests.fakes.patient_clock import PatientClock
from tests.fakes.scripted import ScriptedModel

_READ_ONCE = (LlmSettings, BreakerSettings, MindSettings, LogSettings)
"""Tables of which every key is in READ_AT_WAKE."""


def _in_force(folder: Path, text: str = "") -> SettingsInForce:
    file = folder / "config.toml"
    file.write_text(text, encoding="utf-8")
    return SettingsInForce(file, load_settings(file))


def _tables(kind: type = Settings) -> Iterator[type]:
    """Yield the types of all tables of settings."""
    yield kind
    for field in msgspec.structs.fields(kind):
        if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct):
            yield from _tables(field.type)


def _referents(thing: object) -> list[object]:
    if isinstance(thing, types.FunctionType):  # Its globals are not held by a part of the mind.
        return [thing.__closure__, thing.__defaults__, thing.__kwdefaults__]
    return gc.get_referents(thing)


def _held_tables(root: object, tables: tuple[type, ...]) -> Iterator[tuple[str, object]]:
    """Yield what is reachable from `root` and is an instance of `tables`, with who holds it."""
    seen, waiting = {id(root)}, [root]
    while waiting:
        holder = waiting.pop()
        for thing in _referents(holder):
            if id(thing) in seen or isinstance(thing, (types.ModuleType, type, SettingsInForce)):
                continue
            seen.add(id(thing))
            if isinstance(thing, tables):
                yield f"{holder!r:.200}", thing
            waiting.append(thing)


async def test_no_part_of_a_mind_keeps_a_table_of_settings_that_can_change_while_awake(home: Home) -> None:
    changeable = tuple(set(_tables()) - {one for kind in _READ_ONCE for one in _tables(kind)})
    async with living(home, ScriptedModel(), PatientClock(NOON), load_settings(None)) as life:
        held = [(who, type(what).__name__) for who, what in _held_tables(life.mind, changeable)]
        assert held == []


def test_of_the_tables_that_may_be_kept_no_key_is_said_to_apply_at_once() -> None:
    defaults = msgspec.to_builtins(load_settings(None))
    kept = {field.name: field.type for field in msgspec.structs.fields(Settings) if field.type in _READ_ONCE}
    assert len(kept) == len(_READ_ONCE)
    for name in kept:
        assert all(f"{name}.{key}".startswith(READ_AT_WAKE) for key in defaults[name])


@pytest.mark.requirement("R-28")
async def test_a_changed_name_number_of_seeds_and_budget_apply_to_the_next_words(home: Home) -> None:
    async with living(
        home, ScriptedModel(otherwise="Noted."), PatientClock(NOON), load_settings(None), owner_name=""
    ) as life:
        before = await life.say("My dentist is Dr. Marti in Chur.")
        home.config.write_text(
            '[owner]\nname = "Paul"\n[recall]\nseeds = 7\n'
            "[budget]\ndollars_per_day = 3.5\n[monologue]\nenabled = false\n",
            encoding="utf-8",
        )
        changed, needs_restart = reload_settings(life.mind)
        assert {"owner.name", "recall.seeds", "budget.dollars_per_day", "monologue.enabled"} <= set(changed)
        assert needs_restart == []
        after = await life.say("And my doctor is Dr. Berger.")
        assert before.owner_turn is not None
        assert after.owner_turn is not None
        assert (before.owner_turn.speaker, after.owner_turn.speaker) == ("You", "Paul")
        assert life.mind.memory.live.settings.seeds == 7
        assert life.mind.ledger.budget().dollars_per_day == 3.5
        assert not life.mind.monologue.cycle.settings.enabled


async def test_a_shorter_rest_applies_to_the_rest_that_is_waited_for(home: Home) -> None:
    home.config.parent.mkdir(exist_ok=True)
    home.config.write_text("[conversation]\nrest_minutes = 600\n", encoding="utf-8")
    async with living(home, ScriptedModel(otherwise="Noted."), PatientClock(NOON), load_settings(home.config)) as life:
        life.mind.conversation.attach(1)
        await life.say("Hello.")
        await life.pass_time(0.2)
        assert not life.mind.conversation.is_resting
        home.config.write_text("[conversation]\nrest_minutes = 11\n", encoding="utf-8")
        assert reload_settings(life.mind) == (["conversation.rest_minutes"], [])
        await life.pass_time(1 / 60)
        assert life.mind.conversation.is_resting


def test_what_is_read_at_a_wake_keeps_its_value_until_then_and_is_named_until_then(tmp_path: Path) -> None:
    in_force = _in_force(tmp_path)
    in_force.file.write_text('[mind]\nname = "Ada"\n[storage]\nwarn_below_free_megabytes = 77\n', encoding="utf-8")
    assert in_force.reload() == (["mind.name", "storage.warn_below_free_megabytes"], ["mind.name"])
    assert in_force.current.mind.name == "Reverie"
    assert in_force.current.storage.warn_below_free_megabytes == 77
    in_force.file.write_text('[mind]\nname = "Ada"\n', encoding="utf-8")
    assert in_force.reload() == (["storage.warn_below_free_megabytes"], ["mind.name"])
    in_force.file.write_text("", encoding="utf-8")
    assert in_force.reload() == (["mind.name"], [])


def test_a_file_that_is_wrong_changes_nothing(tmp_path: Path) -> None:
    in_force = _in_force(tmp_path, "[recall]\nseeds = 9\n")
    in_force.file.write_text("[recall]\nseeds = 0\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"recall\.seeds"):
        in_force.reload()
    assert in_force.current.recall.seeds == 9


def test_every_beginning_of_a_key_that_is_read_at_a_wake_names_a_setting() -> None:
    for beginning in READ_AT_WAKE:
        assert [key for key in known_keys() if key.startswith(beginning)], beginning
