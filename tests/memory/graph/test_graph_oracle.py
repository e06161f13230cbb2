"""The array-based graph agrees with the plain oracle after any changes, compiled or interpreted, swept or not."""

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as checking
from hypothesis import strategies as st

from reveries.memory.changes import ChangeSet, Fading, Retirement, Touch
from reveries.memory.graph.activation import Seed, activate_episodes, nearest_seeds
from reveries.memory.graph.kernels import Kernels, compile_kernels, interpreted_kernels
from reveries.memory.graph.memory_graph import MemoryGraph
from reveries.memory.model import Link, LinkType
from tests.memory.graph.oracle import PlainGraph, energy_along, plain_activate, plain_spread, spread_energies
from tests.memory.kit import NOW, context, episode, settings

DAY = 86_400.0
DIMENSIONS = 8
KINDS = list(LinkType)


@pytest.fixture(scope="module")
def machine_code() -> Kernels:
    return compile_kernels()


@pytest.fixture(params=["as they stand", "compiled"], scope="module")
def kernels(request: pytest.FixtureRequest, machine_code: Kernels) -> Kernels:
    return machine_code if request.param == "compiled" else interpreted_kernels()


class Life:
    """Random changes, drawn from a seed, that are applied to both graphs."""

    def __init__(self, seed: int, kernels: Kernels) -> None:
        self.chance = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.plain = PlainGraph()
        self.graph = MemoryGraph(DIMENSIONS, kernels)
        self.born = 0
        self.gone: list[str] = []

    def both(self, changes: ChangeSet) -> None:
        self.plain.apply(changes)
        self.graph.apply(changes)

    def some(self) -> str:
        return self.chance.choice([*self.plain.episodes, *self.gone])

    def add(self, names: list[str]) -> None:
        """Add episodes that are new or were retired before."""
        chance = self.chance
        vectors = self.numbers.standard_normal((len(names), DIMENSIONS)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        if chance.random() < 0.2:
            vectors[:] = vectors[0]
        self.both(
            ChangeSet(
                episodes=tuple(
                    episode(
                        name,
                        salience=chance.random(),
                        valence=chance.uniform(-1, 1),
                        accessibility=chance.choice([1.0, chance.uniform(0.1, 1.0)]),
                        last_accessed_at=NOW - chance.uniform(-1, 100) * DAY,
                        created_at=NOW - chance.choice([7.0, 365.0, 730.0, chance.uniform(0, 900)]) * DAY,
                    )
                    for name in names
                ),
                vectors=tuple(zip(names, vectors, strict=True)),
            )
        )

    def new_names(self, count: int) -> list[str]:
        self.born += count
        return [f"e{number:04}" for number in range(self.born - count, self.born)]

    def link(self, count: int, hub: str | None = None) -> None:
        """Add links of any kind and strength, half of them in both directions; with a hub, all from or to it."""
        links: list[Link] = []
        for _ in range(count):
            ends = [hub or self.some(), self.some()]
            self.chance.shuffle(ends)
            strength = self.chance.choice([0.0, 1.0, -1.0, self.chance.random(), self.chance.random()])
            one = Link(ends[0], ends[1], self.chance.choice(KINDS), strength)
            links.append(one)
            if self.chance.random() < 0.5:
                links.append(Link(ends[1], ends[0], one.type, one.strength))
        self.both(ChangeSet(links=tuple(links)))

    def step(self) -> None:
        """Apply one random change."""
        additions = (self.grow, self.link_some, self.link_some, self.make_hub, self.change_strengths)
        self.chance.choice((*additions, self.touch, self.fade, self.retire, self.bring_back, self.merge))()

    def grow(self) -> None:
        self.add(self.new_names(self.chance.randint(1, 30)))

    def link_some(self) -> None:
        self.link(self.chance.randint(1, 60))

    def make_hub(self) -> None:
        self.link(self.chance.randint(50, 150), self.some())

    def change_strengths(self) -> None:
        known = sorted((link for name in self.plain.episodes for link in self.plain.links_of(name)), key=str)
        changed = [
            replace(link, strength=self.chance.random()) for link in self.chance.sample(known, min(len(known), 5))
        ]
        self.both(ChangeSet(links=tuple(changed)))

    def touch(self) -> None:
        touch = Touch(self.some(), 3, NOW - self.chance.random() * DAY, self.chance.random(), 1.0)
        self.both(ChangeSet(touches=(touch,)))

    def fade(self) -> None:
        fading = Fading(self.some(), self.chance.random(), self.chance.uniform(0.1, 1.0), NOW)
        self.both(ChangeSet(fadings=(fading,)))

    def retire(self) -> None:
        leaving = sorted({self.some() for _ in range(self.chance.randint(1, 6))})
        self.gone += [name for name in leaving if name in self.plain.episodes]
        self.both(ChangeSet(retired=tuple(Retirement(name, "other") for name in leaving)))

    def bring_back(self) -> None:
        back, self.gone = self.gone[:3], self.gone[3:]
        if back:
            self.add(back)

    def merge(self) -> None:
        source, target = self.some(), self.some()
        if source == target or source not in self.plain.episodes:
            return
        moved = sorted((replace(link, source_id=target) for link in self.plain.links_of(source)), key=str)
        self.gone.append(source)
        self.both(ChangeSet(links=tuple(moved), retired=(Retirement(source, target),)))

    def cue(self) -> np.ndarray:
        vector = self.numbers.standard_normal(DIMENSIONS).astype(np.float32)
        unit: np.ndarray = vector / np.linalg.norm(vector)
        return unit


def run_random_changes(seed: int, kernels: Kernels, steps: int) -> Life:
    life = Life(seed, kernels)
    life.add(life.new_names(life.chance.randint(1, 120)))
    for _ in range(steps):
        life.step()
        for _ in life.graph.shadow_slices():
            pass
    return life


SEEDS = st.integers(0, 2**32)
STEPS = st.integers(0, 25)


@checking(max_examples=40)
@given(seed=SEEDS, steps=STEPS)
@pytest.mark.requirement("R-78", "R-81", "R-116")
def test_whatever_is_done_the_links_are_those_of_the_plain_graph(kernels: Kernels, seed: int, steps: int) -> None:
    life = run_random_changes(seed, kernels, steps)
    assert [one.id for one in life.graph.episodes()] == list(life.plain.episodes)
    assert {one.id: one for one in life.graph.episodes()} == life.plain.episodes
    assert sum(life.graph.links_by_type().values()) == sum(map(len, life.plain.links.values()))
    for name, vector in life.plain.vectors.items():
        assert np.array_equal(life.graph.vector_of(name), vector)
        links = life.graph.links_of(name)
        assert len(links) == len(set(links))
        assert set(links) == life.plain.links_of(name)
        assert set(life.graph.links_into(name)) == life.plain.links_into(name)
        for link in links:
            assert life.graph.strength_of(link.source_id, link.target_id, link.type) == link.strength


@checking(max_examples=40)
@given(seed=SEEDS, steps=STEPS, hops=st.integers(0, 4), decay=st.sampled_from([0.0, 0.3, 0.5, 1.0]))
@pytest.mark.requirement("R-121", "R-126")
def test_energy_spreads_as_on_the_plain_graph(kernels: Kernels, seed: int, steps: int, hops: int, decay: float) -> None:
    life = run_random_changes(seed, kernels, steps)
    chosen = life.chance.sample(list(life.plain.episodes), min(3, len(life.plain.episodes)))
    start = {name: life.chance.uniform(0.1, 2.0) for name in chosen}
    energies, _, followed = plain_spread(life.plain, start, hops, decay)
    by_index = {life.graph.index_of(name) or 0: energy for name, energy in start.items()}
    for _ in range(2):  # The second run shows that the first left no energy behind.
        found = spread_energies(life.graph, by_index, hops, decay)
        assert {life.graph.id_at(index): pytest.approx(energy) for index, energy in found.energies.items()} == energies
        assert found.edges_touched == followed


@checking(max_examples=40)
@given(seed=SEEDS, steps=STEPS, limit=st.integers(0, 30), share=st.sampled_from([1.0, 0.02, 0.0]))
@pytest.mark.requirement("R-119", "R-120", "R-122", "R-123", "R-128")
def test_the_same_surfaces_as_on_the_plain_graph(
    kernels: Kernels, seed: int, steps: int, limit: int, share: float
) -> None:
    life = run_random_changes(seed, kernels, steps)
    cue = life.cue()
    count = life.chance.randint(1, 8)
    nearest = life.plain.nearest(cue, count)
    seeds = nearest_seeds(life.graph, cue, count)
    assert [life.graph.id_at(seed.index) for seed in seeds] == [name for name, _ in nearest]
    assert [seed.cosine for seed in seeds] == pytest.approx([cosine for _, cosine in nearest])
    asked = context(mood=life.chance.uniform(-1, 1), limit=limit)
    chosen = settings(max_hops=3, activation_threshold=life.chance.choice([0.0, 0.05, 0.3]))
    named = [(life.graph.id_at(seed.index), seed) for seed in seeds]
    expected = plain_activate(life.plain, named, asked, chosen, share)
    found, _ = activate_episodes(life.graph, seeds, asked, chosen, share)
    assert len(found) == min(limit, len(expected))
    best = sorted(expected.values(), reverse=True)[:limit]
    assert [one.energy for one in found] == pytest.approx(best)
    assert [one.energy for one in found] == pytest.approx([expected[one.episode.id] for one in found])
    assert list(found) == sorted(found, key=lambda one: (-one.energy, one.episode.id))


@checking(max_examples=40)
@given(seed=SEEDS, steps=STEPS)
@pytest.mark.requirement("R-118", "R-124")
def test_the_way_that_is_shown_is_the_strongest_there_is(kernels: Kernels, seed: int, steps: int) -> None:
    life = run_random_changes(seed, kernels, steps)
    names = life.chance.sample(list(life.plain.episodes), min(3, len(life.plain.episodes)))
    seeds = [Seed(life.graph.index_of(name) or 0, 1.0, life.chance.uniform(0.2, 1.0)) for name in names]
    chosen = settings(activation_threshold=0.0)
    found, _ = activate_episodes(life.graph, seeds, context(limit=40), chosen)
    start = {
        name: seed.match * life.plain.episodes[name].salience * (1.0 + 0.5 * recency(life, name))
        for name, seed in zip(names, seeds, strict=True)
    }
    _, strongest, _ = plain_spread(life.plain, start, chosen.max_hops, chosen.decay_per_hop)
    for one in found:
        assert one.path[0] in start
        assert one.path[-1] == one.episode.id
        assert len(one.path) <= chosen.max_hops + 1
        left = energy_along(life.plain, one.path, start[one.path[0]], chosen.decay_per_hop)
        assert left == pytest.approx(strongest[one.episode.id])


def recency(life: Life, name: str) -> float:
    days = max(0.0, NOW - life.plain.episodes[name].last_accessed_at) / DAY
    return float(np.exp(-days / 30.0))


def test_both_kinds_of_loop_can_take_over_in_the_middle_of_a_life(machine_code: Kernels) -> None:
    life = run_random_changes(5, interpreted_kernels(), 20)
    life.graph.use_kernels(machine_code)
    for _ in range(20):
        life.step()
    assert {name: set(life.graph.links_of(name)) for name in life.plain.episodes} == {
        name: life.plain.links_of(name) for name in life.plain.episodes
    }
    start = {0: 1.0}
    swift = spread_energies(life.graph, start, 3, 0.5)
    life.graph.use_kernels(interpreted_kernels())
    plain = spread_energies(life.graph, start, 3, 0.5)
    assert swift.edges_touched == plain.edges_touched
    assert swift.energies == pytest.approx(plain.energies)
