"""Conversation with Reveries compared with the same model in a plain chat: five days of an owner's messages.

    PYTHONPATH=.:bench python bench/talk.py [--scripts FILE ...] [--arms ours plain notes earlier thinking] [--seeds N]
        [--at-once N] [--threads N] [--out FILE]

Each script of bench/talk_scripts/ is one owner: 5 days of 10 turns, each turn of one kind (a statement, a question
about this conversation or an earlier day, a plan, common knowledge, a small task, something never said, a feeling) and
judged by patterns that the reply must and must not contain. The arms, all with the same model, temperature and context:

* ours: the daemon's own turn (`Conversation.say`) over a real memory; each day is a new conversation, with light sleep;
* thinking: the same, with a thought of the same model between any two turns;
* plain: a one-line system prompt and the whole history of all days;
* notes: one day at a time, with six lines of earlier days, chosen by shared words, before the question;
* earlier: the same six, with their replies, as earlier messages.

--at-once N talks with N owners in parallel in N slots of one server: faster overall, but not a measure of speed. With
1, the default, seconds per turn are those that a person experiences.
"""

import argparse
import asyncio
import contextlib
import itertools
import json
import logging
import re
import statistics
import tempfile
import time
import tomllib
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
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
from reveries.daemon.chat_context import local_time
from reveries.daemon.conversation import Conversation
from reveries.daemon.turn import TurnPipeline
from reveries.db.opening import open_database
from reveries.index.terms import terms_of
from reveries.llm.assets import find_weights
from reveries.llm.base import ChatMessage, Delta, Embedder, Finished, FinishReason, Prompt, Role, StreamEvent
from reveries.llm.embedded import data_lines
from reveries.llm.model_process import ModelProcess, start_model_process
from reveries.llm.structured import collect
from reveries.llm.template_marks import wire_messages
from reveries.memory.memory import Memory, MemoryParts
from reveries.memory.model import Origin
from reveries.monologue.context import thinking_messages
from reveries.monologue.thought import Reactivation, SaidLine, ThinkingReason, ThoughtInputs
from reveries.safety.breaker import Breaker

Kind = Literal["tell", "here", "past", "plan", "world", "task", "unknown", "feel"]
KINDS: Final = ("tell", "here", "past", "plan", "world", "task", "unknown", "feel")
ARMS: Final = ("ours", "plain", "notes", "earlier", "thinking")
_DEFAULT_ARMS: Final = ARMS[:4]
_THOUGHT_TURNS = 8
_THOUGHT_TOKENS = 80
_THOUGHT_TEMPERATURE = 0.7
PLAIN_SYSTEM: Final = "You are a friendly assistant."
_CONTEXT_TOKENS: Final = 8192
_REPLY_TOKENS: Final = 512
_TEMPERATURE: Final = 0.3
_PICKED: Final = 6
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


def load_script(path: Path) -> Script:
    """A script from its TOML file. Raises msgspec.ValidationError."""
    return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), Script)


def _matches(pattern: str, reply: str) -> bool:
    return re.search(pattern, reply, re.IGNORECASE) is not None


class SlotModel:
    """The ChatModel port on one slot of a running server, with a seed."""

    def __init__(self, process: ModelProcess, slot: int, seed: int) -> None:
        self._process = process
        self._slot = slot
        self._seed = seed
        self._counts: dict[str, int] = {}
        self.first_token_seconds = 0.0

    @property
    def name(self) -> str:
        return "embedded/bench"

    @property
    def context_tokens(self) -> int:
        return _CONTEXT_TOKENS

    async def stream(self, prompt: Prompt) -> AsyncGenerator[StreamEvent, None]:
        began, self.first_token_seconds = time.perf_counter(), 0.0
        request = {
            "messages": wire_messages(prompt.messages),
            "id_slot": self._slot,
            "cache_prompt": True,
            "max_tokens": prompt.max_tokens,
            "temperature": prompt.temperature,
            "seed": self._seed,
            "stream": True,
            "stop": list(prompt.stop),
        }
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
                        if choice.get("finish_reason") == "length":
                            reason = FinishReason.LENGTH
        yield Finished(reason, None)

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
    """A plain chat. `picks` earlier exchanges by shared words where the history is a day's, else the whole of it."""

    model: SlotModel
    form: Literal["plain", "notes", "earlier"]
    today: list[tuple[str, str]] = field(default_factory=list)
    past: list[tuple[str, str]] = field(default_factory=list)
    recalled: list[str] = field(default_factory=list)

    async def begin_day(self) -> None:
        if self.form != "plain":
            self.past += self.today
            self.today = []

    async def reply(self, words: str) -> str:
        picked = pick_by_words(self.past, words) if self.form != "plain" else []
        messages = [ChatMessage("system", PLAIN_SYSTEM)]
        if self.form == "earlier":
            messages += _as_messages(picked)
        messages += _as_messages(self.today)
        notes = "".join(f"- {said}\n" for said, _ in picked) if self.form == "notes" else ""
        asked = f"[Earlier the user said:\n{notes}]\n{words}" if notes else words
        prompt = Prompt(Role.CONVERSATION, (*messages, ChatMessage("user", asked)), _REPLY_TOKENS, _TEMPERATURE)
        text = ""
        async with contextlib.aclosing(self.model.stream(prompt)) as events:
            async for event in events:
                text += event.text if isinstance(event, Delta) else ""
        self.today.append((words, text.strip()))
        return text.strip()


