"""What deep sleep reads with one request: one experience; for a capable model a whole conversation and the
thoughts near it.

The most important waiting experience decides which conversation comes next; within it everything is read in order of
time. Untrusted text is read apart from the rest. An experience whose answer could not be used is read alone the next
time, in the form that small models can do.
"""

import json
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

from reveries import gates
from reveries.db.database import Transaction
from reveries.llm.tier import Tier
from reveries.llm.tokens import estimate_tokens
from reveries.memory.model import Episode, Experience, Origin, Turn
from reveries.memory.store import MemoryStore, find_live_episode

_ANSWER_SHARE = 3
"""At most one third of the context is for the answer."""
_MOST_ANSWER_TOKENS = 4000
_SELF_TOKENS = 700
_PART_TOKENS = 280
_RULES_TOKENS = 2500
"""For the rules, the schema and what is known already."""
_MOST_TOKENS = 24_000
"""A longer conversation is read in several requests, so that one bad answer does not cost too much."""
_LEAST_TOKENS = 800
_NEAR_SECONDS = 86_400.0
"""Thoughts within a day of a conversation are read with it: most are about it, and a request of their own costs as much
as one about a conversation."""


@dataclass(frozen=True, slots=True)
class ExperiencePart:
    """What gets one answer: the waiting experiences of one episode."""

    home: Episode
    experiences: tuple[Experience, ...]
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """What is read with one request, in order of time."""

    parts: tuple[ExperiencePart, ...]
    beside: tuple[ExperiencePart, ...] = ()
    """The owner's own words next to untrusted text. They may change the self-model; they get no answer of their own
    here, because they are also read with that text."""
    is_foreign: bool = False
    is_whole: bool = False
    """All of a conversation, in the form for a capable model; otherwise one experience."""

    @property
    def experiences(self) -> tuple[Experience, ...]:
        return tuple(experience for part in self.parts for experience in part.experiences)

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All turns, in order of time."""
        turns = [turn for part in (*self.parts, *self.beside) for turn in part.turns]
        return tuple(sorted(turns, key=lambda turn: (turn.said_at, turn.position)))


@dataclass(frozen=True, slots=True)
class ReadingRoom:
    """How much one request can hold."""

    text_tokens: int
    parts: int
    answer_tokens: int


def room_for(context_tokens: int) -> ReadingRoom:
    """Return what fits into one request to a model with this context."""
    answer = min(_MOST_ANSWER_TOKENS, context_tokens // _ANSWER_SHARE)
    text = min(_MOST_TOKENS, max(_LEAST_TOKENS, context_tokens - answer - _RULES_TOKENS))
    return ReadingRoom(text, max(1, (answer - _SELF_TOKENS) // _PART_TOKENS), answer)


def answer_tokens_for(part_count: int, room: ReadingRoom) -> int:
    """Return the most tokens of an answer about so many parts: what it needs and half as much again. A call that the
    owner's words break off may be charged for all of them."""
    return min(room.answer_tokens, (_SELF_TOKENS + part_count * _PART_TOKENS) * 3 // 2)


class WaitingExperiences:
    """Hands out what waits for one pass of deep sleep, the most important first, each experience once."""

    def __init__(self, store: MemoryStore, max_attempts: int, *, with_held: bool, limit: int | None) -> None:
        self._store = store
        self._named = {"max_attempts": max_attempts, "with_held": int(with_held)}
        self._limit = limit
        self._readings: deque[Reading] = deque()
        self._taken: list[str] = []
        self._current: Reading | None = None

    @property
    def read_count(self) -> int:
        """The number of experiences handed out so far."""
        waiting = sum(len(reading.experiences) for reading in self._readings)
        return len(self._taken) - waiting

    def put_back(self) -> None:
        """Count the last reading, which was broken off, and those after it as not handed out."""
        back = [reading.experiences for reading in (self._current, *self._readings) if reading is not None]
        names = {experience.id for experiences in back for experience in experiences}
        self._taken = [name for name in self._taken if name not in names]
        self._readings.clear()

    async def next(self, tier: Tier, context_tokens: int) -> Reading | None:
        """Return what is read next by a model of this tier; None if nothing waits, or the limit is reached."""
        while True:
            if not self._readings:
                if self._limit is not None and len(self._taken) >= self._limit:
                    return None
                if not await self._take_next(tier, context_tokens):
                    return None
                continue
            self._current = await self._find_homes(self._readings.popleft())
            if self._current.parts or self._current.beside:
                return self._current

    async def _find_homes(self, reading: Reading) -> Reading:
        """Look the episodes up again: what was read before may have merged them."""
        parts = [
            replace(part, home=home) for part in reading.parts if (home := await self._find_home(part)) is not None
        ]
        beside = [
            replace(part, home=home) for part in reading.beside if (home := await self._find_home(part)) is not None
        ]
        return replace(reading, parts=_join_by_episode(parts), beside=tuple(beside))

    async def _find_home(self, part: ExperiencePart) -> Episode | None:
        return await find_live_episode(self._store.database, self._store.live, part.experiences[0].id)

    async def _take_next(self, tier: Tier, context_tokens: int) -> bool:
        named = self._named | {"passed_over": json.dumps(self._taken)}
        rows = await self._store.database.rows("experiences.next_to_process", named)
        if not rows:
            return False
        first = str(rows[0]["id"])
        is_whole = tier >= Tier.CAPABLE and not rows[0]["attempts"]
        ids = [first]
        if is_whole:
            near = {"id": first, "near_seconds": _NEAR_SECONDS}
            together = await self._store.database.rows("experiences.waiting_with", named | near)
            ids = [str(row["id"]) for row in together]
            if self._limit is not None:
                ids = ids[: self._limit - len(self._taken)]
        self._taken += ids
        parts = await self._load_parts(ids)
        self._readings += split_readings(parts, room_for(context_tokens)) if is_whole else map(_read_alone, parts)
        return True

    async def _load_parts(self, ids: Sequence[str]) -> list[ExperiencePart]:
        """Load experiences, each as a part of its own. Those that are in no live episode are left out."""
        parts: list[ExperiencePart] = []
        for experience, turns in await self._store.load_with_turns(ids):
            home = await find_live_episode(self._store.database, self._store.live, experience.id)
            if home is not None:
                parts.append(ExperiencePart(home, (experience,), turns))
        return parts


async def are_still_there(transaction: Transaction, experience_ids: Sequence[str]) -> bool:
    """Whether none of the experiences was withdrawn or erased while a model read them."""
    named = {"ids": json.dumps(list(experience_ids))}
    rows = await transaction.rows("experiences.count_still_there", named)
    return int(rows[0]["experiences"]) == len(experience_ids)


def _read_alone(part: ExperiencePart) -> Reading:
    return Reading((part,), is_foreign=_is_foreign(part))


def split_readings(parts: Sequence[ExperiencePart], room: ReadingRoom) -> list[Reading]:
    """Divide the experiences of a conversation, in order of time, into readings: trusted ones first, each as long as
    fits. Pure."""
    ordered = sorted(parts, key=lambda part: part.turns[0].said_at if part.turns else 0.0)
    foreign = [part for part in ordered if _is_foreign(part)]
    trusted = [part for part in ordered if not _is_foreign(part)]
    own_words = [own for part in foreign if (own := _keep_own_words(part)) is not None]
    beside_ids = {part.experiences[0].id for part in own_words}
    merged = sorted((*trusted, *own_words), key=lambda part: part.turns[0].said_at if part.turns else 0.0)
    readings: list[Reading] = []
    for some in _fill_rooms(merged, room):
        numbered = _join_by_episode([part for part in some if part.experiences[0].id not in beside_ids])
        beside = tuple(part for part in some if part.experiences[0].id in beside_ids)
        readings.append(Reading(numbered, beside, is_whole=True))
    apart = [Reading(_join_by_episode(some), is_foreign=True, is_whole=True) for some in _fill_rooms(foreign, room)]
    return [*readings, *apart]


def _is_foreign(part: ExperiencePart) -> bool:
    """Whether someone other than the owner may have influenced what is read (F1)."""
    tainted = any(turn.tainted or turn.origin.is_tainted for turn in part.turns)
    tainted = tainted or any(experience.tainted or experience.origin.is_tainted for experience in part.experiences)
    return tainted and gates.is_enforced(gates.Gate.SELF_WORDS)


def _keep_own_words(part: ExperiencePart) -> ExperiencePart | None:
    own = tuple(turn for turn in part.turns if turn.origin is Origin.OWNER and not turn.tainted)
    return ExperiencePart(part.home, part.experiences, own) if own else None


def _fill_rooms(parts: Sequence[ExperiencePart], room: ReadingRoom) -> list[list[ExperiencePart]]:
    """Divide parts, in order, so that each share fits into one request."""
    shares: list[list[ExperiencePart]] = []
    used = 0
    for part in parts:
        cost = sum(estimate_tokens(turn.text) + 12 for turn in part.turns)
        homes = {earlier_part.home.id for earlier_part in shares[-1]} | {part.home.id} if shares else set[str]()
        if not shares or used + cost > room.text_tokens or len(homes) > room.parts:
            shares.append([])
            used = 0
        shares[-1].append(part)
        used += cost
    return shares


def _join_by_episode(parts: Sequence[ExperiencePart]) -> tuple[ExperiencePart, ...]:
    """Join the parts of the same episode, in the order in which the episodes begin."""
    by_home: dict[str, ExperiencePart] = {}
    for part in parts:
        earlier = by_home.get(part.home.id)
        by_home[part.home.id] = (
            part
            if earlier is None
            else ExperiencePart(earlier.home, (*earlier.experiences, *part.experiences), (*earlier.turns, *part.turns))
        )
    return tuple(by_home.values())
