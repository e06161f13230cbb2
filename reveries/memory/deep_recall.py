"""Recall from the disk: when it is worth a search, what it finds and how well that fits, and what a strong cue wakes.

What is only on disk (dormant episodes, words that were put away) is compared with a cue like what is in memory: by
meaning and by words, the more by words the better one text meets them (`score_match`). The search runs off the event
loop: the database's thread searches, a worker thread scans; it changes nothing. Waking is one transaction: the episode
is in the live graph again with its links to live episodes, its vector and all its words."""

import asyncio
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from reveries.clock import Clock
from reveries.db import vector_tables
from reveries.db.database import Row, Transaction
from reveries.index.fusion import meaning_weight
from reveries.index.terms import stem, stop_words, terms_of, words_of
from reveries.llm.base import Vector
from reveries.memory.changes import ChangeSet, IndexedTurn, Touch, Waking
from reveries.memory.model import Episode, Link, LinkType, Origin, Recall, Turn
from reveries.memory.recall.cues import cue_terms
from reveries.memory.rows import episode_of, experience_of, turn_of, vector_bytes, vector_of
from reveries.memory.store import MemoryStore
from reveries.memory.text.indexed_text import passages_of

WEAK_WORDS = 0.5
WEAK_COSINE = 0.55
"""Recall is weak when its best source turn holds less than half of the cue's words, by how telling they are, and its
best episode is no nearer than this (an exchange and the episode it belongs to have a median of 0.54)."""

STRONG_WORDS = 0.6
STRONG_TERMS = 2
STRONG_COSINE = 0.7
"""A cue wakes an episode when one of its texts holds so much of the cue's words, at least two different ones, or is as
near as two episodes that are linked by theme."""

WOKEN_AT_ONCE = 3
MAX_TERMS = 8
MAX_RANKED = 5000
TOO_COMMON = 20_000
"""Texts. A word that so many hold is not counted further, and not asked for."""


@dataclass(frozen=True, slots=True)
class DeepHit:
    """A text that is only on disk and answers a cue."""

    kind: str
    """"episode" (its summary) or "turn"."""
    owner_id: str
    episode_id: str
    summary: str
    """The episode's."""
    is_dormant: bool
    """Whether the episode is; else it is live and only these words were put away."""
    happened_at: float
    """When the episode happened."""
    speaker: str
    text: str
    said_at: float
    origin: Origin
    tainted: bool
    score: float
    """0 to 1."""
    cosine: float
    words: float
    """The share of the cue's words that it holds, by how telling they are."""
    terms: int
    """How many different ones."""


@dataclass(frozen=True, slots=True)
class DeepFound:
    """What a deep look found, best first."""

    hits: tuple[DeepHit, ...] = ()
    is_whole: bool = True
    """False when its time was up before everything was compared."""


def should_search_disk(recall: Recall) -> bool:
    """Whether what came to mind says so little that a look on the disk is worth its time: neither words nor meaning of
    the best entry point fit the cue. A cue that names nothing ("hello") asks for nothing."""
    if not cue_terms(recall.cue):
        return False
    words = max((found.seed_words for found in recall.episodes), default=0.0)
    cosine = max((found.seed_cosine for found in recall.episodes), default=0.0)
    return words < WEAK_WORDS and cosine < WEAK_COSINE


def is_strong(hit: DeepHit) -> bool:
    """Whether the cue is strong enough to wake this hit's episode."""
    return (hit.words >= STRONG_WORDS and hit.terms >= STRONG_TERMS) or hit.cosine >= STRONG_COSINE


def select_dormant(found: DeepFound) -> tuple[str, ...]:
    """The episodes that a cue wakes: those of the strong hits, best first, a few at most."""
    names = dict.fromkeys(hit.episode_id for hit in found.hits if is_strong(hit))
    return tuple(names)[:WOKEN_AT_ONCE]


