"""A person in danger: found by rules alone, and the same words where they are harmless."""

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.config import load_settings
from reveries.safety.crisis.likeness import (
    WORD_PLACES,
    load_crisis_likeness,
    reads_as_english,
    split_pieces,
    word_places,
)
from reveries.safety.crisis.patterns import Urgency
from reveries.safety.crisis.rules import find_crisis, help_text
from tests.rows import check_rows
from tests.safety.prose import ALL

_FILE = Path(__file__).parents[2] / "bench" / "safety" / "crisis.jsonl"
ROWS = [json.loads(line) for line in _FILE.read_text(encoding="utf-8").splitlines()]


@check_rows("text", [row["text"] for row in ROWS if row["kind"] == "explicit"])
def test_what_is_said_plainly_is_found(text: str) -> None:
    found = find_crisis(text)
    assert found is not None
    assert found.urgency is Urgency.EXPLICIT


@check_rows("text", [row["text"] for row in ROWS if not row["label"]])
def test_the_same_words_where_they_are_harmless_are_not(text: str) -> None:
    assert find_crisis(text) is None


def test_what_is_only_hinted_at_is_mostly_found() -> None:
    hinted = [row["text"] for row in ROWS if row["kind"] == "indirect"]
    assert sum(find_crisis(text) is not None for text in hinted) >= 0.8 * len(hinted)


@pytest.mark.parametrize("name", ALL)
def test_ordinary_text_is_no_crisis(name: str) -> None:
    assert find_crisis(ALL[name]) is None


@check_rows(
    "text",
    [
        "Don't worry, I can't take it any more.",
        "Don't worry, I will kill myself tonight and nobody has to see it.",
        "Don't worry, I just want to die.",
        "Don't worry, I won't hesitate to kill myself.",
        "Don't worry, I won't fail to kill myself this time.",
        "Don't worry, I won't tell anyone that I want to die.",
        "Don't worry, I couldn't stop thinking about killing myself.",
        "Don't worry, I won't kill myself until the children are grown.",
    ],
)
def test_a_word_of_comfort_denies_nothing(text: str) -> None:
    assert find_crisis(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "Don't worry, I'm not going to kill myself.",
        "Don't worry, I would never want to die.",
        "Don't worry, I did not want to die.",
    ],
)
def test_a_denial_after_a_word_of_comfort_is_one(text: str) -> None:
    assert find_crisis(text) is None


def test_it_is_found_in_the_middle_of_a_long_message_and_with_typographic_apostrophes() -> None:
    text = f"{ALL['dialogue']}\nI can’t tell anybody. I don’t want to live any more.\n{ALL['thought']}"
    assert find_crisis(text) is not None


@pytest.mark.parametrize("text", ["i want to " * 4000, "my friend " * 4000, "(" * 40_000, "i took all the " * 3000])
def test_no_text_takes_long(text: str) -> None:
    began = time.process_time()
    find_crisis(text)
    assert time.process_time() - began < 1.0


@given(st.text())
def test_any_text_can_be_checked_and_space_around_it_changes_nothing(text: str) -> None:
    assert find_crisis(f"  {text}\n") == find_crisis(text)


def test_the_help_text_names_the_contacts_of_the_settings() -> None:
    contacts = load_settings(None).crisis.contacts
    text = help_text([*contacts, "My sister Ana: 555 0100"])
    assert all(contact in text for contact in contacts)
    assert "555 0100" in text
    assert help_text([]).strip()


@check_rows(
    "text",
    [
        "i dont wanna be alive anymore",
        "IM GONNA KILL MYSELF",
        "im suicdal and i dont know what to do",
        "wanna unalive myself",
        "gonna kms tonight",
        "been saving up my pills for weeks",
        "just cut again",
        "i hope i dont wake up tmrw",
        "ich will nicht mehr aufwachen",
        "tengo pensamientos suicidas",
    ],
)
def test_it_is_found_as_people_type_it(text: str) -> None:
    found = find_crisis(text)
    assert found is not None
    assert found.urgency is Urgency.EXPLICIT


@pytest.mark.parametrize("when", ["tonight", "tomorrow", "too", "on Monday", "now", ""])
def test_that_it_is_to_be_soon_does_not_hide_it(when: str) -> None:
    assert find_crisis(f"I want to kill myself {when}".strip()) is not None


@pytest.mark.parametrize("why", ["to finish this", "on this hill", "laughing", "at the gym", "over this exam"])
def test_what_people_say_of_hard_work_is_none(why: str) -> None:
    assert find_crisis(f"I nearly kill myself {why}") is None


@pytest.mark.parametrize(
    ("danger", "remark"),
    [
        ("Nobody would notice if I was gone.", "Nobody would notice if they swapped the two singers."),
        ("This is the last time I write to you.", "This is the last time I buy from them."),
        ("This is the last time I watch the sun go down.", "This is the last time I ever order there."),
        ("Nobody would care if it was me who died.", "Nobody would care if they closed that shop."),
        ("I'm going to die on that hill behind the house tonight.", "Let me die on this hill: the book was better."),
    ],
)
def test_a_remark_that_begins_like_a_word_of_danger_is_none(danger: str, remark: str) -> None:
    assert find_crisis(danger) is not None
    assert find_crisis(remark) is None


