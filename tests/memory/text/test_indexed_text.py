"""Thoughts and outside texts, cut into pieces that can be found like turns."""

from hypothesis import given
from hypothesis import strategies as st

from reveries.memory.model import Experience, ExperienceKind, Origin
from reveries.memory.text.indexed_text import passages_of
from tests.memory.kit import NOW


def thought(content: str) -> Experience:
    return Experience("x", ExperienceKind.MONOLOGUE, NOW, content, 0.5, 0.0, Origin.SELF, tainted=False)


def test_a_long_thought_is_cut_between_sentences() -> None:
    content = "I keep thinking of the boat. " * 60
    pieces = passages_of(thought(content), "Reverie")
    assert len(pieces) > 2
    assert all(piece.text.endswith("boat.") and len(piece.text) <= 600 for piece in pieces)
    assert [piece.id for piece in pieces[:2]] == ["x#0", "x#1"]
    assert {piece.speaker for piece in pieces} == {"Reverie"}


@given(st.text(max_size=2000))
def test_nothing_is_lost_and_every_piece_is_verbatim(content: str) -> None:
    pieces = passages_of(thought(content), "Reverie")
    assert all(piece.text in content and len(piece.text) <= 600 for piece in pieces)
    kept = "".join("".join(piece.text.split()) for piece in pieces)
    assert kept == "".join(content.split())
