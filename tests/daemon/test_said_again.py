"""Of its own replies the model reads each thing once."""

from hypothesis import given
from hypothesis import strategies as st

from reveries.daemon.chat_context import SentExchange, messages_for
from reveries.daemon.said_again import only_what_is_new

GREETING = "Hello! It's nice to meet you, Morten. I'm Reverie, a mind that lives on this computer."


def test_a_greeting_that_comes_again_is_read_once() -> None:
    replies = only_what_is_new(
        [
            ("my name is Pia", "Hello! It's nice to meet you, Pia. I'm Reverie, a mind that lives on this computer."),
            ("I have a cat called Morten", f"{GREETING} How old is he?"),
        ]
    )
    assert list(replies)[1] == "How old is he?"


def test_a_question_given_back_is_left_out_and_never_the_whole_reply() -> None:
    asked = ("what should I feed him?", f"{GREETING} What should I feed him?")
    assert list(only_what_is_new([("hi", GREETING), asked]))[1] == "What should I feed him?"
    assert list(only_what_is_new([("hi", GREETING), (asked[0], asked[1] + " Ask your vet.")]))[1] == "Ask your vet."


def test_what_is_told_of_the_same_thing_in_other_words_stays() -> None:
    said = [("Where does Ane live?", "Ane lives in Oslo."), ("And what does she do?", "Ane plays the cello in Oslo.")]
    assert list(only_what_is_new(said)) == [reply for _, reply in said]


@given(st.lists(st.tuples(st.text(max_size=80), st.text(max_size=80)), max_size=8))
def test_whatever_was_said_each_reply_stays_a_part_of_itself(said: list[tuple[str, str]]) -> None:
    shown = list(only_what_is_new(said))
    assert len(shown) == len(said)
    for (_, reply), part in zip(said, shown, strict=True):
        assert all(word in reply for word in part.split())
        assert bool(part.strip()) == bool(reply.strip())


def test_the_prompt_has_the_words_as_they_were_sent_and_of_the_replies_what_was_new() -> None:
    sent = [
        SentExchange(f"[notes]\n{words}", f"{GREETING} {end}", words, 10, ())
        for words, end in (("one", "First."), ("two", "Second."))
    ]
    told = [message.text for message in messages_for("rules", sent)]
    assert told == ["rules", "[notes]\none", f"{GREETING} First.", "[notes]\ntwo", "Second."]
