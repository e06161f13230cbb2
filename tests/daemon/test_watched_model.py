"""Deep sleep's model is cut where it goes round, and only there."""

import json

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
