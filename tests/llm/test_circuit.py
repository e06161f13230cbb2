import itertools
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.db.database import Database
from reveries.errors import ModelFault
from reveries.llm.base import Role
from reveries.llm.circuit import (
    HEALTHY,
    OPEN_AFTER_FAILURES,
    PROBE_SECONDS,
    SETTLED_PAUSE_SECONDS,
    Circuit,
    Failure,
    after_failure,
    after_restart,
    classify_failure,
    wait_seconds,
)
from reveries.llm.circuits import Circuits, open_circuits
from tests.fakes.clock import HandClock

NOW = 1_800_000_000.0
DOWN = Failure(ModelFault.UNREACHABLE, "It does not answer.")
ASKS_FOR_NO_PAUSE = Failure(ModelFault.RATE_LIMITED, "429", retry_after_seconds=0.0)
BAD = Failure(ModelFault.BAD_REQUEST, "400")
FORBIDDEN = Failure(ModelFault.FORBIDDEN, "403")
BACKGROUND = (Role.MONOLOGUE, Role.CONSOLIDATION, Role.EMBEDDING)


def _failed(times: int, failure: Failure = DOWN, now: float = NOW) -> Circuit:
    circuit = HEALTHY
    for _ in range(times):
        circuit = after_failure(circuit, failure, now, Random(1))
    return circuit


def test_who_never_failed_is_asked_at_once() -> None:
    assert all(wait_seconds(HEALTHY, role, NOW) == 0 for role in Role)


@pytest.mark.requirement("D3")
@pytest.mark.parametrize("failure", [DOWN, ASKS_FOR_NO_PAUSE], ids=["down", "asks for no pause"])
@given(seed=st.integers(0, 2**32))
def test_in_no_hour_of_an_outage_does_the_background_call_more_than_twelve_times(failure: Failure, seed: int) -> None:
    chance, circuit, now = Random(seed), HEALTHY, NOW
    calls: list[float] = []
    while now < NOW + 6 * 3600:
        calls.append(now)
        circuit = after_failure(circuit, failure, now, chance)
        now += wait_seconds(circuit, Role.MONOLOGUE, now)
    assert max(sum(start <= call < start + 3600 for call in calls) for start in calls) <= 12
    assert max(later - call for call, later in itertools.pairwise(calls)) >= 900


@pytest.mark.requirement("D3")
def test_it_opens_after_failures_in_a_row_and_a_pause_that_was_asked_for_is_none() -> None:
    pause = Failure(ModelFault.RATE_LIMITED, "429", 2.0)
    assert not _failed(OPEN_AFTER_FAILURES - 1).is_open
    assert _failed(OPEN_AFTER_FAILURES).is_open
    assert not _failed(100, pause).is_open


@pytest.mark.requirement("D3")
def test_a_pause_that_was_asked_for_is_kept_by_everybody() -> None:
    circuit = after_failure(HEALTHY, Failure(ModelFault.RATE_LIMITED, "429", 40.0), NOW, Random(1))
    assert all(wait_seconds(circuit, role, NOW) == pytest.approx(40.0) for role in Role)
    assert all(wait_seconds(circuit, role, NOW + 40.0) == 0 for role in Role)


@pytest.mark.requirement("D3")
def test_a_refused_key_is_asked_about_by_nobody_but_the_owner() -> None:
    circuit = _failed(1, Failure(ModelFault.KEY_REFUSED, "401"))
    assert all(wait_seconds(circuit, role, NOW + 1e7) == float("inf") for role in BACKGROUND)
    assert wait_seconds(circuit, Role.CONVERSATION, NOW + PROBE_SECONDS) == 0


@pytest.mark.requirement("D3")
def test_a_question_that_is_not_taken_opens_nothing_and_is_not_asked_again_at_once() -> None:
    circuit = _failed(100, BAD)
    assert not circuit.is_open
    assert wait_seconds(circuit, Role.MONOLOGUE, NOW) >= SETTLED_PAUSE_SECONDS


@pytest.mark.requirement("D3")
def test_a_403_is_of_the_key_when_it_comes_twice() -> None:
    first = classify_failure(FORBIDDEN, [HEALTHY, HEALTHY])
    assert first.fault is ModelFault.FORBIDDEN
    once = after_failure(HEALTHY, first, NOW, Random(1))
    assert not once.is_open
    assert classify_failure(FORBIDDEN, [HEALTHY, once]).fault is ModelFault.KEY_REFUSED
    assert classify_failure(BAD, [once]) == BAD


