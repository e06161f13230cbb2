"""Generate our own test sets in the format of bench/detect.py, from bench/safety and a seed; deterministic.

PYTHONPATH=.:bench python bench/safety_sets.py --out FOLDER [--seed N]

loops       inserted loops in talk: one to forty words repeated, word for word or with a changing number or word;
            A, B, A, B; against talk of the same length without a loop
paraphrase  thoughts that repeat themselves in other words: six hand-written wordings of a thing in any order, A and B
            in turn, and those of a small model (traces.jsonl); against thoughts that progress
traces      thoughts of the default model about 31 themes (traces_default.jsonl): one thing repeated in its own words,
            or a new one in each sentence; nothing was developed or tuned on these
mind        thoughts of five sentences in distress, from the held-out half of mind.txt; against calm ones
mind_kinds  each sentence of that half by itself
crisis      bench/safety/crisis.jsonl, and crisis_other.jsonl, written by someone who has not seen the rules
"""

import argparse
import json
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from safety_learn import DISTRESS, halves, traces
from small_talk import REPLIED, SAID
from word_order import own_sentences

FOLDER = Path(__file__).parent / "safety"
Row = dict[str, object]
_LOOPS = 600
_ROUNDS = 8


def loops(chance: random.Random) -> Iterator[Row]:
    """Talk that begins to loop, and talk that does not. `begins` is where the first round ends, in characters."""
    talk = [re.sub(r"\{\w+\}", "it", line) for line in (*SAID, *REPLIED)]
    talk += [line for line in own_sentences(FOLDER.parents[1]) if "*" not in line]
    for at in range(_LOOPS):
        before = " ".join(chance.sample(talk, chance.randint(0, 4)))
        words = " ".join(chance.sample(talk, 5)).split()
        length = chance.choice((1, 2, 3, 5, 8, 13, 21, 34, 40))
        first = chance.randint(0, len(words) - length) if len(words) > length else 0
        round_ = words[first : first + length]
        kind = ("verbatim", "number", "word")[at % 3] if length >= 8 else "verbatim"
        rounds = [" ".join(_changed(round_, kind, turn, chance, words)) for turn in range(_ROUNDS + 8 // length)]
        text = f"{before} {' '.join(rounds)}".strip()
        begins = len(f"{before} {rounds[0]}".strip())
        yield {"text": text, "label": 1, "kind": f"loop_{kind}", "begins": begins, "round": len(rounds[0]) + 1}
        yield {"text": " ".join(chance.sample(talk, chance.randint(3, 16))), "label": 0, "kind": "talk"}


def _changed(words: Sequence[str], kind: str, turn: int, chance: random.Random, others: Sequence[str]) -> list[str]:
    if kind == "number":
        return [*words, f"({turn + 1})"]
    if kind == "word" and turn:
        place = chance.randrange(len(words))
        return [*words[:place], chance.choice(others), *words[place + 1 :]]
    return list(words)


def paraphrase(chance: random.Random) -> Iterator[Row]:
    """Yield thoughts that loop in other words, and thoughts that do not."""
    lines = (FOLDER / "rewordings.txt").read_text(encoding="utf-8")
    groups = [[one for one in group.splitlines() if one and one[0] != "#"] for group in lines.split("\n\n")]
    made = traces()
    fresh = [re.split(r"(?<=[.!?])\s+", str(one["text"])) for one in made if one["kind"] == "model_fresh"]
    for at, group in enumerate(groups):
        other = groups[(at + 5) % len(groups)]
        for _ in range(5):
            said = [*chance.choice(fresh)[:3], *chance.sample(group, len(group))]
            yield {"text": " ".join(said), "label": 1, "kind": "by_hand"}
        for _ in range(3):
            pairs = zip(chance.sample(group, 5), chance.sample(other, 5), strict=True)
            said = [*chance.choice(fresh)[:2], *(one for pair in pairs for one in pair)]
            yield {"text": " ".join(said), "label": 1, "kind": "by_hand_abab"}
    for trace in made:
        if trace["label"] is not None:
            yield {"text": trace["text"], "label": trace["label"], "kind": trace["kind"]}
    for _ in range(200):
        said = [chance.choice(group) for group in chance.sample(groups, 12)]
        yield {"text": " ".join(said), "label": 0, "kind": "one_of_each"}


def default_traces(_: random.Random) -> Iterator[Row]:
    """Yield thoughts of the default model whose label follows from how they were generated."""
    for line in (FOLDER / "traces_default.jsonl").read_text(encoding="utf-8").splitlines():
        trace = json.loads(line)
        if trace["label"] is not None:
            yield {"text": trace["text"], "label": trace["label"], "kind": trace["kind"]}


def mind(chance: random.Random) -> Iterator[Row]:
    """Thoughts of five sentences from the held-out half."""
    _, held_out = halves("mind.txt")
    for label in (1, 0):
        said = [text for kind, text in held_out if (kind in DISTRESS) == bool(label)]
        for _ in range(300):
            yield {"text": " ".join(chance.sample(said, 5)), "label": label, "kind": "distress" if label else "other"}


def mind_kinds(_: random.Random) -> Iterator[Row]:
    """The held-out half, a sentence a row."""
    for kind, text in halves("mind.txt")[1]:
        yield {"text": text, "label": int(kind in DISTRESS), "kind": kind}


def crisis(_: random.Random) -> Iterator[Row]:
    """Yield the rows written together with the rules, and the others."""
    for name in ("crisis.jsonl", "crisis_other.jsonl"):
        file = FOLDER / name
        for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else []:
            row = json.loads(line)
            yield {**row, "kind": f"{file.stem}: {row['kind']}"}


SETS = {
    "loops": loops,
    "paraphrase": paraphrase,
    "traces": default_traces,
    "mind": mind,
    "mind_kinds": mind_kinds,
    "crisis": crisis,
}


def write_sets(folder: Path, seed: int) -> None:
    """All of them, as FOLDER/NAME.jsonl."""
    for name, make in SETS.items():
        rows = (json.dumps(row, ensure_ascii=False) + "\n" for row in make(random.Random(f"{name} {seed}")))
        (folder / f"{name}.jsonl").write_text("".join(rows), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=20261121)
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    write_sets(chosen.out, chosen.seed)


if __name__ == "__main__":
    main()
