"""Turn one conversation of LoCoMo-like evaluation data into the import format of `reveries import`.

    python bench/locomo_import.py --data DIR --conversation conv-26 > conv-26.jsonl

DIR holds `data/locomo/corpora.jsonl.gz` with one turn a line: `corpus`, `id`, `text` ("Speaker: words"), `meta.time`
(ISO 8601), `meta.speaker`, `meta.order`. LoCoMo itself is public (snap-research/locomo, CC BY-NC 4.0).
"""

import argparse
import gzip
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class EvalTurn:
    """One turn of the data, with the id that its questions name."""

    id: str
    time: str
    speaker: str
    text: str


def eval_turns(data: Path, conversation: str, name: str = "locomo") -> list[EvalTurn]:
    """The turns of one conversation in their order, without the speaker's name before the words."""
    items = [item for item in lines_of(data / "data" / name / "corpora.jsonl.gz") if item["corpus"] == conversation]
    items.sort(key=lambda item: item["meta"]["order"])
    return [
        EvalTurn(
            id=item["id"],
            time=item["meta"]["time"],
            speaker=item["meta"]["speaker"],
            text=item["text"].removeprefix(f"{item['meta']['speaker']}: "),
        )
        for item in items
    ]


def lines_of(file: Path) -> Iterator[dict]:  # type: ignore[type-arg]  # foreign JSON
    """The objects of a gzipped JSON-lines file."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--conversation", required=True)
    chosen = parser.parse_args()
    turns = eval_turns(chosen.data, chosen.conversation)
    if not turns:
        sys.exit(f"There is no conversation {chosen.conversation} in {chosen.data}.")
    for turn in turns:
        print(json.dumps({"time": turn.time, "speaker": turn.speaker, "text": turn.text}, ensure_ascii=False))


if __name__ == "__main__":
    main()