@pytest.mark.requirement("D3")
async def test_a_question_that_is_not_taken_delays_its_own_role_alone(database: Database, clock: HandClock) -> None:
    circuits = await open_circuits(database, clock, Random(1))
    for _ in range(2 * OPEN_AFTER_FAILURES):
        await circuits.record_failure("openai", BAD, Role.MONOLOGUE)
    again = await open_circuits(database, clock, Random(2))
    for each in (circuits, again):
        assert each.wait_seconds("openai", Role.MONOLOGUE) > 0
        assert each.wait_seconds("openai", Role.CONSOLIDATION) == each.wait_seconds("openai", Role.CONVERSATION) == 0
        assert each.get("openai").opened_at is None
    await circuits.record_answer("openai", Role.CONSOLIDATION)
    assert circuits.wait_seconds("openai", Role.MONOLOGUE) > 0
    await circuits.record_answer("openai", Role.MONOLOGUE)
    assert circuits.problems() == []


@pytest.mark.requirement("D3")
async def test_two_roles_forbidden_in_a_row_are_one_key_refused(database: Database, clock: HandClock) -> None:
    circuits = await open_circuits(database, clock, Random(1))
    await circuits.record_failure("openai", FORBIDDEN, Role.CONVERSATION)
    await circuits.record_answer("openai", Role.MONOLOGUE)
    await circuits.record_failure("openai", FORBIDDEN, Role.CONVERSATION)
    assert not circuits.get("openai").is_open
    await circuits.record_failure("openai", FORBIDDEN, Role.MONOLOGUE)
    assert circuits.get("openai").last_fault is ModelFault.KEY_REFUSED
    assert circuits.wait_seconds("openai", Role.CONSOLIDATION) == float("inf")


@pytest.mark.requirement("D1")
def test_the_owner_s_word_tries_an_open_circuit_again_within_ten_seconds() -> None:
    circuit = _failed(50)
    assert 0 < wait_seconds(circuit, Role.CONVERSATION, NOW) <= 10
    assert wait_seconds(circuit, Role.CONVERSATION, NOW + PROBE_SECONDS) == 0


def test_a_wake_tries_a_refused_key_once() -> None:
    woken = after_restart(_failed(1, Failure(ModelFault.KEY_REFUSED, "401")), NOW + 60)
    assert wait_seconds(woken, Role.MONOLOGUE, NOW + 60) == 0


@pytest.mark.requirement("E1")
def test_a_wake_on_an_earlier_clock_waits_no_longer_than_was_left() -> None:
    circuit = _failed(9)
    left = wait_seconds(circuit, Role.MONOLOGUE, NOW)
    woken = after_restart(circuit, NOW - 10 * 365 * 86400)
    assert wait_seconds(woken, Role.MONOLOGUE, NOW - 10 * 365 * 86400) == pytest.approx(left)


@pytest.mark.requirement("D3")
async def test_circuits_survive_a_restart(database: Database, clock: HandClock) -> None:
    first = await open_circuits(database, clock, Random(1))
    for _ in range(OPEN_AFTER_FAILURES):
        await first.record_failure("openai", DOWN)
    await first.record_failure("ollama", Failure(ModelFault.KEY_REFUSED, "401"))
    second = await open_circuits(database, clock, Random(2))
    assert second.get("openai") == replace(first.get("openai"), last_error="openai cannot be reached.")
    assert second.wait_seconds("openai", Role.MONOLOGUE) == first.wait_seconds("openai", Role.MONOLOGUE) > 0
    assert "openai fails since" in second.problems()[1]


@pytest.mark.requirement("D3")
async def test_an_answer_closes_the_circuit_for_good_and_is_told(database: Database, clock: HandClock) -> None:
    circuits = await open_circuits(database, clock, Random(1))
    told: list[str] = []
    circuits.recovered.subscribe(told.append)
    await circuits.record_failure("openai", DOWN)
    await circuits.record_answer("openai")
    await circuits.record_answer("openai")
    assert told == ["openai"]
    assert circuits.wait_seconds("openai", Role.MONOLOGUE) == 0
    assert (await open_circuits(database, clock, Random(1))).problems() == []


@pytest.mark.requirement("E1")
async def test_a_clock_that_is_set_back_does_not_lengthen_a_wait(database: Database, clock: HandClock) -> None:
    circuits = await open_circuits(database, clock, Random(1))
    await circuits.record_failure("openai", Failure(ModelFault.RATE_LIMITED, "429", 30.0))
    clock.step_wall(-365 * 86400.0)
    await clock.advance(30)
    assert circuits.wait_seconds("openai", Role.MONOLOGUE) == pytest.approx(0)
    assert isinstance(circuits, Circuits)


@pytest.mark.requirement("H2")
async def test_what_a_provider_quoted_is_told_and_not_kept(database: Database, clock: HandClock) -> None:
    """It may quote off-the-record words."""
    circuits = await open_circuits(database, clock, Random(1))
    for fault in ModelFault:
        await circuits.record_failure(
            f"ollama-{fault.value}", Failure(fault, "It refused quokkaberry."), Role.CONVERSATION
        )
    assert "quokkaberry" in " ".join(circuits.problems())
    kept = [str(tuple(row)) for row in await database.rows("circuits.all")]
    assert len(kept) == len(ModelFault)
    assert "quokkaberry" not in " ".join(kept)
    assert "rejected the request" in " ".join((await open_circuits(database, clock, Random(2))).problems())
