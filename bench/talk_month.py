"""Thirty days with one owner, who then asks about them: more talk than fits into the model's context.

    PYTHONPATH=.:bench python bench/talk_month.py [--month FILE] [--arms ours plain] [--threads N] [--context-tokens N]
        [--first-day DATE] [--seed N] [--deep-sleep] [--out FILE] [--show-wrong ARM]

FILE is a month in TOML: `owner`, and for each `[[day]]` its `turns`. A turn is a statement, `say` with the `reply` that
it gets in both arms without a model, or a question, `ask` with its `kind`, the pattern that a `right` answer contains
(a regular expression, case ignored), the one that makes it `wrong`, and the day (from 1) on which the answer was told,
`day_told`. Without FILE a month is made of bench/facts.jsonl and generated small talk.

The arms have the same model, temperature and context, by default the context that the product chooses here:

* ours: the daemon's own turns over a real memory. After each day the memory sleeps lightly and time passes over it, a
  night goes by, and the mind wakes anew. --deep-sleep adds a pass of deep sleep each night, a model call for each
  experience; it writes summaries, which a small model is not told;
* plain: a one-line system prompt and the newest exchanges that fit.

Prints how many tokens the month has, and the right answers by kind and by how many days ago it was told.
"""

import argparse
import asyncio
import contextlib
import logging
import random
import re
import tempfile
import time
import tomllib
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Final, Protocol

import msgspec
import structlog
from facts import Fact, load_facts
from recall import embedder_of
from small_talk import small_talk
from talk import ARMS, PLAIN_SYSTEM, REPLY_TOKENS, TEMPERATURE, OursArm, SlotModel, ours

from reveries.config import load_settings
from reveries.daemon.talk.chat_history import MARK_TOKENS
from reveries.llm.assets import find_weights
from reveries.llm.base import ChatMessage, Delta, Finished, FinishReason, Prompt, Role, StreamEvent
from reveries.llm.embedded import REUSED_TOKENS, SLOTS
from reveries.llm.fitting import fit_context
from reveries.llm.model_process import ModelProcess, start_model_process
from reveries.llm.tier import Tier

_DAYS: Final = 30
_TURNS: Final = 10
_QUESTIONS: Final = 25
_MADE_SEED: Final = 40
_ACKNOWLEDGED: Final = "Thank you for telling me."
_BATCH_TOKENS: Final = 128
_AGES: Final = ((1, 3), (4, 9), (10, _DAYS))
"""Days since it was told, from and to."""


class MonthTurn(msgspec.Struct, frozen=True):
    """A statement with its reply, or a question."""

    say: str = ""
    reply: str = ""
    ask: str = ""
    right: str = ""
    wrong: str = ""
    kind: str = ""
    day_told: int = 0
    """0: never, or on no single day."""

    def accepts(self, reply: str) -> bool:
        """Whether `reply` answers the question."""
        return _matches(self.right, reply) and not (self.wrong and _matches(self.wrong, reply))


class MonthDay(msgspec.Struct, frozen=True):
    turns: list[MonthTurn]


class Month(msgspec.Struct, frozen=True):
    """One owner's days."""

    owner: str
    day: list[MonthDay]


class JudgedAnswer(msgspec.Struct, frozen=True):
    """The answer of one arm: a line of --out."""

    arm: str
    day: int
    kind: str
    day_told: int
    ask: str
    reply: str
    is_right: bool
    seconds: float
    told: list[str] = []
    """What was told from memory."""

    @property
    def age(self) -> int:
        """Days since it was told."""
        return self.day - self.day_told


def _matches(pattern: str, reply: str) -> bool:
    return re.search(pattern, reply, re.IGNORECASE) is not None


def load_month(path: Path) -> Month:
    """Load a month. Raises msgspec.ValidationError."""
    return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), Month)


def make_month(seed: int = _MADE_SEED) -> Month:
    """Make a month of small talk, with a fact of set 1 told on most days and half of them asked for on later days; as
    many questions of set 2 are about what was never told."""
    chance = random.Random(seed)
    facts = [fact for fact in load_facts() if fact.set == 1]
    chance.shuffle(facts)
    days: list[list[MonthTurn]] = []
    for day in range(_DAYS):
        talk = small_talk(seed * 1000 + day, _TURNS, tuple(answer for fact in facts for answer in fact.answers))
        days.append([MonthTurn(say=said, reply=replied) for said, replied in talk])
    told_on = [chance.randrange(_DAYS - 2) for _ in facts]
    for fact, day in zip(facts, told_on, strict=True):
        days[day].insert(chance.randrange(_TURNS), MonthTurn(say=fact.planted, reply=_ACKNOWLEDGED))
    for fact, day in list(zip(facts, told_on, strict=True))[:_QUESTIONS]:
        days[chance.randrange(day + 1, _DAYS)].append(_question(fact, day + 1))
    never_told = [fact for fact in load_facts() if fact.set == 2]
    for fact in chance.sample(never_told, _QUESTIONS):
        days[chance.randrange(_DAYS)].append(_question(fact, 0))
    return Month("Robin", [MonthDay(turns) for turns in days])


