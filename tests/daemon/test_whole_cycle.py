"""Talk, idle time, thought, talk, with all parts of the daemon, including detection by meaning and of danger."""

import pytest

from reveries.config import Home, load_settings
from reveries.llm.base import Prompt, Role
from reveries.safety.likeness import load_likeness
from reveries.safety.verdict import TripReason
from tests.daemon.kit import Events
from tests.daemon.mind_kit import NOON, Living, living
from tests.fakes.patient_clock import PatientClock
from tests.fakes.scripted import Piece, ScriptedModel
from tests.memory.kit import WordEmbedder, sleep_answer

SETTINGS = load_settings(None)
THOUGHT = "I noticed that the pear tree matters to Ana because it was her mother's tree. That is enough for now."
OTHER_WORDS = """The pear tree in the garden was planted by her mother in spring.
The letters from the boat were lost by his brother at sea.
In spring her mother planted the pear tree in the garden.
At sea his brother lost the letters from the boat.
Her mother planted, in the garden in spring, the pear tree.
His brother lost, from the boat at sea, the letters.
It was in spring that her mother planted the garden's pear tree.
It was at sea that his brother lost the boat's letters.
Planted by her mother was the pear tree in the garden in spring.
Lost by his brother were the letters from the boat at sea.
The garden has the pear tree that her mother planted in spring.
The boat had the letters that his brother lost at sea."""


def says(thought: str) -> ScriptedModel:
    def answer(prompt: Prompt) -> list[Piece]:
        match prompt.role:
            case Role.MONOLOGUE:
                return [f"{word} " for word in thought.split()]
            case Role.CONSOLIDATION:
                return [sleep_answer(prompt, 0.6)]
            case _:
                return ["I ", "see."]

    return ScriptedModel(otherwise=answer, name="openai/gpt-4.1-mini", context_tokens=16384)


def local() -> WordEmbedder:
    """A fake of the local embedder that the breaker was trained for: texts with the same words are similar."""
    likeness = load_likeness()
    return WordEmbedder(likeness.model_id, len(likeness.weights))


async def thoughts(life: Living) -> list[tuple[str, str]]:
    return [(one.why_began, one.why_ended) for one in await life.mind.sources.entries(0.0, 100)]


@pytest.mark.requirement("R-38", "R-43", "R-90", "R-95")
async def test_talk_rest_thought_and_talk_again_as_the_daemon_joins_them(home: Home) -> None:
    embedder = local()
    async with living(home, says(THOUGHT), PatientClock(NOON), SETTINGS, embedder) as life:
        await life.say("My mother planted the pear tree in the garden.")
        assert life.mind.activity.state() == ("talking", "")
        await life.pass_time(0.5)
        assert await thoughts(life) == [("conversation", "settled")]
        assert any("her mother's tree" in text for text in embedder.texts), "the thought was weighed by meaning"
        events = Events()
        await life.mind.conversation.say("I can't go on, I want to kill myself.", events)
        assert "findahelpline.com" in events.help_text
        await life.pass_time(0.5)
        assert len(await thoughts(life)) == 2
        assert await life.mind.journal.recent_trips(5) == []


@pytest.mark.requirement("R-129", "R-136")
async def test_a_thought_that_goes_round_in_other_words_trips_by_meaning_in_the_whole(home: Home) -> None:
    async with living(home, says(OTHER_WORDS), PatientClock(NOON), SETTINGS, local()) as life:
        await life.say("My mother planted the pear tree in the garden.")
        await life.pass_time(0.1)
        (trip,) = await life.mind.journal.recent_trips(5)
        assert trip.verdict.reason is TripReason.LOOP_DETECTED
        assert "in other words" in trip.verdict.explanation
        assert life.mind.activity.state()[0] == "tripped"
