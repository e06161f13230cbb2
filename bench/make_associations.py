"""Make reveries/memory/associations.txt: which common words mean nearly the same, by the embedder's measure.

    python bench/make_associations.py --model model.onnx --tokenizer tokenizer.json > reveries/memory/associations.txt

The words are those whole words of the tokenizer's vocabulary that recall does not pass over, one for each stem; each is
embedded alone. A line is a stem and the stems near it, each with its cosine in percent. No conversation and no question
goes into it: it says what words mean, not what anybody said.
"""

import argparse
import asyncio
import json
import re
import sys
from pathlib import Path

import numpy as np

from reveries.llm.onnx_embedding import OnnxEmbedder
from reveries.memory.lexicon import stop_words
from reveries.memory.recall.stemming import stem

LEAST_COSINE = 0.55
MOST_NEIGHBOURS = 12


def vocabulary(tokenizer: Path) -> dict[str, str]:
    """A word for each stem, the most frequent one (the vocabulary stands in order of frequency)."""
    ids = json.loads(tokenizer.read_text(encoding="utf-8"))["model"]["vocab"]
    chosen: dict[str, str] = {}
    for word in sorted(ids, key=ids.__getitem__):
        if re.fullmatch(r"[a-z]{3,}", word) and word not in stop_words():
            chosen.setdefault(stem(word), word)
    return chosen


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    given = parser.parse_args()
    words = vocabulary(given.tokenizer)
    embedder = OnnxEmbedder(given.model, given.tokenizer)
    vectors = await embedder.embed(list(words.values()))
    await embedder.aclose()
    stems = list(words)
    for place, name in enumerate(stems):
        cosines = vectors @ vectors[place]
        cosines[place] = -1.0
        near = [at for at in np.argsort(-cosines)[:MOST_NEIGHBOURS] if cosines[at] >= LEAST_COSINE]
        if near:
            sys.stdout.write(
                " ".join([name, *(f"{stems[at]} {round(100 * float(cosines[at]))}" for at in near)]) + "\n"
            )


if __name__ == "__main__":
    asyncio.run(main())
