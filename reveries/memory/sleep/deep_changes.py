"""Change sets of deep sleep: what a checked answer makes of an episode. Pure."""

from dataclasses import dataclass, replace

import numpy as np

from reveries.config import MemorySettings
from reveries.llm.base import Vector
from reveries.memory.changes import ChangeSet, Processed, join_changes
from reveries.memory.graph.memory_graph import MemoryGraph
from reveries.memory.model import Episode, Experience, Link
from reveries.memory.sleep.linking import EMOTIONAL_COSINE, emotional_links, nearest_episodes, thematic_links
from reveries.memory.sleep.merge import append_exemplars, joined_summary, merge, merge_target, unite_texts
from reveries.memory.sleep.questions import Abstraction
from reveries.memory.text.segments import unit_mean

_FALLBACK_CONFIDENCE = 0.4
_MAX_TOPICS = 10
_NEAR_COUNT = 12


@dataclass(frozen=True, slots=True)
class DeepenedExperience:
    """What becomes of the experience's episode: rewritten, and perhaps gone into another (`merged_id`)."""

    changes: ChangeSet
    episode_id: str
    """Where the experience lives from now on."""
    merged_id: str = ""


def rewritten(home: Episode, abstraction: Abstraction) -> Episode:
    """`home` with what the model made of one of its experiences: quotes are appended, never rewritten (R-73); what is
    known of its other experiences stays in the summary."""
    is_alone = len(home.experience_ids) <= 1 and home.depth == "light"
    summary = abstraction.summary or home.summary
    is_first = home.depth == "light"
    # Half the cheap guess, half the model (a departure from RA-15): a small model calls some telling things worthless
    # ("My name is Tomas": 0.03), and an episode without salience has no energy and is lost to every cue.
    salience = (home.salience + abstraction.salience) / 2
    return replace(
        home,
        summary=summary if is_alone else joined_summary(home.summary, summary),
        exemplars=append_exemplars(home.exemplars, abstraction.exemplars),
        topics=unite_texts(abstraction.topics, home.topics)[:_MAX_TOPICS],
        salience=max(home.salience, salience) if not is_alone else salience,
        confidence=abstraction.confidence if is_first else min(home.confidence, abstraction.confidence),
        depth="deep",
    )


def deepen_episode(
    graph: MemoryGraph, home: Episode, experience: Experience, abstraction: Abstraction, vector: Vector,
    settings: MemorySettings, *, may_merge: bool = True,
) -> DeepenedExperience:  # fmt: skip
    """R-103's steps 3 to 5 and 7: find the closest, merge into it (where it may) or rewrite the episode, link, mark as
    processed."""
    processed = ChangeSet(processed=(Processed(experience.id, abstraction.salience, experience.valence),))
    episode = rewritten(home, abstraction)
    target = merge_target(graph, episode, vector, settings) if may_merge else None
    if target is not None:
        into = merge(graph, target, episode, _between(graph, target, vector))
        return DeepenedExperience(join_changes([into, processed]), target.id, home.id)
    near = nearest_episodes(graph, vector, _NEAR_COUNT, EMOTIONAL_COSINE, without={episode.id})
    links = _new_or_stronger(graph, (*thematic_links(episode, near), *emotional_links(episode, near)))
    changes = ChangeSet(episodes=(episode,), vectors=((episode.id, vector),), links=links)
    return DeepenedExperience(join_changes([changes, processed]), episode.id)


def fallen_back(home: Episode) -> ChangeSet:
    """The model gave no usable answer: the extract stays, and is trusted less from now on."""
    return ChangeSet(episodes=(replace(home, confidence=min(home.confidence, _FALLBACK_CONFIDENCE)),))


def _new_or_stronger(graph: MemoryGraph, links: tuple[Link, ...]) -> tuple[Link, ...]:
    """What sleep adds never weakens what use has strengthened."""
    kept: list[Link] = []
    for link in links:
        there = graph.strength_of(link.source_id, link.target_id, link.type)
        if there is None or link.strength > there:
            kept.append(link)
    return tuple(kept)


def _between(graph: MemoryGraph, target: Episode, vector: Vector) -> Vector:
    """Both vectors' middle, of unit length: the merged episode is about both."""
    return unit_mean(np.vstack([graph.vector_of(target.id), vector]))
