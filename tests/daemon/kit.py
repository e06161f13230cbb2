"""A conversation over a real memory and a scripted model, with everything around it visible to a test."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from reveries.config import Settings, load_settings
from reveries.daemon.occupations.thought_sources import MemoryThoughtSources
from reveries.daemon.senses.calendar_watch import Calendar
from reveries.daemon.talk.code_replies import CodeReply
from reveries.daemon.talk.conversation import Conversation
from reveries.daemon.talk.crisis_help import CrisisDetector
from reveries.daemon.talk.prompt_memories import PromptMemory
from reveries.daemon.talk.turn import TurnPipeline
from reveries.llm.base import Embedder
from reveries.llm.tier import Tier
from reveries.memory.memory import Memory
from reveries.memory.model import Recall, Turn
from reveries.safety.breaker import Breaker
from reveries.safety.journal import SafetyJournal
from reveries.safety.verdict import Verdict
from tests.fakes.clock import HandClock
from tests.fakes.scripted import Script, ScriptedModel
from tests.memory.kit import open_memory

SETTINGS = load_settings(None)


@dataclass
class Around:
    """A fake of the rest of the mind for the conversation."""

    began: int = 0
    rested: list[str] = field(default_factory=list)
    goes_on_seconds: float = 0.0
    """Of the last rest: how long more words were expected."""
    folded: int = 0
    off_record: int = 0
    turns: list[Turn] = field(default_factory=list)
    trips: list[tuple[Verdict, str]] = field(default_factory=list)
    thought: str = ""
    known: list[PromptMemory] = field(default_factory=list)

    async def project_notes(self, words: str, room_tokens: int) -> list[PromptMemory]:
        return self.known

    async def answer_status(self, words: str) -> CodeReply | None:
        return None

    async def answer_wish(self, words: str) -> CodeReply | None:
        return None

    async def propose_wish(self, words: str) -> CodeReply | None:
        return None

    def conversation_began(self, *, is_private: bool) -> None:
        self.began += 1

    def turn_stored(self, turn: Turn) -> None:
        self.turns.append(turn)

    async def conversation_rested(self, conversation_id: str, goes_on_seconds: float) -> None:
        self.rested.append(conversation_id)
        self.goes_on_seconds = goes_on_seconds

    def is_recent_thought_tainted(self) -> bool:
        return False

    def recent_thought(self) -> str:
        return self.thought

    def turn_left_no_trace(self) -> None:
        self.off_record += 1

    async def turns_folded(self) -> None:
        self.folded += 1

    async def reply_tripped(self, verdict: Verdict, so_far: str) -> None:
        self.trips.append((verdict, so_far))


@dataclass
class Events:
    """The events that the client of a turn got, in order."""

    told: list[str] = field(default_factory=list)
    text: str = ""
    help_text: str = ""
    recall: Recall | None = None
    memories: Sequence[PromptMemory] = ()

    def recalled(self, recall: Recall, memories: Sequence[PromptMemory]) -> None:
        self.told.append("recalled")
        self.recall, self.memories = recall, memories

    def help(self, text: str) -> None:
        self.told.append("help")
        self.help_text = text

    def token(self, text: str) -> None:
        if not self.told or self.told[-1] != "tokens":
            self.told.append("tokens")
        self.text += text

    def stored(self, what: str, turn_id: str) -> None:
        self.told.append(f"stored {what}")


@dataclass
class Talk:
    conversation: Conversation
    memory: Memory
    model: ScriptedModel
    around: Around
    clock: HandClock

    async def say(self, words: str) -> Events:
        events = Events()
        await self.conversation.say(words, events)
        return events


def thoughts_of(talk: Talk) -> MemoryThoughtSources:
    """Rows of the memory of `talk`, read directly."""
    database = talk.memory.conversations._store.database
    return MemoryThoughtSources(
        memory=talk.memory,
        database=database,
        journal=SafetyJournal(database, talk.clock),
        clock=talk.clock,
        settings=lambda: SETTINGS,
        calendar=Calendar(lambda: SETTINGS.calendar, database, talk.clock),
        is_running_normally=lambda: False,
        chance=random.Random(1),
    )


def small(**llm: object) -> Settings:
    """The default settings with short replies, so that a small context fills quickly."""
    limits = msgspec.structs.replace(SETTINGS.llm.limits, reply_tokens=64)
    return msgspec.structs.replace(SETTINGS, llm=msgspec.structs.replace(SETTINGS.llm, limits=limits, **llm))


@asynccontextmanager
async def talking(
    folder: Path,
    *scripts: Script,
    settings: Settings = SETTINGS,
    context_tokens: int = 4096,
    embedder: Embedder | None = None,
    danger: CrisisDetector | None = None,
    tier: Tier = Tier.SMALL,
) -> AsyncIterator[Talk]:
    """Open a conversation; the model replies with `scripts`, then with "Indeed." to all else."""
    clock = HandClock()
    async with open_memory(folder, clock=clock, embedder=embedder) as memory:
        model = ScriptedModel(scripts, otherwise="Indeed.", clock=clock, context_tokens=context_tokens)
        around = Around()
        turns = TurnPipeline(
            memory=memory,
            model=model,
            clock=clock,
            read_settings=lambda: settings,
            host=around,
            new_watch=lambda: Breaker(settings.circuit_breaker, max_pace=None),
            tier=lambda: tier,
        )
        conversation = Conversation(turns, danger=danger)
        await conversation.open()
        yield Talk(conversation, memory, model, around, clock)


async def until(holds: Callable[[], bool]) -> None:
    """Let the database's own thread answer until it holds; the test's time limit bounds it."""
    while not holds():  # noqa: ASYNC110  # The other side is a thread: there is no event of ours to wait for.
        await asyncio.sleep(0.001)
