"""Generate long cases over this project's documentation, for tuning the search for everything that a case needs.

Each section of docs/ is a document. A case is a script of many sentences: for each of the three to twelve sections that
it needs, one sentence of that section with half of its distinctive words left out, between sentences that need nothing.
The same seed gives the same cases. Nothing comes from any data set.
"""

import random
import re
from pathlib import Path

from recall_data import Corpus, Item, Question

from reveries.index.terms import stop_words, words_of

DOCS = Path(__file__).parents[1] / "docs"
_HEADING = re.compile(r"^(#{1,2})\s+(.*)$", re.MULTILINE)
_SENTENCE = re.compile(r"(?<=[.!?:])\s+")
_LEAST_WORDS, _LEAST_TELLING = 40, 6
_DROPPED = 0.5
_LEADS = ("You want to know about {}.", "If asked, you say {}.", "You mention {} as well.", "{}.", "First comes {}.")
_FILLERS = (
    "You are friendly and a little impatient.", "Your name is Mara Lind and you were born on 4 May 1979.",
    "You live at 12 Mill Lane with two children.", "Do not give all of it at once; wait until you are asked.",
    "If the other side apologises, accept it and go on.", "Your telephone number ends in 4471.",
    "You called last week already and nobody helped you.", "When everything is settled, say thank you and end.",
    "You do not know any technical names.", "If it cannot be done, ask what else is possible.",
)  # fmt: skip


def case_corpus(seed: int, cases: int = 60) -> Corpus:
    """The sections as documents with their title in the first line, and `cases` questions."""
    chance = random.Random(f"cases {seed}")
    items = tuple(
        Item(f"s{place}", float(place), "", f"{title}\n{text}") for place, (title, text) in enumerate(_documents())
    )
    questions = tuple(_case(chance, items, number) for number in range(cases))
    return Corpus("cases", items, questions)


def _documents() -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for path in sorted(DOCS.rglob("*.md")):
        if "reference" in path.parts:
            continue
        pieces = _HEADING.split(path.read_text(encoding="utf-8"))
        name = pieces[2].strip() if len(pieces) > 2 else path.stem
        for level, title, text in zip(pieces[1::3], pieces[2::3], pieces[3::3], strict=True):
            if len(text.split()) >= _LEAST_WORDS:
                found.append((name if level == "#" else f"{name}: {title.strip()}", text.strip()))
    return found


def _case(chance: random.Random, items: tuple[Item, ...], number: int) -> Question:
    needed = chance.sample(items, chance.randint(3, 12))
    lines = [line for item in needed for _ in range(chance.randint(1, 4)) if (line := _need(chance, item.text))]
    lines += chance.sample(_FILLERS, chance.randint(4, len(_FILLERS)))
    chance.shuffle(lines)
    gold = [item.id for item in needed]
    return Question("cases", f"case{number}", " ".join(lines), float(len(items)), tuple(gold), "case")


def _need(chance: random.Random, text: str) -> str:
    """One sentence of the text, half of its telling words left out."""
    stops = stop_words()
    sentences = [words_of(sentence) for sentence in _SENTENCE.split(text.partition("\n")[2])]
    sentences = [words for words in sentences if sum(word not in stops for word in words) >= _LEAST_TELLING]
    if not sentences:
        return ""
    words = chance.choice(sentences)[:40]
    kept = [word for word in words if word in stops or chance.random() > _DROPPED]
    return chance.choice(_LEADS).format(" ".join(kept))
