"""The outcome of a thought: stored or only logged, complete or cut short; and its visible states."""

from dataclasses import dataclass, replace

import pytest
from structlog.testing import capture_logs

from reveries.llm.tokens import estimate_tokens
from reveries.monologue.ports import SavedState, ThoughtState
from reveries.monologue.thought import ActivatedMemory, Reactivation, SaidLine, ThinkingReason, ThoughtInputs
from tests.fakes.scripted import Pause, ScriptedModel
from tests.monologue.kit import ENDLESS, SETTINGS, THOUGHT, Kit, Sources

TOLD = "Anna packed her medicine books and moved to Oslo on Friday."
RETOLD = "On Friday Anna moved to Oslo and packed her books of medicine."
OWN = "Perhaps loneliness travels with everybody, and letters could soften the northern winter."


@dataclass
class _Told(Sources):
    """Sources that give each thought `TOLD` to read."""

    lines: int = 1

    async def gather(self, why: Reactivation, previous: str, *, comfort: bool) -> ThoughtInputs:
        inputs = await super().gather(why, previous, comfort=comfort)
        memories = tuple(ActivatedMemory(f"e{n}", TOLD * self.lines, "in May", False) for n in range(self.lines))
        return replace(inputs, recent=(SaidLine(TOLD * self.lines),) * self.lines, memories=memories)


@pytest.mark.requirement("R-41", "R-43")
async def test_a_thought_that_only_retells_is_logged_with_the_reason_and_is_no_experience() -> None:
    kit = Kit(ScriptedModel([RETOLD]), sources=_Told())
    with capture_logs() as logs:
        async with kit.living():
            await kit.clock.advance(60)
    (thought,) = kit.sources.thoughts
    assert (thought.text, thought.why_ended) == (RETOLD, "finished")
    assert "only repeated" in thought.unkept_because
    assert thought.unkept_because in thought.explanation
    assert [one["why_not_kept"] for one in logs if one["event"] == "thought.ended"] == [thought.unkept_because]


@pytest.mark.requirement("R-41")
async def test_a_thought_with_something_of_its_own_is_kept_and_leads_the_next() -> None:
    kit = Kit(ScriptedModel([OWN, RETOLD, THOUGHT]), sources=_Told())
    kit.sources.keeps_having_something = True
    async with kit.living():
        for _ in range(3):
            await kit.clock.advance(SETTINGS.idle_check_seconds + 30)
    first, second, *_ = kit.sources.thoughts
    assert not first.unkept_because
    assert second.unkept_because
    # A thought that was not kept is not continued: the one before it still is, also after a restart.
    assert [previous for _, previous, _ in kit.sources.gathered][:3] == ["", OWN, OWN]
    assert kit.sources.states[1].last_buffer == OWN


async def test_a_thought_that_was_thought_before_is_kept_once() -> None:
    kit = Kit(ScriptedModel([OWN, OWN]), sources=_Told())
    kit.sources.keeps_having_something = True
    async with kit.living():
        await kit.clock.advance(2 * SETTINGS.idle_check_seconds)
    assert [bool(thought.unkept_because) for thought in kit.sources.thoughts[:2]] == [False, True]
    assert "only repeated" in kit.sources.thoughts[1].unkept_because


async def test_what_was_thought_in_the_last_life_is_not_kept_again() -> None:
    kit = Kit(ScriptedModel([OWN]), sources=_Told(saved=SavedState(OWN)))
    async with kit.living():
        await kit.clock.advance(60)
    assert "only repeated" in kit.sources.thoughts[0].unkept_because


async def test_after_something_was_erased_nothing_is_held_against_a_thought() -> None:
    kit = Kit(ScriptedModel([OWN, OWN]), sources=_Told())
    kit.sources.keeps_having_something = True
    async with kit.living():
        await kit.clock.advance(60)
        kit.monologue.forget_all(lambda text: False)
        await kit.clock.advance(SETTINGS.idle_check_seconds)
    assert [thought.unkept_because for thought in kit.sources.thoughts[:2]] == ["", ""]


@pytest.mark.requirement("R-43")
async def test_a_thought_that_was_cut_short_is_kept_whatever_it_says() -> None:
    kit = Kit(ScriptedModel([[RETOLD, Pause(60), "More."]]), sources=_Told())
    async with kit.living():
        await kit.clock.advance(1.5)
        kit.monologue.pause()
        await kit.clock.advance(0)
    (thought,) = kit.sources.thoughts
    assert (thought.why_ended, thought.unkept_because) == ("paused", "")


@pytest.mark.requirement("R-56", "R-172")
async def test_a_thought_that_was_cut_short_is_stored_as_not_settled() -> None:
    kit = Kit(ScriptedModel([ENDLESS]))
    async with kit.living():
        await kit.clock.advance(3)
        kit.monologue.pause()
        await kit.clock.advance(0)
    assert [state.is_quiescent for state in kit.sources.states] == [False]
    settled = Kit(ScriptedModel([THOUGHT]))
    async with settled.living():
        await settled.clock.advance(60)
    assert [state.is_quiescent for state in settled.sources.states] == [True]


@pytest.mark.requirement("R-10")
async def test_every_change_of_state_is_logged_by_name() -> None:
    kit = Kit(ScriptedModel([THOUGHT]))
    with capture_logs() as logs:
        async with kit.living():
            await kit.clock.advance(60)
            kit.monologue.pause()
            await kit.clock.advance(0)
    states = [(one["log_level"], one["state"]) for one in logs if one["event"] == "monologue.state_changed"]
    # Logged at a level that the log keeps by default.
    assert states == [("info", one.value) for one in (ThoughtState.THINKING, ThoughtState.SETTLED, ThoughtState.PAUSED)]
    assert [one["event"] for one in logs if one["event"].startswith("thought.")] == ["thought.began", "thought.ended"]


@pytest.mark.requirement("R-33", "R-37")
@pytest.mark.parametrize("tier", [0, 2])
async def test_what_a_thought_reads_leaves_half_of_the_context_for_the_thought(tier: int) -> None:
    model = ScriptedModel([THOUGHT], context_tokens=1536)
    kit = Kit(model, sources=_Told(lines=40), tier=tier)
    async with kit.living():
        await kit.clock.advance(1)
    assert sum(estimate_tokens(message.text) for message in model.prompts[0].messages) <= model.context_tokens / 2


@pytest.mark.requirement("R-95")
async def test_the_loop_asks_by_the_tier_of_the_model() -> None:
    asked = []
    for tier in (0, 2):
        kit = Kit(ScriptedModel([THOUGHT]), sources=_Told(), tier=tier)
        async with kit.living():
            kit.monologue.pause()
            await kit.clock.advance(1)
            kit.monologue.resume(Reactivation(ThinkingReason.CONVERSATION))
            await kit.clock.advance(1)
        asked.append(kit.model.prompts[-1].messages)
    assert asked[0] != asked[1]
