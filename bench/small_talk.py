"""Generated small talk between a person and a mind: the filler of a long conversation around the facts that matter.

A seeded generator combines parts into sentences: few occur twice, and many contain names, places, numbers and days, so
that the facts do not stand out. None of them answers a question about a fact: see `avoiding`.
"""

import random
from collections.abc import Iterator
from functools import cache

_PARTS = """
name: Priya|Marcus|Yuki|Hanna|Diego|Olga|Sven|Fatima|Liam|Chiara|Noor|Pavel|Grace|Anton|Mei|Rosa
place: Utrecht|Graz|Porto|Leeds|Aarhus|the old market|the swimming pool|the office|the library|Ghent|Malmo
day: on Monday|on Tuesday|last night|this morning|yesterday|at the weekend|on Friday|two days ago
number: three|five|eleven|nineteen|forty|26|58|112|310|1,250
thing: the printer|a pair of boots|the washing machine|a second-hand lamp|the garden hose|my old laptop|a rain jacket
thing: the kitchen scales|the radio in the hall|a bag of apples|the wooden chair|a jigsaw puzzle
dish: lentil soup|pancakes|a risotto|an apple cake|fried rice|a pumpkin curry|gnocchi|a quiche
show: a film about glaciers|that detective series|a programme on bees|an old western|a match|a quiz
mood: tired|quite pleased|a bit annoyed|relieved|restless|in a good mood|worn out|curious
weather: drizzle|fog|bright sunshine|a cold wind|hail|the first frost|a warm evening
"""

SAID = (
    "{name} from work talked about {show} all through lunch {day}.",
    "I cooked {dish} {day} and there is enough left for {number} people.",
    "There was {weather} {day}, so I stayed in and watched {show}.",
    "I had to bring {thing} back to the shop, they gave me {number} euros for it.",
    "{name} asked whether I could lend her {thing}, and I said yes.",
    "I feel {mood} today, I do not even know why.",
    "The bus to {place} was late again, I waited for {number} minutes.",
    "{name} and I walked to {place} {day}, in {weather}.",
    "What do you think, should I repair {thing} or buy a new one?",
    "I wrote {number} emails {day} and got one answer, from {name}.",
    "{name} is going to {place} for a course, {number} days of spreadsheets.",
    "I slept badly, and then {weather} on top of it.",
    "My colleague {name} brought {dish} to the meeting, everybody was {mood} afterwards.",
    "I tidied the cellar {day} and found {thing} that I had been looking for.",
    "They are digging up the street near {place} again, {number} weeks they say.",
    "Have you ever heard of {show}? {name} keeps telling me to watch it.",
    "We had {dish} at {place} {day}, it was all right.",
    "I was {mood} after the call with {name}, it took {number} minutes.",
    "The queue at {place} was endless {day}.",
    "I think I will make {dish} tonight, if {name} drops by.",
)
REPLIED = (
    "That sounds like a full day. How did it end?",
    "I can imagine. Was {name} happy about it?",
    "{dish} again! You are getting good at that.",
    "With {weather} outside, staying in is no bad idea.",
    "I hope {name} gives it back soon.",
    "That is long. What did you do meanwhile?",
    "It is good that you tell me. What comes next?",
    "Maybe being {mood} just needs a walk.",
    "I would repair it first. Do you have the tools?",
    "{place} must be busy at this time of the year.",
    "Tell me more about {show}, if you watch it.",
    "Nice. And how was the evening?",
)


def small_talk(seed: int, exchanges: int, avoiding: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Return `count` exchanges of a person's words and an answer, without any of the words `avoiding`."""
    chance = random.Random(seed)
    banned = tuple(words.casefold() for words in avoiding)
    for _ in range(exchanges):
        yield _line(chance, SAID, banned), _line(chance, REPLIED, banned)


def _line(chance: random.Random, forms: tuple[str, ...], banned: tuple[str, ...]) -> str:
    while True:
        line = chance.choice(forms).format(**{kind: chance.choice(parts) for kind, parts in _parts().items()})
        line = line[0].upper() + line[1:]
        if not any(words in line.casefold() for words in banned):
            return line


@cache
def _parts() -> dict[str, list[str]]:
    parts: dict[str, list[str]] = {}
    for line in _PARTS.strip().splitlines():
        kind, _, values = line.partition(": ")
        parts.setdefault(kind, []).extend(values.split("|"))
    return parts
