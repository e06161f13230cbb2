"""What goes into the index: what has no turns (a thought, something from outside) cut into passages that are found like
turns; and the text that is embedded, without code and without the names of the speakers. Pure."""

import re
from collections.abc import Iterable
from dataclasses import replace

from reveries.index.terms import stop_words, strip_code, terms_of
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


_OWN_CHARS = 320


def embedding_text(text: str, names: Iterable[str]) -> str:
    """What of `text` is compared by meaning: not its fenced code, not the names of those who speak."""
    prose = strip_code(text)
    return strip_names(prose if prose.strip() else text, names)


def turn_embedding_text(turn: Turn, names: Iterable[str]) -> str:
    """What of a turn is compared by meaning. Of the mind's own long replies the beginning, which says what they answer:
    the rest would cost four times as much to embed and is found by its words."""
    prose = embedding_text(turn.fresh, names)
    if turn.origin is not Origin.SELF or len(prose) <= _OWN_CHARS:
        return prose
    return prose[:_OWN_CHARS].rsplit(None, 1)[0]


def strip_names(text: str, names: Iterable[str]) -> str:
    """`text` without the names of those who speak: both sides of a comparison by meaning go without them, as a name
    says who was there, not what was said (RECALL: the largest single gain of the dense side). Unchanged when nothing
    much would be left."""
    spelled = [name for name in names if name[:1].isupper() and name.casefold() not in stop_words()]
    if not spelled:
        return text
    longest_first = "|".join(map(re.escape, sorted(spelled, key=len, reverse=True)))
    pattern = re.compile(rf"\b(?:{longest_first})\b(?:['\u2019]s\b)?")
    left = " ".join(pattern.sub(" ", text).split())
    return left if len(terms_of(left)) >= 1 else text
