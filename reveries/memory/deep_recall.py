"""Recall from the disk: decides when a search is worthwhile, searches and scores, and wakes what a strong cue finds.

Texts that are only on disk (dormant episodes, and turns that left the live index) are compared with a cue like those in
memory, by vector and by words; the better a text matches the words, the more the words count (`score_match`). The
search runs off the event loop (the database's thread queries, a worker thread scans) and changes nothing. Waking is one
transaction: the episode returns to the live graph with its links to live episodes, its vector and all its turns."""

import asyncio
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import structlog

from reveries.clock import Clock
from reveries.db import vector_tables
from reveries.db.database import Row, Transaction
from reveries.index.fusion import meaning_weight
from reveries.index.terms import is_unspaced, stem, stop_words, terms_of, words_of
from reveries.llm.base import Vector
from reveries.memory.changes import ChangeSet, IndexedTurn, Touch, Waking
from reveries.memory.model import Episode, Link, LinkType, Origin, Recall, Turn
from reveries.memory.recall.cues import cue_terms, read_cue
from reveries.memory.rows import episode_of, experience_of, turn_of, vector_bytes, vector_of
from reveries.memory.store import MemoryStore
from reveries.memory.text.indexed_text import passages_of
from reveries.protocol import FoundOnDisk

log = structlog.get_logger("memory")

WEAK_WORDS = 0.5
WEAK_COSINE = 0.55
"""Recall is weak when its best source turn contains less than half of the cue's words, by weight, and the cosine of its
best episode is below this (an exchange and its own episode have a median of 0.54)."""

STRONG_WORDS = 0.6
STRONG_TERMS = 2
STRONG_COSINE = 0.7
"""A cue wakes an episode when one of its texts contains this share of the cue's words, at least two different ones, or
has a cosine as high as two episodes with a thematic link."""

WOKEN_AT_ONCE = 3
MAX_TERMS = 8
MAX_RANKED = 5000
TOO_COMMON = 20_000
"""Number of texts. A word that occurs in this many is not counted further, and not searched for."""


class DeepHit(FoundOnDisk, frozen=True):
    """A text that is only on disk and matches a cue."""

    terms: int
    """How many different words of the cue it contains."""


@dataclass(frozen=True, slots=True)
class DeepSearchResult:
    """Hits of a disk search, best first."""

    hits: tuple[DeepHit, ...] = ()
    is_complete: bool = True
    """False if the time limit was reached before everything was compared."""


def should_search_disk(recall: Recall) -> bool:
    """Whether the recall is so weak that a disk search is worthwhile: its best entry point matches neither by words nor
    by vector. False for a cue without content words ("hello"), and for a time of which turns are live."""
    if recall.names_only_time or not cue_terms(recall.cue):
        return False
    words = max((episode.seed_words for episode in recall.episodes), default=0.0)
    cosine = max((episode.seed_cosine for episode in recall.episodes), default=0.0)
    return words < WEAK_WORDS and cosine < WEAK_COSINE


def is_strong(hit: DeepHit) -> bool:
    """Whether the cue is strong enough to wake this hit's episode."""
    return (hit.words >= STRONG_WORDS and hit.terms >= STRONG_TERMS) or hit.cosine >= STRONG_COSINE


def select_dormant(result: DeepSearchResult) -> tuple[str, ...]:
    """Select the ids of the episodes to wake: those of the strong hits, best first, at most WOKEN_AT_ONCE."""
    episode_ids = dict.fromkeys(hit.episode_id for hit in result.hits if is_strong(hit))
    return tuple(episode_ids)[:WOKEN_AT_ONCE]


def word_weights(holding: Mapping[str, int], total: int) -> dict[str, float]:
    """Return the weight of each word of the cue (inverse document frequency over `total` texts). A word that is too
    common to be counted is assumed to be in half of them."""
    holding = {word: max(count, total // 2) if count >= TOO_COMMON else count for word, count in holding.items()}
    return {word: math.log1p((total - min(total, count) + 0.5) / (count + 0.5)) for word, count in holding.items()}


def covered_share(text: str, weights: Mapping[str, float]) -> tuple[float, int]:
    """Return the share by weight of the words (stems) that `text` contains, and their number."""
    shared = weights.keys() & set(terms_of(text))
    total = sum(weights.values())
    return (sum(weights[term] for term in shared) / total if total else 0.0), len(shared)


def score_match(cosine: float, words: float, best_words: float, has_vector: bool) -> float:
    """Score a text from 0 to 1, weighted like recall's entry points; `best_words` is the best word share of any single
    text."""
    weight = meaning_weight(best_words) if has_vector else 0.0
    return weight * max(0.0, min(1.0, cosine)) + (1.0 - weight) * words


def rank_hits(hits: Iterable[DeepHit], limit: int) -> tuple[DeepHit, ...]:
    """Return the best hits, best first; ties are ordered by id."""
    return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.kind, hit.owner_id))[:limit])


