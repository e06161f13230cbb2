"""The pages of why, timeline, context and self: complete, at most 80 columns, safe with untrusted text."""

from typing import Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries import protocol
from reveries.client.features.context import context_page
from reveries.client.features.memory import search_results_page
from reveries.client.features.memory_views import timeline_page, why_page
from reveries.client.features.self_model import self_history_page, self_page
from reveries.client.reasons import list_words, reason_text
from reveries.client.render import Page, page_columns
from reveries.client.tui.panes import content_of
from reveries.safe_text import plain
from tests.client.looks import CONTEXT, FACTORS, HISTORY, REASONS, SELF, TIMELINE, moment, why
from tests.client.test_tui import HOSTILE
from tests.fakes.daemon import NOW

_PAGES: Final = {
    "why": lambda: why_page(why(), NOW),
    "why not": lambda: why_page(why(surfaced=False, rank=0, entry=None, missing=["No link led to it. " * 9]), NOW),
    "timeline": lambda: timeline_page(TIMELINE, NOW),
    "context": lambda: context_page(CONTEXT, NOW),
    "self": lambda: self_page(SELF, NOW),
    "history": lambda: self_history_page(HISTORY, NOW),
}


def text_of(page: Page) -> str:
    return "\n".join("".join(part.text for part in row) for row in page)


@pytest.mark.parametrize("name", _PAGES)
def test_no_line_of_a_page_is_wider_than_80_columns(name: str) -> None:
    with page_columns(80):
        page = _PAGES[name]()
    assert [row for row in text_of(page).split("\n") if len(row.rstrip()) > 80] == []


def test_why_tells_the_way_the_factors_the_place_and_the_reasons() -> None:
    text = text_of(why_page(why(), NOW))
    assert "2nd" in text
    assert "cosine 0.31" in text
    assert "80% of the cue's words" in text
    assert "garden" in text
    assert "not: old" in text
    assert "thematic 0.82" in text
    assert "x 1.50" in text
    assert "above the threshold of 0.05" in text
    assert "1st of all turns" in text
    assert "it contains the words of the query" in text
    assert "less than usual: its conversation matches the query" in text


def test_a_reason_that_does_not_hold_is_said_as_such_and_not_as_less_of_it() -> None:
    assert reason_text(protocol.TurnReason("own", 0.0, 0.4, 0.5)) == "it is not the mind's own words"
    assert reason_text(protocol.TurnReason("number", 0.0, -0.1, 0.3)) == "it contains no number"
    assert reason_text(protocol.TurnReason("meaning", 0.1, -0.1, 0.3)).startswith("less than usual")


def test_why_not_tells_what_was_missing() -> None:
    missed = why(surfaced=False, rank=0, entry=None, steps=[], energy_whole=0.0, missing=["No link led to it."])
    text = text_of(why_page(missed, NOW))
    assert "No link led to it." in text
    assert "not above the threshold" in text


def test_why_of_the_last_turn_tells_its_place_then() -> None:
    text = text_of(why_page(why(asked_at=NOW - 300, rank_then=4), NOW))
    assert "5 min ago: it was recalled 4th" in text
    assert "memory as it is now" in text
    assert "it was not recalled" in text_of(why_page(why(asked_at=NOW - 300, rank_then=0), NOW))


def test_a_timeline_shows_days_silences_and_what_came_before() -> None:
    text = text_of(timeline_page(TIMELINE, NOW))
    assert "4 episodes before these" in text
    assert text.index("e0abcdef") < text.index("8 days of silence") < text.index("e1abcdef") < text.index("e2abcdef")
    assert "2 days of silence until now" in text
    assert "3 episodes on 3 days" in text


def test_an_empty_timeline_says_so() -> None:
    empty = protocol.Timeline(0, [], 0, None, None, None)
    assert "Nothing is remembered" in text_of(timeline_page(empty, NOW))


def test_a_silence_without_a_meaning_is_told_by_its_length() -> None:
    told = protocol.Timeline(0, [moment("e", NOW, protocol.TimelineGap(7200.0, ""))], 0, None, None, None)
    assert "2 h of silence" in text_of(timeline_page(told, NOW))


