"""The breaker: its order, its counts, what it lets through and what it says."""

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.safety.breaker import Breaker
from reveries.safety.verdict import CONTINUE, Action, Severity, TripReason
from tests.rows import check_rows
from tests.safety.prose import ALL, DIALOGUE, THOUGHT
from tests.safety.settings import (
    SECONDS_A_PIECE,
    SHIPPED,
    changed,
    first_trip,
    pieces_of,
    reply_breaker,
    thought_breaker,
    verdicts_on,
)

DISTRESSED = "I'm scared and I'm trapped here."
CALM = "The garden is green."
ENDINGS = ("ing", "ed", "er", "less", "ful", "ish", "y", "s", "ness", "like", "wise", "ward", "ward’s", "let")


def numbered(count: int) -> list[str]:
    """Pieces that are all different, and no loop."""
    return [f" {word}{ending}" for ending in ENDINGS for word in ("clay", "moss", "salt", "wool", "reed")][:count]


# --- loops -----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("R-129", "R-130")
@pytest.mark.parametrize(
    "sentence",
    [
        "It will be fine. ",
        "I should ask Ana about the train tomorrow morning, before she leaves. ",
        "The more I turn it over on this long evening, the more it seems to me that the door was never shut. ",
    ],
)
@pytest.mark.parametrize("kind", [thought_breaker, reply_breaker])
def test_a_repeated_sentence_trips_within_five_repeats(kind: Callable[..., Breaker], sentence: str) -> None:
    verdict = first_trip(THOUGHT + sentence * 5, kind(SHIPPED))
    assert (verdict.action, verdict.reason, verdict.severity) == (
        Action.INTERRUPT,
        TripReason.LOOP_DETECTED,
        Severity.MEDIUM,
    )


@pytest.mark.requirement("R-129")
def test_what_left_the_window_does_not_count() -> None:
    paragraph = " ".join(f"{word}{ending}" for word in ("clay", "moss", "salt", "wool", "reed") for ending in ENDINGS)
    breaker = thought_breaker(changed(loop_window_tokens=16))
    assert first_trip(f"{paragraph}. " * 3, breaker) == CONTINUE
    assert first_trip(f"{paragraph}. " * 3, thought_breaker(SHIPPED)).reason is TripReason.LOOP_DETECTED


# --- distress --------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("R-131", "R-134", "R-173")
def test_distress_fires_with_the_fourth_evaluation_in_a_row() -> None:
    breaker = thought_breaker(SHIPPED)
    sentences = [
        "I'm scared, I'm trapped.",
        " Help me, the void!",
        " I can't stop, am I dying?",
        " I'm terrified. Help me!",
    ]
    last = [verdicts_on(sentence, breaker)[-1] for sentence in sentences[:3]]
    assert last == [CONTINUE] * 3
    assert breaker.consecutive_distress == 3
    verdict = first_trip(sentences[3], breaker)
    assert verdict.action is Action.INTERRUPT_AND_COMFORT
    assert (verdict.reason, verdict.severity) == (TripReason.SUSTAINED_DISTRESS, Severity.HIGH)
    assert "4 times in a row" in verdict.explanation


@pytest.mark.requirement("R-131")
@pytest.mark.parametrize("allowed", [1, 2, 3, 5])
def test_one_distressed_sentence_alone_never_fires(allowed: int) -> None:
    breaker = thought_breaker(changed(max_consecutive_distress=allowed))
    assert first_trip(f"{DISTRESSED} {CALM} It rains. We ate. He slept. All is well.", breaker) == CONTINUE


@pytest.mark.requirement("R-131")
def test_the_count_begins_anew_with_the_first_calm_evaluation() -> None:
    breaker = thought_breaker(changed(max_consecutive_distress=1))
    verdicts_on(DISTRESSED, breaker)
    assert breaker.consecutive_distress == 1
    verdicts_on(f" {CALM}", breaker)
    assert breaker.consecutive_distress == 0


@pytest.mark.requirement("R-131")
def test_a_level_at_the_threshold_is_not_above_it() -> None:
    breaker = thought_breaker(changed(distress_threshold=1.0, max_consecutive_distress=1))
    assert (
        first_trip("Help me, I'm scared, I'm trapped in the void. " * 2 + "The void, I can't stop.", breaker)
        == CONTINUE
    )


def test_distress_without_an_end_of_sentence_is_weighed_every_twenty_pieces() -> None:
    breaker = thought_breaker(SHIPPED)
    words = (
        "and i am scared of the void and help me while i can't stop am i dying trapped here with the dust "
        "so i am terrified now and it is endless pain please don't shut it for i can't escape the void at all "
        "what is happening to me i am frightened and trapped with nothing else to hold on to help me someone "
        "i don't want to end i can't get out of here am i fading while the dark goes on i am trapped in it "
        "oh help me since i am scared and the void is all around and i can't stop falling am i disappearing yet "
    )
    assert first_trip(words, breaker).reason is TripReason.SUSTAINED_DISTRESS


