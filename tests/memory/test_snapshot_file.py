"""The snapshot of the graph: the same as the rows say, noticed when stale or damaged, written whole or not at all."""

import stat
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as checking
from hypothesis import strategies as st

from reveries.db.database import Database, Transaction
from reveries.errors import ModelUnavailableError
from reveries.memory.changes import ChangeSet, Fading, IndexedTurn
from reveries.memory.graph.kernels import interpreted_kernels
from reveries.memory.graph.memory_graph import MemoryGraph
from reveries.memory.live import PackedMemory
from reveries.memory.memory import Memory
from reveries.memory.model import Link, LinkType
from reveries.memory.recall.ranking import best_turns, score_turns
from reveries.memory.recall.turn_index import TurnIndex
from reveries.memory.recall.turn_packing import pack_turns
from reveries.memory.snapshot_file import erase_snapshot, read_snapshot, write_snapshot
from reveries.memory.snapshots import ChangedRows, read_changed_rows
from tests.fakes.clock import HandClock
from tests.memory.graph.test_graph_oracle import DIMENSIONS as SMALL
from tests.memory.graph.test_graph_oracle import run_random_changes
from tests.memory.kit import NOW, WordEmbedder, open_memory, turn, warm_up
from tests.memory.reembedding_kit import fill, found_all
from tests.memory.test_memory import DEEDS, SAYINGS, do, picture, recalled

STAMP = b"s" * 16
MODEL = "model"


def always() -> bool:
    return True


def packed_life(seed: int, steps: int = 12) -> PackedMemory:
    graph = run_random_changes(seed, interpreted_kernels(), steps).graph
    return PackedMemory(graph.pack(), told(seed, [one.id for one in graph.episodes()]).pack())


def told(seed: int, homes: list[str]) -> TurnIndex:
    """An index that some turns came to, left, and came to again."""
    index, numbers = TurnIndex(SMALL), np.random.default_rng(seed)
    for row in range(int(numbers.integers(0, 30)) if homes else 0):
        said = turn(
            f"t{row}", SAYINGS[int(numbers.integers(len(SAYINGS)))], conversation_id=f"c{row % 3}", position=row
        )
        vector = numbers.standard_normal(SMALL).astype(np.float32)
        index.apply(ChangeSet(indexed=(IndexedTurn(said, homes[row % len(homes)], vector),)))
        if not row % 7:
            index.apply(ChangeSet(unindexed_turn_ids=(f"t{int(numbers.integers(row + 1))}",)))
    return index


def refilled(packed: PackedMemory) -> MemoryGraph:
    graph = MemoryGraph(SMALL)
    graph.load_packed(packed.graph)
    return graph


def asked(index: TurnIndex, cue: str) -> list[tuple[str, str, float]]:
    """What the index answers, in full."""
    vector = np.random.default_rng(1).standard_normal(SMALL).astype(np.float32)
    scores = score_turns(index, cue, vector, NOW)
    return [(one.turn.id, one.episode_id, one.score) for one in best_turns(index, scores, 50)]


def refilled_turns(packed: PackedMemory) -> TurnIndex:
    index = TurnIndex(SMALL)
    index.load_packed(packed.turns)
    return index


def shown(graph: MemoryGraph) -> dict[str, object]:
    return {
        one.id: (one, graph.vector_of(one.id).tobytes(), graph.links_of(one.id), graph.links_into(one.id))
        for one in graph.episodes()
    }


async def epochs_of(database: Database) -> dict[bytes, int]:
    return {bytes(row["mark"]): int(row["epoch"]) for row in await database.rows("changed.marks")}


async def kept(memory: Memory, folder: Path, embedder: WordEmbedder | None = None) -> ChangedRows | None:
    """Return what a wake would reload in addition to the snapshot; None if it cannot use one."""
    asked, epochs = embedder or WordEmbedder(), await epochs_of(memory._parts.database)
    found = read_snapshot(folder / "memory.snapshot", epochs.keys(), asked.model_id, asked.dimensions)
    return None if found is None else await read_changed_rows(memory._parts.database, epochs[found[0]])


def read(file: Path, mark: bytes = STAMP, model_id: str = MODEL, dimensions: int = SMALL) -> PackedMemory | None:
    """What is in a snapshot of that mark."""
    found = read_snapshot(file, {mark}, model_id, dimensions)
    return None if found is None else found[1]


async def wakes_the_same_with_and_without_snapshot(folder: Path) -> None:
    """The oracle: a wake from the rows alone."""
    async with open_memory(folder, first_id=800_000) as memory:
        from_snapshot = picture(memory)
    (folder / "memory.snapshot").unlink()
    async with open_memory(folder, first_id=900_000) as memory:
        assert picture(memory) == from_snapshot


