"""A small model's answer to a personal question is checked before it is shown."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from reveries.daemon.talk import added_facts
from reveries.daemon.talk.personal_answers import lines_for
from reveries.daemon.talk.personal_questions import LANGUAGES
from reveries.llm.base import Vector
from tests.daemon.kit import Talk, talking
from tests.rows import check_rows

TOLD = "My sister Ines keeps three goats near Bergen."


def adds_facts(sentence: str, told: Sequence[str], words: str, code: str = "en") -> bool:
    language = next(language for language in LANGUAGES if language.language == code)
    return added_facts.adds_facts(sentence, told, added_facts.AskedWords(words, code, language.not_names))


@check_rows(
    ("sentence", "is_added"),
    [
        ("Ines keeps 3 goats near Bergen.", False),
        ("Your sister's name is Ines.", False),
        ("Near Bergen, the second largest city of Norway.", False),
        ("Your sister is a teacher.", False),
        ("I'm sorry, but I don't know that.", False),
        ("Yes.", False),
        ("Sure. Your sister is Ines.", False),
        ("Of course! Her name is Ines.", False),
        ("As far as I'm aware, she lives near Bergen.", False),
        ("1. Ines\n2. Nobody else", False),
        ("Sven.", True),
        ("Sure. Your sister's husband is called Tor.", True),
        ("Your landlord is Mr. Olsen.", True),
        ("Your sister's husband is called Tor.", True),
        ("She is 34 years old.", True),
        ("She keeps four or 5 goats.", True),
    ],
)
def test_a_number_or_a_name_that_nobody_said_is_added(sentence: str, is_added: bool) -> None:
    assert adds_facts(sentence, [TOLD], "Tell me about my sister.") is is_added


def test_hours_and_words_for_numbers_are_the_same_in_figures() -> None:
    told = ["Um halb neun kommt der Maler, er will vierzig Euro, und der Zug geht um 7:15."]
    assert adds_facts("Der Maler will 40 Euro.", told, "Was will der Maler?") is False
    assert adds_facts("Er geht um 7 Uhr 15.", told, "Wann geht der Zug?") is False
    assert adds_facts("Er geht um 8 Uhr 15.", told, "Wann geht der Zug?") is True


@pytest.mark.parametrize(
    ("sentence", "is_added"),
    [
        ("Sie haben mir gesagt, dass Sie in Bergen wohnen.", False),
        ("Der Name Ihrer Katze ist Mimi.", False),
        ("Dein nächster Termin ist am Donnerstag um 15 Uhr.", False),
        ("Deine Schwester Anna hat am 3. Mai Geburtstag.", False),
        ("Ich habe keine Informationen über deinen Bruder.", False),
        ("Deine Katze heißt Bruno.", True),
        ("Deine Katzen heißen Mimi und Bruno.", False),
        ("Deine Katzen heißen Bruno und Mimi.", True),
        ("Deine Schwester Berta hat am 3. Mai Geburtstag.", True),
        ("Dein Termin ist am 17. Mai.", True),
    ],
)
def test_a_german_noun_is_no_name_although_it_has_a_capital(sentence: str, is_added: bool) -> None:
    told = [
        "Ich wohne in Bergen, meine Katze heißt Mimi. Am Donnerstag um 15 Uhr muss ich zum Tierarzt.",
        "Anna, meine Schwester, hat am dritten Mai Geburtstag.",
    ]
    assert adds_facts(sentence, told, "Was habe ich erzählt?", "de") is is_added


@pytest.mark.parametrize(
    ("told", "sentence", "is_added"),
    [
        ("The vet is on Thursday at 3 pm.", "It is at 3:00 PM.", False),
        ("The vet is on Thursday at 3pm.", "It is at 15:00.", False),
        ("The vet is on Thursday at 15:30.", "It is at 3:30 PM.", False),
        ("The vet is on the third of May.", "It is on May 3rd.", False),
        ("The vet is on Thursday at 3 pm.", "It is at 4:00 PM.", True),
        ("The vet is on Thursday at 3 pm.", "It is at 3:45 PM.", True),
        ("The vet is on Thursday at 3 am.", "It is at 15:00.", True),
    ],
)
def test_an_hour_told_in_one_way_may_be_answered_in_the_other(told: str, sentence: str, is_added: bool) -> None:
    assert adds_facts(sentence, [told], "When is the vet?") is is_added


def test_a_long_history_is_read_for_number_words_only_if_a_number_is_missing_and_each_word_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(added_facts, "read_number_words", lambda word: asked.append(word))
    told = ["We have 3 goats and a dog"] * 200
    assert adds_facts("You have 3 goats.", told, "How many?") is False
    assert asked == []
    assert adds_facts("You have 4 goats.", told, "How many?") is True
    assert len(asked) == len(set(asked))


async def test_a_right_answer_after_a_short_yes_is_shown_as_the_model_gave_it(tmp_path: Path) -> None:
    async with talking(tmp_path, ["Lovely."], ["Sure.", " Your sister is Ines.", " Nice."]) as talk:
        assert await _asked(talk, "What is my sister's name?", _1=0.9) == "Sure. Your sister is Ines. Nice."


NAMES = ["His name", " is Sven.", " A nice man."]
UNTOLD = [" who your landlord is.", " He is called Sven."]


async def _asked(talk: Talk, words: str, **first_token: float) -> str:
    """Tell the fact, then ask; the arguments are the probabilities of the lines."""
    await talk.say(TOLD)
    talk.model.first_token = {number.strip("_"): probability for number, probability in first_token.items()}
    return (await talk.say(words)).text


async def test_a_made_up_name_is_never_shown_and_the_answer_says_in_its_sentence_what_was_not_told(
    tmp_path: Path,
) -> None:
    async with talking(tmp_path, ["Lovely."], NAMES, UNTOLD) as talk:
        text = await _asked(talk, "What is my landlord's name?", _1=0.01, _0=0.3)
        assert text == "You haven't told me who your landlord is."
        begun = talk.model.prompts[-1].messages[-1]
        assert (begun.role, begun.text) == ("assistant", "You haven't told me")
        assert "Sven" not in str(talk.model.prompts[-1].messages)


async def test_a_begun_answer_that_makes_something_up_is_replaced(tmp_path: Path) -> None:
    async with talking(tmp_path, ["Lovely."], NAMES, [" that Sven, aged 50, is your landlord.", " Is he?"]) as talk:
        assert await _asked(talk, "What is my landlord's name?", _0=0.9) == "You haven't told me that."


async def test_where_a_line_answers_the_made_up_answer_is_given_anew_from_that_line(tmp_path: Path) -> None:
    async with talking(tmp_path, ["Lovely."], ["She keeps 12.", " Or so."], ["Three.", " And they are well."]) as talk:
        text = await _asked(talk, "How many goats does my sister keep?", _1=0.9)
        assert text == "Three. And they are well."
        assert talk.model.prompts[-1].messages[-1].text == f"{TOLD}\n\nHow many goats does my sister keep?"
        await talk.say("Thanks.")
        assert talk.model.prompts[-1].messages[-3].text == "How many goats does my sister keep?", "told for once"


async def test_a_line_about_the_same_person_does_not_let_a_made_up_number_pass(tmp_path: Path) -> None:
    made_up = ["Your sister", " is 34 years old.", " She is well."]
    async with talking(tmp_path, ["Lovely."], made_up, made_up, [" how old she is.", " Is she older?"]) as talk:
        assert await _asked(talk, "How old is my sister?", _1=0.9) == "You haven't told me how old she is."


async def test_what_was_said_and_common_knowledge_are_shown_as_they_come(tmp_path: Path) -> None:
    async with talking(tmp_path, ["Lovely."], ["Near Bergen.", " Yes."], ["N'Djamena, of 1900.", " Yes."]) as talk:
        assert await _asked(talk, "Where does my sister live?", _0=0.9) == "Near Bergen. Yes."
        assert (await talk.say("What is the capital of Chad?")).text == "N'Djamena, of 1900. Yes."


async def test_a_made_up_name_is_not_shown_because_a_single_word_comes_first(tmp_path: Path) -> None:
    made_up = ["Yes.", " His name is Sven.", " A nice man."]
    async with talking(tmp_path, ["Lovely."], made_up, UNTOLD) as talk:
        text = await _asked(talk, "Do you know my landlord's name?", _0=0.9)
        assert text == "You haven't told me who your landlord is."


async def test_a_name_that_the_owner_only_asked_about_on_another_day_is_no_answer(tmp_path: Path) -> None:
    async with talking(tmp_path, ["No idea."]) as talk:
        await talk.say("Is my landlord called Sven?")
        await talk.say("My landlord plays the tuba.")
        await talk.memory.light_sleep()
        recall = await talk.memory.recall("landlord called", talk.memory.recall_context("landlord called", 4))
        lines = await lines_for(recall, (), talk.memory.embed_cues, talk.clock.now())
        assert [line.quote for line in lines] == ["My landlord plays the tuba."]


async def test_what_the_mind_made_up_before_supports_nothing(tmp_path: Path) -> None:
    async with talking(tmp_path, ["Lovely. And your landlord Sven?"], NAMES, NAMES, UNTOLD) as talk:
        await talk.memory.light_sleep()
        assert await _asked(talk, "What is my landlord's name?", _1=0.95) == "You haven't told me who your landlord is."


async def test_a_model_without_probabilities_answers_as_in_a_plain_chat(tmp_path: Path) -> None:
    async with talking(tmp_path, ["Lovely."], ["His name is Sven."]) as talk:
        await talk.say(TOLD)
        assert (await talk.say("What is my landlord's name?")).text == "His name is Sven."


async def test_without_the_vector_of_the_question_no_other_words_are_embedded(tmp_path: Path) -> None:
    """Off the record with an embedder elsewhere, whose calls are recorded."""
    async with talking(tmp_path, ["Lovely."]) as talk:
        await talk.say(TOLD)
        recall = await talk.memory.recall("Where?", talk.memory.recall_context("Where?", 4), by_words_alone=True)

        async def embed(texts: Sequence[str]) -> list[Vector]:
            raise AssertionError(texts)

        exchanges = talk.conversation.turns.state.exchanges
        assert [line.quote for line in await lines_for(recall, exchanges, embed, 0.0)] == [TOLD]


async def test_all_lines_of_a_conversation_are_embedded_in_one_call(tmp_path: Path) -> None:
    """A hosted embedder would be sent 24 requests while the owner waits."""
    async with talking(tmp_path, ["Lovely."], ["Oh."], ["Three."]) as talk:
        await talk.say(TOLD)
        await talk.say("My brother Ola builds boats.")
        recall = await talk.memory.recall("Where?", talk.memory.recall_context("Where?", 4))
        calls: list[list[str]] = []

        async def embed(texts: Sequence[str]) -> list[Vector]:
            calls.append(list(texts))
            return await talk.memory.embed_cues(texts)

        await lines_for(recall, talk.conversation.turns.state.exchanges, embed, 0.0)
        assert calls == [[TOLD, "My brother Ola builds boats."]]
