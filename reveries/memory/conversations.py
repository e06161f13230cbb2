"""The conversation log. The owner's words are stored before the model is called (R-9); a reply and its experience are
stored in one transaction. A crash in between loses nothing: unanswered turns become experiences at the next wake."""

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from reveries.clock import Clock
from reveries.db.checksums import checksum
from reveries.db.database import Database, Row, Transaction
from reveries.errors import DiskFullError
from reveries.gates import Gate, inherits_taint
from reveries.memory.changes import ChangeSet
from reveries.memory.echoes import find_echoes
from reveries.memory.gaps import Gaps, assess_ending
from reveries.memory.model import TALK, Episode, Experience, ExperienceKind, Gap, Origin, Recall, ThoughtText, Turn
from reveries.memory.rows import experience_row, make_storable, turn_of, turn_row
from reveries.memory.store import MemoryStore
from reveries.memory.text.appraisal import salience_of, topics_of, valence_of

CHAT = "chat"
MAIN_CHANNEL = "chat"
"""The channel of the plain chat. Each channel has its own current conversation."""
_LEAVING_TURNS = 4


@dataclass(frozen=True, slots=True)
class OpenConversation:
    """State of a conversation with the owner."""

    id: str
    began_at: float
    last_said_at: float
    turn_count: int
    rested_at: float | None = None
    folded_summary: str = ""
    folded_until: int = 0
    """Turns before this position are replaced by the summary in the prompt."""


@dataclass(frozen=True, slots=True)
class RecordedExchange:
    """The stored result of one turn of the owner. `reply` is None when there was none."""

    reply: Turn | None
    experience: Experience


AlsoStored = Callable[[Transaction, RecordedExchange], Awaitable[None]]
"""What another part stores with an exchange: called within its transaction, after its own rows."""


@dataclass(frozen=True, slots=True)
class Thought(ThoughtText):
    """A thought for the log, and as a raw experience."""

    recalled_ids: tuple[str, ...] = ()
    is_partial: bool = False
    is_kept: bool = True
    """Whether it becomes an experience. It is logged in any case."""
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    microdollars: int = 0
    """Cost of its model calls; this field and the three above."""


@dataclass(frozen=True, slots=True)
class SpeakerNames:
    """The speakers' names in the log."""

    owner: str
    mind: str


_EARLIER_CHATS = 4


