"""The state in one line, for a shell prompt."""

import msgspec
import pytest
from structlog.testing import capture_logs

from reveries import protocol
from reveries.client.features.status import state_line
from reveries.config import Home, load_settings
from tests.daemon.asking import ask
from tests.daemon.kit import Events
from tests.daemon.mind_kit import NOON, living
from tests.fakes.patient_clock import PatientClock
from tests.fakes.scripted import ScriptedModel

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
async def test_each_change_of_state_is_logged_once_without_a_word_and_nothing_of_a_private_turn(home: Home) -> None:
    told: list[str] = []
    with capture_logs() as logs:
        async with living(home, ScriptedModel(otherwise="I see."), PatientClock(NOON), QUIET) as life:
            life.mind.events.state_changed.subscribe(lambda state, _: told.append(state))
            await life.mind.conversation.say("My boat sinks.", Events(), off_record=True)
            logs.append({"event": "said", "state": "in private"})
            for words in ("My boat is called Ida.", "It is blue."):
                await life.say(words)
            await life.pass_time(1)
            await life.mind.sleep.consolidate(None, trigger="My boat")
            async with life.mind.activity.during_work("My boat"):
                pass
            async with life.mind.activity.during_silence():
                pass
    changed = [one for one in logs if one["event"] in ("mind.state_changed", "said")]
    assert {one["log_level"] for one in changed if "log_level" in one} == {"info"}
    assert [one["state"] for one in changed] == [
        "in private", "talking", "paused", "consolidating", "paused", "working", "paused", "forgetting", "paused",
    ]  # fmt: skip
    assert "boat" not in str(changed)
    assert told[-6:] == ["consolidating", "paused", "working", "paused", "forgetting", "paused"]


async def test_clients_are_told_what_becomes_of_thinking_after_a_pass(home: Home) -> None:
    async with living(home, ScriptedModel(otherwise="I see."), PatientClock(NOON), SETTINGS) as life:
        told: list[tuple[str, str]] = []
        life.mind.events.state_changed.subscribe(lambda state, detail: told.append((state, detail)))
        await life.say("My boat is called Ida.")
        await life.pass_time(1)
        await life.mind.sleep.consolidate(None, trigger="asked")
        await life.pass_time(0.1)
        assert [one for one in told if one[0] == "consolidating"] == [("consolidating", "asked")]
        assert told[-1][0] == life.mind.monologue.state.value != "paused"


def test_the_line_is_the_state_with_a_mark_where_something_is_degraded() -> None:
    def shown(state: protocol.MindState) -> str:
        return "".join(part.text for part in state_line(state))

    assert shown(protocol.MindState(1, "thinking", "association\x1b[31m", True)) == "thinking  association"
    assert shown(protocol.MindState(1, "settled", "", False)) == "! settled"
