"""Quality of deep sleep's summaries of real conversations: how much in them was never said, judged by code only.

    python bench/summaries.py --data DIR --draw 12 --seed 1 --answers /tmp/dev.jsonl     # ask the model, then judge
    python bench/summaries.py --data DIR --draw 12 --seed 1 --answers /tmp/dev.jsonl --judge-only

DIR has `data/locomo/corpora.jsonl.gz` (see bench/locomo_import.py). A seeded sample of its exchanges is used: what one
speaker said and the other's answer, as in an import. The model's raw answers are stored in the file `--answers`, so
that they can be judged again; validation runs when they are read.
An invention is a name, number or date in the summary (or in a fact about the owner) that is neither in the exchange nor
in the self-model in the prompt. The judge knows English and shares no code with what it judges.
"""

import argparse
import asyncio
import json
import random
import re
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
from locomo_import import eval_turns, lines_of
from parallel_model import ParallelModel, parallel_model

from reveries.config import load_settings
from reveries.errors import ModelAnswerError
from reveries.index.terms import words_of
from reveries.llm.structured import ask_structured
from reveries.memory.model import Experience, ExperienceKind, Origin, SelfModel, Turn
from reveries.memory.sleep.questions import (
    Abstraction,
    Asker,
    DeepAnswer,
    SelfAnswer,
    check_deep_answer,
    check_self_answer,
    deep_question,
    self_question,
    tidy_line,
)
from reveries.memory.sleep.self_model_changes import trusted_words
from reveries.memory.text.entities import entities_of
from reveries.memory.text.extracts import summary_of

MIND = "Reverie"
_SHORTEST_CHARS = 160
"""An exchange of fewer has nothing to sum up."""
_NUMBER_WORDS = {
    "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9",
    "ten": "10", "eleven": "11", "twelve": "12", "thirteen": "13", "fourteen": "14", "fifteen": "15",
    "sixteen": "16", "seventeen": "17", "eighteen": "18", "nineteen": "19", "twenty": "20", "thirty": "30",
    "forty": "40", "fifty": "50", "hundred": "100", "thousand": "1000",
}  # fmt: skip
_DATE_WORDS = frozenset(
    ["january", "february", "march", "april", "june", "july", "august", "september", "october", "november",
     "december", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "yesterday",
     "tomorrow", "tonight", "today"]
)  # fmt: skip
_DIGITS = re.compile(r"\d+(?:[.,:]\d+)*")


class Answers(msgspec.Struct):
    """The answers of the model about one exchange; None where none could be used."""

    key: str
    deep: DeepAnswer | None
    about_self: SelfAnswer | None


@dataclass(frozen=True, slots=True)
class Drawn:
    """One exchange of the data as deep sleep meets it."""

    key: str
    owner: str
    turns: tuple[Turn, ...]

    @property
    def source(self) -> str:
        """Return the text that the model was shown, with the names it was given."""
        said = "\n".join(f"{turn.speaker}: {turn.text}" for turn in self.turns)
        return f"{self.owner} {MIND}\n{said}"

    @property
    def experience(self) -> Experience:
        content = "\n\n".join(f"{turn.speaker}: {turn.text}" for turn in self.turns)
        return Experience(
            self.key, ExperienceKind.CONVERSATION, self.turns[0].said_at, content, 0.5, 0.0, Origin.OWNER, tainted=True,
            conversation_id="c",
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Inventions:
    """Names and numbers of a text that are not in its source."""

    names: tuple[str, ...]
    numbers: tuple[str, ...]
    dates: tuple[str, ...]

    @property
    def all(self) -> tuple[str, ...]:
        return (*self.names, *self.numbers, *self.dates)


def inventions(text: str, source: str) -> Inventions:
    """Names, numbers and dates of `text` of which `source` has no trace. Pure."""
    said = set(words_of(source))
    return Inventions(_new_names(text, said), _new_numbers(text, source), _new_dates(text, said))


def _new_names(text: str, said: set[str]) -> tuple[str, ...]:
    names = (name for name in entities_of(text) if not _DIGITS.search(name))
    return tuple(name for name in names if any(word not in said and word not in _DATE_WORDS for word in words_of(name)))


def _new_numbers(text: str, source: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one for one in _numbers(text) if one not in set(_numbers(source))))


def _numbers(text: str) -> list[str]:
    digits = [match.replace(",", "") for match in _DIGITS.findall(text)]
    return digits + [_NUMBER_WORDS[word] for word in words_of(text) if word in _NUMBER_WORDS]


def _new_dates(text: str, said: set[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for word in words_of(text) if word in _DATE_WORDS and word not in said))


def drawn(data: Path, count: int, seed: int) -> list[Drawn]:
    """`count` exchanges of the data, by a seeded draw over all conversations."""
    names = sorted({item["corpus"] for item in lines_of(data / "data" / "locomo" / "corpora.jsonl.gz")})
    every: list[Drawn] = []
    for name in names:
        turns = eval_turns(data, name)
        owner = turns[0].speaker
        for one, other in zip(turns[::2], turns[1::2], strict=False):
            if one.time != other.time or len(one.text) + len(other.text) < _SHORTEST_CHARS:
                continue
            said = tuple(
                Turn(f"{name}-{turn.id}", "c", None, place,
                     Origin.OWNER if turn.speaker == owner else Origin.DOCUMENT, turn.speaker, turn.text, 0.0)
                for place, turn in enumerate((one, other))
            )  # fmt: skip
            every.append(Drawn(f"{name}/{one.id}", owner, said))
    return random.Random(seed).sample(every, count)


