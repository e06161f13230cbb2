"""A provider that is down for good: nothing spins and nothing floods the log (D5)."""

import contextlib

import pytest
import structlog

from reveries.config import Home
from reveries.errors import ModelError
from reveries.monologue.thought import Reactivation, ThinkingReason
from tests.fakes.provider import provider
from tests.fakes.provider_faults import FAULTS
from tests.faults.kit import living
from tests.memory.kit import talk

TEN_MINUTES_SECONDS = 600


@pytest.mark.requirement("D5", "D3")
@pytest.mark.parametrize("name", ["refused", "500", "reset_without_a_byte", "html_body", "401"])
async def test_ten_minutes_without_a_provider_are_few_calls_and_few_lines(home: Home, name: str) -> None:
    [fault] = [fault for fault in FAULTS if fault.name == name]
    async with provider() as there, living(home, there, "ollama") as alive:
        await there.inject(fault)
        await talk(alive.memory, ("I planted a quince tree.", "How lovely."))
        alive.start_thinking()
        with structlog.testing.capture_logs() as lines:
            for _ in range(20):
                # Every reason to think and to sleep, all the time.
                alive.mind.monologue.resume(Reactivation(ThinkingReason.ASSOCIATION, "the quince"))
                await alive.let_pass(TEN_MINUTES_SECONDS / 20)
                with contextlib.suppress(ModelError):
                    await alive.mind.sleep.consolidate(1, trigger="asked")
        assert len(there.generations) <= 8, "it is asked again and again"
        assert there.generations or name == "refused"
        told = [line for line in lines if line["log_level"] != "debug"]
        assert len(told) <= 100 * TEN_MINUTES_SECONDS / 60
        warnings = [line["event"] for line in told if line["log_level"] != "info"]
        assert len(warnings) <= 30, "a warning over and over"
        assert alive.is_whole, alive.unhandled
