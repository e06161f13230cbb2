"""Questions to folders of notes, answered by rules: the made-up folders with which the score is fitted, or others.

    python bench/note_questions.py [--fit] [--misses]
    python bench/note_questions.py --folders DIR [--misses]

Without `--folders` those of tests/projects/note_questions.toml are asked alone and several put together: with the
weights as they are, and with weights that were fitted without those folders, which is what a new folder can expect.
`--fit` prints the weights that all of them give. DIR holds folders of notes, each with a `gold.json` whose `questions`
have `q`, `answer` (null if the notes do not say it) and `file`; its `today` is the day of asking. An answer is right if
the first line that is shown is of that file, and has the first figure of the gold answer, or half of its words where it
has none.
"""

import argparse
import json
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from numpy.typing import NDArray

from reveries.knowledge.facts.note_lines import read_note_lines
from reveries.knowledge.facts.questions import read_question
from reveries.projects import answer_evidence
from reveries.projects.answer_evidence import Candidate, Clue, NoteSearch
from reveries.projects.document_texts import texts_of
from reveries.projects.facts_view import ProjectFacts
from reveries.projects.note_answers import NoteAnswers, NoteVerdict, answer_from_notes
from tests.projects.test_facts_view import facts_of

QUESTIONS: Final = Path(__file__).parents[1] / "tests/projects/note_questions.toml"
TODAY: Final = date(2026, 11, 27)
_SHRINKAGE: Final = 0.5
"""How strongly weights are drawn to 0 when they are fitted."""
_STEPS, _STEP = 120, 0.3
_GROUPS: Final = 4
_CLUES: Final = tuple(Clue)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question to a folder, and what is right."""

    folder: str
    found: ProjectFacts
    today: date
    text: str
    file: str
    """Empty if the notes do not say it."""
    says: str
    is_verbatim: bool
    """Whether the right line has `says` as it is; else the figures or the words of it."""

    def is_right_line(self, document: str, line: str) -> bool:
        if document != self.file:
            return False
        return self.says in line if self.is_verbatim else _holds(line, self.says)

    def is_right(self, answers: NoteAnswers) -> bool:
        if not self.file:
            return answers.verdict is not NoteVerdict.SAID
        first = answers.answers[0] if answers.answers else None
        return (
            answers.verdict is NoteVerdict.SAID and first is not None and self.is_right_line(first.document, first.text)
        )


@dataclass(frozen=True, slots=True)
class Sample:
    """The clues of all sentences that may answer a question, and which of them are right."""

    asked: Asked
    clues: NDArray[np.float64]
    right: NDArray[np.bool_]


def read_made_up() -> list[list[Asked]]:
    """Return the questions to the made-up folders: to each alone, and to several put together, as large as a life.
    Those of one list share texts: they are left out together."""
    folders = tomllib.loads(QUESTIONS.read_text(encoding="utf-8"))["folders"]
    return [
        [asked for folder in folders[first::_GROUPS] for asked in _ask_within([folder])]
        + list(_ask_within(folders[first::_GROUPS]))
        for first in range(_GROUPS)
    ]


def _ask_within(folders: Sequence[Mapping[str, Any]]) -> Iterator[Asked]:
    """Yield the questions of `folders` to all of them at once."""
    texts = {f"{n}/{name}": text.lstrip() for n, folder in enumerate(folders) for name, text in folder["files"].items()}
    found = facts_of(**texts)
    for number, folder in enumerate(folders):
        name = folder["name"] if len(folders) == 1 else f"{folder['name']}, among others"
        for item in folder["questions"]:
            file = f"{number}/{item['file']}" if "file" in item else ""
            yield Asked(name, found, TODAY, item["q"], file, item.get("says", ""), is_verbatim=True)


def read_folders(root: Path) -> Iterator[Asked]:
    """Yield the questions to the folders in `root`."""
    for gold_file in sorted(root.glob("*/gold.json")):
        gold: Mapping[str, Any] = json.loads(gold_file.read_text(encoding="utf-8"))
        folder = gold_file.parent
        texts = {
            str(path.relative_to(folder)): path.read_text(encoding="utf-8")
            for path in sorted(folder.rglob("*"))
            if path.is_file() and path != gold_file
        }
        found = facts_of(**texts)
        today = date.fromisoformat(gold.get("today", TODAY.isoformat()))
        for item in gold["questions"]:
            file, says = item["file"] or "", item["answer"] or ""
            yield Asked(folder.name, found, today, item["q"], file, says, is_verbatim=False)


def _holds(line: str, answer: str) -> bool:
    """Whether a line has the first figure of an answer, however its thousands are parted, or half of its words."""
    figures = [_plain_figures(match) for match in re.findall(r"\d[\d.,'’  ]*\d|\d", answer)]
    if figures:
        return figures[0] in {_plain_figures(match) for match in re.findall(r"\d[\d.,'’  ]*\d|\d", line)}
    words = set(re.findall(r"\w{3,}", answer.casefold()))
    return len(words & set(re.findall(r"\w{3,}", line.casefold()))) >= len(words) / 2


def _plain_figures(text: str) -> str:
    return re.sub(r"[.,'’  ](?=\d{3}(?!\d))", "", text).replace(",", ".").removesuffix(".00").removesuffix(".0")


def sample_of(asked: Asked) -> Sample:
    """Return what the score is fitted on."""
    lines = read_note_lines(texts_of(asked.found.documents.values()))
    search = NoteSearch(read_question(asked.text), lines, asked.found.facts, asked.today)
    candidates = [candidate for line in lines for candidate in search.find_candidates(line)]
    return Sample(asked, _as_matrix(candidates), _mark_right(asked, candidates))


def _as_matrix(candidates: Sequence[Candidate]) -> NDArray[np.float64]:
    rows = [[candidate.clues[clue] for clue in _CLUES] for candidate in candidates]
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(_CLUES))


def _mark_right(asked: Asked, candidates: Sequence[Candidate]) -> NDArray[np.bool_]:
    marks = [bool(asked.file) and asked.is_right_line(item.line.document, item.line.raw) for item in candidates]
    return np.array(marks, dtype=np.bool_)


def fit(samples: Sequence[Sample]) -> dict[Clue, float]:
    """Return the weights under which the right sentences, or "the notes do not say it" (0), are likeliest: a softmax
    over both, with a penalty on large weights, climbed by Adam (Kingma and Ba, 2015)."""
    usable = [sample for sample in samples if not sample.asked.file or sample.right.any()]
    weights, mean, square = (np.zeros(len(_CLUES)) for _ in range(3))
    for step in range(1, _STEPS + 1):
        slope = _SHRINKAGE * weights + sum((_slope(sample, weights) for sample in usable), np.zeros(len(_CLUES)))
        mean, square = 0.9 * mean + 0.1 * slope, 0.99 * square + 0.01 * slope**2
        pace = _STEP * (1 - step / _STEPS)
        weights = weights - pace * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
    return {clue: round(float(weight), 2) for clue, weight in zip(_CLUES, weights, strict=True)}


def _slope(sample: Sample, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the gradient of the negative logarithm of the likelihood."""
    scores = np.concatenate([[0.0], sample.clues @ weights])
    chances = np.exp(scores - scores.max())
    chances /= chances.sum()
    wanted = np.concatenate([[not sample.asked.file], sample.right])
    among_wanted = np.where(wanted, chances, 0.0) / max(chances[wanted].sum(), 1e-12)
    slope: NDArray[np.float64] = sample.clues.T @ (chances - among_wanted)[1:]
    return slope


