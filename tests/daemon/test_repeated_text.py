"""A capable model reads nothing twice: three days of talk with sleep, work and a thought between them."""

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.daemon.talk.capable_talk import CapableTalk
from reveries.daemon.talk.chat_context import SentExchange, TurnMaterial
from reveries.daemon.talk.repeated_text import PromptText, repeated_share
from reveries.errors import ModelUnavailableError
from reveries.llm.base import ChatMessage, Prompt
from reveries.llm.tier import Tier
from reveries.memory.model import Factors, Origin, RankedTurn, Recall, RecalledEpisode
from reveries.memory.text.quoting import quote_around, whole_sentences
from reveries.safe_text import format_record
from tests.daemon.kit import Talk, talking
from tests.fakes.scripted import Piece, ScriptedModel
from tests.memory.kit import NOW, WordEmbedder, deep_answer, episode, turn

DAYS = (
    (
        ("My sister Marta moved to Lisbon in May with her two boys, and she teaches at the harbour school there.",
         "That is a long way from here. How do the boys like their new school, and does Marta miss the mountains?"),
        ("The boys love the trams. Marta says that the rent is 1,150 euros, which eats half of what she earns.",
         "Half of a salary for a roof is hard. Is there anybody who shares the flat, or a smaller one nearby?"),
        ("I promised to bring her grandmother's clock when I visit on the 19th of December.",
         "A clock on a plane wants a good box. Shall we think about how to carry it when the date comes nearer?"),
        ("The pear tree behind the workshop split in the storm; I tied it with a strap and tarred the wound.",
         "Then it has a chance. Look at the strap in spring, so that it does not cut into the growing bark."),
    ),
    (
        ("Marta called: she was offered a room in Alfama for 620 euros, but without heating.",
         "Cheaper by far, and cold from November on. What does she lean towards, with the boys in mind?"),
        ("I sold the old lathe to Henrik for 900 euros, he fetches it on Thursday.",
         "A good price. Will you miss it, or is there something that you want to put in its place?"),
        ("How much was Marta's rent again, and what would she save with the room in Alfama?",
         "She pays 1,150 now and would pay 620, so 530 a month. The heating has to come out of that."),
        ("Right. I also think of the clock that I promised, it has to be insured for the flight.",
         "Airlines pay little for breakage. A letter from a clockmaker on its value would help you there."),
    ),
    (
        ("When do I fly to Marta with the clock, and what did the fair hall cost in the end?",
         "On the 19th of December. The hall was 480 euros for the weekend, of the three that I compared."),
        ("Is the pear tree strap something that I should look at now?",
         "In spring, when it grows. Today the frost only makes the bark brittle under your hands."),
        ("Henrik did not come for the lathe on Thursday.",
         "Did he say why? You could offer it to the school of joiners, they asked for one last year."),
        ("What was it that Marta would save each month?",
         "530 euros, before she has paid for any heating."),
    ),
)  # fmt: skip
WORK = (
    "I worked on Fair: Compare the halls. I wrote to the three halls that were in the notes and read what they sent. "
    "The town hall asks for a deposit, the gymnasium has no heating in February and may not be used for sales, and the "
    "brewery wants a contract until the end of January. All three are free on both weekends. Counting the deposit, the "
    "tables and the insurance, the town hall costs 480 euros for the weekend, the gymnasium 350 and the brewery 610."
)
THOUGHT = (
    "They carry the clock to Marta, and nobody has asked yet whether she has a wall for it. It is heavier than it "
    "looks, and in Alfama the walls are old. I would ask her first, and then look for a box that no child can open. "
    "After that the letter of the clockmaker is the smaller thing."
)


def sleeper(prompt: Prompt) -> Iterable[Piece]:
    """Tells again, nearly word for word, what it was given to sleep on."""
    quoted = re.findall(r"[A-Z][^.?!\n]{40,}[.?!]", prompt.messages[-1].text)[:3]
    answer = deep_answer(0.8, summary="They said this to me: " + " ".join(quoted), exemplars=[])
    return [msgspec.json.encode(answer).decode()]


async def put_work(talk: Talk, text: str) -> None:
    """Store the outcome of a task as project work does, which has read what others wrote."""
    conversations = talk.memory.conversations
    async with conversations._store.database.transaction() as transaction:
        await conversations.put_external(transaction, text, Origin.SELF, is_tainted=True)
    await talk.memory.light_sleep()


async def live_three_days(talk: Talk) -> list[list[str]]:
    """Return the texts of each prompt of the third day."""
    for number, day in enumerate(DAYS):
        if number:
            await talk.memory.deep_sleep(ScriptedModel(otherwise=sleeper))
            talk.clock.step_wall(86400)
            await talk.conversation.open()
        if number == 1:
            await put_work(talk, WORK)
            talk.around.thought = THOUGHT
        for words, reply in day:
            talk.model.add(reply)
            await talk.say(words)
    return [[message.text for message in prompt.messages] for prompt in talk.model.prompts[-len(DAYS[-1]) :]]


