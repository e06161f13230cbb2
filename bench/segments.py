"""Segmentation of conversations: the boundaries of episodes compared with known ones.

    PYTHONPATH=.:bench python bench/segments.py --data DIR [--set locomo] [--piece 10]

Pieces of different sessions of a conversation (--piece turns on average; length and order are random with a seed) are
joined into one conversation without pauses, so that only the content shows where a new one begins. It is imported and
consolidated as in the daemon. Printed: Pk and WindowDiff (0 is perfect; the window is half the mean length of a piece)
of the episodes, of cuts at a fixed length (the mean of the pieces, which no program knows, and that of the episodes),
and of no cut at all.
"""

import argparse
import asyncio
import contextlib
import random
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from locomo_import import lines_of
from recall import embedder_of
from recall_data import Item, remembering

from reveries.llm.base import Embedder

_TURN_SECONDS = 30.0
_BEGAN = 1_700_000_000.0


def conversations(folder: Path, name: str, piece: int, chance: random.Random) -> list[tuple[list[Item], list[int]]]:
    """A long conversation for each corpus, of pieces of half to one and a half times `piece` turns, with the number of
    the piece that each of its turns is of."""
    place = folder / name if (folder / name).is_dir() else folder / "data" / name
    sessions: dict[str, dict[object, list[dict]]] = {}  # type: ignore[type-arg]  # foreign JSON
    for row in sorted(lines_of(place / "corpora.jsonl.gz"), key=lambda row: int(row["meta"]["order"])):
        sessions.setdefault(row["corpus"], {}).setdefault(row["meta"]["session"], []).append(row)
    made: list[tuple[list[Item], list[int]]] = []
    for corpus in sessions.values():
        # From the middle of a session: its beginning and its end are greetings, which would give the border away.
        lengths = [chance.randint(piece // 2, piece + piece // 2) for _ in corpus]
        long = [(rows, length) for rows, length in zip(corpus.values(), lengths, strict=True) if len(rows) > length + 3]
        pieces = [rows[2 : 2 + length] for rows, length in long]
        chance.shuffle(pieces)
        rows = [(number, row) for number, rows in enumerate(pieces) for row in rows]
        items = [
            Item(str(at), _BEGAN + at * _TURN_SECONDS, _speaker(row), _words(row)) for at, (_, row) in enumerate(rows)
        ]
        made.append((items, [number for number, _ in rows]))
    return made


def _speaker(row: dict) -> str:  # type: ignore[type-arg]
    return str(row["meta"].get("role") or row["meta"].get("speaker"))


def _words(row: dict) -> str:  # type: ignore[type-arg]
    return str(row["text"]).removeprefix(f"{row['meta'].get('speaker')}: ")


async def found_segments(items: Sequence[Item], embedder: Embedder) -> list[str]:
    """The episode of each turn."""
    async with remembering(items, embedder) as memory:
        homes = {turn.said_at: episode_id for turn, episode_id in memory.live.turns.entries()}
        return [homes[item.said_at] for item in items]


def borders(labels: Sequence[object]) -> list[int]:
    """1 where another segment begins after a turn, else 0."""
    return [int(one != other) for one, other in pairwise(labels)]


def pk(reference: Sequence[object], found: Sequence[object], window: int) -> float:
    """Return P_k: the share of pairs of turns `window` apart on which the two segmentations disagree."""
    pairs = range(len(reference) - window)
    wrong = sum((reference[at] == reference[at + window]) != (found[at] == found[at + window]) for at in pairs)
    return wrong / len(pairs)


def window_diff(reference: Sequence[object], found: Sequence[object], window: int) -> float:
    """The share of windows in which the two count another number of borders."""
    ours, theirs = borders(reference), borders(found)
    places = range(len(ours) - window + 1)
    return sum(sum(ours[at : at + window]) != sum(theirs[at : at + window]) for at in places) / len(places)


async def measure(chosen: argparse.Namespace) -> None:
    """Print a line a way of cutting."""
    rows: dict[str, list[tuple[float, float, float]]] = {}
    async with contextlib.aclosing(embedder_of(chosen.model, chosen.cache)) as embedder:
        for items, truth in conversations(chosen.data, chosen.set, chosen.piece, random.Random(chosen.seed)):
            found = await found_segments(items, embedder)
            own = max(1, round(len(found) / (1 + sum(borders(found)))))
            window = max(2, chosen.piece // 2)
            ways: dict[str, Sequence[object]] = {
                "episodes": found,
                "fixed, as long as the pieces": [at // chosen.piece for at in range(len(truth))],
                "fixed, as long as the episodes": [at // own for at in range(len(truth))],
                "no border": [0] * len(truth),
            }
            for way, labels in ways.items():
                length = len(labels) / (1 + sum(borders(labels)))
                scored = (pk(truth, labels, window), window_diff(truth, labels, window), length)
                rows.setdefault(way, []).append(scored)
    for way, scores in rows.items():
        means = [sum(column) / len(scores) for column in zip(*scores, strict=True)]
        print(f"{way:32} Pk {means[0]:.3f}  WindowDiff {means[1]:.3f}  {means[2]:.1f} turns each")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--set", default="locomo")
    parser.add_argument("--piece", type=int, default=10, help="turns of a session")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--model", type=Path, help="folder of the embedder's model.onnx and tokenizer.json")
    parser.add_argument("--cache", type=Path, help="folder that keeps vectors between runs")
    asyncio.run(measure(parser.parse_args()))


if __name__ == "__main__":
    main()
