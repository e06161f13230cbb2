"""Tiers are assumed from where a model runs and how large it is, until it is tested."""

import pytest

from reveries.llm.tier import Tier, assumed_tier


@pytest.mark.parametrize(
    ("name", "tier"),
    [
        ("embedded/smollm2-135m", Tier.LOOSE),
        ("embedded/qwen2.5-coder-0.5b-instruct", Tier.SMALL),
        ("embedded/qwen2.5-coder-1.5b-instruct", Tier.SMALL),
        ("embedded/Qwen_Qwen3-4B-Instruct-2507-Q4_K_M", Tier.SMALL),
        ("embedded/Meta-Llama-3.1-8B-Instruct-Q4_K_M", Tier.CAPABLE),
        ("ollama/gemma3:270m", Tier.LOOSE),
        ("ollama/llama3.2", Tier.SMALL),
        ("ollama/qwen3:30b-a3b", Tier.CAPABLE),
        ("ollama/mixtral:8x7b", Tier.CAPABLE),
        ("embedded/mine-q8_0", Tier.SMALL),
        ("openai/gpt-4.1-mini", Tier.CAPABLE),
        ("anthropic/claude-sonnet-4-5", Tier.CAPABLE),
        ("openrouter/meta-llama/llama-3.2-1b-instruct", Tier.SMALL),
        ("scripted", Tier.SMALL),
    ],
)
def test_a_models_name_says_what_is_assumed_of_it(name: str, tier: Tier) -> None:
    assert assumed_tier(name) is tier


@pytest.mark.parametrize(("billions", "tier"), [(0.36, Tier.LOOSE), (3.2, Tier.SMALL), (7.6, Tier.CAPABLE)])
def test_a_size_that_is_known_counts_before_the_name(billions: float, tier: Tier) -> None:
    assert assumed_tier("ollama/mine-1.5b", billions) is tier