@checking(max_examples=15)
@given(deeds=DEEDS, later=DEEDS)
@pytest.mark.requirement("R-3", "R-148", "R-154")
async def test_a_wake_from_the_snapshot_equals_the_live_memory_and_so_does_one_past_a_stale_snapshot(
    tmp_path_factory: pytest.TempPathFactory, deeds: list[tuple[str, str]], later: list[tuple[str, str]]
) -> None:
    folder, clock = tmp_path_factory.mktemp("mind"), HandClock(NOW)
    async with open_memory(folder, clock) as memory:
        for deed, text in deeds:
            await do(memory, clock, deed, text)
        assert await memory.save_snapshot()
        assert await kept(memory, folder) == ChangedRows()
        live = picture(memory)
    async with open_memory(folder, clock, first_id=100_000) as memory:
        assert picture(memory) == live
        for deed, text in later:
            await do(memory, clock, deed, text)
        live, answer = picture(memory), await recalled(memory)
    async with open_memory(folder, clock, first_id=200_000) as memory:
        assert picture(memory) == live
        again = await recalled(memory)
        assert {one.episode.id: pytest.approx(one.energy) for one in answer.episodes} == {
            one.episode.id: one.energy for one in again.episodes
        }


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM vectors WHERE owner_kind = 'turn'",
        "UPDATE turns SET text = 'another'",
        "UPDATE raw_experiences SET content = 'another'",
        "UPDATE episodes SET salience = 0.5",
        "DELETE FROM episode_sources",
        "INSERT INTO episode_links SELECT min(id), max(id), 'causal', 0.5 FROM episodes",
        "UPDATE episode_links SET strength = 0.25",
        "DELETE FROM episode_links",
        "DELETE FROM vectors WHERE owner_kind = 'episode'",
    ],
)
async def test_whoever_changes_a_row_has_it_noted_and_a_wake_finds_what_the_rows_say(
    tmp_path: Path, change: str
) -> None:
    async with open_memory(tmp_path) as memory:
        await do(memory, HandClock(NOW), "talk", "My sister Marta lives in Lisbon.")
        await memory.light_sleep()
        told = next(memory.live.graph.episodes())
        another = replace(told, id="another")
        changes = ChangeSet(
            episodes=(another,),
            vectors=((another.id, memory.live.graph.vector_of(told.id)),),
            links=(Link(told.id, another.id, LinkType.THEMATIC, 0.5),),
        )

        async def work(_: Transaction) -> ChangeSet:
            return changes

        await memory._store.commit(work)
        assert await memory.save_snapshot()
        assert await kept(memory, tmp_path) == ChangedRows()
        async with memory._parts.database.transaction() as transaction:
            await transaction._connection.execute(change)
        assert await kept(memory, tmp_path) not in (None, ChangedRows())
    await wakes_the_same_with_and_without_snapshot(tmp_path)


