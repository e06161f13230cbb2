"""Import of past conversations: each line is stored once, as a turn with its own time.

A line is identified by what it is in its file (whoever reads the file decides that), or by its content: time, speaker,
text, and its number among equal lines. Importing a file again stores nothing twice, and a file that has grown adds only
its new lines. Light sleep turns them into
experiences.
"""

import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

from reveries.db.database import Database, Transaction
from reveries.gates import Gate, inherits_taint
from reveries.memory.changes import ChangeSet
from reveries.memory.conversations import CHAT, SpeakerNames
from reveries.memory.model import Experience, ExperienceKind, Origin, Turn
from reveries.memory.rows import experience_row, make_storable, turn_of, turn_row
from reveries.memory.store import MemoryStore
from reveries.memory.text.appraisal import salience_of, topics_of, valence_of

IsErased = Callable[[str, float], bool]
"""Whether this text, said at this time, was erased by the owner."""

_SESSION_SECONDS = 6 * 3600.0
"""A longer silence within a source begins a new conversation."""
_ADOPT_BATCH = 200
_PAGE_TURNS = 1000
_RESERVED_SOURCES = (CHAT, "erased")
"""Source names with another meaning: an imported file of that name gets a suffix."""


@dataclass(frozen=True, slots=True)
class PastTurn:
    """One line of a past conversation; `said_at` in unix seconds."""

    said_at: float
    speaker: str
    text: str
    origin: Origin | None = None
    """Whose words these are, as decided before; None: by the names of the owner and the mind."""
    key: bytes = b""
    """What this line is in its file; empty: its time, speaker, text and number among equal lines."""
    title: str = ""
    """The conversation within the source; lines of different ones are never in one conversation."""


@dataclass(frozen=True, slots=True)
class ImportCounts:
    """Number of lines that were stored and that were known already."""

    stored: int
    known_already: int
    erased: int = 0
    """Lines that the owner had erased: they are not stored again."""


@dataclass(frozen=True, slots=True)
class _SessionState:
    """State of the current session within the file, up to the last line read (stored or not)."""

    said_at: float = float("-inf")
    has_untrusted: bool = False
    """Whether someone other than the owner and the mind has spoken in the session."""
    title: str = ""

    def advance(self, line: PastTurn, *, is_untrusted: bool) -> Self:
        """Return the state after the next line. A longer silence, or another conversation, begins a new session."""
        is_same_session = line.title == self.title and 0 <= line.said_at - self.said_at <= _SESSION_SECONDS
        has_untrusted = is_untrusted or (is_same_session and self.has_untrusted)
        return replace(self, said_at=line.said_at, has_untrusted=has_untrusted, title=line.title)


@dataclass(frozen=True, slots=True)
class _KeyedLine:
    """A line to import, with its key, and whether untrusted text preceded it in its session."""

    line: PastTurn
    key: bytes
    old_key: bytes
    """The key by its content alone, which earlier versions stored."""
    is_after_untrusted: bool


class ImportSession:
    """One running import. Add the lines in order, in batches; equal lines are numbered across batches."""

    def __init__(
        self, store: MemoryStore, names: SpeakerNames, source: str, new_id: Callable[[], str], is_erased: IsErased
    ) -> None:
        self._store = store
        self._is_erased = is_erased
        self._names = names
        self._source = f"{source} (import)" if source in _RESERVED_SOURCES else source
        self._new_id = new_id
        self._seen: Counter[bytes] = Counter()
        self._untrusted_conversations: set[str] = set()
        """Conversations in which someone else has spoken: the mind's words after that inherit the taint."""
        self._state = _SessionState()

    async def add(self, lines: Sequence[PastTurn]) -> ImportCounts:
        """Store a batch in one transaction. Raises StorageError; then nothing of the batch is stored."""
        # Counted separately until the commit: copying `self._seen` for each batch would slow down a large import.
        seen, state = Counter[bytes](), self._state
        keyed: list[_KeyedLine] = []
        for line in map(_clean_line, lines):
            state = state.advance(line, is_untrusted=self._origin(line).is_tainted)
            content_key = self._content_key(line, seen)
            keyed.append(_KeyedLine(line, line.key or content_key, content_key, state.has_untrusted))
        stored = erased = 0

        async def work(transaction: Transaction) -> ChangeSet:
            nonlocal stored, erased
            distinct = {entry.key: entry for entry in reversed(keyed)}
            unknown = [
                entry for entry in keyed if distinct[entry.key] is entry and not await _is_imported(transaction, entry)
            ]
            new = [entry for entry in unknown if not self._is_erased(entry.line.text, entry.line.said_at)]
            erased = len(unknown) - len(new)
            await self._insert(transaction, new)
            stored = len(new)
            return ChangeSet()

        await self._store.commit(work)
        self._seen.update(seen)
        self._state = state
        return ImportCounts(stored, len(keyed) - stored - erased, erased)

    async def _insert(self, transaction: Transaction, entries: Sequence[_KeyedLine]) -> None:
        conversation_id, position, last_said_at, title = "", 0, 0.0, ""
        for entry in entries:
            line = entry.line
            is_near = line.title == title and 0 <= line.said_at - last_said_at <= _SESSION_SECONDS
            if not conversation_id or not is_near:
                conversation_id, title = await self._conversation_at(transaction, line), line.title
                rows = await transaction.rows("turns.next_position", {"conversation_id": conversation_id})
                position = int(rows[0]["position"])
            turn = self._turn_of_line(entry, conversation_id, position)
            await transaction.run("turns.insert", turn_row(turn, entry.key))
            await transaction.run("conversations.spoken", {"id": conversation_id, "said_at": line.said_at})
            position, last_said_at = position + 1, line.said_at

    async def _conversation_at(self, transaction: Transaction, line: PastTurn) -> str:
        """Find the conversation that continues with this line, or insert a new one."""
        said_at, title = line.said_at, make_storable(line.title) or self._source
        named = {"source": self._source, "title": title, "earliest": said_at - _SESSION_SECONDS, "latest": said_at}
        if rows := await transaction.rows("conversations.latest_of", named):
            conversation_id = str(rows[0]["id"])
            # Its turns may come from an earlier import, or from one that was interrupted.
            if await transaction.rows("turns.any_tainted", {"conversation_id": conversation_id}):
                self._untrusted_conversations.add(conversation_id)
            return conversation_id
        new_id = self._new_id()
        await transaction.run(
            "conversations.insert", {"id": new_id, "began_at": said_at, "source": self._source, "title": title}
        )
        return new_id

    def _turn_of_line(self, entry: _KeyedLine, conversation_id: str, position: int) -> Turn:
        line, origin = entry.line, self._origin(entry.line)
        if origin.is_tainted or entry.is_after_untrusted:
            self._untrusted_conversations.add(conversation_id)
        after_others = origin is Origin.SELF and conversation_id in self._untrusted_conversations
        return Turn(
            id=self._new_id(),
            conversation_id=conversation_id,
            experience_id=None,
            position=position,
            origin=origin,
            speaker=line.speaker,
            text=line.text,
            said_at=line.said_at,
            tainted=inherits_taint(Gate.TALK, origin.is_tainted, after_others),
        )

    def _content_key(self, line: PastTurn, seen: Counter[bytes]) -> bytes:
        """Return the key of the line's content; `seen` counts equal lines of the batch."""
        content = _hash_parts(repr(line.said_at), line.speaker, line.text)
        occurrence = self._seen[content] + seen[content]
        seen[content] += 1
        return _hash_parts(repr(line.said_at), line.speaker, line.text, str(occurrence))

    def _origin(self, line: PastTurn) -> Origin:
        """Return what was decided before, or recognize the owner and the mind by name. Everyone else's words count as a
        document that the owner provided."""
        if line.origin is not None:
            return line.origin
        match line.speaker.casefold():
            case name if name == self._names.owner.casefold():
                return Origin.OWNER
            case name if name == self._names.mind.casefold():
                return Origin.SELF
            case _:
                return Origin.DOCUMENT


