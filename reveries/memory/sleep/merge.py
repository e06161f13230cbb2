"""Merging of two episodes: when, and with what result (R-73, R-105, R-169, RA-26). Pure.

Nothing is lost: the episode that is merged away keeps its row, its sources and links move to the other, and its quotes
are appended unchanged.
"""

from collections.abc import Iterable
from dataclasses import replace

from reveries import gates
from reveries.config import MemorySettings
from reveries.llm.base import Vector
from reveries.memory.changes import ChangeSet, Retirement
from reveries.memory.graph.memory_graph import MemoryGraph
from reveries.memory.model import Episode, Exemplar, Link
from reveries.memory.sleep.linking import nearest_episodes

_HOUR_SECONDS = 3600.0
_MAX_TOPICS = 10
_SUMMARY_CHARS = 700


def find_merge_target(graph: MemoryGraph, episode: Episode, vector: Vector, settings: MemorySettings) -> Episode | None:
    """Return the closest other episode (R-105) if the two should be merged: near enough in meaning, and from one
    conversation or close in time (RA-26). Tainted and untainted episodes are never merged."""
    closest = nearest_episodes(graph, vector, 1, settings.merge_cosine, without={episode.id})
    other = closest[0][0] if closest else None
    if other is None or not _has_same_trust(other, episode):
        return None
    is_same_conversation = other.conversation_id is not None and other.conversation_id == episode.conversation_id
    hours = abs(other.created_at - episode.created_at) / _HOUR_SECONDS
    return other if is_same_conversation or hours <= settings.merge_window_hours else None


def _has_same_trust(episode: Episode, other: Episode) -> bool:
    """Whether both have the same taint and the same origin (F1)."""
    return not gates.is_enforced(gates.Gate.MERGE) or (
        episode.tainted == other.tainted and episode.origin == other.origin
    )


def merge_episodes(target: Episode, source: Episode) -> Episode:
    """Return `target` with `source` merged into it: quotes appended, topics and sources united, the greater salience,
    and the lower confidence, because a merge is itself uncertain."""
    exemplars = append_exemplars(target.exemplars, source.exemplars)
    return replace(
        target,
        created_at=min(target.created_at, source.created_at),
        ended_at=max(target.ended_at, source.ended_at),
        last_accessed_at=max(target.last_accessed_at, source.last_accessed_at),
        access_count=target.access_count + source.access_count,
        summary=join_summaries(target.summary, source.summary),
        exemplars=exemplars,
        salience=max(target.salience, source.salience),
        confidence=min(target.confidence, source.confidence),
        accessibility=max(target.accessibility, source.accessibility),
        valence=(target.valence + source.valence) / 2.0,
        topics=unite_texts(target.topics, source.topics)[:_MAX_TOPICS],
        entities=unite_texts(target.entities, source.entities),
        tainted=target.tainted or source.tainted,
        depth="deep",
        experience_ids=unite_texts(target.experience_ids, source.experience_ids),
        gap_seconds=target.gap_seconds if target.gap_seconds is not None else source.gap_seconds,
        gap_significance=target.gap_significance or source.gap_significance,
        before=tuple(name for name in unite_texts(target.before, source.before) if name not in (target.id, source.id)),
        after=tuple(name for name in unite_texts(target.after, source.after) if name not in (target.id, source.id)),
    )


def merge_change_set(graph: MemoryGraph, target: Episode, source: Episode, vector: Vector) -> ChangeSet:
    """Return the changes that merge `source` into `target`, which gets `vector`: links of `source` become those of
    `target`, and its neighbours in time refer to `target`."""
    both = merge_episodes(target, source)
    moved = [replace(link, source_id=target.id) for link in graph.links_of(source.id)]
    moved += [replace(link, target_id=target.id) for link in graph.links_into(source.id)]
    kept = tuple(_keep_stronger(graph, link) for link in moved if link.source_id != link.target_id)
    neighbours = tuple(
        _rename_episode(neighbour, source.id, target.id)
        for name in unite_texts(source.before, source.after)
        if name != target.id and (neighbour := graph.get(name)) is not None
    )
    return ChangeSet(
        episodes=(*neighbours, both),
        vectors=((target.id, vector),),
        links=kept,
        retired=(Retirement(source.id, target.id),),
    )


def append_exemplars(old: tuple[Exemplar, ...], new: Iterable[Exemplar]) -> tuple[Exemplar, ...]:
    """Return `old` unchanged, then the exemplars of `new` that are not in it (R-73)."""
    old_quotes = {(quoted.quote, quoted.turn_id) for quoted in old}
    return (*old, *(quoted for quoted in new if (quoted.quote, quoted.turn_id) not in old_quotes))


def unite_texts(old: tuple[str, ...], new: Iterable[str]) -> tuple[str, ...]:
    """Return both without repeats, in order."""
    return tuple(dict.fromkeys((*old, *new)))


def join_summaries(old: str, new: str) -> str:
    """Join two summaries, the older first; if the result is too long, its oldest words are cut."""
    if not old or old == new:
        return new
    both = f"{old} {new}"
    if len(both) <= _SUMMARY_CHARS:
        return both
    tail = both[-_SUMMARY_CHARS:]
    return "\u2026 " + tail.partition(" ")[2]


def _keep_stronger(graph: MemoryGraph, link: Link) -> Link:
    strength = graph.strength_of(link.source_id, link.target_id, link.type)
    return link if strength is None else replace(link, strength=max(link.strength, strength))


def _rename_episode(episode: Episode, old_id: str, new_id: str) -> Episode:
    return replace(
        episode,
        before=unite_texts((), (new_id if name == old_id else name for name in episode.before)),
        after=unite_texts((), (new_id if name == old_id else name for name in episode.after)),
    )
