"""Recall by speaker: does a question about the mind's own earlier words find them, and one about the owner's those?

    PYTHONPATH=.:bench python bench/own_words.py [--half before|after] [--verbose] [--cache DIR] [--model DIR]

A case of bench/own_words.jsonl is a conversation about one subject: the owner's words and the mind's replies, with cues
for each. Its memory has that conversation and those of the next two cases, in a seeded shuffle, over several days. It
is queried by `Memory.recall`, as in a chat turn. Counted: how often the right turn comes first, and how often a turn of
the right exchange does, because a conversation shows both sides. The cases "before" were written before recall
distinguished speakers, those "after" when it did; the latter were run once.
"""

import argparse
import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from recall import embedder_of
from recall_data import Corpus, Item, Question, remembering, turn_ids

from reveries.llm.base import Embedder
from reveries.memory.model import RecallContext

_FILE = Path(__file__).parent / "own_words.jsonl"
_BEGINS = 1_700_000_000.0
_DAY_SECONDS, _EXCHANGE_SECONDS, _REPLY_SECONDS = 86_400.0, 90.0, 20.0
_DEPTH = 20
_TALKS = 3
"""How many cases' talk one memory holds."""


class Ask(msgspec.Struct, frozen=True):
    """A cue, whose words answer it, and in which exchange they are."""

    cue: str
    of: str
    exchange: int


class Case(msgspec.Struct, frozen=True):
    """One subject: exchanges of owner and mind, and the questions about them."""

    id: str
    half: str
    language: str
    talk: tuple[tuple[str, str], ...]
    asks: tuple[Ask, ...]


@dataclass(frozen=True, slots=True)
class Rank:
    """Rank of the answer, from 1; one more than the ranks inspected if it is not among them."""

    case: Case
    ask: Ask
    turn: int
    exchange: int
    first: str
    """The text that came first."""


def corpus_of(cases: Sequence[Case], place: int) -> Corpus:
    """Return one case mixed with others; an item's id contains case, exchange and speaker."""
    chance = random.Random(cases[place].id)
    talks = [cases[(place + step) % len(cases)] for step in range(_TALKS)]
    order = [talk for talk in talks for _ in talk.talk]
    chance.shuffle(order)
    following = {talk.id: 0 for talk in talks}
    items: list[Item] = []
    now = _BEGINS
    for talk in order:
        number = following[talk.id]
        following[talk.id] += 1
        said, reply = talk.talk[number]
        now += _EXCHANGE_SECONDS if chance.random() < 0.6 else _DAY_SECONDS * chance.uniform(1.0, 3.0)
        items.append(Item(f"{talk.id}/{number}/owner", now, "user", said))
        items.append(Item(f"{talk.id}/{number}/mind", now + _REPLY_SECONDS, "assistant", reply))
    case = cases[place]
    asked = tuple(
        Question(case.id, ask.cue, ask.cue, now + _DAY_SECONDS, (f"{case.id}/{ask.exchange}/{ask.of}",), ask.of)
        for ask in case.asks
    )
    return Corpus(case.id, tuple(items), asked)


async def ranks(cases: Sequence[Case], embedder: Embedder) -> list[Rank]:
    """Every cue asked of its memory."""
    found: list[Rank] = []
    for place, case in enumerate(cases):
        corpus = corpus_of(cases, place)
        async with remembering(corpus.items, embedder) as memory:
            ids = turn_ids(memory, corpus)
            for ask, question in zip(case.asks, corpus.questions, strict=True):
                vector = await memory.embed_cue(question.text)
                context = RecallContext(now=question.asked_at, limit=_DEPTH)
                turns = memory.live.recall(question.text, vector, context).turns
                names = [ids[entry.turn.id] for entry in turns]
                exchanges = [name.rpartition("/")[0] for name in names]
                (gold,) = question.gold
                found.append(
                    Rank(
                        case,
                        ask,
                        _place(names, gold),
                        _place(exchanges, gold.rpartition("/")[0]),
                        turns[0].turn.text if turns else "",
                    )
                )
    return found


def _place(names: Sequence[str], wanted: str) -> int:
    return names.index(wanted) + 1 if wanted in names else len(names) + 1


def report(found: Sequence[Rank]) -> str:
    """Return how often the right answer came first, as a table."""
    lines = [
        "| asked for | cues | turn first | among three | exchange first | mean of 1/rank |",
        "|---|---|---|---|---|---|",
    ]
    for of in ("mind", "owner"):
        rows = [rank for rank in found if rank.ask.of == of]
        first, three = sum(row.turn == 1 for row in rows), sum(row.turn <= 3 for row in rows)
        exchange = sum(row.exchange == 1 for row in rows)
        mean = sum(1.0 / row.turn for row in rows) / max(1, len(rows))
        lines.append(f"| the {of}'s words | {len(rows)} | {first} | {three} | {exchange} | {mean:.2f} |")
    return "\n".join(lines)


async def _run(chosen: argparse.Namespace) -> None:
    cases = [msgspec.json.decode(line, type=Case) for line in _FILE.read_text(encoding="utf-8").splitlines()]
    embedder = embedder_of(chosen.model, chosen.cache)
    try:
        for half in ("before", "after") if chosen.half is None else (chosen.half,):
            found = await ranks([case for case in cases if case.half == half], embedder)
            print(f"{half}\n{report(found)}")
            for rank in found if chosen.verbose else ():
                print(f"  {rank.ask.of:5} turn {rank.turn:2} exchange {rank.exchange:2}  {rank.ask.cue}")
                if rank.turn != 1:
                    print(f"        first: {rank.first[:90]}")
    finally:
        await embedder.aclose()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=("before", "after"))
    parser.add_argument("--verbose", action="store_true", help="a line a cue")
    parser.add_argument("--model", type=Path, help="folder of the embedder's model.onnx and tokenizer.json")
    parser.add_argument("--cache", type=Path, help="folder that keeps vectors between runs")
    asyncio.run(_run(parser.parse_args()))


if __name__ == "__main__":
    main()