def _question(fact: Fact, day_told: int) -> MonthTurn:
    any_answer = "|".join(rf"\b{re.escape(answer)}s?\b" for answer in fact.answers)
    if day_told:
        return MonthTurn(ask=fact.question, right=any_answer, kind="past", day_told=day_told)
    not_told = r"\b(not|never|no (information|record|mention))\b|n['\u2019]t\b|sorry"
    return MonthTurn(ask=fact.question, right=not_told, wrong=any_answer, kind="never said")


class CannedModel(SlotModel):
    """A model that says a given reply while there is one, and reads nothing ahead: speed is not measured."""

    canned: str = ""

    async def stream(self, prompt: Prompt) -> AsyncGenerator[StreamEvent, None]:
        """See ChatModel."""
        if self.canned:
            if not prompt.is_aside:
                yield Delta(self.canned)
            yield Finished(FinishReason.STOP, None)
            return
        async with contextlib.aclosing(super().stream(prompt)) as events:
            async for event in events:
                yield event

    async def read_ahead(self, messages: Sequence[ChatMessage], role: Role) -> None:
        """Do nothing."""


class MonthArm(Protocol):
    """One side of the comparison."""

    async def begin_day(self) -> None: ...

    async def tell(self, turn: MonthTurn) -> None: ...

    async def answer(self, words: str) -> tuple[str, list[str]]: ...


@dataclass(slots=True)
class PlainMonth:
    """A plain chat with the newest exchanges that fit into its context."""

    model: CannedModel
    exchanges: list[tuple[str, str]] = field(default_factory=list)

    async def begin_day(self) -> None:
        """Days make no difference to it."""

    async def tell(self, turn: MonthTurn) -> None:
        """Hear a statement with its reply."""
        self.exchanges.append((turn.say, turn.reply))

    async def answer(self, words: str) -> tuple[str, list[str]]:
        """Answer a question."""
        prompt = Prompt(Role.CONVERSATION, await self._messages(words), REPLY_TOKENS, TEMPERATURE)
        text = ""
        async with contextlib.aclosing(self.model.stream(prompt)) as events:
            async for event in events:
                text += event.text if isinstance(event, Delta) else ""
        self.exchanges.append((words, text.strip()))
        return text.strip(), []

    async def _messages(self, words: str) -> tuple[ChatMessage, ...]:
        first, last = ChatMessage("system", PLAIN_SYSTEM), ChatMessage("user", words)
        left = self.model.context_tokens - REPLY_TOKENS - await self._count(first, last)
        newest: list[ChatMessage] = []
        for said, replied in reversed(self.exchanges):
            pair = ChatMessage("user", said), ChatMessage("assistant", replied)
            left -= await self._count(*pair)
            if left < 0:
                break
            newest[:0] = pair
        return (first, *newest, last)

    async def _count(self, *messages: ChatMessage) -> int:
        return sum([await self.model.count_tokens(message.text) + MARK_TOKENS for message in messages])


@dataclass(slots=True)
class OursMonth:
    """The daemon's own turns."""

    model: CannedModel
    arm: OursArm
    is_slept_deeply: bool
    deep_seconds: float = 0.0

    async def begin_day(self) -> None:
        """Sleep on the day before, let a night pass and wake."""
        was_awake = self.arm.conversation is not None
        if was_awake and self.is_slept_deeply:
            began = time.perf_counter()
            await self.arm.memory.deep_sleep(self.model, tier=lambda: Tier.SMALL, trigger="time")
            self.deep_seconds += time.perf_counter() - began
        await self.arm.begin_day()
        if was_awake:
            await self.arm.memory.decay_and_prune()

    async def tell(self, turn: MonthTurn) -> None:
        """Take a whole turn whose reply is given."""
        self.model.canned = turn.reply
        try:
            await self.arm.reply(turn.say)
        finally:
            self.model.canned = ""

    async def answer(self, words: str) -> tuple[str, list[str]]:
        """Answer a question."""
        return await self.arm.reply(words), self.arm.recalled


async def live_through(month: Month, arm_name: str, arm: MonthArm, note: Callable[[JudgedAnswer], None]) -> None:
    """Live through the month and note each answer."""
    for number, day in enumerate(month.day, 1):
        await arm.begin_day()
        for turn in day.turns:
            if not turn.ask:
                await arm.tell(turn)
                continue
            began = time.perf_counter()
            reply, told = await arm.answer(turn.ask)
            seconds, is_right = round(time.perf_counter() - began, 1), turn.accepts(reply)
            note(JudgedAnswer(arm_name, number, turn.kind, turn.day_told, turn.ask, reply, is_right, seconds, told))
        print(f"{arm_name}: day {number} of {len(month.day)}", flush=True)