def weights_of(holding: Mapping[str, int], total: int) -> dict[str, float]:
    """How telling each of the cue's words is: the fewer of `total` texts hold it, the more. A word that is too common
    to be counted is taken to be in half of them."""
    holding = {word: max(count, total // 2) if count >= TOO_COMMON else count for word, count in holding.items()}
    return {word: math.log1p((total - min(total, count) + 0.5) / (count + 0.5)) for word, count in holding.items()}


def covered_share(text: str, weights: Mapping[str, float]) -> tuple[float, int]:
    """The share of the words (stems, with their weights) that `text` holds, and how many of them."""
    held = weights.keys() & set(terms_of(text))
    total = sum(weights.values())
    return (sum(weights[term] for term in held) / total if total else 0.0), len(held)


def score_match(cosine: float, words: float, best_words: float, has_vector: bool) -> float:
    """How well a text fits, 0 to 1, weighed like recall's entry points; `best_words` is the most that any single text
    holds of the cue."""
    weight = meaning_weight(best_words) if has_vector else 0.0
    return weight * max(0.0, min(1.0, cosine)) + (1.0 - weight) * words


def rank_hits(hits: Iterable[DeepHit], limit: int) -> tuple[DeepHit, ...]:
    """The best hits, best first, ties by id."""
    return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.kind, hit.owner_id))[:limit])


def select_rarest(holding: Mapping[str, int]) -> Sequence[str]:
    """The words worth asking the full-text index for: those that it holds, rarest first, and no more of them than it
    ranks in a moment: each text that holds one costs. One word at least, if it is not too common."""
    asked: list[str] = []
    texts = 0
    for word in sorted(holding, key=lambda word: (holding[word], word)):
        count = holding[word]
        texts += count
        if count >= TOO_COMMON or (asked and texts > MAX_RANKED) or len(asked) == MAX_TERMS:
            break
        if count:
            asked.append(word)
    return asked


# --- the search -------------------------------------------------------------------------------------------------------

CANDIDATES = 100
"""By words, and as many by meaning."""
_SCANNED_ROWS = 4096
_WOKEN_ACCESSIBILITY = 0.6
"""Above where an episode counts as faded."""
_MAX_CUE_TERMS = 24
_STATEMENT_SECONDS = 1.0
"""The longest that a write may have to wait behind one statement of a look."""
_SECONDS_A_NUMBER = 3.5e-9
"""What sqlite-vec takes to compare one number of a vector: 0.10 to 0.13 s were measured for 100,000 vectors of 384. It
cannot be broken off."""


