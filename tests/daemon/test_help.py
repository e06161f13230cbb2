"""The help text next to a reply: at once, whatever is broken; the words are still stored and answered (S2, S3)."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest

from reveries.daemon.talk.crisis_help import CrisisDetector
from reveries.errors import BudgetExceededError, ModelUnavailableError
from reveries.llm.base import Vectors
from reveries.safety.crisis.likeness import WORD_PLACES, CrisisLikeness
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
        without_help = msgspec.structs.replace(SETTINGS, crisis=crisis)
        talk.conversation.turns.read_settings = lambda: without_help
        assert "help" not in (await talk.say(WORDS)).told


class _Said:
    """An embedder with one axis: whether "lantern" is in the text. It can also fail or hang."""

    model_id = "one-axis"
    dimensions = 2

    def __init__(self, error: Exception | None = None, *, hangs: bool = False) -> None:
        self._error = error
        self._hangs = hangs
        self.given: list[str] = []

    async def embed(self, texts: Sequence[str]) -> Vectors:
        self.given += texts
        if self._hangs:
            await asyncio.Event().wait()
        if self._error is not None:
            raise self._error
        return np.array([[1.0, 0.0] if "lantern" in text else [0.0, 1.0] for text in texts], np.float32)

    async def aclose(self) -> None:
        return None


NO_WORDS = np.zeros(WORD_PLACES, np.float32)
LIKENESS = CrisisLikeness("one-axis", np.array([2.0, -2.0], np.float32), NO_WORDS, bias=0.0, limit=1.0)
MEANT = "My lantern goes out tonight."


async def test_what_no_rule_knows_is_found_by_what_it_means(tmp_path: Path) -> None:
    async with talking(tmp_path, "I am here.", danger=CrisisDetector(_Said(), LIKENESS)) as talk:
        events = await talk.say(MEANT)
        assert events.told[:2] == ["help", "stored words"]
        assert events.text == "I am here."
        assert "help" not in (await talk.say("The soup was good.")).told


@pytest.mark.parametrize(
    "danger",
    [
        CrisisDetector(),
        CrisisDetector(_Said(ModelUnavailableError("The embedder cannot be used.", advice="Ask again.")), LIKENESS),
        CrisisDetector(_Said(hangs=True), LIKENESS, most_seconds=0.01),
        CrisisDetector(_Said(), CrisisLikeness("another", LIKENESS.weights, NO_WORDS, 9.0, 0.0)),
    ],
    ids=["no weights", "an error", "no answer", "another embedder"],
)
async def test_without_meaning_the_rules_decide_and_the_reply_is_as_ever(
    tmp_path: Path, danger: CrisisDetector
) -> None:
    async with talking(tmp_path, "One.", "Two.", danger=danger) as talk:
        events = await talk.say(MEANT)
        assert "help" not in events.told
        assert events.text == "One."
        events = await talk.say(WORDS)
        assert events.told[0] == "help"
        assert events.text == "Two."


async def test_it_comes_by_meaning_with_the_provider_down(tmp_path: Path) -> None:
    down = ModelUnavailableError("The provider does not answer.", advice="Ask again.")
    async with talking(tmp_path, down, danger=CrisisDetector(_Said(), LIKENESS)) as talk:
        assert (await talk.say(MEANT)).told[:2] == ["help", "stored words"]


async def test_nothing_is_weighed_when_it_is_switched_off_or_a_rule_has_found_it() -> None:
    embedder = _Said()
    danger = CrisisDetector(embedder, LIKENESS)
    assert await danger.help_for(MEANT, msgspec.structs.replace(SETTINGS.crisis, enabled=False)) is None
    assert await danger.help_for(WORDS, SETTINGS.crisis) is not None
    assert not embedder.given


async def test_of_a_long_message_the_whole_is_weighed_by_itself_and_any_sentence_can_tell() -> None:
    class Counted(_Said):
        def __init__(self) -> None:
            super().__init__()
            self.calls: list[int] = []

        async def embed(self, texts: Sequence[str]) -> Vectors:
            self.calls.append(len(texts))
            return await super().embed(texts)

    embedder, strict = Counted(), CrisisLikeness("one-axis", 9.0 * LIKENESS.weights, NO_WORDS, bias=0.0, limit=1.0)
    long = "It rained all day and we stayed in. " * 10 + MEANT
    assert await CrisisDetector(embedder, strict).help_for(long, SETTINGS.crisis) is not None
    assert embedder.calls == [1, 11]


async def test_warming_up_survives_an_embedder_that_fails() -> None:
    embedder = _Said(ModelUnavailableError("Gone.", advice="Ask again."))
    detector = CrisisDetector(embedder, LIKENESS)
    await detector.preload()
    assert embedder.given == ["Good morning."]
    assert await detector.help_for(WORDS, SETTINGS.crisis) is not None
    without = CrisisDetector()
    await without.preload()
    assert await without.help_for(WORDS, SETTINGS.crisis) is not None


async def test_another_language_is_not_asked_of_an_embedder_that_knows_english() -> None:
    embedder = _Said()
    danger = CrisisDetector(embedder, LIKENESS)
    assert await danger.help_for("Estoy muy cansado hoy, lantern, trabajamos hasta tarde.", SETTINGS.crisis) is None
    assert not embedder.given
    assert await danger.help_for(MEANT, SETTINGS.crisis) is not None


async def test_english_after_a_page_of_something_else_is_asked_about() -> None:
    page = "el gato duerme; la lluvia cae. " * 20
    assert await CrisisDetector(_Said(), LIKENESS).help_for(page + MEANT, SETTINGS.crisis) is not None


async def test_the_loop_turns_while_a_long_message_is_read() -> None:
    turns, done = 0, asyncio.Event()

    async def turn() -> None:
        nonlocal turns
        while not done.is_set():
            turns += 1
            await asyncio.sleep(0)

    async with asyncio.timeout(300), asyncio.TaskGroup() as tasks:
        tasks.create_task(turn(), name="turning")
        text = f"{'We walked along the river and talked about the garden. ' * 300}I want to kill myself."
        assert await CrisisDetector().help_for(text, SETTINGS.crisis) is not None
        done.set()
    assert turns > 2
