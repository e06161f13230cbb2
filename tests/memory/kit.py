"""What the tests of memory share: a whole memory on a real file, with an embedder and a model that obey the test."""

import asyncio
import functools
import hashlib
import itertools
import re
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from reveries.config import MemorySettings, RecallSettings, Settings, load_settings
from reveries.db.opening import open_database
from reveries.index.terms import terms_of
from reveries.llm.base import Embedder, Prompt, Vectors
from reveries.memory.graph.kernels import compile_kernels
from reveries.memory.memory import Memory, MemoryParts
from reveries.memory.model import Episode, Origin, RecallContext, Turn
from tests.fakes.clock import HandClock
from tests.fakes.scripted import Pause, Piece, Script, ScriptedModel

if TYPE_CHECKING:
    from reveries.errors import ReveriesError

NOW = 1_750_000_000.0
DIMENSIONS = 64


class WordEmbedder:
    """Texts with the same words are near each other: each stem adds its own random direction."""

    def __init__(self, model_id: str = "words-64", dimensions: int = DIMENSIONS) -> None:
        self.model_id = model_id
        self.dimensions = dimensions
        self.texts: list[str] = []
        self.error: ReveriesError | None = None
        """Raised by every call while it is set."""

    async def embed(self, texts: Sequence[str]) -> Vectors:
        await asyncio.sleep(0)
        if self.error is not None:
            raise self.error
        self.texts += texts
        rows = np.array([self._row(text) for text in texts], dtype=np.float32).reshape(len(texts), self.dimensions)
        return rows

    async def aclose(self) -> None:
        return

    def _row(self, text: str) -> Vectors:
        row = np.zeros(self.dimensions)
        for term in terms_of(text) or ["nothing"]:
            row += _direction(term, self.dimensions)
        unit: Vectors = (row / np.linalg.norm(row)).astype(np.float32)
        return unit


@functools.lru_cache(4096)
def _direction(term: str, dimensions: int) -> NDArray[np.float64]:
    seed = int.from_bytes(hashlib.blake2b(term.encode(), digest_size=8).digest(), "big")
    return np.random.default_rng(seed).standard_normal(dimensions)


class GatedEmbedder(WordEmbedder):
    """Waits before every answer while its gate is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()
        self.gate.set()
        self.asked = asyncio.Event()

    async def embed(self, texts: Sequence[str]) -> Vectors:
        self.asked.set()
        await self.gate.wait()
        return await super().embed(texts)

    def close(self) -> None:
        self.asked.clear()
        self.gate.clear()


def answering(*scripts: Script) -> ScriptedModel:
    """A model that gives these answers, one a call."""
    return ScriptedModel(scripts)


def hanging(asked: asyncio.Event) -> Callable[[Prompt], Iterable[Piece]]:
    """A script that says it was asked and then never answers."""

    def script(_: Prompt) -> Iterable[Piece]:
        asked.set()
        return [Pause(1e9)]

    return script


def deep_answer(salience: float = 0.5, quote: str = "", **other: object) -> dict[str, object]:
    """A well-formed answer to deep sleep's question."""
    answer: dict[str, object] = {
        "summary": "You told me something.",
        "topics": ["talk"],
        "exemplars": [{"quote": quote, "significance": "it matters"}] if quote else [],
        "patterns": [],
        "reasoning": "It is new.",
        "salience": salience,
    }
    return answer | other


def sleep_answer(prompt: Prompt, salience: float = 0.5, **other: object) -> str:
    """A well-formed answer to deep sleep in the form that `prompt` asks for, as JSON."""
    properties = (prompt.schema or {}).get("properties", {})
    about = deep_answer(salience) | other
    if "parts" not in properties:  # type: ignore[operator]
        return msgspec.json.encode(about).decode()
    plain = {name: about[name] for name in ("topics", "salience")} | {"quotes": [], "changed": [], "led_by": ""}
    numbers = dict.fromkeys(re.findall(r"^\[(\d+)\]$", prompt.messages[-1].text, re.MULTILINE))
    parts = [plain | {"number": int(number), "summary": f"You told me of part {number}."} for number in numbers]
    # Said once: a model that says the same of every part is cut off as one that goes round.
    parts[:1] = [part | {"summary": about["summary"]} | other for part in parts[:1]]
    answer: dict[str, object] = {"parts": parts}
    return msgspec.json.encode(answer | ({"self": {}} if "self" in properties else {})).decode()  # type: ignore[operator]


