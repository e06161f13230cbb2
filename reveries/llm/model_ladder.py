"""Which chat model suits a machine: by its free memory and cores, the models on its disk, and which publishers answer.
Pure."""

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rung:
    """A model of the manifest and its requirements. `asks_first`: too large to be fetched without asking."""

    model: str
    free_bytes: int = 0
    cores: int = 1
    asks_first: bool = False


LADDER = (
    Rung("qwen3-4b-instruct-2507", free_bytes=8_000_000_000, cores=4, asks_first=True),
    Rung("qwen2.5-1.5b-instruct"),
    Rung("qwen2.5-coder-1.5b-instruct"),
)
"""Best first. The last one suits every machine, and package indexes have it too where no publisher answers."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """The model to use. `larger`: a better one that this machine could run, with its owner's consent; empty: none."""

    model: str
    is_here: bool = False
    larger: str = ""


def best_local_model(here: Collection[str]) -> str:
    """Return the best of the models on the disk; empty when none of the ladder is there."""
    return next((rung.model for rung in LADDER if rung.model in here), "")


def models_to_ask_for(free_bytes: int, cores: int) -> list[str]:
    """Return the models that would suit the machine if their publisher has them, best first."""
    return [rung.model for rung in LADDER[:-1] if free_bytes >= rung.free_bytes and cores >= rung.cores]


def choose_suggestion(free_bytes: int, cores: int, here: Collection[str], published: Collection[str]) -> Suggestion:
    """Return the model on the disk (`here`) if there is one; else the best suitable one in `published`, whose publisher
    answers; else the last of the ladder."""
    if best := best_local_model(here):
        return Suggestion(best, is_here=True)
    suitable = set(models_to_ask_for(free_bytes, cores)).intersection(published)
    offered = [rung for rung in LADDER[:-1] if rung.model in suitable] + [LADDER[-1]]
    chosen = next(rung for rung in offered if not rung.asks_first)
    return Suggestion(chosen.model, larger=offered[0].model if offered[0].asks_first else "")
