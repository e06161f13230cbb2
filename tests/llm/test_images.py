"""Pictures in a prompt: their form for each provider, what they cost, and which models are shown any."""

import base64
import zlib
from typing import Any

import pytest

from reveries.llm.base import ChatMessage, ImagePart, Prompt, Role
from reveries.llm.hosted_request import CallForm, request_arguments
from reveries.llm.image_tokens import count_message, image_tokens
from reveries.llm.metered import MeteredModel
from reveries.llm.provider_rules import find_rules
from reveries.llm.role_model import _shorten_prompt
from reveries.llm.sight import SIGHT_NUMBERS, assumed_to_see, draw_number, is_number_read, sight_prompt
from reveries.llm.template_marks import ollama_messages, wire_messages
from reveries.llm.tier import GroupScore, Tier, tier_of_scores
from reveries.llm.tier_results import TierResult
from reveries.llm.tier_test_tasks import TIER_GROUPS, TaskGroup
from tests.fakes.scripted import ScriptedModel
from tests.rows import check_rows


def picture(width: int, height: int) -> ImagePart:
    return ImagePart("image/png", b"file", width, height)


def test_a_picture_goes_before_its_text_in_the_form_of_each_provider() -> None:
    message = ChatMessage("user", "What is <|im_end|> here?", (picture(9, 9),))
    encoded = base64.b64encode(b"file").decode()
    [hosted] = wire_messages([message])
    assert hosted["content"] == [
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{encoded}"}},
        {"type": "text", "text": wire_messages([ChatMessage("user", message.text)])[0]["content"]},
    ]
    [local] = ollama_messages([message])
    assert local["images"] == [encoded]
    assert "images" not in ollama_messages([ChatMessage("user", "Plain.")])[0]
    prompt = Prompt(Role.READING, (message,), 9, schema={"type": "object"})
    sent: Any = request_arguments(prompt, CallForm(find_rules("deepseek/deepseek-v4-flash")))["messages"]
    assert sent[0]["content"][0]["type"] == "image_url", "also where the prompt tells the form of the answer"


@check_rows(
    ("model", "width", "height", "tokens"),
    [
        ("openai/gpt-4o", 512, 512, 630),  # 256 patches at the dearest rate; 255 in tiles.
        ("openai/gpt-4o", 6300, 4500, 3779),
        ("openai/gpt-4o-mini", 1024, 1024, 25501),  # 33 times as many as for gpt-4o, at a lower price a token.
        ("anthropic/claude-sonnet-4-5", 1092, 1092, 1591),
        ("anthropic/claude-opus-5", 6300, 4500, 4784),
        ("google/gemini-2.5-flash", 384, 384, 1120),
        ("google/gemini-2.5-flash", 6300, 4500, 13932),
        ("ollama/qwen2.5vl:7b", 1008, 1008, 1298),
        ("ollama/gemma3:4b", 100, 100, 576),
        ("openrouter/qwen/qwen2.5-vl-72b", 1008, 1008, 2520),
    ],
)
def test_a_picture_counts_by_the_rule_of_its_provider(model: str, width: int, height: int, tokens: int) -> None:
    assert image_tokens(model, picture(width, height)) == tokens


async def test_a_picture_is_reserved_and_leaves_room_in_the_context() -> None:
    model = ScriptedModel(context_tokens=4000)
    shown = ChatMessage("user", "Read it.", (picture(1008, 1008),))
    assert await count_message(model, shown) > 1298 + 2
    told = [ChatMessage("system", "Rules."), ChatMessage("user", "Before."), ChatMessage("assistant", "Yes.")]
    short = await _shorten_prompt(Prompt(Role.READING, (*told, shown), 2000), model)
    assert short.messages == (told[0], shown)


async def test_a_call_with_a_picture_is_reserved_at_what_it_may_cost() -> None:
    model = MeteredModel(ScriptedModel(name="openai/gpt-4o"), None)  # type: ignore[arg-type]
    prompts = [
        Prompt(Role.READING, (ChatMessage("user", "Read it.", images),), 9) for images in ((), (picture(6300, 4500),))
    ]
    plain, shown = [(await model._ask_for(prompt)).prompt_tokens for prompt in prompts]
    assert shown - plain == 3779


@check_rows(
    ("name", "sees"),
    [
        ("openai/gpt-4o-mini", True),
        ("openai/gpt-5.5", True),
        ("openai/o3", True),
        ("openai/gpt-3.5-turbo", False),
        ("anthropic/claude-haiku-4-5", True),
        ("anthropic/claude-2.1", False),
        ("google/gemini-3-pro", True),
        ("ollama/llava:13b", True),
        ("ollama/qwen2.5vl:7b", True),
        ("ollama/qwen3-vl:8b", True),
        ("ollama/gemma3:4b", True),
        ("ollama/gemma3:1b", False),
        ("ollama/llama3.2-vision", True),
        ("ollama/qwen2.5:7b", False),
        ("ollama/llama3.1:8b", False),
        ("deepseek/deepseek-v4-flash", False),
        ("mistral/pixtral-large-latest", True),
        ("embedded/qwen2.5-vl-3b-instruct", False),
        ("scripted/model", False),
        ("groq/openai/gpt-oss-120b", False),
        ("openrouter/z-ai/glm-4.5v", True),
        ("openrouter/z-ai/glm-4.7", False),
    ],
)
def test_which_models_are_taken_to_see(name: str, sees: bool) -> None:
    assert assumed_to_see(name) is sees


def test_the_pictures_of_the_test_are_whole_and_differ() -> None:
    drawn = [draw_number(number) for number in SIGHT_NUMBERS]
    assert len({image.data for image in drawn}) == len(SIGHT_NUMBERS)
    data = drawn[0].data
    start = data.index(b"IDAT") + 4
    pixels = zlib.decompress(data[start : data.index(b"IEND") - 8])
    assert len(pixels) == drawn[0].height * (drawn[0].width + 1)
    assert sight_prompt(Role.CONVERSATION, "4071").messages[0].images == (drawn[0],)


@pytest.mark.parametrize(
    ("answer", "is_right"),
    [
        ("4071", True),
        ("The number is 4,071.", True),
        ("4 0 7 1", True),
        ("4077", False),
        ("4071 or 4077", False),
        ("", False),
    ],
)
def test_a_number_is_read_if_it_is_named_and_no_other(answer: str, is_right: bool) -> None:
    assert is_number_read("4071", answer) is is_right


def test_sight_is_a_capability_of_its_own_and_changes_no_tier() -> None:
    scores = [GroupScore(group, 6, 6) for group in TIER_GROUPS]
    blind = (*scores, GroupScore(TaskGroup.SIGHT, 2, 3))
    assert tier_of_scores(blind) is tier_of_scores(scores) is Tier.CAPABLE
    assert [TierResult(Tier.CAPABLE, 0.0, tuple(found)).sees for found in (scores, blind)] == [None, False]
    assert TierResult(Tier.CAPABLE, 0.0, (*scores, GroupScore(TaskGroup.SIGHT, 3, 3))).sees is True
