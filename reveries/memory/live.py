"""The live memory: everything that recall needs, in memory (graph, source turns, claims, names, self-model). `apply`
applies a change set and `recall` recalls; neither waits or fails."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from reveries.config import RecallSettings
from reveries.index.vectors import Int8VectorTable, VectorTable
from reveries.index.word_scores import Floats
from reveries.llm.base import Vector, Vectors
from reveries.memory.changes import ChangeSet, Touch
from reveries.memory.graph.activation import Seed, activate_episodes, nearest_seeds
from reveries.memory.graph.claim_index import ClaimIndex
from reveries.memory.graph.kernels import Kernels
from reveries.memory.graph.memory_graph import MemoryGraph, PackedGraph, decode_entities
from reveries.memory.graph.shared_names import NameIndex
from reveries.memory.model import Link, RankedTurn, Recall, RecallContext, SelfModel, Turn
from reveries.memory.recall.date_order import is_day_first
from reveries.memory.recall.outranking import rank_outranked_last, tell_in_order
from reveries.memory.recall.ranking import TurnScores, best_turns, best_turns_of_episodes, nearest_turns, score_turns
from reveries.memory.recall.turn_index import TurnIndex
from reveries.memory.recall.turn_packing import PackedTurns
from reveries.memory.text.denials import LEAST_SHARE, Denial

_TURNS_PER_EPISODE = 3
_LEAST_RANKED_TURNS = 25
_NEAREST_TURNS = 12
SHARE_OF_SPREAD = 0.02
"""Weight of energy received over links in the ranking. On two imported conversations (457 questions) an episode with
the answer is among the first 5 / 10 in 85 / 92 % with 0.02, in 86 / 90 % with 0, in 76 / 88 % with 0.1, and in
46 / 61 % in the specification's form, where episodes with many links come first."""
_DENIAL_CANDIDATES = 20
LARGE_ROWS = 5_000
"""Episodes and turns from which on the loops are compiled. There, a recall takes 15 ms interpreted and 8 compiled
on a slow machine (`bench/speed.py --interpreted`); compiling costs a wake two seconds of processor time, the first one
twenty, and 110 MB."""
_REINFORCEMENT = 0.1
_CO_SURFACED = 0.02


@dataclass(frozen=True, slots=True)
class PackedMemory:
    """The whole live memory as arrays, as saved in a snapshot."""

    graph: PackedGraph
    turns: PackedTurns


@dataclass(frozen=True, slots=True)
class ArrangedVectors:
    """The vectors of another embedding model, in the row order of a live memory."""

    episodes: VectorTable = field(repr=False)
    turns: tuple[Int8VectorTable, Floats] = field(repr=False)


