"""Ranking source turns: words and meaning together, context, names, and removal from the index."""

import numpy as np
import pytest

from reveries.memory.changes import ChangeSet, IndexedTurn, Retirement
from reveries.memory.recall.ranking import best_turns, best_turns_of_episodes, gather_evidence, score_turns
from reveries.memory.recall.time_expressions import TimeSpan
from reveries.memory.recall.times_in_recall import order_in_time
from reveries.memory.recall.turn_index import TurnIndex
from reveries.memory.text.indexed_text import strip_names
from tests.memory.kit import NOW, WordEmbedder, turn

pytestmark = pytest.mark.requirement("R-126")


async def index_of(*texts: str, **chosen: object) -> tuple[TurnIndex, WordEmbedder]:
    embedder = WordEmbedder()
    vectors = await embedder.embed(texts)
    index = TurnIndex(embedder.dimensions)
    for place, (text, vector) in enumerate(zip(texts, vectors, strict=True)):
        said = turn(f"t{place}", text, position=place, **chosen)
        index.apply(ChangeSet(indexed=(IndexedTurn(said, f"e{place % 2}", vector),)))
    return index, embedder


async def ranked(index: TurnIndex, embedder: WordEmbedder, cue: str, **chosen: object) -> list[str]:
    vector = (await embedder.embed([cue]))[0]
    scores = score_turns(index, cue, vector, NOW, **chosen)  # type: ignore[arg-type]
    return [entry.turn.id for entry in best_turns(index, scores, 10)]


async def test_the_turn_that_answers_comes_first_with_its_episode() -> None:
    index, embedder = await index_of("We had rain all day.", "My sister lives in Lisbon.", "I bought bread.")
    vector = (await embedder.embed(["sister Lisbon"]))[0]
    scores = score_turns(index, "sister Lisbon", vector, NOW)
    assert best_turns(index, scores, 1)[0].episode_id == "e1"
    assert best_turns_of_episodes(index, scores, ["e1"], 3)[0][0].turn.id == "t1"


async def test_an_empty_index_answers_nothing() -> None:
    index, embedder = await index_of()
    assert await ranked(index, embedder, "anything") == []


async def test_what_the_asker_has_before_its_eyes_is_not_ranked() -> None:
    index, embedder = await index_of("My sister lives in Lisbon.", "My sister is tall.")
    assert await ranked(index, embedder, "sister", exclude=frozenset({"t0"})) == ["t1"]


async def test_the_answer_to_a_question_is_found_by_the_question() -> None:
    index, embedder = await index_of("Where does your sister live?", "In Lisbon.", "Bread.", "Rain.", "Trees.", "Cars.")
    assert (await ranked(index, embedder, "where does the sister live"))[:2] == ["t0", "t1"]


async def test_what_comes_right_after_a_good_turn_is_a_better_first_guess_than_what_comes_later() -> None:
    """The good turn is in the window of both, so the windows alone would rank them equally."""
    index, embedder = await index_of("Bread.", "Bread.", "My sister lives in Lisbon.", "Bread.", "Bread.", "Bread.")
    guess = gather_evidence(index, "sister Lisbon", (await embedder.embed(["sister Lisbon"]))[0]).fused
    assert guess[2] > guess[3] > guess[4] + 0.1
    assert guess[1] > guess[4] + 0.1, "so is what leads to it, in the window as well"


@pytest.mark.parametrize("by", ["words", "meaning"])
async def test_the_first_guess_is_better_where_the_talk_around_is_about_the_cue_by_its_words_or_its_meaning(
    by: str,
) -> None:
    index, embedder = await index_of("Bread.", "Bread.", "My sister lives in Lisbon.", *["Bread."] * 5)
    cue = "sister Lisbon"
    vector = (await embedder.embed([cue]))[0]
    asked = (cue, np.zeros_like(vector)) if by == "words" else ("xyzzy", vector)
    guess = gather_evidence(index, *asked).fused
    assert guess[4] > guess[6] + 0.1, "two after it, and four"


async def test_what_has_nothing_to_do_with_the_cue_is_not_shown() -> None:
    index, embedder = await index_of("alpha beta", "zebra")
    assert (await ranked(index, embedder, "alpha"))[0] == "t0"


@pytest.mark.requirement("R-66", "R-108")
async def test_a_turn_that_left_the_index_is_not_found_and_the_rest_scores_as_if_it_had_never_been() -> None:
    index, embedder = await index_of("zebra one", "cat two", "dog three")
    index.apply(ChangeSet(unindexed_turn_ids=("t0",)))
    assert "t0" not in await ranked(index, embedder, "zebra")
    assert len(index) == 2
    assert index.speakers == {"Ana"}
    index.apply(ChangeSet(unindexed_turn_ids=("t1", "t2", "t2")))
    assert index.speakers == frozenset()


async def test_turns_go_over_when_episodes_merge() -> None:
    index, _ = await index_of("one", "two", "three")
    index.apply(ChangeSet(retired=(Retirement("e1", "e0"),)))
    assert [said.id for said in index.turns_of("e0")] == ["t0", "t1", "t2"]
    assert list(index.rows_of("e1")) == []


