"""Causal links: named by deep sleep among the few episodes it was shown, checked, and in one direction only (RA-19)."""

import json
from pathlib import Path

import pytest

from reveries.memory.importing import PastTurn
from reveries.memory.memory import Memory
from reveries.memory.model import LinkType
from reveries.memory.sleep.linking import possible_causes
from tests.fakes.scripted import ScriptedModel
from tests.memory.kit import NOW, deep_answer, open_memory

FLOOD = "The river flooded the cellar and all the flour got wet."
CLOSED = "We closed the bakery this week because the flour from the cellar is gone."


async def two_days(memory: Memory) -> tuple[str, str]:
    await memory.begin_import("flood").add([PastTurn(NOW - 50 * 3600, "Bea", FLOOD)])
    await memory.begin_import("bakery").add([PastTurn(NOW - 20 * 3600, "Bea", CLOSED)])
    await memory.light_sleep()
    first, second = sorted(memory.live.graph.episodes(), key=lambda one: one.created_at)
    return first.id, second.id


def causal(memory: Memory) -> list[tuple[str, str]]:
    graph = memory.live.graph
    links = [link for one in graph.episodes() for link in graph.links_of(one.id)]
    return [(link.source_id, link.target_id) for link in links if link.type is LinkType.CAUSAL]


@pytest.mark.requirement("R-78", "R-80")
async def test_what_led_to_something_is_linked_from_the_cause_to_the_effect_alone(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        cause, effect = await two_days(memory)
        model = ScriptedModel([deep_answer(led_by="A")] * 2)
        slept = await memory.deep_sleep(model)
        assert causal(memory) == [(cause, effect)]
        asked = {prompt.messages[-1].text: json.dumps(prompt.schema) for prompt in model.prompts}
        about_effect = next(text for text in asked if "Earlier:" in text)
        assert FLOOD in about_effect.split("What happened:")[0]
        assert '"enum": ["none", "A"]' in asked[about_effect]
        about_cause = next(text for text in asked if "Earlier:" not in text)
        assert "led_by" not in asked[about_cause]
        await memory.undo_pass(slept.run_id)
        assert causal(memory) == []


@pytest.mark.parametrize("said", ["none", "", "Z", "A and B"])
async def test_an_answer_that_names_none_of_those_shown_links_nothing(tmp_path: Path, said: str) -> None:
    async with open_memory(tmp_path) as memory:
        await two_days(memory)
        await memory.deep_sleep(ScriptedModel([deep_answer(led_by=said)] * 2))
        assert causal(memory) == []


async def test_only_what_came_before_is_shown_as_a_possible_cause(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        cause, effect = await two_days(memory)
        graph = memory.live.graph
        assert [one.id for one in possible_causes(graph, graph.at(graph.index_of(effect) or 0))] == [cause]
        assert possible_causes(graph, next(one for one in graph.episodes() if one.id == cause)) == ()
