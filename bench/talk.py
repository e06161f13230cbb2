"""Conversation with Reveries compared with the same model in a plain chat: some days of an owner's messages.

    PYTHONPATH=.:bench python bench/talk.py [--scripts FILE ...] [--arms ours plain] [--seeds N] [--at-once N]
        [--threads N] [--context-tokens N] [--out FILE]

Each script of bench/talk_scripts/ is one owner: any number of days, each turn of one kind (a statement, a question
about this conversation or an earlier day, a plan, common knowledge, a small task, something never said, a feeling) and
judged by patterns that the reply must and must not contain. The arms, with the same model, temperature and context:

* ours: the daemon's own turn (`Conversation.say`) over a real memory; each day is a new conversation, with light sleep;
* plain: a one-line system prompt and the history of all days. When the context is full, the older half is dropped.

--at-once N talks with N owners in parallel in N slots of one server: faster overall, but not a measure of speed. With
1, the default, seconds per turn are those that a person experiences. The first turn of a day comes after a wake, when
the prompt has been read ahead; how long that took is told, too.
"""

import argparse
import asyncio
import contextlib
import itertools
import json
import logging
import math
import re
import statistics
import tempfile
import time
import tomllib
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, Protocol

import httpx
import msgspec
import structlog
from facts import Heard, Surrounding
from recall import embedder_of

from reveries.clock import SystemClock
from reveries.config import Settings, load_settings
from reveries.daemon.talk.chat_history import MARK_TOKENS
from reveries.daemon.talk.conversation import Conversation
from reveries.daemon.talk.turn import TurnPipeline
from reveries.db.opening import open_database
from reveries.llm.assets import find_weights
from reveries.llm.base import ChatMessage, Delta, Embedder, Finished, FinishReason, Prompt, Role, StreamEvent
from reveries.llm.embedded import REUSED_TOKENS, TOLD_PROBABILITIES, data_lines
from reveries.llm.model_process import ModelProcess, start_model_process
from reveries.llm.template_marks import wire_messages
from reveries.memory.memory import Memory, MemoryParts
from reveries.safety.breaker import Breaker

Kind = Literal["tell", "here", "past", "plan", "world", "task", "unknown", "feel"]
KINDS: Final = ("tell", "here", "past", "plan", "world", "task", "unknown", "feel")
ARMS: Final = ("ours", "plain")
PLAIN_SYSTEM: Final = (
    "You are Reverie, a warm and attentive companion who lives on this person's computer. "
    "Be helpful, concrete and brief."
)
_CONTEXT_TOKENS: Final = 8192
REPLY_TOKENS: Final = 512
TEMPERATURE: Final = 0.3
_DAY_SECONDS: Final = 86_400.0
_BATCH_TOKENS: Final = 128


class ScriptTurn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The owner's words, and what a good reply must and must not contain (regular expressions, case ignored)."""

    kind: Kind
    say: str
    must: list[str] = []
    must_not: list[str] = []

    def accepts(self, reply: str) -> bool:
        """Whether `reply` would do."""
        return all(_matches(pattern, reply) for pattern in self.must) and not any(
            _matches(pattern, reply) for pattern in self.must_not
        )


class ScriptDay(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    turn: list[ScriptTurn]


class Script(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One owner's talk."""

    owner: str
    language: str
    about: str
    day: list[ScriptDay]


class JudgedTurn(msgspec.Struct, frozen=True):
    """One reply with its judgement: a line of --out."""

    script: str
    arm: str
    seed: int
    day: int
    kind: Kind
    say: str
    reply: str
    is_right: bool
    first_token_seconds: float
    seconds: float
    recalled: list[str] = []
    is_first: bool = False
    """Whether it is the first turn after a wake."""
    read_ahead_seconds: float = 0.0
    """On a first turn: how long the prompt was read ahead before it."""


def load_script(path: Path) -> Script:
    """A script from its TOML file. Raises msgspec.ValidationError."""
    return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), Script)


def _matches(pattern: str, reply: str) -> bool:
    return re.search(pattern, reply, re.IGNORECASE) is not None


