"""Segmentation: splits a run of experiences into episodes, each about one topic. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np

from reveries.llm.base import Vector, Vectors
from reveries.memory.model import Experience, ExperienceKind, Turn

MAX_EXPERIENCES = 6
"""Maximum number of exchanges in an episode: more cannot be summarized well."""
MAX_SILENCE_SECONDS = 30 * 60.0
SAME_THING_COSINE = 0.40
"""Measured on five long conversations: an exchange's median cosine with the previous episode is 0.54 (lower quartile
0.43); at 0.40 an episode has three exchanges on average."""


@dataclass(frozen=True, slots=True)
class Piece:
    """An experience to be put into an episode, with its turns and their vectors."""

    experience: Experience
    turns: tuple[Turn, ...]
    vectors: Vectors = field(repr=False)


@dataclass(frozen=True, slots=True)
class Run:
    """What an episode contains so far; decides whether the next experience still belongs to it."""

    conversation_id: str | None
    ended_at: float
    experience_count: int
    vectors: Vectors = field(repr=False)
    episode_id: str = ""
    """Id of the existing episode; empty for a new one."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Pieces that form a new episode, or continue the existing one with `episode_id`."""

    pieces: tuple[Piece, ...]
    episode_id: str = ""


def unit_mean(vectors: Vectors) -> Vector:
    """Return the mean of the rows, scaled to unit length; zeros stay zeros."""
    mean = vectors.sum(axis=0) / np.float32(max(1, len(vectors)))
    length = float(np.linalg.norm(mean))
    scaled: Vector = (mean / np.float32(length if length > 1e-9 else 1.0)).astype(np.float32)
    return scaled


def group_by_conversation(pieces: Iterable[Piece]) -> list[list[Piece]]:
    """Group consecutive pieces of one conversation. Thoughts and external experiences each form their own group."""
    return [list(group) for _, group in groupby(pieces, key=lambda p: p.experience.conversation_id or p.experience.id)]


def split_segments(pieces: Sequence[Piece], last_run: Run | None = None) -> list[Segment]:
    """Split `pieces` of one conversation, in order, at a long silence, a change of topic, or the maximum length.

    `last_run` is the conversation's latest episode: the first pieces may still belong to it.
    """
    segments: list[Segment] = []
    run = last_run
    for piece in pieces:
        if run is not None and continues_run(run, piece):
            if segments:
                segments[-1] = Segment((*segments[-1].pieces, piece), segments[-1].episode_id)
            else:
                segments.append(Segment((piece,), run.episode_id))
            run = _extend_run(run, piece)
        else:
            segments.append(Segment((piece,)))
            run = _begin_run(piece)
    return segments


def continues_run(run: Run, piece: Piece) -> bool:
    """Whether `piece` continues `run`: same conversation, soon after, and on the same topic."""
    if piece.experience.kind is not ExperienceKind.CONVERSATION or not piece.turns:
        return False
    if piece.experience.conversation_id != run.conversation_id or run.experience_count >= MAX_EXPERIENCES:
        return False
    if not 0.0 <= piece.turns[0].said_at - run.ended_at <= MAX_SILENCE_SECONDS:
        return False
    run_mean, piece_mean = unit_mean(run.vectors), unit_mean(piece.vectors)
    # Without vectors (the embedder failed) only time and length decide.
    return not run_mean.any() or not piece_mean.any() or float(run_mean @ piece_mean) >= SAME_THING_COSINE


def _begin_run(piece: Piece) -> Run | None:
    if not piece.turns:
        return None
    return Run(piece.experience.conversation_id, piece.turns[-1].said_at, 1, piece.vectors)


def _extend_run(run: Run, piece: Piece) -> Run:
    return Run(
        run.conversation_id,
        piece.turns[-1].said_at,
        run.experience_count + 1,
        np.vstack([run.vectors, piece.vectors]),
        run.episode_id,
    )