def select_rarest(holding: Mapping[str, int]) -> Sequence[str]:
    """Select the words to query the full-text index for: rarest first, and only as many as it can rank quickly, since
    each text that contains one adds to the cost. At least one, unless all are too common or absent."""
    selected: list[str] = []
    texts = 0
    for word in sorted(holding, key=lambda word: (holding[word], word)):
        count = holding[word]
        texts += count
        if count >= TOO_COMMON or (selected and texts > MAX_RANKED) or len(selected) == MAX_TERMS:
            break
        if count:
            selected.append(word)
    return selected


# --- the search -------------------------------------------------------------------------------------------------------

_TURN_SECONDS = 0.5
"""Time limit for the disk search of a chat turn (measured times: docs/explain/memory.md)."""
_HITS_FOR_WAKING = 10

CANDIDATES = 100
"""Maximum number of candidates by words, and by vector."""
_SCANNED_ROWS = 4096
_WOKEN_ACCESSIBILITY = 0.6
"""Above where an episode counts as faded."""
_MAX_CUE_TERMS = 24
_STATEMENT_SECONDS = 1.0
"""Time limit of one search statement: a write may have to wait behind it."""
_SECONDS_PER_NUMBER = 3.5e-9
"""Time that sqlite-vec needs per number of a vector: measured 0.10 to 0.13 s for 100,000 vectors of 384. The query
cannot be interrupted."""


