"""Storing, searching and taking back what a project knows, on a real file."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from reveries.errors import NotFoundError, StorageError, UsageError
from reveries.knowledge.model import (
    ChunkSource,
    ChunkType,
    Confidence,
    Fall,
    NewChunk,
    NewRelation,
    RelationType,
    SearchFilters,
)
from reveries.knowledge.project_index import ProjectIndex
from reveries.knowledge.query_planning import QueryType, example_questions
from reveries.knowledge.relations import relations_of_chunk
from reveries.llm.base import Vectors
from tests.fakes.clock import HandClock
from tests.knowledge.kit import DAY, OTHER, PROJECT, new_chunk, open_knowledge
from tests.memory.kit import NOW, WordEmbedder

WOODS = ("Oak is a hard wood for floors.", "Pine is a soft wood for shelves.", "The ferry to Oslo leaves at nine.")


@pytest.mark.requirement("V-29", "V-36", "V-46", "V-47", "V-54", "V-107", "V-109", "V-110")
async def test_a_chunk_comes_back_as_it_was_stored_with_what_it_is_by_its_type(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path) as (knowledge, _):
        [base] = await knowledge.store(PROJECT, [new_chunk("Oak costs 20.", foreign_sources=frozenset({"document:a"}))])
        made = NewChunk(
            "We take oak.", ChunkType.DECISION, Confidence.INFERRED, ChunkSource.DEDUCTION, "Floor", ("wood",), (base,)
        )
        [name] = await knowledge.store(PROJECT, [made])
        chunk = {one.id: one for one in await knowledge.of_project(PROJECT)}[name]
        assert (chunk.content, chunk.title, chunk.tags) == ("We take oak.", "Floor", ("decision", "wood"))
        assert (chunk.confidence, chunk.source) == (Confidence.INFERRED, ChunkSource.DEDUCTION)
        assert chunk.foreign_sources == {"document:a"}
        assert chunk.memory_type == "episodic"
        assert (chunk.initial_strength, chunk.decay_function, chunk.decay_rate) == (1.0, "exponential", 0.05)
        assert (chunk.source_confidence, chunk.extraction_confidence) == (0.7, 0.7)


@pytest.mark.requirement("V-115")
async def test_a_word_in_a_script_without_spaces_is_found_in_a_project(tmp_path: Path) -> None:
    notes = ("大阪の会議は五月十二日です。", "花生过敏的人不能吃这个。", "เราจะไปเชียงใหม่พรุ่งนี้", *WOODS)
    async with open_knowledge(tmp_path) as (knowledge, _):
        await knowledge.store(PROJECT, [new_chunk(text) for text in notes])
        for cue, note in (("会議", notes[0]), ("过敏", notes[1]), ("เชียงใหม่", notes[2])):
            found = await knowledge.search.by_words(PROJECT, cue, 5)
            assert found[0].chunk.content == note
            assert found[0].keyword_rank == 1


@pytest.mark.requirement("V-38", "V-115", "V-116", "V-134")
async def test_a_search_says_by_which_source_it_found_what_and_counts_unless_the_owner_looks(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path, clock=(clock := HandClock(NOW))) as (knowledge, _):
        await knowledge.store(PROJECT, [new_chunk(text) for text in WOODS])
        await clock.advance(DAY)
        found = await knowledge.search.hybrid(PROJECT, "hard wood for floors", 2, is_counted=False)
        assert [one.chunk.content for one in found] == list(WOODS[:2])
        assert (found[0].semantic_rank, found[0].keyword_rank) == (1, 1)
        assert {one.access_count for one in await knowledge.of_project(PROJECT)} == {0}
        await knowledge.search.hybrid(PROJECT, "hard wood for floors", 1)
        counted = {one.content: (one.access_count, one.last_accessed_at) for one in await knowledge.of_project(PROJECT)}
        assert counted[WOODS[0]] == (1, NOW + DAY)
        assert counted[WOODS[1]][0] == 0


@pytest.mark.requirement("V-30", "V-74")
async def test_a_search_by_meaning_keeps_to_its_floor_and_its_filters(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path) as (knowledge, _):
        texts = [new_chunk(WOODS[0]), new_chunk(WOODS[1], confidence=Confidence.SPECULATIVE, tags=("shelf",))]
        await knowledge.store(PROJECT, texts)
        search = knowledge.search
        assert [one.chunk.content for one in await search.semantic(PROJECT, WOODS[0], 10, 0.9)] == [WOODS[0]]
        assert len(await search.semantic(PROJECT, "wood", 10, 0.1)) == 2
        guesses = SearchFilters(confidence=frozenset({Confidence.SPECULATIVE}))
        assert [one.chunk.content for one in await search.semantic(PROJECT, "wood", 1, 0.1, guesses)] == [WOODS[1]]
        late = SearchFilters(since=NOW + 1)
        assert await search.semantic(PROJECT, "wood", 1, 0.1, late) == []
        assert await search.semantic(PROJECT, "  ", 1) == []


@pytest.mark.requirement("V-31")
async def test_tags_are_asked_for_all_together_or_one_of_several(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path) as (knowledge, _):
        tagged = [("a", "b"), ("a", "c"), ("b",)]
        await knowledge.store(PROJECT, [new_chunk(f"Fact {place}.", tags=tags) for place, tags in enumerate(tagged)])

        async def found(all_of: tuple[str, ...], one_of: tuple[str, ...] = ()) -> set[str]:
            return {one.content for one in await knowledge.search.tagged(PROJECT, all_of, one_of)}

        assert await found(("a", "b")) == {"Fact 0."}
        assert await found(("a",), ("b", "c")) == {"Fact 0.", "Fact 1."}
        assert await found((), ("b",)) == {"Fact 0.", "Fact 2."}
        assert len(await knowledge.search.tagged(PROJECT, (), limit=2)) == 2


@pytest.mark.requirement("V-32", "V-64")
async def test_of_two_relations_of_one_weight_the_one_that_was_used_lately_comes_first(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path, clock=(clock := HandClock(NOW))) as (knowledge, _):
        [base, other] = await knowledge.store(PROJECT, [new_chunk("Oak is hard."), new_chunk("The hall is large.")])
        relations = ((base, RelationType.SUPPORTS), (other, RelationType.REQUIRES))
        [name] = await knowledge.store(PROJECT, [new_chunk("Take oak there.", related_to=relations)])
        first, second = await knowledge.search.related(PROJECT, name)
        await clock.advance(60 * DAY)
        await knowledge.search.related(PROJECT, second.chunk.id, is_counted=True)
        found = await knowledge.search.related(PROJECT, name)
        assert [one.chunk.id for one in found] == [second.chunk.id, first.chunk.id]


@pytest.mark.requirement("V-32", "V-48", "V-56", "V-111")
async def test_relations_are_stored_with_a_chunk_and_followed_both_ways(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path, clock=(clock := HandClock(NOW))) as (knowledge, database):
        [base, other] = await knowledge.store(PROJECT, [new_chunk("Oak is hard."), new_chunk("The hall is large.")])
        relations = ((base, RelationType.SUPPORTS), (other, RelationType.REQUIRES))
        [name] = await knowledge.store(PROJECT, [new_chunk("Take oak there.", related_to=relations)])
        found = await knowledge.search.related(PROJECT, name)
        assert {(one.chunk.id, one.relation.type.value, one.direction) for one in found} == {
            (base, "supports", "outgoing"),
            (other, "requires", "outgoing"),
        }
        assert {one.relation.weight for one in found} == {0.8}
        assert [one.direction for one in await knowledge.search.related(PROJECT, base)] == ["incoming"]
        assert await knowledge.search.related(PROJECT, base, direction="outgoing") == []
        assert await knowledge.search.related(PROJECT, name, min_weight=0.9) == []
        assert len(await knowledge.search.related(PROJECT, name, RelationType.REQUIRES)) == 1
        await clock.advance(DAY)
        await knowledge.search.related(PROJECT, base, is_counted=True)
        assert [one.last_activated_at for one in await relations_of_chunk(database, base)] == [NOW + DAY]
        assert [one.last_activated_at for one in await relations_of_chunk(database, other)] == [NOW]


@pytest.mark.requirement("V-57", "V-58", "V-59", "V-137", "V-6")
async def test_what_is_found_together_in_four_wakes_is_related_and_in_a_fifth_more_so(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path, clock=(clock := HandClock(NOW))) as (knowledge, database):
        await knowledge.store(PROJECT, [new_chunk("Oak floors cost 20."), new_chunk("The hall needs oak floors soon.")])
        weights = []
        for wake in range(6):
            for _ in range(3):
                await knowledge.search.hybrid(PROJECT, "oak floors", 5, session_id=f"wake {wake}")
            await knowledge.count_coretrievals(PROJECT)
            weights.append([one.weight for one in await knowledge.relations(PROJECT)])
        assert weights == [[], [], [], [0.2], [pytest.approx(0.25)], [pytest.approx(0.3)]]
        [made] = await knowledge.relations(PROJECT)
        assert (made.type, made.is_implicit) == (RelationType.RELATED_TO, True)
        await clock.advance(31 * DAY)
        assert await knowledge.clean() == 6
        assert await database.rows("relations.uncounted_pairs", {"project_id": PROJECT}) == []


@pytest.mark.requirement("V-65", "V-66")
async def test_of_two_chunks_that_answer_alike_the_surer_one_is_first_unless_the_confidence_is_asked_for(
    tmp_path: Path,
) -> None:
    async with open_knowledge(tmp_path) as (knowledge, _):
        guess = new_chunk("Oak floors cost 20.", confidence=Confidence.SPECULATIVE)
        names = await knowledge.store(PROJECT, [guess, new_chunk("Oak floors take a week.")])
        found = await knowledge.search.hybrid(PROJECT, "oak floors", 2, is_counted=False)
        assert [one.chunk.id for one in found] == names[::-1]
        either = SearchFilters(confidence=frozenset({Confidence.SPECULATIVE, Confidence.VERIFIED}))
        found = await knowledge.search.hybrid(PROJECT, "oak floors", 2, either, is_counted=False)
        assert found[0].score == pytest.approx(found[1].score, abs=0.05)


@pytest.mark.requirement("V-62")
async def test_what_is_replaced_is_still_found_behind_what_replaces_it_and_leaves_its_relations(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path) as (knowledge, _):
        [ground] = await knowledge.store(PROJECT, [new_chunk("The hall is damp.")])
        supports = ((ground, RelationType.SUPPORTS),)
        [old] = await knowledge.store(PROJECT, [new_chunk("Cork suits the hall floor.", related_to=supports)])
        replaces = ((old, RelationType.REPLACES),)
        [new] = await knowledge.store(PROJECT, [new_chunk("Stone suits the hall floor.", related_to=replaces)])
        found = await knowledge.search.hybrid(PROJECT, "Which floor suits the hall? cork", 3)
        ids = [one.chunk.id for one in found]
        assert ids.index(new) < ids.index(old)
        chunks = {one.id: one for one in await knowledge.of_project(PROJECT)}
        assert (chunks[old].superseded_by, chunks[old].stands, chunks[old].valid_until) == (new, False, NOW)
        weights = {(one.from_id, one.to_id): one.weight for one in await knowledge.relations(PROJECT)}
        assert weights[(old, ground)] == 0.8
        assert weights[(new, ground)] == 0.4


BALLET = (
    "The opera is about a harbour. The Silver Crow was first sung in 1901. Its costumes are of grey felt and "
    "its chorus sings in the dark."
)


@pytest.mark.requirement("V-62", "V-124")
async def test_a_short_correction_is_found_wherever_the_long_text_that_it_corrects_is(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path) as (knowledge, _):
        [old] = await knowledge.store(PROJECT, [new_chunk(BALLET, "The Silver Crow")])
        await knowledge.store(PROJECT, [new_chunk(f"Grey felt hat number {n} hangs in the dark.") for n in range(9)])
        ids = [old]
        for year in (1902, 1903):
            told = new_chunk(f"The Silver Crow was first sung in {year}.", "The Silver Crow")
            ids += await knowledge.store(PROJECT, [told])
        found = await knowledge.search.hybrid(PROJECT, "In which work are costumes of grey felt and a chorus?", 3)
        assert [one.chunk.id for one in found[:2]] == [ids[-1], old]
        assert (found[0].led_from, found[0].led_by) == (old, "replaces")
        assert found[0].score == pytest.approx(2 * found[1].score)


async def test_a_correction_that_is_found_better_by_its_own_words_keeps_its_place_and_how_it_was_found(
    tmp_path: Path,
) -> None:
    async with open_knowledge(tmp_path) as (knowledge, _):
        await knowledge.store(PROJECT, [new_chunk(BALLET, "The Silver Crow")])
        replaced = "The Silver Crow was first sung in 1902."
        [new] = await knowledge.store(PROJECT, [new_chunk(f"{replaced} In Oslo, on a raft.", "The Silver Crow")])
        asked = "What was sung in Oslo on a raft?"
        before = await knowledge.search.hybrid(PROJECT, asked, 3)
        assert before[0].chunk.id == new
        assert before[0].led_by != "replaces"
        assert before[0].score > 2 * before[1].score


async def test_what_replaced_several_takes_the_place_of_the_one_that_is_found_best(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path) as (knowledge, database):
        texts = ("The costumes are of grey felt.", "The felt is cut by hand.", "Tickets.", "A poster.", "A programme.")
        ids = await knowledge.store(PROJECT, [new_chunk(text) for text in texts])
        felt, cut, one, other, last = await knowledge.named(PROJECT, ids)
        async with database.transaction() as transaction:
            for older, newer in ((felt, one), (cut, other), (one, last), (other, last)):
                await knowledge.replace(transaction, older, newer)
        for asked in ("Are the costumes of grey felt?", "Is the felt cut by hand?"):
            found = await knowledge.search.hybrid(PROJECT, asked, 5)
            scores = {each.chunk.id: each.score for each in found}
            assert scores[last.id] == pytest.approx(2 * max(scores[felt.id], scores[cut.id]))


@pytest.mark.requirement("V-62")
async def test_what_is_about_a_name_is_still_led_to_after_ten_corrections(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path) as (knowledge, _):
        await knowledge.store(PROJECT, [new_chunk("The Silver Crow is an opera by Mara Lunen.", "The Silver Crow")])
        await knowledge.store(PROJECT, [new_chunk(f"An opera ticket costs {n} crowns.", f"Hall {n}") for n in range(9)])
        for year in range(1900, 1910):
            told = new_chunk(f"Mara Lunen was first sung in {year}.", "Mara Lunen")
            [newest] = await knowledge.store(PROJECT, [told])
        found = await knowledge.search.hybrid(PROJECT, "Whose opera is The Silver Crow?", 3)
        assert newest in [one.chunk.id for one in found[:2]]


async def test_a_search_by_meaning_alone_puts_what_was_replaced_behind_what_replaces_it(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path) as (knowledge, _):
        [old] = await knowledge.store(PROJECT, [new_chunk("The rent of the flat is 900 euros.")])
        [new] = await knowledge.store(PROJECT, [new_chunk("The rent of the flat is 950 euros.")])
        found = await knowledge.search.semantic(PROJECT, "The rent is 900 euros", 5, min_similarity=0.1)
        assert [one.chunk.id for one in found] == [new, old]
        assert found[1].similarity > found[0].similarity


@pytest.mark.parametrize(
    ("question", "type_", "first"),
    [
        ("Where did we put the spare key?", ChunkType.USER_INPUT, "The spare key is under the blue pot."),
        ("Which floor did we end up with?", ChunkType.DECISION, "We take the oak floor for the hall."),
    ],
)
async def test_a_question_on_what_we_did_is_answered_by_words_of_the_owner_and_decisions_first(
    tmp_path: Path, question: str, type_: ChunkType, first: str
) -> None:
    async with open_knowledge(tmp_path) as (knowledge, _):
        await knowledge.store(PROJECT, [new_chunk(t) for t in ("A boiler has a key.", "A pine floor dents easily.")])
        await knowledge.store(PROJECT, [new_chunk(first, type=type_)])
        found = (await knowledge.search.answer(PROJECT, question, 5)).found
        assert found[0].chunk.content == first
        assert len(found) > 1  # What is of another type follows.


async def test_a_replacement_does_not_take_over_that_others_replace_the_old_chunk(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path) as (knowledge, _):
        texts = ("The oak is old.", "A ferry leaves.", "Bread rises.")
        old, first, second = [(await knowledge.store(PROJECT, [new_chunk(text)]))[0] for text in texts]
        for newer in (first, second):
            await knowledge.state(PROJECT, NewRelation(newer, old, RelationType.REPLACES, 0.8))
        stated = {(one.from_id, one.to_id) for one in await knowledge.relations(PROJECT)}
        assert stated == {(first, old), (second, old)}


async def test_a_copy_for_a_replacement_does_not_bring_back_what_a_contradiction_archived(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path) as (knowledge, _):
        texts = ("The oak is old.", "A ferry leaves.", "Bread rises.")
        old, new, ground = [(await knowledge.store(PROJECT, [new_chunk(text)]))[0] for text in texts]
        weak = await knowledge.state(PROJECT, NewRelation(new, ground, RelationType.SUPPORTS, 0.3))
        await knowledge.weaken(PROJECT, weak, "contradicted", 0.3)
        await knowledge.state(PROJECT, NewRelation(old, ground, RelationType.SUPPORTS, 0.2))
        await knowledge.state(PROJECT, NewRelation(new, old, RelationType.REPLACES, 0.8))
        [left] = await knowledge.relations_between(new, ground)
        assert left.archive_reason == "contradicted"


async def test_a_replacement_in_the_other_direction_archives_the_earlier_one(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path) as (knowledge, _):
        one, other = [(await knowledge.store(PROJECT, [new_chunk(t)]))[0] for t in ("The oak is old.", "Bread rises.")]
        await knowledge.state(PROJECT, NewRelation(other, one, RelationType.REPLACES, 0.8))
        await knowledge.state(PROJECT, NewRelation(one, other, RelationType.REPLACES, 0.8))
        [before] = await knowledge.relations_between(other, one)
        [now] = await knowledge.relations_between(one, other)
        assert (before.archive_reason, now.archive_reason) == ("replaced", "")


async def test_what_a_text_says_to_replace_of_the_owners_is_a_contradiction_and_no_active_replacement(
    tmp_path: Path,
) -> None:
    async with open_knowledge(tmp_path) as (knowledge, _):
        said = NewChunk("The oak is ours.", ChunkType.USER_INPUT, Confidence.VERIFIED, ChunkSource.USER)
        [own] = await knowledge.store(PROJECT, [said])
        [read] = await knowledge.store(PROJECT, [new_chunk("Bread rises.")])
        refused = await knowledge.state(PROJECT, NewRelation(read, own, RelationType.REPLACES, 0.8))
        assert refused.archive_reason == "contradicted"
        active = [one.type for one in await knowledge.relations(PROJECT) if one.archived_at is None]
        assert active == [RelationType.CONTRADICTS]


async def test_no_chunk_replaces_itself_over_any_number_of_others(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path) as (knowledge, _):
        texts = ("The oak is old.", "A ferry leaves.", "Bread rises.")
        one, two, three = await knowledge.store(PROJECT, [new_chunk(text) for text in texts])
        for newer, older in ((two, one), (three, two), (one, three)):
            await knowledge.state(PROJECT, NewRelation(newer, older, RelationType.REPLACES, 0.5))
        left = {chunk.id: chunk.superseded_by for chunk in await knowledge.of_project(PROJECT)}
        assert left == {one: None, two: three, three: one} or left == {one: two, two: None, three: one}
        active = [relation for relation in await knowledge.relations(PROJECT) if relation.archived_at is None]
        stated = {relation.to_id: relation.from_id for relation in active if not relation.is_implicit}
        assert stated == {older: newer for older, newer in left.items() if newer is not None}


@pytest.mark.requirement("V-61", "V-137")
async def test_a_stated_contradiction_weakens_what_the_other_chunk_says_of_others_until_it_is_archived(
    tmp_path: Path,
) -> None:
    async with open_knowledge(tmp_path) as (knowledge, _):
        old, other, third, new = await knowledge.store(
            PROJECT, [new_chunk(text) for text in ("Cork is dry.", "A hall.", "Bread.", "Tests of cork found water.")]
        )
        strong = NewRelation(old, other, RelationType.SUPPORTS, 0.8)
        weak = NewRelation(old, third, RelationType.SUPPORTS, 0.3)
        incoming = NewRelation(other, old, RelationType.REQUIRES, 0.8)
        for one in (strong, weak, incoming):
            await knowledge.state(PROJECT, one)
        await knowledge.state(PROJECT, NewRelation(new, old, RelationType.CONTRADICTS, 0.5))
        relations = await knowledge.relations(PROJECT)
        left = {(one.from_id, one.to_id): (round(one.weight, 9), one.archive_reason) for one in relations}
        assert left[(old, other)] == (0.5, "")
        assert left[(old, third)] == (0.3, "contradicted")
        assert left[(other, old)] == (0.8, "")
        assert [(one.newer.id, one.older.id) for one in await knowledge.contradictions(PROJECT)] == [(new, old)]
        [gone] = [one for one in await knowledge.relations(PROJECT) if one.archived_at is not None]
        assert (await knowledge.restore(PROJECT, gone)).archived_at is None


@pytest.mark.requirement("V-63")
async def test_a_chunk_is_related_to_what_it_is_like(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path) as (knowledge, _):
        await knowledge.store(PROJECT, [new_chunk("Oak floors suit damp halls well.", tags=("floor",))])
        await knowledge.store(PROJECT, [new_chunk("Oak floors suit damp halls.", tags=("floor", "hall"))])
        [made] = await knowledge.relations(PROJECT)
        assert (made.type, made.weight, made.is_implicit) == (RelationType.RELATED_TO, 0.2, True)
        assert made.context_tags == ("floor", "research")


@pytest.mark.requirement("V-63")
async def test_a_chunk_is_related_to_the_five_that_it_is_most_like_and_to_no_sixth(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path) as (knowledge, _):
        words = "Wide oak floors suit damp halls and cold cellars well wherever salt water comes in."
        for place in ("Bergen", "Oslo", "Malmö", "Turku", "Riga", "Gdansk", "Kiel"):
            await knowledge.store(PROJECT, [new_chunk(f"{words} So they built in {place}.")])
        [last] = await knowledge.store(PROJECT, [new_chunk(f"{words} Nobody disagreed.")])
        assert len([one for one in await knowledge.relations(PROJECT) if one.from_id == last]) == 5


@pytest.mark.requirement("V-113", "V-129")
async def test_every_type_of_chunk_and_of_relation_can_be_stored(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path) as (knowledge, _):
        new = [new_chunk(f"{type_.value} number {place}", type=type_) for place, type_ in enumerate(ChunkType)]
        first, second, *_ = await knowledge.store(PROJECT, new, are_one_text=True)
        for type_ in RelationType:
            await knowledge.state(PROJECT, NewRelation(first, second, type_, 0.5))
        assert {one.type for one in await knowledge.of_project(PROJECT)} == set(ChunkType)
        assert {one.type for one in await knowledge.relations_between(first, second)} == set(RelationType)
        assert len(RelationType) == 23


@pytest.mark.requirement("V-37", "V-123", "V-124")
async def test_a_newer_value_stands_before_the_older_one_and_the_owners_word_gives_way_to_nobody(
    tmp_path: Path,
) -> None:
    async with open_knowledge(tmp_path) as (knowledge, _):
        [old] = await knowledge.store(PROJECT, [new_chunk("The rent of the flat is 900 euros.")])
        [new] = await knowledge.store(PROJECT, [new_chunk("The rent of the flat is 950 euros.")])
        found = await knowledge.search.hybrid(PROJECT, "What is the rent of the flat?", 5)
        assert [one.chunk.id for one in found] == [new, old]
        assert await knowledge.contradictions(PROJECT) == []
        [settled] = await knowledge.contradictions(PROJECT, unresolved_only=False)
        assert (settled.newer.id, settled.relation.resolution, settled.is_verified) == (new, "recency", True)
        own = NewChunk("The deposit of the flat is 1800.", ChunkType.USER_INPUT, Confidence.VERIFIED, ChunkSource.USER)
        [said] = await knowledge.store(PROJECT, [own])
        await knowledge.store(PROJECT, [new_chunk("The deposit of the flat is 2700.")])
        [open_one] = await knowledge.contradictions(PROJECT)
        assert open_one.older.id == said
        assert open_one.older.superseded_by is None


@pytest.mark.requirement("V-123", "V-124")
async def test_of_two_values_that_are_stored_together_neither_is_newer_and_the_owner_is_asked(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path) as (knowledge, _):
        texts = ("A ferry leaves at nine.", "The rent of the flat is 900 euros.", "The rent of the flat is 950 euros.")
        ids = await knowledge.store(PROJECT, [new_chunk(text) for text in texts])
        assert all(chunk.stands for chunk in await knowledge.of_project(PROJECT))
        [asked] = await knowledge.contradictions(PROJECT)
        assert ({asked.older.id, asked.newer.id}, asked.is_verified) == (set(ids[1:]), True)


async def test_of_two_values_that_may_both_hold_both_stand_and_the_later_one_is_found_first(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path) as (knowledge, _):
        texts = ("Marta is allergic to peanuts.", "Marta is allergic to shellfish.")
        old, new = [(await knowledge.store(PROJECT, [new_chunk(text)]))[0] for text in texts]
        found = await knowledge.search.hybrid(PROJECT, "Is Marta allergic to peanuts?", 5)
        assert [one.chunk.id for one in found] == [new, old]
        assert all(one.chunk.stands for one in found)
        assert await knowledge.contradictions(PROJECT, unresolved_only=False) == []
        [relation] = await knowledge.relations(PROJECT)
        assert (relation.from_id, relation.to_id, relation.type) == (new, old, RelationType.PRECEDED_BY)


async def test_of_two_values_that_may_both_hold_and_are_stored_together_neither_is_the_later(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path) as (knowledge, _):
        texts = ("Marta is allergic to peanuts.", "Marta is allergic to shellfish.")
        await knowledge.store(PROJECT, [new_chunk(text) for text in texts])
        assert not [one for one in await knowledge.relations(PROJECT) if one.type is RelationType.PRECEDED_BY]
        assert await knowledge.contradictions(PROJECT, unresolved_only=False) == []


async def test_the_later_of_two_values_comes_first_also_where_only_one_is_asked_for(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path) as (knowledge, _):
        texts = ("Marta is allergic to peanuts.", "Marta is allergic to shellfish.")
        _, new = [(await knowledge.store(PROJECT, [new_chunk(text)]))[0] for text in texts]
        [found] = await knowledge.search.hybrid(PROJECT, "Is Marta allergic to peanuts?", 1)
        assert found.chunk.id == new


async def test_a_value_that_a_text_adds_does_not_come_before_the_owners(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path) as (knowledge, _):
        said = "Marta is allergic to peanuts."
        own = NewChunk(said, ChunkType.USER_INPUT, Confidence.VERIFIED, ChunkSource.USER)
        read = new_chunk("Marta is allergic to shellfish.", confidence=Confidence.SPECULATIVE)
        first, second = [(await knowledge.store(PROJECT, [one]))[0] for one in (own, read)]
        found = await knowledge.search.hybrid(PROJECT, "Is Marta allergic to peanuts?", 5)
        assert [one.chunk.id for one in found] == [first, second]
        assert await knowledge.relations(PROJECT) == []


async def test_a_value_that_was_replaced_does_not_come_before_one_that_stands(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path) as (knowledge, _):
        texts = ("Marta is allergic to peanuts.", "Marta is allergic to shellfish.", "Bread rises.")
        old, new, other = [(await knowledge.store(PROJECT, [new_chunk(text)]))[0] for text in texts]
        await knowledge.state(PROJECT, NewRelation(other, new, RelationType.REPLACES, 0.5))
        found = [one.chunk.id for one in await knowledge.search.hybrid(PROJECT, "Is Marta allergic to peanuts?", 5)]
        assert found.index(old) < found.index(new)


async def test_what_somebody_states_to_have_come_before_does_not_change_the_order(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path) as (knowledge, _):
        texts = ("The oak floor is sanded.", "The oak floor boards of the hall are old.")
        one, other = [(await knowledge.store(PROJECT, [new_chunk(text)]))[0] for text in texts]
        before = [f.chunk.id for f in await knowledge.search.hybrid(PROJECT, "oak floor sanded", 5)]
        last, first = before[-1], before[0]
        assert {one, other} == {first, last}
        await knowledge.state(PROJECT, NewRelation(last, first, RelationType.PRECEDED_BY, 0.1))
        assert [f.chunk.id for f in await knowledge.search.hybrid(PROJECT, "oak floor sanded", 5)] == before


async def test_sections_of_one_text_are_not_compared_with_each_other(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path) as (knowledge, _):
        texts = ("The rent of the flat is 900 euros.", "The rent of the flat is 950 euros.")
        await knowledge.store(PROJECT, [new_chunk(text) for text in texts], are_one_text=True)
        assert await knowledge.contradictions(PROJECT, unresolved_only=False) == []


async def test_what_a_chunk_was_made_of_and_what_holds_under_another_condition_is_no_contradiction(
    tmp_path: Path,
) -> None:
    async with open_knowledge(tmp_path) as (knowledge, _):
        [base] = await knowledge.store(PROJECT, [new_chunk("The rent of the flat is 900 euros.")])
        await knowledge.store(PROJECT, [new_chunk("The rent of the flat is 950 euros.", rests_on=(base,))])
        winter, summer = "The pool opens in winter.", "The pool opens in summer."
        for text in (winter, summer):
            await knowledge.store(PROJECT, [new_chunk(text)])
        assert await knowledge.contradictions(PROJECT, unresolved_only=False) == []
        assert all(one.stands for one in await knowledge.of_project(PROJECT))


async def test_a_third_value_contradicts_the_one_that_stands_and_leaves_the_first_where_it_is(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path) as (knowledge, _):
        ids = []
        for rent in (900, 950, 980):
            ids += await knowledge.store(PROJECT, [new_chunk(f"The rent of the flat is {rent} euros.")])
        chunks = {one.id: one.superseded_by for one in await knowledge.of_project(PROJECT)}
        assert chunks == {ids[0]: ids[1], ids[1]: ids[2], ids[2]: None}
        found = await knowledge.contradictions(PROJECT, unresolved_only=False)
        assert {(one.newer.id, one.older.id) for one in found} == {(ids[1], ids[0]), (ids[2], ids[1])}


async def test_a_relation_that_is_stated_after_a_search_leads_on_in_the_next_one(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path) as (knowledge, _):
        texts = (
            "Oak floors are hard.",
            "Bread rises overnight.",
            *(f"Oak number {n} stands there." for n in range(20)),
        )
        oak, bread, *_ = await knowledge.store(PROJECT, [new_chunk(text) for text in texts])
        asked = "Which floors are hard?"
        assert bread not in [one.chunk.id for one in await knowledge.search.hybrid(PROJECT, asked, 30)]
        await knowledge.state(PROJECT, NewRelation(oak, bread, RelationType.ENABLES, 0.9))
        [led] = [one for one in await knowledge.search.hybrid(PROJECT, asked, 30) if one.chunk.id == bread]
        assert (led.led_from, led.led_by) == (oak, "enables")


@pytest.mark.requirement("V-62")
async def test_what_is_replaced_counts_half_from_then_on_and_not_before(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path, clock=(clock := HandClock(NOW))) as (knowledge, _):
        [old] = await knowledge.store(PROJECT, [new_chunk("The rent of the flat is 900 euros.")])
        await clock.advance(10 * DAY)
        await knowledge.store(PROJECT, [new_chunk("The rent of the flat is 950 euros.")])

        async def score(until: float) -> float:
            filters = SearchFilters(until=until, with_fallen=True)
            found = await knowledge.search.hybrid(PROJECT, "rent of the flat 900", 5, filters, is_counted=False)
            return next(one.score for one in found if one.chunk.id == old)

        assert await score(NOW + 11 * DAY) == pytest.approx(await score(NOW + DAY) / 2)


@pytest.mark.requirement("V-58")
async def test_an_archived_relation_of_more_weight_is_not_the_one_that_is_strengthened(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path) as (knowledge, _):
        one, other = await knowledge.store(
            PROJECT, [new_chunk("Oak floors cost 20."), new_chunk("Oak floors are hard.")]
        )
        strong = await knowledge.state(PROJECT, NewRelation(one, other, RelationType.SUPPORTS, 0.9))
        await knowledge.weaken(PROJECT, strong, "manual", 0.9)
        weak = await knowledge.state(PROJECT, NewRelation(one, other, RelationType.ENABLES, 0.3))
        await knowledge.search.hybrid(PROJECT, "oak floors", 5, session_id="wake 1")
        await knowledge.count_coretrievals(PROJECT)
        left = {relation.id: relation.weight for relation in await knowledge.relations(PROJECT)}
        assert left[weak.id] == pytest.approx(0.35)
        assert left[strong.id] == pytest.approx(0.9)


async def test_what_is_only_near_and_differs_in_numbers_is_shown_as_unverified(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path) as (knowledge, _):
        await knowledge.store(PROJECT, [new_chunk("The hall of the old mill is 8 m long and 3 m high.")])
        await knowledge.store(PROJECT, [new_chunk("The hall of the old mill is 9 m long and 4 m high.")])
        [found] = await knowledge.contradictions(PROJECT)
        assert not found.is_verified
        assert found.older.stands


async def test_what_has_nothing_to_do_with_a_question_is_not_found_however_few_chunks_there_are(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path) as (knowledge, _):
        await knowledge.store(PROJECT, [new_chunk("Oak is a hard wood."), new_chunk("Bread rises overnight.")])
        found = await knowledge.search.hybrid(PROJECT, "How hard is oak?", 5)
        assert [one.chunk.content for one in found] == ["Oak is a hard wood."]


async def test_what_leads_to_another_chunk_brings_it_with_the_name_that_leads_there(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path) as (knowledge, _):
        film = new_chunk("Blue Harbour is a film directed by Ada Voss.", "Blue Harbour")
        person = new_chunk("Ada Voss was born in Trondheim.", "Ada Voss")
        others = [new_chunk(f"Film number {place} was shown in town {place}.") for place in range(30)]
        ids = await knowledge.store(PROJECT, [film, person, *others])
        found = await knowledge.search.hybrid(PROJECT, "Where was the director of Blue Harbour born?", 3)
        assert {one.chunk.id for one in found[:2]} == set(ids[:2])
        [led] = [one for one in found if one.chunk.id == ids[1]]
        assert (led.led_from, led.led_by) == (ids[0], "ada voss")


@pytest.mark.requirement("V-94")
async def test_fallen_chunks_and_old_orientations_are_not_found(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path) as (knowledge, database):
        fallen, _ = await knowledge.store(
            PROJECT, [new_chunk("Oak floors are cheap."), new_chunk("Oak floors page.", tags=("orientation_archive",))]
        )
        await knowledge.search.hybrid(PROJECT, "oak floors", 5)
        async with database.transaction() as transaction:
            assert await knowledge.mark_fallen(transaction, PROJECT, fallen, Fall.RETRACTED, "a test said so")
            assert not await knowledge.mark_fallen(transaction, PROJECT, fallen, Fall.RETRACTED, "again")
        assert await knowledge.search.hybrid(PROJECT, "oak floors", 5) == []
        archived = SearchFilters(tags=frozenset({"orientation_archive"}))
        assert len(await knowledge.search.tagged(PROJECT, ["orientation_archive"])) == 1
        assert archived.tags


@pytest.mark.requirement("V-54")
async def test_no_search_of_one_project_returns_a_row_of_another(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path) as (knowledge, _):
        own = await knowledge.store(PROJECT, [new_chunk(text, tags=("wood",)) for text in WOODS])
        foreign = await knowledge.store(OTHER, [new_chunk(text, tags=("wood",)) for text in WOODS])
        search = knowledge.search
        found = {one.chunk.id for one in await search.hybrid(PROJECT, " ".join(WOODS), 10)}
        found |= {one.chunk.id for one in await search.semantic(PROJECT, WOODS[0], 10, 0.0)}
        found |= {one.chunk.id for one in await search.by_words(PROJECT, " ".join(WOODS), 10)}
        found |= {one.id for one in await search.tagged(PROJECT, ["wood"])}
        assert found == set(own)
        with pytest.raises(StorageError, match="within its project"):
            await knowledge.state(PROJECT, NewRelation(own[0], foreign[0], RelationType.SUPPORTS, 0.5))
        with pytest.raises(UsageError, match="itself"):
            await knowledge.state(PROJECT, NewRelation(own[0], own[0], RelationType.SUPPORTS, 0.5))


async def test_after_a_change_of_the_embedder_chunks_are_embedded_anew_and_found(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path) as (knowledge, _):
        await knowledge.store(PROJECT, [new_chunk(text) for text in WOODS])
    async with open_knowledge(tmp_path, embedder=WordEmbedder("words-32", 32), first_id=50) as (knowledge, _):
        [found] = await knowledge.search.semantic(PROJECT, WOODS[2], 1, 0.9)
        assert found.chunk.content == WOODS[2]


@pytest.mark.requirement("V-117")
async def test_a_chunk_that_is_embedded_anew_is_still_found_by_its_title(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path) as (knowledge, _):
        await knowledge.store(PROJECT, [new_chunk("Twelve pounds a day.", "Parking fees"), new_chunk(WOODS[0])])
        [before] = await knowledge.search.semantic(PROJECT, "parking fees", 1, 0.3)
    async with open_knowledge(tmp_path, embedder=WordEmbedder("other-64"), first_id=50) as (knowledge, _):
        [found] = await knowledge.search.semantic(PROJECT, "parking fees", 1, 0.3)
        assert found.chunk.id == before.chunk.id
        assert found.score == pytest.approx(before.score, abs=1e-3)


async def test_a_chunk_whose_row_is_gone_is_not_found_though_it_was_in_memory(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path) as (knowledge, database):
        first, *_ = await knowledge.store(PROJECT, [new_chunk(text) for text in WOODS])
        assert await knowledge.search.hybrid(PROJECT, "hard wood floors", 1)
        async with database.transaction() as transaction:
            await transaction.run_text_many("DELETE FROM chunks WHERE id = ?", [(first,)])
        assert first not in [one.chunk.id for one in await knowledge.search.hybrid(PROJECT, "hard wood floors", 3)]
        [row] = await database.rows("chunks.count_in_project", {"project_id": PROJECT})
        assert row["number"] == 2


async def test_a_question_is_answered_the_way_it_is_meant(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path) as (knowledge, _):
        decided = NewChunk("We take oak for the hall.", ChunkType.DECISION, Confidence.VERIFIED, ChunkSource.USER)
        research = [new_chunk("Oak for the hall costs 20."), new_chunk("Loans cost 3 %.")]
        first, oak, _ = await knowledge.store(PROJECT, [decided, *research])
        lookup = await knowledge.search.answer(PROJECT, "What did we decide about the hall?", 5)
        assert [one.chunk.id for one in lookup.found] == [first]
        await knowledge.state(PROJECT, NewRelation(oak, first, RelationType.SUPPORTS, 0.8))
        linked = await knowledge.search.answer(PROJECT, "What supports oak for the hall?", 5)
        assert (oak, first) in {(here.chunk.id, there.chunk.id) for here, there in linked.relations}
        known = await knowledge.search.answer(PROJECT, "What do you know about the hall?", 5)
        assert {one.chunk.id for one in known.found} >= {first, oak}


async def test_as_of_a_day_no_relation_is_told_that_was_stated_later(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path, clock=(clock := HandClock(NOW))) as (knowledge, _):
        sold, oak = await knowledge.store(
            PROJECT, [new_chunk("Oak for the hall is sold out."), new_chunk("We take oak for the hall.")]
        )
        await clock.advance(10 * DAY)
        await knowledge.state(PROJECT, NewRelation(oak, sold, RelationType.REQUIRES, 0.8))
        for day, number in ((1, 0), (11, 1)):
            asked = "What requires oak for the hall?"
            answered = await knowledge.search.answer(PROJECT, asked, 5, until=NOW + day * DAY)
            told = {
                other.relation.id for _, other in answered.relations if other.relation.type is RelationType.REQUIRES
            }
            assert len(told) == number


@pytest.mark.requirement("V-123")
async def test_a_value_that_changes_in_one_sentence_of_a_long_text_is_found_behind_many_nearer_ones(
    tmp_path: Path,
) -> None:
    async with open_knowledge(tmp_path) as (knowledge, _):
        first = "Rain fell on stone. The membership at the climbing centre costs 40 euros. Snow lay on iron."
        [old] = await knowledge.store(PROJECT, [new_chunk(first)])
        about = "The garden needs a fence, a gate, a path, a hedge, a pond and a bench"
        await knowledge.store(PROJECT, [new_chunk(f"{about}, plan {n}.") for n in range(12)])
        [new] = await knowledge.store(
            PROJECT, [new_chunk(f"{about}. The membership at the climbing centre costs 55 euros.")]
        )
        chunks = {one.id: one for one in await knowledge.of_project(PROJECT)}
        assert chunks[old].superseded_by == new


RENT = ("How high is the rent of the flat?", "What do you know about the rent of the flat?")


@pytest.mark.requirement("V-107")
@pytest.mark.parametrize("question", RENT)
async def test_as_of_a_day_a_project_knows_what_it_knew_then(tmp_path: Path, question: str) -> None:
    async with open_knowledge(tmp_path, clock=(clock := HandClock(NOW))) as (knowledge, database):
        [old] = await knowledge.store(PROJECT, [new_chunk("The rent of the flat is 900 euros.")])
        await clock.advance(10 * DAY)
        [new] = await knowledge.store(PROJECT, [new_chunk("The rent of the flat is 950 euros.")])
        await clock.advance(10 * DAY)
        async with database.transaction() as transaction:
            await knowledge.mark_fallen(transaction, PROJECT, new, Fall.RETRACTED, "it was a misprint")
        knowledge.search.drop_all()

        async def known_on(day: int) -> list[tuple[str, bool, bool]]:
            answered = await knowledge.search.answer(PROJECT, question, 5, until=NOW + day * DAY)
            chunks = [one.chunk for one in answered.found]
            return [(one.id, one.superseded_by is None, not one.fell_because) for one in chunks]

        assert await known_on(1) == [(old, True, True)]
        assert await known_on(11) == [(new, True, True), (old, False, True)]
        assert sorted(await known_on(21)) == sorted([(old, False, True), (new, True, False)])


async def test_a_chunk_that_fell_and_was_replaced_held_until_the_first_of_both(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path, clock=(clock := HandClock(NOW))) as (knowledge, database):
        ids = await knowledge.store(PROJECT, [new_chunk(text) for text in ("Oak is hard.", "A red boat.", "Loans.")])
        oak, boat, loans = [(await knowledge.named(PROJECT, [name]))[0] for name in ids]
        async with database.transaction() as transaction:
            await knowledge.mark_fallen(transaction, PROJECT, oak.id, Fall.RETRACTED, "retracted")
            await knowledge.replace(transaction, boat, loans)
        await clock.advance(DAY)
        async with database.transaction() as transaction:
            await knowledge.replace(transaction, oak, loans)
            await knowledge.mark_fallen(transaction, PROJECT, boat.id, Fall.RETRACTED, "retracted")
        chunks = {one.id: one for one in await knowledge.of_project(PROJECT)}
        assert (chunks[oak.id].valid_until, chunks[boat.id].valid_until) == (NOW, NOW)
        async with database.transaction() as transaction:
            await knowledge.replace(transaction, chunks[loans.id], chunks[oak.id])  # takes back that loans replaced oak
        [oak_now] = await knowledge.named(PROJECT, [oak.id])
        assert (oak_now.superseded_by, oak_now.fell_because, oak_now.valid_until) == (None, "retracted", NOW)


@pytest.mark.requirement("V-67", "V-69")
async def test_of_two_that_are_alike_the_one_that_much_hangs_together_with_comes_first(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path) as (knowledge, _):
        texts = ("Oak wood for a hall.", "Oak wood for a hall!", "A red boat.")
        first, second, boat = await knowledge.store(PROJECT, [new_chunk(text) for text in texts])
        asked = "What do you know about oak wood for a hall?"
        assert [one.chunk.id for one in (await knowledge.search.answer(PROJECT, asked, 2)).found] == [first, second]
        await knowledge.state(PROJECT, NewRelation(boat, second, RelationType.REQUIRES, 0.9))
        assert [one.chunk.id for one in (await knowledge.search.answer(PROJECT, asked, 2)).found] == [second, first]


@pytest.mark.requirement("V-62", "V-65")
async def test_what_was_replaced_comes_after_what_replaces_it_when_a_subject_is_explored(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path) as (knowledge, database):
        texts = ("Oak wood.", "Oak wood for a hall.", "Oak wood for a hall and stairs.")
        old, new, other = await knowledge.store(PROJECT, [new_chunk(text) for text in texts])
        chunks = {one.id: one for one in await knowledge.of_project(PROJECT)}
        async with database.transaction() as transaction:
            await knowledge.replace(transaction, chunks[old], chunks[new])
        for limit in (3, 5):
            answered = await knowledge.search.answer(PROJECT, "What do you know about oak wood?", limit)
            assert answered.plan.method.value == "semantic_search"
            assert [one.chunk.id for one in answered.found] == [new, other, old], "the most similar one was replaced"


# --- relations that are stated again, by whoever, and in any order ----------------------------------------------------


@pytest.mark.requirement("V-33", "V-61")
async def test_a_contradiction_that_is_stated_again_weakens_nothing_a_second_time(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path) as (knowledge, _):
        old, other, new = await knowledge.store(PROJECT, [new_chunk(text) for text in ("Cork.", "A hall.", "Water.")])
        await knowledge.state(PROJECT, NewRelation(old, other, RelationType.SUPPORTS, 0.9))
        for from_id, to_id in ((new, old), (new, old), (new, old)):
            await knowledge.state(PROJECT, NewRelation(from_id, to_id, RelationType.CONTRADICTS, 0.5))
        [left] = [one for one in await knowledge.relations(PROJECT) if one.type is RelationType.SUPPORTS]
        assert left.weight == pytest.approx(0.6)
        assert left.archived_at is None


@pytest.mark.requirement("V-37")
async def test_two_chunks_have_one_contradiction_whichever_way_it_is_stated(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path, clock=(clock := HandClock(NOW))) as (knowledge, _):
        [old] = await knowledge.store(PROJECT, [new_chunk("The hall of the old mill is 8 m long and 3 m high.")])
        await clock.advance(DAY)
        [new] = await knowledge.store(PROJECT, [new_chunk("The hall of the old mill is 9 m long and 4 m high.")])
        [found] = await knowledge.contradictions(PROJECT)
        assert not found.is_verified
        await knowledge.state(PROJECT, NewRelation(old, new, RelationType.CONTRADICTS, 0.9))
        [found] = await knowledge.contradictions(PROJECT)
        assert found.is_verified, "somebody stated what was only alike"
        assert (found.older.id, found.newer.id, found.relation.weight) == (old, new, 0.9)


async def test_the_newer_of_two_is_the_one_that_was_stored_later_whoever_is_said_to_contradict(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path, clock=(clock := HandClock(NOW))) as (knowledge, _):
        [old] = await knowledge.store(PROJECT, [new_chunk("Cork is dry.")])
        await clock.advance(DAY)
        [new] = await knowledge.store(PROJECT, [new_chunk("Tests found water.")])
        await knowledge.state(PROJECT, NewRelation(old, new, RelationType.CONTRADICTS, 0.5))
        [found] = await knowledge.contradictions(PROJECT)
        assert (found.older.id, found.newer.id) == (old, new)


async def test_a_contradiction_that_a_model_dismissed_is_open_again_when_it_is_stated(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path) as (knowledge, database):
        for number in (8, 9):
            text = f"The hall of the old mill is {number} m long and {number - 5} m high."
            await knowledge.store(PROJECT, [new_chunk(text)])
        for resolution, left in (("none", 1), ("owner", 0)):
            [found] = await knowledge.contradictions(PROJECT)
            async with database.transaction() as transaction:
                await knowledge.settle(transaction, found, resolution)
            assert await knowledge.contradictions(PROJECT) == []
            ends = found.relation.from_id, found.relation.to_id
            await knowledge.state(PROJECT, NewRelation(*ends, RelationType.CONTRADICTS, 0.5))
            assert len(await knowledge.contradictions(PROJECT)) == left


async def test_a_contradiction_is_not_open_any_more_when_one_of_its_chunks_fell(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path) as (knowledge, database):
        old, new = await knowledge.store(PROJECT, [new_chunk("Cork is dry."), new_chunk("Tests found water.")])
        await knowledge.state(PROJECT, NewRelation(new, old, RelationType.CONTRADICTS, 0.5))
        async with database.transaction() as transaction:
            await knowledge.mark_fallen(transaction, PROJECT, old, Fall.RETRACTED, "retracted")
        assert await knowledge.contradictions(PROJECT) == []
        assert len(await knowledge.contradictions(PROJECT, unresolved_only=False)) == 1
        assert len(await knowledge.contradictions_of_chunk(PROJECT, new)) == 1


@pytest.mark.requirement("V-34")
async def test_two_callers_that_strengthen_a_relation_at_once_both_count(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path) as (knowledge, database):
        one, other = await knowledge.store(PROJECT, [new_chunk("Cork is dry."), new_chunk("A hall.")])
        seen = await knowledge.state(PROJECT, NewRelation(one, other, RelationType.SUPPORTS, 0.5))
        await asyncio.gather(*(knowledge.strengthen(PROJECT, seen, 0.05) for _ in range(4)))
        [left] = await relations_of_chunk(database, one)
        assert left.weight == pytest.approx(0.7)
        assert left.activation_count == 4
        async with database.transaction() as transaction:
            await transaction.run_text_many("DELETE FROM chunks WHERE id = ?", [(other,)])
        with pytest.raises(NotFoundError, match="no such relation any more"):
            await knowledge.strengthen(PROJECT, seen, 0.05)


@pytest.mark.requirement("V-57", "V-58", "V-120")
async def test_each_session_counts_once_and_those_of_a_project_that_never_wakes_count_in_upkeep(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path) as (knowledge, _):
        await knowledge.store(PROJECT, [new_chunk("Oak floors cost 20."), new_chunk("The hall needs oak floors soon.")])
        for session in range(4):
            await knowledge.search.hybrid(PROJECT, "oak floors", 5, session_id=f"mcp {session}")
        await knowledge.clean()
        assert [one.weight for one in await knowledge.relations(PROJECT)] == [0.2]
        for session in range(4, 7):
            await knowledge.search.hybrid(PROJECT, "oak floors", 5, session_id=f"mcp {session}")
        await knowledge.clean()
        [left] = await knowledge.relations(PROJECT)
        assert left.weight == pytest.approx(0.35)
        assert left.activation_count == 3


async def test_what_is_built_on_foreign_text_has_its_sources(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path) as (knowledge, _):
        [read] = await knowledge.store(PROJECT, [new_chunk("Oak costs 20.", foreign_sources=frozenset({"web:a"}))])
        built, said = await knowledge.store(
            PROJECT,
            [
                new_chunk("So five floors cost 100.", related_to=((read, RelationType.BUILDS_ON),)),
                new_chunk("A hall is large.", related_to=((read, RelationType.CONTRADICTS),)),
            ],
        )
        chunks = {one.id: one.foreign_sources for one in await knowledge.of_project(PROJECT)}
        assert chunks[built] == {"web:a"}
        assert chunks[said] == frozenset()


# --- the work that a call makes ---------------------------------------------------------------------------------------


async def test_a_search_for_what_is_not_there_reads_no_chunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_knowledge(tmp_path) as (knowledge, database):
        await knowledge.store(PROJECT, [new_chunk(f"Bread number {number} rises.") for number in range(60)])
        asked: list[str] = []
        rows = database.rows

        async def note(name: str, parameters: Any = None) -> Any:
            asked.append(name)
            return await rows(name, parameters)

        monkeypatch.setattr(database, "rows", note)
        assert await knowledge.search.semantic(PROJECT, "ferry timetable", 5, 0.99) == []
        assert asked.count("chunks.named") == 0


async def test_few_that_pass_the_filters_are_found_among_many_that_are_nearer(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path) as (knowledge, _):
        await knowledge.store(PROJECT, [new_chunk(f"Oak floors are hard, {number}.") for number in range(60)])
        [tagged] = await knowledge.store(PROJECT, [new_chunk("Oak floors in a hall of stone.", tags=("hall",))])
        filters = SearchFilters(tags=frozenset({"hall"}))
        assert [one.chunk.id for one in await knowledge.search.semantic(PROJECT, "oak floors", 3, 0.1, filters)] == [
            tagged
        ]
        assert [one.id for one in await knowledge.search.tagged(PROJECT, ["hall"])] == [tagged]
        assert len(await knowledge.search.tagged(PROJECT, [], limit=7)) == 7


async def test_an_index_that_is_built_while_words_are_erased_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_knowledge(tmp_path) as (knowledge, _):
        await knowledge.store(PROJECT, [new_chunk(text) for text in WOODS])
        knowledge.search.drop_all()
        monkeypatch.setattr(ProjectIndex, "relate", lambda *_: knowledge.search.drop_all())
        assert await knowledge.search.hybrid(PROJECT, "hard wood floors", 1)
        assert not knowledge.search._indexes


class _FormEmbedder(WordEmbedder):
    """Every question that has an exclamation mark is near the examples of decisions."""

    async def embed(self, texts: Sequence[str]) -> Vectors:
        vectors = await super().embed(texts)
        lookups = example_questions()[QueryType.LOOKUP]
        for row, text in enumerate(texts):
            if text in lookups or text.endswith("!"):
                vectors[row] = 0.0
                vectors[row, 0] = 1.0
        return vectors


@pytest.mark.requirement("V-71")
async def test_a_question_of_an_unknown_form_is_planned_by_the_embedder(tmp_path: Path) -> None:
    embedder = _FormEmbedder("all-minilm-l6-v2 of words")
    async with open_knowledge(tmp_path, embedder=embedder) as (knowledge, _):
        await knowledge.store(PROJECT, [new_chunk("Oak for the hall costs 20.")])
        answered = await knowledge.search.answer(PROJECT, "Oak for the hall!", 3)
        assert answered.plan.type is QueryType.LOOKUP
        assert [one.chunk.content for one in answered.found] == ["Oak for the hall costs 20."]
        assert (await knowledge.search.answer(PROJECT, "Oak for the hall", 3)).plan.type is QueryType.HYBRID


@pytest.mark.requirement("V-38")
async def test_a_search_with_filters_finds_the_few_that_pass_behind_many_that_do_not(tmp_path: Path) -> None:
    async with open_knowledge(tmp_path) as (knowledge, _):
        await knowledge.store(PROJECT, [new_chunk(f"Oak floors are hard, {number}.") for number in range(260)])
        decided = NewChunk("The hall gets oak.", ChunkType.DECISION, Confidence.VERIFIED, ChunkSource.USER)
        [chosen] = await knowledge.store(PROJECT, [decided])
        for filters in (
            SearchFilters(types=frozenset({ChunkType.DECISION})),
            SearchFilters(tags=frozenset({"decision"}), confidence=frozenset({Confidence.VERIFIED}), since=NOW - DAY),
        ):
            found = await knowledge.search.hybrid(PROJECT, "oak floors hard", 5, filters)
            assert [one.chunk.id for one in found] == [chosen]
        late = SearchFilters(types=frozenset({ChunkType.DECISION}), since=NOW + DAY)
        assert await knowledge.search.hybrid(PROJECT, "oak floors hard", 5, late) == []
