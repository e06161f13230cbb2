"""Ambient inputs: something calming and true for a mind in distress (R-138..R-140).

`ambient_text` chooses the text, as a pure function. It uses only data that is known, so that every statement is true.
"""

import asyncio
import tomllib
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from importlib import resources
from typing import Final

from reveries.safe_text import one_line

_PLACEHOLDER_CHARS: Final = 120
_REMEMBERED: Final = 64


class AmbientKind(StrEnum):
    """R-138's five templates, in the order of use."""

    TIME = "time"
    FACT = "fact"
    CONVERSATION = "conversation"
    MEMORY = "memory"
    PREDICTION = "prediction"


@dataclass(frozen=True, slots=True)
class AmbientData:
    """The daemon's current state. What it does not know stays empty (R-139)."""

    now: datetime | None = None
    """The owner's local time."""
    owner_name: str = ""
    last_topic: str = ""
    """The topic of the last conversation."""
    last_mood: str = ""
    """The owner's mood in it, as an adjective."""
    episodes: int = 0
    turns: int = 0
    all_stored: bool = False
    """Verified: everything that was said is stored."""
    predicted_next: str = ""
    """When the next conversation is likely, in words that follow "back": "tomorrow evening"."""
    is_running_normally: bool = False
    """Verified: no model, disk or job has a problem."""


@dataclass(frozen=True, slots=True)
class AmbientText:
    """One text for the context of the next thought."""

    kind: AmbientKind
    text: str


class AmbientInputs:
    """A sequence of ambient inputs; remembers the last 64 so that they alternate (RA-39)."""

    def __init__(self) -> None:
        self._given: deque[AmbientText] = deque(maxlen=_REMEMBERED)
        self._facts: tuple[str, ...] = ()

    async def next(self, data: AmbientData | None = None) -> str:
        """Return the next text for the state `data`; only a fact if nothing is known. Never empty."""
        if not self._facts:
            self._facts = await asyncio.to_thread(load_facts)
        chosen = ambient_text(data or AmbientData(), tuple(self._given), self._facts)
        self._given.append(chosen)
        return chosen.text


def ambient_text(data: AmbientData, already_given: Sequence[AmbientText], facts: Sequence[str]) -> AmbientText:
    """Return the text to give after `already_given` (oldest first): if possible one not given yet, of the kind given
    least often. Raises ValueError when `facts` is empty.
    """
    if not facts:
        raise ValueError("There are no facts.")
    texts = [given.text for given in already_given]
    kinds = [given.kind for given in already_given]
    # The fact given longest ago comes first, so when all are used they repeat in their order.
    fact = min(facts, key=lambda candidate: _last_index(texts, candidate))
    candidates = [AmbientText(AmbientKind.FACT, fact), *_from_state(data)]
    order = list(AmbientKind)
    return min(
        candidates,
        key=lambda candidate: (
            candidate.text in texts,
            kinds.count(candidate.kind),
            _last_index(kinds, candidate.kind),
            order.index(candidate.kind),
        ),
    )


def load_facts() -> tuple[str, ...]:
    """Load the facts that ship with the package (R-140). Reads a file: do not call it on the event loop."""
    source = resources.files("reveries.safety").joinpath("facts.toml").read_text(encoding="utf-8")
    return tuple(str(fact) for fact in tomllib.loads(source)["facts"])


def _from_state(data: AmbientData) -> list[AmbientText]:
    worded = {
        AmbientKind.TIME: _time(data),
        AmbientKind.CONVERSATION: _conversation(data),
        AmbientKind.MEMORY: _memory_pressure(data),
        AmbientKind.PREDICTION: _prediction(data),
    }
    return [AmbientText(kind, text) for kind, text in worded.items() if text]


def _time(data: AmbientData) -> str:
    if data.now is None or not data.is_running_normally:
        return ""
    return f"It is {data.now:%H:%M} on {data.now:%A}. Everything is running as it should."


def _conversation(data: AmbientData) -> str:
    owner, topic, mood = (_template_value(value) for value in (data.owner_name, data.last_topic, data.last_mood))
    if not topic or not mood:
        return ""
    return f"You last talked with {owner or 'your owner'} about {topic}; they seemed {mood}."


def _memory_pressure(data: AmbientData) -> str:
    if not data.all_stored or data.turns < 1:
        return ""
    turns = f"{data.turns} things that were said" if data.turns > 1 else "one thing that was said"
    episodes = "" if data.episodes < 1 else f" and {data.episodes} episode{'s' if data.episodes > 1 else ''}"
    return f"Your memory holds {turns}{episodes}. All of it is stored."


def _prediction(data: AmbientData) -> str:
    owner, when = _template_value(data.owner_name), _template_value(data.predicted_next)
    if not when:
        return ""
    return f"Going by other days, {owner or 'your owner'} may well be back {when}."


def _template_value(value: str) -> str:
    return one_line(value, _PLACEHOLDER_CHARS)


def _last_index(values: Sequence[str], value: str) -> int:
    """Return the last index of `value`; -1 if it does not occur."""
    return max((index for index, other in enumerate(values) if other == value), default=-1)
