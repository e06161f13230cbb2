"""From thought to talk and back: words end a thought, the reply knows of it, and the talk is thought about later."""

import pytest

from reveries.config import Home, load_settings
from reveries.llm.base import Prompt, Role
from reveries.monologue.thought import Reactivation, ThinkingReason
from tests.daemon.mind_kit import NOON, living
from tests.fakes.patient_clock import PatientClock
from tests.fakes.scripted import Pause, Piece, ScriptedModel

SETTINGS = load_settings(None)
FACT = "My mother planted the pear tree in the garden."
THOUGHT = "The pear tree may well be why they stay in that house. "


class Says:
    """Replies to words; the first thought hangs after its third sentence, later ones settle."""

    def __init__(self) -> None:
        self.thoughts = 0

    def __call__(self, prompt: Prompt) -> list[Piece]:
        match prompt.role:
            case Role.MONOLOGUE:
                self.thoughts += 1
                words: list[Piece] = [f"{word} " for word in THOUGHT.split()]
                return (
                    [*words, Pause(1e6)] if self.thoughts == 1 else [*words, "That ", "is ", "enough ", "for ", "now."]
                )
            case Role.CONVERSATION:
                return ["I ", "see."]
            case _:
                return ["{}"]


@pytest.mark.requirement("R-38", "R-41", "R-42", "R-88", "R-90", "R-95", "R-164")
async def test_a_word_ends_a_thought_is_answered_with_it_in_mind_and_thought_about_when_the_talk_rests(
    home: Home,
) -> None:
    model = ScriptedModel(otherwise=Says(), name="openai/gpt-4.1-mini", context_tokens=16384)
    async with living(home, model, PatientClock(NOON), SETTINGS) as life:
        monologue = life.mind.monologue
        monologue.ask(Reactivation(ThinkingReason.NUDGE, "the house and its garden"))
        await life.clock.advance(60)
        assert monologue.state.name == "THINKING"

        life.mind.conversation.attach(1)
        await life.say(FACT)
        await life.clock.advance(1)
        assert monologue.state.name == "PAUSED"
        (cut,) = await life.mind.sources.entries(0.0, 10)
        assert (cut.why_ended, cut.text.strip()) == ("paused", THOUGHT.strip())
        reply = next(prompt for prompt in model.prompts if prompt.role is Role.CONVERSATION)
        assert any(message.text == THOUGHT.strip() and message.role == "assistant" for message in reply.messages)
        asked = _thoughts(model)
        await life.clock.advance(60)
        assert _thoughts(model) == asked, "between two turns it does not think"

        life.mind.conversation.detach(1)
        await life.pass_time(0.5)
        after = (await life.mind.sources.entries(0.0, 10))[1:]
        assert [one.why_ended for one in after] == ["settled"] * len(after)
        assert after[0].why_began == "conversation"
        assert any(FACT in message.text for message in model.prompts[asked + 1].messages)
        assert monologue.state.name == "SETTLED"

        settled = _thoughts(model)
        await life.clock.advance(600)
        assert _thoughts(model) == settled, "what has settled is not thought again"
        found = await life.mind.memory.search("why they stay in that house", 5)
        assert any(THOUGHT.strip() in ranked.turn.text for ranked in found.turns)


def _thoughts(model: ScriptedModel) -> int:
    return sum(prompt.role is Role.MONOLOGUE for prompt in model.prompts)
