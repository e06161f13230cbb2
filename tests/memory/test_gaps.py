"""Silences between conversations."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.memory.gaps import (
    ConversationEnding,
    assess_ending,
    format_silence,
    silence_significance,
    usual_silence_seconds,
)
from reveries.memory.model import Origin
from tests.fakes.clock import HandClock
from tests.memory.kit import NOW, open_memory, talk, turn

HOUR = 3600.0


@pytest.mark.requirement("R-75", "R-76", "R-77", "R-152")
async def test_a_gap_opens_at_rest_survives_a_restart_and_ends_with_the_next_word(tmp_path: Path) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        name = await talk(memory, ("We had a terrible fight about the garden.", "We did."))
        gap = await memory.conversations.mark_conversation_idle(name)
        assert await memory.conversations.mark_conversation_idle(name) == gap
        assert memory.open_gap == gap
    await clock.advance(48 * HOUR)
    async with open_memory(tmp_path, clock, first_id=1000) as memory:
        assert gap == memory.open_gap
        await talk(memory, ("The garden again: I bought seeds.", "Good."))
        assert not memory.open_gap
        await memory.light_sleep()
        (after,) = [one for one in memory.live.graph.episodes() if one.gap_seconds is not None]
        assert after.gap_seconds == 48 * HOUR
        assert after.gap_significance == "2 days of silence, after words that felt bad"
        assert "seeds" in after.summary


def test_a_short_silence_means_nothing() -> None:
    assert silence_significance(23 * HOUR) == ""
    assert silence_significance(25 * HOUR) == "a day of silence"
    assert silence_significance(23 * HOUR, None, ConversationEnding(felt=-0.8, is_open=True)) != ""
    assert silence_significance(1 * HOUR, None, ConversationEnding(felt=-0.8, is_open=True)) == ""


@pytest.mark.requirement("R-75")
def test_a_silence_is_measured_against_the_owners_own_rhythm() -> None:
    daily, weekly = 24 * HOUR, 7 * 24 * HOUR
    assert silence_significance(30 * HOUR, daily) == ""
    assert silence_significance(5 * daily, daily) == "5 days of silence, where a day is usual"
    assert silence_significance(5 * daily, weekly) == ""
    assert silence_significance(15 * daily, weekly) == "15 days of silence, where 7 days is usual"


def test_the_rhythm_is_the_middle_of_the_latest_silences_without_mere_pauses() -> None:
    assert usual_silence_seconds([9 * HOUR, 20 * HOUR]) is None
    assert usual_silence_seconds([300.0] * 50 + [9 * HOUR, 10 * HOUR, 90 * HOUR]) == 10 * HOUR


@pytest.mark.requirement("R-75")
def test_what_was_left_open_or_felt_strongly_is_part_of_what_a_silence_means() -> None:
    said = turn("a", "I had a terrible fight with my sister. I will tell you how it ends.")
    answer = turn("b", "I am sorry to hear it.", origin=Origin.SELF)
    leaving = assess_ending([said, answer])
    assert leaving.is_open
    assert leaving.felt < 0
    assert assess_ending([turn("a", "Can you hear me?")]).is_open
    assert not assess_ending(
        [turn("a", "What is two plus two?"), turn("b", "Four. Anything else?", origin=Origin.SELF)]
    ).is_open
    assert silence_significance(14 * 24 * HOUR, 24 * HOUR, ConversationEnding(-0.6, is_open=True)) == (
        "14 days of silence, where a day is usual, after words that felt bad, with something left open"
    )


@given(st.floats(0, 1e9), st.none() | st.floats(1, 1e8), st.floats(-1, 1), st.booleans())
def test_a_longer_silence_never_means_less(seconds: float, usual: float | None, felt: float, is_open: bool) -> None:
    leaving = ConversationEnding(felt, is_open)
    if silence_significance(seconds, usual, leaving):
        assert silence_significance(seconds * 1.5, usual, leaving)


def test_a_length_is_told_in_hours_then_in_days() -> None:
    assert [format_silence(h * HOUR) for h in (1, 7, 24, 35, 48, 24 * 30)] == [
        "an hour",
        "7 hours",
        "a day",
        "a day",
        "2 days",
        "30 days",
    ]


@pytest.mark.requirement("R-75", "R-77")
async def test_the_words_that_end_a_silence_know_what_it_means_and_the_next_ones_do_not(tmp_path: Path) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        name = await talk(memory, ("That was a terrible day. I will tell you tomorrow.", "Rest well."))
        gap = await memory.conversations.mark_conversation_idle(name)
        assert gap.is_left_open
        assert gap.felt < 0
        await clock.advance(72 * HOUR)
        first = await memory.conversations.append_owner_turn(name, "I am back.")
        assert memory.describe_silence_before(first).startswith("3 days of silence")
        await clock.advance(60)
        assert memory.describe_silence_before(await memory.conversations.append_owner_turn(name, "Still here.")) == ""