async def answer(model: ParallelModel, one: Drawn) -> Answers:
    """Ask the questions of deep sleep about one exchange."""
    asker = Asker(one.owner, MIND, SelfModel())
    question = deep_question(asker, one.turns)
    try:
        deep = await ask_structured(model, question, DeepAnswer, question.schema)
    except ModelAnswerError:
        return Answers(one.key, None, None)
    words = trusted_words(one.experience, one.turns)
    about_self = None
    if words and check_deep_answer(deep, one.turns).salience > load_settings(None).memory.self_model_salience:
        question = self_question(asker, words)
        try:
            about_self = await ask_structured(model, question, SelfAnswer, question.schema)
        except ModelAnswerError:
            about_self = None
    return Answers(one.key, deep, about_self)


async def ask_all(chosen: argparse.Namespace, every: Sequence[Drawn]) -> None:
    """Ask about the exchanges that the file lacks, and write each answer at once."""
    known = set(read_answers(chosen.answers))
    waiting = [one for one in every if one.key not in known]
    gate = asyncio.Semaphore(chosen.slots)
    async with parallel_model(chosen.model, slots=chosen.slots, threads=chosen.threads) as model:

        async def work(one: Drawn) -> None:
            async with gate:
                found = await answer(model, one)
            with chosen.answers.open("ab") as file:
                file.write(msgspec.json.encode(found) + b"\n")

        async with asyncio.TaskGroup() as tasks:
            for one in waiting:
                tasks.create_task(work(one), name=f"ask-{one.key}")


def read_answers(file: Path) -> dict[str, Answers]:
    """Return the answers in the file, by key."""
    if not file.exists():
        return {}
    found = (msgspec.json.decode(line, type=Answers) for line in file.read_bytes().splitlines() if line.strip())
    return {one.key: one for one in found}


def report(every: Sequence[Drawn], answers: dict[str, Answers], *, checked: bool, show: bool) -> dict[str, object]:
    """The figures of the answers as the model gave them, or as they are `checked`; with `show` each goes to the
    terminal."""
    extracts = 0
    summaries, facts, saliences = list[Inventions](), list[Inventions](), list[float]()
    for one in every:
        said = answers.get(one.key)
        if said is None or said.deep is None:
            continue
        asker = Asker(one.owner, MIND, SelfModel())
        made = check_deep_answer(said.deep, one.turns, (), asker) if checked else _unchecked(said.deep, one)
        found = inventions(made.summary, one.source)
        extracts += made.summary == summary_of(one.turns)
        summaries.append(found)
        saliences.append(made.salience)
        if show:
            print(f"\n{one.source}\n  -> {made.salience} {made.summary}\n  invented: {found.all}")
        about = said.about_self or SelfAnswer()
        about = check_self_answer(about, trusted_words(one.experience, one.turns), asker) if checked else about
        for fact in about.owner_facts:
            facts.append(inventions(fact, one.source))
            if show:
                print(f"  fact: {fact}  invented: {facts[-1].all}")
    return {
        "summaries": len(summaries),
        "with an invention": sum(bool(one.all) for one in summaries),
        "extracts in their place": extracts,
        "invented names": sum(len(one.names) for one in summaries),
        "invented numbers": sum(len(one.numbers) for one in summaries),
        "invented dates": sum(len(one.dates) for one in summaries),
        "inventions per summary": round(sum(len(one.all) for one in summaries) / max(1, len(summaries)), 3),
        "facts about the owner": len(facts),
        "facts with an invention": sum(bool(one.all) for one in facts),
        "salience min, median, max": (min(saliences), statistics.median(saliences), max(saliences)),
        "salience spread (standard deviation)": round(statistics.pstdev(saliences), 3),
        "different saliences": len(set(saliences)),
    }


def _unchecked(said: DeepAnswer, one: Drawn) -> Abstraction:
    """Return the episode as it would be without the check of the summary."""
    return replace(check_deep_answer(said, one.turns), summary=tidy_line(said.summary, 500))


def main() -> int:
    """Draw, ask, judge, print. The exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--draw", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--answers", type=Path, required=True)
    parser.add_argument("--model", default="qwen2.5-coder-1.5b-instruct")
    parser.add_argument("--slots", type=int, default=6)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--judge-only", action="store_true")
    parser.add_argument("--show", action="store_true")
    chosen = parser.parse_args()
    every = drawn(chosen.data, chosen.draw, chosen.seed)
    if not chosen.judge_only:
        asyncio.run(ask_all(chosen, every))
    for checked in (False, True):
        figures = report(every, read_answers(chosen.answers), checked=checked, show=chosen.show)
        print("as kept, checked" if checked else "as the model said it", json.dumps(figures, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
