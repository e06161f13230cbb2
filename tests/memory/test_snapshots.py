"""A wake from a snapshot and the rows that changed since is the wake from all rows, whatever happened in between."""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import settings as checking
from hypothesis import strategies as st

from reveries.db.driver import dbapi
from reveries.errors import ModelUnavailableError, UndoError
from reveries.memory.changes import ChangeSet, Dormancy
from reveries.memory.live import LiveMemory
from reveries.memory.memory import Memory
from reveries.memory.model import Link, LinkType, Origin
from reveries.memory.snapshot_file import write_snapshot
from reveries.memory.snapshots import ChangedRows, read_changed_rows
from tests.fakes.clock import HandClock
from tests.memory.kit import NOW, WordEmbedder, context, open_memory, settings, talk
from tests.memory.owner_edits.test_thoughts import think
from tests.memory.test_memory import SAYINGS, do, picture
from tests.memory.test_snapshot_file import epochs_of, kept

CUES = ("What about Marta and the boat?", "blue paint", "Who is sad?", "bread", "Lisbon in March", "rain gauge")
MODELS = {"words-64": 64, "words-32": 32}
EDITS = (
    "UPDATE turns SET text = text || ' Truly.' WHERE rowid % 2",
    "UPDATE turns SET echoes = '\"all\"' WHERE rowid % 3 = 0",
    "UPDATE episodes SET salience = 0.5, summary = 'Something else.' WHERE rowid % 2",
    "DELETE FROM vectors WHERE owner_kind = 'turn' AND owner_id > (SELECT min(owner_id) FROM vectors)",
    "DELETE FROM episode_links WHERE from_id > to_id",
    "UPDATE raw_experiences SET happened_at = happened_at + 1, content = content || ' More.' WHERE rowid % 2",
    "DELETE FROM episode_sources WHERE episode_id = (SELECT max(id) FROM episodes)",
)
Deed = tuple[str, str]
CHANGES = st.one_of(
    st.tuples(st.sampled_from(["talk", "import", "thing", "told"]), st.sampled_from(SAYINGS)),
    st.tuples(
        st.sampled_from(["light", "deep", "deep badly", "decay", "rest", "recall", "undo"]),
        st.just(""),
    ),
    st.tuples(st.sampled_from(["strengthen", "weaken", "unindex", "speechless", "catch up"]), st.just("")),
    st.tuples(st.sampled_from(["dormant", "wake up", "put away"]), st.just("")),
    st.tuples(st.sampled_from(["think", "pin", "drop"]), st.just("")),
    st.tuples(st.just("edited"), st.sampled_from(EDITS)),
)  # fmt: skip
BEFORE = st.lists(
    st.one_of(
        CHANGES,
        st.tuples(st.sampled_from(["snapshot", "half a snapshot", "killed", "another model"]), st.just("")),
    ),
    max_size=10,
)
SAVED = st.sampled_from(["snapshot", "unpruned snapshot"])
AFTER = st.lists(
    st.one_of(CHANGES, st.tuples(st.sampled_from(["half a snapshot", "killed"]), st.just(""))), min_size=1, max_size=8
)


@dataclass
class Lives:
    """One mind over several lives. Each is killed, so none ends with a snapshot of its own."""

    folder: Path
    clock: HandClock = field(default_factory=lambda: HandClock(NOW))
    model: str = "words-64"
    count: int = 0

    @contextlib.asynccontextmanager
    async def next(self) -> AsyncIterator[Memory]:
        self.count += 1
        async with open_memory(
            self.folder,
            self.clock,
            embedder=WordEmbedder(self.model, MODELS[self.model]),
            first_id=self.count * 100_000,
            old_embedder=lambda name: WordEmbedder(name, MODELS[name]),
        ) as memory:
            yield memory

    async def lived(self, deeds: Sequence[Deed]) -> None:
        """Do all of it."""
        while deeds:
            async with self.next() as memory:
                deeds = await self._live(memory, deeds)

    async def _live(self, memory: Memory, deeds: Sequence[Deed]) -> Sequence[Deed]:
        for done, (deed, text) in enumerate(deeds, start=1):
            match deed:
                case "killed":
                    return deeds[done:]
                case "another model":
                    (self.model,) = MODELS.keys() - {self.model}
                    return deeds[done:]
                case "edited":
                    with contextlib.closing(dbapi.connect(str(self.folder / "memory.db"))) as connection:
                        connection.execute(text)
                        connection.commit()
                    return deeds[done:]
                case _:
                    await happen(memory, self.clock, deed, text)
        return ()


