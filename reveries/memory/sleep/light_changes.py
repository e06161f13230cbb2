"""Change sets of light sleep: forming episodes from experiences at once and without a model. Pure.

An episode's summary and exemplars are the experiences' own words; its vector is the mean of the turns' vectors.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from reveries.gates import Gate, inherits_taint
from reveries.index.terms import terms_of
from reveries.llm.base import Vector
from reveries.memory.changes import ChangeSet, IndexedTurn, ProcessedExperience
from reveries.memory.graph.memory_graph import MemoryGraph
from reveries.memory.graph.shared_names import MAX_HOLDERS, KnownNames, NameIndex, keys_of, shared_name_links
from reveries.memory.live import LiveMemory
from reveries.memory.model import Episode, ExperienceKind, Gap, Link, Origin, Turn
from reveries.memory.sleep.claims.verification import VerifiedClaims, judge_turns, limit_updates
from reveries.memory.sleep.linking import (
    EMOTIONAL_COSINE,
    both_ways,
    chain_episodes,
    emotional_links,
    find_predecessor,
    keep_strongest,
    nearest_episodes,
    temporal_links,
    thematic_links,
)
from reveries.memory.sleep.merge import append_exemplars, unite_texts
from reveries.memory.text.appraisal import topics_of, valence_of
from reveries.memory.text.entities import entities_of
from reveries.memory.text.extracts import exemplars_of, summary_of
from reveries.memory.text.segments import Piece, Run, Segment, group_by_conversation, split_segments, unit_mean

_NEAR_COUNT = 12
_NOVELTY_WEIGHT = 0.15
_FAMILIAR_COSINE = 0.6
_MAX_ENTITIES = 20
_SAME_THOUGHT_COSINE, _SAME_THOUGHT_WORDS = 0.95, 0.8


class LightChanges:
    """One batch of light sleep. New episodes are also linked to the ones formed earlier in the batch."""

    def __init__(
        self,
        live: LiveMemory,
        now: float,
        new_id: Callable[[], str],
        gaps: Mapping[float, Gap],
        allowed_updates: float = float("inf"),
    ) -> None:
        self._allowed = allowed_updates
        self._live = live
        self._now = now
        self._new_id = new_id
        self._gaps = gaps
        self._draft = MemoryGraph(live.graph.dimensions)
        self._names = NameIndex()
        self._known_names = KnownNames(live.names, self._names)
        self._vectors: dict[str, Vector] = {}
        self._links: list[Link] = []
        self._indexed: list[IndexedTurn] = []
        self.episode_count = 0

    def form_episodes(self, pieces: Sequence[Piece]) -> ChangeSet:
        """Form episodes from `pieces`, in order."""
        kept = [piece for piece in pieces if not self._is_redundant(piece)]
        for group in group_by_conversation(kept):
            previous: Episode | None = None
            for segment in split_segments(group, self._open_run(group[0])):
                previous = self._form_episode(segment, previous)
        judged = self._judge_turns([turn for piece in pieces for turn in piece.turns])
        return ChangeSet(
            claims=tuple(judged.claims),
            conflicts=tuple(judged.conflicts),
            episodes=tuple(self._draft.episodes()),
            vectors=tuple(self._vectors.items()),
            links=tuple(self._links),
            indexed=tuple(self._indexed),
            light_slept_ids=tuple(piece.experience.id for piece in pieces),
            processed=tuple(
                ProcessedExperience(piece.experience.id, piece.experience.salience, piece.experience.valence)
                for piece in pieces
                if piece.experience.id not in {kept_piece.experience.id for kept_piece in kept}
            ),
        )

    def _is_redundant(self, piece: Piece) -> bool:
        """Whether a piece is system text, only echoes, or a thought that the mind has had before in nearly the same
        words: it stays in the database but becomes no memory."""
        experience = piece.experience
        if experience.origin is Origin.SYSTEM or all(turn.is_echo for turn in piece.turns):
            return True
        return experience.kind is ExperienceKind.MONOLOGUE and self._was_thought_before(piece)

    def _was_thought_before(self, piece: Piece) -> bool:
        index = self._live.turns
        own = np.flatnonzero(index.live & index.marks["own"])
        if not len(own):
            return False
        # Multiply all int8 rows, then select: selecting first would copy the chosen rows as float32.
        cosines = np.stack([(index.vectors @ vector)[own] for vector in piece.vectors])
        best = cosines.argmax(axis=1)
        # The cosine alone is not enough: texts with little content are near to all others like them.
        return all(
            cosines[place, at] >= _SAME_THOUGHT_COSINE
            and _word_overlap(turn.own_text, index.turn(int(own[at])).own_text) >= _SAME_THOUGHT_WORDS
            for place, (turn, at) in enumerate(zip(piece.turns, best.tolist(), strict=True))
        )

    def _judge_turns(self, turns: Sequence[Turn]) -> VerifiedClaims:
        """Extract the claims of the turns and compare them with earlier ones."""
        index = self._live.turns

        def weight(term: str) -> float:
            return index.words.weight_of(term, index.live)

        judged = judge_turns(turns, self._live.claims, self._live.turns_holding, weight, self._now)
        return limit_updates(judged, self._allowed)

    def _form_episode(self, segment: Segment, previous: Episode | None) -> Episode:
        old = self._get_episode(segment.episode_id) if segment.episode_id else None
        vectors = np.vstack([piece.vectors for piece in segment.pieces])
        turns = [turn for piece in segment.pieces for turn in piece.turns]
        if old is not None:
            vectors = np.vstack([self._live.turn_vectors_of(old.id), vectors])
        vector = unit_mean(vectors)
        near = self._find_near(vector, {old.id} if old else set())
        if old is None:
            nearest_cosine = near[0][1] if near else 0.0
            # Without a vector the novelty is unknown, so none is assumed.
            episode = self._new_episode(segment, turns, nearest_cosine if vector.any() else _FAMILIAR_COSINE)
            self.episode_count += 1
            self._put_episode(episode, vector)
            self._chain_to_previous(episode, previous)
        else:
            episode = self._continue_episode(old, segment, turns)
            self._put_episode(episode, vector)
        self._links += keep_strongest(thematic_links(episode, near) + self._shared_name_links(episode))
        self._links += emotional_links(episode, near)
        self._indexed += [
            IndexedTurn(turn, episode.id, row)
            for piece in segment.pieces
            for turn, row in zip(piece.turns, piece.vectors, strict=True)
            if not turn.is_echo
        ]
        return self._get_episode(episode.id) or episode

    def _new_episode(self, segment: Segment, turns: Sequence[Turn], nearest_cosine: float) -> Episode:
        experiences = [piece.experience for piece in segment.pieces]
        first = experiences[0]
        origins = [experience.origin for experience in experiences]
        novelty = max(0.0, _FAMILIAR_COSINE - nearest_cosine)
        gap = self._gaps.get(first.happened_at)
        text = "\n".join(turn.own_text for turn in turns)
        return Episode(
            id=self._new_id(),
            created_at=first.happened_at,
            ended_at=max((turn.said_at for turn in turns), default=first.happened_at),
            last_accessed_at=self._now,
            access_count=0,
            summary=summary_of(turns),
            exemplars=exemplars_of(turns),
            salience=min(1.0, max(e.salience for e in experiences) + _NOVELTY_WEIGHT * novelty),
            confidence=1.0,
            valence=valence_of(text),
            topics=topics_of(text),
            entities=entities_of(text, self._known_names)[:_MAX_ENTITIES],
            origin=Origin.OWNER if Origin.OWNER in origins else origins[0],
            tainted=inherits_taint(Gate.EPISODE, *(experience.tainted for experience in experiences)),
            conversation_id=first.conversation_id,
            depth="light",
            experience_ids=tuple(experience.id for experience in experiences),
            last_decayed_at=self._now,
            gap_seconds=None if gap is None or gap.ended_at is None else gap.ended_at - gap.started_at,
            gap_significance="" if gap is None else gap.significance,
        )

    def _continue_episode(self, old: Episode, segment: Segment, new_turns: Sequence[Turn]) -> Episode:
        turns = [*self._live.turns.turns_of(old.id), *new_turns]
        text = "\n".join(turn.own_text for turn in turns)
        return replace(
            old,
            ended_at=max(old.ended_at, *(turn.said_at for turn in new_turns)),
            summary=summary_of(turns),
            exemplars=append_exemplars(old.exemplars, exemplars_of(new_turns, limit=1)),
            salience=max(old.salience, *(piece.experience.salience for piece in segment.pieces)),
            valence=valence_of(text),
            topics=topics_of(text),
            entities=unite_texts(old.entities, entities_of(text, self._known_names))[:_MAX_ENTITIES],
            tainted=inherits_taint(Gate.EPISODE, old.tainted, *(piece.experience.tainted for piece in segment.pieces)),
            experience_ids=unite_texts(old.experience_ids, (piece.experience.id for piece in segment.pieces)),
        )

    def _chain_to_previous(self, episode: Episode, previous: Episode | None) -> None:
        """Link a new episode and the one just before it in both directions (R-74)."""
        earlier = previous or self._predecessor(episode)
        if earlier is None:
            return
        earlier, episode = chain_episodes(earlier, episode)
        self._put_episode(earlier)
        self._put_episode(episode)
        self._links += temporal_links(earlier, episode)

    def _predecessor(self, episode: Episode) -> Episode | None:
        graphs = (self._live.graph, self._draft)
        earlier = [predecessor for graph in graphs if (predecessor := find_predecessor(graph, episode)) is not None]
        own = [
            candidate
            for candidate in earlier
            if candidate.conversation_id and candidate.conversation_id == episode.conversation_id
        ]
        latest = max(own or earlier, key=lambda candidate: candidate.created_at, default=None)
        return None if latest is None else self._get_episode(latest.id)

    def _open_run(self, piece: Piece) -> Run | None:
        """Return the latest episode of this conversation if it can still grow, which means that it is light."""
        conversation_id = piece.experience.conversation_id
        if conversation_id is None:
            return None
        last = self._live.graph.latest_of(conversation_id)
        if last is None or last.depth != "light":
            return None
        vectors = self._live.turn_vectors_of(last.id)
        return Run(conversation_id, last.ended_at, len(last.experience_ids), vectors, last.id) if len(vectors) else None

    def _find_near(self, vector: Vector, without: set[str]) -> list[tuple[Episode, float]]:
        drafted = nearest_episodes(self._draft, vector, _NEAR_COUNT, EMOTIONAL_COSINE, without)
        remembered = nearest_episodes(
            self._live.graph, vector, _NEAR_COUNT, EMOTIONAL_COSINE, without | {e.id for e, _ in drafted}
        )
        return sorted([*drafted, *remembered], key=lambda pair: (-pair[1], pair[0].id))[:_NEAR_COUNT]

    def _shared_name_links(self, episode: Episode) -> tuple[Link, ...]:
        """Return links in both directions to episodes, live or of this batch, that share a rare name with it."""
        self._names.add_episode(episode)
        holders = {key: {*self._live.names.holders(key), *self._names.holders(key)} for key in keys_of(episode)}
        few = {key: names for key, names in holders.items() if len(names) <= MAX_HOLDERS}
        others = {
            name: other for names in few.values() for name in names if (other := self._get_episode(name)) is not None
        }
        count = len(self._live.graph) + len(self._draft)
        return both_ways(shared_name_links(episode, others, few, count))

    def _get_episode(self, episode_id: str) -> Episode | None:
        return self._draft.get(episode_id) or self._live.graph.get(episode_id)

    def _put_episode(self, episode: Episode, vector: Vector | None = None) -> None:
        if vector is not None:
            self._vectors[episode.id] = vector
        vectors = ((episode.id, vector),) if vector is not None else ()
        self._draft.apply(ChangeSet(episodes=(episode,), vectors=vectors))


def _word_overlap(text: str, other: str) -> float:
    """Return the share of all words of two texts that both contain."""
    terms, other_terms = set(terms_of(text)), set(terms_of(other))
    return len(terms & other_terms) / len(terms | other_terms) if terms | other_terms else 1.0
