"""The state in one line, for a shell prompt."""

import msgspec
import pytest
from structlog.testing import capture_logs

from reveries import protocol
from reveries.client.features.status import state_line
from reveries.config import Home, load_settings
from reveries.llm.scripted import ScriptedModel
from tests.daemon.asking import ask
from tests.daemon.mind_kit import NOON, living
from tests.fakes.patient_clock import PatientClock

SETTINGS = load_settings(None)
QUIET = msgspec.structs.replace(SETTINGS, monologue=msgspec.structs.replace(SETTINGS.monologue, enabled=False))


async def test_it_says_what_it_does_now_and_asks_the_database_nothing(home: Home) -> None:
    async with living(home, ScriptedModel(otherwise="I see."), PatientClock(NOON), QUIET) as life:
        life.mind.conversation.attach(1)
        await life.say("My boat is called Ida.")
        statements: list[str] = []
        connection = life.mind.database._connection
        await connection.set_trace_callback(statements.append)
        state = await ask(life.mind, protocol.AskState(1), protocol.MindState)
        before = len(statements)
        assert (state.state, state.is_well) == ("talking", True)
        assert before == 0
        life.mind.health.note_failed_backup("No room for a backup.")
        assert not (await ask(life.mind, protocol.AskState(1), protocol.MindState)).is_well


@pytest.mark.requirement("R-10")
async def test_talk_and_sleep_are_logged_as_they_begin_without_a_word_of_the_owner(home: Home) -> None:
    with capture_logs() as logs:
        async with living(home, ScriptedModel(otherwise="I see."), PatientClock(NOON), QUIET) as life:
            await life.say("My boat is called Ida.")
            await life.pass_time(1)
            await life.mind.sleep.consolidate(None, trigger="My boat")
    changed = [one for one in logs if one["event"] == "mind.state_changed"]
    assert [(one["log_level"], one["state"]) for one in changed] == [("info", "talking"), ("info", "consolidating")]
    assert "boat" not in str(changed)


def test_the_line_is_the_state_with_a_mark_where_something_is_degraded() -> None:
    def shown(state: protocol.MindState) -> str:
        return "".join(part.text for part in state_line(state))

    assert shown(protocol.MindState(1, "thinking", "association\x1b[31m", True)) == "thinking  association"
    assert shown(protocol.MindState(1, "settled", "", False)) == "! settled"