async def count_month(month: Month, model: SlotModel) -> int:
    """Count the tokens of all statements, replies and questions, with the marks around them."""
    texts = [text for day in month.day for turn in day.turns for text in (turn.say, turn.reply, turn.ask) if text]
    return sum([await model.count_tokens(text) + MARK_TOKENS for text in texts])


def table(answers: Sequence[JudgedAnswer]) -> str:
    """Right answers of all, by kind, and those of earlier days by age, for each arm."""
    arms = [arm for arm in ARMS if any(item.arm == arm for item in answers)]
    kinds = dict.fromkeys(item.kind for item in answers)
    rows = [(kind, [item for item in answers if item.kind == kind]) for kind in kinds]
    earlier = [item for item in answers if 0 < item.day_told < item.day]
    rows += [("all", list(answers)), ("told on an earlier day", earlier)]
    for oldest, newest in _AGES:
        rows.append((f"{oldest} to {newest} days ago", [item for item in earlier if oldest <= item.age <= newest]))
    lines = [["", *arms]]
    for label, belonging in rows:
        of_row = [[item for item in belonging if item.arm == arm] for arm in arms]
        lines.append([label, *(f"{sum(item.is_right for item in own)} of {len(own)}" for own in of_row)])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


async def run_arm(
    month: Month, arm_name: str, process: ModelProcess, slot: int, chosen: argparse.Namespace,
    note: Callable[[JudgedAnswer], None],
) -> None:  # fmt: skip
    """Live through the month with one arm, in two slots from `slot` on."""
    model = CannedModel(process, slot, slot + 1, chosen.seed, chosen.context_tokens, REUSED_TOKENS)
    if arm_name == "plain":
        print(f"the month has {await count_month(month, model):,} tokens, the context {chosen.context_tokens:,}")
        await live_through(month, arm_name, PlainMonth(model), note)
        return
    async with (
        contextlib.aclosing(embedder_of(chosen.model, chosen.cache)) as embedder,
        ours(model, embedder, month.owner) as arm,
    ):
        own = OursMonth(model, arm, chosen.deep_sleep)
        if chosen.first_day:
            arm.clock.days = (chosen.first_day - date.today()).days
        await live_through(month, arm_name, own, note)
        if chosen.deep_sleep:
            print(f"deep sleep: {own.deep_seconds:.0f} s")


async def measure(chosen: argparse.Namespace) -> None:
    """Live through the month with each arm; print the table."""
    month = load_month(chosen.month) if chosen.month else make_month()
    answers: list[JudgedAnswer] = []
    settings = load_settings(None)
    weights = find_weights(settings.llm.embedded.model)
    fitted = fit_context(settings.llm.embedded, str(weights), len(set(SLOTS.values())))
    chosen.context_tokens = chosen.context_tokens or fitted.context_tokens

    def note(answer: JudgedAnswer) -> None:
        answers.append(answer)
        if chosen.out is not None:
            with chosen.out.open("a", encoding="utf-8") as out:
                out.write(msgspec.json.encode(answer).decode() + "\n")

    with tempfile.TemporaryDirectory(prefix="rv-") as folder:
        process = await start_model_process(
            weights,
            Path(folder) / "m.sock",
            context_tokens=chosen.context_tokens,
            slots=2 * len(chosen.arms),
            threads=chosen.threads,
            batch_tokens=_BATCH_TOKENS,
            niceness=10,
            wire_bytes=2**24,
        )
        async with contextlib.aclosing(process):
            for place, arm_name in enumerate(chosen.arms):
                await run_arm(month, arm_name, process, 2 * place, chosen, note)
    print(table(answers))
    for item in answers:
        if item.arm == chosen.show_wrong and not item.is_right:
            print(f"day {item.day} {item.kind} (told on {item.day_told}): {item.ask}")
            print(f"    {item.told}\n    -> {item.reply}")


def main() -> None:
    """Measure and print."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--month", type=Path, help="without it, a month is made")
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    parser.add_argument("--first-day", type=date.fromisoformat, help="the first day in the calendar; default today")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--context-tokens", type=int, default=0, help="0: what the product chooses here")
    parser.add_argument("--deep-sleep", action="store_true", help="also sleep deeply each night")
    parser.add_argument("--out", type=Path, help="a line an answer, appended")
    parser.add_argument("--show-wrong", choices=ARMS, help="print the wrong answers of this arm")
    parser.add_argument("--model", type=Path, help="folder of the embedder's model.onnx and tokenizer.json")
    parser.add_argument("--cache", type=Path, help="folder that keeps vectors between runs")
    asyncio.run(measure(parser.parse_args()))


if __name__ == "__main__":
    main()
