"""Import of past conversations: each line is stored once, as a turn with its own time.

A line is known by what it is (time, speaker, text, and which of equal ones), not by the file it came in: importing
twice stores nothing twice, and a file that has grown adds only what is new. Turns become experiences when sleep comes.
"""

import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

from reveries.db.database import Database, Transaction
from reveries.gates import Gate, inherited
from reveries.memory.changes import ChangeSet
from reveries.memory.conversations import CHAT, SpeakerNames
from reveries.memory.model import Experience, ExperienceKind, Origin, Turn
from reveries.memory.rows import experience_row, storable, turn_of, turn_row
from reveries.memory.store import MemoryStore
from reveries.memory.text.appraisal import salience_of, topics_of, valence_of

IsErased = Callable[[str, float], bool]
"""Whether these words, said then, were erased on the owner's word."""

_SESSION_SECONDS = 6 * 3600.0
"""A longer silence within a source begins another conversation."""
_ADOPT_BATCH = 200
_PAGE_TURNS = 1000
_NO_IMPORTS = (CHAT, "erased")
"""Sources that are none: a file of that name is called otherwise."""


@dataclass(frozen=True, slots=True)
class PastTurn:
    """One line of a past conversation; `said_at` in unix seconds."""

    said_at: float
    speaker: str
    text: str
    is_owner: bool = False
    """The file itself tells whose account it was written by, and this is who: their name need not be known."""


@dataclass(frozen=True, slots=True)
class ImportCounts:
    """How many lines were new, and how many were there already."""

    stored: int
    known_already: int
    erased: int = 0
    """Lines that the owner had erased: they are not taken in again."""


@dataclass(frozen=True, slots=True)
class _After:
    """What stood before a line in its own stretch of the file, whether it was stored now, before, or not at all."""

    said_at: float = float("-inf")
    is_foreign: bool = False

    def then(self, said_at: float, *, is_foreign: bool) -> Self:
        """After a line that was said then. A longer silence begins anew."""
        goes_on = 0 <= said_at - self.said_at <= _SESSION_SECONDS
        return replace(self, said_at=said_at, is_foreign=is_foreign or (goes_on and self.is_foreign))


@dataclass(frozen=True, slots=True)
class _Keyed:
    """A line that comes in, by what it is known, and whether somebody else had spoken by then."""

    line: PastTurn
    key: bytes
    is_after_foreign: bool


class ImportUnderWay:
    """One import under way: hand it the lines in order, in batches. Of equal lines it counts which one it is at."""

    def __init__(
        self, store: MemoryStore, names: SpeakerNames, source: str, new_id: Callable[[], str], is_erased: IsErased
    ) -> None:
        self._store = store
        self._is_erased = is_erased
        self._names = names
        self._source = f"{source} (import)" if source in _NO_IMPORTS else source
        self._new_id = new_id
        self._seen: Counter[bytes] = Counter()
        self._foreign: set[str] = set()
        """Conversations in which somebody else has spoken: what the mind said after that inherits it."""
        self._after = _After()

    async def add(self, lines: Sequence[PastTurn]) -> ImportCounts:
        """Store a batch in one transaction. Raises StorageError; then nothing of the batch is stored."""
        # Counted beside what was seen before: to copy all of that for each batch would hold up a large import.
        seen, after = Counter[bytes](), self._after
        keyed: list[_Keyed] = []
        for line in map(_clean, lines):
            after = after.then(line.said_at, is_foreign=self._origin(line).is_tainted)
            keyed.append(_Keyed(line, self._key(line, seen), after.is_foreign))
        stored = erased = 0

        async def work(transaction: Transaction) -> ChangeSet:
            nonlocal stored, erased
            unknown = [one for one in keyed if not await _is_imported(transaction, one.key)]
            new = [one for one in unknown if not self._is_erased(one.line.text, one.line.said_at)]
            erased = len(unknown) - len(new)
            await self._insert(transaction, new)
            stored = len(new)
            return ChangeSet()

        await self._store.commit(work)
        self._seen.update(seen)
        self._after = after
        return ImportCounts(stored, len(keyed) - stored - erased, erased)

    async def _insert(self, transaction: Transaction, lines: Sequence[_Keyed]) -> None:
        conversation_id, position, last_said_at = "", 0, 0.0
        for one in lines:
            line = one.line
            if not conversation_id or not 0 <= line.said_at - last_said_at <= _SESSION_SECONDS:
                conversation_id = await self._conversation_at(transaction, line.said_at)
                rows = await transaction.rows("turns.next_position", {"conversation_id": conversation_id})
                position = int(rows[0]["position"])
            turn = self._turn_of_line(one, conversation_id, position)
            await transaction.run("turns.insert", turn_row(turn, one.key))
            await transaction.run("conversations.spoken", {"id": conversation_id, "said_at": line.said_at})
            position, last_said_at = position + 1, line.said_at

    async def _conversation_at(self, transaction: Transaction, said_at: float) -> str:
        """The source's conversation that goes on at this time, or a new one."""
        named = {"source": self._source, "earliest": said_at - _SESSION_SECONDS, "latest": said_at}
        if rows := await transaction.rows("conversations.latest_of", named):
            found = str(rows[0]["id"])
            # Whatever brought it there: an earlier import, or one that ended half way.
            if await transaction.rows("turns.any_tainted", {"conversation_id": found}):
                self._foreign.add(found)
            return found
        new_id = self._new_id()
        await transaction.run(
            "conversations.insert", {"id": new_id, "began_at": said_at, "source": self._source, "title": self._source}
        )
        return new_id

    def _turn_of_line(self, one: _Keyed, conversation_id: str, position: int) -> Turn:
        line, origin = one.line, self._origin(one.line)
        if origin.is_tainted or one.is_after_foreign:
            self._foreign.add(conversation_id)
        after_others = origin is Origin.SELF and conversation_id in self._foreign
        return Turn(
            id=self._new_id(),
            conversation_id=conversation_id,
            experience_id=None,
            position=position,
            origin=origin,
            speaker=line.speaker,
            text=line.text,
            said_at=line.said_at,
            tainted=inherited(Gate.TALK, origin.is_tainted, after_others),
        )

    def _key(self, line: PastTurn, seen: Counter[bytes]) -> bytes:
        """What the line is known by; `seen` counts the equal ones of its batch."""
        content = _digest(repr(line.said_at), line.speaker, line.text)
        occurrence = self._seen[content] + seen[content]
        seen[content] += 1
        return _digest(repr(line.said_at), line.speaker, line.text, str(occurrence))

    def _origin(self, line: PastTurn) -> Origin:
        """Owner and mind are known by their names, or the owner by the file; what anybody else said is a document that
        the owner gave in."""
        if line.is_owner:
            return Origin.OWNER
        match line.speaker.casefold():
            case name if name == self._names.owner.casefold():
                return Origin.OWNER
            case name if name == self._names.mind.casefold():
                return Origin.SELF
            case _:
                return Origin.DOCUMENT