async def happen(memory: Memory, clock: HandClock, deed: str, text: str) -> None:
    if (changes := change_of(memory.live, deed)) is not None:
        await commit(memory, changes)
    elif "snapshot" in deed:
        await save(memory, deed)
    elif deed in ("told", "thing", "speechless"):
        await hear(memory, clock, deed, text)
    elif deed == "think":
        await clock.advance(60)
        await think(memory, "Would the zeppelin have carried my letter?", clock.now())
        await memory.light_sleep()
    elif deed in ("pin", "drop"):
        await mark_last_thought(memory, deed)
    elif deed == "undo":
        for run in await memory.sleep_log(1):
            with contextlib.suppress(UndoError):
                await memory.undo_pass(run.run_id, through=True)
    elif deed == "wake up":
        await memory._deep_recall.wake_episodes(await asleep(memory), "the test")
    elif deed == "catch up":
        await memory.reembedding.embed_missing()
    else:
        await do(memory, clock, deed, text)


async def mark_last_thought(memory: Memory, deed: str) -> None:
    thoughts = await memory._parts.database.rows("monologue_state.thoughts_since", {"since": 0.0, "limit": 1})
    with contextlib.suppress(UndoError):
        for thought in thoughts:
            hand = memory.thought_edits
            await (hand.pin if deed == "pin" else hand.withdraw)(thought["experience_id"])


def change_of(live: LiveMemory, deed: str) -> ChangeSet | None:
    """Return a change set that only changes existing episodes."""
    names = sorted(live.graph.ids())
    turns = tuple(turn.id for one in names[:2] for turn in live.turns.turns_of(one))
    match deed:
        case "dormant":
            return ChangeSet(dormant=tuple(Dormancy(one, NOW, "faded") for one in names[::2]))
        case "put away":
            return ChangeSet(put_away_turn_ids=turns)
        case "unindex":
            return ChangeSet(unindexed_turn_ids=turns)
        case "strengthen" | "weaken":
            strength = 0.9 if deed == "strengthen" else 0.05
            pairs = itertools.pairwise(names)
            return ChangeSet(links=tuple(Link(one, other, LinkType.CAUSAL, strength) for one, other in pairs))
    return None


async def hear(memory: Memory, clock: HandClock, deed: str, text: str) -> None:
    embedder = memory._parts.embedder
    assert isinstance(embedder, WordEmbedder)
    if deed == "thing":
        await memory.conversations.record_external(text, Origin.DOCUMENT)
        return
    if deed == "speechless":
        embedder.error = ModelUnavailableError("No Ollama answers.")
    await do(memory, clock, "talk", text or "The cello is out of tune.")
    await memory.light_sleep()
    embedder.error = None


async def save(memory: Memory, deed: str) -> None:
    if deed == "snapshot":
        assert await memory.save_snapshot()
    elif deed == "half a snapshot":
        stop = asyncio.Event()
        stop.set()
        await memory.save_snapshot(stop)
    else:
        await save_and_be_killed(memory)


async def save_and_be_killed(memory: Memory) -> None:
    """Save a snapshot up to a kill after the file is in place and before anything is pruned."""
    store, mark = memory._store, b"unpruned".ljust(16, b".")
    await store.snapshots._run_statements(mark, "changed.drop")
    await store.snapshots._begin_epoch(mark)
    assert write_snapshot(store.snapshots.path, memory.live.pack(), mark, store.embedder.model_id, lambda: True)


async def asleep(memory: Memory) -> list[str]:
    async with memory._parts.database.transaction() as transaction:
        found = await transaction._connection.execute(
            "SELECT id FROM episodes WHERE dormant = 1 AND merged_into IS NULL ORDER BY id LIMIT 2"
        )
        return [str(row["id"]) for row in await found.fetchall()]


async def commit(memory: Memory, changes: ChangeSet) -> None:
    async def work(_: object) -> ChangeSet:
        return changes

    await memory._store.commit(work)


