"""View of a part of the graph: the surroundings of an episode, or of what a cue recalls. Pure."""

import re

from reveries.memory.live import LiveMemory
from reveries.memory.model import Episode, LinkType
from reveries.protocol import GraphNode, GraphTie, Neighbourhood, copy_fields
from reveries.safe_text import one_line, plain

_WEAKEST_SHOWN = 0.05
_LATEST_EPISODES = 200
_LABEL_CHARS = 160
_SPEAKER = re.compile(r"(?:^|(?<=[.!?:] ))[^\s:]{1,30}: ")
_BRACKETS = re.compile(r"\[[^\]]{0,400}\]")


def neighbourhood(
    live: LiveMemory, centres: dict[str, float], limit: int, title: str = "", request_id: int = 0
) -> Neighbourhood:
    """Return the nearest `limit` episodes around `centres` (id and energy). Nearness is that of the strongest path."""
    top = max(centres.values(), default=0.0) or 1.0
    distances = {name: 0 for name in list(centres)[:limit] if name in live.graph}
    waiting: dict[str, tuple[float, int]] = {}
    for name in distances:
        _queue_neighbours(live, name, 1.0, 1, waiting)
    while waiting and len(distances) < limit:
        name = max(waiting, key=lambda waiting_name: (waiting[waiting_name][0], waiting_name))
        nearness, distance = waiting.pop(name)
        if name in distances:
            continue
        distances[name] = distance
        _queue_neighbours(live, name, nearness, distance + 1, waiting)
    nodes = [
        _node(episode, distance, centres.get(name, 0.0) / top)
        for name, distance in distances.items()
        if (episode := live.graph.get(name)) is not None
    ]
    left_out = len(waiting.keys() - distances.keys())
    return Neighbourhood(request_id, one_line(title), nodes, _ties(live, distances), left_out)


def select_centre(live: LiveMemory) -> str | None:
    """Select the episode to show when none is given: among the latest, one with high salience and strong links."""

    def weight(episode: Episode) -> tuple[float, float]:
        ties = sum(link.strength for link in live.graph.links_of(episode.id))
        return episode.salience * (1.0 + ties), episode.created_at

    indices, _ = live.graph.indices_by_time()
    best = max((live.graph.at(int(index)) for index in indices[-_LATEST_EPISODES:]), key=weight, default=None)
    return best.id if best is not None else None


def _queue_neighbours(
    live: LiveMemory, name: str, nearness: float, distance: int, waiting: dict[str, tuple[float, int]]
) -> None:
    for link in live.graph.links_of(name):
        if link.strength >= _WEAKEST_SHOWN:
            candidate = (nearness * 0.5 * link.strength, distance)
            waiting[link.target_id] = max(candidate, waiting.get(link.target_id, (0.0, distance)))


def _ties(live: LiveMemory, shown: dict[str, int]) -> list[GraphTie]:
    strongest: dict[tuple[str, str, LinkType], float] = {}
    for name in shown:
        for link in live.graph.links_of(name):
            if link.target_id in shown and link.strength >= _WEAKEST_SHOWN:
                is_directed = link.type is LinkType.CAUSAL
                ends = (name, link.target_id) if is_directed else tuple(sorted((name, link.target_id)))
                key = (ends[0], ends[1], link.type)
                strongest[key] = max(strongest.get(key, 0.0), link.strength)
    return [
        GraphTie(first, second, kind.value, strength, kind is LinkType.CAUSAL)
        for (first, second, kind), strength in sorted(strongest.items(), key=lambda entry: (-entry[1], entry[0]))
    ]


def _node(episode: Episode, distance: int, energy: float) -> GraphNode:
    return copy_fields(
        GraphNode,
        episode,
        episode_id=episode.id,
        label=_label(episode),
        summary=plain(episode.summary),
        happened_at=episode.created_at,
        distance=distance,
        energy=energy,
    )


def _label(episode: Episode) -> str:
    """Shorten the summary to a label, without speaker names and bracketed text."""
    summary = one_line(_BRACKETS.sub(" ", episode.summary), 1000)
    text = _SPEAKER.sub("", f"{summary} ").strip(" …")
    return one_line(text or ", ".join(episode.topics) or episode.summary, _LABEL_CHARS)