def ask(questions: Sequence[Asked], weights: Mapping[Clue, float]) -> list[tuple[Asked, NoteAnswers]]:
    """Return the answers of the product under `weights`."""
    with patch.object(answer_evidence, "WEIGHTS", weights):
        return [(asked, answer_from_notes(asked.found, asked.text, asked.today)) for asked in questions]


def report(title: str, answered: Sequence[tuple[Asked, NoteAnswers]], *, with_misses: bool) -> None:
    said = [asked.is_right(answers) for asked, answers in answered if asked.file]
    refused = [asked.is_right(answers) for asked, answers in answered if not asked.file]
    print(f"{title}: {sum(said)} of {len(said)} right first ({_share(said)}), {sum(refused)} of {len(refused)} "
          f"that the notes do not answer said so ({_share(refused)})")  # fmt: skip
    for asked, answers in answered if with_misses else ():
        if not asked.is_right(answers):
            first = answers.answers[0].text if answers.answers else ""
            print(f"   {asked.folder}: {asked.text} [{asked.says or 'not said'}]: {answers.verdict.value} {first[:80]}")


def _share(marks: Sequence[bool]) -> str:
    return f"{sum(marks) / len(marks):.0%}" if marks else "-"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folders", type=Path)
    parser.add_argument("--fit", action="store_true", help="print the weights that all made-up folders give")
    parser.add_argument("--misses", action="store_true", help="print what was not right")
    chosen = parser.parse_args()
    if chosen.folders is not None:
        questions = list(read_folders(chosen.folders))
        for name in dict.fromkeys(asked.folder for asked in questions):
            here = [asked for asked in questions if asked.folder == name]
            report(name, ask(here, answer_evidence.WEIGHTS), with_misses=chosen.misses)
        report("all", ask(questions, answer_evidence.WEIGHTS), with_misses=False)
        return
    groups = read_made_up()
    samples = [[sample_of(asked) for asked in group] for group in groups]
    if chosen.fit:
        for clue, weight in fit([sample for group in samples for sample in group]).items():
            print(f"    Clue.{clue.name}: {weight},")
    questions = [asked for group in groups for asked in group]
    _report_both("as it is", ask(questions, answer_evidence.WEIGHTS), with_misses=False)
    left_out: list[tuple[Asked, NoteAnswers]] = []
    for place, group in enumerate(groups):
        others = [sample for other, kept in enumerate(samples) if other != place for sample in kept]
        left_out += ask(group, fit(others))
    _report_both("left out", left_out, with_misses=chosen.misses)


def _report_both(title: str, answered: Sequence[tuple[Asked, NoteAnswers]], *, with_misses: bool) -> None:
    for kind, are_many in (("each folder alone", False), ("several together", True)):
        rows = [pair for pair in answered if pair[0].folder.endswith(", among others") is are_many]
        report(f"{title}, {kind}", rows, with_misses=with_misses)


if __name__ == "__main__":
    main()