class SlotModel:
    """The ChatModel port on one slot of a running server, with a seed."""

    def __init__(
        self, process: ModelProcess, slot: int, aside_slot: int, seed: int, context_tokens: int, reused_tokens: int
    ) -> None:
        self._process = process
        self._slot = slot
        self._aside_slot = aside_slot
        self._reused_tokens = reused_tokens
        self._seed = seed
        self.context_tokens = context_tokens
        self.tells_probabilities = True
        self._counts: dict[str, int] = {}
        self.first_token_seconds = 0.0

    @property
    def name(self) -> str:
        return "embedded/bench"

    async def stream(self, prompt: Prompt) -> AsyncGenerator[StreamEvent, None]:
        began, self.first_token_seconds = time.perf_counter(), 0.0
        request = {
            "messages": wire_messages(prompt.messages),
            "id_slot": self._aside_slot if prompt.is_aside else self._slot,
            "cache_prompt": True,
            "n_cache_reuse": self._reused_tokens,
            "max_tokens": prompt.max_tokens,
            "temperature": prompt.temperature,
            "seed": self._seed,
            "stream": True,
            "stop": list(prompt.stop),
        }
        if prompt.is_aside:
            request |= {"logprobs": True, "top_logprobs": TOLD_PROBABILITIES}
        first_token: dict[str, float] | None = None
        reason = FinishReason.STOP
        async with self._process.client.stream("POST", "/v1/chat/completions", json=request) as response:
            if response.status_code != httpx.codes.OK:
                raise RuntimeError((await response.aread()).decode())
            async with contextlib.aclosing(data_lines(response.aiter_bytes())) as lines:
                async for line in lines:
                    for choice in json.loads(line).get("choices", ()):
                        if text := (choice.get("delta") or {}).get("content"):
                            self.first_token_seconds = self.first_token_seconds or time.perf_counter() - began
                            yield Delta(text)
                        if first_token is None and (told := (choice.get("logprobs") or {}).get("content")):
                            tokens = told[0]["top_logprobs"]
                            first_token = {one["token"].strip(): math.exp(one["logprob"]) for one in tokens}
                        if choice.get("finish_reason") == "length":
                            reason = FinishReason.LENGTH
        yield Finished(reason, None, first_token=first_token)

    async def count_tokens(self, text: str) -> int:
        if text not in self._counts:
            response = await self._process.client.post("/tokenize", json={"content": text})
            self._counts[text] = len(response.json()["tokens"])
        return self._counts[text]

    async def read_ahead(self, messages: Sequence[ChatMessage], role: Role) -> None:
        """Read a prompt's beginning into the slot."""
        prompt = Prompt(role, tuple(messages), 0)
        async with contextlib.aclosing(self.stream(prompt)) as events:
            async for _ in events:
                pass

    async def aclose(self) -> None:
        """The server is not its own."""


class Arm(Protocol):
    """One side of the comparison."""

    recalled: list[str]

    async def begin_day(self) -> None: ...

    async def reply(self, words: str) -> str: ...


