"""How a model of each tier is talked to: which rules it reads, and how much of what is remembered. Pure.

A capable model reads more and is told less: who it is, what its notes are and how far they can be trusted. A small one
loses its way among many messages, and turns every rule about answering into its answer (docs/benchmarks/talk.md).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from reveries.llm.tier import Tier
from reveries.prompts import prompt


@dataclass(frozen=True, slots=True)
class TalkStyle:
    """What a prompt of the conversation is made with."""

    rules: Callable[[str], str]
    """What the model is told about itself, by the mind's name."""
    recalled_tokens: int
    """What is recalled for a turn may take so many tokens: a small machine reads them in a few seconds."""
    carried_tokens: int
    """So much of earlier conversations stands in the history after a wake: a small model on two cores reads it ahead in
    five seconds."""
    asks_from_notes: bool
    """Whether what is recalled for a question stands as a note right before it; else as the earlier messages it was."""


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
    """The style of a model's tier."""
    return _STYLES[tier]
