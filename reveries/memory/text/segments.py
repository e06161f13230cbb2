"""Segmentation: a run of experiences cut into episodes, each about one thing. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np

from reveries.llm.base import Vector, Vectors
from reveries.memory.model import Experience, ExperienceKind, Turn

MAX_EXPERIENCES = 6
"""An episode holds at most so many exchanges: more is a summary of nothing."""
MAX_SILENCE_SECONDS = 30 * 60.0
SAME_THING_COSINE = 0.40
"""Measured on five long conversations: an exchange's median cosine with the episode before it is 0.54 (lowest quarter
0.43); at 0.40 an episode has three exchanges on average."""


@dataclass(frozen=True, slots=True)
class Piece:
    """An experience on its way into an episode, with its turns and their vectors."""

    experience: Experience
    turns: tuple[Turn, ...]
    vectors: Vectors = field(repr=False)


@dataclass(frozen=True, slots=True)
class Run:
    """What an episode holds so far: what decides whether the next experience still belongs to it."""

    conversation_id: str | None
    ended_at: float
    experience_count: int
    vectors: Vectors = field(repr=False)
    episode_id: str = ""
    """The episode that it is already; empty for one that is yet to be."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Pieces that make one episode, or go on with the one called `episode_id`."""

    pieces: tuple[Piece, ...]
    episode_id: str = ""


def unit_mean(vectors: Vectors) -> Vector:
    """The mean of rows, of unit length; zeros stay zeros."""
    mean = vectors.sum(axis=0) / np.float32(max(1, len(vectors)))
    length = float(np.linalg.norm(mean))
    scaled: Vector = (mean / np.float32(length if length > 1e-9 else 1.0)).astype(np.float32)
    return scaled


def by_conversation(pieces: Iterable[Piece]) -> list[list[Piece]]:
    """Pieces that follow each other in one conversation; a thought and what comes from outside stand alone."""
    return [list(group) for _, group in groupby(pieces, key=lambda p: p.experience.conversation_id or p.experience.id)]


def split_segments(pieces: Sequence[Piece], last_run: Run | None = None) -> list[Segment]:
    """`pieces` of one conversation, in order, cut where it falls silent, turns to something else, or gets long.

    `last_run` is the episode that the conversation had come to: the first pieces may still belong to it.
    """
    cut: list[Segment] = []
    run = last_run
    for piece in pieces:
        if run is not None and continues_run(run, piece):
            if cut:
                cut[-1] = Segment((*cut[-1].pieces, piece), cut[-1].episode_id)
            else:
                cut.append(Segment((piece,), run.episode_id))
            run = _longer(run, piece)
        else:
            cut.append(Segment((piece,)))
            run = _begin_run(piece)
    return cut


def continues_run(run: Run, piece: Piece) -> bool:
    """Whether `piece` goes on with what `run` is about."""
    if piece.experience.kind is not ExperienceKind.CONVERSATION or not piece.turns:
        return False
    if piece.experience.conversation_id != run.conversation_id or run.experience_count >= MAX_EXPERIENCES:
        return False
    if not 0.0 <= piece.turns[0].said_at - run.ended_at <= MAX_SILENCE_SECONDS:
        return False
    here, there = unit_mean(run.vectors), unit_mean(piece.vectors)
    # Where the embedder failed, nothing speaks against it: time and length alone decide.
    return not here.any() or not there.any() or float(here @ there) >= SAME_THING_COSINE


def _begin_run(piece: Piece) -> Run | None:
    if not piece.turns:
        return None
    return Run(piece.experience.conversation_id, piece.turns[-1].said_at, 1, piece.vectors)


def _longer(run: Run, piece: Piece) -> Run:
    return Run(
        run.conversation_id,
        piece.turns[-1].said_at,
        run.experience_count + 1,
        np.vstack([run.vectors, piece.vectors]),
        run.episode_id,
    )
