import asyncio
from collections.abc import AsyncGenerator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.config import load_settings
from reveries.llm.base import Delta, Finished, FinishReason, StreamEvent
from reveries.llm.hidden_thinking import ThinkingFilter, without_thinking
from reveries.llm.limits import limit_stream
from reveries.llm.structured import parse

LIMITS = load_settings(None).llm.limits


def _read(text: str, cuts: list[int]) -> tuple[str, bool]:
    reader, shown, start = ThinkingFilter(), "", 0
    for cut in [*sorted(cut % (len(text) + 1) for cut in cuts), len(text)]:
        shown += reader.feed(text[start:cut])
        start = cut
    return shown + reader.flush(), reader.has_removed


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<think>They mean the pear.</think>\n\nThe pear tree.", "The pear tree."),
        ("\n <THINKING>a < b</thinking>  ok", "ok"),
        ("<think></think>Yes.", "Yes."),
        ("<think>and so on, without an end", ""),
        ("A <think> in the middle is talk</think> about one.", "A <think> in the middle is talk</think> about one."),
        ("<thistle> grows here", "<thistle> grows here"),
        ("<thi", "<thi"),
        ("梨の木 <think>", "梨の木 <think>"),
        ("", ""),
    ],
)
@given(cuts=st.lists(st.integers(0, 100), max_size=12))
def test_reasoning_in_front_of_an_answer_is_left_out_however_it_arrives(text: str, shown: str, cuts: list[int]) -> None:
    assert _read(text, cuts)[0] == shown


@given(text=st.text(max_size=200), cuts=st.lists(st.integers(0, 300), max_size=8))
def test_an_answer_without_reasoning_is_not_changed(text: str, cuts: list[int]) -> None:
    shown, has_removed = _read(text, cuts)
    assert has_removed or shown == text


def test_a_mark_of_reasoning_that_an_answer_quotes_does_not_cut_it() -> None:
    answer = '{"quote": "the tag </think> ends it"}'
    assert without_thinking(answer) == answer


def test_an_answer_in_the_form_asked_for_is_found_behind_reasoning_that_was_opened_by_the_template() -> None:
    said = 'Maybe {"a": 1}? No.\n</think>\n{"a": 2}'
    assert parse(said, dict[str, int]) == {"a": 2}
    assert without_thinking("<think>only this") == ""


async def test_a_stream_of_reasoning_alone_ends_with_a_mark_that_says_so() -> None:
    async def say() -> AsyncGenerator[StreamEvent, None]:
        for piece in ("<think>", "hm ", "hm"):
            await asyncio.sleep(0)
            yield Delta(piece)
        yield Finished(FinishReason.LENGTH, None)

    events = [event async for event in limit_stream(say(), LIMITS, "m")]
    assert events == [Finished(FinishReason.LENGTH, None, has_reasoned=True)]
