"""The turns of a random mind, with natural word frequencies, and cues for them.

The words are those of `common_words.txt` by frequency (Zipf), stop words included; a turn has 8 to 40. The vectors of
an episode's turns are close to its own; a conversation has 20 turns, two speakers, minutes between turns. One turn in
fifty says what a name stands for. A cue consists of some words of a turn.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from synthetic import DIMENSIONS, NOW, Synthetic, episode_id

from reveries.index.terms import stop_words
from reveries.llm.base import Vector, Vectors
from reveries.memory.changes import IndexedTurn
from reveries.memory.model import Origin, Turn
from reveries.memory.text.word_lists import common_words

TURNS_A_CONVERSATION = 20
_SHARE_OF_STOP_WORDS = 0.45
_NOISE = 0.04
_NAMES = ("Mira", "Tomas", "Ilse", "Joran", "Petra", "Anselm", "Ruta", "Casimir")


@dataclass(frozen=True, slots=True)
class SyntheticCue:
    """A question, its vector, and the turn that it was generated from."""

    text: str
    vector: Vector
    row: int


class Talk:
    """`count` turns about the episodes of `mind`, in order. Made as they are asked for, the same ones each time."""

    def __init__(self, mind: Synthetic, count: int, seed: int = 3) -> None:
        self._mind = mind
        self.count = count
        self._seed = seed
        self._words = sorted(common_words())
        numbers = np.random.default_rng(seed)
        numbers.shuffle(self._words)
        self._stops = sorted(stop_words())
        ranks = np.arange(1, len(self._words) + 1)
        self._shares = np.cumsum(1.0 / (ranks + 2.7))
        self._shares /= self._shares[-1]

    def turns(self, first: int, last: int) -> Iterator[IndexedTurn]:
        """Turns `first` to `last` with their vectors, in batches that do not depend on where one begins."""
        for start in range(first - first % 1000, last, 1000):
            texts, vectors = self._batch(start)
            for row in range(max(first, start), min(last, start + 1000)):
                yield IndexedTurn(self._turn(row, texts[row - start]), self.episode_of(row), vectors[row - start])

    def episode_of(self, row: int) -> str:
        """The id of the episode that a turn belongs to."""
        return episode_id(row * len(self._mind.packed.ids) // self.count)

    def cues(self, count: int, seed: int = 4) -> Iterator[SyntheticCue]:
        """Return questions about turns, each with words of one turn and one other word."""
        numbers = np.random.default_rng(seed)
        for row in numbers.integers(0, self.count, count).tolist():
            texts, vectors = self._batch(row - row % 1000)
            words = texts[row % 1000].split()
            kept = [words[place] for place in sorted(numbers.choice(len(words), min(6, len(words)), replace=False))]
            other = self._words[int(np.searchsorted(self._shares, numbers.random()))]
            vector = vectors[row % 1000] + 0.02 * numbers.standard_normal(DIMENSIONS).astype(np.float32)
            text = f"What did {_NAMES[row % len(_NAMES)]} say about {' '.join(kept)} and the {other}?"
            yield SyntheticCue(text, _unit(vector), row)

    def _batch(self, start: int) -> tuple[Sequence[str], Vectors]:
        numbers = np.random.default_rng([self._seed, start])
        lengths = numbers.integers(8, 41, 1000)
        picks = np.searchsorted(self._shares, numbers.random(int(lengths.sum()))).tolist()
        are_stops = (numbers.random(len(picks)) < _SHARE_OF_STOP_WORDS).tolist()
        stops = numbers.integers(0, len(self._stops), len(picks)).tolist()
        words = [
            self._stops[stop] if is_stop else self._words[pick]
            for pick, is_stop, stop in zip(picks, are_stops, stops, strict=True)
        ]
        ends = np.cumsum(lengths).tolist()
        texts = [" ".join(words[end - length : end]) for end, length in zip(ends, lengths.tolist(), strict=True)]
        count = len(self._mind.packed.ids)
        own = np.minimum(np.arange(start, start + 1000) * count // self.count, count - 1)
        near = self._mind.packed.vectors[own] + _NOISE * numbers.standard_normal((1000, DIMENSIONS)).astype(np.float32)
        return texts, (near / np.linalg.norm(near, axis=1, keepdims=True)).astype(np.float32)

    def _turn(self, row: int, text: str) -> Turn:
        talk, position = divmod(row, TURNS_A_CONVERSATION)
        if row % 50 == 7:
            text = f"{_NAMES[row % len(_NAMES)]} {self._words[row % len(self._words)].title()} is a {text}."
        elif row % 3 == 0:
            text = f"{text.capitalize()}?" if row % 2 else f"I said that {_NAMES[row % 7]} had {text}."
        return Turn(
            id=f"{row:016x}",
            conversation_id=f"talk{talk:08}",
            experience_id=f"deed{row // 2:08}",
            position=position,
            origin=Origin.SELF if row % 2 else Origin.OWNER,
            speaker="Reverie" if row % 2 else "Ana",
            text=text,
            said_at=NOW - 86_400.0 * (self.count - row) / 200 + 60.0 * position,
        )


def _unit(vector: Vector) -> Vector:
    unit: Vector = (vector / np.linalg.norm(vector)).astype(np.float32)
    return unit
