"""The right order of small memories, as people would rank them, for every group of reasons; without the weights of that
group, or with a thousandth of them, the other turn comes first."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from reveries.memory.changes import ChangeSet, IndexedTurn
from reveries.memory.model import Origin
from reveries.memory.recall.ranking import WEIGHTS, RankingWeights, score_turns
from reveries.memory.recall.turn_index import TurnIndex
from tests.memory.kit import NOW, WordEmbedder, turn
from tests.rows import check_rows

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "bench"))

from ablation import GROUPS, without

HOUR, DAY = 3600.0, 86_400.0


@dataclass(frozen=True, slots=True)
class Said:
    """One turn: its speaker, conversation and age; `means` is embedded instead of its text."""

    text: str
    speaker: str = "Ana"
    talk: str = "c"
    ago: float = 40 * DAY
    means: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """`right` is the position of the answering turn; without its group of reasons `wrong` comes first."""

    group: str
    cue: str
    said: Sequence[Said]
    right: int
    wrong: int
    cue_means: str = ""


SMALL_TALK = (
    Said("It rained all day.", talk="rain"),
    Said("The tram was late again.", talk="tram", ago=80 * DAY),
    Said("I bought bread and apples.", talk="bread", ago=120 * DAY),
    Said("My boots are wet.", talk="boots", ago=160 * DAY),
    Said("The kettle whistles so loudly.", talk="kettle", ago=200 * DAY),
)


def mind(text: str, **chosen: object) -> Said:
    return Said(text, speaker="Reverie", **chosen)  # type: ignore[arg-type]


CASES = (
    Case(
        "words",
        "Is the Q7715 for the garden house paid?",
        [
            Said("The garden house has no paint yet.", talk="a"),
            Said("I was in the garden today.", talk="b", ago=41 * DAY, means="garden house paid"),
            Said(
                "I sent Q7715 off, it is paid today.",
                talk="d",
                ago=43 * DAY,
                means="garden house roof paint door ladder",
            ),
        ],
        right=2,
        wrong=1,
    ),
    Case(
        "meaning",
        "Where does my sister live?",
        [
            Said("Did her sister live on soup?", talk="a", means="soup lunch food"),
            Said("I know that Marta has moved to Lisbon for good.", talk="b", means="sister live home city"),
        ],
        right=1,
        wrong=0,
        cue_means="sister live home city",
    ),
    Case(
        "what-is-said-around",
        "Where does my sister live?",
        [
            Said("My brother and his wife live in Bergen, near the river.", talk="a"),
            Said("Tell me, where does your sister live these days?", talk="b", speaker="Ben"),
            Said("In a flat in Lisbon, near the river.", talk="b"),
        ],
        right=2,
        wrong=0,
    ),
    Case(
        "the-conversations-best",
        "What did the roof repair cost?",
        [
            Said("In the end we paid 40 euros, a low cost.", talk="a", ago=30 * DAY),
            Said("The roof needs a repair.", talk="b", ago=20 * DAY),
            Said("The roof repair begins on Monday, they say.", talk="b", ago=20 * DAY - 60),
            Said("For a roof repair one waits long.", talk="b", ago=20 * DAY - 120),
            Said("I painted the fence.", talk="b", ago=20 * DAY - 180),
            Said("And we had plums.", talk="b", ago=20 * DAY - 240),
            Said("The dog was ill.", talk="b", ago=20 * DAY - 300),
            Said("In the end we paid 40 euros, a low cost.", talk="b", ago=20 * DAY - 360),
        ],
        right=7,
        wrong=0,
    ),
    Case(
        "names-and-phrases-of-the-cue",
        "What do I know about Nora Quist?",
        [
            Said("I saw somebody who knew Nora Quist, Nora Quist herself was not there.", talk="a"),
            Said("Nora Quist is a nurse.", talk="b"),
        ],
        right=1,
        wrong=0,
    ),
    Case(
        "how-a-turn-looks",
        "What did I think of Lisbon?",
        [
            Said("Great, Lisbon?", talk="a"),
            Said("I found Lisbon steep and bright, and my legs ached after every walk there.", talk="b"),
        ],
        right=1,
        wrong=0,
    ),
    Case(
        "the-kind-of-answer",
        "How many cats does my sister have?",
        [
            Said("My sister has cats, far too many for her flat.", talk="a"),
            Said("My sister feeds 7 of them now, cats that nobody wants.", talk="b"),
        ],
        right=1,
        wrong=0,
    ),
    Case(
        "who-speaks",
        "What does Ben grow in the garden?",
        [
            Said("Ben, I grow beans in the garden.", talk="a"),
            Said("It is pumpkins that grow in my garden.", talk="b", speaker="Ben"),
        ],
        right=1,
        wrong=0,
    ),
    Case(
        "times",
        "Tell me what I did cook 3 days ago",
        [
            Said("I cook lentils and I cook rice.", talk="a", ago=90 * DAY),
            Said("I made us a soup, we cook so rarely.", talk="b", ago=3 * DAY),
        ],
        right=1,
        wrong=0,
    ),
    Case(
        "own-words",
        "Which remedy did you suggest for the stain?",
        [
            Said("There is a stain on my shirt, is there a remedy for such a stain?", talk="a"),
            mind("For the stain, use gall soap before you wash it.", talk="a"),
            Said("My neighbour has a remedy for every stain.", talk="b"),
            mind("Then ask your neighbour about it.", talk="b"),
        ],
        right=1,
        wrong=0,
    ),
    Case(
        "hops",
        "Where was the director of The Red Lake born?",
        [
            Said("Green Hill\nGreen Hill was born as a director's idea of a lake.", talk="a"),
            Said("The Red Lake\nThe Red Lake is a film by the director Jana Moravec.", talk="b", ago=50 * DAY),
            Said("Jana Moravec\nJana Moravec was born in Brno.", talk="d", ago=60 * DAY),
        ],
        right=2,
        wrong=0,
    ),
)


async def order(case: Case, weights: RankingWeights = WEIGHTS) -> list[int]:
    """Return positions in `case.said`, best first, ranked among small talk."""
    embedder = WordEmbedder()
    said = [*case.said, *SMALL_TALK]
    vectors = await embedder.embed([one.means or one.text for one in said])
    index = TurnIndex(embedder.dimensions)
    for place, (one, vector) in enumerate(zip(said, vectors, strict=True)):
        origin = Origin.SELF if one.speaker == "Reverie" else Origin.OWNER
        told = turn(
            f"t{place}", one.text, position=place, speaker=one.speaker, conversation_id=one.talk,
            said_at=NOW - one.ago + place, origin=origin,
        )  # fmt: skip
        index.apply(ChangeSet(indexed=(IndexedTurn(told, f"e{place}", vector),)))
    (vector,) = await embedder.embed([case.cue_means or case.cue])
    return score_turns(index, case.cue, vector, NOW, weights=weights).best_rows(len(said))


def place_in(found: Sequence[int], row: int) -> int:
    return found.index(row) if row in found else len(found)


def test_every_group_of_reasons_has_its_case() -> None:
    assert {case.group for case in CASES} == set(GROUPS)
    held = {name for group in GROUPS.values() for name in group}
    assert {name.partition("_x_")[0] for name in (*WEIGHTS.match, *WEIGHTS.hop)} == held


@check_rows("case", CASES)
async def test_what_answers_goes_before_what_does_not(case: Case) -> None:
    found = await order(case)
    assert place_in(found, case.right) < place_in(found, case.wrong)


@check_rows("share", [0.0, 0.001])
@check_rows("case", CASES)
async def test_it_is_this_group_of_reasons_that_puts_it_there(case: Case, share: float) -> None:
    found = await order(case, without(case.group, share))
    assert place_in(found, case.right) > place_in(found, case.wrong)


@pytest.mark.parametrize(
    ("cue", "owner", "reply"),
    [
        (
            "Do walnuts make me ill?",
            "The doctor in Brno says that walnuts make people like me ill.",
            "So walnuts make you ill.",
        ),
        (
            "Which tram goes to the harbour?",
            "The tram to the harbour is the 7, said Tom at lunch, and then it rained.",
            "The harbour tram is the 7.",
        ),
    ],
)
async def test_what_the_owner_said_goes_before_the_minds_saying_it_again(cue: str, owner: str, reply: str) -> None:
    said = [Said("Good that you are here.", talk="a"), Said(owner, talk="a"), mind(reply, talk="a")]
    case = Case("own-words", cue, said, right=1, wrong=2)
    found = await order(case)
    assert place_in(found, 1) < place_in(found, 2)
    found = await order(case, RankingWeights({**WEIGHTS.match, "own": 0.0}, WEIGHTS.hop))
    assert place_in(found, 1) > place_in(found, 2)


async def test_of_two_that_are_alike_the_one_right_after_what_the_cue_asks_for_goes_first() -> None:
    """Both have the same context, one of them nearer; otherwise the number in the other one would win."""
    bread, sister = "Bread for all.", "My sister lives in Lisbon."
    said = [Said(text, talk="a") for text in (bread, bread, sister, bread, "Bread for 2.", bread)]
    said += [Said(text, talk="b") for text in (bread, bread, sister, bread, bread, bread)]
    case = Case("what-is-said-around", "Where does my sister live?", said, right=9, wrong=4)
    found = await order(case)
    assert found.index(9) < found.index(4)


LATE_AND_FAR = Case(
    "all of them",
    "What is the rent of my flat in Brno?",
    [
        Said("The rent of my flat in Brno is 700 euros.", talk="a", ago=50 * DAY),
        Said("Otherwise all is quiet.", talk="a", ago=50 * DAY),
        Said("The rent of a shop in Brno is 900 euros.", talk="b", ago=10 * DAY),
        Said("Otherwise all is quiet.", talk="b", ago=10 * DAY),
    ],
    right=0,
    wrong=2,
)


async def test_what_lies_far_behind_is_no_news_however_late_it_was_said() -> None:
    """Scores are log odds: with weights a thousandth of theirs the order would be the same, and all near."""
    found = await order(LATE_AND_FAR)
    assert place_in(found, 0) < place_in(found, 2)
    found = await order(LATE_AND_FAR, scaled(0.001))
    assert place_in(found, 2) < place_in(found, 0)


@pytest.mark.parametrize("speaker", ["Ana", "Tom"])
async def test_later_words_are_news_of_the_same_speaker_alone(speaker: str) -> None:
    case = Case(
        "all of them",
        "What is the rent of my flat in Brno?",
        [
            Said("The rent of my flat in Brno is 700 euros.", talk="a", ago=50 * DAY),
            Said("Otherwise all is quiet.", talk="a", ago=50 * DAY),
            Said("The rent of the flat in Brno is 900 euros.", speaker=speaker, talk="b", ago=10 * DAY),
            Said("Otherwise all is quiet.", talk="b", ago=10 * DAY),
        ],
        right=0,
        wrong=2,
    )
    found = await order(case)
    assert (found.index(2) < found.index(0)) == (speaker == "Ana")


def scaled(share: float) -> RankingWeights:
    """Return the learned weights, scaled by `share`."""
    return RankingWeights({name: share * weight for name, weight in WEIGHTS.match.items()}, WEIGHTS.hop)
