"""Chooses the prompt of the conversation by the model's tier: its rules, and how many memories it gets. Pure.

A capable model gets more memories and fewer rules: who it is, what its notes are and how far they can be trusted. A
small one gets confused by many messages, and repeats rules about answering in its answer (docs/benchmarks/talk.md).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from reveries.llm.tier import Tier
from reveries.prompts import prompt


@dataclass(frozen=True, slots=True)
class TalkStyle:
    """The parameters of a conversation prompt."""

    rules: Callable[[str], str]
    """Returns the rules for a mind's name."""
    recalled_tokens: int
    """Token limit of the memories for a turn: a small machine reads them in a few seconds."""
    carried_tokens: int
    """Token limit of earlier conversations in the history after a start: a small model on two cores reads them ahead in
    five seconds."""
    asks_from_notes: bool
    """Whether memories for a question are a note right before it; otherwise they are earlier messages."""


def _small_rules(mind_name: str) -> str:
    return prompt("conversation_small", mind=mind_name)


def _capable_rules(mind_name: str) -> str:
    return prompt("conversation", mind=mind_name)


_STYLES: Final[Mapping[Tier, TalkStyle]] = {
    Tier.LOOSE: TalkStyle(_small_rules, recalled_tokens=100, carried_tokens=150, asks_from_notes=True),
    Tier.SMALL: TalkStyle(_small_rules, recalled_tokens=200, carried_tokens=300, asks_from_notes=True),
    Tier.CAPABLE: TalkStyle(_capable_rules, recalled_tokens=1000, carried_tokens=1500, asks_from_notes=False),
}


def style_for(tier: Tier) -> TalkStyle:
    """Return the style for a model's tier."""
    return _STYLES[tier]
