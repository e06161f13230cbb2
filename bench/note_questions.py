"""Questions to folders of notes, answered by rules.

    python bench/note_questions.py DIR [--misses]

DIR holds folders of notes, each with a `gold.json` whose `questions` have `q`, `answer` (null if the notes do not say
it), `file` and perhaps `line`; its `today` is the day of asking. A line is right if it is that line, or is of that file
and has the first figure of the gold answer, or half of its words where it has none.
"""

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from reveries.projects.facts_view import ProjectFacts
from reveries.projects.note_answers import NoteAnswers, NoteVerdict, answer_from_notes
from tests.projects.test_facts_view import facts_of


@dataclass(frozen=True, slots=True)
class Asked:
    """A question to a folder, and what is right."""

    folder: str
    facts: ProjectFacts
    today: date
    text: str
    file: str
    """Empty if the notes do not say it."""
    line: int
    """0 if only the file is given."""
    says: str

    def is_right(self, document: str, line: int, text: str) -> bool:
        return bool(self.file) and document == self.file and (line == self.line or _holds(text, self.says))


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
        facts, today = facts_of(**texts), date.fromisoformat(gold["today"])
        for item in gold["questions"]:
            file, says = item["file"] or "", item["answer"] or ""
            yield Asked(folder.name, facts, today, item["q"], file, item.get("line") or 0, says)


def _holds(line: str, answer: str) -> bool:
    """Whether a line has the first figure of an answer, however its thousands are parted, or half of its words."""
    figures = [_plain_figures(match) for match in re.findall(r"\d[\d.,'’  ]*\d|\d", answer)]
    if figures:
        return figures[0] in {_plain_figures(match) for match in re.findall(r"\d[\d.,'’  ]*\d|\d", line)}
    words = set(re.findall(r"\w{3,}", answer.casefold()))
    return len(words & set(re.findall(r"\w{3,}", line.casefold()))) >= len(words) / 2


def _plain_figures(text: str) -> str:
    return re.sub(r"[.,'’  ](?=\d{3}(?!\d))", "", text).replace(",", ".").removesuffix(".00").removesuffix(".0")


def judge(asked: Asked, said: NoteAnswers) -> str:
    """Return the verdict, and where the right line stands among those that are shown."""
    marks = [asked.is_right(item.document, item.line, item.text) for item in said.answers]
    if not asked.file:
        return f"not in the notes: {said.verdict.value}"
    return f"in the notes: {said.verdict.value}, " + (
        "right line first" if marks[:1] == [True] else "right line behind" if any(marks) else "right line missing"
    )


def report(title: str, answered: Sequence[tuple[Asked, NoteAnswers]]) -> None:
    counts = Counter(judge(asked, said) for asked, said in answered)
    print(f"{title}: {len(answered)} questions")
    for kind, count in sorted(counts.items()):
        print(f"   {count:3} {kind}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path)
    parser.add_argument("--misses", action="store_true", help="print what was told as an answer and is none")
    chosen = parser.parse_args()
    answered = [
        (asked, answer_from_notes(asked.facts, asked.text, asked.today)) for asked in read_folders(chosen.folders)
    ]
    for name in dict.fromkeys(asked.folder for asked, _ in answered):
        report(name, [pair for pair in answered if pair[0].folder == name])
    report("all", answered)
    for asked, said in answered if chosen.misses else ():
        if said.verdict is NoteVerdict.SAID and "first" not in judge(asked, said):
            print(f"   {asked.folder}: {asked.text} [{asked.says or 'not said'}]: {said.answers[0].text[:80]}")


if __name__ == "__main__":
    main()
