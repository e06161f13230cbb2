"""Ask a diary of one generated sentence a day for the days of a random draw, each in many forms that name its date.

    PYTHONPATH=.:bench python bench/diary.py [--model FOLDER] [--seed 3]

The memory is the daemon's own, built by its import and light sleep. A day counts if its
sentence is among the first five.
"""

import argparse
import asyncio
import datetime as dt
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from recall import embedder_of, rank
from recall_data import Item, Question, remembering

from reveries.llm.base import Embedder
from reveries.memory.memory import Memory

_FIRST: Final = dt.datetime(2026, 2, 1, 18, 30)
_ASKED: Final = dt.datetime(2026, 11, 27, 12)
_DAYS: Final = 295
_DRAWN: Final = 25
_DEPTH: Final = 5
_DONE: Final = (
    "repaired",
    "painted",
    "sold",
    "bought",
    "cleaned",
    "planted",
    "borrowed",
    "measured",
    "lost",
    "carried",
)
_THINGS: Final = (
    "the garden gate", "a box of pears", "the piano stool", "two oak planks", "a blue kayak", "a pair of skates",
    "three rose bushes", "a copper kettle", "a crate of tiles", "a wool blanket", "the chess set", "a jar of honey",
)  # fmt: skip
_PLACES: Final = ("before lunch", "with my cousin", "at the market", "in the rain", "after work", "near the canal")
_FORMS: Final[dict[str, Callable[[dt.date], str]]] = {
    "day and month": lambda day: f"What did I do on {day.day} {day:%B}?",
    "month, day, year": lambda day: f"What happened on {day:%B} {day.day}, {day.year}?",
    "ISO": lambda day: f"What did I do on {day.isoformat()}?",
    "figures": lambda day: f"What was I up to on {day.day}/{day.month}?",
    "days ago": lambda day: f"What did I do {(_ASKED.date() - day).days} days ago?",
    "weekday and ordinal": lambda day: f"Anything special on {day:%A}, the {_ordinal(day.day)} of {day:%B}?",
    "German": lambda day: f"Was habe ich am {day.day}.{day.month}. gemacht?",
    "no question mark": lambda day: f"Tell me about {day:%B} {day.day}",
    "the week": lambda day: f"What did I do in the week of {day.day} {day:%b}?",
    "German without the last point": lambda day: f"Was war am {day.day}.{day.month}?",
    "German with blanks": lambda day: f"Was war am {day.day}. {day.month}. {day.year} los?",
    "Dutch": lambda day: f"Wat heb ik op {day.day}-{day.month} gedaan?",
    "short year": lambda day: f"What did I do on {day.day} {day:%b} {day:%y}?",
    "weekday some weeks ago": lambda day: f"What did I do on {day:%A}{_weeks_ago(day)}?",
}


def _ordinal(number: int) -> str:
    return f"{number}{'th' if 4 <= number % 100 <= 20 else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def _weeks_ago(day: dt.date) -> str:
    """Return how many weeks `day` is before the last such weekday that has been, in words; empty for none."""
    weeks = (_ASKED.date() - day).days // 7
    return f" {weeks} weeks ago" if weeks else ""


def made_diary(seed: int) -> list[Item]:
    """Return one sentence a day, none twice."""
    chance = random.Random(seed)
    sentences = [f"I {done} {thing} {place}." for done in _DONE for thing in _THINGS for place in _PLACES]
    return [
        Item(str(number), (_FIRST + dt.timedelta(days=number)).timestamp(), "user", text)
        for number, text in enumerate(chance.sample(sentences, _DAYS))
    ]


async def ask_form(memory: Memory, items: Sequence[Item], form: Callable[[dt.date], str]) -> list[int]:
    """Return the rank of each day's sentence, from 1; one past the depth if it is not among the first."""
    ranks: list[int] = []
    texts = {turn.id: turn.text for turn, _ in memory.live.turns.entries()}
    for item in items:
        text = form(dt.datetime.fromtimestamp(item.said_at).date())
        question = Question("diary", item.id, text, _ASKED.timestamp(), (item.id,), "")
        ranked = [texts[name] for name in await rank(memory, question, "reveries", _DEPTH)]
        ranks.append(ranked.index(item.text) + 1 if item.text in ranked else _DEPTH + 1)
    return ranks


async def measure(chosen: argparse.Namespace, embedder: Embedder) -> None:
    """Build the memory, ask, print one line a form."""
    items = made_diary(chosen.seed)
    drawn = random.Random(chosen.seed).sample(items[:-1], _DRAWN)
    async with remembering(items, embedder) as memory:
        for name, form in _FORMS.items():
            ranks = await ask_form(memory, drawn, form)
            first, among = sum(place == 1 for place in ranks), sum(place <= _DEPTH for place in ranks)
            print(f"{name}: first {first}, among the first {_DEPTH} {among} of {_DRAWN}", flush=True)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, help="folder of the embedder's model.onnx and tokenizer.json")
    parser.add_argument("--seed", type=int, default=3)
    chosen = parser.parse_args()
    embedder = embedder_of(chosen.model, None)
    try:
        await measure(chosen, embedder)
    finally:
        await embedder.aclose()


if __name__ == "__main__":
    asyncio.run(main())