class LiveMemory:
    """The graph with its turns."""

    def __init__(self, dimensions: int, settings: Callable[[], RecallSettings]) -> None:
        self.graph = MemoryGraph(dimensions)
        self.turns = TurnIndex(dimensions)
        self.claims = ClaimIndex()
        self.names = NameIndex()
        self.self_model = SelfModel()
        self._read_settings = settings

    @property
    def dimensions(self) -> int:
        """Length of every vector here; 0 until an embedder has reported it."""
        return self.graph.dimensions

    @property
    def no_vector(self) -> Vector:
        """Zeros in place of a missing vector: similar to nothing, so the text is found by words alone."""
        return np.zeros(self.dimensions, dtype=np.float32)

    def arrange_vectors(
        self, dimensions: int, episodes: Mapping[str, Vector], turns: Mapping[str, Vector]
    ) -> "ArrangedVectors":
        """Arrange other vectors, given by id, in the row order of this memory. Changes nothing; may run in a thread
        while nothing is written."""
        return ArrangedVectors(
            self.graph.arrange_vectors(dimensions, episodes), self.turns.arrange_vectors(dimensions, turns)
        )

    def replace_vectors(self, arranged: "ArrangedVectors") -> None:
        """Replace all vectors by the result of `arrange_vectors` on this memory. Never waits, cannot fail."""
        self.graph.replace_vectors(arranged.episodes)
        self.turns.replace_vectors(*arranged.turns)

    def load_packed(self, packed: PackedMemory) -> None:
        """Load this empty memory from packed arrays. Raises ValueError if the parts do not fit together; then it
        stays empty."""
        graph, turns, names = MemoryGraph(self.dimensions), TurnIndex(self.dimensions), NameIndex()
        graph.load_packed(packed.graph)
        turns.load_packed(packed.turns)
        raw = packed.graph.lazy_episodes.raw
        names.add_many((episode_id, decode_entities(raw(place))) for place, episode_id in enumerate(packed.graph.ids))
        self.graph, self.turns, self.names = graph, turns, names

    def pack(self) -> PackedMemory:
        """Return a complete packed copy."""
        return self.begin_copy()()

    def begin_copy(self) -> Callable[[], PackedMemory]:
        """Copy this memory as it is now. The returned function does the slower packing, so writes wait only for the
        copy; later changes do not show in it."""
        graph, turns = self.graph.pack(), self.turns.begin_copy()
        return lambda: PackedMemory(graph, turns())

    def use_kernels(self, kernels: Kernels) -> None:
        """Switch to these (compiled) kernels."""
        self.graph.use_kernels(kernels)
        self.turns.use_kernels(kernels)

    @property
    def wants_compiled_loops(self) -> bool:
        """Whether the inner loops are interpreted, and the memory is so large that compiled ones would show."""
        return not self.graph.has_compiled_loops and self.graph.size + self.turns.size >= LARGE_ROWS

    @property
    def settings(self) -> RecallSettings:
        """The current recall settings."""
        return self._read_settings()

    @property
    def is_day_first(self) -> bool:
        """Whether "10/11" is the tenth of November."""
        return is_day_first(self.settings.date_order, os.environ)

    def apply(self, changes: ChangeSet) -> None:
        """Apply `changes`. Never waits, cannot fail."""
        self.graph.apply(changes)
        self.turns.apply(changes)
        self.claims.apply(changes)
        self.names.apply(changes)
        if changes.self_model is not None:
            self.self_model = changes.self_model.after

    def recall(self, cue: str, vector: Vector, context: RecallContext, *, is_explained: bool = False) -> Recall:
        """Recall (R-118..R-128); with `is_explained`, each turn has its ranking reasons. Changes nothing:
        `reinforcements` returns the changes of a real recall."""
        if vector.shape != (self.dimensions,):
            vector = self.no_vector
        scores = score_turns(
            self.turns,
            cue,
            vector,
            context.now,
            context.exclude_turn_ids,
            is_day_first=self.is_day_first,
        )
        seeds = self.entry_points(nearest_seeds(self.graph, vector, self.settings.seeds), vector, scores)
        surfaced, edges_touched = activate_episodes(self.graph, seeds, context, self.settings, SHARE_OF_SPREAD)
        homes = [recalled.episode.id for recalled in surfaced]
        turns = best_turns_of_episodes(self.turns, scores, homes, _TURNS_PER_EPISODE)
        recall = Recall(
            cue=cue,
            vector=vector,
            episodes=tuple(
                replace(episode, turns=self._complete_turns(own, scores))
                for episode, own in zip(surfaced, turns, strict=True)
            ),
            turns=self._complete_turns(
                best_turns(self.turns, scores, max(_LEAST_RANKED_TURNS, context.limit)), scores, is_explained
            ),
            edges_touched=edges_touched,
            # Next to what was said at that time, what is only worded like the question is noise.
            nearest=()
            if scores.names_only_time
            else self._complete_turns(nearest_turns(self.turns, scores, _NEAREST_TURNS), scores),
            names_only_time=scores.names_only_time,
        )
        return rank_outranked_last(tell_in_order(recall), self.claims)

    def _complete_turns(
        self, turns: Iterable[RankedTurn], scores: TurnScores, is_explained: bool = False
    ) -> tuple[RankedTurn, ...]:
        """Return the turns, each with the other half of its exchange and its cosine and coverage."""
        return tuple(self._complete(ranked, scores, is_explained) for ranked in turns)

    def _complete(self, ranked: RankedTurn, scores: TurnScores, is_explained: bool) -> RankedTurn:
        row = self.turns.row_of(ranked.turn.id)
        if row is None:
            return ranked
        return replace(
            ranked,
            partner=self.turns.partner_of(ranked.turn),
            cosine=float(scores.cosines[row]),
            coverage=float(scores.coverage[row]),
            is_in_time=scores.in_time is not None and bool(scores.in_time[row]),
            reasons=scores.reasons.top_reasons(row) if is_explained and scores.reasons else ranked.reasons,
        )

    def entry_points(self, seeds: Sequence[Seed], vector: Vector, scores: TurnScores) -> list[Seed]:
        """Return `seeds` plus the episodes of the best source turns: an episode's own vector blurs what one turn says
        exactly.

        The match of such an entry point is its turn's cosine and word coverage, weighted by `meaning_weight`.
        """
        by_index = {seed.index: seed for seed in seeds}
        count = max(_LEAST_RANKED_TURNS, self.settings.seeds) if scores.names_only_time else self.settings.seeds
        for row in scores.best_rows(count):
            index = self.graph.index_of(self.turns.episode_id(row))
            if index is None:
                continue
            words = float(scores.coverage[row])
            meaning = max(0.0, min(1.0, float(scores.cosines[row])))
            # A turn without a vector yet is matched by its words alone.
            weight = scores.meaning_weight if scores.cosines[row] != 0.0 else 0.0
            match = weight * meaning + (1.0 - weight) * words
            if scores.names_only_time and scores.in_time is not None and scores.in_time[row]:
                match = 1.0
            own = max(0.0, min(1.0, float(self.graph.vectors[index] @ vector)))
            earlier_seed = by_index.get(index)
            best = max(match, own, earlier_seed.match if earlier_seed else 0.0)
            by_index[index] = Seed(index, own, best, max(words, earlier_seed.words if earlier_seed else 0.0))
        return list(by_index.values())

    def turns_holding(self, denial: Denial, speaker: str) -> list[Turn]:
        """Return a speaker's turns that contain most of the denied terms, best coverage first."""
        index = self.turns
        if not len(index):
            return []
        coverage = index.words.score(sorted(denial.terms), index.live, index.neighbours).coverage
        rows: list[int] = np.flatnonzero(index.live & (coverage >= LEAST_SHARE)).tolist()
        rows.sort(key=lambda row: (-float(coverage[row]), row))
        own = [index.turn(row) for row in rows if index.turn(row).speaker.casefold() == speaker.casefold()]
        return own[:_DENIAL_CANDIDATES]

    def turn_vectors_of(self, episode_id: str) -> Vectors:
        """Return the vectors of an episode's turns, one row per turn."""
        vectors: Vectors = self.turns.vectors[list(self.turns.rows_of(episode_id))]
        return vectors

    def reinforcements(self, recalls: Sequence[Recall], now: float) -> ChangeSet:
        """Return the changes that reinforce the recalled episodes and the links among them (R-125, with RA-34's
        sizes). They are based on the current values: call it inside the write that applies them."""
        touched = dict.fromkeys(
            episode_id for recall in recalls for episode_id in recall.touched_ids if episode_id in self.graph
        )
        touches: list[Touch] = []
        for episode_id in touched:
            episode = self.graph.at(self.graph.index_of(episode_id) or 0)
            salience = min(1.0, episode.salience + _REINFORCEMENT * (1.0 - episode.salience))
            touches.append(Touch(episode_id, episode.access_count + 1, now, salience, accessibility=1.0))
        links = [
            Link(link.source_id, link.target_id, link.type, min(1.0, link.strength + _CO_SURFACED))
            for episode_id in touched
            for link in self.graph.links_of(episode_id)
            if link.target_id in touched
        ]
        return ChangeSet(touches=tuple(touches), links=tuple(links))
