"""How long a reply may be, and what is said of one that was cut."""

from pathlib import Path

import msgspec
import pytest

from reveries import protocol
from reveries.llm.prices import price_of
from reveries.llm.reply_length import reply_tokens_for
from reveries.llm.tier import Tier
from reveries.memory.model import Origin
from tests.daemon.asking import ask
from tests.daemon.kit import SETTINGS, Events, small, talking


@pytest.mark.parametrize(
    ("setting", "name", "tier", "context", "tokens"),
    [
        (0, "anthropic/claude-sonnet-4-5", Tier.CAPABLE, 200_000, 4000),
        (0, "openai/gpt-4.1-nano", Tier.SMALL, 128_000, 4000),
        (0, "ollama/qwen3:14b", Tier.CAPABLE, 32_768, 2000),
        (0, "ollama/qwen3:14b", Tier.CAPABLE, 4096, 1024),
        (0, "embedded/qwen2.5-1.5b", Tier.SMALL, 8192, 512),
        (0, "embedded/smollm2-135m", Tier.LOOSE, 2048, 512),
        (300, "anthropic/claude-sonnet-4-5", Tier.CAPABLE, 200_000, 300),
    ],
)
def test_a_reply_is_as_long_as_suits_the_model_unless_the_owner_chose(
    setting: int, name: str, tier: Tier, context: int, tokens: int
) -> None:
    assert reply_tokens_for(setting, name, price_of(name), tier, context, 1.0) == tokens


def test_a_reply_is_no_longer_than_the_money_of_a_day_allows() -> None:
    def tokens(name: str, dollars_per_day: float) -> int:
        return reply_tokens_for(0, name, price_of(name), Tier.CAPABLE, 16_384, dollars_per_day)

    assert tokens("anthropic/claude-sonnet-4-5", 1.0) == 4000
    assert tokens("openai/a-name-without-a-price", 1.0) == 512, "else the first call would be refused"
    assert tokens("openai/a-name-without-a-price", 10.0) == 4000
    assert tokens("ollama/qwen3:14b", 0.0) == 2000


async def test_a_capable_model_is_asked_for_a_long_reply_and_the_prompt_leaves_room_for_it(tmp_path: Path) -> None:
    async with talking(tmp_path, tier=Tier.CAPABLE, context_tokens=16_384) as talk:
        await talk.say("Write me the whole letter, please.")
        assert talk.model.prompts[-1].max_tokens == 2000
        told = await ask(talk, protocol.AskContext(1))
        assert isinstance(told, protocol.ToldContext)
        assert told.reply_tokens == 2000


@pytest.mark.parametrize(("of_all", "of_talk"), [(10.0, 0.05), (0.05, 10.0)])
async def test_the_smaller_limit_of_a_day_decides_how_long_a_reply_may_be(
    tmp_path: Path, of_all: float, of_talk: float
) -> None:
    """Else a reply is reserved that the limit refuses, and the owner gets none."""
    talk_budget = msgspec.structs.replace(SETTINGS.budget.conversation, dollars_per_day=of_talk)
    budget = msgspec.structs.replace(SETTINGS.budget, dollars_per_day=of_all, conversation=talk_budget)
    settings = msgspec.structs.replace(SETTINGS, budget=budget)
    async with talking(tmp_path, settings=settings, tier=Tier.CAPABLE, context_tokens=16_384) as talk:
        talk.model._name = "anthropic/claude-sonnet-4-5"
        await talk.say("Write me the whole letter, please.")
        assert talk.model.prompts[-1].max_tokens == int(0.05 / 4 / 15e-6), "a quarter of the smaller limit"


async def test_a_reply_that_was_cut_at_its_length_says_so_and_is_stored_as_cut(tmp_path: Path) -> None:
    long = " ".join(f"word{number}" for number in range(100))
    async with talking(tmp_path, long, settings=small()) as talk:
        result = await talk.conversation.say("Tell me everything.", Events())
        assert result.draft.reason == "length"
        assert "cut here" in result.draft.explanation
        assert "go on" in result.draft.explanation
        reply = talk.around.turns[-1]
        assert (reply.origin, reply.is_partial) == (Origin.SELF, True)
        assert reply.text.endswith("word63")
        await talk.say("Thank you.")
        assert not talk.around.turns[-1].is_partial