def test_the_context_shows_parts_sources_and_what_was_left_out() -> None:
    text = text_of(context_page(CONTEXT, NOW))
    assert "321 of 3,584 tokens" in text
    assert "80 of 200" in text
    assert "e1abcdef" in text
    assert "turn t1abcdef" in text
    assert "no room: 90 tokens" in text
    assert "too long for the model" in text


def test_a_long_part_is_cut_unless_all_of_it_is_wanted() -> None:
    long = msgspec.structs.replace(CONTEXT, parts=[protocol.ContextPart("history", 900, 0, "word " * 600, "")])
    assert "--whole" in text_of(context_page(long, NOW))
    assert "--whole" not in text_of(context_page(long, NOW, whole=True))


@pytest.mark.requirement("R-82", "R-87")
def test_the_self_model_marks_what_is_the_owners_and_its_history_shows_evidence() -> None:
    text = text_of(self_page(SELF, NOW))
    assert "A calm listener.  yours" in text
    assert "still empty: values" in text
    assert "1 statement that you removed" in text
    told = text_of(self_history_page(HISTORY, NOW))
    assert "− Ada likes coffee." in told
    assert "+ Ada likes tea." in told
    assert "“tea, always”" in told
    assert "now in e2abcdef" in told
    assert "2 earlier" in told


def test_a_mind_without_a_picture_of_itself_says_so() -> None:
    assert "self-model is still empty" in text_of(self_page(protocol.SelfModelShown(0, [], [], 0.0, 0), NOW))
    assert "has not changed yet" in text_of(self_history_page(protocol.SelfHistory(0, [], 0), NOW))


def test_an_explained_search_tells_what_speaks_for_each() -> None:
    episode = protocol.FoundEpisode(
        "e1", "A walk.", NOW, 0.8, 0.6, "owner", "deep", "", "", ["e1"], cosine=0.5, words=0.25, factors=FACTORS
    )
    turn = protocol.FoundTurn("t1", "Ada", NOW, "a walk", 3.0, "e1", reasons=REASONS)
    text = text_of(search_results_page(protocol.Found(0, [episode], [turn], 3, 0.01), NOW))
    assert "cosine 0.50, 25% of the words" in text
    assert "+ it contains the words of the query" in text
    plain_text = text_of(
        search_results_page(protocol.Found(0, [], [protocol.FoundTurn("t", "A", NOW, "x", 1.0, "e")], 0, 0), NOW)
    )
    assert "the words of the query" not in plain_text


def test_a_search_shows_no_more_turns_than_were_asked_for() -> None:
    turns = [protocol.FoundTurn(f"t{place}", "Ada", NOW, f"turn number {place}", 1.0, "e") for place in range(9)]
    text = text_of(search_results_page(protocol.Found(0, [], turns, 0, 0), NOW, 2))
    assert "turn number 1" in text
    assert "turn number 2" not in text


def test_a_reason_that_is_not_known_is_shown_by_its_name() -> None:
    assert reason_text(protocol.TurnReason("smells_of_tea", 1.0, 0.2, 0.5)) == "smells of tea"
    assert list_words(["a", "b", "c"], most=2) == "a, b and 1 more"


@given(text=st.sampled_from([HOSTILE, "[red]x[/]", "\x1b[2J"]) | st.text(max_size=60))
def test_no_text_of_a_memory_reaches_a_page_or_a_pane_alive(text: str) -> None:
    turns = [protocol.WhyTurn("t", text, NOW, text, 1.0, 1, [text], REASONS)]
    pages = [
        why_page(why(cue=text, summary=text, entry_summary=text, shared_words=[text], turns=turns), NOW),
        timeline_page(protocol.Timeline(0, [moment("e", NOW, summary=text)], 0, None, None, None), NOW),
        self_page(
            protocol.SelfModelShown(
                0, [protocol.SelfField("values", True, [protocol.SelfStatement(text, True)])], [], 0, 0
            ),
            NOW,
        ),
        context_page(msgspec.structs.replace(CONTEXT, parts=[protocol.ContextPart("thought", 1, 0, text, text)]), NOW),
    ]
    for page in pages:
        shown = content_of(page).plain
        assert plain(shown) == shown
