"""Turns off the record leave nothing on the disk, and nothing of them is recalled."""

import json
import logging
from pathlib import Path

import msgspec
import pytest

from reveries.config import Home, load_settings
from reveries.daemon.process.logs import log_to
from reveries.daemon.talk.capable_talk import OFF_RECORD_NOTE
from reveries.daemon.talk.crisis_help import CrisisDetector
from reveries.errors import ModelUnavailableError
from reveries.llm.tier import Tier
from tests.daemon.kit import SETTINGS, Events, talking
from tests.daemon.mind_kit import NOON, living
from tests.fakes.patient_clock import PatientClock
from tests.fakes.scripted import ScriptedModel
from tests.memory.kit import WordEmbedder

SECRET = "Quibblewort"
ANSWER = "Zanzibarium"
WORDS = f"Between us: I hid the ring in the {SECRET} vase."


def traces(folder: Path, *words: str) -> list[str]:
    """Return the files that contain one of the words, in any case and in likely encodings."""
    wanted = [form for word in words for form in (word.lower().encode(), word.lower().encode("utf-16-le"))]
    files = [file for file in folder.rglob("*") if file.is_file()]
    return [file.name for file in files if any(form in file.read_bytes().lower() for form in wanted)]


@pytest.mark.requirement("F10")
async def test_nothing_of_it_is_in_the_home_after_rest_sleep_backup_and_snapshot(home: Home) -> None:
    model = ScriptedModel(
        ["Good to hear.", f"Then the {ANSWER} is safe.", "It is quiet."], otherwise="So it goes, and I let it be."
    )
    home.create()
    with log_to(home.logs, "debug"):
        logging.getLogger("test").debug("the log is written")
        async with living(home, model, PatientClock(NOON), load_settings(None)) as life:
            await life.say("My sister Marta moved to Lisbon in May.")
            whispered = await life.mind.conversation.say(WORDS, events := Events(), off_record=True)
            assert ANSWER in events.text
            assert (whispered.owner_turn, whispered.reply_turn) == (None, None)
            await life.say("What is it like outside?")
            await life.pass_time(9)
            await life.mind.sleep.consolidate(None, trigger="owner")
            await life.mind.sleep.save_snapshot_if_idle()
            await life.mind.backups.back_up()
            found = await life.mind.memory.search(SECRET, 20)
            assert not [turn for turn in found.turns if SECRET in turn.turn.text]
    assert [prompt for prompt in model.prompts if SECRET in prompt.messages[-1].text]
    assert list(home.backups.glob("*.db"))
    assert traces(home.path, "Lisbon")
    assert traces(home.path, SECRET, ANSWER) == []


async def test_no_later_prompt_holds_it(tmp_path: Path) -> None:
    async with talking(tmp_path, "One.", ANSWER, "Three.") as talk:
        await talk.say("first")
        await talk.conversation.say(WORDS, Events(), off_record=True)
        await talk.say("third")
        said = [" ".join(message.text for message in prompt.messages) for prompt in talk.model.prompts]
        assert "first" in said[1]
        assert SECRET in said[1]
        assert SECRET not in said[2]
        assert ANSWER not in said[2]
        assert [turn.text for turn in talk.around.turns] == ["first", "One.", "third", "Three."]


async def test_a_capable_model_knows_that_it_will_not_remember_these_words_and_only_these(tmp_path: Path) -> None:
    async with talking(tmp_path, "One.", ANSWER, "Three.", tier=Tier.CAPABLE) as talk:
        for words, is_private in (("first", False), (WORDS, True), ("third", False)):
            await talk.conversation.say(words, Events(), off_record=is_private)
        said = ["\n".join(message.text for message in prompt.messages) for prompt in talk.model.prompts]
        assert [OFF_RECORD_NOTE in text for text in said] == [False, True, False]


async def test_nobody_is_told_that_anything_was_stored(tmp_path: Path) -> None:
    async with talking(tmp_path, "One.", ANSWER) as talk:
        await talk.say("first")
        before = talk.conversation.last_turns.of(talk.conversation.conversation_id)
        await talk.conversation.say(WORDS, events := Events(), off_record=True)
        assert events.told == ["recalled", "tokens"]
        assert talk.conversation.last_turns.of(talk.conversation.conversation_id) is before


async def test_it_recalls_as_any_turn_does_and_strengthens_nothing(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.say("My sister Marta moved to Lisbon in May.")
        await talk.memory.light_sleep()
        talk.clock.step_wall(20 * 86400)
        await talk.conversation.open()
        counts = await _access_counts(talk.memory)
        await talk.conversation.say("Where does Marta live?", events := Events(), off_record=True)
        assert events.recall is not None
        assert events.recall.turns
        assert await _access_counts(talk.memory) == counts


async def _access_counts(memory: object) -> list[int]:
    from reveries.memory.memory import Memory

    assert isinstance(memory, Memory)
    found = await memory.search("Marta", 20)
    return [item.episode.access_count for item in found.episodes]


async def test_a_mind_that_rested_rests_still_and_thinking_goes_on(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.conversation.say(WORDS, Events(), off_record=True)
        assert talk.conversation.is_resting
        assert not talk.conversation.is_talking
        assert (talk.around.began, talk.around.off_record, talk.around.rested) == (1, 1, [])


async def test_what_a_failing_provider_quotes_is_not_logged(home: Home) -> None:
    home.create()
    with log_to(home.logs, "debug"):
        async with talking(home.path, ModelUnavailableError(f"It refused {SECRET}.")) as talk:
            result = await talk.conversation.say(WORDS, Events(), off_record=True)
            assert result.draft.reason == "failed"
            assert SECRET in result.draft.explanation
    events = [json.loads(row)["event"] for row in (home.logs / "daemon.log").read_text().splitlines()]
    assert "reply.failed" in events
    assert traces(home.path, SECRET) == []


async def test_a_reply_that_loops_is_cut_and_not_kept(tmp_path: Path) -> None:
    async with talking(tmp_path, f"The {ANSWER} is here for you. " * 60) as talk:
        result = await talk.conversation.say(WORDS, Events(), off_record=True)
        assert result.draft.reason == "tripped"
        assert talk.around.trips == []


async def test_who_may_be_in_danger_is_shown_help_here_too(tmp_path: Path) -> None:
    async with talking(tmp_path, danger=CrisisDetector()) as talk:
        await talk.conversation.say("I want to kill myself.", events := Events(), off_record=True)
        assert events.help_text


async def test_an_embedder_elsewhere_does_not_hear_it(tmp_path: Path) -> None:
    elsewhere = msgspec.structs.replace(
        SETTINGS, llm=msgspec.structs.replace(SETTINGS.llm, embedding_model="openai/text-embedding-3-small")
    )
    for settings, hears in ((SETTINGS, True), (elsewhere, False)):
        embedder = WordEmbedder()
        (folder := tmp_path / str(hears)).mkdir()
        async with talking(folder, settings=settings, embedder=embedder) as talk:
            await talk.conversation.say(WORDS, Events(), off_record=True)
            assert any(SECRET.lower() in text.lower() for text in embedder.texts) is hears