class DeepRecall:
    """Searches what is only on disk, and wakes episodes."""

    def __init__(self, store: MemoryStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def search_disk(self, query: str, vector: Vector, limit: int, seconds: float) -> DeepSearchResult:
        """Search the texts on disk by words and by vector. What cannot be compared within `seconds` is left out, the
        vector search first. Changes nothing."""
        until = self._clock.monotonic() + seconds
        counts, is_counted = await self._count_texts_by_word(query, until)
        live = self._store.live.turns
        in_all_texts = {stem(word): n + live.words.count_of(stem(word), live.live) for word, n in counts.items()}
        weights = word_weights(in_all_texts, self._store.deep.counts.texts + len(live))
        by_words, is_queried = await self._search_words(select_rarest(counts), until)
        by_vector, is_scanned = await self._search_vectors(vector, until) if vector.any() else ([], True)
        named = {"ids": json.dumps([*by_words, *by_vector]), "model_id": self._store.embedder.model_id}
        rows = await self._store.database.rows("deep.found", named)
        shares = {row["id"]: covered_share(f"{row['speaker']} {row['text']}", weights) for row in rows}
        best = max((share for share, _ in shares.values()), default=0.0)
        hits = [_hit_from_row(row, vector, *shares[row["id"]], best) for row in rows]
        unique = {(hit.kind, hit.owner_id): hit for hit in hits if hit.score > 0.0}
        is_complete = is_counted and is_queried and is_scanned and self._clock.monotonic() < until
        return DeepSearchResult(rank_hits(unique.values(), limit), is_complete)

    async def wake_for(self, recall: Recall, vector: Vector) -> bool:
        """If `recall` is weak, wake what its cue finds on disk; whether anything woke. Reads nothing while nothing is
        only on disk."""
        if not self._store.deep.counts.texts or recall.names_only_time:
            return False
        if in_time := await self._find_dormant_in_time(recall.cue):
            return bool(await self.wake_episodes(in_time, "cue"))
        if not should_search_disk(recall):
            return False
        try:
            async with asyncio.timeout(_TURN_SECONDS):
                result = await self.search_disk(recall.cue, vector, _HITS_FOR_WAKING, _TURN_SECONDS)
        except TimeoutError:
            return False
        if not (dormant_ids := select_dormant(result)):
            return False
        woken = await self.wake_episodes(dormant_ids, "cue")
        log.info("episodes.woken", count=len(woken))
        return True

    async def _find_dormant_in_time(self, text: str) -> Sequence[str]:
        """Return dormant episodes of the time that a cue names if it names nothing else."""
        cue = read_cue(text, self._clock.now(), is_day_first=self._store.live.is_day_first)
        if cue.has_subject:
            return []
        dormant_ids: dict[str, None] = {}
        for span in cue.spans:
            named = {"start": span.start, "end": span.end, "limit": WOKEN_AT_ONCE}
            dormant_ids |= {
                str(row["id"]): None for row in await self._store.database.rows("deep.dormant_in_time", named)
            }
        return tuple(dormant_ids)[:WOKEN_AT_ONCE]

    async def wake_episodes(self, episode_ids: Sequence[str], reason: str) -> tuple[str, ...]:
        """Bring episodes back into the live memory, in one transaction. Returns the ids of those that still exist."""
        now = self._clock.now()
        woken: list[str] = []

        async def work(transaction: Transaction) -> ChangeSet:
            all_parts = [await self._waking_changes(transaction, name, now, reason) for name in episode_ids]
            parts = [part for part in all_parts if part is not None]
            woken.extend(part.woken[0].episode_id for part in parts)
            ids = set(woken)
            return ChangeSet(
                episodes=tuple(e for part in parts for e in part.episodes),
                vectors=tuple(v for part in parts for v in part.vectors),
                # Links among the woken episodes, and from them to live ones.
                links=tuple({link: None for part in parts for link in await self._links(transaction, part, ids)}),
                touches=tuple(t for part in parts for t in part.touches),
                indexed=tuple(i for part in parts for i in part.indexed),
                woken=tuple(w for part in parts for w in part.woken),
            )

        await self._store.commit(work)
        return tuple(woken)

    async def _count_texts_by_word(self, query: str, until: float) -> tuple[dict[str, int], bool]:
        """Return the cue's words, each with the number of texts on disk that contain it, and whether all were
        counted in time."""
        terms = set(cue_terms(query))
        words = {stem(word): word for word in words_of(query) if word not in stop_words() and stem(word) in terms}
        counts: dict[str, int] = {}
        for word in list(words.values())[:_MAX_CUE_TERMS]:
            name, term = (
                ("deep.count_with_part", word) if is_unspaced(word) else ("deep.count_holding", _quote_for_fts(word))
            )
            rows = await self._rows(name, {"term": term, "limit": TOO_COMMON}, until)
            if rows is None:
                return counts, False
            counts[word] = int(rows[0]["texts"])
        return counts, True

    async def _search_words(self, words: Sequence[str], until: float) -> tuple[list[int], bool]:
        if not words:
            return [], True
        spaced, parts = [word for word in words if not is_unspaced(word)], list(filter(is_unspaced, words))
        ids: dict[int, None] = {}
        for name, named in (
            ("deep.by_words", {"terms": " OR ".join(map(_quote_for_fts, spaced)), "limit": CANDIDATES}),
            ("deep.by_parts", {"parts": json.dumps(parts), "limit": CANDIDATES}),
        ):
            if not (spaced if name == "deep.by_words" else parts):
                continue
            rows = await self._rows(name, named, until)
            if rows is None:
                return list(ids), False
            ids |= {int(row["id"]): None for row in rows}
        return list(ids), True

    async def _rows(self, name: str, named: Mapping[str, object], until: float) -> list[Row] | None:
        """Run a query; None if the time is up, or it takes longer than one statement may."""
        seconds = min(_STATEMENT_SECONDS, until - self._clock.monotonic())
        if seconds <= 0.0:
            return None
        try:
            return await self._store.database.rows_within(name, named, seconds)
        except TimeoutError:
            return None

    async def _search_vectors(self, vector: Vector, until: float) -> tuple[list[int], bool]:
        table = self._store.deep.table_of(self._store.embedder.model_id)
        if table is not None and table.dimensions == vector.size:
            estimate = self._store.deep.counts.texts * vector.size * _SECONDS_PER_NUMBER
            if estimate > min(_STATEMENT_SECONDS, until - self._clock.monotonic()):
                return [], False
            ids = await vector_tables.nearest_rows(self._store.database, table, vector_bytes(vector), CANDIDATES)
            return ids, True
        return await self._scan_vectors(vector, until)

    async def _scan_vectors(self, vector: Vector, until: float) -> tuple[list[int], bool]:
        """Search without sqlite-vec, page by page, so that a write need not wait for the whole scan."""
        best: list[tuple[float, int]] = []
        after = 0
        named: dict[str, object] = {"model_id": self._store.embedder.model_id, "limit": _SCANNED_ROWS}
        while page := await self._rows("deep.vectors_after", named | {"after": after, "until": 2**62}, until):
            best = await asyncio.to_thread(_nearest_of, page, vector, best)
            after = int(page[-1]["id"])
        return [row_id for _, row_id in best], page is not None

    async def _waking_changes(self, transaction: Transaction, name: str, now: float, reason: str) -> ChangeSet | None:
        """Return the changes that wake one episode; None if it does not exist. Links are added by the caller."""
        rows = await transaction.rows("deep.episode", {"id": name})
        if not rows:
            return None
        live = self._store.live
        sources = [str(row["experience_id"]) for row in await transaction.rows("deep.sources_of", {"id": name})]
        episode = live.graph.get(name) or episode_of(rows[0], sources)
        accessibility = max(episode.accessibility, _WOKEN_ACCESSIBILITY)
        stored = await self._turns(transaction, sources)
        turns = [turn for turn in stored if not turn.is_echo and live.turns.row_of(turn.id) is None]
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
                experiences = await transaction.rows("experiences.get", {"id": experience_id})
                turns += [
                    turn for row in experiences for turn in passages_of(experience_of(row), self._store.mind_name)
                ]
            turns += map(turn_of, rows)
        return turns

    async def _vectors(self, transaction: Transaction, kind: str, owner_ids: Sequence[str]) -> dict[str, Vector]:
        named = {"owner_kind": kind, "model_id": self._store.embedder.model_id, "owner_ids": json.dumps(owner_ids)}
        size = 4 * self._store.live.dimensions
        rows = await transaction.rows("vectors.of_owners", named)
        return {row["owner_id"]: vector_of(row["vector"]) for row in rows if len(row["vector"]) == size}

    async def _links(self, transaction: Transaction, waking: ChangeSet, woken: set[str]) -> list[Link]:
        """Load the links of a waking episode. A link to an episode that was merged meanwhile leads to its target."""
        links: list[Link] = []
        for episode in waking.episodes:
            rows = await transaction.rows("deep.links_of", {"id": episode.id})
            ends = {row["from_id"] for row in rows} | {row["to_id"] for row in rows}
            others = json.dumps(sorted(ends - woken))
            merged = await transaction.rows("deep.merged_into", {"ids": others})
            targets = {str(row["id"]): str(row["into_id"]) for row in merged}
            for row in rows:
                source, target = (targets.get(end, end) for end in (str(row["from_id"]), str(row["to_id"])))
                if source != target and all(end in woken or end in self._store.live.graph for end in (source, target)):
                    links.append(Link(source, target, LinkType(row["type"]), row["strength"]))
        return self._strongest(links)

    def _strongest(self, links: Sequence[Link]) -> list[Link]:
        """Keep the strongest link per source, target and type, if it is stronger than the existing one."""
        strongest: dict[tuple[str, str, LinkType], Link] = {}
        for link in links:
            key = (link.source_id, link.target_id, link.type)
            existing = self._store.live.graph.strength_of(*key) or 0.0
            if link.strength > max(existing, strongest[key].strength if key in strongest else 0.0):
                strongest[key] = link
        return list(strongest.values())


async def find_dormant_episode(store: MemoryStore, id_or_prefix: str) -> Episode | None:
    """Find a dormant episode by id or unique id prefix; None if there is none."""
    rows = await store.database.rows("deep.dormant_like", {"prefix": id_or_prefix})
    exact = [row for row in rows if row["id"] == id_or_prefix] or rows
    if len(exact) != 1:
        return None
    sources = await store.database.rows("deep.sources_of", {"id": exact[0]["id"]})
    return episode_of(exact[0], [str(row["experience_id"]) for row in sources])


def _hit_from_row(row: Row, vector: Vector, words: float, terms: int, best_words: float) -> DeepHit:
    raw: Any = row["vector"]
    own = vector_of(raw) if raw is not None and len(raw) == 4 * vector.size else None
    cosine = float(own @ vector) if own is not None else 0.0
    return DeepHit(
        kind=row["kind"],
        owner_id=row["owner_id"],
        episode_id=row["episode_id"],
        is_dormant=bool(row["dormant"]),
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
    """Quote a word for FTS5, so that it is matched literally."""
    return '"' + word.replace('"', '""') + '"'
