"""Change sets of deep sleep: how a checked answer changes an episode. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from reveries.config import MemorySettings
from reveries.llm.base import Vector
from reveries.memory.changes import ChangeSet, ProcessedExperience, join_changes
from reveries.memory.graph.memory_graph import MemoryGraph
from reveries.memory.model import Episode, Experience, Link
from reveries.memory.sleep.linking import EMOTIONAL_COSINE, emotional_links, nearest_episodes, thematic_links
from reveries.memory.sleep.merge import (
    append_exemplars,
    find_merge_target,
    join_summaries,
    merge_change_set,
    unite_texts,
)
from reveries.memory.sleep.questions import Abstraction
from reveries.memory.text.segments import unit_mean

_FALLBACK_CONFIDENCE = 0.4
_MAX_TOPICS = 10
_NEAR_COUNT = 12


@dataclass(frozen=True, slots=True)
class DeepenedExperience:
    """How the experiences' episode changes: it is rewritten, and possibly merged into another."""

    changes: ChangeSet
    episode_id: str
    """The episode that holds the experience from now on."""
    merged_id: str = ""
    """The episode that was merged away, if any."""


def rewrite_episode(home: Episode, abstraction: Abstraction, experiences: Sequence[Experience]) -> Episode:
    """Return `home` with the model's abstraction of some of its experiences: quotes are appended, never rewritten
    (R-73); the summary keeps what it says of the other experiences."""
    is_alone = set(home.experience_ids) <= {experience.id for experience in experiences} and home.depth == "light"
    summary = abstraction.summary or home.summary
    is_first = home.depth == "light"
    # Mean of the heuristic and the model's value (a departure from RA-15): a small model rates some important facts as
    # worthless ("My name is Tomas": 0.03), and an episode without salience has no energy and is never recalled.
    salience = (home.salience + abstraction.salience) / 2
    return replace(
        home,
        summary=summary if is_alone else join_summaries(home.summary, summary),
        exemplars=append_exemplars(home.exemplars, abstraction.exemplars),
        topics=unite_texts(abstraction.topics, home.topics)[:_MAX_TOPICS],
        salience=max(home.salience, salience) if not is_alone else salience,
        confidence=abstraction.confidence if is_first else min(home.confidence, abstraction.confidence),
        depth="deep",
    )


def deepen_episode(
    graph: MemoryGraph, home: Episode, experiences: Sequence[Experience], abstraction: Abstraction, vector: Vector,
    settings: MemorySettings, *, may_merge: bool = True,
) -> DeepenedExperience:  # fmt: skip
    """Do steps 3 to 5 and 7 of R-103: find the closest episode, merge into it (if allowed) or rewrite this one, link
    it, and mark the experiences as processed."""
    processed = ChangeSet(
        processed=tuple(
            ProcessedExperience(experience.id, abstraction.salience, experience.valence) for experience in experiences
        )
    )
    episode = rewrite_episode(home, abstraction, experiences)
    target = find_merge_target(graph, episode, vector, settings) if may_merge else None
    if target is not None:
        merged = merge_change_set(graph, target, episode, _midpoint(graph, target, vector))
        return DeepenedExperience(join_changes([merged, processed]), target.id, home.id)
    near = nearest_episodes(graph, vector, _NEAR_COUNT, EMOTIONAL_COSINE, without={episode.id})
    links = _keep_stronger_links(graph, (*thematic_links(episode, near), *emotional_links(episode, near)))
    changes = ChangeSet(episodes=(episode,), vectors=((episode.id, vector),), links=links)
    return DeepenedExperience(join_changes([changes, processed]), episode.id)


def lower_confidence(home: Episode) -> ChangeSet:
    """Keep the extract with less confidence, because the model gave no usable answer."""
    return ChangeSet(episodes=(replace(home, confidence=min(home.confidence, _FALLBACK_CONFIDENCE)),))


def _keep_stronger_links(graph: MemoryGraph, links: tuple[Link, ...]) -> tuple[Link, ...]:
    """Return the links that are new or stronger than before: sleep never weakens what use has strengthened."""
    kept: list[Link] = []
    for link in links:
        strength = graph.strength_of(link.source_id, link.target_id, link.type)
        if strength is None or link.strength > strength:
            kept.append(link)
    return tuple(kept)


def _midpoint(graph: MemoryGraph, target: Episode, vector: Vector) -> Vector:
    """Return the unit vector between the target's vector and `vector`."""
    return unit_mean(np.vstack([graph.vector_of(target.id), vector]))
