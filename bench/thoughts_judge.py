"""Rating of an hour of thoughts, by code only. Pure.

A thought counts if memory kept it, it has words that were not in its prompt, it rests on two memories or more, and it
repeats neither a reply nor a sentence of an earlier thought. The last conversation counts as one memory.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from reveries.index.terms import word_keys
from reveries.memory.echoes import find_echoes
from reveries.monologue.outcomes import find_new_words

LEAST_NEW_WORDS = 3
LEAST_OF_A_MEMORY = 2
"""A thought rests on a memory when so many words of it stand in no other memory that it was shown."""
_SHORTEST_SENTENCE_WORDS = 4
_SENTENCE = re.compile(r"[^.!?\u2026\u3002\uff01\uff1f\n]+")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Thought:
    """A thought and what preceded it."""

    text: str
    is_kept: bool
    sources: tuple[str, ...]
    """Each memory that it was shown, one text each; the talk just had, and the occasion, are one too."""
    replies: tuple[str, ...]
    """What the mind itself had said."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgements of one thought."""

    is_kept: bool
    new: frozenset[str]
    rests_on: int
    copies_reply: bool
    repeats_thought: bool

    @property
    def counts(self) -> bool:
        has_content = self.is_kept and len(self.new) >= LEAST_NEW_WORDS and self.rests_on >= 2
        return has_content and not self.copies_reply and not self.repeats_thought


def judge(thought: Thought, earlier: Sequence[str]) -> Verdict:
    """`earlier`: the texts of the thoughts before it."""
    return Verdict(
        is_kept=thought.is_kept,
        new=find_new_words(thought.text, [*thought.sources, *thought.replies]),
        rests_on=rests_on(thought.text, thought.sources),
        copies_reply=bool(find_echoes(thought.text, thought.replies)),
        repeats_thought=bool(_sentences(thought.text) & {one for text in earlier for one in _sentences(text)}),
    )


def judge_all(thoughts: Sequence[Thought]) -> list[Verdict]:
    """Return one verdict per thought, compared with those before it."""
    return [judge(one, [before.text for before in thoughts[:place]]) for place, one in enumerate(thoughts)]


def rests_on(text: str, sources: Sequence[str]) -> int:
    """On how many of `sources` the thought `text` rests: each word is given to the memory that explains most of it."""
    left, waiting, count = set(word_keys(text)), [word_keys(source) for source in sources], 0
    while waiting:
        best = max(waiting, key=lambda words: len(words & left))
        if len(best & left) < LEAST_OF_A_MEMORY:
            break
        waiting.remove(best)
        left -= best
        count += 1
    return count


def table(verdicts: Sequence[Verdict]) -> dict[str, str]:
    """The figures of an hour, each as "so many of so many"."""

    def of(found: Sequence[bool]) -> str:
        return f"{sum(found)} of {len(found)}"

    kept = [one for one in verdicts if one.is_kept]
    return {
        "kept as an experience": of([one.is_kept for one in verdicts]),
        "kept, with new content that rests on two memories": of([one.counts for one in kept]),
        "the same, of all thoughts": of([one.counts for one in verdicts]),
        "with new words": of([len(one.new) >= LEAST_NEW_WORDS for one in verdicts]),
        "rest on two memories": of([one.rests_on >= 2 for one in verdicts]),
        "copy a reply": of([one.copies_reply for one in verdicts]),
        "repeat a sentence of an earlier thought": of([one.repeats_thought for one in verdicts]),
    }


def _sentences(text: str) -> set[tuple[str, ...]]:
    words = (tuple(_WORD.findall(part.casefold())) for part in _SENTENCE.findall(text))
    return {one for one in words if len(one) >= _SHORTEST_SENTENCE_WORDS}
