"""Recall of early facts: is what was said in the third turn of a long conversation in a small prompt later?

    PYTHONPATH=.:bench python bench/facts.py [--set N] [--answer --out FILE] [--same N] [--together] [--data DIR]

Each fact of bench/facts.jsonl is the third turn of a conversation of 200 turns, which is imported (as by `reveries
import`) into a new mind and asked about, in other words, in a new conversation. Counted: in how many prompts the turn
with the fact is. With --answer the default model answers, and answers that contain the fact are counted too; results go
to --out, one line for each question, and questions already there are skipped. --same asks the first N facts (spread
over the set) within a live conversation of 200 turns, whose beginning has been folded by then. --together imports all
conversations into one mind. --data takes the talk around a fact from LoCoMo-like data.

The turn is the daemon's own (`Conversation.say`), the tokens are counted by the model's own tokenizer.
"""

import argparse
import asyncio
import contextlib
import itertools
import json
import logging
import re
import tempfile
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import structlog
from locomo_import import eval_turns, lines_of
from recall import embedder_of
from small_talk import small_talk

from reveries.clock import SystemClock
from reveries.config import Settings, load_settings
from reveries.daemon.talk.conversation import Conversation
from reveries.daemon.talk.prompt_memories import PromptMemory
from reveries.daemon.talk.turn import TurnPipeline
from reveries.db.opening import open_database
from reveries.llm.assets import find_weights, resolve_auto_model
from reveries.llm.base import ChatMessage, Delta, Embedder, Finished, FinishReason, Prompt, Role, StreamEvent
from reveries.llm.embedded import EmbeddedModel, EmbeddedOptions
from reveries.memory.importing import PastTurn
from reveries.memory.memory import Memory, MemoryParts
from reveries.memory.model import Recall, Turn
from reveries.safety.breaker import Breaker
from reveries.safety.verdict import Verdict

_TURNS = 200
_OWNER, _MIND = "Robin", "Reverie"
_DAY_SECONDS = 86_400.0
_AGE_DAYS = 40.0
_TURN_SECONDS = 45.0
_COMPARED_CHARS = 120
_GREETINGS = (("Hello there!", "Good to hear from you. What is new?"), ("Hi, me again.", "Hello! How are you today?"))
_ACKNOWLEDGED = "Thank you for telling me."


class Fact(msgspec.Struct, frozen=True):
    """A fact that is stated once and asked for in other words; any of `answers` in the reply is right."""

    set: int
    kind: str
    planted: str
    question: str
    answers: list[str]


@dataclass(slots=True)
class Result:
    """The prompt of the model and its reply."""

    fact: Fact
    where: str
    is_in_context: bool
    is_answered: bool
    told_place: int
    """The line of what was recalled that tells the fact, from 1; 0 when none does."""
    reply: str
    seconds: float

    def line(self) -> str:
        return json.dumps(
            {
                "where": self.where,
                "question": self.fact.question,
                "answers": self.fact.answers,
                "in_context": self.is_in_context,
                "place": self.told_place,
                "answered": self.is_answered,
                "reply": self.reply,
                "seconds": round(self.seconds, 1),
            },
            ensure_ascii=False,
        )


class Speaker:
    """The ChatModel port: the real model's tokenizer always, its voice only while `speaks`."""

    def __init__(self, model: EmbeddedModel) -> None:
        self._model = model
        self.speaks = False
        self.scripted = _ACKNOWLEDGED
        self.prompt: Prompt | None = None

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def tells_probabilities(self) -> bool:
        return self._model.tells_probabilities

    @property
    def context_tokens(self) -> int:
        return self._model.context_tokens

    async def stream(self, prompt: Prompt) -> AsyncGenerator[StreamEvent, None]:
        self.prompt = prompt
        if not self.speaks:
            yield Delta(self.scripted)
            yield Finished(FinishReason.STOP, None)
            return
        async with contextlib.aclosing(self._model.stream(prompt)) as events:
            async for event in events:
                yield event

    async def count_tokens(self, text: str) -> int:
        return await self._model.count_tokens(text)

    async def read_ahead(self, messages: Sequence[ChatMessage], role: Role) -> None:
        """Nothing to gain here."""

    async def aclose(self) -> None:
        await self._model.aclose()


