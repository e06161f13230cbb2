"""Long texts share the space of one frame."""

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries import protocol
from reveries.daemon.requests.frames import cut_to_share, said_turns
from reveries.memory.model import Origin, Turn

_NOTE_CHARS = 40


@given(st.lists(st.text(max_size=60), max_size=12), st.integers(0, 300))
@pytest.mark.requirement("E2")
def test_what_is_sent_fits_and_the_short_are_never_cut_for_the_long(texts: Sequence[str], room: int) -> None:
    sent = cut_to_share(texts, room)
    whole = [text for text, kept in zip(texts, sent, strict=True) if text == kept]
    cut = [kept for text, kept in zip(texts, sent, strict=True) if text != kept]
    assert sum(map(len, whole)) + sum(len(one) - _NOTE_CHARS for one in cut) <= room
    if cut:
        assert all(len(text) <= min(len(one.rpartition("\u2026")[0]) for one in cut) for text in whole)
    if sum(map(len, texts)) <= room:
        assert sent == list(texts)


@pytest.mark.requirement("E2")
def test_a_page_of_the_longest_turns_there_can_be_is_one_message() -> None:
    turn = Turn("t", "c", "e", 0, Origin.OWNER, "Ana", "\U0001f600" * protocol.MAX_TEXT_CHARS, 0.0)
    frame = protocol.Attached(1, "c", 0.0, said_turns([turn] * 50), 0, [])
    assert len(msgspec.msgpack.encode(frame)) < protocol.MAX_FRAME_BYTES
    assert "more characters)" in frame.turns[0].text