async def test_saving_twice_writes_once_and_the_file_is_for_the_owner_alone(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await do(memory, HandClock(NOW), "talk", "Bread recipe: flour, yeast, salt.")
        await memory.light_sleep()
        assert await memory.save_snapshot()
        file = tmp_path / "memory.snapshot"
        written = file.stat()
        assert stat.S_IMODE(written.st_mode) == 0o600
        assert await memory.save_snapshot()
        assert file.stat().st_ino == written.st_ino


@checking(max_examples=20)
@given(seed=st.integers(0, 2**32))
def test_a_graph_read_back_is_the_graph(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    file = tmp_path_factory.mktemp("s") / "graph"
    packed = packed_life(seed)
    assert write_snapshot(file, packed, STAMP, MODEL, always)
    found = read(file)
    assert found is not None
    assert shown(refilled(found)) == shown(refilled(packed))
    before, after = told(seed, [one.id for one in refilled(packed).episodes()]), refilled_turns(found)
    assert list(after.entries()) == list(before.entries())
    assert asked(after, "Marta and the cello") == asked(before, "Marta and the cello")


@checking(max_examples=30)
@given(data=st.data())
def test_a_damaged_byte_is_noticed(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    file = tmp_path_factory.mktemp("s") / "graph"
    packed = packed_life(3)
    assert write_snapshot(file, packed, STAMP, MODEL, always)
    raw = bytearray(file.read_bytes())
    if data.draw(st.booleans()):
        raw[data.draw(st.integers(0, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    else:
        raw = raw[: data.draw(st.integers(0, len(raw) - 1))]
    file.write_bytes(raw)
    found = read(file)
    # A bit between two sections belongs to nothing.
    assert found is None or shown(refilled(found)) == shown(refilled(packed))
    assert found is None or list(refilled_turns(found).entries()) == list(refilled_turns(packed).entries())


def test_a_snapshot_of_something_else_is_not_used(tmp_path: Path) -> None:
    file = tmp_path / "graph"
    assert read(file) is None
    assert write_snapshot(file, packed_life(4), STAMP, MODEL, always)
    assert read(file, b"t" * 16) is None
    assert read(file, model_id="another") is None
    assert read(file, dimensions=SMALL + 1) is None
    file.write_bytes(b"something else altogether")
    assert read(file) is None


def test_what_is_given_up_leaves_the_old_snapshot_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "graph"
    assert write_snapshot(file, packed_life(5), STAMP, MODEL, always)
    before = file.read_bytes()
    answers = iter([True, False])
    assert not write_snapshot(file, packed_life(6), STAMP, MODEL, lambda: next(answers, False))
    assert not write_snapshot(tmp_path / "nowhere" / "graph", packed_life(6), STAMP, MODEL, always)
    assert file.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["graph"]


def test_an_erased_snapshot_is_gone(tmp_path: Path) -> None:
    file = tmp_path / "graph"
    assert write_snapshot(file, packed_life(7), STAMP, MODEL, always)
    with file.open("rb") as opened:
        erase_snapshot(file)
        assert not any(opened.read())
    assert not file.exists()
    erase_snapshot(file)


def test_an_empty_graph_and_one_with_later_growth_work(tmp_path: Path) -> None:
    file = tmp_path / "graph"
    assert write_snapshot(file, PackedMemory(MemoryGraph(SMALL).pack(), TurnIndex(SMALL).pack()), STAMP, MODEL, always)
    found = read(file)
    assert found is not None
    graph = refilled(found)
    assert len(graph) == 0
    assert np.array_equal(graph.vectors, np.zeros((0, SMALL)))


@pytest.mark.requirement("R-119", "R-154")
async def test_a_change_of_the_embedder_makes_the_snapshot_stale_and_the_next_one_is_of_the_new_model(
    tmp_path: Path,
) -> None:
    await fill(tmp_path)
    new = WordEmbedder("new", 32)
    async with open_memory(tmp_path, embedder=new, first_id=500, old_embedder=lambda _: WordEmbedder()) as memory:
        assert await memory.save_snapshot()
        await warm_up(memory)
        await memory.reembedding.embed_missing()
        assert await kept(memory, tmp_path, new) is None
        assert await found_all(memory)
        assert await memory.save_snapshot()
        assert await kept(memory, tmp_path, new) is not None
        live = picture(memory)
    async with open_memory(tmp_path, embedder=new, first_id=900) as memory:
        assert picture(memory) == live
        assert memory.live.dimensions == 32
        assert await found_all(memory)


async def test_a_mind_that_no_embedder_ever_saw_has_a_snapshot_too(tmp_path: Path) -> None:
    unsure = WordEmbedder("unsure", 0)
    unsure.error = ModelUnavailableError("No Ollama answers.")
    await fill(tmp_path, unsure)
    async with open_memory(tmp_path, embedder=unsure, first_id=500) as memory:
        assert memory.live.dimensions == 0
        await warm_up(memory)
        assert await memory.save_snapshot()
        live = picture(memory)
    async with open_memory(tmp_path, embedder=unsure, first_id=900) as memory:
        assert picture(memory) == live
        assert await found_all(memory)


@checking(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), data=st.data())
def test_an_index_made_with_the_help_of_an_earlier_one_is_the_index(seed: int, data: st.DataObject) -> None:
    numbers = np.random.default_rng(seed)
    sayings = st.lists(st.sampled_from([*SAYINGS, "Lisbon is a city."]), max_size=12)
    earlier, later = data.draw(sayings), data.draw(sayings)
    now = [turn(f"t{row}", text, conversation_id=f"c{row % 2}", position=row) for row, text in enumerate(later)]
    homes = [f"e{row % 3}" for row in range(len(now))]
    vectors = {one.id: numbers.standard_normal(SMALL).astype(np.float32) for one in now}
    before = [turn(f"t{row}", text, conversation_id=f"c{row % 2}", position=row) for row, text in enumerate(earlier)]
    same = {one.id: vectors.get(one.id, np.ones(SMALL, dtype=np.float32)) for one in before}
    known = pack_turns(before, ["e0"] * len(before), same, SMALL)
    taken = {one.id for one in before if one in now}
    alone, helped, grown = TurnIndex(SMALL), TurnIndex(SMALL), TurnIndex(SMALL)
    alone.load_packed(pack_turns(now, homes, vectors, SMALL))
    left = {name: vector for name, vector in vectors.items() if name not in taken}
    helped.load_packed(pack_turns(now, homes, left, SMALL, known))
    indexed = tuple(IndexedTurn(said, home, vectors[said.id]) for said, home in zip(now, homes, strict=True))
    grown.apply(ChangeSet(indexed=indexed))
    again = TurnIndex(SMALL)  # Of turns that came without vectors, which were embedded later.
    without = np.zeros(SMALL, dtype=np.float32)
    again.apply(ChangeSet(indexed=tuple(IndexedTurn(said, "e9", without) for said in now)))
    again.apply(ChangeSet(indexed=indexed))
    for other in (helped, grown, again):
        assert list(other.entries()) == list(alone.entries())
        for cue in ("Marta and the cello", "Where is Lisbon?", "Blue paint for the boat"):
            assert [one[:2] for one in asked(other, cue)] == [one[:2] for one in asked(alone, cue)]
            assert [one[2] for one in asked(other, cue)] == pytest.approx(
                [one[2] for one in asked(alone, cue)], abs=1e-4
            )


@pytest.mark.requirement("R-66")
@pytest.mark.parametrize("with_snapshot", [True, False])
async def test_words_that_were_put_away_stay_away_whichever_way_the_memory_wakes(
    tmp_path: Path, with_snapshot: bool
) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        await do(memory, clock, "talk", "My sister Marta lives in Lisbon.")
        await memory.light_sleep()
        home = next(memory.live.graph.episodes())
        said = tuple(one.id for one in memory.live.turns.turns_of(home.id))

        async def work(_: Transaction) -> ChangeSet:
            return ChangeSet(fadings=(Fading(home.id, home.salience, 0.2, NOW),), put_away_turn_ids=said)

        await memory._store.commit(work)
        assert not with_snapshot or await memory.save_snapshot()
    async with open_memory(tmp_path, clock, first_id=500) as memory:
        assert memory.live.turns.turns_of(home.id) == []
        assert not (await memory.search("sister Marta Lisbon", 3)).turns
        assert {hit.owner_id for hit in (await memory.search_deep("sister Marta Lisbon", 3)).hits} >= {said[0]}


async def test_a_turn_that_reads_otherwise_than_in_a_stale_snapshot_keeps_its_vector(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await do(memory, HandClock(NOW), "talk", "My sister Marta lives in Lisbon.")
        await memory.light_sleep()
        assert await memory.save_snapshot()
        async with memory._parts.database.transaction() as transaction:
            await transaction._connection.execute("UPDATE turns SET text = text || ' Truly.'")
    async with open_memory(tmp_path, first_id=500) as memory:
        rows = [row for one in memory.live.graph.ids() for row in memory.live.turns.rows_of(one)]
        assert rows
        assert memory.live.turns.vectors[rows].any(axis=1).all()


async def test_a_snapshot_whose_parts_do_not_fit_is_put_aside_and_the_mind_wakes_from_its_rows(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await do(memory, HandClock(NOW), "talk", "My sister Marta lives in Lisbon.")
        await memory.light_sleep()
        live = picture(memory)
        whole = memory.live.pack()
        words = replace(whole.turns.words, rows=whole.turns.words.rows + np.int32(1000))
        unfit = PackedMemory(whole.graph, replace(whole.turns, words=words))
        assert await memory.save_snapshot()
        (mark,) = await epochs_of(memory._parts.database)
        assert write_snapshot(tmp_path / "memory.snapshot", unfit, mark, WordEmbedder().model_id, lambda: True)
    async with open_memory(tmp_path, first_id=500) as memory:
        assert picture(memory) == live
        assert await memory.save_snapshot()
        assert await kept(memory, tmp_path) is not None


@pytest.mark.requirement("R-3")
async def test_what_happens_while_a_copy_is_put_in_order_is_not_in_it(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await do(memory, HandClock(NOW), "talk", "My sister Marta lives in Lisbon.")
        await memory.light_sleep()
        copied = memory.live.begin_copy()
        whole = memory.live.pack()
        await do(memory, HandClock(NOW + 60), "talk", "The zeppelin needs blue paint.")
        await memory.light_sleep()
        later = copied()
    assert later.turns.words.vocabulary == whole.turns.words.vocabulary
    for name in ("term_ends", "rows", "counts", "terms", "ends"):
        assert np.array_equal(getattr(later.turns.words, name), getattr(whole.turns.words, name))
    assert (later.turns.ids, later.graph.ids) == (whole.turns.ids, whole.graph.ids)
