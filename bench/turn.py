"""Time to the first token of a turn, and time to stop a call, on this machine.

    python bench/turn.py --model NAME_OR_GGUF [--threads N] [--batch-tokens N] [--json]

Measured: cold first token; prefilling the prompt; first token of turns with at most 300 new tokens after a stable
prefix of about 600; the event loop's lag meanwhile; the time from closing a call until the slot is free, while
generating and while a prompt is processed; and the first token of a few words after a prefix that was read ahead, by an
idle model and by one that they take from a background prompt. The text is random words, so the answers are meaningless.
"""

import argparse
import asyncio
import contextlib
import json
import os
import random
import statistics
import tempfile
import time
from collections.abc import AsyncGenerator
from pathlib import Path

import msgspec

from reveries.clock import SystemClock
from reveries.config import load_settings
from reveries.llm.assets import find_weights
from reveries.llm.base import ChatMessage, Delta, Finished, Prompt, Role
from reveries.llm.embedded import BATCH_TOKENS, SLOTS, EmbeddedModel, EmbeddedOptions, suitable_threads
from reveries.llm.fitting import fit_context
from reveries.llm.model_process import ModelProcess, start_model_process

_TEXT = (
    "the garden river stone walked morning quiet friend remembered letter music window never always slowly bright "
    "because evening road small house winter told asked answered thought about year day work child mother table"
)
WORDS = tuple(_TEXT.split())
STABLE_TOKENS = 600
NEW_TOKENS = 280
REPLY_TOKENS = 40
LAG_SAMPLE_SECONDS = 0.01
FEW_TOKENS = 12
LONG_WORDS = 1200


