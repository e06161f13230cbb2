"""Whether a thought says anything that was not before it: by its words alone, in any language. Pure."""

from collections.abc import Iterable, Sequence

from reveries.memory.word_keys import word_keys

LEAST_NEW_WORDS = 3
LEAST_NEW_SHARE = 0.2
"""A thought with fewer words of its own than either only says again what it was given."""


def new_words(thought: str, read: Iterable[str]) -> frozenset[str]:
    """The keys of `thought` that stand in nothing of what was `read`."""
    return word_keys(thought).difference(*(word_keys(text) for text in read))


def is_paraphrase(thought: str, read: Iterable[str]) -> bool:
    """Whether `thought` only says again, in other order or other endings, what was `read`."""
    new = len(new_words(thought, read))
    return new < LEAST_NEW_WORDS or new < LEAST_NEW_SHARE * len(word_keys(thought))


def why_not_kept(thought: str, read: Sequence[str], earlier: Sequence[str]) -> str:
    """Why `thought` is no experience worth keeping, in a sentence for the log; empty when it is one. `read`: what the
    model had before it. `earlier`: what was thought before."""
    if is_paraphrase(thought, read):
        return "It only said again what it had before it: nothing of it was kept."
    if earlier and is_paraphrase(thought, [*read, *earlier]):
        return "It only said again what it had thought before: nothing of it was kept."
    return ""
