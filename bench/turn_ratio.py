"""Seconds of a turn beside bare llama.cpp with the same model and history, and of the first turn after a wake.

    PYTHONPATH=.:bench python bench/turn_ratio.py [--script FILE] [--days N] [--turns N] [--threads N]

Ours is the daemon's own turn with its own embedded model over a real memory. After each of its turns bare llama.cpp
reads the same history and words and writes as many tokens as the reply had; so whatever else the machine does slows
both. Between the days the mind sleeps lightly, its model is unloaded, and it wakes: what was read is restored and the
prompt read ahead before the first words, which is not counted but told. Prints each turn, and at the end the ratios of
the sums and of each turn (p50), and the first turns.
"""

import argparse
import asyncio
import contextlib
import json
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
from recall import embedder_of
from talk import OursArm, load_script, ours

from reveries.clock import SystemClock
from reveries.config import load_settings
from reveries.llm.assets import find_weights
from reveries.llm.base import ChatMessage, ChatModel
from reveries.llm.embedded import SLOTS, EmbeddedModel, EmbeddedOptions
from reveries.llm.fitting import fit_context
from reveries.llm.model_process import ModelProcess, start_model_process
from reveries.llm.template_marks import wire_messages

BARE_BATCH_TOKENS: Final = 512
"""llama.cpp's own default for a physical batch."""


class TurnSeconds(msgspec.Struct, frozen=True):
    """One turn on both sides."""

    day: int
    is_first: bool
    kind: str
    ours: float
    bare: float
    reply_tokens: int

    @property
    def ratio(self) -> float:
        return self.ours / self.bare


async def answer_bare(process: ModelProcess, messages: Sequence[ChatMessage], tokens: int) -> float:
    """Have bare llama.cpp write `tokens` tokens; return the seconds."""
    request = {
        "messages": wire_messages(tuple(messages)),
        "id_slot": 0,
        "cache_prompt": True,
        "max_tokens": tokens,
        "ignore_eos": True,
        "temperature": 0.3,
    }
    began = time.perf_counter()
    (await process.client.post("/v1/chat/completions", json=request, timeout=600.0)).raise_for_status()
    return time.perf_counter() - began


async def measure_turn(arm: OursArm, bare: ModelProcess, model: ChatModel, words: str) -> tuple[float, float, int]:
    """Take one turn on both sides; return the seconds of ours and of the other, and the tokens of the reply."""
    assert arm.conversation is not None
    before = arm.conversation.turns.prompt_beginning()
    began = time.perf_counter()
    reply = await arm.reply(words)
    seconds = time.perf_counter() - began
    tokens = max(1, await model.count_tokens(reply))
    return seconds, await answer_bare(bare, (*before, ChatMessage("user", words)), tokens), tokens


async def measure(chosen: argparse.Namespace) -> list[TurnSeconds]:
    """Talk the script through."""
    settings = load_settings(None)
    weights = find_weights(settings.llm.embedded.model)
    embedded = fit_context(settings.llm.embedded, str(weights), len(set(SLOTS.values())))
    embedded = msgspec.structs.replace(embedded, threads=chosen.threads)
    script, turns = load_script(chosen.script), list[TurnSeconds]()
    with tempfile.TemporaryDirectory(prefix="rv-") as folder:
        socket, kept = Path(folder) / "m.sock", Path(folder) / "model.read"
        options = EmbeddedOptions("bench", lambda: weights, socket, embedded, settings.llm.limits, kept=kept)
        model = EmbeddedModel(options, SystemClock())
        bare = await start_model_process(
            weights,
            Path(folder) / "b.sock",
            context_tokens=embedded.context_tokens,
            slots=1,
            threads=chosen.threads,
            batch_tokens=BARE_BATCH_TOKENS,
            niceness=embedded.niceness,
            wire_bytes=2**24,
        )
        async with (
            contextlib.aclosing(model),
            contextlib.aclosing(bare),
            contextlib.aclosing(embedder_of(None, None)) as embedder,
            ours(model, embedder, script.owner) as arm,  # type: ignore[arg-type]
        ):
            for day, talk in enumerate(script.day[: chosen.days], 1):
                await model.unload()
                began = time.perf_counter()
                await arm.begin_day()
                print(f"day {day}: read ahead in {time.perf_counter() - began:.1f} s", flush=True)
                for place, turn in enumerate(talk.turn[: chosen.turns]):
                    seconds = await measure_turn(arm, bare, model, turn.say)
                    turns.append(TurnSeconds(day, place == 0, turn.kind, *seconds))
                    print(json.dumps(msgspec.to_builtins(turns[-1])), flush=True)
    return turns


def report(turns: Sequence[TurnSeconds]) -> str:
    """Say the ratios and the first turns after a wake."""
    usual = [turn for turn in turns if not (turn.day == 1 and turn.is_first)]
    firsts = [turn for turn in usual if turn.is_first]
    ours_p50, bare_p50 = (
        statistics.median(seconds) for seconds in zip(*((t.ours, t.bare) for t in usual), strict=True)
    )
    of_sums = sum(turn.ours for turn in usual) / sum(turn.bare for turn in usual)
    lines = [
        f"turns: {len(usual)}, tokens of a reply p50 {statistics.median(turn.reply_tokens for turn in usual):.0f}",
        f"seconds p50: ours {ours_p50:.1f}, bare {bare_p50:.1f}",
        f"ratio p50 {statistics.median(turn.ratio for turn in usual):.2f}, of the sums {of_sums:.2f}",
    ]
    if firsts:
        lines.append(
            f"first turn after a wake, p50: ours {statistics.median(turn.ours for turn in firsts):.1f}, "
            f"bare, which never slept, {statistics.median(turn.bare for turn in firsts):.1f}"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    scripts = Path(__file__).with_name("talk_scripts")
    parser.add_argument("--script", type=Path, default=scripts / "walter.toml")
    parser.add_argument("--days", type=int, default=3)
    parser.add_argument("--turns", type=int, default=8, help="of each day")
    parser.add_argument("--threads", type=int, default=2)
    print(report(asyncio.run(measure(parser.parse_args()))))


if __name__ == "__main__":
    main()
