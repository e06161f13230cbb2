"""What has no turns - a thought, something from outside - cut into pieces that can be found like turns. Pure."""

from dataclasses import replace

from reveries.memory.echoes import Span, clip_spans
from reveries.memory.model import Experience, Origin, Turn
from reveries.memory.text.extracts import sentences_of

_PASSAGE_CHARS = 600
"""About 120 words: an embedder reads no more than 256 tokens."""


def passages_of(experience: Experience, mind_name: str) -> tuple[Turn, ...]:
    """`experience` as turns of nobody's conversation, with ids made from its own (the same ones each time). The speaker
    of a thought is the mind."""
    whole = Turn(
        id=experience.id,
        conversation_id=experience.id,
        experience_id=experience.id,
        position=0,
        origin=experience.origin,
        speaker=mind_name if experience.origin is Origin.SELF else "",
        text="",
        said_at=experience.happened_at,
        is_partial=experience.is_partial,
        tainted=experience.tainted,
    )
    passages = [
        replace(
            whole,
            id=f"{experience.id}#{place}",
            position=place,
            text=experience.content[start:end],
            echoes=clip_spans(experience.echoes, start, end),
        )
        for place, (start, end) in enumerate(_split_content(experience.content))
    ]
    return tuple(passage for passage in passages if not passage.is_echo)


def _split_content(content: str) -> list[Span]:
    """Where to cut `content` into verbatim pieces of whole sentences, where those are not too long by themselves."""
    spans: list[tuple[int, int]] = []
    at = 0
    for sentence in sentences_of(content):
        start = content.index(sentence, at)
        at = start + len(sentence)
        if spans and at - spans[-1][0] <= _PASSAGE_CHARS:
            spans[-1] = (spans[-1][0], at)
        else:
            spans += [(cut, min(at, cut + _PASSAGE_CHARS)) for cut in range(start, at, _PASSAGE_CHARS)]
    return spans
