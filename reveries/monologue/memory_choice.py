"""Which of the memories that come to mind a thought is given. Pure."""

from collections.abc import Container, Sequence

from reveries.index.terms import word_keys
from reveries.monologue.thought import ActivatedMemory

_LEAST = 2
_SAME_SHARE = 0.5
"""A memory that shares so many of its words with one that was chosen says the same again."""


def chosen_memories(
    found: Sequence[ActivatedMemory],
    thought_of: Container[str],
    most: int,
    told: Sequence[str] = (),
    about_id: str | None = None,
) -> tuple[ActivatedMemory, ...]:
    """At most `most` of what was `found`, nearest first: not those that the last thought had (`thought_of`, ids), no
    two that say the same, and none that says what is `told` already. `about_id`, the memory that surfaced, comes first
    in any case. Where fewer than two would be left, the last thought's come again: a young mind has no others."""
    fresh = [one for one in found if one.episode_id == about_id or one.episode_id not in thought_of]
    if len(fresh) < _LEAST:
        fresh = list(found)
    fresh.sort(key=lambda one: one.episode_id != about_id)
    kept: list[ActivatedMemory] = []
    keys = [word_keys(" ".join(told))] if told else []
    for memory in fresh:
        words = word_keys(memory.text)
        if len(kept) < most and not any(len(words & other) > _SAME_SHARE * len(words) for other in keys):
            kept.append(memory)
            keys.append(words)
    return tuple(kept)
