"""Cutting a conversation into episodes about one thing."""

import numpy as np

from reveries.memory.model import Experience, ExperienceKind, Origin
from reveries.memory.text.segments import MAX_EXPERIENCES, Piece, Run, group_by_conversation, split_segments, unit_mean
from tests.memory.kit import NOW, axis, turn


def piece(name: str, place: int, at: float = 0.0, **chosen: object) -> Piece:
    plain: dict[str, object] = {"conversation_id": "c", "kind": ExperienceKind.CONVERSATION}
    experience = Experience(
        id=name, happened_at=NOW + at, content=name, salience=0.5, valence=0.0, origin=Origin.OWNER, tainted=False,
        **(plain | chosen),  # type: ignore[arg-type]
    )  # fmt: skip
    return Piece(experience, (turn(name, name, said_at=NOW + at),), axis(place).reshape(1, -1))


def cut(*pieces: Piece, run: Run | None = None) -> list[list[str]]:
    return [[one.experience.id for one in segment.pieces] for segment in split_segments(pieces, run)]


def test_a_new_topic_a_long_silence_and_a_full_episode_each_begin_another() -> None:
    assert cut(piece("a", 0), piece("b", 0), piece("c", 1)) == [["a", "b"], ["c"]]
    assert cut(piece("a", 0), piece("b", 0, at=1801)) == [["a"], ["b"]]
    many = [piece(str(place), 0) for place in range(MAX_EXPERIENCES + 1)]
    assert [len(names) for names in cut(*many)] == [MAX_EXPERIENCES, 1]


def test_the_first_pieces_go_on_with_the_episode_the_conversation_had_come_to() -> None:
    run = Run("c", NOW, 1, axis(0).reshape(1, -1), "home")
    found = split_segments([piece("a", 0, at=60), piece("b", 1, at=120)], run)
    assert [(segment.episode_id, len(segment.pieces)) for segment in found] == [("home", 1), ("", 1)]


def test_a_thought_stands_alone() -> None:
    thought = piece("t", 0, kind=ExperienceKind.MONOLOGUE, conversation_id=None)
    groups = group_by_conversation([piece("a", 0), thought, piece("b", 0)])
    assert [[one.experience.id for one in group] for group in groups] == [["a"], ["t"], ["b"]]


def test_the_mean_of_nothing_is_nothing() -> None:
    assert not unit_mean(np.zeros((0, 4), dtype=np.float32)).any()
    assert not unit_mean(np.zeros((2, 4), dtype=np.float32)).any()
