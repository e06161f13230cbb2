"""Training conversations from a seeded grammar, with questions whose source turns are known.

Three kinds, as in a memory: two people over months, a person with the mind, and documents that refer to each other.
`talk_topics.txt` has the statements about each subject, the questions, and the statements that only imply it; small
talk is in between. Nothing comes from any data set. A subject is either for fitting or for checking, by its position in
the file, so that checks use words that were never fitted.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from recall_data import Corpus, Item, Question
from small_talk import small_talk

_DAY = 86_400.0
_BEGINS = datetime(2024, 1, 8, 18, 0, tzinfo=UTC).timestamp()
_PEOPLE = (
    "Alma", "Bogdan", "Celeste", "Dov", "Edda", "Farid", "Greta", "Hugo", "Ines", "Jonas", "Katya", "Leif", "Mona",
    "Nils", "Orla", "Pedro", "Quinn", "Runa", "Silas", "Thea", "Ulf", "Vera", "Wim", "Xenia", "Yann", "Zora",
)  # fmt: skip
_WHEN = (
    "yesterday", "last week", "on Tuesday", "two weeks ago", "last month", "at the weekend", "last Friday", "in spring",
    "the other day", "a few days ago",
)  # fmt: skip
_GREET = ("Hi {B}! How are you?", "Hey {B}, good to hear from you.", "Hello {B}, it has been a while!", "Hi there!")
_BYE = ("Take care!", "Bye, see you soon.", "Talk to you later, {B}.", "Thanks, that was nice.")
_REACT = (
    "Oh wow, really?", "That sounds great, {B}!", "I did not expect that. How does it feel?", "Good for you.",
    "Oh dear. And what now?", "I have heard of that. Is it hard?", "Tell me more about it!",
    "Since when, if I may ask?",
    "My cousin went through the same thing.", "Ha, that is so like you.", "How did the others take it?",
    "You never cease to surprise me.", "I see. I could not do that.", "Congratulations, I suppose?",
)  # fmt: skip
_MORE = (
    "It takes some getting used to.", "I will let you know how it goes.", "It was not planned, it simply happened.",
    "My family thinks that I am mad.", "Honestly, I feel better than I have in years.", "We will see what comes of it.",
    "It costs me some sleep, but I do not complain.", "There is more to it, but that is for another day.",
)  # fmt: skip
_RETURN = (
    "By the way, how is it going with {v}?", "I had to think of you when somebody mentioned {v}.",
    "You told me about {v} the other day, is that still so?",
)  # fmt: skip
_OPENING = (
    "That is good to know.", "Thank you for telling me.", "I understand.", "That makes sense.", "Great question!",
    "Let us look at it step by step.",
)  # fmt: skip
_ADVICE = (
    "First, write down what matters most to you, and keep the list short.",
    "Second, set a date on which you look at it again.",
    "It helps to talk to somebody who has done the same before.",
    "Keep an eye on the cost, for small sums add up over a year.",
    "1. Gather what you know. 2. Decide what can wait. 3. Begin with the smallest step.",
    "There are several ways to approach this, and each has its price.",
    "Many people find that a fixed hour of the day makes it easier.",
    "If something changes, tell me, and we will adjust the plan together.",
    "In general it is wise to leave some room for surprises.",
    "Would you like me to make a table, a checklist or a short summary?",
    "Remember to rest, for tired people make poor decisions.",
    "A simple rule is to compare three offers before you agree to any of them.",
)  # fmt: skip
_HELP = (
    "Can you give me some advice on that?", "What would you suggest?", "Could you help me think it through?",
    "How would you go about it?", "",  "", "",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Topic:
    """One subject: lines by their letter (`talk_topics.txt`)."""

    name: str
    kind: str
    lines: dict[str, tuple[str, ...]]

    def any(self, chance: random.Random, letter: str) -> str:
        return chance.choice(self.lines[letter]) if letter in self.lines else ""


@dataclass(slots=True)
class Fact:
    """A stated fact: one value of a topic, and the items that state it."""

    who: str
    topic: Topic
    value: str
    is_update: bool = False
    items: list[str] = field(default_factory=list)
    said_at: float = 0.0


def topics(half: int) -> list[Topic]:
    """Every second topic, from the first (0) or the second (1)."""
    found: list[Topic] = []
    for block in (Path(__file__).parent / "talk_topics.txt").read_text(encoding="utf-8").split("[")[1:]:
        head, *rest = block.strip().splitlines()
        name, kind = head.split("] ")
        lines = {line[0]: tuple(line[3:].split("|")) for line in rest}
        found.append(Topic(name, kind, lines))
    return found[half::2]


class _Script:
    """The items in order, and questions about them."""

    def __init__(self, name: str, chance: random.Random) -> None:
        self.name = name
        self.chance = chance
        self.items: list[Item] = []
        self.questions: list[Question] = []
        self.now = _BEGINS

    def say(self, who: str, *parts: str) -> str:
        text = " ".join(part[0].upper() + part[1:] for part in parts if part)
        self.items.append(Item(f"{self.name}:{len(self.items)}", self.now, who, text))
        self.now += self.chance.uniform(20, 90)
        return self.items[-1].id

    def ask(self, text: str, gold: Sequence[str], category: str) -> None:
        if gold and text:
            number = f"{self.name}?{len(self.questions)}"
            self.questions.append(Question(self.name, number, text, 0.0, tuple(dict.fromkeys(gold)), category))

    def corpus(self) -> Corpus:
        last = self.now
        asked = tuple(Question(one.corpus, one.qid, one.text, last, one.gold, one.category) for one in self.questions)
        return Corpus(self.name, tuple(self.items), asked)


def _facts(chance: random.Random, people: Sequence[str], subjects: Sequence[Topic], share: float) -> list[Fact]:
    """Choose who states what; updates come after what they update."""
    found: list[Fact] = []
    for who in people:
        for topic in subjects:
            if chance.random() > share or topic.kind in ("rule", "advice"):
                continue
            values = list(topic.lines["v"])
            chance.shuffle(values)
            count = chance.randint(2, 4) if topic.kind == "many" else 1
            found += [Fact(who, topic, value) for value in values[:count]]
            if "u" in topic.lines and chance.random() < 0.5:
                found.append(Fact(who, topic, values[count], is_update=True))
    chance.shuffle(found)
    found.sort(key=lambda fact: fact.is_update)
    return found


def talk_of_two(seed: int, half: int) -> Corpus:
    """Two people over months, asked about by a third."""
    chance = random.Random(f"two {seed} {half}")
    script = _Script(f"two{half}-{seed}", chance)
    pair = chance.sample(_PEOPLE, 2)
    subjects = topics(half)
    facts = _facts(chance, pair, subjects, 0.75)
    lines = small_talk(seed + 1000 * half, 10_000)
    sessions = 18
    for session in range(sessions):
        script.now += chance.uniform(4, 14) * _DAY + chance.uniform(0, 4) * 3600
        told = [fact for place, fact in enumerate(facts) if place * sessions // len(facts) == session]
        _meeting(script, pair, told, facts, subjects, lines)
    _ask_of_two(script, pair, facts)
    return script.corpus()


def _meeting(
    script: _Script,
    pair: Sequence[str],
    told: Sequence[Fact],
    facts: Sequence[Fact],
    subjects: Sequence[Topic],
    lines: Iterator[tuple[str, str]],
) -> None:
    chance = script.chance
    first, second = chance.sample(list(pair), 2)
    script.say(first, chance.choice(_GREET).format(B=second), next(lines)[0] if chance.random() < 0.3 else "")
    script.say(second, chance.choice(_GREET).format(B=first))
    beats: list[Fact | str] = [*told, *("near" for _ in range(2)), *("small" for _ in range(2)), "return"]
    chance.shuffle(beats)
    for beat in sorted(beats, key=lambda one: isinstance(one, Fact) and one.is_update):
        if isinstance(beat, Fact):
            _state_fact(script, pair, beat, lines)
            continue
        one, other = chance.sample(list(pair), 2)
        known = [fact for fact in facts if fact.items and fact.who == other]
        if beat == "return" and known:
            script.say(one, chance.choice(_RETURN).format(v=_you(chance.choice(known).value)))
            script.say(other, chance.choice(_MORE), chance.choice(("", "And you?")))
        elif beat == "near":
            script.say(one, chance.choice(subjects).any(chance, "n"), chance.choice(("", chance.choice(_MORE))))
            script.say(other, chance.choice(_REACT).format(B=one))
        else:
            said, replied = next(lines)
            script.say(one, said)
            script.say(other, replied)
    script.say(first, chance.choice(_BYE).format(B=second))
    script.say(second, chance.choice(_BYE).format(B=first))


def _state_fact(script: _Script, pair: Sequence[str], fact: Fact, lines: Iterator[tuple[str, str]]) -> None:
    chance, topic = script.chance, fact.topic
    other = pair[1] if fact.who == pair[0] else pair[0]
    fact.said_at = script.now
    if fact.is_update:
        fact.items.append(script.say(fact.who, _filled(chance, topic.any(chance, "u"), fact.value)))
    elif "e" in topic.lines and chance.random() < 0.4:
        asks, answer = topic.any(chance, "e").split(" => ")
        script.say(other, chance.choice(("", chance.choice(_REACT).format(B=fact.who))), asks)
        fact.items.append(script.say(fact.who, _filled(chance, answer, fact.value), chance.choice(("", *_MORE))))
    else:
        before = chance.choice(("", "", next(lines)[0]))
        said = _filled(chance, topic.any(chance, "s"), fact.value)
        fact.items.append(script.say(fact.who, before, said, chance.choice(("", "", *_MORE))))
    script.say(other, chance.choice(_REACT).format(B=fact.who))
    if chance.random() < 0.4:
        script.say(fact.who, chance.choice(_MORE))


def _ask_of_two(script: _Script, pair: Sequence[str], facts: Sequence[Fact]) -> None:
    chance = script.chance
    for who in pair:
        other = pair[1] if who == pair[0] else pair[0]
        mine = [fact for fact in facts if fact.who == who]
        for topic in dict.fromkeys(fact.topic.name for fact in mine):
            here = [fact for fact in mine if fact.topic.name == topic]
            gold = [item for fact in here for item in fact.items]
            subject = here[0].topic
            script.ask(subject.any(chance, "q").format(A=who), gold, "several" if len(gold) > 1 else "single")
            if not any(fact.topic.name == topic for fact in facts if fact.who == other) and chance.random() < 0.5:
                script.ask(subject.any(chance, "q").format(A=other), gold, "wrong speaker")
            if chance.random() < 0.5:
                script.ask(subject.any(chance, "c"), gold, "implied")
            for fact in here:
                if "w" in subject.lines and not fact.is_update:
                    script.ask(subject.any(chance, "w").format(A=who, v=_they(fact.value)), fact.items, "when")
        for fact in chance.sample(mine, 3):
            day = datetime.fromtimestamp(fact.said_at, UTC)
            said = [one for one in mine if abs(one.said_at - fact.said_at) < _DAY]
            form = chance.choice(("What news did {A} have on {d}?", "What did {A} tell on {d}?"))
            script.ask(
                form.format(A=who, d=f"{day.day} {day:%B} {day.year}"), [i for one in said for i in one.items], "dated"
            )
        for one, two in zip(mine[::3], mine[1::3], strict=False):
            if one.topic.kind != "many" and one.topic.name != two.topic.name and not one.is_update:
                lead = one.topic.any(chance, "q").format(A=who).rstrip("?")
                then = two.topic.any(chance, "q").format(A=who)
                gold = [i for f in mine if f.topic.name in (one.topic.name, two.topic.name) for i in f.items]
                script.ask(f"{lead}, and {then[0].lower()}{then[1:]}", gold, "both")


def talk_with_mind(seed: int, half: int) -> Corpus:
    """A person with the mind, asked in the first person."""
    chance = random.Random(f"mind {seed} {half}")
    script = _Script(f"mind{half}-{seed}", chance)
    subjects = topics(half)
    facts = _facts(chance, ["user"], subjects, 0.9)
    rules = [topic for topic in topics(0) + topics(1) if topic.kind == "rule"]
    facts[:0] = [Fact("user", topic, value) for topic in rules for value in chance.sample(topic.lines["v"], 2)]
    plain = facts[: len(facts) // 2]
    chance.shuffle(plain)
    facts[: len(facts) // 2] = plain
    facts.sort(key=lambda fact: fact.is_update)
    lines = small_talk(seed + 5000 + 1000 * half, 10_000)
    advised = [topic for topic in subjects if topic.kind == "advice"]
    chance.shuffle(advised)
    for place, fact in enumerate(facts):
        script.now += chance.uniform(0.2, 3) * _DAY
        for _ in range(chance.randint(1, 4)):
            topic = chance.choice(subjects)
            _exchange(script, topic.any(chance, "n"), lines, topic)
        for topic in advised[place * len(advised) // len(facts) : (place + 1) * len(advised) // len(facts)]:
            _advise(script, topic)
        fact.said_at = script.now
        text = fact.topic.any(chance, "u" if fact.is_update else "s")
        fact.items.append(_exchange(script, _filled(chance, text, fact.value), lines, fact.topic, fact.value))
        if chance.random() < 0.4:
            script.say("user", chance.choice(fact.topic.lines.get("n", ("Thank you.",))), chance.choice(_HELP))
            script.say("assistant", _reply(chance, fact.topic.any(chance, "s"), fact.topic, fact.value))
    _ask_of_mind(script, facts)
    return script.corpus()


def _advise(script: _Script, topic: Topic) -> None:
    """Add a problem of the person, the mind's answer, and the person's remarks on other days; ask for both sides."""
    chance = script.chance
    known, asked = topic.any(chance, "o").split(" => ")
    value, problem = topic.any(chance, "v"), topic.any(chance, "h")
    beats = ["advice", "known", *("near" for _ in range(chance.randint(1, 3)))]
    chance.shuffle(beats)
    for beat in beats:
        script.now += chance.uniform(0.1, 1.5) * _DAY
        said = {"advice": problem, "known": known, "near": topic.any(chance, "n")}[beat]
        item = script.say("user", said, chance.choice(_HELP) if beat == "advice" else "")
        told = topic.any(chance, "a").replace("{v}", value) if beat == "advice" else ""
        reply = script.say("assistant", _advice(chance, said, told))
        if beat == "advice":
            for cue in chance.sample(topic.lines["k"], 2):
                script.ask(cue, [reply], "mind's words")
            # A cue that does not say whose words it asks for is answered by the exchange.
            script.ask(topic.any(chance, "j"), [item, reply], "exchange")
        elif beat == "known":
            script.ask(asked, [item], "single")


def _advice(chance: random.Random, said: str, told: str) -> str:
    """Return a reply of one to six sentences; `told` is the relevant one."""
    heard = f"You say that {_you(said[0].lower() + said[1:])}" if chance.random() < 0.4 else ""
    rest = chance.sample(_ADVICE, chance.choice((0, 0, 1, 2, 4)))
    parts = [chance.choice(("", *_OPENING)), heard, told, *rest]
    return " ".join(part[0].upper() + part[1:] for part in parts if part) or chance.choice(_OPENING)


def _exchange(script: _Script, said: str, lines: Iterator[tuple[str, str]], topic: Topic, value: str = "") -> str:
    chance = script.chance
    before = [next(lines)[0] for _ in range(chance.choice((0, 0, 1, 2, 4)))]
    after = [next(lines)[0] for _ in range(chance.choice((0, 0, 1)))]
    item = script.say("user", *before, said, *after, chance.choice(_HELP))
    script.say("assistant", _reply(chance, said, topic, value))
    return item


def _reply(chance: random.Random, said: str, topic: Topic, value: str) -> str:
    """Return a long reply of an assistant: what it heard, more about the subject, and advice."""
    heard = f"You say that {_you(said[0].lower() + said[1:])}" if chance.random() < 0.6 else ""
    told = f"With {_you(value)} in mind, there is a lot to consider." if value and chance.random() < 0.7 else ""
    advice = chance.sample(_ADVICE, chance.randint(3, 8))
    heard = heard.replace("{v}", _you(value)).replace("{when}", "then")
    parts = [chance.choice(_OPENING), heard, told, *_at_length(chance, topic, value), *advice]
    return " ".join(part for part in parts if part)


def _at_length(chance: random.Random, topic: Topic, value: str) -> list[str]:
    """Return what an assistant adds about a subject, in the words of a question; the person said nothing of it."""
    asked = [line for line in topic.lines.get("m", ()) if line.endswith("?")]
    others = [one for one in topic.lines.get("v", ()) if one != value]
    added = [f"You may wonder: {_you(line[0].lower() + line[1:])}" for line in asked]
    added += [f"Others have told me of {_you(one)}." for one in others[:2]]
    added += [_you(line) for line in topic.lines.get("n", ())]
    return chance.sample(added, min(len(added), chance.choice((0, 1, 1, 2, 3))))


def _ask_of_mind(script: _Script, facts: Sequence[Fact]) -> None:
    chance = script.chance
    for name in dict.fromkeys(fact.topic.name for fact in facts):
        here = [fact for fact in facts if fact.topic.name == name]
        subject = here[0].topic
        gold = [item for fact in here for item in fact.items]
        kind = "update" if any(fact.is_update for fact in here) else "several" if len(gold) > 1 else "single"
        for text in dict.fromkeys((subject.any(chance, "m"), subject.any(chance, "m"))):
            script.ask(text, gold, kind)
        if len(gold) > 1 and chance.random() < 0.6:
            form = chance.choice(
                (
                    "Can you summarize what I told you about this: {m}",
                    "Have I contradicted myself? {m}",
                    "In which order did I mention these things: {m}",
                )
            )
            script.ask(form.format(m=subject.any(chance, "m")), gold, "sides")
        if chance.random() < 0.4:
            script.ask(subject.any(chance, "c"), gold, "implied")


_SYLLABLES = (
    "bel",
    "dor",
    "fan",
    "gri",
    "hal",
    "jor",
    "kel",
    "lun",
    "mar",
    "nov",
    "or",
    "pel",
    "ros",
    "sal",
    "tor",
    "vin",
)
_ENDS = ("a", "en", "o", "ia", "burg", "mere", "stad", "is", "well", "ov")
_ARTS = (("film", "directed", "director"), ("novel", "written", "author"), ("opera", "composed", "composer"))
_LANDS = ("Danish", "Chilean", "Estonian", "Kenyan", "Welsh", "Korean", "Austrian", "Moroccan")
_WORDS = (
    "Silver",
    "River",
    "Night",
    "Garden",
    "Bridge",
    "Winter",
    "Stone",
    "Mirror",
    "Harbour",
    "Crow",
    "Letter",
    "Sun",
)


def documents(seed: int, titled: bool) -> Corpus:
    """Return short articles about works, their makers, families and towns; questions need two to four of them."""
    chance = random.Random(f"documents {seed}")
    script = _Script(f"documents{seed}{'t' if titled else ''}", chance)
    towns = [_word(chance) for _ in range(40)]
    people = [f"{_word(chance)} {_word(chance)}" for _ in range(120)]
    named = (f"{chance.choice(('The ', '', 'A '))}{' '.join(chance.sample(_WORDS, 2))}" for _ in range(90))
    works = list(dict.fromkeys(named))
    world = _World(works, people)
    home, of = world.home, world.items
    for town in towns:
        known = f"{chance.choice(_LANDS)} town with {chance.randint(2, 90)},000 inhabitants"
        of[town] = _document(
            script, town, f"{town} is a {known}, known for its {chance.choice(_WORDS).lower()} market.", titled
        )
    for place, person in enumerate(people):
        born = chance.randint(1860, 1970)
        home[person] = chance.choice(towns)
        trade = chance.choice(("director", "author", "composer", "engineer", "painter"))
        text = f"{person} ({born} - {born + chance.randint(40, 90)}) was a {chance.choice(_LANDS)} {trade}, born in "
        text += f"{home[person]}."
        if place % 3 == 1:
            text += f" {chance.choice(('Son', 'Daughter'))} of {people[place - 1]}."
        of[person] = _document(script, person, f"{text} {chance.choice(_ADVICE[:4])}", titled)
    for work in works:
        art, did, role = chance.choice(_ARTS)
        world.maker[work] = (chance.choice(people), role)
        text = (
            f"{work} is a {chance.randint(1890, 1999)} {chance.choice(_LANDS)} {art} {did} by {world.maker[work][0]}."
        )
        text += f" It tells of a {chance.choice(_WORDS).lower()} and was shown in {chance.choice(towns)}."
        of[work] = _document(script, work, text, titled)
    order = list(script.items)
    chance.shuffle(order)
    script.items = [Item(item.id, _BEGINS + place * _DAY, item.speaker, item.text) for place, item in enumerate(order)]
    script.now = _BEGINS + len(order) * _DAY
    _ask_of_documents(script, world)
    return script.corpus()


@dataclass(slots=True)
class _World:
    """The subjects of the documents: items by name, makers and their roles, birthplaces."""

    works: list[str]
    people: list[str]
    items: dict[str, str] = field(default_factory=dict)
    maker: dict[str, tuple[str, str]] = field(default_factory=dict)
    home: dict[str, str] = field(default_factory=dict)


def _ask_of_documents(script: _Script, world: _World) -> None:
    chance, of = script.chance, world.items
    for work in world.works:
        person, role = world.maker[work]
        script.ask(f"Where was the {role} of {work} born?", [of[work], of[person]], "two hops")
        if world.people.index(person) % 3 == 1:
            script.ask(f"Who is the father or mother of the {role} of {work}?", [of[work], of[person]], "two hops")
        town = world.home[person]
        form = f"What is the town known for in which the {role} of {work} was born?"
        script.ask(form, [of[work], of[person], of[town]], "three hops")
        other = chance.choice([one for one in world.works if one != work])
        script.ask(f"Which came out first, {work} or {other}?", [of[work], of[other]], "compared")
        then = world.maker[other][0]
        if then != person:
            form = f"Which has the {role} who was born earlier, {work} or {other}?"
            script.ask(form, [of[work], of[other], of[person], of[then]], "four")


def _document(script: _Script, title: str, text: str, titled: bool) -> str:
    item = Item(f"{script.name}:{len(script.items)}", 0.0, "document", f"{title}\n{text}" if titled else text)
    script.items.append(item)
    return item.id


def _word(chance: random.Random) -> str:
    return (
        "".join(chance.choice(_SYLLABLES) for _ in range(chance.choice((1, 2)))) + chance.choice(_ENDS)
    ).capitalize()


def _filled(chance: random.Random, text: str, value: str) -> str:
    return text.replace("{v}", value).replace("{when}", chance.choice(_WHEN))


def _you(text: str) -> str:
    """Turn a statement about oneself into one about the listener."""
    return f" {text} ".replace(" my ", " your ").replace(" I ", " you ").replace(" me ", " you ").strip()


def _they(text: str) -> str:
    return f" {text} ".replace(" my ", " the ").strip()


def talks(half: int, each: int) -> list[Corpus]:
    """`each` talks of two people, as many with the mind, and two sets of documents, of the subjects of one half."""
    two = [talk_of_two(seed, half) for seed in range(each)]
    mind = [talk_with_mind(seed, half) for seed in range(each)]
    return [*two, *mind, documents(2 * half, titled=True), documents(2 * half + 1, titled=False)]
