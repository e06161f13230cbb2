"""Generate reveries/safety/word_order.npz: how often classes of English words are adjacent.

    PYTHONPATH=. python bench/word_order.py --out reveries/safety/word_order.npz FOLDER...

The text is the prose of Python files and package descriptions in FOLDER. The shipped table was generated from the
docstrings of the standard library and of the libraries in the development environment (MIT, BSD, Apache, PSF and the
like), 115,000 sentences, and from the texts of this repository, which are closer to conversation and count twenty
times. Only counts of word classes are kept. No evaluation data is read.
"""

import argparse
import ast
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from small_talk import REPLIED, SAID

from reveries.safety.word_order import CAPITAL, OTHER, SCALE, TOKEN, class_of
from tests.safety.prose import DIALOGUE, THOUGHT

_SENTENCE = re.compile(r"[A-Z][^.!?\n\[\]<>{}|=_\\/@#*`$~^+]{15,300}[.!?](?=\s|$)")
_CLASSES = 450
_OWN_TIMES = 20
_TOP_WORDS = 330
_LIMIT = 4.0
# Words of talk, which are rare in documentation.
_TALK = (
    "i i'm i've i'll i'd you you're you've your yours me my mine myself we we're we've our us he he's his him she "
    "she's her they they're them their it it's its that's what's who's there's here's let's don't didn't doesn't "
    "isn't wasn't aren't weren't can't couldn't won't wouldn't haven't hasn't hadn't shouldn't yes no not never "
    "always often just really very so too also even still again about after before during while because since "
    "though although until unless whether could would should might must may shall will can had has have having "
    "been being was were am did does do done go going goes went gone come came coming get got getting make made "
    "making take took taken say said says tell told think thought know knew known see saw seen look looking want "
    "wanted need feel felt like good great new old more most much many some any every each all both other another "
    "such own same first last next here there now then today yesterday tomorrow up down out off over under around "
    "through across into onto from with without within between among against toward upon how why when where which "
    "who whom whose what something anything nothing everything someone anyone"
)


def sentences_of(folder: Path) -> Iterator[str]:
    """Prose in the docstrings of the Python files and in the descriptions of the packages under `folder`."""
    for file in sorted(folder.rglob("*.py")):
        try:
            module = ast.parse(file.read_text(encoding="utf-8", errors="ignore"))
        except (SyntaxError, ValueError):
            continue
        for node in ast.walk(module):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield from _prose(ast.get_docstring(node) or "")
    for file in sorted(folder.rglob("METADATA")):
        yield from _prose(file.read_text(encoding="utf-8", errors="ignore"))


def _prose(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", text):
        for sentence in _SENTENCE.findall(" ".join(paragraph.split())):
            words = sentence.split()
            plain = sum(word.strip(".,;:!?()'\"").isalpha() for word in words)
            if len(words) >= 6 and plain >= 0.8 * len(words):
                yield sentence


def own_sentences(root: Path) -> list[str]:
    """What this repository has of plain prose and talk."""
    talk = [re.sub(r"^\w+: ", "", line) for line in (DIALOGUE + THOUGHT).splitlines()]
    talk += [re.sub(r"\{\w+\}", "it", line) for line in (*SAID, *REPLIED)]
    pages = [*sorted((root / "docs").rglob("*.md")), *sorted((root / "reveries" / "prompts").glob("*.md"))]
    for page in pages:
        for paragraph in page.read_text(encoding="utf-8").split("\n\n"):
            if not {"|", "`"} & set(paragraph):
                talk += re.findall(r"[A-Z][^.!?]{15,300}[.!?]", " ".join(paragraph.split()))
    return talk


def table_of(sentences: Sequence[str]) -> tuple[list[str], NDArray[np.int8]]:
    """The classes, and their table."""
    seen = Counter(word.lower() for line in sentences for word in TOKEN.findall(line) if word[0].isalpha())
    known = dict.fromkeys({word for word, _ in seen.most_common(_TOP_WORDS)} | set(_TALK.split()), 0)
    texts = [" ".join(sentences[at : at + 4]) for at in range(0, len(sentences), 4)]
    named = [[class_of(token, known) for token in TOKEN.findall(text)] for text in texts]
    often = Counter(name for names in named for name in names).most_common(_CLASSES)
    classes = sorted({name for name, _ in often} | {OTHER, f"{CAPITAL}-"})
    places = {name: place for place, name in enumerate(classes)}
    rest = (places[OTHER], places[f"{CAPITAL}-"])
    counts = np.zeros((len(classes), len(classes)))
    for names in named:
        row = [places.get(name, rest[name.startswith(CAPITAL)]) for name in names]
        np.add.at(counts, (row[:-1], row[1:]), 1.0)
    by_chance = np.outer(counts.sum(1), counts.sum(0)) / counts.sum()
    more = np.clip(np.log((counts + 1.0) / (by_chance + 1.0)), -_LIMIT, _LIMIT)
    return classes, np.rint(SCALE * more).astype(np.int8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("folders", type=Path, nargs="+")
    chosen = parser.parse_args()
    found = list(dict.fromkeys(sentence for folder in chosen.folders for sentence in sentences_of(folder)))
    random.Random(0).shuffle(found)
    classes, pairs = table_of(found + _OWN_TIMES * own_sentences(Path(__file__).parents[1]))
    np.savez_compressed(chosen.out, classes=np.array(" ".join(classes)), pairs=pairs)
    print(f"{len(found)} sentences, {len(classes)} classes, {chosen.out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