@dataclass(slots=True)
class PlainArm:
    """A plain chat. It forgets the older half of the exchanges in its context when that is full."""

    model: SlotModel
    exchanges: list[tuple[str, str]] = field(default_factory=list)
    recalled: list[str] = field(default_factory=list)

    async def begin_day(self) -> None:
        """Days make no difference to it."""

    async def reply(self, words: str) -> str:
        while await self._count(words) > self.model.context_tokens - REPLY_TOKENS and self.exchanges:
            del self.exchanges[: (len(self.exchanges) + 1) // 2]
        prompt = Prompt(Role.CONVERSATION, self._messages(words), REPLY_TOKENS, TEMPERATURE)
        text = ""
        async with contextlib.aclosing(self.model.stream(prompt)) as events:
            async for event in events:
                text += event.text if isinstance(event, Delta) else ""
        self.exchanges.append((words, text.strip()))
        return text.strip()

    async def _count(self, words: str) -> int:
        return sum([await self.model.count_tokens(message.text) + MARK_TOKENS for message in self._messages(words)])

    def _messages(self, words: str) -> tuple[ChatMessage, ...]:
        messages = [ChatMessage("system", PLAIN_SYSTEM)]
        for said, replied in self.exchanges:
            messages += (ChatMessage("user", said), ChatMessage("assistant", replied))
        return (*messages, ChatMessage("user", words))


class CalendarClock(SystemClock):
    """The machine's clock, some days further."""

    def __init__(self) -> None:
        self.days = 0

    def now(self) -> float:
        return super().now() + self.days * _DAY_SECONDS

    def monotonic(self) -> float:
        return super().monotonic() + self.days * _DAY_SECONDS


@dataclass(slots=True)
class OursArm:
    """The daemon's own turn over a real memory."""

    model: SlotModel
    memory: Memory
    clock: CalendarClock
    settings: Settings
    conversation: Conversation | None = None
    surrounding: Surrounding = field(init=False)
    recalled: list[str] = field(default_factory=list)
    """What the last reply was told from memory."""

    def __post_init__(self) -> None:
        self.surrounding = Surrounding(self.memory)

    async def begin_day(self) -> None:
        """The day before is slept on lightly; the mind ends, a night passes, and it wakes and reads ahead."""
        if self.conversation is not None:
            await self.memory.conversations.mark_conversation_idle(self.conversation.conversation_id)
            await self.memory.light_sleep()
            self.clock.days += 1
        turns = TurnPipeline(
            memory=self.memory,
            model=self.model,
            clock=self.clock,
            read_settings=lambda: self.settings,
            host=self.surrounding,
            new_watch=lambda: Breaker(self.settings.circuit_breaker, max_pace=None),
        )
        self.conversation = Conversation(turns)
        await self.conversation.open()
        await self.model.read_ahead(self.conversation.turns.prompt_beginning(), Role.CONVERSATION)

    async def reply(self, words: str) -> str:
        assert self.conversation is not None
        heard = Heard()
        turn = await self.conversation.say(words, heard)
        self.recalled = [item.line for item in heard.told]
        return turn.draft.text


@contextlib.asynccontextmanager
async def ours(model: SlotModel, embedder: Embedder, owner: str) -> AsyncIterator[OursArm]:
    """Open a separate mind in a separate folder."""
    settings = _settings_of(owner)
    clock, count = CalendarClock(), itertools.count()
    with tempfile.TemporaryDirectory(prefix="rv-") as folder:
        database = await open_database(Path(folder) / "memory.db")
        parts = MemoryParts(
            database=database,
            embedder=embedder,
            clock=clock,
            memory=lambda: settings.memory,
            recall=lambda: settings.recall,
            owner_name=lambda: settings.owner.name,
            mind_name=settings.mind.name,
            new_id=lambda: f"{next(count):08x}",
        )
        memory = Memory(parts)
        await memory.hydrate()
        try:
            yield OursArm(model, memory, clock, settings)
        finally:
            await memory.close()
            await database.aclose()


def _settings_of(owner: str) -> Settings:
    settings = load_settings(None)
    return msgspec.structs.replace(settings, owner=msgspec.structs.replace(settings.owner, name=owner))


async def talk_through(
    name: str, script: Script, arm_name: str, arm: Arm, model: SlotModel, seed: int
) -> list[JudgedTurn]:
    """The whole script with one arm."""
    lines: list[JudgedTurn] = []
    for number, day in enumerate(script.day, 1):
        began = time.perf_counter()
        await arm.begin_day()
        read_ahead = time.perf_counter() - began
        for turn in day.turn:
            began = time.perf_counter()
            reply = await arm.reply(turn.say)
            lines.append(
                JudgedTurn(
                    script=name,
                    arm=arm_name,
                    seed=seed,
                    day=number,
                    kind=turn.kind,
                    say=turn.say,
                    reply=reply,
                    is_right=turn.accepts(reply),
                    first_token_seconds=round(model.first_token_seconds, 2),
                    seconds=round(time.perf_counter() - began, 2),
                    recalled=list(arm.recalled),
                    is_first=turn is day.turn[0],
                    read_ahead_seconds=round(read_ahead, 2) if turn is day.turn[0] else 0.0,
                )
            )
    return lines


@dataclass(slots=True)
class Bench:
    """What one run measures with."""

    process: ModelProcess
    embedder: Embedder
    slots: asyncio.Queue[int]
    context_tokens: int
    out: Path | None
    lines: list[JudgedTurn] = field(default_factory=list)

    async def run(self, path: Path, arm_name: str, seed: int) -> None:
        """One owner with one arm."""
        script, slot = load_script(path), await self.slots.get()
        reused_tokens = REUSED_TOKENS if arm_name == "ours" else 0
        aside = slot + self.slots.maxsize
        model = SlotModel(self.process, slot, aside, seed, self.context_tokens, reused_tokens)
        try:
            if arm_name == "ours":
                async with ours(model, self.embedder, script.owner) as arm:
                    lines = await talk_through(path.stem, script, arm_name, arm, model, seed)
            else:
                lines = await talk_through(path.stem, script, arm_name, PlainArm(model), model, seed)
        finally:
            self.slots.put_nowait(slot)
        self.lines += lines
        print(f"{path.stem} {arm_name} seed {seed}: {sum(one.is_right for one in lines)} of {len(lines)}", flush=True)
        if self.out is not None:
            with self.out.open("a", encoding="utf-8") as out:
                out.writelines(msgspec.json.encode(one).decode() + "\n" for one in lines)


def table(lines: Sequence[JudgedTurn]) -> str:
    """Right replies of all, by kind and arm, with seconds."""
    arms = [arm for arm in ARMS if any(one.arm == arm for one in lines)]
    rows = [["kind", *arms]]
    for kind in (*KINDS, "all"):
        row = [kind]
        for arm in arms:
            own = [one for one in lines if one.arm == arm and kind in (one.kind, "all")]
            row.append(f"{sum(one.is_right for one in own)} of {len(own)}")
        rows.append(row)
    measures: list[tuple[str, Callable[[JudgedTurn], float | None]]] = [
        ("first token, median s", lambda one: one.first_token_seconds),
        ("whole turn, median s", lambda one: one.seconds),
        ("first turn after a wake, median s", lambda one: one.seconds if one.is_first else None),
        ("read ahead at a wake, median s", lambda one: one.read_ahead_seconds if one.is_first else None),
    ]
    for label, measure in measures:
        row = [label]
        for arm in arms:
            values = [value for one in lines if one.arm == arm if (value := measure(one)) is not None]
            row.append(f"{statistics.median(values):.1f}")
        rows.append(row)
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def wrong(lines: Sequence[JudgedTurn], arm: str) -> str:
    """Each wrong reply of one arm, to read."""
    by_script: dict[str, list[str]] = defaultdict(list)
    for one in lines:
        if one.arm == arm and not one.is_right:
            by_script[one.script].append(f"  day {one.day} {one.kind}: {one.say}\n    -> {one.reply}")
    return "\n".join(f"{script}\n" + "\n".join(found) for script, found in by_script.items())


async def measure(chosen: argparse.Namespace) -> None:
    """Talk it all through; print the table."""
    weights = find_weights(load_settings(None).llm.embedded.model)
    with tempfile.TemporaryDirectory(prefix="rv-") as folder:
        process = await start_model_process(
            weights,
            Path(folder) / "m.sock",
            context_tokens=chosen.context_tokens,
            slots=2 * chosen.at_once,
            threads=chosen.threads,
            batch_tokens=_BATCH_TOKENS,
            niceness=10,
            wire_bytes=2**24,
        )
        async with (
            contextlib.aclosing(process),
            contextlib.aclosing(embedder_of(chosen.model, chosen.cache)) as embedder,
        ):
            slots: asyncio.Queue[int] = asyncio.Queue(chosen.at_once)
            for slot in range(chosen.at_once):
                slots.put_nowait(slot)
            bench = Bench(process, embedder, slots, chosen.context_tokens, chosen.out)
            async with asyncio.TaskGroup() as tasks:
                for seed, path, arm in itertools.product(range(1, chosen.seeds + 1), chosen.scripts, chosen.arms):
                    tasks.create_task(bench.run(path, arm, seed), name=f"{path.stem}-{arm}-{seed}")
    print(table(bench.lines))
    if chosen.show_wrong:
        print(wrong(bench.lines, chosen.show_wrong))


def main() -> None:
    """Measure and print."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    scripts = sorted(Path(__file__).with_name("talk_scripts").glob("*.toml"))
    parser.add_argument("--scripts", type=Path, nargs="+", default=scripts)
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--at-once", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--context-tokens", type=int, default=_CONTEXT_TOKENS)
    parser.add_argument("--out", type=Path, help="a line a turn, appended")
    parser.add_argument("--show-wrong", choices=ARMS, help="print the wrong replies of this arm")
    parser.add_argument("--model", type=Path, help="folder of the embedder's model.onnx and tokenizer.json")
    parser.add_argument("--cache", type=Path, help="folder that keeps vectors between runs")
    asyncio.run(measure(parser.parse_args()))


if __name__ == "__main__":
    main()
