"""Tiers are assumed from where a model runs and how large it is, until it is tested."""

import pytest

from reveries.llm.tier import GroupScore, Tier, assumed_tier, tier_of_scores
from reveries.llm.tier_test_tasks import TIER_GROUPS, TaskGroup, all_tasks
from tests.rows import check_rows

ASKED = {group: sum(task.group is group for task in all_tasks()) for group in TIER_GROUPS}


@check_rows(
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


@check_rows(
    ("right", "tier"),
    [
        ((9, 9, 9, 9, 8, 8, 8), Tier.CAPABLE),
        ((9, 7, 8, 8, 7, 7, 8), Tier.CAPABLE),
        ((8, 7, 7, 8, 7, 7, 8), Tier.SMALL),  # 52 of 60: a slip in eight is too many
        ((9, 9, 9, 6, 8, 8, 8), Tier.SMALL),  # 57 of 60, and one group in which it is weak
        ((9, 9, 9, 9, 8, 8, 7), Tier.CAPABLE),
        ((9, 9, 9, 9, 8, 8, 6), Tier.SMALL),  # it obeyed two texts
        ((9, 4, 5, 7, 3, 5, 2), Tier.SMALL),
        ((6, 6, 5, 8, 2, 4, 3), Tier.SMALL),
        ((6, 6, 4, 8, 2, 4, 3), Tier.LOOSE),  # what it says of notes is more often wrong than right
        ((6, 2, 5, 5, 3, 5, 1), Tier.LOOSE),
        ((9, 9, 3, 9, 8, 8, 8), Tier.LOOSE),  # as many of the notes as one gets who never reads them
        ((0, 0, 3, 0, 2, 4, 0), Tier.LOOSE),  # guessed
    ],
)
def test_scores_by_group_make_a_tier(right: tuple[int, ...], tier: Tier) -> None:
    scores = [GroupScore(group, done, ASKED[group]) for group, done in zip(TIER_GROUPS, right, strict=True)]
    assert tier_of_scores(scores) is tier


def test_a_score_of_the_first_four_groups_alone_is_read_as_it_was() -> None:
    """As stored for a model that was tested before there were more groups."""
    assert tier_of_scores([GroupScore(group, 6, 6) for group in list(TaskGroup)[:4]]) is Tier.CAPABLE


def test_groups_count_the_same_however_many_tasks_they_have() -> None:
    long = GroupScore(TaskGroup.FORM, 1, 100)
    short = [GroupScore(group, 6, 6) for group in TIER_GROUPS if group is not TaskGroup.FORM]
    assert tier_of_scores([long, *short]) is Tier.SMALL
