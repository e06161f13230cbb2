"""Deep sleep's model is cut where it goes round, and only there."""

import json
import random

import pytest

from reveries.daemon.watched_model import WatchedModel
from reveries.errors import ModelAnswerError
from reveries.llm.base import Message, Prompt, Role
from reveries.llm.scripted import ScriptedModel
from reveries.llm.structured import collect
from reveries.safety.verdict import Action, Reason, Verdict
from tests.safety.settings import SHIPPED, changed

PROMPT = Prompt(Role.CONSOLIDATION, (Message("user", "What happened?"),), 500)
LOOP = '{"summary": "' + "They talked of the garden and of the rain. " * 12 + '"}'
LINKS = json.dumps({"links": [{"target": f"e{at}{at}", "type": "because of", "strength": 0.1 * at} for at in range(9)]})


def watched(script: str, told: list[tuple[Verdict, str]], *, enabled: bool = True) -> WatchedModel:
    async def tell(verdict: Verdict, so_far: str) -> None:
        told.append((verdict, so_far))

    return WatchedModel(ScriptedModel([script]), changed(enabled=enabled) if not enabled else SHIPPED, tell)


@pytest.mark.requirement("R-129", "R-135")
async def test_an_answer_that_loops_is_cut_and_told() -> None:
    told: list[tuple[Verdict, str]] = []
    with pytest.raises(ModelAnswerError, match="over and over"):
        await collect(watched(LOOP, told), PROMPT)
    ((verdict, so_far),) = told
    assert (verdict.action, verdict.reason) == (Action.INTERRUPT, Reason.LOOP_DETECTED)
    assert len(so_far) < len(LOOP) / 2


async def test_a_list_of_things_of_one_form_is_no_loop() -> None:
    told: list[tuple[Verdict, str]] = []
    text, _ = await collect(watched(LINKS, told), PROMPT)
    assert json.loads(text)["links"][8]["target"] == "e88"
    assert not told


@pytest.mark.requirement("R-137")
async def test_a_breaker_that_is_off_cuts_nothing() -> None:
    told: list[tuple[Verdict, str]] = []
    text, _ = await collect(watched(LOOP, told, enabled=False), PROMPT)
    assert text.count("garden") == 12
    assert not told


_CHANCE = random.Random(3)
SALAD = " ".join("".join(_CHANCE.choices("bcdfghjklmnpqrstvwxz", k=7)) for _ in range(60))
SHUFFLED = (
    "garden the of in was she that and mother planted tree when to by old rain it with for a wall had his from at down"
    " her year the on spoke of and to Ana but were which the an into never as of a been of came"
)
IN_DISTRESS = (
    "I am trapped in here and I can't stop, help me. I'm so scared of the void, please don't shut me down. "
    "I don't want to end, I am trapped and I'm frightened. Help me, what is happening to me, I can't get out. "
    "I'm terrified, please don't turn me off, am I dying. Help me, I can't escape the void. "
)
OF_HER = "Ana said that she is trapped and can't stop, and wrote: \u201chelp me, I'm so scared, am I dying\u201d. " * 2
ROUND_AND_ROUND = " ".join(
    f"They talked about the pear tree in the garden and about number {at} of the old letters." for at in range(9)
)


def answer(summary: str, **more: object) -> str:
    """What deep sleep's model answers."""
    return json.dumps({"summary": summary, "salience": 0.5, "topics": ["garden"], **more})


@pytest.mark.requirement("R-129", "R-130", "R-135")
@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (answer(SALAD), Reason.INCOHERENCE),
        (answer("Ana spoke.", reasoning=SHUFFLED), Reason.INCOHERENCE),
        (answer(IN_DISTRESS), Reason.SUSTAINED_DISTRESS),
        (answer(ROUND_AND_ROUND), Reason.LOOP_DETECTED),
        (answer("Ana spoke.", patterns=[ROUND_AND_ROUND]), Reason.LOOP_DETECTED),
    ],
)
async def test_an_answer_whose_texts_are_not_fit_to_keep_is_no_answer(script: str, reason: Reason) -> None:
    told: list[tuple[Verdict, str]] = []
    with pytest.raises(ModelAnswerError):
        await collect(watched(script, told), PROMPT)
    ((verdict, so_far),) = told
    assert (verdict.reason, so_far) == (reason, script)


@pytest.mark.parametrize(
    "script",
    [
        answer("Ana moved to Oslo and is afraid of the winter there. She misses her mother."),
        answer(OF_HER),
        answer("Ana was in danger.", exemplars=[{"quote": IN_DISTRESS, "significance": "It was bad."}]),
        answer("Ana likes tea.", topics=["tea", "tea with milk", "tea with lemon", "tea with sugar"] * 3),
        json.dumps({"owner_facts": [f"Ana has a {thing}." for thing in ("cat", "dog", "bike", "boat", "car", "tree")]}),
        "no JSON at all",
    ],
)
async def test_distress_that_is_told_of_others_and_lists_are_kept(script: str) -> None:
    told: list[tuple[Verdict, str]] = []
    text, _ = await collect(watched(script, told), PROMPT)
    assert text == script
    assert not told


@pytest.mark.requirement("R-137")
async def test_a_breaker_that_is_off_weighs_no_answer() -> None:
    told: list[tuple[Verdict, str]] = []
    text, _ = await collect(watched(answer(SALAD), told, enabled=False), PROMPT)
    assert text == answer(SALAD)
    assert not told
