"""A turn from the words to the stored reply, and when the conversation becomes idle."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reveries.daemon.talk.prompt_memories import PromptMemory
from reveries.errors import ModelUnavailableError
from reveries.llm.base import ChatMessage, Prompt
from reveries.llm.tier import Tier
from reveries.memory.model import Origin, Recall, RecallContext
from tests.daemon.kit import Events, small, talking, until
from tests.fakes.scripted import Pause

FACT = "My sister Marta moved to Lisbon in May."


@pytest.mark.requirement("R-88", "R-92", "A1")
async def test_the_words_are_stored_before_the_model_is_asked_and_the_reply_before_the_end(tmp_path: Path) -> None:
    async with talking(tmp_path, "How is she settling in?") as talk:
        events = await talk.say(FACT)
        assert events.told == ["stored words", "recalled", "tokens", "stored exchange"]
        assert events.text == "How is she settling in?"
        assert [turn.text for turn in talk.around.turns] == [FACT, "How is she settling in?"]
        assert [turn.origin for turn in talk.around.turns] == [Origin.OWNER, Origin.SELF]
        assert talk.around.began == 1


@pytest.mark.requirement("R-88", "R-90", "R-127")
async def test_the_reply_is_asked_for_with_what_was_recalled_and_thought(tmp_path: Path) -> None:
    async with talking(tmp_path, tier=Tier.CAPABLE) as talk:
        await talk.say(FACT)
        await talk.memory.light_sleep()
        talk.clock.step_wall(20 * 86400)
        await talk.conversation.open()
        talk.around.thought = "They may miss her."
        events = await talk.say("I wonder how Marta is since she moved.")
        *before, asked = talk.model.prompts[-1].messages
        assert any(FACT in message.text and message.role == "user" for message in before)
        assert before[-1] == ChatMessage("assistant", "They may miss her.")
        assert asked.text.endswith("]\nI wonder how Marta is since she moved.")
        assert events.recall is not None
        assert events.memories


PLAIN_LINE = (
    "You are Reverie, a warm and attentive companion who lives on this person's computer. "
    "Be helpful, concrete and brief."
)


@pytest.mark.parametrize("tier", [Tier.LOOSE, Tier.SMALL])
async def test_a_small_model_reads_a_plain_chat_over_the_days_and_nothing_beside_it(tmp_path: Path, tier: Tier) -> None:
    async with talking(tmp_path, "One.", "Two.", "Three.", tier=tier) as talk:
        await talk.say(FACT)
        await talk.memory.light_sleep()
        talk.clock.step_wall(86400)
        await talk.conversation.open()
        talk.around.thought = "They may miss her."
        await talk.say("Where did Marta move?")
        talk.clock.step_wall(86400)
        await talk.memory.light_sleep()
        talk.conversation.forget_context()
        await talk.conversation.open()
        await talk.say("In which month did Marta move?")
        texts = [message.text for message in talk.model.prompts[-1].messages]
        history = [FACT, "One.", "Where did Marta move?", "Two."]
        assert texts == [PLAIN_LINE, *history, "In which month did Marta move?"]


@pytest.mark.requirement("R-88")
@pytest.mark.parametrize("tier", [Tier.LOOSE, Tier.SMALL, Tier.CAPABLE])
async def test_what_is_older_than_the_history_is_told_once_and_stays_as_it_was_sent(tmp_path: Path, tier: Tier) -> None:
    async with talking(tmp_path, tier=tier) as talk:
        await talk.say(FACT)
        await talk.memory.light_sleep()
        talk.clock.step_wall(20 * 86400)
        await talk.conversation.open()
        talk.conversation.forget_context()
        await talk.say("Where did Marta move?")
        *before, asked = talk.model.prompts[-1].messages
        reminded = f"{FACT}\n\n" if tier is not Tier.CAPABLE else ""
        assert asked.text.endswith(f"{reminded}Where did Marta move?")
        assert sum(FACT in message.text for message in (*before, asked)) == 1
        await talk.say("And what of it?")
        sent = talk.model.prompts[-1].messages
        assert sent[: len(before) + 1] == (*before, asked), "it stays as it was sent: the model has it in its cache"
        assert sum(FACT in message.text for message in sent) == 1, "nothing is told twice"


@pytest.mark.requirement("R-88", "R-127")
async def test_a_turn_pauses_thinking_recalls_by_mood_and_time_asks_and_stores_in_this_order(tmp_path: Path) -> None:
    steps: list[str] = []

    class Heard(Events):
        def recalled(self, recall: Recall, memories: Sequence[PromptMemory]) -> None:
            steps.append("recalled")

        def token(self, text: str) -> None:
            steps.append("token")

        def stored(self, what: str, turn_id: str) -> None:
            steps.append(f"stored {what}")

    def reply(prompt: Prompt) -> list[str]:
        steps.append(f"asked for a {prompt.role}")
        return ["I see."]

    async with talking(tmp_path, "I see.", reply) as talk:
        await talk.say(FACT)
        await talk.memory.light_sleep()
        steps.clear()
        asked: list[tuple[str, RecallContext]] = []
        recall, began = talk.memory.recall, talk.around.conversation_began

        async def record_recall(cue: str, context: RecallContext, **how: Any) -> Recall:
            asked.append((cue, context))
            return await recall(cue, context, **how)

        def pause(*, is_private: bool) -> None:
            steps.append("thinking paused")
            began(is_private=is_private)

        talk.memory.recall = record_recall  # type: ignore[method-assign]
        talk.around.conversation_began = pause  # type: ignore[method-assign]
        words = "I am so worried and sad about Marta."
        await talk.conversation.say(words, Heard())
        ((cue, context),) = asked
        assert words in cue
        assert (context.now, context.limit) == (talk.clock.now(), 10)
        assert context.mood < -0.3
    steps_of_a_turn = ["thinking paused", "stored words", "recalled", "asked for a conversation", "token"]
    assert steps == [*steps_of_a_turn, "stored exchange"]


@pytest.mark.requirement("R-88", "R-91")
async def test_the_history_goes_on_in_the_roles_of_user_and_assistant_as_it_was_sent(tmp_path: Path) -> None:
    async with talking(tmp_path, "One.", "Two.", tier=Tier.CAPABLE) as talk:
        await talk.say("first")
        await talk.say("second")
        first, second = (prompt.messages for prompt in talk.model.prompts)
        assert [message.role for message in second] == ["system", *("user", "assistant"), "user"]
        assert second[: len(first)] == first
        assert [message.text.split("\n")[-1] for message in second[-3:]] == ["first", "One.", "second"]


@pytest.mark.requirement("R-91")
async def test_a_new_conversation_begins_with_the_end_of_the_one_before_it_under_its_day(tmp_path: Path) -> None:
    async with talking(tmp_path, "One.", "Two.", tier=Tier.CAPABLE) as talk:
        await talk.say("first")
        talk.clock.step_wall(86400)
        await talk.conversation.open()
        await talk.say("second")
        asked = [message.text.split("\n") for message in talk.model.prompts[-1].messages if message.role == "user"]
        (first_day, first), (second_day, second) = asked
        assert (first, second) == ("first", "second")
        assert first_day != second_day


@pytest.mark.requirement("R-91")
@pytest.mark.parametrize("tier", [Tier.SMALL, Tier.CAPABLE])
async def test_after_a_wake_the_talk_before_it_is_read_from_the_file_as_far_as_there_is_room(
    tmp_path: Path, tier: Tier
) -> None:
    async with talking(tmp_path, settings=small(), context_tokens=1024, tier=tier) as talk:
        for number in range(30):
            await talk.say(f"On day {number} I counted {number} herons by the river, and wrote it down with care.")
        talk.clock.step_wall(86400)
        talk.conversation.forget_context()
        await talk.conversation.open()
        carried = [message.text for message in talk.conversation.turns.prompt_beginning() if "herons" in message.text]
        assert "On day 29" in carried[-1]
        assert 3 <= len(carried) < 30


@pytest.mark.requirement("F1")
async def test_talk_in_which_others_had_a_hand_is_not_carried_into_the_next_conversation(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.say("first")
        talk.conversation.turns.state.exchanges = (
            replace(talk.conversation.turns.state.exchanges[0], is_tainted=True),
        )
        talk.clock.step_wall(86400)
        await talk.memory.conversations.begin_conversation()
        await talk.conversation.open()
        assert not any(one.is_tainted for one in talk.conversation.turns.state.exchanges)


async def test_an_explicit_new_conversation_begins_with_nothing_before_it(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.say("first")
        await talk.conversation.begin_new()
        assert [message.role for message in talk.conversation.turns.prompt_beginning()] == ["system"]


@pytest.mark.requirement("R-94")
async def test_a_model_that_fails_costs_the_reply_and_not_the_words(tmp_path: Path) -> None:
    async with talking(tmp_path, ModelUnavailableError("It does not answer.")) as talk:
        result = await talk.conversation.say(FACT, Events())
        assert (result.draft.reason, result.reply_turn) == ("failed", None)
        assert "does not answer" in result.draft.explanation
        await talk.memory.light_sleep()
        found = await talk.memory.search("Marta", 5)
        assert FACT in [ranked.turn.text for ranked in found.turns]


@pytest.mark.requirement("R-93")
async def test_a_reply_that_breaks_off_is_kept_as_a_part(tmp_path: Path) -> None:
    async with talking(tmp_path, ["She ", ModelUnavailableError("gone")]) as talk:
        result = await talk.conversation.say(FACT, Events())
        assert result.reply_turn is not None
        assert (result.reply_turn.text, result.reply_turn.is_partial) == ("She", True)


@pytest.mark.requirement("R-93")
async def test_a_stopped_reply_is_kept_as_far_as_it_went(tmp_path: Path) -> None:
    async with talking(tmp_path, ["She ", "went ", Pause(1e6), "away"]) as talk:
        async with asyncio.timeout(300), asyncio.TaskGroup() as tasks:
            events = Events()
            turn = tasks.create_task(talk.conversation.say(FACT, events), name="turn")
            await until(lambda: events.text == "She went ")
            await talk.conversation.stop_reply("It ends.")
        result = turn.result()
        assert (result.draft.reason, result.draft.text) == ("cancelled", "She went")
        assert result.reply_turn is not None
        assert result.reply_turn.is_partial


@pytest.mark.requirement("R-130", "R-135")
async def test_a_reply_that_loops_is_cut_and_said_so(tmp_path: Path) -> None:
    async with talking(tmp_path, "I am here for you my friend. " * 40) as talk:
        result = await talk.conversation.say("Hello", Events())
        assert result.draft.reason == "tripped"
        assert result.draft.explanation
        assert len(result.draft.text) < 29 * 12
        assert talk.around.trips


async def test_a_reply_that_the_breaker_stopped_is_in_the_log_and_is_neither_recalled_nor_shown_to_the_model_again(
    tmp_path: Path,
) -> None:
    loop = "I am here for you my friend. "
    async with talking(tmp_path, loop * 40, "Yes.") as talk:
        result = await talk.conversation.say("My boat is called Ida.", Events())
        await talk.memory.light_sleep()
        found = await talk.memory.search(f"{loop} boat Ida", 10)
        assert [ranked.turn.text for ranked in found.turns] == ["My boat is called Ida."]
        assert "friend" not in "".join(ranked.episode.summary for ranked in found.episodes)
        await talk.conversation.say("Do you hear me?", Events())
        assert loop.strip() not in "".join(message.text for message in talk.model.prompts[-1].messages)
        assert "My boat is called Ida." in "".join(message.text for message in talk.model.prompts[-1].messages)
        stored = await talk.memory.conversations.recent_turns(talk.conversation.conversation_id, 10)
        assert result.draft.text in [turn.text for turn in stored]


@pytest.mark.requirement("R-95", "R-96", "R-76")
async def test_it_rests_ten_minutes_after_the_last_word_and_not_before(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk, asyncio.timeout(300), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(talk.conversation.run(), name="conversation")
        talk.conversation.attach(1)
        await talk.say(FACT)
        await talk.clock.advance(599)
        assert talk.around.rested == []
        await talk.clock.advance(2)
        await until(lambda: bool(talk.around.rested))
        assert not talk.conversation.is_talking
        assert talk.memory.open_gap is not None
        running.cancel()


@pytest.mark.requirement("R-5", "R-95")
async def test_it_rests_at_once_when_the_last_client_leaves(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk, asyncio.timeout(300), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(talk.conversation.run(), name="conversation")
        talk.conversation.attach(1)
        talk.conversation.attach(2)
        await talk.say(FACT)
        talk.conversation.detach(1)
        await talk.clock.advance(1)
        assert talk.around.rested == []
        talk.conversation.detach(2)
        await until(lambda: bool(talk.around.rested))
        running.cancel()


@pytest.mark.requirement("R-95")
async def test_words_of_a_client_that_only_says_them_are_not_taken_for_a_conversation_that_ended(
    tmp_path: Path,
) -> None:
    async with talking(tmp_path) as talk, asyncio.timeout(300), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(talk.conversation.run(), name="conversation")
        await talk.say(FACT)
        await until(lambda: len(talk.around.rested) == 1)
        assert talk.around.goes_on_seconds == 600
        talk.conversation.attach(1)
        await talk.say("And I miss her.")
        talk.conversation.detach(1)
        await until(lambda: len(talk.around.rested) == 2)
        assert talk.around.goes_on_seconds == 0
        running.cancel()


@pytest.mark.requirement("R-76")
async def test_the_next_word_ends_the_gap_and_goes_on_with_the_same_conversation(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk, asyncio.timeout(300), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(talk.conversation.run(), name="conversation")
        await talk.say(FACT)
        before = talk.conversation.conversation_id
        await until(lambda: bool(talk.around.rested))
        talk.clock.step_wall(3600)
        await talk.say("And I miss her.")
        assert talk.memory.open_gap is None
        assert talk.conversation.conversation_id == before
        running.cancel()


async def test_after_half_a_day_the_next_word_begins_a_new_conversation(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.say(FACT)
        before = talk.conversation.conversation_id
        talk.clock.step_wall(13 * 3600)
        await talk.conversation.open()
        assert talk.conversation.conversation_id != before


@pytest.mark.parametrize("tier", [Tier.SMALL, Tier.CAPABLE])
async def test_a_long_conversation_folds_and_nothing_over_the_context_is_sent(tmp_path: Path, tier: Tier) -> None:
    async with talking(tmp_path, settings=small(), context_tokens=1024, tier=tier) as talk:
        for number in range(60):
            await talk.say(f"On day {number} I counted {number} herons by the river, and wrote it down with care.")
        for prompt in talk.model.prompts:
            sent = sum([await talk.model.count_tokens(message.text) for message in prompt.messages])
            assert sent + prompt.max_tokens <= 1024
        assert talk.around.folded
        assert ("On day" in talk.model.prompts[-1].messages[0].text) is (tier is Tier.CAPABLE)


async def test_a_long_history_is_folded_when_the_conversation_rests_and_read_ahead_before_anybody_waits(
    tmp_path: Path,
) -> None:
    async with talking(tmp_path, settings=small(), context_tokens=2048, tier=Tier.CAPABLE) as talk:
        longest = 0
        while not talk.around.folded:
            await talk.say("Today I counted herons by the river again, and wrote it down with care.")
            longest = max(longest, len(talk.model.prompts[-1].messages))
        folds = talk.around.folded
        turns = talk.conversation.turns
        while turns.state.history_tokens <= turns.form.rest_tokens(turns.room_tokens):  # No turn has to fold yet.
            await talk.say("Today I counted herons by the river again, and wrote it down with care.")
        assert talk.around.folded == folds
        async with asyncio.timeout(300), asyncio.TaskGroup() as tasks:
            resting = tasks.create_task(talk.conversation.run(), name="rest")
            warming = tasks.create_task(talk.conversation.run_read_ahead(), name="read-ahead")
            # After a fold, the prompt is read ahead again.
            await until(lambda: talk.around.folded > folds and len(talk.model.read[-1][0]) <= longest // 2)
            resting.cancel()
            warming.cancel()
        read, _ = talk.model.read[-1]
        await talk.say("And the kingfisher came back.")
        assert talk.model.prompts[-1].messages[: len(read)] == read
        assert talk.around.folded == folds + 1, "no turn waits for a fold soon after"


async def test_a_short_history_is_not_even_counted_at_rest_for_that_would_load_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with talking(tmp_path) as talk, asyncio.timeout(300), asyncio.TaskGroup() as tasks:
        await talk.say(FACT)
        counted: list[str] = []

        async def count(text: str) -> int:
            counted.append(text)
            return 1

        monkeypatch.setattr(talk.model, "count_tokens", count)
        resting = tasks.create_task(talk.conversation.run(), name="rest")
        await until(lambda: bool(talk.around.rested))
        await talk.conversation.wait_until_quiet(5)
        resting.cancel()
    assert not counted


async def test_what_was_folded_can_be_recalled_again(tmp_path: Path) -> None:
    async with talking(tmp_path, settings=small(), context_tokens=1024) as talk:
        await talk.say(FACT)
        for number in range(60):
            await talk.say(f"On day {number} I counted {number} herons by the river, and wrote it down with care.")
        await talk.memory.light_sleep()
        await talk.say("Where did Marta move?")
        assert any(FACT in message.text for message in talk.model.prompts[-1].messages[1:])


async def test_a_message_longer_than_the_context_is_stored_whole_and_told_in_part(tmp_path: Path) -> None:
    async with talking(tmp_path, settings=small(), context_tokens=1024) as talk:
        long = "heron " * 20_000
        result = await talk.conversation.say(long, Events())
        assert result.owner_turn is not None
        assert result.owner_turn.text == long
        assert "characters left out" in talk.model.prompts[-1].messages[-1].text


async def test_the_beginning_of_the_next_prompt_is_read_ahead(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk, asyncio.timeout(300), asyncio.TaskGroup() as tasks:
        warming = tasks.create_task(talk.conversation.run_read_ahead(), name="read-ahead")
        await until(lambda: bool(talk.model.read))
        await talk.say("Hello")
        (read, _), asked = talk.model.read[0], talk.model.prompts[0].messages
        assert asked[: len(read)] == read
        warming.cancel()


async def test_after_a_private_turn_the_model_reads_the_talk_without_it(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk, asyncio.timeout(300), asyncio.TaskGroup() as tasks:
        warming = tasks.create_task(talk.conversation.run_read_ahead(), name="read-ahead")
        await talk.say("Hello")
        await until(lambda: bool(talk.model.read) and len(talk.model.read[-1][0]) == 3)
        times = len(talk.model.read)
        await talk.conversation.say("A secret.", Events(), off_record=True)
        await until(lambda: len(talk.model.read) > times)
        assert "secret" not in str(talk.model.read[-1])
        warming.cancel()


async def test_turns_of_two_clients_are_taken_one_after_the_other(tmp_path: Path) -> None:
    async with talking(tmp_path, ["One ", Pause(0), "reply."], "Another.") as talk, asyncio.timeout(300):
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(talk.conversation.say("first", Events()))
            tasks.create_task(talk.conversation.say("second", Events()))
            await talk.clock.advance(0)
            await until(lambda: talk.clock.sleeper_count > 0)
            await talk.clock.advance(1)
        assert [turn.text for turn in talk.around.turns] == ["first", "One reply.", "second", "Another."]


@pytest.mark.requirement("R-116")
async def test_a_reply_is_asked_for_with_a_dormant_fact_that_its_words_woke(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.say(FACT)
        await talk.memory.light_sleep()
        for _ in range(13):
            talk.clock.step_wall(30 * 86400)
            await talk.memory.decay_and_prune()
        assert talk.memory.on_disk.episodes == 1
        await talk.conversation.open()
        await talk.say("Where did my sister Marta move in May?")
        assert any(FACT in message.text for message in talk.model.prompts[-1].messages[1:])
        assert talk.memory.on_disk.episodes == 0