async def test_on_the_third_day_less_than_a_twentieth_of_the_prompt_repeats_what_stands_in_it(tmp_path: Path) -> None:
    async with talking(tmp_path, tier=Tier.CAPABLE, context_tokens=16_384, embedder=WordEmbedder()) as talk:
        prompts = await live_three_days(talk)
    assert max(repeated_share(texts) for texts in prompts) < 0.05
    last = "\n".join(prompts[-1])
    assert "They said this to me" not in last, "no episode is told beside its own turns"
    assert last.count(THOUGHT) == 1, "a thought is told once, and not cut within a word"
    assert 'you noted, after reading what others wrote: "I worked on Fair' in last
    assert "somebody else wrote" not in last
    assert "610" in last, "an outcome is told to its end"


async def test_after_a_fold_what_was_told_may_be_told_again(tmp_path: Path) -> None:
    async with talking(tmp_path, tier=Tier.CAPABLE, context_tokens=16_384, embedder=WordEmbedder()) as talk:
        await put_work(talk, WORK)
        await talk.say("What did the fair hall cost?")
        await talk.say("And what does the fair hall cost without tables?")
        prompts = talk.model.prompts
        assert ["".join(one.text for one in prompt.messages).count("610") for prompt in prompts] == [1, 1]
        await talk.conversation.turns.fold(200)
        await talk.say("Tell me again what the fair hall costs.")
        assert "".join(one.text for one in prompts[-1].messages).count("610") == 1


@pytest.mark.parametrize(
    ("text", "cue", "asked_for"),
    [
        (f"{'The committee met and spoke at length. ' * 60}The hall costs 480 euros.", "hall cost", "480"),
        (f"Die Miete ist 1150 Euro im Monat. {'Es wurde viel geredet. ' * 90}", "Miete", "1150"),
        (f"{'| chair | 12 |' * 60} | stove | 899 | {'| lamp | 7 |' * 60}", "stove price", "899"),
        (f"{'会議では多くのことが。' * 60}家賃は毎月九万円です。{'その後は雑談。' * 60}", "家賃", "九万円"),
        (f"{'word ' * 400}gate code 7741 {'word ' * 400}", "the gate code", "7741"),
    ],
)  # fmt: skip
def test_of_a_long_text_the_piece_is_quoted_that_the_question_asks_for(text: str, cue: str, asked_for: str) -> None:
    quoted = quote_around(text, cue, 400)
    assert asked_for in quoted
    assert len(quoted) <= 400
    assert quote_around("Short enough.", cue, 400) == "Short enough."


@given(st.text(max_size=400), st.integers(20, 200))
def test_what_is_left_out_at_the_end_of_a_reply_or_a_thought_is_marked(text: str, limit: int) -> None:
    cut, whole = whole_sentences(text, limit), format_record(text, len(text))
    assert len(cut) <= limit
    assert cut == whole or (cut.endswith(" …") and whole.startswith(cut[:-2]))


def test_what_differs_in_one_word_is_not_what_stands_there_already() -> None:
    before = "The rent of the flat in the harbour street is 1,150 euros a month, and the heating is paid by the owner."
    standing = PromptText([before])
    assert standing.has_whole(before)
    assert not standing.has_whole(before.replace("1,150", "1,250"))
    assert not standing.mostly_has("Something else was said that has not a single run of words in common with it.")
    assert PromptText(["家賃は毎月九万円ですと彼女は言いました。"]).has_whole("家賃は毎月九万円です")


async def test_the_same_words_that_got_no_reply_are_not_told_beside_themselves(tmp_path: Path) -> None:
    async with talking(tmp_path, ModelUnavailableError("down"), tier=Tier.CAPABLE, embedder=WordEmbedder()) as talk:
        words = "The folds of the bellows need three square metres of sheepskin from Madsen in Esbjerg."
        await talk.say(words)
        await talk.memory.light_sleep()
        await talk.say(words)
        assert sum(words in message.text for message in talk.model.prompts[-1].messages) == 1


def test_a_note_of_a_few_words_is_told_once_in_a_conversation() -> None:
    """A text shorter than a run is not found among others: the ids of what was told say that it stands there."""
    note = episode("short", summary="Bees need syrup in October.", origin=Origin.SELF)
    asked = turn("asked", "What do my bees need?")
    recall = Recall(
        asked.text,
        np.zeros(4, np.float32),
        (RecalledEpisode(note, 1.0, 0.8, (note.id,), Factors(1.0, 1.0, 1.0, 1.0)),),
        (RankedTurn(asked, "other", 1.0, cosine=0.8),),
        0,
    )
    before = SentExchange(asked.text, "Syrup.", asked.text, 9, (asked.id, "reply"))
    told = ChatMessage("user", f"[From memory:\n- on Monday 6 October, you noted: {note.summary}]\n{asked.text}")

    def chosen(exchange: SentExchange, *beginning: ChatMessage) -> list[str]:
        material = TurnMaterial("And now?", NOW, recall, (), "", (exchange,), beginning, lambda _: None)
        return [item.episode_id for item in CapableTalk().choose(material).memories]

    assert chosen(before) == [note.id]
    assert chosen(replace(before, noted_ids=(note.id,)), told) == []
