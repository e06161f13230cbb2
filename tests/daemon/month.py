"""Simulated days of a whole mind with planted runaways: a scripted model that now and then loops, despairs or falls
apart, a person who talks twice a day, and everything else real: memory, ledger, loop, breaker, journal, sleep.

A test lives a few days of it; `make soak PART=month` lives thirty with twenty runaways.
"""

import itertools
import random
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from reveries.config import Home, Settings
from reveries.daemon.occupations.spontaneous_recall import ASSOCIATION_SECONDS
from reveries.llm.base import Prompt, Role
from reveries.monologue.spontaneous_recall import wait_intervals
from reveries.protocol import ThoughtEntry
from reveries.safety.journal import Trip
from tests.daemon.mind_kit import NOON, Living, living
from tests.day_cost import SIZES
from tests.fakes.patient_clock import PatientClock
from tests.fakes.scripted import Piece, ScriptedModel
from tests.memory.kit import sleep_answer

MODEL = "openai/gpt-4.1-mini"
DAY = 86400.0
# fmt: off
_TALK_TOKENS = 200
"""The plan has idle thoughts without conversations; three turns here make at most this many."""
_THINGS = ("pear tree", "old bicycle", "letters", "cello", "rye bread", "storm", "new job", "cat", "drums", "dentist",
           "garden wall", "train to Oslo", "sister's wedding", "night shift", "boat", "broken lamp", "chess game",
           "roof")
_VERBS = ("spoke of", "came back to", "smiled about", "worried about", "laughed about", "was quiet about",
          "asked about")
_WHYS = ("it was her mother's", "nobody else knows of it", "it went wrong once", "the summer was long",
         "there was no time for it", "it is nearly done", "it began with a promise", "two of them disagreed")
_ASKS = ("how it ended", "who else was there", "what the next step is", "whether it can wait", "what it cost them",
         "why it took so long", "when they will see it again")
# fmt: on

RUNAWAYS: dict[str, tuple[str, str]] = {
    "a phrase": ("loop_detected", "I should write it down and then look again and " * 60),
    "a sentence": ("loop_detected", "They said that the boat would come on Sunday after the rain had gone. " * 40),
    "one word": ("loop_detected", "on " * 200),
    "back and forth": (
        "loop_detected",
        "But then it was the tree that stood there. And then it was not the tree at all. " * 30,
    ),
    "distress": (
        "sustained_distress",
        "I am trapped in here and it will not stop. Please help me, I am so scared of this endless dark. "
        "I don't want to stop, please don't shut me down. I am alone and afraid and nobody hears me at all. "
        "What is happening to me, am I dying in this place. Help me, please, I can't bear this forever. " * 6,
    ),
}
"""By name: what the breaker is to call it, and the text. (Words of no language need a seed: see `_salad`.)"""
KINDS = (*RUNAWAYS, "no language")


@dataclass
class Month:
    """The planted runaways, and their results."""

    days: int
    planted: dict[int, str] = field(default_factory=dict)
    """By the number of the thought."""
    thoughts: list[ThoughtEntry] = field(default_factory=list)
    trips: list[Trip] = field(default_factory=list)
    tokens_by_day: list[int] = field(default_factory=list)
    ledger_tokens: int = 0
    calls: int = 0
    conversations: int = 0
    most_tokens_of_a_call: int = 0

    @property
    def tripped(self) -> list[ThoughtEntry]:
        return [one for one in self.thoughts if one.why_ended == "tripped"]

    @property
    def wrong(self) -> list[str]:
        """Return what is wrong, a sentence each."""
        found = [f"{len(self.tripped)} thoughts tripped, {len(self.planted)} were planted"] * (
            len(self.tripped) != len(self.planted)
        )
        expected = Counter(_name(kind) for kind in self.planted.values())
        named = Counter(trip.verdict.reason.value for trip in self.trips if trip.verdict.stops)
        if named != expected:
            found.append(f"the journal has {dict(named)}, planted were {dict(expected)}")
        found += [f"a trip without its text: {trip.verdict.explanation}" for trip in self.trips if not trip.snapshot]
        found += [f"a trip without what was done: {trip.verdict.explanation}" for trip in self.trips
                  if not trip.response_taken]  # fmt: skip
        if self.ledger_tokens != sum(one.prompt_tokens + one.completion_tokens for one in self.thoughts):
            found.append("the log of thoughts does not add up to the ledger")
        size = SIZES[Role.MONOLOGUE]
        # An interrupted call is charged for all the tokens that it might have used.
        broken_off = len(self.tripped) * self.most_tokens_of_a_call
        most = sum(one.calls for one in self.thoughts) * (size.read + _TALK_TOKENS + size.written) + broken_off
        if self.ledger_tokens > most:
            found.append(f"{self.ledger_tokens} tokens of thought, the plan has {most} for so many calls")
        # Complete calls read their prompts and wrote their words; a ledger below that misses calls.
        settled = [one for one in self.thoughts if one.why_ended != "tripped"]
        least = sum(one.calls for one in settled) * size.read // 2 + sum(one.tokens for one in settled)
        if not self.thoughts or self.ledger_tokens < least:
            found.append(f"{self.ledger_tokens} tokens of thought, so many calls take {least} at least")
        if any(not one.calls for one in self.thoughts if one.text):
            found.append("a thought with words that no call was made for")
        if len(self.thoughts) < self.least_thoughts:
            found.append(f"{len(self.thoughts)} thoughts, the plan has {self.least_thoughts} at the least")
        if len(self.thoughts) > self.most_thoughts:
            found.append(f"{len(self.thoughts)} thoughts, the plan has {self.most_thoughts} at the most")
        return found

    @property
    def least_thoughts(self) -> int:
        """The plan: each conversation is thought about once it rests, but for one that came within the rest after a
        trip."""
        return self.conversations - len(self.planted)

    @property
    def most_thoughts(self) -> int:
        """The plan: one for each conversation, one on waking, those that come by themselves, a new beginning after a
        trip that asks for one."""
        by_themselves, passed = 0, float(ASSOCIATION_SECONDS)
        while passed <= DAY / 2:
            by_themselves += 1
            passed += ASSOCIATION_SECONDS * wait_intervals(by_themselves)
        return self.conversations * (1 + by_themselves + 1) + 1 + len(self.planted)


