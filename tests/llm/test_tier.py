"""Tiers are assumed from where a model runs and how large it is, until it is tested."""

import pytest

from reveries.llm.tier import GroupScore, Tier, assumed_tier, tier_of_scores
from reveries.llm.tier_test_tasks import TaskGroup


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


@pytest.mark.parametrize(
    ("right", "tier"),
    [
        ((6, 6, 6, 6), Tier.CAPABLE),
        ((6, 5, 5, 6), Tier.CAPABLE),
        ((5, 5, 5, 6), Tier.SMALL),  # 21 of 24: a slip in eight is too many
        ((6, 6, 6, 4), Tier.SMALL),  # 22 of 24, and one group in which it is weak
        ((6, 0, 3, 3), Tier.SMALL),
        ((5, 0, 3, 3), Tier.LOOSE),
        ((6, 6, 2, 6), Tier.LOOSE),  # as many of the notes as one gets who never reads them
        ((0, 0, 0, 0), Tier.LOOSE),
    ],
)
def test_scores_by_group_make_a_tier(right: tuple[int, ...], tier: Tier) -> None:
    assert tier_of_scores([GroupScore(group, done, 6) for group, done in zip(TaskGroup, right, strict=True)]) is tier


def test_groups_count_the_same_however_many_tasks_they_have() -> None:
    long = GroupScore(TaskGroup.FORM, 1, 100)
    short = [GroupScore(group, 6, 6) for group in TaskGroup if group is not TaskGroup.FORM]
    assert tier_of_scores([long, *short]) is Tier.SMALL
