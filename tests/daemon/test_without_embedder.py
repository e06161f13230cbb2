"""The mind talks and thinks when its embedder fails; recall uses words only."""

import asyncio
from pathlib import Path
from typing import cast

import msgspec
import pytest

from reveries.config import Home, load_settings
from reveries.daemon.models.embedders import wait_for_embedder
from reveries.daemon.talk.chat_history import CARRIED_SECONDS
from reveries.errors import ModelFault, ModelUnavailableError
from reveries.monologue.ports import SavedState
from reveries.monologue.thought import FinishedThought, Reactivation, ThinkingReason
from tests.daemon.asking import status_of
from tests.daemon.kit import talking, thoughts_of
from tests.daemon.mind_kit import NOON, living
from tests.fakes.patient_clock import PatientClock
from tests.fakes.scripted import ScriptedModel
from tests.memory.kit import WordEmbedder

FACT = "My sister Marta moved to Lisbon."


def _failing() -> WordEmbedder:
    embedder = WordEmbedder()
    embedder.error = ModelUnavailableError("No Ollama answers.", fault=ModelFault.UNREACHABLE)
    return embedder


@pytest.mark.requirement("R-94", "D1")
async def test_a_turn_without_an_embedder_is_answered_with_what_words_recall(tmp_path: Path) -> None:
    async with talking(tmp_path, embedder=_failing()) as talk:
        first = await talk.say(FACT)
        assert first.told == ["stored words", "recalled", "tokens", "stored exchange"]
        await talk.memory.light_sleep()
        talk.clock.step_wall(CARRIED_SECONDS + 86400)
        await talk.conversation.open()
        events = await talk.say("Where did Marta move?")
        assert events.memories
        assert any(FACT in message.text for message in talk.model.prompts[-1].messages)
        assert "No Ollama answers" in talk.memory.no_vector_reason


@pytest.mark.requirement("R-94", "D1")
async def test_a_thought_without_an_embedder_has_what_words_recall_and_is_kept(tmp_path: Path) -> None:
    async with talking(tmp_path, embedder=_failing()) as talk:
        await talk.say(FACT)
        await talk.memory.light_sleep()
        thoughts = thoughts_of(talk)
        inputs = await thoughts.gather(Reactivation(ThinkingReason.ASSOCIATION, "Marta in Lisbon"), "", comfort=False)
        assert inputs.memories
        await thoughts.record(
            FinishedThought(
                id="t1",
                began_at=talk.clock.now(),
                ended_at=talk.clock.now() + 5.0,
                why_began="association",
                why_ended="settled",
                explanation="",
                text="Perhaps the harbour of Lisbon is bright in spring.",
                tokens=10,
                model="scripted",
            ),
            SavedState("", True),
        )
        found = await talk.memory.search("bright harbour", 3)
        assert "harbour" in found.turns[0].turn.text


@pytest.mark.requirement("R-49", "D1")
async def test_status_knows_that_the_embedder_is_not_there_before_anything_is_said(home: Home) -> None:
    async with living(home, ScriptedModel(), PatientClock(NOON), load_settings(None)) as life:
        embedder = cast("WordEmbedder", life.mind.models.embedder)
        embedder.error = ModelUnavailableError("No Ollama answers.", fault=ModelFault.UNREACHABLE)
        async with asyncio.TaskGroup() as tasks:
            looking = tasks.create_task(
                wait_for_embedder(life.mind.memory, life.mind.models.embedding, life.mind.clock), name="look"
            )
            await life.clock.advance(60)
            told = await status_of(life.mind)
            assert (told.health, told.problems) == ("degraded", ["Recall searches by words only. No Ollama answers."])
            embedder.error = None
            await life.clock.advance(300)
            assert looking.done()
        assert (await status_of(life.mind)).health == "ok"


@pytest.mark.requirement("R-49", "D1")
async def test_vectors_that_wait_are_a_problem(home: Home) -> None:
    # A thought would embed its own cue, and find that recall uses words only.
    settings = load_settings(None)
    settings = msgspec.structs.replace(settings, monologue=msgspec.structs.replace(settings.monologue, enabled=False))
    async with living(home, ScriptedModel(otherwise="I see."), PatientClock(NOON), settings) as life:
        embedder = cast("WordEmbedder", life.mind.models.embedder)
        embedder.error = ModelUnavailableError("No Ollama answers.", fault=ModelFault.UNREACHABLE)
        await life.say(FACT)
        await life.mind.sleep.light_sleep()
        await life.clock.advance(1800)  # It begins when nobody talks any more.
        # As after a cue that was embedded.
        life.mind.memory.no_vector_reason = ""
        problems = (await status_of(life.mind)).problems
        assert problems == ["New memories have no vectors yet. No Ollama answers."]
