"""Shared by the tests of missing vectors: turns, cues that find them, and failures."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from reveries.db.database import Database
from reveries.errors import (
    BudgetExceededError,
    DiskFullError,
    ModelFault,
    ModelMissingError,
    ModelUnavailableError,
    ReveriesError,
)
from reveries.memory.memory import Memory
from reveries.memory.model import Origin
from tests.memory.kit import WordEmbedder, open_memory, talk

SAYINGS = [
    ("My sister Marta moved to Lisbon in spring.", "Far away."),
    ("The cello is out of tune again.", "It is the weather."),
    ("We planted tomatoes behind the shed.", "They like sun."),
    ("Tomas broke his wrist on the ice rink.", "Poor Tomas."),
    ("The night train to Vienna was late.", "By how much?"),
    ("I am afraid of the exam on Friday.", "You prepared well."),
]
CUES = {
    "Where did my sister Marta move?": "Lisbon",
    "cello tune": "cello",
    "tomatoes behind the shed": "tomatoes",
    "Who broke a wrist on the ice?": "Tomas broke",
    "night train Vienna": "Vienna",
    "afraid exam": "exam",
}
ERRORS: list[ReveriesError] = [
    ModelMissingError("The embedder's file is not there."),
    ModelUnavailableError("No Ollama answers.", fault=ModelFault.UNREACHABLE),
    ModelUnavailableError("It asks for a pause.", fault=ModelFault.RATE_LIMITED, retry_after_seconds=40.0),
    BudgetExceededError("The embedding has used its tokens of today."),
    DiskFullError("The disk is full."),
]


def all_have_vectors(memory: Memory) -> bool:
    """Whether every turn in memory has a vector."""
    vectors = memory.live.turns.vectors
    return bool(vectors[:].any(axis=1).all())


async def found_all(memory: Memory, cues: dict[str, str] = CUES) -> bool:
    """Whether each cue's episode is among the first three, and its turn among the first three."""
    for cue, word in cues.items():
        recall = await memory.search(cue, 3)
        assert any(word in said.turn.text for said in recall.turns[:3]), (cue, [t.turn.text for t in recall.turns[:3]])
        told = [turn.text for one in recall.episodes for turn in memory.live.turns.turns_of(one.episode.id)]
        assert any(word in text for text in told), (cue, told)
    return True


async def fill(folder: Path, embedder: WordEmbedder | None = None) -> None:
    async with open_memory(folder, embedder=embedder or WordEmbedder()) as memory:
        for saying in SAYINGS:
            await talk(memory, saying)
        await memory.conversations.record_external(
            "The rain gauge shows forty millimetres. It was a wet week.", Origin.DOCUMENT
        )
        await memory.light_sleep()


async def until(claim: Callable[[], bool]) -> None:
    """Return when `claim` holds; the caller bounds the wait."""
    for _ in range(5000):
        if claim():
            return
        await asyncio.sleep(0.001)
    raise AssertionError("it never came true")


async def vectors_by_model(database: Database) -> dict[str, int]:
    return {row["model_id"]: row["vectors"] for row in await database.rows("vectors.models")}


def database_of(memory: Memory) -> Database:
    return memory.conversations._store.database
