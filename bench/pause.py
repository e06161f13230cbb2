"""Time for thinking to stop for a conversation: from `pause` until no model call of it is running.

    python bench/pause.py                                     # a scripted model, and smollm2-135m if available
    python bench/pause.py --model qwen2.5-coder-1.5b-instruct --pauses 20

Each thought is paused at a random moment, while its prompt is processed or while it generates. The goal is 200 ms.
"""

import argparse
import asyncio
import contextlib
import random
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

import msgspec

from reveries.clock import SystemClock
from reveries.config import load_settings
from reveries.errors import ReveriesError
from reveries.llm.assets import find_weights
from reveries.llm.base import ChatMessage, ChatModel, Prompt, Role, StreamEvent
from reveries.llm.embedded import SLOTS, EmbeddedModel, EmbeddedOptions
from reveries.llm.fitting import fit_context
from tests.fakes.scripted import ScriptedModel

sys.path.insert(0, str(Path(__file__).parents[1]))  # tests is not part of the package.

from reveries.monologue.cycle import ThoughtCycle
from reveries.monologue.loop import Monologue
from reveries.monologue.ports import ThoughtState
from reveries.safety.breaker import Breaker
from tests.monologue.kit import Sources

GOAL_SECONDS = 0.2
_SLICE_TOKENS = 40


class Watched:
    """`model`, and how many calls of it run."""

    tells_probabilities = False

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self.running = 0
        self.name, self.context_tokens = model.name, model.context_tokens

    async def stream(self, prompt: Prompt) -> AsyncGenerator[StreamEvent, None]:
        self.running += 1
        try:
            async with contextlib.aclosing(self._model.stream(prompt)) as events:
                async for event in events:
                    yield event
        finally:
            self.running -= 1

    async def count_tokens(self, text: str) -> int:
        return await self._model.count_tokens(text)

    async def read_ahead(self, messages: Sequence[ChatMessage], role: Role) -> None:
        await self._model.read_ahead(messages, role)

    async def aclose(self) -> None:
        await self._model.aclose()


async def measure(model: ChatModel, pauses: int, seed: int) -> list[float]:
    """Seconds from `pause` until the thought is over and no call runs."""
    watched, sources, chance = Watched(model), Sources(keeps_having_something=True), random.Random(seed)
    limits = load_settings(None).circuit_breaker
    settings = msgspec.structs.replace(load_settings(None).monologue, idle_check_seconds=0.01)
    cycle = ThoughtCycle(
        model=watched,
        sources=sources,
        breaker=Breaker(limits, max_pace=limits.max_tokens_per_second),
        clock=SystemClock(),
        settings=lambda: settings,
        chance=chance,
        slice_tokens=lambda: _SLICE_TOKENS,
    )
    monologue = Monologue(cycle, cool_down_seconds=load_settings(None).circuit_breaker.cool_down_seconds)
    found: list[float] = []
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(monologue.run(), name="monologue")
        while len(found) < pauses:
            while not watched.running:  # noqa: ASYNC110  # What is looked at has no event.
                await asyncio.sleep(0.001)
            await asyncio.sleep(chance.uniform(0.0, 3.0))
            began = time.monotonic()
            monologue.pause()
            while watched.running or monologue.state is not ThoughtState.PAUSED:  # noqa: ASYNC110
                await asyncio.sleep(0.0005)
            found.append(time.monotonic() - began)
            monologue.resume()
        running.cancel()
    return found


def embedded(name: str, folder: Path) -> EmbeddedModel:
    """The model of that name, as the daemon makes it."""
    llm = load_settings(None).llm
    options = EmbeddedOptions(
        name=name,
        weights=lambda: find_weights(name),
        socket=folder / "model.sock",
        settings=fit_context(msgspec.structs.replace(llm.embedded, model=name), name, len(set(SLOTS.values()))),
        limits=llm.limits,
    )
    return EmbeddedModel(options, SystemClock())


async def run(options: argparse.Namespace) -> int:
    """Measure and print; return 1 if the goal is missed."""
    words = " ".join(f"thing{number}" for number in range(4000))
    models: list[ChatModel] = [ScriptedModel(otherwise=words, clock=SystemClock())]
    with tempfile.TemporaryDirectory(prefix="rvp") as folder:
        try:
            find_weights(options.model)
            models.append(embedded(options.model, Path(folder)))
        except ReveriesError as error:
            print(error)
        missed = False
        for model in models:
            try:
                found = sorted(await measure(model, options.pauses, options.seed))
            finally:
                await model.aclose()
            worst = found[-1]
            missed |= worst > GOAL_SECONDS
            p99 = found[min(len(found) - 1, int(0.99 * len(found)))]
            print(
                f"{model.name:40} {len(found)} pauses: median {1000 * statistics.median(found):.0f} ms,"
                f" p99 {1000 * p99:.0f} ms, worst {1000 * worst:.0f} ms"
            )
    return int(missed)


def main() -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--pauses", type=int, default=40)
    parser.add_argument("--seed", type=int, default=7)
    return asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())