def canonical(live: LiveMemory) -> dict[str, object]:
    """Return everything that recall uses, by name: order and row numbers have no meaning."""
    index, graph = live.turns, live.graph
    terms = {number: term for term, number in index.words._numbers.items()}

    def name(row: int) -> str:
        return index.turn(row).id if row >= 0 else ""

    rows = {turn.id: index.row_of(turn.id) or 0 for turn, _ in index.entries()}
    return {
        "incoming": {
            one: sorted((link.source_id, link.type, link.strength) for link in graph.links_into(one))
            for one in graph.ids()
        },
        "facts": {
            one: (
                graph._facts.accessibility[node],
                graph._facts.salience[node],
                graph._facts.last_accessed_at[node],
                graph._facts.valence[node],
                graph._facts.created_at[node],
                graph._facts.ended_at[node],
            )
            for one in graph.ids()
            if (node := graph.index_of(one)) is not None
        },
        "terms": {one: sorted(terms[number] for number in index.words.terms_at(row)) for one, row in rows.items()},
        "near": {one: (name(index._previous[row]), name(index._next[row])) for one, row in rows.items()},
        "surface": {one: index.surface[row].tobytes() for one, row in rows.items()},
        "said": {one: index.marks[row]["said_at"] for one, row in rows.items()},
        "about": {key: sorted(map(name, held)) for key, held in index.about.items()},
        "openers": +index.openers,
        "speakers": index.speakers,
        "rows_by_episode": {one: sorted(map(name, index.rows_of(one))) for one in graph.ids()},
        "names": {(key, one) for one in graph.ids() for key in live.names._holders if one in live.names.holders(key)},
    }


async def brought_to_mind(memory: Memory) -> dict[str, tuple[dict[str, float], dict[str, float]]]:
    """Return which episodes and turns a set of cues recalls, with their weights."""
    found: dict[str, tuple[dict[str, float], dict[str, float]]] = {}
    for cue in CUES:
        recall = await memory.recall(cue, context(limit=50))
        found[cue] = (
            {one.episode.id: one.energy for one in recall.episodes},
            {one.turn.id: one.score for one in recall.turns},
        )
    return found


def without_provisional(shown: dict[str, object], rows_only: dict[str, object]) -> dict[str, object]:
    """Return the state without provisional vectors, which are not in the rows."""
    vectors, told = shown["vectors"], rows_only["vectors"]
    assert isinstance(vectors, dict)
    assert isinstance(told, dict)
    return shown | {"vectors": {name: raw if any(told[name]) else told[name] for name, raw in vectors.items()}}


