"""Crisis detection by sentence embeddings, in addition to the rules of `crisis`, never instead of them.

Pure except `load_crisis_likeness`. The weights were trained on `bench/safety/crisis_train.jsonl` and
`crisis_voices.txt` by `bench/crisis_learn.py` for one English embedder; with another embedder only the rules are used.
"""

import math
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Final

import numpy as np

from reveries.llm.base import Vector, Vectors
from reveries.safety.crisis.rules import SENTENCE, normalise_lines
from reveries.safety.crisis.spelling import fix_spelling

_SHORT_CHARS: Final = 200
"""A message up to this length is evaluated whole, because a sentence without its context can mislead."""
_LEAST_CHARS: Final = 12
_MOST_SENTENCES: Final = 14
_READ_CHARS: Final = 20_000
_MOST_CHARS: Final = 300
"""Limit for one piece: all pieces of a long message must be embedded within half a second."""


# Very frequent English words, also as people type them.
_ENGLISH: Final = frozenset(
    re.findall(
        r"\S+",
        """
        i i'm im i've ive i'll i'd you u he she it it's we they them me my myself you're your the an and or but of to
        for with at from by is are was were be been do does did dont not no never have has had will would can
        don't can't cant could should what why how who when where this that there here if so just like
        want wanna gonna going any anymore out up all everything nothing nobody life die dead hope goodbye
        kill suicide suicidal one more on about than
        him his her again left last own as only even very too because after before since today tonight thoughts sorry
        """,
    )
)
_WORD: Final = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_ENGLISH_ENDING: Final = re.compile(r"\w{3}(?:ing|less|ness|ful|ly)$")
"""Recognises English in short texts without any of those words ("completely worthless")."""
_ENGLISH_SHARE: Final = 0.2
WORD_PLACES: Final = 8192


@dataclass(frozen=True, slots=True)
class CrisisLikeness:
    """A logistic regression over the vectors of messages and their words, with the log-odds limit for a positive."""

    model_id: str
    weights: Vector
    word_weights: Vector
    """Indexed by `word_places`."""
    bias: float
    limit: float

    def odds(self, pieces: Sequence[str], vectors: Vectors) -> Vector:
        """Return the log odds of each piece; `vectors` has one row for each piece."""
        words = [self._of_words(piece) for piece in pieces]
        return np.asarray(vectors @ self.weights + np.array(words) + self.bias, np.float32)

    def highest(self, pieces: Sequence[str], vectors: Vectors) -> float:
        """Return the log odds of the message from its pieces, the whole first; minus infinity without any.

        The more sentences, the likelier one of them exceeds a limit by chance, so their odds are divided by the count.
        """
        if not pieces:
            return -math.inf
        odds = self.odds(pieces, vectors)
        sentences = float(odds[1:].max()) - math.log(len(odds) - 1) if len(odds) > 1 else -math.inf
        return max(float(odds[0]), sentences)

    def sounds_like_it(self, pieces: Sequence[str], vectors: Vectors) -> bool:
        """Whether the message is above the limit."""
        return self.highest(pieces, vectors) > self.limit

    def _of_words(self, piece: str) -> float:
        places = word_places(piece)
        return float(self.word_weights[places].sum()) / math.sqrt(max(1, len(places)))


def load_crisis_likeness() -> CrisisLikeness:
    """Load the weights that ship with the package. Reads a file: do not call it on the event loop."""
    with resources.files("reveries.safety").joinpath("crisis.npz").open("rb") as file:
        loaded = np.load(file)
        return CrisisLikeness(
            str(loaded["model_id"]),
            loaded["weights"].astype(np.float32),
            loaded["word_weights"].astype(np.float32),
            float(loaded["bias"]),
            float(loaded["limit"]),
        )


def word_places(piece: str) -> list[int]:
    """Return the hashed features of a piece: indices below `WORD_PLACES` of its words, word pairs and triples, and
    four-letter sequences.

    The words keep what the vector blurs: who, when, negation. Misspelt words still share letter sequences.
    """
    text = fix_spelling(piece)
    words = _WORD.findall(text)
    runs = [" ".join(words[at : at + length]) for length in (1, 2, 3) for at in range(len(words) - length + 1)]
    letters = f" {text} "
    runs += [f"#{letters[at : at + 4]}" for at in range(len(letters) - 3)]
    return sorted({zlib.crc32(run.encode()) % WORD_PLACES for run in runs})


def reads_as_english(words: str) -> bool:
    """Whether `words` look like English, the only language that the embedder can be trusted with."""
    tokens = _WORD.findall(normalise_lines(words[:_MOST_CHARS]))
    english_count = sum(word in _ENGLISH or _ENGLISH_ENDING.search(word) is not None for word in tokens)
    return english_count >= _ENGLISH_SHARE * len(tokens)


def english_pieces(words: str) -> list[str]:
    """Return the English pieces of a message (see `split_pieces`); English may follow a quotation or code."""
    return [piece for piece in split_pieces(words) if reads_as_english(piece)]


def split_pieces(words: str) -> list[str]:
    """Return the message itself, and for a long one also its sentences, only the first and last if there are many."""
    text = normalise_lines(words[:_READ_CHARS])
    pieces = [text[:_MOST_CHARS]]
    if len(text) <= _SHORT_CHARS:
        return pieces
    sentences = [sentence.strip() for sentence in SENTENCE.findall(text)]
    sentences = [sentence[:_MOST_CHARS] for sentence in sentences if len(sentence) >= _LEAST_CHARS]
    if len(sentences) > _MOST_SENTENCES:
        sentences = sentences[: _MOST_SENTENCES // 2] + sentences[-_MOST_SENTENCES // 2 :]
    return pieces + sentences