def main() -> None:
    arguments = _arguments()
    report = asyncio.run(_measure(arguments))
    if arguments.json:
        print(json.dumps(report, indent=2))
        return
    for name, value in report.items():
        print(f"{name:40} {value}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="qwen2.5-coder-1.5b-instruct", help="a name of the manifest, or a GGUF file")
    parser.add_argument("--threads", type=int, default=0, help="0: as the daemon would choose")
    parser.add_argument("--batch-tokens", type=int, default=BATCH_TOKENS)
    parser.add_argument("--conversations", type=int, default=2)
    parser.add_argument("--turns", type=int, default=6, help="of each conversation")
    parser.add_argument("--cancels", type=int, default=10, help="of each kind")
    parser.add_argument("--interruptions", type=int, default=10, help="of a background prompt by a few words")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


async def _measure(arguments: argparse.Namespace) -> dict[str, object]:
    settings = load_settings(None)
    weights = find_weights(arguments.model)
    embedded = fit_context(settings.llm.embedded, str(weights), len(set(SLOTS.values())))
    embedded = msgspec.structs.replace(embedded, threads=arguments.threads)
    chance = random.Random(1)
    report: dict[str, object] = {
        "model": weights.name,
        "threads": arguments.threads or suitable_threads(_cores()),
        "batch_tokens": arguments.batch_tokens,
        "context_tokens": embedded.context_tokens,
    }
    with tempfile.TemporaryDirectory() as folder:
        options = EmbeddedOptions(
            weights.stem,
            lambda: weights,
            Path(folder) / "m.sock",
            embedded,
            settings.llm.limits,
            arguments.batch_tokens,
        )
        async with _loop_lag(report), contextlib.aclosing(EmbeddedModel(options, SystemClock())) as model:
            report |= await _turns(model, chance, arguments.conversations, arguments.turns)
            report |= await _interruptions(model, chance, arguments.interruptions)
        async with contextlib.aclosing(await _process(options)) as process:
            report |= await _cancels(process, chance, arguments.cancels)
    return report


def _cores() -> int:
    return os.cpu_count() or 1


async def _turns(model: EmbeddedModel, chance: random.Random, conversations: int, turns: int) -> dict[str, object]:
    began = time.perf_counter()
    await model.count_tokens("load")
    load_seconds = time.perf_counter() - began
    cold = await _say(model, [await _text(model, chance, STABLE_TOKENS, "system")], chance)
    stable = await _text(model, chance, STABLE_TOKENS, "system")
    began = time.perf_counter()
    await model.read_ahead([stable], Role.CONVERSATION)
    read_ahead_seconds = time.perf_counter() - began
    seen: list[_Turn] = []
    for _ in range(conversations):
        history = [stable]
        seen += [await _say(model, history, chance) for _ in range(turns)]
    firsts = sorted(turn.first_seconds for turn in seen)
    return {
        "load_seconds": round(load_seconds, 2),
        "cold_first_token_seconds": round(cold.first_seconds, 2),
        "cold_new_tokens": cold.new_tokens,
        "read_ahead_seconds": round(read_ahead_seconds, 2),
        "turns": len(seen),
        "new_tokens_max": max(turn.new_tokens for turn in seen),
        "prompt_tokens_max": max(turn.prompt_tokens for turn in seen),
        "first_token_p50_seconds": round(statistics.median(firsts), 2),
        "first_token_p95_seconds": round(_percentile(firsts, 0.95), 2),
        "first_token_max_seconds": round(firsts[-1], 2),
        "read_tokens_per_second": round(statistics.median(turn.new_tokens / turn.first_seconds for turn in seen), 1),
        "generated_tokens_per_second": round(statistics.median(turn.tokens_per_second for turn in seen), 1),
    }


class _Turn(msgspec.Struct, frozen=True):
    first_seconds: float
    new_tokens: int
    prompt_tokens: int
    tokens_per_second: float


async def _say(model: EmbeddedModel, history: list[ChatMessage], chance: random.Random) -> _Turn:
    history.append(await _text(model, chance, NEW_TOKENS, "user"))
    prompt = Prompt(Role.CONVERSATION, tuple(history), max_tokens=REPLY_TOKENS)
    began, first, reply, end = time.perf_counter(), 0.0, "", None
    async with contextlib.aclosing(model.stream(prompt)) as events:
        async for event in events:
            if isinstance(event, Finished):
                end = event
            elif isinstance(event, Delta):
                first = first or time.perf_counter()
                reply += event.text
    history.append(ChatMessage("assistant", reply))
    if end is None or end.usage is None:
        raise SystemExit("The model did not say what it used.")
    seconds = max(time.perf_counter() - first, 1e-9)
    usage = end.usage
    return _Turn(
        first - began,
        usage.prompt_tokens - usage.cached_tokens,
        usage.prompt_tokens,
        max(usage.completion_tokens - 1, 0) / seconds,
    )


async def _interruptions(model: EmbeddedModel, chance: random.Random, count: int) -> dict[str, object]:
    stable = await _text(model, chance, STABLE_TOKENS, "system")
    idle, taken = list[float](), list[float]()
    for _ in range(count):
        for seconds, is_busy in ((idle, False), (taken, True)):
            words = await _text(model, chance, FEW_TOKENS, "user")
            await model.read_ahead([stable], Role.CONVERSATION)
            async with asyncio.TaskGroup() as group:
                work = group.create_task(_process_long_prompt(model, chance, is_busy), name="background-prompt")
                await asyncio.sleep(0.5 + chance.random())
                began = time.perf_counter()
                work.cancel()
                seconds.append(await _first_token(model, [stable, words]) - began)
    idle_p95, taken_p95 = (_percentile(sorted(seconds), 0.95) for seconds in (idle, taken))
    return {
        "few_words_idle_p50_p95_ms": [round(1000 * statistics.median(idle)), round(1000 * idle_p95)],
        "few_words_taken_p50_p95_ms": [round(1000 * statistics.median(taken)), round(1000 * taken_p95)],
        "few_words_taken_to_idle_p95": round(taken_p95 / idle_p95, 2),
    }


async def _process_long_prompt(model: EmbeddedModel, chance: random.Random, is_busy: bool) -> None:
    if is_busy:
        await model.read_ahead([ChatMessage("user", " ".join(chance.choices(WORDS, k=LONG_WORDS)))], Role.WORK)


async def _first_token(model: EmbeddedModel, messages: list[ChatMessage]) -> float:
    """The time at which it came."""
    async with contextlib.aclosing(model.stream(Prompt(Role.CONVERSATION, tuple(messages), max_tokens=2))) as events:
        async for event in events:
            if isinstance(event, Delta):
                return time.perf_counter()
    raise SystemExit("The model gave no token.")


async def _text(model: EmbeddedModel, chance: random.Random, tokens: int, role: str) -> ChatMessage:
    words = [chance.choice(WORDS) for _ in range(tokens)]
    while await model.count_tokens(" ".join(words)) > tokens:
        words = words[: int(len(words) * 0.99)]
    return ChatMessage("system" if role == "system" else "user", " ".join(words))


async def _process(options: EmbeddedOptions) -> ModelProcess:
    return await start_model_process(
        options.weights(),
        options.socket,
        context_tokens=options.settings.context_tokens,
        slots=2,
        threads=options.settings.threads or suitable_threads(_cores()),
        batch_tokens=options.batch_tokens,
        niceness=options.settings.niceness,
        wire_bytes=2**26,
    )


async def _cancels(process: ModelProcess, chance: random.Random, count: int) -> dict[str, object]:
    generating = sorted([await _cancel(process, chance, 10, "content") for _ in range(count)])
    reading = sorted([await _cancel(process, chance, LONG_WORDS, "prompt_progress") for _ in range(count)])
    return {
        "cancel_generating_p50_ms": round(statistics.median(generating)),
        "cancel_generating_max_ms": round(generating[-1]),
        "cancel_reading_p50_ms": round(statistics.median(reading)),
        "cancel_reading_max_ms": round(reading[-1]),
    }


async def _cancel(process: ModelProcess, chance: random.Random, words: int, until: str) -> float:
    """Milliseconds from closing a call, at a moment left to chance, until its slot works on the next one."""
    text = " ".join(chance.choice(WORDS) for _ in range(words))
    async with contextlib.aclosing(_raw(process, text, max_tokens=400)) as chunks:
        async for chunk in chunks:
            if until == "prompt_progress" and "prompt_progress" in chunk:
                break
            if any(choice["delta"].get("content") for choice in chunk["choices"]):
                break
        await asyncio.sleep(0.3 + chance.random() * 0.4)
        began = time.perf_counter()
    timings: dict[str, float] = {}
    async for chunk in _raw(process, "hi", max_tokens=1):
        timings = chunk.get("timings", timings)
    own_seconds = (timings["prompt_ms"] + timings["predicted_ms"]) / 1000
    return (time.perf_counter() - began - own_seconds) * 1000


async def _raw(process: ModelProcess, text: str, max_tokens: int) -> AsyncGenerator[dict, None]:  # type: ignore[type-arg]
    body = {
        "messages": [{"role": "user", "content": text}],
        "stream": True,
        "max_tokens": max_tokens,
        "id_slot": 0,
        "return_progress": True,
    }
    async with process.client.stream("POST", "/v1/chat/completions", json=body) as response:
        async for line in response.aiter_lines():
            if line.startswith("data: {"):
                yield json.loads(line[6:])


@contextlib.asynccontextmanager
async def _loop_lag(report: dict[str, object]) -> AsyncGenerator[None, None]:
    lags: list[float] = []

    async def sample() -> None:
        while True:
            due = time.perf_counter() + LAG_SAMPLE_SECONDS
            await asyncio.sleep(LAG_SAMPLE_SECONDS)
            lags.append((time.perf_counter() - due) * 1000)

    async with asyncio.TaskGroup() as group:
        sampler = group.create_task(sample(), name="loop-lag")
        yield
        sampler.cancel()
    lags.sort()
    report["loop_lag_p99_ms"] = round(_percentile(lags, 0.99), 1)
    report["loop_lag_max_ms"] = round(lags[-1], 1)


def _percentile(ordered: list[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, round(share * (len(ordered) - 1)))]


if __name__ == "__main__":
    main()