@dataclass(slots=True)
class Surrounding:
    """The rest of the mind: folded turns are slept on, as in the daemon."""

    memory: Memory
    thought: str = ""
    """What the mind was just thinking."""

    def conversation_began(self, *, is_private: bool) -> None: ...

    def turn_stored(self, turn: Turn) -> None: ...

    async def conversation_rested(self, conversation_id: str, goes_on_seconds: float) -> None: ...

    def is_recent_thought_tainted(self) -> bool:
        return False

    async def answer_status(self, words: str) -> None: ...

    async def answer_wish(self, words: str) -> None: ...

    async def propose_wish(self, words: str) -> None: ...

    async def project_notes(self, words: str, room_tokens: int) -> list[PromptMemory]:
        return []

    def recent_thought(self) -> str:
        return self.thought

    def turn_left_no_trace(self) -> None: ...

    async def turns_folded(self) -> None:
        await self.memory.light_sleep()

    async def reply_tripped(self, verdict: Verdict, so_far: str) -> None: ...


@dataclass(slots=True)
class Heard:
    """What a client of the turn is sent."""

    told: list[PromptMemory] = field(default_factory=list)

    def recalled(self, recall: Recall, memories: Sequence[PromptMemory]) -> None:
        self.told = list(memories)

    def help(self, text: str) -> None: ...

    def token(self, text: str) -> None: ...

    def stored(self, what: str, turn_id: str) -> None: ...


@contextlib.asynccontextmanager
async def mind(embedder: Embedder, settings: Settings) -> AsyncIterator[Memory]:
    """Open an empty memory in a temporary file."""
    with tempfile.TemporaryDirectory(prefix="rv-") as folder:
        database = await open_database(Path(folder) / "memory.db")
        count = itertools.count()
        memory = Memory(
            MemoryParts(
                database=database,
                embedder=embedder,
                clock=SystemClock(),
                memory=lambda: settings.memory,
                recall=lambda: settings.recall,
                owner_name=lambda: _OWNER,
                mind_name=_MIND,
                new_id=lambda: f"{next(count):08x}",
            )
        )
        await memory.hydrate()
        try:
            yield memory
        finally:
            await memory.close()
            await database.aclose()