async def adopt_imported_turns(store: MemoryStore, new_id: Callable[[], str]) -> int:
    """Create experiences for imported turns that have none yet; how many. Each experience is one speaker's run of lines
    and the next speaker's reply. The turns are read page by page, to bound memory use."""
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
            experience = build_experience(group, new_id())
            await transaction.run("experiences.insert", experience_row(experience, len(group)))
            adopted = [{"id": turn.id, "experience_id": experience.id} for turn in group]
            await transaction.run_many("turns.adopt", adopted)
        return ChangeSet()

    await store.commit(work)


async def _orphaned_exchanges(database: Database) -> AsyncIterator[list[Turn]]:
    """Yield the exchanges that belong to no experience yet, conversation by conversation, in order."""
    for row in await database.rows("turns.conversations_of_orphans"):
        pending, last = list[Turn](), -1
        while True:
            named = {"conversation_id": row["conversation_id"], "after": last, "most": _PAGE_TURNS}
            page = [turn_of(turn) for turn in await database.rows("turns.orphans_of", named)]
            groups = group_exchanges([*pending, *page])
            if len(page) < _PAGE_TURNS:
                for group in groups:
                    yield group
                break
            # The last exchange may continue on the next page.
            for group in groups[:-1]:
                yield group
            pending, last = groups[-1], page[-1].position


def group_exchanges(turns: Sequence[Turn]) -> list[list[Turn]]:
    """Group `turns`, in order, into exchanges: one speaker's run of lines and the next speaker's run after it."""
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
    return turn.speaker == last.speaker or len({member.speaker for member in group}) < 2


def build_experience(turns: Sequence[Turn], experience_id: str) -> Experience:
    """Build the experience of an exchange."""
    content = "\n\n".join(f"{turn.speaker}: {turn.text}" for turn in turns)
    text = "\n".join(turn.text for turn in turns)
    first = turns[0]
    origins = {turn.origin for turn in turns}
    return Experience(
        id=experience_id,
        kind=ExperienceKind.CONVERSATION,
        happened_at=first.said_at,
        content=content,
        salience=salience_of(text),
        valence=valence_of(text),
        origin=Origin.OWNER if Origin.OWNER in origins else first.origin,
        tainted=inherits_taint(Gate.EXCHANGE, *(turn.tainted for turn in turns)),
        conversation_id=first.conversation_id,
        topics=topics_of(text),
    )


def _clean_line(line: PastTurn) -> PastTurn:
    return replace(line, speaker=make_storable(line.speaker), text=make_storable(line.text))


def _hash_parts(*parts: str) -> bytes:
    """BLAKE2b-128 of the parts, each prefixed with its length."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        raw = part.encode("utf-8")
        digest.update(len(raw).to_bytes(8, "big"))
        digest.update(raw)
    return digest.digest()


async def _is_imported(transaction: Transaction, entry: _KeyedLine) -> bool:
    named = {"import_key": entry.key, "old_key": entry.old_key}
    return bool(await transaction.rows("turns.has_import_key", named))