class ConversationStore:
    """Stores turns, exchanges and thoughts; reads the scrollback."""

    def __init__(
        self, store: MemoryStore, gaps: Gaps, names: Callable[[], SpeakerNames], clock: Clock, new_id: Callable[[], str]
    ) -> None:
        self._store = store
        self._gaps = gaps
        self._clock = clock
        self._names = names
        self._new_id = new_id

    @property
    def _database(self) -> Database:
        return self._store.database

    async def open_conversation(self, new_after_seconds: float, channel: str = MAIN_CHANNEL) -> OpenConversation:
        """Continue the last conversation of `channel`, or begin a new one after so many seconds without a word.

        On a full disk the last one is continued in any case. Raises DiskFullError if there is none.
        """
        now = self._clock.now()
        rows = await self._database.rows("conversations.latest_of_channel", {"channel": channel})
        if new_after_seconds and rows and now - rows[0]["last_said_at"] < new_after_seconds:
            return await self._conversation(rows[0])
        new = {"id": self._new_id(), "began_at": now, "channel": channel}

        async def work(transaction: Transaction) -> ChangeSet:
            await transaction.run("conversations.begin", new)
            return ChangeSet()

        try:
            await self._store.commit(work)
        except DiskFullError:
            if not (new_after_seconds and rows):
                raise
            return await self._conversation(rows[0])
        return OpenConversation(str(new["id"]), now, now, turn_count=0)

    async def begin_conversation(self, channel: str = MAIN_CHANNEL) -> OpenConversation:
        """Begin a new conversation in `channel`, however recent the last one is. An empty last one is reused."""
        rows = await self._database.rows("conversations.latest_of_channel", {"channel": channel})
        if rows and (latest := await self._conversation(rows[0])).turn_count == 0:
            return latest
        return await self.open_conversation(0.0, channel)

    async def load_conversation(self, conversation_id: str) -> OpenConversation:
        """Load a conversation by id. It becomes the last one of its channel with its next turn."""
        return await self._conversation((await self._database.rows("conversations.get", {"id": conversation_id}))[0])

    async def append_owner_turn(self, conversation_id: str, text: str) -> Turn:
        """Store one turn of the owner; committed when this returns. Ends the open gap (R-76)."""
        now = self._clock.now()
        turn = Turn(
            self._new_id(), conversation_id, None, 0, Origin.OWNER, self._names().owner, make_storable(text), now
        )

        async def work(transaction: Transaction) -> ChangeSet:
            nonlocal turn
            turn = replace(turn, position=await _next_position(transaction, conversation_id))
            await transaction.run("turns.insert", turn_row(turn))
            await transaction.run("conversations.spoken", {"id": conversation_id, "said_at": now})
            await self._gaps.end_gap(transaction, now)
            return ChangeSet()

        await self._store.commit(work, then=lambda: self._gaps.set_open_gap(None))
        return turn

    async def record_exchange(
        self,
        owner_turn: Turn,
        reply_text: str,
        *,
        recall: Recall | None = None,
        end_reason: str = "",
        is_stopped: bool = False,
        shown: Sequence[str] = (),
        is_tainted: bool = False,
        also: AlsoStored | None = None,
    ) -> RecordedExchange:
        """Store a reply, the exchange as an experience (R-89) and the reinforcement of `recall` (R-125), in one
        transaction.

        `end_reason` says why a reply is partial; empty for a complete one. A reply that the breaker stopped
        (`is_stopped`) stays in the log, and is neither learned nor recalled. An empty reply is not stored as a turn,
        but the owner's words still become an experience (R-93). `shown` are the texts in the prompt besides the
        history: what the reply repeats is not learned again. `is_tainted`: the prompt had untrusted text besides
        the recalled memories. Where `also` fails, nothing of the exchange is stored.
        """
        now = self._clock.now()
        by = (*(recall.tainted_ids if recall is not None else ()), *((TALK,) if is_tainted else ()))
        is_tainted = is_tainted or inherits_taint(Gate.RECALL, recall is not None and recall.is_tainted)
        reply, text = None, make_storable(reply_text)
        if reply_text.strip():
            reply = Turn(
                id=self._new_id(),
                conversation_id=owner_turn.conversation_id,
                experience_id=None,
                position=0,
                origin=Origin.SELF,
                speaker=self._names().mind,
                text=text,
                said_at=now,
                is_partial=bool(end_reason),
                tainted=is_tainted,
                echoes=((0, len(text)),)
                if is_stopped
                else find_echoes(text, [owner_turn.text, *shown, *_recalled_texts(recall)]),
            )
        experience = self._exchange([owner_turn, *([reply] if reply else [])], end_reason)
        experience = replace(experience, tainted_by=by if experience.tainted else ())

        async def work(transaction: Transaction) -> ChangeSet:
            nonlocal reply
            await transaction.run("experiences.insert", experience_row(experience, 2 if reply else 1))
            await transaction.run("turns.adopt", {"id": owner_turn.id, "experience_id": experience.id})
            if reply is not None:
                position = await _next_position(transaction, reply.conversation_id)
                reply = replace(reply, experience_id=experience.id, position=position)
                await transaction.run("turns.insert", turn_row(reply))
            await transaction.run("conversations.spoken", {"id": owner_turn.conversation_id, "said_at": now})
            if also is not None:
                await also(transaction, RecordedExchange(reply, experience))
            return self._store.live.reinforcements([recall], now) if recall else ChangeSet()

        await self._store.commit(work)
        return RecordedExchange(reply, experience)

    async def adopt_unanswered_turns(self) -> int:
        """Create experiences for turns that a crash left unanswered; how many. Call only while no turn is running."""
        rows = await self._database.rows("turns.unanswered")
        experiences = [(turn_of(row), self._exchange([turn_of(row)], "unanswered")) for row in rows]

        async def work(transaction: Transaction) -> ChangeSet:
            for turn, experience in experiences:
                await transaction.run("experiences.insert", experience_row(experience, 1))
                await transaction.run("turns.adopt", {"id": turn.id, "experience_id": experience.id})
            return ChangeSet()

        if experiences:
            await self._store.commit(work)
        return len(experiences)

    async def mark_conversation_idle(self, conversation_id: str) -> Gap:
        """Mark the conversation as idle and open its gap (R-76, R-95)."""
        now = self._clock.now()
        opened: list[Gap] = []

        async def work(transaction: Transaction) -> ChangeSet:
            await transaction.run("conversations.rest", {"id": conversation_id, "rested_at": now})
            named = {"conversation_id": conversation_id, "limit": _LEAVING_TURNS}
            last = [turn_of(row) for row in await transaction.rows("turns.recent", named)]
            opened.append(await self._gaps.start_gap(transaction, conversation_id, now, assess_ending(last)))
            return ChangeSet()

        await self._store.commit(work, then=lambda: self._gaps.set_open_gap(opened[0]))
        return opened[0]

    async def recent_turns(self, conversation_id: str, limit: int) -> list[Turn]:
        """Load the last `limit` turns of a conversation, oldest first."""
        named = {"conversation_id": conversation_id, "limit": limit}
        return [turn_of(row) for row in await self._database.rows("turns.recent", named)]

    async def recent_prompt_turns(self, conversation_id: str, limit: int) -> list[Turn]:
        """Load the last `limit` turns that may go into a prompt (not archived by the owner), oldest first, with the
        texts that they have there."""
        named = {"conversation_id": conversation_id, "limit": limit}
        turns = map(turn_of, await self._database.rows("turns.recent_for_prompt", named))
        return [replace(turn, text=turn.prompt_text) for turn in turns]

    async def earlier_turns(self, conversation_id: str, limit: int) -> list[Turn]:
        """Load the last `limit` prompt turns of the few chats before this one, oldest first."""
        named = {"conversation_id": conversation_id, "chats": _EARLIER_CHATS}
        turns: list[Turn] = []
        for row in await self._database.rows("conversations.chats_before", named):
            turns = [*await self.recent_prompt_turns(str(row["id"]), limit - len(turns)), *turns]
            if len(turns) >= limit:
                break
        return turns

    async def fold(self, conversation_id: str, summary: str, until: int) -> None:
        """Replace the turns before position `until` by `summary` in the prompt. They stay stored and recallable."""

        async def work(transaction: Transaction) -> ChangeSet:
            named = {"id": conversation_id, "summary": make_storable(summary), "until": until}
            await transaction.run("conversations.fold", named)
            return ChangeSet()

        await self._store.commit(work)

    async def record_thought(self, thought: Thought) -> Experience | None:
        """Log a cycle of the monologue and store it as a raw experience (R-41, R-43).

        Returns None if there is no experience: for a thought with `is_kept` False, and for a blank one (R-44), which is
        logged only if model calls were spent on it.
        """
        text = make_storable(thought.text)
        if not text.strip():
            if thought.calls:
                await self._log_thought(thought, "", None)
            return None
        if not thought.is_kept:
            await self._log_thought(thought, text, None)
            return None
        experience = self._experience(ExperienceKind.MONOLOGUE, text, thought.began_at, Origin.SELF, thought.is_tainted)
        experience = replace(
            experience,
            is_partial=thought.is_partial,
            end_reason=thought.why_ended,
            tainted_by=self._tainted_by(thought),
            echoes=find_echoes(text, [*thought.shown, *self._texts_of(thought.recalled_ids)]),
        )
        await self._log_thought(thought, text, experience)
        return experience

    async def _log_thought(self, thought: Thought, text: str, experience: Experience | None) -> None:
        log = {
            "id": thought.id,
            "began_at": thought.began_at,
            "ended_at": thought.ended_at,
            "why_began": thought.why_began,
            "why_ended": thought.why_ended,
            "text": text,
            "tokens": thought.tokens,
            "recalled": json.dumps(thought.recalled_ids),
            "experience_id": experience.id if experience is not None else None,
            "model": thought.model,
            "checksum": checksum(text),
            "explanation": make_storable(thought.explanation),
            "occasion": make_storable(thought.occasion),
            "calls": thought.calls,
            "prompt_tokens": thought.prompt_tokens,
            "completion_tokens": thought.completion_tokens,
            "microdollars": thought.microdollars,
            "tainted": int(thought.is_tainted),
        }

        async def work(transaction: Transaction) -> ChangeSet:
            if experience is not None:
                await transaction.run("experiences.insert", experience_row(experience, 0))
            await transaction.run("experiences.log_thought", log)
            return ChangeSet()

        await self._store.commit(work)

    async def record_external(self, text: str, origin: Origin, happened_at: float | None = None) -> Experience | None:
        """Store an experience from outside the conversation (R-68, R-140), dated now unless `happened_at` is given.
        Returns None for a blank text."""
        put: list[Experience | None] = []

        async def work(transaction: Transaction) -> ChangeSet:
            put.append(await self.put_external(transaction, text, origin, happened_at))
            return ChangeSet()

        await self._store.commit(work)
        return put[-1]

    async def put_external(
        self,
        transaction: Transaction,
        text: str,
        origin: Origin,
        happened_at: float | None = None,
        *,
        is_tainted: bool = False,
    ) -> Experience | None:
        """As `record_external`, within a transaction that also stores something else. `is_tainted`: untrusted text
        influenced what the mind itself wrote."""
        text = make_storable(text)
        if not text.strip():
            return None
        at = self._clock.now() if happened_at is None else happened_at
        experience = self._experience(ExperienceKind.EXTERNAL, text, at, origin, is_tainted or origin.is_tainted)
        await transaction.run("experiences.insert", experience_row(experience, 0))
        return experience

    def _tainted_by(self, thought: Thought) -> tuple[str, ...]:
        """Return the ids of the tainted memories in a tainted thought's prompt, or TALK if there were none."""
        if not thought.is_tainted:
            return ()
        graph = self._store.live.graph
        return tuple(
            name for name in thought.recalled_ids if (episode := graph.get(name)) is not None and episode.tainted
        ) or (TALK,)

    def _texts_of(self, episode_ids: Sequence[str]) -> list[str]:
        """Return the summaries, quotes and turns of episodes."""
        live = self._store.live
        episodes = [episode for name in episode_ids if (episode := live.graph.get(name)) is not None]
        turn_texts = [turn.text for episode in episodes for turn in live.turns.turns_of(episode.id)]
        return [*(text for episode in episodes for text in _episode_texts(episode)), *turn_texts]

    async def _conversation(self, row: Row) -> OpenConversation:
        counted = await self._database.rows("turns.count_in", {"conversation_id": row["id"]})
        return OpenConversation(
            id=row["id"],
            began_at=row["began_at"],
            last_said_at=row["last_said_at"],
            turn_count=counted[0]["turns"],
            rested_at=row["rested_at"],
            folded_summary=row["folded_summary"],
            folded_until=row["folded_until"],
        )

    def _exchange(self, turns: Sequence[Turn], end_reason: str) -> Experience:
        """Build an experience in R-89's form. Salience and valence are estimated from the owner's words (R-69)."""
        labels = {Origin.SELF: "Me"}
        content = "\n\n".join(f"{labels.get(turn.origin, 'User')}: {turn.prompt_text}" for turn in turns)
        owner_words = "\n".join(turn.text for turn in turns if turn.origin is Origin.OWNER)
        experience = self._experience(
            ExperienceKind.CONVERSATION,
            content,
            turns[0].said_at,
            Origin.OWNER,
            inherits_taint(Gate.EXCHANGE, *(turn.tainted for turn in turns)),
        )
        return replace(
            experience,
            conversation_id=turns[0].conversation_id,
            salience=salience_of(owner_words),
            valence=valence_of(owner_words),
            topics=topics_of("\n".join(turn.prompt_text for turn in turns)),
            is_partial=bool(end_reason),
            end_reason=end_reason,
        )

    def _experience(
        self, kind: ExperienceKind, text: str, happened_at: float, origin: Origin, tainted: bool
    ) -> Experience:
        return Experience(
            id=self._new_id(),
            kind=kind,
            happened_at=happened_at,
            content=text,
            salience=salience_of(text),
            valence=valence_of(text),
            origin=origin,
            tainted=tainted,
            topics=topics_of(text),
        )


def _recalled_texts(recall: Recall | None) -> list[str]:
    if recall is None:
        return []
    texts = [ranked.turn.text for ranked in recall.turns]
    for recalled in recall.episodes:
        texts += [*_episode_texts(recalled.episode), *(ranked.turn.text for ranked in recalled.turns)]
    return texts


def _episode_texts(episode: Episode) -> list[str]:
    return [episode.summary, *(quoted.quote for quoted in episode.exemplars)]


async def _next_position(transaction: Transaction, conversation_id: str) -> int:
    rows = await transaction.rows("turns.next_position", {"conversation_id": conversation_id})
    return int(rows[0]["position"])