@example(before=[("unindex", "")], saved="snapshot", after=[("weaken", "")])
@example(before=[("think", "")], saved="snapshot", after=[("drop", "")])
@example(before=[("think", ""), ("dormant", "")], saved="snapshot", after=[("pin", ""), ("drop", ""), ("undo", "")])
@example(before=[("think", ""), ("drop", "")], saved="snapshot", after=[("undo", "")])
@checking(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(before=BEFORE, saved=SAVED, after=AFTER)
@pytest.mark.requirement("R-3", "R-148", "R-149", "R-154")
async def test_a_snapshot_and_what_changed_since_is_what_the_rows_say(
    tmp_path_factory: pytest.TempPathFactory, before: list[Deed], saved: str, after: list[Deed]
) -> None:
    lives = Lives(tmp_path_factory.mktemp("mind"))
    begun = [("told", one) for one in SAYINGS[:3]]
    await lives.lived([*begun, *before, (saved, ""), *after])
    async with lives.next() as memory:
        shown, held = picture(memory), canonical(memory.live)
        found = await brought_to_mind(memory)
    (lives.folder / "memory.snapshot").unlink(missing_ok=True)
    async with lives.next() as memory:
        rows_only = picture(memory)
        assert without_provisional(shown, rows_only) == rows_only
        assert held == canonical(memory.live)
        again = await brought_to_mind(memory)
    vectors = rows_only["vectors"]
    assert isinstance(vectors, dict)
    if all(any(raw) for raw in vectors.values()):
        for cue, parts in again.items():
            for one, other in zip(found[cue], parts, strict=True):
                assert one == pytest.approx(other, abs=1e-3)


@pytest.mark.requirement("R-3")
async def test_what_only_leaves_the_live_index_is_noted_too(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await talk(memory, ("My sister Marta lives in Lisbon.", "I see."))
        await memory.light_sleep()
        assert await memory.save_snapshot()
        (home,) = memory.live.graph.ids()
        said = {turn.id for turn in memory.live.turns.turns_of(home)}
        await commit(memory, ChangeSet(unindexed_turn_ids=tuple(said)))
        assert await kept(memory, tmp_path) == ChangedRows(turns=said)
        assert await memory.save_snapshot()
        assert await kept(memory, tmp_path) == ChangedRows(turns=said), "however many snapshots come"
    async with open_memory(tmp_path, first_id=500) as memory:
        assert {turn.id for turn in memory.live.turns.turns_of(home)} == said, "the rows are the truth"


async def test_without_a_snapshot_nothing_is_noted(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await talk(memory, ("My sister Marta lives in Lisbon.", "I see."))
        await memory.light_sleep()
        assert await read_changed_rows(memory._parts.database, 0) == ChangedRows()


@pytest.mark.requirement("R-3")
async def test_a_save_that_is_killed_before_the_file_stands_leaves_the_old_one_in_use(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await talk(memory, ("My sister Marta lives in Lisbon.", "I see."))
        await memory.light_sleep()
        assert await memory.save_snapshot()
        await talk(memory, ("The wooden boat Sole needs blue paint.", "I see."))
        await memory.light_sleep()
        await memory._store.snapshots._begin_epoch(b"killed")
        await talk(memory, ("Bread recipe: flour, yeast, salt.", "I see."))
        await memory.light_sleep()
        assert len(await epochs_of(memory._parts.database)) == 2
        live = picture(memory)
    async with open_memory(tmp_path, first_id=500) as memory:
        assert picture(memory) == live
        assert memory._store.snapshots._saved is not None, "the snapshot was of use"
        assert await memory.save_snapshot()
        assert len(await epochs_of(memory._parts.database)) == 1
        assert await read_changed_rows(memory._parts.database, 0) == ChangedRows()


@pytest.mark.requirement("R-3")
async def test_a_mark_that_the_database_does_not_know_is_of_no_use(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await talk(memory, ("My sister Marta lives in Lisbon.", "I see."))
        await memory.light_sleep()
        await memory._parts.database.backup_to(tmp_path / "backup.db")
        assert await memory.save_snapshot()
        live = picture(memory)
    for name in ("memory.db", "memory.db-wal", "memory.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    (tmp_path / "backup.db").rename(tmp_path / "memory.db")
    async with open_memory(tmp_path, first_id=500) as memory:
        assert memory._store.snapshots._saved is None
        assert picture(memory) == live


async def test_when_too_much_changed_the_mind_wakes_from_its_rows(tmp_path: Path) -> None:
    live = LiveMemory(4, settings)
    assert ChangedRows(turns={str(number) for number in range(2000)}).is_cheaper_than_reload(live)
    assert not ChangedRows(turns={str(number) for number in range(2001)}).is_cheaper_than_reload(live)
    assert ChangedRows(values={str(number) for number in range(9999)}).is_cheaper_than_reload(live)


async def test_another_embedding_model_ends_every_mark(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await talk(memory, ("My sister Marta lives in Lisbon.", "I see."))
        await memory.light_sleep()
        assert await memory.save_snapshot()
        async with memory._parts.database.transaction() as transaction:
            await transaction.run("vectors.serve", {"model_id": "another", "since": NOW})
        assert await epochs_of(memory._parts.database) == {}


@pytest.mark.requirement("R-3")
async def test_a_mind_that_got_another_name_wakes_with_its_thoughts_in_that_name(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await talk(memory, ("My sister Marta lives in Lisbon.", "I see."))
        await think(memory)
        await memory.light_sleep()
        assert await memory.save_snapshot()
    async with open_memory(tmp_path, first_id=500, mind_name="Aria") as memory:
        shown = picture(memory)
        assert memory.live.turns.speakers == {"Ana", "Reverie", "Aria"}
    (tmp_path / "memory.snapshot").unlink()
    async with open_memory(tmp_path, first_id=900, mind_name="Aria") as memory:
        assert picture(memory) == shown
