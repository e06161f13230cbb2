"""Words that ask, that tell, and that do neither are answered each in its own manner."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.daemon.chat_context import asked_text, local_time, stops_at
from reveries.daemon.manner import Manner, manner_for

NOW = 1_790_000_000.0


@pytest.mark.parametrize(
    "words",
    [
        "When was the tree planted?",
        "where does clara live",
        "Ok, and what did she say",
        "Remind me what the vet said.",
        "Write me two lines about rain.",
        "Please translate this: buongiorno",
        "I moved to Lisbon. Do you know the city?",
        "¿Dónde vive Clara?",
        "クララはどこに住んでいますか？",
    ],
)
def test_words_that_ask_are_answered_from_what_was_said(words: str) -> None:
    assert manner_for(words) is Manner.ANSWER


@pytest.mark.parametrize(
    "words",
    [
        "My mother planted the pear tree in our garden in the spring of 1984.",
        "It is dying now, I think. Half of it had no leaves this summer.",
        "we moved to lisbon last week. boxes everywhere",
        "Remember that I am allergic to hazelnuts.",
        "My brother Paul wants to cut it down. I don't know what to say to him.",
        "The funeral is on Friday in Bern.",
        "When I was a girl we lived by the sea, and my father sailed.",
        "What a day! I lost my job this morning.",
        "Thanks, I got the job.",
        "No, she died.",
    ],
)
def test_words_that_tell_something_are_met_with_interest(words: str) -> None:
    assert manner_for(words) is Manner.TAKE_INTEREST


@pytest.mark.parametrize(
    "words", ["Hi.", "Ok.", "…", "", "Good night!", "Thanks a lot.", "Hello again, Reverie!", "See you tomorrow"]
)
def test_words_that_say_nothing_are_only_answered(words: str) -> None:
    assert manner_for(words) is Manner.PLAIN


@given(st.text(max_size=300))
def test_the_manner_stands_right_before_the_words_and_never_after_them(words: str) -> None:
    text = asked_text(words, (), "", NOW)
    assert text.endswith(f"{manner_for(words).value}]\n{words}")


def test_a_reply_ends_where_the_model_begins_to_write_the_next_notes_itself() -> None:
    note = asked_text("Hello.", (), "a thought", NOW, "9 days of silence")
    assert all(f"\n{line}".startswith(stops_at(NOW)) for line in note.split("\n")[:-1])


def test_a_scene_that_the_model_was_asked_for_is_not_cut() -> None:
    scene = "Here it is.\n[It is night. A door opens.]\nANNA: Who is there?"
    assert not any(stop in scene for stop in stops_at(NOW))
    assert any(stop in f"Yes.\n[It is {local_time(NOW)}. Answer" for stop in stops_at(NOW))