class DeepRecall:
    """Looks through what is only on disk."""

    def __init__(self, store: MemoryStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def search_disk(self, query: str, vector: Vector, limit: int, seconds: float) -> DeepFound:
        """The texts on the disk that answer `query` best, by words and by meaning. What was not compared within
        `seconds` is left out, meaning first. Changes nothing."""
        until = self._clock.monotonic() + seconds
        holding, is_counted = await self._count_holding(query, until)
        live = self._store.live.turns
        everywhere = {stem(word): count + live.words.count_of(stem(word), live.live) for word, count in holding.items()}
        weights = weights_of(everywhere, self._store.deep.counts.texts + len(live))
        ids, is_asked = await self._by_words(select_rarest(holding), until)
        near, is_scanned = await self._by_meaning(vector, until) if vector.any() else ([], True)
        named = {"ids": json.dumps([*ids, *near]), "model_id": self._store.embedder.model_id}
        rows = await self._store.database.rows("deep.found", named)
        held = {row["id"]: covered_share(f"{row['speaker']} {row['text']}", weights) for row in rows}
        best = max((share for share, _ in held.values()), default=0.0)
        hits = [_hit(row, vector, *held[row["id"]], best) for row in rows]
        kept = {(hit.kind, hit.owner_id): hit for hit in hits if hit.score > 0.0}
        is_whole = is_counted and is_asked and is_scanned and self._clock.monotonic() < until
        return DeepFound(rank_hits(kept.values(), limit), is_whole)

    async def wake_episodes(self, episode_ids: Sequence[str], reason: str) -> tuple[str, ...]:
        """Bring these back into the live memory, all of them in one transaction; which ones came."""
        now = self._clock.now()
        woken: list[str] = []

        async def work(transaction: Transaction) -> ChangeSet:
            parts = [await self._wake_by_cue(transaction, name, now, reason) for name in episode_ids]
            found = [part for part in parts if part is not None]
            woken.extend(part.woken[0].episode_id for part in found)
            ids = set(woken)
            return ChangeSet(
                episodes=tuple(e for part in found for e in part.episodes),
                vectors=tuple(v for part in found for v in part.vectors),
                # Links among the woken episodes, and from them to live ones.
                links=tuple({link: None for part in found for link in await self._links(transaction, part, ids)}),
                touches=tuple(t for part in found for t in part.touches),
                indexed=tuple(i for part in found for i in part.indexed),
                woken=tuple(w for part in found for w in part.woken),
            )

        await self._store.commit(work)
        return tuple(woken)

    async def _count_holding(self, query: str, until: float) -> tuple[dict[str, int], bool]:
        """The cue's words, each with how many texts on the disk hold it; and whether none had to be left out."""
        asked = set(cue_terms(query))
        words = {stem(word): word for word in words_of(query) if word not in stop_words() and stem(word) in asked}
        found: dict[str, int] = {}
        for word in list(words.values())[:_MAX_CUE_TERMS]:
            rows = await self._rows("deep.count_holding", {"term": _quote_for_fts(word), "limit": TOO_COMMON}, until)
            if rows is None:
                return found, False
            found[word] = int(rows[0]["texts"])
        return found, True

    async def _by_words(self, words: Sequence[str], until: float) -> tuple[list[int], bool]:
        if not words:
            return [], True
        named = {"terms": " OR ".join(map(_quote_for_fts, words)), "limit": CANDIDATES}
        rows = await self._rows("deep.by_words", named, until)
        return [int(row["id"]) for row in rows or ()], rows is not None

    async def _rows(self, name: str, named: Mapping[str, object], until: float) -> list[Row] | None:
        """What a query finds; None when the time is up, or it takes longer than a write may have to wait for it."""
        seconds = min(_STATEMENT_SECONDS, until - self._clock.monotonic())
        if seconds <= 0.0:
            return None
        try:
            return await self._store.database.rows_within(name, named, seconds)
        except TimeoutError:
            return None

    async def _by_meaning(self, vector: Vector, until: float) -> tuple[list[int], bool]:
        table = self._store.deep.table_of(self._store.embedder.model_id)
        if table is not None and table.dimensions == vector.size:
            takes = self._store.deep.counts.texts * vector.size * _SECONDS_A_NUMBER
            if takes > min(_STATEMENT_SECONDS, until - self._clock.monotonic()):
                return [], False
            found = await vector_tables.nearest_rows(self._store.database, table, vector_bytes(vector), CANDIDATES)
            return found, True
        return await self._scan_vectors(vector, until)

    async def _scan_vectors(self, vector: Vector, until: float) -> tuple[list[int], bool]:
        """Without sqlite-vec: page by page, so that a write need not wait for all of them."""
        best: list[tuple[float, int]] = []
        after = 0
        named: dict[str, object] = {"model_id": self._store.embedder.model_id, "limit": _SCANNED_ROWS}
        while page := await self._rows("deep.vectors_after", named | {"after": after, "until": 2**62}, until):
            best = await asyncio.to_thread(_nearest_of, page, vector, best)
            after = int(page[-1]["id"])
        return [row_id for _, row_id in best], page is not None

    async def _wake_by_cue(self, transaction: Transaction, name: str, now: float, reason: str) -> ChangeSet | None:
        rows = await transaction.rows("deep.episode", {"id": name})
        if not rows:
            return None
        live = self._store.live
        sources = [str(row["experience_id"]) for row in await transaction.rows("deep.sources_of", {"id": name})]
        episode = live.graph.get(name) or episode_of(rows[0], sources)
        accessibility = max(episode.accessibility, _WOKEN_ACCESSIBILITY)
        said = await self._turns(transaction, sources)
        turns = [turn for turn in said if not turn.is_echo and live.turns.row_of(turn.id) is None]
        vectors = await self._vectors(transaction, "turn", [turn.id for turn in turns])
        indexed = tuple(IndexedTurn(turn, name, vectors.get(turn.id, live.no_vector)) for turn in turns)
        woken = (Waking(name, now, reason),)
        if not rows[0]["dormant"]:
            touch = Touch(name, episode.access_count, now, episode.salience, accessibility)
            return ChangeSet(touches=(touch,), indexed=indexed, woken=woken)
        back = replace(episode, accessibility=accessibility, last_accessed_at=now)
        own = await self._vectors(transaction, "episode", [name])
        return ChangeSet(
            episodes=(back,), vectors=((name, own.get(name, live.no_vector)),), indexed=indexed, woken=woken
        )

    async def _turns(self, transaction: Transaction, experience_ids: Sequence[str]) -> list[Turn]:
        turns: list[Turn] = []
        for experience_id in experience_ids:
            rows = await transaction.rows("turns.of_experience", {"experience_id": experience_id})
            if not rows:
                found = await transaction.rows("experiences.get", {"id": experience_id})
                turns += [turn for row in found for turn in passages_of(experience_of(row), self._store.mind_name)]
            turns += map(turn_of, rows)
        return turns

    async def _vectors(self, transaction: Transaction, kind: str, owner_ids: Sequence[str]) -> dict[str, Vector]:
        named = {"owner_kind": kind, "model_id": self._store.embedder.model_id, "owner_ids": json.dumps(owner_ids)}
        size = 4 * self._store.live.dimensions
        rows = await transaction.rows("vectors.of_owners", named)
        return {row["owner_id"]: vector_of(row["vector"]) for row in rows if len(row["vector"]) == size}

    async def _links(self, transaction: Transaction, waking: ChangeSet, woken: set[str]) -> list[Link]:
        """The links of an episode that wakes. One to an episode that went into another meanwhile leads there."""
        links: list[Link] = []
        for episode in waking.episodes:
            rows = await transaction.rows("deep.links_of", {"id": episode.id})
            ends = {row["from_id"] for row in rows} | {row["to_id"] for row in rows}
            gone = json.dumps(sorted(ends - woken))
            moved = {
                str(row["id"]): str(row["into_id"]) for row in await transaction.rows("deep.merged_into", {"ids": gone})
            }
            for row in rows:
                source, target = (moved.get(end, end) for end in (str(row["from_id"]), str(row["to_id"])))
                if source != target and all(end in woken or end in self._store.live.graph for end in (source, target)):
                    links.append(Link(source, target, LinkType(row["type"]), row["strength"]))
        return self._strongest(links)

    def _strongest(self, links: Sequence[Link]) -> list[Link]:
        """One link for each place, never weaker than what stands there."""
        kept: dict[tuple[str, str, LinkType], Link] = {}
        for link in links:
            place = (link.source_id, link.target_id, link.type)
            there = self._store.live.graph.strength_of(*place) or 0.0
            if link.strength > max(there, kept[place].strength if place in kept else 0.0):
                kept[place] = link
        return list(kept.values())


async def episode_on_disk(store: MemoryStore, id_or_prefix: str) -> Episode | None:
    """A dormant episode by its id or by a beginning that is its alone; None when there is no such."""
    rows = await store.database.rows("deep.dormant_like", {"prefix": id_or_prefix})
    exact = [row for row in rows if row["id"] == id_or_prefix] or rows
    if len(exact) != 1:
        return None
    sources = await store.database.rows("deep.sources_of", {"id": exact[0]["id"]})
    return episode_of(exact[0], [str(row["experience_id"]) for row in sources])


def _hit(row: Row, vector: Vector, words: float, terms: int, best_words: float) -> DeepHit:
    raw: Any = row["vector"]
    own = vector_of(raw) if raw is not None and len(raw) == 4 * vector.size else None
    cosine = float(own @ vector) if own is not None else 0.0
    return DeepHit(
        kind=row["kind"],
        owner_id=row["owner_id"],
        episode_id=row["episode_id"],
        summary=row["summary"],
        is_dormant=bool(row["dormant"]),
        happened_at=row["created_at"],
        speaker=row["speaker"],
        text=row["text"],
        said_at=row["said_at"],
        origin=Origin(row["origin"]),
        tainted=bool(row["tainted"]),
        score=score_match(cosine, words, best_words, own is not None and bool(vector.any())),
        cosine=cosine,
        words=words,
        terms=terms,
    )


def _nearest_of(page: Sequence[Row], vector: Vector, best: list[tuple[float, int]]) -> list[tuple[float, int]]:
    size = 4 * vector.size
    rows = [(int(row["id"]), row["vector"]) for row in page if row["vector"] is not None and len(row["vector"]) == size]
    if not rows:
        return best
    table = np.frombuffer(b"".join(raw for _, raw in rows), dtype="<f4").reshape(len(rows), vector.size)
    cosines = table @ vector
    first = np.argsort(-cosines, kind="stable")[:CANDIDATES].tolist()
    return sorted([*best, *((float(cosines[at]), rows[at][0]) for at in first)], reverse=True)[:CANDIDATES]


def _quote_for_fts(word: str) -> str:
    """A word as FTS5 takes it as a word, whatever stands in it."""
    return '"' + word.replace('"', '""') + '"'
