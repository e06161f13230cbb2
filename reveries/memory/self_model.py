"""How the self-model changes (R-82..R-87): slowly, by addition, with the episodes that show it. Pure.

Only what the owner or the mind itself said counts; nothing tainted ever enters it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from reveries.memory.changes import SelfModelChange
from reveries.memory.echoes import fresh_text
from reveries.memory.model import Experience, Origin, Pattern, SelfModel, Turn
from reveries.memory.questions import SelfAnswer, tidy
from reveries.memory.words import terms_of

_MAX_FACTS = 40
_MAX_THREADS = 8
_MAX_PATTERNS = 20
_FIRST_CONFIDENCE = 0.3
_CONFIDENCE_STEP = 0.15


def trusted_words(experience: Experience, turns: Sequence[Turn]) -> str:
    """What of an experience the self-model may be made from: the owner's own words, or an untainted thought."""
    own = [turn.text for turn in turns if turn.origin is Origin.OWNER and not turn.tainted]
    if own:
        return "\n".join(own)
    is_own_thought = experience.origin is Origin.SELF and not experience.tainted
    if not is_own_thought or experience.conversation_id:
        return ""
    return fresh_text(experience.content, experience.echoes)


def changed(
    before: SelfModel, answer: SelfAnswer, patterns: Iterable[str], episode_id: str, now: float, reason: str
) -> SelfModelChange | None:
    """What `answer` and an abstraction's `patterns` (R-170) make of the self-model; None when nothing is new."""
    after = replace(
        before,
        narrative=tidy(answer.narrative, 300) or before.narrative,
        communication_style=tidy(answer.communication_style, 160) or before.communication_style,
        current_focus=tidy(answer.current_focus, 100) or before.current_focus,
        owner_facts=with_new(before.owner_facts, answer.owner_facts, _MAX_FACTS),
        unresolved_threads=with_new(before.unresolved_threads, answer.unresolved_threads, _MAX_THREADS),
        patterns=with_patterns(before.patterns, patterns, episode_id),
    )
    if after == before:
        return None
    return SelfModelChange(before, replace(after, updated_at=now), reason, (episode_id,))


def with_new(old: tuple[str, ...], new: Iterable[str], limit: int) -> tuple[str, ...]:
    """`old` and what of `new` does not say the same in the same words; the oldest go when there are too many."""
    said = {frozenset(terms_of(text)) for text in old}
    found = list(old)
    for text in (tidy(text, 160) for text in new):
        terms = frozenset(terms_of(text))
        if terms and terms not in said:
            said.add(terms)
            found.append(text)
    return tuple(found[-limit:])


def with_patterns(old: tuple[Pattern, ...], new: Iterable[str], episode_id: str) -> tuple[Pattern, ...]:
    """`old` with what was seen once more: a pattern that shows again gains confidence and the episode (R-83)."""
    found = {frozenset(terms_of(pattern.description)): pattern for pattern in old}
    for description in new:
        terms = frozenset(terms_of(description))
        known = found.get(terms)
        if known is None:
            found[terms] = Pattern(description, _FIRST_CONFIDENCE, (episode_id,))
        elif episode_id not in known.episode_ids:
            confidence = min(1.0, known.confidence + _CONFIDENCE_STEP)
            found[terms] = replace(known, confidence=confidence, episode_ids=(*known.episode_ids, episode_id))
    found.pop(frozenset(), None)
    return tuple(found.values())[-_MAX_PATTERNS:]