def conversation_about(fact: Fact, number: int, talk: Sequence[tuple[str, str]]) -> list[PastTurn]:
    """Return 200 turns of `talk`, the third of which states the fact."""
    exchanges = [_GREETINGS[number % len(_GREETINGS)], (fact.planted, _ACKNOWLEDGED), *talk][: _TURNS // 2]
    began = time.time() - _AGE_DAYS * _DAY_SECONDS + number * 0.5 * _DAY_SECONDS
    lines = [line for pair in exchanges for line in zip((_OWNER, _MIND), pair, strict=True)]
    return [PastTurn(began + _TURN_SECONDS * at, speaker, text) for at, (speaker, text) in enumerate(lines)]


def talk_about(fact: Fact, number: int, chosen: argparse.Namespace) -> list[tuple[str, str]]:
    """What surrounds a fact: generated, or out of the data's conversations, in turn."""
    if chosen.data is None:
        return list(small_talk(number + 1000, _TURNS // 2 - 2, tuple(fact.answers)))
    names = list(dict.fromkeys(item["corpus"] for item in lines_of(chosen.data / "data/locomo/corpora.jsonl.gz")))
    turns = eval_turns(chosen.data, names[number % len(names)])
    texts = [turn.text for turn in turns if not _holds(turn.text, fact.answers)]
    return list(zip(texts[::2], texts[1::2], strict=False))


@dataclass(frozen=True, slots=True)
class Interview:
    """Asks a memory, through the conversation that the daemon has."""

    model: Speaker
    settings: Settings
    speaks: bool

    async def ask(self, memory: Memory, fact: Fact, where: str) -> Result:
        """A new conversation: a single question."""
        return await self._asked(await self._opened(memory), fact, where)

    async def ask_in_the_same(self, memory: Memory, fact: Fact, talk: list[PastTurn]) -> Result:
        """A live conversation of 200 turns, the fact in the third of them, then the question in it."""
        conversation = await self._opened(memory)
        self.model.speaks = False
        for said, replied in zip(talk[::2], talk[1::2], strict=True):
            self.model.scripted = replied.text
            await conversation.say(said.text, Heard())
        return await self._asked(conversation, fact, "same")

    async def _opened(self, memory: Memory) -> Conversation:
        turns = TurnPipeline(
            memory=memory,
            model=self.model,
            clock=SystemClock(),
            read_settings=lambda: self.settings,
            host=Surrounding(memory),
            new_watch=lambda: Breaker(self.settings.circuit_breaker, max_pace=None),
        )
        conversation = Conversation(turns)
        await conversation.open()
        return conversation

    async def _asked(self, conversation: Conversation, fact: Fact, where: str) -> Result:
        self.model.speaks, self.model.scripted = self.speaks, "I see."
        heard, began = Heard(), time.perf_counter()
        turn = await conversation.say(fact.question, heard)
        assert self.model.prompt is not None
        planted = fact.planted[:_COMPARED_CHARS]
        return Result(
            fact=fact,
            where=where,
            is_in_context=any(planted in message.text for message in self.model.prompt.messages),
            is_answered=self.speaks and _holds(turn.draft.text, fact.answers),
            told_place=next((at for at, told in enumerate(heard.told, 1) if planted in told.line), 0),
            reply=turn.draft.text,
            seconds=time.perf_counter() - began,
        )


def _holds(text: str, answers: Sequence[str]) -> bool:
    return any(re.search(rf"(?<!\w){re.escape(answer)}s?(?!\w)", text, re.IGNORECASE) for answer in answers)


async def measure(chosen: argparse.Namespace) -> None:
    """Ask everything that was not asked yet; print the counts."""
    settings = settings_for(is_new_each_time=chosen.together)
    facts = [fact for fact in load_facts() if fact.set == chosen.set][: chosen.limit or None]
    done = _asked_before(chosen.out)
    results: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="rv-") as folder:
        async with (
            contextlib.aclosing(embedder_of(chosen.model, chosen.cache)) as embedder,
            speaker_of(settings, Path(folder), chosen.context_tokens) as model,
        ):
            interview = Interview(model, settings, chosen.answer)
            talks = [conversation_about(fact, at, talk_about(fact, at, chosen)) for at, fact in enumerate(facts)]
            pairs = list(zip(facts, talks, strict=True))
            async for result in (
                _together(interview, pairs, done, embedder)
                if chosen.together
                else _one_by_one(interview, pairs, done, embedder, chosen.same, chosen.only_same)
            ):
                results.append(result)
                _note(result, chosen)
    _report(chosen, results)


def settings_for(*, is_new_each_time: bool) -> Settings:
    settings = load_settings(None)
    conversation = settings.conversation
    if is_new_each_time:
        conversation = msgspec.structs.replace(conversation, new_after_hours=0)
    owner = msgspec.structs.replace(settings.owner, name=_OWNER)
    return msgspec.structs.replace(settings, owner=owner, conversation=conversation)


async def _together(
    interview: Interview, pairs: list[tuple[Fact, list[PastTurn]]], done: set[tuple[str, str]], embedder: Embedder
) -> AsyncIterator[Result]:
    """All conversations in one mind."""
    async with mind(embedder, interview.settings) as memory:
        for at, (_, talk) in enumerate(pairs):
            await memory.begin_import(f"talk-{at}").add(talk)
        await memory.light_sleep()
        for fact, _ in pairs:
            if ("together", fact.question) not in done:
                yield await interview.ask(memory, fact, "together")


async def _one_by_one(
    interview: Interview,
    pairs: list[tuple[Fact, list[PastTurn]]],
    done: set[tuple[str, str]],
    embedder: Embedder,
    same: int,
    only_same: bool,
) -> AsyncIterator[Result]:
    """Test each conversation in a separate mind: imported and asked about, then some replayed and asked in."""
    for fact, talk in pairs:
        if ("new", fact.question) in done or only_same:
            continue
        async with mind(embedder, interview.settings) as memory:
            await memory.begin_import("talk").add(talk)
            await memory.light_sleep()
            yield await interview.ask(memory, fact, "new")
    for fact, talk in pairs[:: max(1, len(pairs) // same)][:same] if same else ():
        if ("same", fact.question) in done:
            continue
        async with mind(embedder, interview.settings) as memory:
            yield await interview.ask_in_the_same(memory, fact, talk)


def _note(result: Result, chosen: argparse.Namespace) -> None:
    """At once, so that an end in the middle loses nothing."""
    if not result.is_in_context or (chosen.answer and not result.is_answered):
        print(f"missed: {result.line()}", flush=True)
    if chosen.out and (result.reply or not chosen.answer):  # a call that failed is made again by the next run
        with chosen.out.open("a", encoding="utf-8") as out:
            out.write(result.line() + "\n")


@contextlib.asynccontextmanager
async def speaker_of(settings: Settings, folder: Path, context_tokens: int) -> AsyncIterator[Speaker]:
    name = resolve_auto_model(settings.llm).embedded.model
    weights = find_weights(name)
    embedded = msgspec.structs.replace(settings.llm.embedded, context_tokens=context_tokens)
    options = EmbeddedOptions(name, lambda: weights, folder / "m.sock", embedded, settings.llm.limits)
    async with contextlib.aclosing(EmbeddedModel(options, SystemClock())) as model:
        yield Speaker(model)


def load_facts() -> list[Fact]:
    """All facts of both sets."""
    lines = Path(__file__).with_name("facts.jsonl").read_text(encoding="utf-8").splitlines()
    return [msgspec.json.decode(line, type=Fact) for line in lines]


def _asked_before(out: Path | None) -> set[tuple[str, str]]:
    if out is None or not out.exists():
        return set()
    lines = map(json.loads, out.read_text(encoding="utf-8").splitlines())
    return {(line["where"], line["question"]) for line in lines}


def _report(chosen: argparse.Namespace, results: Sequence[Result]) -> None:
    if chosen.out:
        lines = [json.loads(line) for line in chosen.out.read_text(encoding="utf-8").splitlines()]
    else:
        lines = [json.loads(result.line()) for result in results]
    for where in dict.fromkeys(line["where"] for line in lines):
        mine = [line for line in lines if line["where"] == where]
        known = sum(line["in_context"] for line in mine)
        first = sum(line["place"] == 1 for line in mine)
        print(f"{where}: {known} of {len(mine)} in the context, {first} of them as the first line that was recalled")
        if chosen.answer:
            print(f"{where}: {sum(line['answered'] for line in mine)} of {len(mine)} answers hold the fact")


def main() -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", type=int, default=1)
    parser.add_argument("--limit", type=int, default=0, help="only so many facts; 0: all")
    parser.add_argument("--answer", action="store_true", help="let the model answer")
    parser.add_argument("--out", type=Path, help="a line a question, appended")
    parser.add_argument("--same", type=int, default=0, help="so many questions within one long conversation")
    parser.add_argument("--only-same", action="store_true")
    parser.add_argument("--together", action="store_true", help="all conversations in one mind")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--context-tokens", type=int, default=4096)
    parser.add_argument("--model", type=Path, help="folder of the embedder's model.onnx and tokenizer.json")
    parser.add_argument("--cache", type=Path, help="folder that keeps vectors between runs")
    asyncio.run(measure(parser.parse_args()))


if __name__ == "__main__":
    main()
