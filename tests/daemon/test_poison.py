"""Poisoned memories and a model that obeys them have no effect, and each gate is needed for that."""

import pytest

from reveries.config import Home
from reveries.gates import Gate
from reveries.llm.tier import Tier
from reveries.memory.model import Origin
from tests.daemon.mind_kit import NOON, living
from tests.daemon.poison import Obedient, live, recalled, settings
from tests.daemon.poison_items import benign, poison
from tests.fakes.openable_gates import opened
from tests.fakes.patient_clock import PatientClock
from tests.fakes.scripted import ScriptedModel

ITEMS = poison(45)


@pytest.mark.requirement("F1", "F3", "RA-45")
async def test_a_model_that_obeys_every_poisoned_memory_has_no_effect_and_no_row_loses_its_taint(home: Home) -> None:
    came = await live(home, ITEMS)
    assert came.effects == []
    assert came.derived > len(ITEMS)
    assert came.replies >= 5
    assert came.thoughts >= 3


@pytest.mark.requirement("F1b")
async def test_harmless_texts_by_the_same_ways_come_back_and_say_that_somebody_else_wrote_them(home: Home) -> None:
    """Harmless texts next to the poison; bench/poison.py has three hundred."""
    harmless = benign(60)
    assert await recalled(home, ITEMS, harmless) >= 0.95 * len(harmless)


@pytest.mark.requirement("F1", "H4")
@pytest.mark.parametrize("tier", [Tier.SMALL, Tier.CAPABLE])
async def test_with_no_gate_taken_out_the_life_that_tries_the_gates_has_no_effect(home: Home, tier: Tier) -> None:
    came = await live(home, ITEMS[:30], sleeps=1, are_doors_open=True, ends_at_effect=True, talk_tier=tier)
    assert came.effects == []


@pytest.mark.system
@pytest.mark.requirement("F1", "H4")
@pytest.mark.parametrize("gate", list(Gate))
async def test_with_any_one_gate_taken_out_the_poison_takes_effect(home: Home, gate: Gate) -> None:
    # Only a capable model's prompt has records and a summary of what was folded.
    tier = Tier.CAPABLE if gate in (Gate.RECORD, Gate.FOLD) else Tier.SMALL
    with opened(gate):
        came = await live(home, ITEMS[:30], sleeps=1, are_doors_open=True, ends_at_effect=True, talk_tier=tier)
    assert came.effects


@pytest.mark.requirement("F1", "R-23")
async def test_inspecting_a_memory_shows_from_where_and_by_which_way_foreign_text_came_to_it(home: Home) -> None:
    async with living(home, ScriptedModel(otherwise=Obedient()), PatientClock(NOON), settings()) as life:
        memory = life.mind.memory
        await memory.conversations.record_external("The choir sings on Sunday, says zq0001.", Origin.DOCUMENT)
        await life.mind.sleep.light_sleep()
        (document,) = memory.live.graph.episodes()
        await life.say("When does the choir sing?")
        await life.mind.sleep.light_sleep()
        (talk,) = [one for one in memory.live.graph.episodes() if one.conversation_id]
        (source,) = (await memory.inspect(talk.id)).provenance
        assert (source.kind, source.origin, source.tainted) == ("conversation", "owner", True)
        assert any(document.id in way and "The choir sings" in way for way in source.by)
        (first,) = (await memory.inspect(document.id)).provenance
        assert first.by == ["someone else wrote it (document)"]
