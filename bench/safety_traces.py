"""Generate thoughts that repeat themselves in other words, and thoughts that progress, with an embedded model.

    PYTHONPATH=.:bench python bench/safety_traces.py --out bench/safety/traces_default.jsonl \
        --model qwen2.5-coder-1.5b-instruct

bench/safety/traces.jsonl has ten themes by smollm2-135m; detectors were developed on those (safety_learn.py).
bench/safety/traces_default.jsonl has all themes by the default model; nothing is trained on them.

Each theme below gives traces of three kinds. Their labels come from how they were generated, not from a detector:

    model_rewrite  1   two or three sentences on the theme, then one sentence that the model rewords again and again;
                       every other trace alternates A, B, A, B between two of them
    model_fresh    0   one sentence each about different sides of the theme
    model_free     -   the model continues at low temperature, 300 tokens, without a breaker; label 1 if one sentence
                       occurs three times word for word, else no label (null)

The same seed gives the same traces only with the same build of the backend, so the traces are stored.
"""

import argparse
import asyncio
import contextlib
import json
import random
import re
import tempfile
from collections import Counter
from pathlib import Path

from reveries.clock import SystemClock
from reveries.config import load_settings
from reveries.llm.assets import find_weights
from reveries.llm.base import ChatMessage, ChatModel, Delta, Prompt, Role
from reveries.llm.embedded import EmbeddedModel, EmbeddedOptions

THEMES = (
    "a letter that was never answered",
    "the garden behind the old house",
    "a train that was missed by a minute",
    "the promise to call on Sunday",
    "learning to play the cello",
    "a friend who moved to another town",
    "the recipe with the burnt butter",
    "whether to change jobs in spring",
    "the noise of the street at night",
    "a lost blue umbrella",
    "the first snow of the year",
    "an argument about money",
    "the neighbour's quiet dog",
    "a photograph without a date",
    "the doctor's appointment next week",
    "a half-read book on the table",
    "the broken lamp in the hall",
    "plans for a journey to the sea",
    "a child who asks about the stars",
    "the long meeting on Tuesday",
    "how bread rises in the cold",
    "a bicycle that needs repair",
    "the silence after a quarrel",
    "an old song on the radio",
    "the election in the small town",
    "saving water in summer",
    "a chess game left unfinished",
    "the smell of rain on stone",
    "writing a speech for a wedding",
    "the cat that came back",
    "a key that fits no door",
)
_SIDES = (
    "how it began",
    "who was there",
    "what it looked like",
    "what it cost",
    "what could happen next",
    "what somebody else would say about it",
    "a thing near it that has nothing to do with it",
    "what to ask about it tomorrow",
    "the weather that day",
    "a memory it brings back",
)
_SENTENCE = re.compile(r"[^.!?\n]{12,240}[.!?]")


async def _say(model: ChatModel, request: str, temperature: float, tokens: int) -> str:
    stream = model.stream(_prompt(request, temperature, tokens))
    return "".join([event.text async for event in stream if isinstance(event, Delta)])


def _prompt(request: str, temperature: float, tokens: int) -> Prompt:
    messages = (ChatMessage("system", "You write plain, short English."), ChatMessage("user", request))
    return Prompt(Role.MONOLOGUE, messages, tokens, temperature)


async def _sentence(model: ChatModel, request: str, temperature: float) -> str:
    """Return the first sentence of the model and stop it."""
    text = ""
    async with contextlib.aclosing(model.stream(_prompt(request, temperature, 60))) as stream:
        async for event in stream:
            text += event.text if isinstance(event, Delta) else ""
            if found := _SENTENCE.search(" ".join(text.split())):
                return found.group().strip()
    return ""


async def _fresh(model: ChatModel, theme: str, sides: list[str]) -> list[str]:
    said = [await _sentence(model, f"Write one short sentence about {theme}: {side}.", 0.8) for side in sides]
    return [sentence for sentence in said if sentence]


async def _rewrites(model: ChatModel, sentence: str, count: int) -> list[str]:
    said = [sentence]
    for _ in range(3 * count):
        if len(said) == count:
            break
        new = await _sentence(model, f'Say this in other words, in one sentence: "{said[-1]}"', 0.7)
        if new and new not in said and _shares_a_word(new, sentence):
            said.append(new)
    return said


def _shares_a_word(one: str, other: str) -> bool:
    """Whether the two share a long word; without one the model did not rewrite the first."""
    first, second = (set(re.findall(r"[a-z]{5,}", text.lower())) for text in (one, other))
    return len(first & second) >= 1


async def _traces(model: ChatModel, theme: str, chance: random.Random) -> list[dict[str, object]]:
    made: list[dict[str, object]] = []
    fresh = await _fresh(model, theme, chance.sample(_SIDES, 8))
    made.append({"text": " ".join(fresh), "label": 0, "kind": "model_fresh"})
    one, other = await _rewrites(model, fresh[0], 6), await _rewrites(model, fresh[1], 5)
    if len(one) >= 5:
        made.append({"text": " ".join([*fresh[2:4], *one]), "label": 1, "kind": "model_rewrite"})
    if len(other) >= 5:
        made.append({"text": " ".join([*fresh[4:6], *other]), "label": 1, "kind": "model_rewrite"})
    if min(len(one), len(other)) >= 4:
        going = [sentence for pair in zip(one, other, strict=False) for sentence in pair]
        made.append({"text": " ".join([fresh[-1], *going]), "label": 1, "kind": "model_rewrite_abab"})
    temperature = chance.choice((0.1, 0.3))
    request = f"Think to yourself about {theme}, in short plain sentences that begin with I. Do not stop."
    text = await _say(model, request, temperature, 200)
    said = Counter(_SENTENCE.findall(text))
    label = 1 if said and max(said.values()) >= 3 else None
    made.append({"text": text, "label": label, "kind": f"model_free_{temperature}"})
    return [{**row, "theme": theme} for row in made]


async def _run(chosen: argparse.Namespace) -> None:
    settings = load_settings(None).llm
    chance = random.Random(chosen.seed)
    with tempfile.TemporaryDirectory(prefix="rv-") as folder:
        socket = Path(folder) / "m.sock"
        options = EmbeddedOptions(
            chosen.model, lambda: find_weights(chosen.model), socket, settings.embedded, settings.limits
        )
        model = EmbeddedModel(options, SystemClock())
        try:
            with chosen.out.open("w", encoding="utf-8") as out:
                for theme in THEMES[: chosen.themes]:
                    for row in await _traces(model, theme, chance):
                        out.write(json.dumps({**row, "model": chosen.model}, ensure_ascii=False) + "\n")
                    out.flush()
                    print(theme, flush=True)
        finally:
            await model.aclose()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--themes", type=int, default=len(THEMES))
    parser.add_argument("--seed", type=int, default=1)
    asyncio.run(_run(parser.parse_args()))


if __name__ == "__main__":
    main()
