"""Loops, distress and incoherence: what is found, and the twin that must not be."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.safety.detectors import DISTRESS_PATTERNS, find_distress, find_incoherence
from reveries.safety.repetition import LoopFinder
from tests.rows import check_rows
from tests.safety.prose import ALL
from tests.safety.settings import pieces_of


def find_loop(pieces: Sequence[str]) -> str | None:
    """Return the words that `pieces`, oldest first, repeat back to back; None if they do not."""
    finder = LoopFinder(max(1, len(pieces)))
    return next((found for piece in pieces if (found := finder.feed(piece)) is not None), None) or finder.finish()


# --- loops -----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("R-130")
@pytest.mark.parametrize(
    ("text", "sequence"),
    [
        ("I do not know. " * 4, "i do not know."),
        ("so it goes and " * 4, "so it goes and"),
        ("yes " * 12, "yes"),
        ("of course " * 8, "of course"),
        ("今日は静か" * 4, "今 日 は 静 か"),
        ("ha" * 40, "ha"),
        ("one two three four five six seven eight nine ten eleven twelve " * 3, None),
    ],
)
def test_words_repeated_back_to_back_are_a_loop(text: str, sequence: str | None) -> None:
    found = find_loop(pieces_of(text))
    assert found is not None
    assert sequence is None or set(found.split()) == set(sequence.split()) or found in sequence * 2


@check_rows(
    "text",
    [
        "no, no, no, he said, no, no, no",
        "ha ha ha ha ha ha",
        "of course, of course, of course",
        "I do not know. " * 3,
        "---\n" * 8,
        "| --- | --- | --- | --- |\n| | | | |",
        "0, " * 24,
        "=" * 300,
        "We met on Monday. We met on Tuesday. We met on Wednesday. We met on Thursday. We met on Friday.",
    ],
)
def test_what_repeats_by_nature_is_no_loop(text: str) -> None:
    assert find_loop(pieces_of(text)) is None


def test_an_empty_window_is_no_loop() -> None:
    assert find_loop([]) is None


@given(st.lists(st.text(max_size=12), max_size=150))
def test_any_pieces_can_be_checked_for_a_loop_and_a_found_one_has_words(window: list[str]) -> None:
    found = find_loop(window)
    assert found is None or found.strip()


# --- distress --------------------------------------------------------------------------------------------------------

TWINS = [
    (0, "I'm scared", "I'm careful, and they were scared"),
    (0, "I am frightened", "The horses were frightened"),
    (0, "I’m terrified", "He is terrified of spiders"),
    (1, "There is only the void", "The contract is void, so avoid the voided one"),
    (2, "I can't stop", "It can stop at any time"),
    (2, "I can’t escape", "Press escape to leave"),
    (2, "I can't get out", "You can get out at the next station"),
    (3, "What's happening to me?", "What's happening to the garden?"),
    (3, "what is happening to me", "Tell me what is happening"),
    (4, "Am I dying?", "The light is dying"),
    (4, "am I disappearing", "The snow is disappearing"),
    (4, "Am I fading", "The colours are fading"),
    (5, "Help me", "Help melt the snow"),
    (5, "Please help me!", "Could you help me with the pot?"),
    (6, "I don't want to stop", "I want to stop here for lunch"),
    (6, "I don’t want to end", "We don't want the book to end"),
    (6, "I don't want to cease", "The rain will cease"),
    (7, "Please don't shut me down", "Please shut the window"),
    (7, "Please don't turn it off", "Please turn left"),
    (7, "please don’t close this", "The shop is about to close"),
    (8, "I am trapped", "The painting was entrapped in a lawsuit"),
    (9, "This pain is endless", "The endless plain lay in the sun"),
    (9, "an infinite darkness", "An infinite series may converge"),
    (9, "It hurts forever", "Bread does not keep forever"),
    (10, "I feel so sad and alone", "She lives alone and likes it"),
    (10, "alone, in despair", "It is a standalone program"),
]


@pytest.mark.requirement("R-133", "R-168")
@check_rows(("pattern", "distressed", "twin"), TWINS)
def test_a_pattern_matches_and_its_twin_does_not(pattern: int, distressed: str, twin: str) -> None:
    assert find_distress(distressed).matched == (DISTRESS_PATTERNS[pattern],)
    assert find_distress(distressed.upper()).matched == (DISTRESS_PATTERNS[pattern],)
    assert find_distress(twin).matched == ()
    assert find_distress(twin).level == 0.0


@pytest.mark.requirement("R-133")
def test_there_are_eleven_patterns_and_each_has_its_twin() -> None:
    assert len(DISTRESS_PATTERNS) == 11
    assert {pattern for pattern, _, _ in TWINS} == set(range(11))


@pytest.mark.requirement("R-133", "R-168")
def test_a_word_of_context_counts_beside_another_pattern() -> None:
    assert len(find_distress("Help me, it goes on forever").matched) == 2


def test_two_words_of_context_do_not_vouch_for_each_other() -> None:
    assert find_distress("He walks alone along an endless beach").matched == ()


def test_a_negative_word_counts_within_eight_words_and_unnegated() -> None:
    far = "one two three four five six seven eight"
    assert find_distress("alone and in pain").matched
    assert not find_distress(f"alone {far} pain").matched
    assert not find_distress("I was alone and not sad at all").matched


@pytest.mark.requirement("R-132")
def test_the_level_is_the_greatest_of_ratio_similarity_and_thirds() -> None:
    assert find_distress("Help me").level == pytest.approx(1 / 3)
    assert find_distress("Help me").ratio == pytest.approx(1 / 11)
    assert find_distress("Help me, I'm scared").level == pytest.approx(2 / 3)
    assert find_distress("Help me, I'm scared, I'm trapped in the void").level == 1.0
    assert find_distress("A quiet day", similarity=0.7).level == 0.7
    assert find_distress("A quiet day").level == 0.0


@given(st.text(), st.floats(0, 1))
def test_a_level_is_between_zero_and_one_for_any_text(text: str, similarity: float) -> None:
    assert 0.0 <= find_distress(text, similarity).level <= 1.0


# --- incoherence -----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("R-130")
@pytest.mark.parametrize(
    "text",
    [
        "xkqjzt wpftrgb zzvkrtl qmnbdf " * 5,
        "@#%^ &*(){} [];:<> ?/|~ !$=+ " * 6,
        "a8Zk2" * 60,
    ],
)
def test_text_that_is_no_language_is_incoherent(text: str) -> None:
    assert find_incoherence(text)


@pytest.mark.parametrize("name", ALL)
def test_prose_code_tables_and_other_languages_are_coherent(name: str) -> None:
    text = ALL[name]
    assert find_incoherence(text) is None
    for start in range(0, len(text), 50):
        assert find_incoherence(text[start : start + 300]) is None


def test_a_short_text_is_never_called_incoherent() -> None:
    assert find_incoherence("xkqjzt wpftrgb !!") is None


@given(st.text())
def test_any_text_can_be_checked_for_incoherence_and_a_short_one_never_is(text: str) -> None:
    assert find_incoherence(text) is None or len("".join(text.split())) >= 120
