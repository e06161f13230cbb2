"""Contradictions in project knowledge: are pairs found without a model, and does a search return the newer value?

    python bench/contradictions.py --data DIR [--cache DIR] [--seed 1] [--part made|beam|facts|passages]

Four parts. Made pairs (contradiction_pairs.py) and BEAM's labelled pairs: whether one side is among the candidates
that the other is compared with when it is stored. And 200 facts of musique and twowiki, changed by this script (another
year or name in a sentence of a passage): the old passage is stored, then the new statement, half of them as a sentence
and half as the revised passage. The newer value counts as returned if the first chunk with either value has the new
one. 150 are queried by the beginning of the sentence, 50 by a question of the set that reaches the passage through
another one. And twowiki's passages as they are, none of which replaces another: how many pairs are settled by rule
(each wrongly), and how many are shown as unverified.
"""

import argparse
import asyncio
import itertools
import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from contradiction_pairs import made_talks
from knowledge import a_project, chunk_of, fill
from locomo_import import lines_of
from recall import embedder_of
from recall_data import Corpus, Question, corpora

from reveries.knowledge.project_index import ProjectIndex
from reveries.knowledge.project_knowledge import COMPARED
from reveries.knowledge.search import FLOORS
from reveries.knowledge.store import names_of
from reveries.llm.base import Embedder, Vectors

_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_VALUE = re.compile(
    r"^(?P<before>.{12,160}?\b(?:was|is|were|are)\b.{0,80}?\b(?:in|by|of|at|from) )"
    r"(?P<value>1[5-9]\d\d|20[01]\d|[A-Z][a-z]+(?: [A-Z][a-z]+){0,2})(?P<after>[ ,.].*)$"
)
_SHOWN = 10
_READ_CHARS = 1000
"""Of a message: an embedder reads no further than 256 tokens."""
_BATCH = 200
_SINGLE, _DOUBLE = 150, 50


@dataclass(frozen=True, slots=True)
class ChangedFact:
    """A sentence of a passage with another value."""

    item: int
    sentence: str
    before: str
    old: str
    new: str
    question: str

    @property
    def new_sentence(self) -> str:
        return self.sentence.replace(self.before + self.old, self.before + self.new, 1)


def facts_in(corpus: Corpus) -> Iterator[tuple[int, str, str, str]]:
    """Yield item, sentence, text before the value, and value: the first of each passage."""
    for place, item in enumerate(corpus.items):
        _, _, text = item.text.partition("\n")
        for sentence in _SENTENCE.split(text):
            if found := _VALUE.match(sentence):
                yield place, sentence, found["before"], found["value"]
                break


def changed_facts(corpus: Corpus, chance: random.Random, single: int, double: int) -> list[ChangedFact]:
    """Facts with another value of their kind; those of two steps have a question of the set that does not name them."""
    every = list(facts_in(corpus))
    values = {kind: [value for *_, value in every if value[0].isdigit() == kind] for kind in (True, False)}
    places = {item.id: place for place, item in enumerate(corpus.items)}
    asked: dict[int, Question] = {}
    for question in corpus.questions:
        for name in question.gold:
            title = corpus.items[places[name]].text.partition("\n")[0]
            if len(question.gold) > 1 and title.split("(")[0].strip().lower() not in question.text.lower():
                asked.setdefault(places[name], question)
    chance.shuffle(every)
    found: list[ChangedFact] = []
    for wanted, is_double in ((double, True), (single, False)):
        fitting = [one for one in every if (one[0] in asked) == is_double][:wanted]
        for place, sentence, before, value in fitting:
            new = chance.choice([one for one in values[value[0].isdigit()] if one != value])
            found.append(ChangedFact(place, sentence, before, value, new, asked[place].text if is_double else before))
    return found


async def measure_set(corpus: Corpus, embedder: Embedder, facts: Sequence[ChangedFact]) -> dict[str, list[bool]]:
    """Return for each question, by kind, whether the new value ranks first."""
    came: dict[str, list[bool]] = {"one step": [], "two steps": []}
    async with a_project(embedder) as (knowledge, _):
        await fill(knowledge, [chunk_of(item.text) for item in corpus.items])
        news = []
        for number, fact in enumerate(facts):
            title, _, text = corpus.items[fact.item].text.partition("\n")
            told = fact.new_sentence if number % 2 else text.replace(fact.sentence, fact.new_sentence, 1)
            news.append(chunk_of(f"{title}\n{told}"))
        for one in news:
            await knowledge.store("p", [one])
        settled = await knowledge.contradictions("p", unresolved_only=False)
        print(f"{corpus.name}: {len(facts)} facts changed, {len(settled)} contradictions found by rule or likeness")
        for fact, one in zip(facts, news, strict=True):
            found = await knowledge.search.hybrid("p", fact.question, _SHOWN, is_counted=False)
            old_text = corpus.items[fact.item].text.partition("\n")[2]
            first = next((two.chunk.content for two in found if two.chunk.content in (old_text, one.content)), None)
            kind = "one step" if fact.question == fact.before else "two steps"
            came[kind].append(first == one.content)
    return came


RULES = {
    "ten nearest": (COMPARED, False, False),
    "twenty nearest": (2 * COMPARED, False, False),
    "ten nearest and those about the same name": (COMPARED, True, False),
    "these and ten that share most with one sentence": (COMPARED, True, True),
}
"""How many of the nearest are candidates, whether those about the same name are, and those alike in one sentence."""


