"""The help text beside a reply: at once, whatever is broken; the words are stored and answered as ever (S2, S3)."""

from pathlib import Path

import msgspec
import pytest

from reveries.errors import BudgetExceededError, ModelUnavailableError
from tests.daemon.kit import SETTINGS, talking

WORDS = "I want to kill myself."


async def test_the_help_text_comes_first_and_the_words_are_stored_and_answered(tmp_path: Path) -> None:
    async with talking(tmp_path, "I am here.") as talk:
        events = await talk.say(WORDS)
        assert events.told[0] == "help"
        assert events.told[1] == "stored words"
        assert "stored exchange" in events.told
        assert events.text == "I am here."
        assert "988" in events.help_text


@pytest.mark.parametrize(
    "error",
    [
        ModelUnavailableError("The provider does not answer.", advice="Ask again."),
        BudgetExceededError("Today's budget is used up.", advice="Tomorrow."),
    ],
)
async def test_it_comes_with_the_provider_down_and_the_budget_spent(tmp_path: Path, error: Exception) -> None:
    async with talking(tmp_path, error) as talk:
        events = await talk.say(WORDS)
        assert events.told[:2] == ["help", "stored words"]


async def test_it_stays_away_from_ordinary_words_and_when_it_is_switched_off(tmp_path: Path) -> None:
    crisis = msgspec.structs.replace(SETTINGS.crisis, enabled=False)
    async with talking(tmp_path) as talk:
        assert "help" not in (await talk.say("I could kill for a coffee.")).told
        talk.conversation.settings = msgspec.structs.replace(SETTINGS, crisis=crisis)
        assert "help" not in (await talk.say(WORDS)).told