def pick_by_words(past: Sequence[tuple[str, str]], words: str) -> list[tuple[str, str]]:
    """The exchanges that share most words with `words`, at most six, in the order in which they happened."""
    asked = set(terms_of(words))
    shared = [(len(asked & set(terms_of(" ".join(pair)))), at) for at, pair in enumerate(past)]
    best = sorted((one for one in shared if one[0]), key=lambda one: (-one[0], -one[1]))[:_PICKED]
    return [past[at] for at in sorted(at for _, at in best)]


def _as_messages(exchanges: Iterable[tuple[str, str]]) -> list[ChatMessage]:
    return [
        message
        for said, replied in exchanges
        for message in (ChatMessage("user", said), ChatMessage("assistant", replied))
    ]


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
    is_thinking: bool = False
    """Whether it has a thought between any two turns, as a mind has that was left alone for a while."""
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
        if self.is_thinking and self.conversation.turn_count:
            self.surrounding.thought = await self._think()
        turn = await self.conversation.say(words, heard)
        self.recalled = [item.line for item in heard.told]
        return turn.draft.text

    async def _think(self) -> str:
        """Return a thought of the same model about the last words, with the prompt of the monologue."""
        assert self.conversation is not None
        turns = await self.memory.conversations.recent_turns(self.conversation.conversation_id, _THOUGHT_TURNS)
        inputs = ThoughtInputs(
            mind_name=self.settings.mind.name,
            owner_name=self.settings.owner.name,
            narrative="",
            owner_facts=(),
            unresolved=(),
            recent=tuple(SaidLine(turn.text, turn.origin is Origin.SELF) for turn in turns),
            memories=(),
            now_words=local_time(self.clock.now()),
            silence_words="Nobody has spoken for 5 minutes.",
            way=len(turns) + self.clock.days,
        )
        messages = thinking_messages(inputs, Reactivation(ThinkingReason.CONVERSATION))
        prompt = Prompt(Role.MONOLOGUE, messages, max_tokens=_THOUGHT_TOKENS, temperature=_THOUGHT_TEMPERATURE)
        text, _ = await collect(self.model, prompt)
        return text.strip()


@contextlib.asynccontextmanager
async def ours(
    model: SlotModel, embedder: Embedder, owner: str, *, is_thinking: bool = False
) -> AsyncIterator[OursArm]:
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
            yield OursArm(model, memory, clock, settings, is_thinking)
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
        await arm.begin_day()
        for turn in day.turn:
            began = time.perf_counter()
            reply = await arm.reply(turn.say)
            took = round(time.perf_counter() - began, 2)
            first = round(model.first_token_seconds, 2)
            is_right = turn.accepts(reply)
            lines.append(
                JudgedTurn(
                    name, arm_name, seed, number, turn.kind, turn.say, reply, is_right, first, took, list(arm.recalled)
                )
            )
    return lines


@dataclass(slots=True)
class Bench:
    """What one run measures with."""

    process: ModelProcess
    embedder: Embedder
    slots: asyncio.Queue[int]
    out: Path | None
    lines: list[JudgedTurn] = field(default_factory=list)

    async def run(self, path: Path, arm_name: str, seed: int) -> None:
        """One owner with one arm."""
        script, slot = load_script(path), await self.slots.get()
        model = SlotModel(self.process, slot, seed)
        try:
            if arm_name in ("ours", "thinking"):
                async with ours(model, self.embedder, script.owner, is_thinking=arm_name == "thinking") as arm:
                    lines = await talk_through(path.stem, script, arm_name, arm, model, seed)
            else:
                plain = PlainArm(model, arm_name)  # type: ignore[arg-type]  # one of ARMS, see main
                lines = await talk_through(path.stem, script, arm_name, plain, model, seed)
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
    for label, measure in (("first token, median s", "first_token_seconds"), ("whole turn, median s", "seconds")):
        row = [label]
        for arm in arms:
            row.append(f"{statistics.median(getattr(one, measure) for one in lines if one.arm == arm):.1f}")
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
            context_tokens=_CONTEXT_TOKENS,
            slots=chosen.at_once,
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
            bench = Bench(process, embedder, slots, chosen.out)
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
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(_DEFAULT_ARMS))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--at-once", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, help="a line a turn, appended")
    parser.add_argument("--show-wrong", choices=ARMS, help="print the wrong replies of this arm")
    parser.add_argument("--model", type=Path, help="folder of the embedder's model.onnx and tokenizer.json")
    parser.add_argument("--cache", type=Path, help="folder that keeps vectors between runs")
    asyncio.run(measure(parser.parse_args()))


if __name__ == "__main__":
    main()