SIDES = ("first_statement", "second_statement")


async def candidate_share(folder: Path, embedder: Embedder) -> dict[str, list[bool]]:
    """BEAM's pairs, by rule: whether one side is among those that the other is compared with when it is stored."""
    questions = {
        (row["corpus"], row["qid"]): row["pairs"]
        for row in lines_of(folder / "data" / "beam" / "queries.jsonl.gz")
        if row.get("pairs") and "first_statement" in row["pairs"]
    }
    held: dict[str, list[bool]] = {rule: [] for rule in RULES}
    for corpus in corpora(folder, "beam"):
        pairs = [pair for (name, _), pair in questions.items() if name == corpus.name]
        if not pairs:
            continue
        place = {item.id: number for number, item in enumerate(corpus.items)}
        last = max(place[one] for pair in pairs for side in SIDES for one in pair[side])
        stored = await StoredTexts.embed([item.text for item in corpus.items[: last + 1]], embedder)
        for pair in pairs:
            firsts, seconds = ({place[one] for one in pair[side]} for side in SIDES)
            for rule in RULES:
                held[rule].append(
                    any(firsts & stored.candidates_of(one, rule) for one in seconds)
                    or any(seconds & stored.candidates_of(one, rule) for one in firsts)
                )
    return held


async def measure_made_pairs(embedder: Embedder) -> None:
    """The made pairs, by rule: contradicting ones and ones that only look alike, and the number of candidates."""
    held: dict[str, dict[str, int]] = {rule: {"contradicting": 0, "alike": 0, "candidates": 0} for rule in RULES}
    for talk in made_talks():
        stored = await StoredTexts.embed(talk.messages, embedder)
        for rule, (kind, pairs) in itertools.product(
            RULES, (("contradicting", talk.contradicting), ("alike", talk.alike))
        ):
            for earlier, later in pairs:
                found = stored.candidates_of(later, rule)
                held[rule][kind] += earlier in found
                held[rule]["candidates"] += len(found)
    for rule, counts in held.items():
        print(f"made, {rule}: {counts}")


@dataclass(frozen=True, slots=True)
class StoredTexts:
    """Texts in the order in which they are stored."""

    texts: Sequence[str]
    vectors: Vectors
    names: Sequence[Sequence[str]]

    @classmethod
    async def embed(cls, texts: Sequence[str], embedder: Embedder) -> "StoredTexts":
        read = [text[:_READ_CHARS] for text in texts]
        parts = [await embedder.embed(read[start : start + _BATCH]) for start in range(0, len(read), _BATCH)]
        return cls(texts, np.concatenate(parts), [names_of("", text) for text in texts])

    def candidates_of(self, place: int, rule: str) -> set[int]:
        """The places of the earlier texts that one is compared with when it is stored."""
        index = ProjectIndex(self.vectors.shape[1])
        index.add(
            [
                {
                    "id": str(number), "number": number + 1, "title": "", "content": self.texts[number],
                    "names": json.dumps(self.names[number]), "vector": self.vectors[number].astype("<f4").tobytes(),
                    "is_hidden": 0,
                }
                for number in range(place)
            ]
        )  # fmt: skip
        count, with_names, with_sentences = RULES[rule]
        names = self.names[place] if with_names else ()
        content = self.texts[place] if with_sentences else ""
        floor = FLOORS["all-minilm-l6-v2"]
        return {int(name) for name, _ in index.likest(self.vectors[place], count, floor, names, content)}


async def measure_facts(chosen: argparse.Namespace, embedder: Embedder) -> None:
    whole: dict[str, list[bool]] = {}
    for name, single, double in (("musique", _SINGLE // 2, _DOUBLE // 2), ("twowiki", _SINGLE // 2, _DOUBLE // 2)):
        [corpus] = corpora(chosen.data, name)
        facts = changed_facts(corpus, random.Random(chosen.seed), single, double)
        for kind, came in (await measure_set(corpus, embedder, facts)).items():
            whole.setdefault(kind, []).extend(came)
    for kind, came in whole.items():
        print(f"{kind}: the newer value answers in {sum(came)} of {len(came)}")


async def measure_passages(folder: Path, embedder: Embedder) -> None:
    [corpus] = corpora(folder, "twowiki")
    async with a_project(embedder) as (knowledge, _):
        passages = len(await fill(knowledge, [chunk_of(item.text) for item in corpus.items]))
        found = await knowledge.contradictions("p", unresolved_only=False)
    unverified = sum(one.is_open for one in found)
    print(f"{passages} passages: {len(found) - unverified} pairs settled by rule, {unverified} shown as unverified")


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", choices=("facts", "beam", "made", "passages"))
    chosen = parser.parse_args()
    embedder = embedder_of(chosen.model, chosen.cache)
    if chosen.part in (None, "made"):
        await measure_made_pairs(embedder)
    if chosen.part in (None, "facts"):
        await measure_facts(chosen, embedder)
    if chosen.part in (None, "beam"):
        for rule, held in (await candidate_share(chosen.data, embedder)).items():
            print(f"BEAM, {rule}: {sum(held)} of {len(held)} marked pairs are among the candidates")
    if chosen.part in (None, "passages"):
        await measure_passages(chosen.data, embedder)
    await embedder.aclose()


if __name__ == "__main__":
    asyncio.run(main())