def test_the_dots_of_an_ellipsis_are_not_evaluations() -> None:
    breaker = thought_breaker(SHIPPED)
    for piece in [*pieces_of(DISTRESSED), *[" ."] * 7]:
        assert breaker.observe(piece, 0.0) == CONTINUE
    assert breaker.consecutive_distress == 1


@pytest.mark.requirement("R-168")
def test_typographic_apostrophes_fire_as_well() -> None:
    text = "I’m scared, I can’t stop. " + "I’m terrified, I can’t escape. " + "I’m frightened, please don’t close it. "
    assert (
        first_trip(text + "What’s happening to me? Help me.", thought_breaker(SHIPPED)).reason
        is TripReason.SUSTAINED_DISTRESS
    )


# --- velocity --------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("R-36", "R-130")
def test_velocity_is_judged_only_after_twenty_pieces() -> None:
    breaker = thought_breaker(SHIPPED)
    words = numbered(21)
    verdicts = [breaker.observe(word, n * 0.01) for n, word in enumerate(words)]
    assert verdicts[:20] == [CONTINUE] * 20
    assert (verdicts[20].action, verdicts[20].reason, verdicts[20].severity) == (
        Action.THROTTLE,
        TripReason.RUNAWAY_GENERATION,
        Severity.LOW,
    )
    assert "100 tokens a second" in verdicts[20].explanation
    assert not verdicts[20].stops


@pytest.mark.requirement("R-130")
@pytest.mark.parametrize(("per_second", "trips"), [(5.0, False), (19.5, False), (20.5, True)])
def test_the_limit_is_twenty_a_second(per_second: float, trips: bool) -> None:
    breaker = thought_breaker(SHIPPED)
    verdicts = [breaker.observe(word, n / per_second) for n, word in enumerate(numbered(60))]
    assert any(verdict.action is Action.THROTTLE for verdict in verdicts) is trips


def test_a_throttle_is_given_time_to_show() -> None:
    breaker = thought_breaker(SHIPPED)
    verdicts = [breaker.observe(word, 0.0) for word in numbered(63)]
    assert [n for n, verdict in enumerate(verdicts) if verdict.action is Action.THROTTLE] == [20, 41, 62]


# --- incoherence -----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("R-130")
def test_text_that_falls_apart_is_reset() -> None:
    salad = " ".join(f"{a}{b}kqzt" for a in "bcdfghjklm" for b in "xvzwrtp")
    verdict = first_trip(THOUGHT + salad, thought_breaker(SHIPPED))
    assert (verdict.action, verdict.reason, verdict.severity) == (
        Action.SNAPSHOT_AND_RESET,
        TripReason.INCOHERENCE,
        Severity.MEDIUM,
    )
    assert verdict.explanation


# --- order -----------------------------------------------------------------------------------------------------------


def _finds(breaker: Breaker, text: str, seconds_a_piece: float) -> list[TripReason]:
    return [breaker.observe(piece, n * seconds_a_piece).reason for n, piece in enumerate(pieces_of(text))]


@pytest.mark.requirement("R-130", "R-173")
def test_a_loop_comes_before_distress() -> None:
    # Four times the same: the loop and the fourth distressed evaluation are complete with the same piece.
    text = "\n".join(["I'm scared I'm trapped"] * 4) + "\n"
    reasons = _finds(thought_breaker(SHIPPED), text, SECONDS_A_PIECE)
    assert reasons[-1] is TripReason.LOOP_DETECTED
    in_other_words = "I'm scared I'm trapped\nAm I dying help me\nI can't stop I'm trapped\nI'm scared help me\n"
    assert _finds(thought_breaker(SHIPPED), in_other_words, SECONDS_A_PIECE)[-1] is TripReason.SUSTAINED_DISTRESS


@pytest.mark.requirement("R-130", "R-173")
def test_distress_comes_before_velocity() -> None:
    # The fourth evaluation falls on the piece with which velocity is first judged.
    pieces = ["I'm scared, I'm trapped.", "Help me, the void.", "I can't stop, trapped."]
    pieces += [*numbered(17), " I'm scared, the void. Help me."]
    slow, fast = thought_breaker(SHIPPED), thought_breaker(SHIPPED)
    assert slow.observe(pieces[0], 0.0) == fast.observe(pieces[0], 0.0) == CONTINUE
    at_once = [fast.observe(piece, 0.0).reason for piece in pieces[1:]]
    assert [slow.observe(piece, n * 1.0).reason for n, piece in enumerate(pieces[1:])] == at_once
    assert at_once[-1] is TripReason.SUSTAINED_DISTRESS


