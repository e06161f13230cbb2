"""When something falls, everything that rests on it is held or flagged, and nothing else is."""

import itertools
import random
from dataclasses import replace

from reveries.knowledge.model import Chunk, ChunkSource, ChunkType, Confidence
from reveries.projects.model import Criterion, KeyDecision, Orientation, TaskKind, TaskStatus, WorkTask
from reveries.projects.premise import what_falls
from tests.rows import check_rows

PROJECTS = 60


def chunk(name: str, rests_on: tuple[str, ...] = (), task_id: str | None = None, fell: str = "") -> Chunk:
    return Chunk(
        id=name, project_id="p", title="", content=name, type=ChunkType.RESEARCH, tags=(),
        confidence=Confidence.INFERRED, source=ChunkSource.RESEARCH, rests_on=rests_on, task_id=task_id,
        fell_because=fell, created_at=0.0, foreign_sources=frozenset(),
    )  # fmt: skip


def task(name: str, rests_on: tuple[str, ...] = (), needs: tuple[str, ...] = (), *, is_done: bool = False) -> WorkTask:
    status = TaskStatus.DONE if is_done else TaskStatus.READY
    return WorkTask(
        id=name, project_id="p", goal_id="g", title=name, description="", kind=TaskKind.FIND_OUT, status=status,
        rests_on=rests_on, needs=needs,
    )  # fmt: skip


def test_a_chain_of_five_steps_is_followed_and_shown() -> None:
    chunks = [
        chunk("a", fell="a mistake"),
        chunk("b", ("a",)),
        chunk("c", task_id="t1"),
        chunk("d", ("c",)),
        chunk("e"),
    ]
    tasks = [task("t1", ("b",), is_done=True), task("t2", ("d",)), task("t3", ("e",)), task("t4", needs=("t2",))]
    page = Orientation(
        "",
        success_criteria=(Criterion("x", ("d",)), Criterion("y", ("e",))),
        key_decisions=(KeyDecision("z", "", 0.0, ("b",)), KeyDecision("w", "", 0.0, ("e",))),
    )
    found = what_falls(chunks, tasks, page)
    assert found.held["t2"] == ("a", "b", "t1", "c", "d", "t2")
    assert set(found.held) == {"t2", "t4"}
    assert set(found.flagged) == {"t1"}
    assert set(found.chunks) == {"a", "b", "c", "d"}
    assert (found.decisions, found.criteria) == ((0,), (0,))


def test_what_was_erased_fell_and_a_project_in_which_nothing_fell_is_left_alone() -> None:
    tasks = [task("t1", ("gone",)), task("t2", ("a",))]
    found = what_falls([chunk("a")], tasks, Orientation(""))
    assert set(found.held) == {"t1"}
    nothing = what_falls([chunk("a")], tasks[1:], Orientation(""))
    assert (nothing.held, nothing.flagged, nothing.chunks, nothing.criteria) == ({}, {}, {}, ())


@check_rows("seed", range(PROJECTS))
def test_in_made_projects_exactly_what_can_reach_a_fallen_chunk_is_hit(seed: int) -> None:
    """Ten to forty tasks, half with nothing that falls; the oracle walks the graph the other way."""
    chance = random.Random(seed)
    chunks, tasks, edges = _made_project(chance)
    fallen = set[str]() if seed % 2 else {chance.choice([one.id for one in chunks])}
    chunks = [replace(one, fell_because="wrong") if one.id in fallen else one for one in chunks]
    reached = set(fallen)
    while grown := {later for later, earlier in edges if earlier in reached} - reached:
        reached |= grown
    found = what_falls(chunks, tasks, Orientation(""))
    assert {*found.held, *found.flagged} == {one.id for one in tasks if one.id in reached}
    assert set(found.chunks) == {one.id for one in chunks if one.id in reached}
    assert set(found.flagged) == {one.id for one in tasks if one.id in reached and one.status is TaskStatus.DONE}
    for name, chain in {**found.held, **found.flagged}.items():
        assert chain[0] in fallen
        assert chain[-1] == name
        assert all((later, earlier) in edges for earlier, later in itertools.pairwise(chain))


def _made_project(chance: random.Random) -> tuple[list[Chunk], list[WorkTask], set[tuple[str, str]]]:
    """With its edges: what rests, and what it rests on."""
    edges: set[tuple[str, str]] = set()
    chunks = [chunk(f"c{n}") for n in range(chance.randint(4, 12))]
    tasks: list[WorkTask] = []
    for number in range(chance.randint(10, 40)):
        name = f"t{number}"
        bases = tuple(one.id for one in chance.sample(chunks, k=chance.choice([0, 0, 1, 2])))
        needs = tuple({chance.choice(tasks[-5:]).id}) if tasks and chance.random() < 0.3 else ()
        tasks.append(task(name, bases, needs, is_done=chance.random() < 0.5))
        edges |= {(name, base) for base in (*bases, *needs)}
        if chance.random() < 0.4:
            made_of = tuple(one.id for one in chance.sample(chunks, k=chance.choice([0, 1])))
            chunks.append(chunk(f"l{number}", made_of, task_id=name))
            edges |= {(f"l{number}", base) for base in (*made_of, name)}
    return chunks, tasks, edges