async def adopt_imported(store: MemoryStore, new_id: Callable[[], str]) -> int:
    """Make experiences of imported turns that are in none yet; how many. Each is one speaker's run of lines and the
    answer to it. Read page by page: years of talk need not be held at once."""
    adopted, batch = 0, list[list[Turn]]()
    async for group in _orphaned_exchanges(store.database):
        batch.append(group)
        if len(batch) == _ADOPT_BATCH:
            await _adopt_groups(store, new_id, batch)
            adopted, batch = adopted + len(batch), []
    if batch:
        await _adopt_groups(store, new_id, batch)
    return adopted + len(batch)


async def _adopt_groups(store: MemoryStore, new_id: Callable[[], str], groups: Sequence[list[Turn]]) -> None:
    async def work(transaction: Transaction) -> ChangeSet:
        for group in groups:
            experience = _experience(group, new_id())
            await transaction.run("experiences.insert", experience_row(experience, len(group)))
            adopted = [{"id": turn.id, "experience_id": experience.id} for turn in group]
            await transaction.run_many("turns.adopt", adopted)
        return ChangeSet()

    await store.commit(work)


async def _orphaned_exchanges(database: Database) -> AsyncIterator[list[Turn]]:
    """Of each conversation in order, the exchanges that are in no experience yet."""
    for row in await database.rows("turns.conversations_of_orphans"):
        held, last = list[Turn](), -1
        while True:
            named = {"conversation_id": row["conversation_id"], "after": last, "most": _PAGE_TURNS}
            page = [turn_of(found) for found in await database.rows("turns.orphans_of", named)]
            groups = exchanges([*held, *page])
            if len(page) < _PAGE_TURNS:
                for group in groups:
                    yield group
                break
            # The last one may go on.
            for group in groups[:-1]:
                yield group
            held, last = groups[-1], page[-1].position


def exchanges(turns: Sequence[Turn]) -> list[list[Turn]]:
    """`turns`, in order, as exchanges: one speaker's run of lines and the next speaker's run after it."""
    groups: list[list[Turn]] = []
    for turn in turns:
        if groups and _belongs_to_group(groups[-1], turn):
            groups[-1].append(turn)
        else:
            groups.append([turn])
    return groups


def _belongs_to_group(group: Sequence[Turn], turn: Turn) -> bool:
    last = group[-1]
    if turn.conversation_id != last.conversation_id or turn.said_at - last.said_at > _SESSION_SECONDS:
        return False
    return turn.speaker == last.speaker or len({said.speaker for said in group}) < 2


def _experience(turns: Sequence[Turn], experience_id: str) -> Experience:
    content = "\n\n".join(f"{turn.speaker}: {turn.text}" for turn in turns)
    said = "\n".join(turn.text for turn in turns)
    first = turns[0]
    origins = {turn.origin for turn in turns}
    return Experience(
        id=experience_id,
        kind=ExperienceKind.CONVERSATION,
        happened_at=first.said_at,
        content=content,
        salience=salience_of(said),
        valence=valence_of(said),
        origin=Origin.OWNER if Origin.OWNER in origins else first.origin,
        tainted=inherited(Gate.EXCHANGE, *(turn.tainted for turn in turns)),
        conversation_id=first.conversation_id,
        topics=topics_of(said),
    )


def _clean(line: PastTurn) -> PastTurn:
    return replace(line, speaker=storable(line.speaker), text=storable(line.text))


def _digest(*parts: str) -> bytes:
    """BLAKE2b-128 of all of them, each with its length before it."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        raw = part.encode("utf-8")
        digest.update(len(raw).to_bytes(8, "big"))
        digest.update(raw)
    return digest.digest()


async def _is_imported(transaction: Transaction, key: bytes) -> bool:
    return bool(await transaction.rows("turns.has_import_key", {"import_key": key}))
