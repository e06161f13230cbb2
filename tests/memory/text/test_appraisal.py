"""Appraisal of a text without a model: feeling, salience, names, topics; no text raises an error."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.memory.text.appraisal import infer_mood, salience_of, topics_of, valence_of
from reveries.memory.text.entities import entities_of
from reveries.memory.text.extracts import exemplars_of, quote_context, sentences_of, summary_of
from tests.memory.kit import open_memory, talk, turn
from tests.rows import check_rows


@pytest.mark.requirement("R-69", "R-88")
def test_feeling_is_heard_and_a_negation_turns_it_around() -> None:
    assert valence_of("I love this, it is wonderful") > 0.5
    assert valence_of("My grandmother died and I am devastated") < -0.5
    assert valence_of("I am not happy about it") < 0.0
    assert valence_of("The train leaves at nine") == 0.0
    assert infer_mood("I'm so worried and sad") < -0.3


@pytest.mark.requirement("R-69", "R-88")
@check_rows(
    ("worse", "better"),
    [
        ("I am not happy.", "I am happy."),
        ("I don't like it.", "I like it."),
        ("It was not a good day.", "It was not a bad day."),
        ("I'm happy.", "I have never been so happy."),
        ("I could not be sadder, it is terrible", "I couldn't be happier."),
        ("I have never felt so lonely.", "I never felt lonely."),
        ("I'm a bit sad.", "I'm not sad."),
        ("I'm very worried.", "I'm slightly worried."),
        ("I hate it.", "I can't wait to see you!"),
        ("Not good but terrible.", "Not terrible but good."),
        ("No wonder you are sad.", "No wonder you are happy."),
        ("We weren't happy there.", "We were happy there."),
        ("I\u2019m not glad.", "I\u2019m glad."),
    ],
)
def test_of_two_that_differ_in_a_word_the_pleasant_one_sounds_better(worse: str, better: str) -> None:
    assert valence_of(worse) < valence_of(better)
    if "bit" not in worse and "very" not in worse:
        assert valence_of(better) >= 0.0


@pytest.mark.requirement("R-69")
def test_what_is_denied_is_not_felt_as_strongly_as_its_opposite() -> None:
    assert -0.5 < valence_of("I am not happy.") < 0.0
    assert 0.0 < valence_of("It was not bad.") < valence_of("It was good.")


@pytest.mark.requirement("R-69")
def test_what_is_personal_and_particular_weighs_more_than_small_talk() -> None:
    small_talk = salience_of("Ok, sounds good, thanks!")
    fact = salience_of("Please remember: my sister Ana moved to Lisbon in March 2024 and she is very sick.")
    assert small_talk < 0.3 < 0.6 < fact <= 0.95
    assert salience_of("") == 0.0


def test_names_and_dates_are_found_and_a_mere_beginning_of_a_sentence_is_not() -> None:
    found = entities_of("Yesterday we met Tom Baker on the Isle of Skye. Great food! On 3 May 2024 Ana's train left.")
    assert {"tom baker", "isle of skye", "ana", "3 may 2024"} <= set(found)
    assert "yesterday" not in found
    assert "great" not in found
    assert entities_of("my café in München, nothing else") == ("münchen",)


@pytest.mark.requirement("R-64")
def test_topics_are_the_telling_words() -> None:
    topics = topics_of("We painted the sunrise. The painting of the sunrise hangs in Lisbon.")
    assert set(topics[:3]) == {"sunrise", "painted", "lisbon"}
    assert topics_of("") == ()


@given(st.text(max_size=300))
@pytest.mark.requirement("R-94")
def test_no_text_breaks_them(text: str) -> None:
    assert -1.0 <= infer_mood(text) <= 1.0
    assert 0.0 <= salience_of(text) <= 1.0
    topics_of(text)
    entities_of(text)


@given(st.text(max_size=300))
@pytest.mark.requirement("R-71", "R-72")
def test_sentences_and_exemplars_are_verbatim(text: str) -> None:
    said = turn("t", text)
    assert all(sentence in text for sentence in sentences_of(text))
    assert all(quoted.quote in text and quoted.context in text for quoted in exemplars_of([said]))


def test_the_summary_tells_the_fact_and_not_the_greeting() -> None:
    turns = [
        turn("1", "Hey! How are you? My sister Marta moved to Lisbon last week."),
        turn("2", "Oh nice. That must be hard?", speaker="Reverie"),
    ]
    summary = summary_of(turns)
    assert "Ana: My sister Marta moved to Lisbon last week." in summary
    assert "How are you" not in summary
    assert len(summary) <= 210


def test_a_summary_exists_even_where_nothing_tells() -> None:
    assert summary_of([turn("1", "ok")]) == "Ana: ok"
    assert summary_of([turn("1", "ok", speaker="")]) == "ok"
    assert summary_of([turn("1", "The ferry to Bergen leaves at nine.", speaker="")]).startswith("The ferry")
    assert summary_of([]) == ""


@pytest.mark.requirement("R-71")
def test_a_quote_stands_in_its_surroundings() -> None:
    text = "x " * 300 + "the one thing that matters" + " y" * 300
    around = quote_context(text, "the one thing that matters")
    assert "the one thing that matters" in around
    assert len(around) <= 300


@pytest.mark.requirement("R-127")
async def test_a_search_is_asked_in_the_mood_of_its_words(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await talk(memory, ("I am so happy about the wonderful garden party.", "How nice."))
        await memory.light_sleep()
        glad = await memory.search("the wonderful happy garden party", limit=3)
        sad = await memory.search("the terrible sad garden party", limit=3)
        assert glad.episodes[0].factors.resonance > 1.0 > sad.episodes[0].factors.resonance


def test_a_title_ends_no_sentence() -> None:
    text = "My dentist is Dr. Lund, next visit on 4 March. Mrs. Berg and Prof. Dahl come too."
    assert sentences_of(text) == [
        "My dentist is Dr. Lund, next visit on 4 March.",
        "Mrs. Berg and Prof. Dahl come too.",
    ]
    assert sentences_of("I saw the Dr. yesterday") == ["I saw the Dr. yesterday"]


def test_a_german_date_or_the_number_of_a_list_is_no_sentence() -> None:
    assert sentences_of("Der Termin ist am 3. Mai um 15 Uhr. Gut?") == ["Der Termin ist am 3. Mai um 15 Uhr.", "Gut?"]
    assert sentences_of("1. Pelle\n12. Rex") == ["1. Pelle", "12. Rex"]
    assert sentences_of("I have 3. He has 4.") == ["I have 3.", "He has 4."]
