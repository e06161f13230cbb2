"""Load a directory of evaluation data into memories that can be queried, for bench/recall.py.

DIR/SET (or DIR/data/SET) holds `corpora.jsonl.gz`, one item a line (`corpus`, `id`, `text`, `meta`), and
`queries.jsonl.gz`, one question a line (`corpus`, `qid`, `text`, `time`, `gold`). Each corpus becomes a separate
memory, through the daemon's import and light sleep; no model but the embedder is used.
"""

import contextlib
import hashlib
import itertools
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from locomo_import import lines_of

from reveries.clock import SystemClock
from reveries.config import load_settings
from reveries.db.opening import open_database
from reveries.llm.base import Embedder, Vectors
from reveries.memory.importing import PastTurn
from reveries.memory.memory import Memory, MemoryParts

_DAY_SECONDS = 86_400.0
_UNDATED_FROM = 1_600_000_000.0
"""Passages have no time: each is given in on a day of its own, so that none is another's context."""
_IMPORT_BATCH = 500


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to remember, with the id that questions name it by."""

    id: str
    said_at: float
    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """A cue; only the scorer and the fitting know its answer."""

    corpus: str
    qid: str
    text: str
    asked_at: float
    gold: tuple[str, ...]
    category: str


@dataclass(frozen=True, slots=True)
class Corpus:
    """One memory's worth of items, in order, with its questions."""

    name: str
    items: tuple[Item, ...]
    questions: tuple[Question, ...]

    @property
    def pool(self) -> frozenset[str]:
        """The items that some question is about."""
        return frozenset(name for question in self.questions for name in question.gold)


def corpora(folder: Path, name: str, *, strip_titles: bool = False) -> list[Corpus]:
    """The corpora of a set in file order."""
    place = folder / name if (folder / name).is_dir() else folder / "data" / name
    items: dict[str, list[dict]] = {}  # type: ignore[type-arg]  # foreign JSON
    for item in lines_of(place / "corpora.jsonl.gz"):
        items.setdefault(item["corpus"], []).append(item)
    asked: dict[str, list[dict]] = {}  # type: ignore[type-arg]  # foreign JSON
    for question in lines_of(place / "queries.jsonl.gz"):
        asked.setdefault(question["corpus"], []).append(question)
    return [_corpus(key, rows, asked.get(key, []), strip_titles) for key, rows in items.items()]


def _corpus(name: str, rows: list[dict], asked: list[dict], strip_titles: bool) -> Corpus:  # type: ignore[type-arg]
    rows.sort(key=lambda row: row["meta"]["order"])
    items = tuple(_item(row, strip_titles) for row in rows)
    last = max(item.said_at for item in items)
    return Corpus(name, items, tuple(_question(row, last) for row in asked))


def _item(row: dict, strip_titles: bool) -> Item:  # type: ignore[type-arg]
    """A turn without its speaker's name before it, a cue dialogue on one line, a passage with or without its title."""
    meta, text = row["meta"], row["text"]
    speaker = meta.get("speaker") or "document"
    if not meta.get("role") and meta.get("speaker"):
        text = " ".join(text.removeprefix(f"{speaker}: ").replace("\\n", " ").split())
    elif strip_titles and meta.get("title") and "\n" in text:
        text = text.partition("\n")[2]
    said_at = _unix(meta["time"]) if meta.get("time") else _UNDATED_FROM + meta["order"] * _DAY_SECONDS
    return Item(row["id"], said_at, meta.get("role") or speaker, text)


def _question(row: dict, last: float) -> Question:  # type: ignore[type-arg]
    return Question(
        corpus=row["corpus"],
        qid=row["qid"],
        text=row["text"],
        asked_at=_unix(row["time"]) if row.get("time") else last,
        gold=tuple(row["gold"]),
        category=row["category"],
    )


def _unix(stamp: str) -> float:
    return datetime.fromisoformat(stamp).replace(tzinfo=UTC).timestamp()


class CachedEmbedder:
    """An Embedder with a cache on disk. Only one process may write it at a time."""

    def __init__(self, embedder: Embedder, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._embedder = embedder
        self._file = sqlite3.connect(folder / "vectors.db", timeout=60.0)
        self._file.execute("CREATE TABLE IF NOT EXISTS vectors (key TEXT PRIMARY KEY, row BLOB)")
        self.missed = 0

    @property
    def model_id(self) -> str:
        return self._embedder.model_id

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    async def embed(self, texts: Sequence[str]) -> Vectors:
        keys = [hashlib.sha256(text.encode("utf-8", "replace")).hexdigest() for text in texts]
        known = {key: row for key in keys if (row := self._known(key)) is not None}
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if new:
            self.missed += len(new)
            known |= dict(zip(new, await self._embedder.embed(list(new.values())), strict=True))
            rows = [(key, known[key].astype("<f4").tobytes()) for key in new]
            self._file.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)
            self._file.commit()
        return np.array([known[key] for key in keys], dtype=np.float32).reshape(len(texts), self.dimensions)

    async def aclose(self) -> None:
        await self._embedder.aclose()
        self._file.close()

    def _known(self, key: str) -> np.ndarray[tuple[int], np.dtype[np.float32]] | None:
        row = self._file.execute("SELECT row FROM vectors WHERE key = ?", (key,)).fetchone()
        return None if row is None else np.frombuffer(row[0], dtype="<f4").astype(np.float32)


@contextlib.asynccontextmanager
async def remembering(items: Iterable[Item], embedder: Embedder) -> AsyncIterator[Memory]:
    """Open a new memory in a temporary file that has slept on `items`. "user" is its owner, "assistant" the mind."""
    with tempfile.TemporaryDirectory() as folder:
        database = await open_database(Path(folder) / "memory.db")
        settings = load_settings(None)
        count = itertools.count()
        parts = MemoryParts(
            database=database,
            embedder=embedder,
            clock=SystemClock(),
            memory=lambda: settings.memory,
            recall=lambda: settings.recall,
            owner_name=lambda: "user",
            mind_name="assistant",
            new_id=lambda: f"{next(count):08x}",
        )
        memory = Memory(parts)
        await memory.hydrate()
        importing = memory.begin_import("bench")
        past = [PastTurn(item.said_at, item.speaker, item.text) for item in items]
        for start in range(0, len(past), _IMPORT_BATCH):
            await importing.add(past[start : start + _IMPORT_BATCH])
        await memory.light_sleep()
        try:
            yield memory
        finally:
            await memory.close()
            await database.aclose()


def turn_ids(memory: Memory, corpus: Corpus) -> Mapping[str, str]:
    """The data's id of each turn in memory; of equal items, in their order."""
    waiting: dict[tuple[float, str, str], list[str]] = {}
    for item in corpus.items:
        waiting.setdefault((item.said_at, item.speaker, item.text), []).append(item.id)
    named: dict[str, str] = {}
    for turn, _ in memory.live.turns.entries():
        named[turn.id] = waiting[(turn.said_at, turn.speaker, turn.text)].pop(0)
    return named