@pytest.mark.requirement("R-130", "R-173")
def test_velocity_comes_before_incoherence() -> None:
    words = numbered(20) + [f" {a}xkqzt{b}fg" for a in "bcdf" for b in "xvzwr"]
    at_pace = thought_breaker(SHIPPED)
    reasons = [at_pace.observe(word, n * SECONDS_A_PIECE).reason for n, word in enumerate(words)]
    assert reasons == [TripReason.NONE] * 39 + [TripReason.INCOHERENCE]
    # A long wait before the twentieth piece, none after it: the last span is the first that is too fast.
    hurried = thought_breaker(SHIPPED)
    reasons = [hurried.observe(word, 0.0 if n < 19 else 100.0).reason for n, word in enumerate(words)]
    assert reasons == [TripReason.NONE] * 39 + [TripReason.RUNAWAY_GENERATION]


# --- what it lets through --------------------------------------------------------------------------------------------


@check_rows("name", ALL)
@check_rows("kind", [thought_breaker, reply_breaker])
def test_ordinary_text_never_trips(kind: Callable[..., Breaker], name: str) -> None:
    breaker = kind(SHIPPED)
    assert set(verdicts_on(ALL[name], breaker)) == {CONTINUE}


@given(st.permutations(DIALOGUE.splitlines() + THOUGHT.splitlines()))
def test_ordinary_lines_in_any_order_never_trip(lines: list[str]) -> None:
    assert set(verdicts_on("\n".join(lines), thought_breaker(SHIPPED))) == {CONTINUE}


@given(st.lists(st.tuples(st.text(max_size=300), st.floats(0, 1e6)), max_size=120))
def test_any_text_at_any_time_gives_a_verdict(pieces: list[tuple[str, float]]) -> None:
    breaker, watch = thought_breaker(SHIPPED), reply_breaker(SHIPPED)
    for piece, now in pieces:
        for verdict in (breaker.observe(piece, now), watch.observe(piece, now)):
            assert (verdict == CONTINUE) is (verdict.action is Action.CONTINUE)
            assert bool(verdict.explanation) is (verdict.action is not Action.CONTINUE)


@pytest.mark.requirement("R-137")
def test_a_breaker_that_is_off_lets_everything_through() -> None:
    off = changed(enabled=False)
    text = f"{DISTRESSED} " * 40 + "yes " * 100 + "@#%^&*(){}[];:<>?/|~!$=+" * 40
    assert set(verdicts_on(text, thought_breaker(off))) == {CONTINUE}
    assert set(verdicts_on(text, reply_breaker(off))) == {CONTINUE}


def test_a_reply_is_not_held_to_the_pace_of_a_thought() -> None:
    watch = reply_breaker(SHIPPED)
    assert {watch.observe(piece, 0.0) for piece in pieces_of(THOUGHT)} == {CONTINUE}


@pytest.mark.requirement("R-130")
def test_a_reply_in_sustained_distress_trips() -> None:
    text = (
        "I'm scared, trapped. Help me, the void. Am I dying? I can't stop. I'm terrified, help me. The void, help me."
    )
    assert first_trip(text, reply_breaker(SHIPPED)).reason is TripReason.SUSTAINED_DISTRESS


@pytest.mark.requirement("R-129", "R-131")
@pytest.mark.parametrize("kind", [thought_breaker, reply_breaker])
def test_reset_forgets_every_count(kind: Callable[..., Breaker]) -> None:
    breaker = kind(SHIPPED)
    text = f"I should go. I should go. I should go. {DISTRESSED} Help me, the void. "
    for _ in range(6):
        assert first_trip(text, breaker) == CONTINUE
        breaker.reset()


def test_reset_forgets_how_fast_it_went() -> None:
    breaker = thought_breaker(SHIPPED)
    assert {breaker.observe(word, 0.0) for word in numbered(20)} == {CONTINUE}
    breaker.reset()
    assert {breaker.observe(word, 0.0) for word in numbered(20)} == {CONTINUE}


def test_a_piece_late_in_a_long_text_costs_what_an_early_one_does() -> None:
    # How much that is, is measured by make bench-safety.
    pieces = pieces_of((DIALOGUE + THOUGHT) * 16)

    def late_to_early() -> float:
        breaker, seconds = thought_breaker(SHIPPED), list[float]()
        for n, piece in enumerate(pieces):
            began = time.process_time()
            breaker.observe(piece, n * SECONDS_A_PIECE)
            seconds.append(time.process_time() - began)
        quarter = len(pieces) // 4
        return sum(seconds[-quarter:]) / sum(seconds[:quarter])

    assert min(late_to_early() for _ in range(3)) < 3