async def test_window_lengths_are_those_of_the_summed_vectors_also_after_growth() -> None:
    index, _ = await index_of(*(f"word{place}" for place in range(300)))
    for row in (0, 1, 150, 299):
        window = [near for near in (row - 2, row - 1, row, row + 1) if 0 <= near < 300]
        assert index.window_lengths[row] == pytest.approx(np.linalg.norm(index.vectors[window].sum(axis=0)), rel=1e-5)


async def test_turns_of_different_sessions_are_no_context_of_each_other() -> None:
    index, embedder = await index_of("zebra question")
    (vector,) = await embedder.embed(["later"])
    later = turn("later", "later", said_at=NOW + 7 * 3600, position=1)
    index.apply(ChangeSet(indexed=(IndexedTurn(later, "e0", vector),)))
    assert index.neighbours.previous.tolist() == [2, 2]


def test_names_of_speakers_are_left_out_of_what_is_compared_by_meaning() -> None:
    names = {"Caroline", "Mel", "You"}
    assert strip_names("When did Caroline’s friend go?", names) == "When did friend go?"
    assert strip_names("You like Melon", names) == "You like Melon"
    assert strip_names("Who is Caroline", names) == "Who is Caroline"


DAY = 86_400.0
DIARY = (
    "I sold the kettle.",
    "I painted the fence.",
    "The dentist took a tooth.",
    "We ate fondue.",
    "I sanded a door.",
)


async def diary() -> tuple[TurnIndex, WordEmbedder]:
    """One sentence a day, the last one yesterday."""
    embedder = WordEmbedder()
    index = TurnIndex(embedder.dimensions)
    for days_ago, (text, vector) in enumerate(zip(DIARY, await embedder.embed(DIARY), strict=True), 1):
        said = turn(f"t{days_ago}", text, said_at=NOW - days_ago * DAY, conversation_id=f"c{days_ago}")
        index.apply(ChangeSet(indexed=(IndexedTurn(said, "e", vector),)))
    return index, embedder


async def test_a_question_that_names_only_a_day_finds_what_was_said_that_day() -> None:
    index, embedder = await diary()
    assert (await ranked(index, embedder, "What did I do three days ago?"))[0] == "t3"
    assert (await ranked(index, embedder, "What happened yesterday?"))[0] == "t1"
    assert (await ranked(index, embedder, "What was I up to in the last four days?"))[:4] == ["t4", "t3", "t2", "t1"]


@pytest.mark.parametrize("cue", ["Three days ago", "three days ago, please.", "vor drei Tagen"])
async def test_a_day_alone_is_enough_to_find_what_was_said_then(cue: str) -> None:
    index, embedder = await diary()
    assert (await ranked(index, embedder, cue))[0] == "t3"


async def test_without_an_embedder_a_day_is_found_as_well() -> None:
    index, embedder = await diary()
    scores = score_turns(index, "What did I do three days ago?", np.zeros(embedder.dimensions, np.float32), NOW)
    assert best_turns(index, scores, 1)[0].turn.id == "t3"


async def test_a_question_with_a_day_and_a_subject_prefers_the_subject_within_the_day() -> None:
    index, embedder = await diary()
    said = turn("also", "I bought bread.", said_at=NOW - 3 * DAY + 60, conversation_id="c3", position=1)
    index.apply(ChangeSet(indexed=(IndexedTurn(said, "e", (await embedder.embed([said.text]))[0]),)))
    assert (await ranked(index, embedder, "What did the dentist do three days ago?"))[:2] == ["t3", "also"]
    assert (await ranked(index, embedder, "Did I say today that I sold the kettle?"))[0] == "t1"


async def test_a_sentence_that_mentions_a_day_brings_nothing_up_from_it() -> None:
    index, embedder = await diary()
    assert await ranked(index, embedder, "Three days ago my uncle married.") == []


@pytest.mark.parametrize("spans", [("the year",), ("the year", "the spring"), ("the day",)])
def test_the_first_of_a_long_time_are_the_same_however_many_are_asked_for(spans: tuple[str, ...]) -> None:
    chance = np.random.default_rng(7)
    index = TurnIndex(2)
    for number in range(600):
        text = " ".join(["Was it" if chance.random() < 0.2 else "We had", *["rain"] * int(chance.integers(1, 9))])
        said = turn(f"t{number}", text, said_at=NOW + DAY * (number // 3), origin=chance.choice(["owner", "self"]))
        index.apply(ChangeSet(indexed=(IndexedTurn(said, "e", np.zeros(2, np.float32)),)))
    named = {
        "the year": TimeSpan("the year", NOW, NOW + 300 * DAY),
        "the spring": TimeSpan("the spring", NOW + 60 * DAY, NOW + 150 * DAY),
        "the day": TimeSpan("the day", NOW + 90 * DAY, NOW + 111 * DAY, NOW + 100 * DAY),
    }
    asked, rows = [named[span] for span in spans], np.arange(index.size)
    whole = order_in_time(index, rows, asked, index.size)
    for most in (1, 5, 30, 300):
        assert order_in_time(index, rows, asked, most).tolist() == whole[:most].tolist()
