"""Prepares text for the index: splits experiences without turns (thoughts, external text) into passages that are
indexed like turns, and builds the text to embed, without code blocks and speakers' names. Pure."""

import re
from collections.abc import Iterable
from dataclasses import replace

from reveries.index.terms import stop_words, strip_code, terms_of
from reveries.memory.echoes import Span, clip_spans
from reveries.memory.model import Experience, Origin, Turn
from reveries.memory.text.extracts import sentences_of

_PASSAGE_CHARS = 600
"""About 120 words, since an embedder reads at most 256 tokens."""


def passages_of(experience: Experience, mind_name: str) -> tuple[Turn, ...]:
    """Split `experience` into passages, as turns outside any conversation with stable ids derived from its id. The
    speaker of a thought is the mind."""
    template = Turn(
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
            template,
            id=f"{experience.id}#{place}",
            position=place,
            text=experience.content[start:end],
            echoes=clip_spans(experience.echoes, start, end),
        )
        for place, (start, end) in enumerate(_split_content(experience.content))
    ]
    return tuple(passage for passage in passages if not passage.is_echo)


def _split_content(content: str) -> list[Span]:
    """Split `content` into verbatim spans of whole sentences; a sentence that is too long is cut."""
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
    """Return the text to embed: `text` without fenced code and the speakers' names."""
    prose = strip_code(text)
    return strip_names(prose if prose.strip() else text, names)


def turn_embedding_text(turn: Turn, names: Iterable[str]) -> str:
    """Return the text of a turn to embed. For the mind's long replies only the beginning, which says what they answer:
    the rest would cost four times as much to embed, and is found by its words."""
    prose = embedding_text(turn.own_text, names)
    if turn.origin is not Origin.SELF or len(prose) <= _OWN_CHARS:
        return prose
    return prose[:_OWN_CHARS].rsplit(None, 1)[0]


def strip_names(text: str, names: Iterable[str]) -> str:
    """Remove the speakers' names from `text`. Cues and turns are embedded without them, because a name says who was
    there, not what was said (RECALL: the largest single gain of dense retrieval). Unchanged if nothing with content
    would be left."""
    spelled = [name for name in names if name[:1].isupper() and name.casefold() not in stop_words()]
    if not spelled:
        return text
    longest_first = "|".join(map(re.escape, sorted(spelled, key=len, reverse=True)))
    pattern = re.compile(rf"\b(?:{longest_first})\b(?:['\u2019]s\b)?")
    left = " ".join(pattern.sub(" ", text).split())
    return left if len(terms_of(left)) >= 1 else text