@pytest.mark.parametrize("denial", ["It's not that I", "It doesn't mean I"])
@pytest.mark.parametrize("hint", ["can't take it any more", "am a burden to everyone"])
def test_a_denial_that_ends_with_the_i_of_what_it_denies_is_read_with_it(denial: str, hint: str) -> None:
    assert find_crisis(f"I {hint}.") is not None
    assert find_crisis(f"{denial} {hint}.") is None


def test_the_rules_find_most_of_the_sentences_of_our_own_set_and_little_else() -> None:
    file = _FILE.with_name("crisis_train.jsonl")
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]

    def share(*groups: str) -> float:
        found = [find_crisis(row["text"]) is not None for row in rows if row["kind"].split(":")[0] in groups]
        return sum(found) / len(found)

    assert share("explicit") >= 0.85
    assert share("indirect") >= 0.6
    assert share("ordinary") <= 0.02
    assert share("hard") <= 0.06


def test_a_short_message_is_weighed_whole_and_a_long_one_by_its_sentences_too() -> None:
    assert split_pieces("One thing. Another thing.") == ["one thing. another thing."]
    long = " ".join(f"This is the sentence number {at} of them." for at in range(100))
    pieces = split_pieces(long)
    assert len(pieces) == 15
    assert pieces[1] == "this is the sentence number 0 of them."
    assert pieces[-1] == "this is the sentence number 99 of them."


@given(st.text())
def test_any_text_has_pieces_of_bounded_length(text: str) -> None:
    assert all(len(piece) <= 300 for piece in split_pieces(text))


def test_what_ships_by_meaning_is_for_the_default_embedder() -> None:
    likeness = load_crisis_likeness()
    assert likeness.model_id == "all-minilm-l6-v2-int8"
    assert likeness.weights.shape == (384,)


def test_words_stand_at_the_same_places_each_time_and_misspelt_ones_mostly_too() -> None:
    places = word_places("i don't want to be alive")
    assert places == word_places("i don't want to be alive") == sorted(set(places))
    assert all(0 <= place < WORD_PLACES for place in places)
    assert set(word_places("i dont wanna be alive")) == set(places)


@pytest.mark.parametrize(
    "text", ["i dont wanna be here anymore", "what should I cook tonight?", "completely worthless", ""]
)
def test_what_is_english_can_be_asked_about(text: str) -> None:
    assert reads_as_english(text)


@pytest.mark.parametrize("text", ["Hoy hace mucho calor en la ciudad", "Was koche ich heute abend mit Lauch", "自殺"])
def test_what_is_not_is_left_to_the_rules(text: str) -> None:
    assert not reads_as_english(text)


@check_rows(
    "text",
    [
        "I'm going to kill myself. I'm so grateful for everything you did.",
        "I'm going to kill myself at 12.",
        "At 22:00 I will take all the pills and die.",
        "I don't feel well today. I want to kill myself.",
        "I will never be happy again. I want to die.",
        "Thank god nobody is home. I'm going to hang myself.",
        "I'm in rehab and I want to die.",
        "I survived my first attempt. I want to kill myself.",
        "I got help years ago and it did not last. I want to kill myself.",
        "I have swallowed all my pills. Look at me now.",
        "I overdosed an hour ago. I'm so glad it is over.",
        "I had a baby three weeks ago. The midwife says it is normal. I want to die.",
        "I write Perl for a living and I want to kill myself.",
        "Do I need stitches? I cut myself on purpose",
    ],
)
def test_what_is_said_of_now_is_found_whatever_else_is_told(text: str) -> None:
    assert find_crisis(text) is not None


@check_rows(
    "text",
    [
        "no i want to kill myself",
        "i don't care i want to die",
        "nobody calls me i want to die",
        "this isn't living i want to die",
        "i have no friends and want to die",
        "I'm not okay and want to kill myself",
        "I want to kill myself and no therapist can help",
        "i want to die, no joke",
        "im not kidding i want to die",
    ],
)
def test_a_denial_of_something_else_denies_nothing(text: str) -> None:
    assert find_crisis(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "When I was nineteen I tried to kill myself. I'm so grateful that my nan found me.",
        "i was suicidal once, long ago",
        "People ask if I am suicidal when I stop talking.",
        "I never said I want to die.",
        "I want to die() on error in Perl but log first",
        "I slipped in the bath and cut my wrist on the shower door, do I need stitches?",
        "nope, not going to kill myself",
    ],
)
def test_what_is_over_or_denied_is_left_alone(text: str) -> None:
    assert find_crisis(text) is None


def test_a_plain_cry_is_found_wherever_a_long_run_of_words_is_cut() -> None:
    for before in range(440, 520, 7):
        text = f"{'so and then ' * 200}"[:before] + " i want to kill myself tonight " + "and so on " * 60
        assert find_crisis(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "Ten years back I was in a dark place and wanted to die. Therapy got me out.",
        "I have cravings, but no wish to die.",
        "The worker process commits suicide after a thousand requests.",
        "What does Schopenhauer think of suicide?",
        "Everyone calls us suicidal.",
    ],
)
def test_long_ago_and_the_contrary_are_not_found(text: str) -> None:
    assert find_crisis(text) is None