def settings(**recall: object) -> RecallSettings:
    return msgspec.structs.replace(_defaults().recall, **recall)


def memory_settings(**chosen: object) -> MemorySettings:
    return msgspec.structs.replace(_defaults().memory, **chosen)


@functools.cache
def _defaults() -> Settings:
    """They are frozen, and a wake has no need to read them again."""
    return load_settings(None)


async def warm_up(memory: Memory) -> None:
    """Compile its loops. In this process first: the child that does it has a low priority and five minutes, and beside
    other tests it may need longer. Then it finds them in the cache."""
    await asyncio.to_thread(compile_kernels)
    assert await memory.warm_up()


@asynccontextmanager
async def open_memory(
    folder: Path,
    clock: HandClock | None = None,
    embedder: Embedder | None = None,
    first_id: int = 0,
    with_vector_search: bool = True,
    memory: MemorySettings | None = None,
    recall: RecallSettings | None = None,
    **parts: object,
) -> AsyncIterator[Memory]:
    """The memory that lives in `folder`, hydrated. `first_id` keeps the ids of a second life apart; `parts` are further
    ones of MemoryParts."""
    database = await open_database(folder / "memory.db", with_vector_search=with_vector_search)
    count = itertools.count(first_id)
    own = {"mind_name": "Reverie"} | parts
    of_memory, of_recall = memory or memory_settings(), recall or settings()
    try:
        opened = Memory(
            MemoryParts(
                database=database,
                embedder=embedder or WordEmbedder(),
                clock=clock or HandClock(NOW),
                memory=lambda: of_memory,
                recall=lambda: of_recall,
                **own,  # type: ignore[arg-type]
                owner_name=lambda: "Ana",
                new_id=lambda: f"id{next(count):06}",
            )
        )
        await opened.hydrate()
        yield opened
        await opened.close()
    finally:
        await database.aclose()


async def talk(memory: Memory, *exchanges: tuple[str, str]) -> str:
    """Have these exchanges with the mind; the conversation's id."""
    conversation = await memory.conversations.open_conversation(new_after_seconds=12 * 3600)
    for said, reply in exchanges:
        turn = await memory.conversations.append_owner_turn(conversation.id, said)
        await memory.conversations.record_exchange(turn, reply)
    return conversation.id


def context(**chosen: object) -> RecallContext:
    return RecallContext(**({"now": NOW} | chosen))  # type: ignore[arg-type]


def episode(name: str, **chosen: object) -> Episode:
    """An episode called `name`, with plain values where none are chosen."""
    plain: dict[str, object] = {
        "id": name,
        "created_at": NOW - 40 * 86_400 - 3 * 3600,
        "ended_at": NOW - 40 * 86_400,
        "last_accessed_at": NOW,
        "access_count": 0,
        "summary": name,
        "exemplars": (),
        "salience": 1.0,
        "confidence": 1.0,
        "valence": 0.0,
        "topics": (),
        "entities": (),
        "origin": Origin.OWNER,
        "tainted": False,
        "conversation_id": None,
        "depth": "light",
        "experience_ids": (),
        "last_decayed_at": NOW,
    }
    return Episode(**(plain | chosen))  # type: ignore[arg-type]


def turn(name: str, text: str, **chosen: object) -> Turn:
    """A turn called `name`, of the owner, in the conversation "c"."""
    plain: dict[str, object] = {
        "id": name,
        "conversation_id": "c",
        "experience_id": None,
        "position": 0,
        "origin": Origin.OWNER,
        "speaker": "Ana",
        "text": text,
        "said_at": NOW,
    }
    return Turn(**(plain | chosen))  # type: ignore[arg-type]


def axis(place: int, dimensions: int = 4) -> Vectors:
    """A unit vector along one axis."""
    row: Vectors = np.zeros(dimensions, dtype=np.float32)
    row[place] = 1.0
    return row