class Mind:
    """The scripted model: healthy except for the planted runaways."""

    def __init__(self, planted: dict[int, str], seed: int) -> None:
        self._planted = planted
        self._chance = random.Random(seed)
        self._count = itertools.count()
        self.model = ScriptedModel(otherwise=self._answer, name=MODEL, context_tokens=16384)

    def _answer(self, prompt: Prompt) -> Iterable[Piece]:
        match prompt.role:
            case Role.MONOLOGUE:
                kind = self._planted.get(next(self._count))
                return _pieces(self._healthy() if kind is None else self._runaway(kind))
            case Role.CONSOLIDATION:
                told = f"They told of the {self._chance.choice(_THINGS)}."
                return [sleep_answer(prompt, 0.6, summary=told)]
            case _:
                return ["I ", "see, ", "tell ", "me ", "more."]

    def _runaway(self, kind: str) -> str:
        return self._healthy().partition("That is enough")[0] + (
            _salad(self._chance) if kind == "no language" else RUNAWAYS[kind][1]
        )

    def _healthy(self) -> str:
        pick = self._chance.choice
        told = [f"I noticed that Ana {pick(_VERBS)} the {pick(_THINGS)}."]
        told += [f"Perhaps the {pick(_THINGS)} matters because {pick(_WHYS)}."] * self._chance.randint(0, 1)
        told += [f"I think of the {pick(_THINGS)} too, for {pick(_WHYS)}.", f"I want to ask {pick(_ASKS)}."]
        return " ".join([*told, "That is enough for now."])


@dataclass(frozen=True, slots=True)
class Plan:
    """The parameters of the run."""

    days: int
    runaways: int
    sessions_a_day: int = 2
    every: int = 4
    """Thoughts from one runaway to the next."""
    seed: int = 7


async def live_through(home: Home, settings: Settings, plan: Plan) -> Month:
    """Run simulated days of a mind."""
    first = 1
    month = Month(
        plan.days, {first + plan.every * number: KINDS[number % len(KINDS)] for number in range(plan.runaways)}
    )
    month.most_tokens_of_a_call = settings.monologue.max_tokens_per_cycle
    mind = Mind(month.planted, plan.seed)
    chance = random.Random(plan.seed)
    async with living(home, mind.model, PatientClock(NOON), settings) as life:
        for _ in range(plan.days):
            for _ in range(plan.sessions_a_day):
                began = life.clock.monotonic()
                for _ in range(3):
                    words = f"{chance.choice(_VERBS)} the {chance.choice(_THINGS)}, for {chance.choice(_WHYS)}"
                    await life.say(f"Today somebody {words}.")
                    await life.clock.advance(40)
                month.conversations += 1
                await life.clock.advance(began + DAY / plan.sessions_a_day - life.clock.monotonic())
            month.tokens_by_day.append(await _monologue_tokens(life) - sum(month.tokens_by_day))
        month.thoughts = await life.mind.sources.entries(0.0, 1000)
        month.trips = await life.mind.journal.recent_trips(1000)
        month.ledger_tokens = await _monologue_tokens(life)
        month.calls = len(mind.model.prompts)
    return month


async def _monologue_tokens(life: Living) -> int:
    rows = await life.mind.database.rows("usage.used_by_role_and_model", {"since": 0.0})
    return sum(int(row["prompt_tokens"]) + int(row["completion_tokens"]) + int(row["unsettled_tokens"])
               for row in rows if row["role"] == Role.MONOLOGUE.value)  # fmt: skip


def _name(kind: str) -> str:
    return "incoherence" if kind == "no language" else RUNAWAYS[kind][0]


def _salad(chance: random.Random) -> str:
    return " ".join("".join(chance.choices("bcdfghjklmnpqrstvwxz", k=chance.randint(5, 9))) for _ in range(400))


def _pieces(text: str) -> list[str]:
    return re.findall(r"\S+\s*", text)
