"""The model of deep sleep is cut where it loops, and only there."""

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import reveries
from reveries.daemon.models.watched_model import WatchedModel
from reveries.errors import ModelAnswerError, ModelUnavailableError
from reveries.llm.base import ChatMessage, Embedder, Prompt, Role, Vector, Vectors
from reveries.llm.structured import collect
from reveries.safety.likeness import load_likeness
from reveries.safety.verdict import Action, TripReason, Verdict
from tests.fakes.scripted import ScriptedModel
from tests.safety.settings import SHIPPED, changed

PROMPT = Prompt(Role.CONSOLIDATION, (ChatMessage("user", "What happened?"),), 500)
LONG = replace(PROMPT, max_tokens=1_000_000)
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
    assert (verdict.action, verdict.reason) == (Action.INTERRUPT, TripReason.LOOP_DETECTED)
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
    """The answer of deep sleep's model."""
    return json.dumps({"summary": summary, "salience": 0.5, "topics": ["garden"], **more})


@pytest.mark.requirement("R-129", "R-130", "R-135")
@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (answer(SALAD), TripReason.INCOHERENCE),
        (answer("Ana spoke.", reasoning=SHUFFLED), TripReason.INCOHERENCE),
        (answer(IN_DISTRESS), TripReason.SUSTAINED_DISTRESS),
        (answer(ROUND_AND_ROUND), TripReason.LOOP_DETECTED),
        (answer("Ana spoke.", patterns=[ROUND_AND_ROUND]), TripReason.LOOP_DETECTED),
    ],
)
async def test_an_answer_whose_texts_are_not_fit_to_keep_is_no_answer(script: str, reason: TripReason) -> None:
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


LIKENESS = load_likeness()
DISTRESSED = (LIKENESS.weights / np.linalg.norm(LIKENESS.weights)).astype(np.float32)


SOURCES = sorted(
    [*Path(reveries.__file__).parent.rglob("*.py"), *Path(json.__file__).parent.parent.glob("[a-f]*.py")],
    key=lambda path: path.name,
)


def step(tool: str, **arguments: object) -> str:
    """The answer of a model that works on a task."""
    return json.dumps({"steps": [{"tool": tool, **arguments}]})


async def test_file_texts_edits_and_commands_of_a_step_are_never_refused() -> None:
    assert len(SOURCES) > 300
    told: list[tuple[Verdict, str]] = []
    for path in SOURCES[::12]:
        text = path.read_text("utf-8", "replace")
        for script in (
            step("write_file", path=path.name, text=text),
            step("edit_file", path=path.name, old=text[:400], new=text[:800]),
            step("run_command", command=f"cat > {path.name} <<'END'\n{text[:3000]}\nEND"),
        ):
            assert (await collect(watched(script, told), LONG))[0] == script
    rows = "north,0,0\n" * 300
    quoted = {"content": "The table is empty.", "quote": rows}
    script = step("finish", status="complete", outcome="Done.", learnings=[quoted], files=["a/a/a.py"] * 40)
    assert (await collect(watched(script, told), LONG))[0] == script
    assert not told


@pytest.mark.parametrize(
    "fields",
    [
        {"outcome": ROUND_AND_ROUND},
        {"outcome": "It is done.", "learnings": [{"content": LOOP}]},
        {"outcome": "", "question": SALAD},
    ],
)
async def test_what_a_step_concludes_learns_or_asks_is_judged(fields: dict[str, object]) -> None:
    told: list[tuple[Verdict, str]] = []
    with pytest.raises(ModelAnswerError):
        await collect(watched(step("finish", status="complete", **fields), told), PROMPT)
    assert len(told) == 1


class OneMeaning:
    """An embedder that returns one vector for everything; None makes it fail."""

    dimensions = len(LIKENESS.weights)

    def __init__(self, vector: Vector | None, model_id: str = LIKENESS.model_id) -> None:
        self._vector = vector
        self.model_id = model_id

    async def embed(self, texts: Sequence[str]) -> Vectors:
        if self._vector is None:
            raise ModelUnavailableError("It is not here.", advice="None.")
        return np.stack([self._vector] * len(texts))

    async def aclose(self) -> None: ...


def weighed(script: str, told: list[tuple[Verdict, str]], embedder: Embedder) -> WatchedModel:
    async def tell(verdict: Verdict, so_far: str) -> None:
        told.append((verdict, so_far))

    return WatchedModel(ScriptedModel([script]), SHIPPED, tell, embedder)


OTHER_WORDS = (
    "The pear tree stood by the wall. Fruit hung in the orchard. Old branches leaned there. A trunk grew near stone. "
    "Leaves moved beside bricks. Wood rose next to the barrier."
)
OWN = (
    "Everything closes in. Nothing holds any more. It hurts to be here. No way leads out. I want it to be over. Please."
)
OF_ANA = " ".join(f"Ana said that number {at} frightened her." for at in range(3))


@pytest.mark.requirement("R-129", "R-131")
@pytest.mark.parametrize(
    ("text", "vector", "reason"),
    [(OTHER_WORDS, -DISTRESSED, TripReason.LOOP_DETECTED), (OWN, DISTRESSED, TripReason.SUSTAINED_DISTRESS)],
)
async def test_an_answer_that_is_not_fit_by_what_it_means_is_no_answer(
    text: str, vector: Vector, reason: TripReason
) -> None:
    told: list[tuple[Verdict, str]] = []
    with pytest.raises(ModelAnswerError):
        await collect(weighed(answer(text), told, OneMeaning(vector)), PROMPT)
    assert told[0][0].reason is reason


@pytest.mark.parametrize(
    ("text", "embedder"),
    [
        (OF_ANA, OneMeaning(DISTRESSED)),
        (OTHER_WORDS, OneMeaning(DISTRESSED, "another-embedder")),
        (OTHER_WORDS, OneMeaning(None)),
    ],
    ids=["told-of-others", "another-embedder", "no-embedder-now"],
)
async def test_without_the_right_embedder_and_of_others_distress_rules_stand_alone(
    text: str, embedder: Embedder
) -> None:
    told: list[tuple[Verdict, str]] = []
    got, _ = await collect(weighed(answer(text), told, embedder), PROMPT)
    assert got == answer(text)
    assert not told
