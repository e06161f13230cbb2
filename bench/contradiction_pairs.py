"""Made conversations with pairs of statements that contradict each other, and pairs that only look alike.

Each statement stands in a long message about other things, and the reply to it repeats it. Twenty pairs of each kind
over four subjects (`contradiction_pairs.toml`), among 160 other messages per subject; what they are about besides is
passages of the project's own documentation. For choosing the rule that finds candidates; nothing comes from a data set.
"""

import random
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

_OTHERS = 80
_PASSAGE_SENTENCES = 2
_DOCS = Path(__file__).parent.parent / "docs"
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_LEAST_CHARS, _MOST_CHARS = 30, 300
_ADVICE = (
    "First write down what {t} is to achieve, then the smallest step towards it.",
    "A table for {t} with three columns is usually enough.",
    "Many people underestimate {t} and lose a week with it.",
    "Look at what you have and decide what {t} needs.",
    "I would keep {t} simple at first and improve it when the rest stands.",
    "If {t} fails, you still have time to go another way.",
    "Let me know what comes of {t}, and we will adjust the plan.",
    "There are good reasons to postpone {t}, and one to begin today.",
)  # fmt: skip


@dataclass(slots=True)
class MadeTalk:
    """The messages of one subject in order, and the places of the two sides of each pair, the earlier one first."""

    name: str
    messages: list[str] = field(default_factory=list)
    contradicting: list[tuple[int, int]] = field(default_factory=list)
    alike: list[tuple[int, int]] = field(default_factory=list)


def made_talks(seed: int = 1) -> Iterator[MadeTalk]:
    """One conversation per subject."""
    chance = random.Random(seed)
    passages = _passages()
    chance.shuffle(passages)
    subjects = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["subject"]
    for subject in subjects:
        statements = [text for kind in ("contradict", "alike") for pair in subject[kind] for text in pair]
        talk = MadeTalk(subject["name"])
        order: list[str | None] = [*statements, *[None] * _OTHERS]
        chance.shuffle(order)
        places: dict[str, int] = {}
        for statement in order:
            if statement is not None:
                places[statement] = len(talk.messages)
            thing = chance.choice(subject["things"])
            said = statement or chance.choice(subject["asides"]).format(t=thing)
            asked = chance.choice(subject["asks"]).format(t=thing)
            talk.messages.append(_mix(passages.pop(), said, chance) + f" {asked}")
            echo = f"You say: {statement}" if statement else chance.choice(_ADVICE).format(t=thing)
            talk.messages.append(_mix(passages.pop(), echo, chance))
        for kind, found in (("contradict", talk.contradicting), ("alike", talk.alike)):
            pairs = ([places[one] for one in two] for two in subject[kind])
            found += [(min(pair), max(pair)) for pair in pairs]
        yield talk


def _mix(passage: list[str], said: str, chance: random.Random) -> str:
    place = chance.randrange(len(passage) + 1)
    return " ".join([*passage[:place], said, *passage[place:]])


def _passages() -> list[list[str]]:
    """Passages of the documentation, each of two sentences in a row."""
    found: list[list[str]] = []
    for file in sorted(_DOCS.rglob("*.md")):
        for paragraph in file.read_text(encoding="utf-8").split("\n\n"):
            if paragraph.lstrip().startswith(("|", "#", "    ", "```")):
                continue
            sentences = [one for one in _SENTENCE.split(" ".join(paragraph.split())) if len(one) <= _MOST_CHARS]
            sentences = [one for one in sentences if len(one) >= _LEAST_CHARS]
            starts = range(0, len(sentences) - _PASSAGE_SENTENCES + 1, _PASSAGE_SENTENCES)
            found += [sentences[start : start + _PASSAGE_SENTENCES] for start in starts]
    return found
