"""View of a part of the graph: what lies around an episode, or around what a cue brings up. Pure."""

import re

from reveries.memory.live import LiveMemory
from reveries.memory.model import Episode, LinkType
from reveries.protocol import GraphNode, GraphTie, Neighbourhood
from reveries.safe_text import one_line, plain

_WEAKEST_SHOWN = 0.05
_LOOKED_AT = 200
_LABEL_CHARS = 160
_SPEAKER = re.compile(r"(?:^|(?<=[.!?:] ))[^\s:]{1,30}: ")
_BRACKETS = re.compile(r"\[[^\]]{0,400}\]")


def neighbourhood(
    live: LiveMemory, centres: dict[str, float], limit: int, title: str = "", request_id: int = 0
) -> Neighbourhood:
    """The nearest `limit` episodes around `centres` (id and energy): the strongest way in counts as near."""
    top = max(centres.values(), default=0.0) or 1.0
    known = {name: 0 for name in list(centres)[:limit] if name in live.graph}
    waiting: dict[str, tuple[float, int]] = {}
    for name in known:
        _offer(live, name, 1.0, 1, waiting)
    while waiting and len(known) < limit:
        name = max(waiting, key=lambda one: (waiting[one][0], one))
        nearness, distance = waiting.pop(name)
        if name in known:
            continue
        known[name] = distance
        _offer(live, name, nearness, distance + 1, waiting)
    nodes = [
        _node(episode, distance, centres.get(name, 0.0) / top)
        for name, distance in known.items()
        if (episode := live.graph.get(name)) is not None
    ]
    left_out = len(waiting.keys() - known.keys())
    return Neighbourhood(request_id, one_line(title), nodes, _ties(live, known), left_out)


def most_telling(live: LiveMemory) -> str | None:
    """The episode to look around when none is named: of the latest few hundred, what matters much and hangs together
    with much."""

    def weight(episode: Episode) -> tuple[float, float]:
        ties = sum(link.strength for link in live.graph.links_of(episode.id))
        return episode.salience * (1.0 + ties), episode.created_at

    indices, _ = live.graph.indices_by_time()
    best = max((live.graph.at(int(index)) for index in indices[-_LOOKED_AT:]), key=weight, default=None)
    return best.id if best is not None else None


def _offer(live: LiveMemory, name: str, nearness: float, distance: int, waiting: dict[str, tuple[float, int]]) -> None:
    for link in live.graph.links_of(name):
        if link.strength >= _WEAKEST_SHOWN:
            way = (nearness * 0.5 * link.strength, distance)
            waiting[link.target_id] = max(way, waiting.get(link.target_id, (0.0, distance)))


def _ties(live: LiveMemory, known: dict[str, int]) -> list[GraphTie]:
    strongest: dict[tuple[str, str, LinkType], float] = {}
    for name in known:
        for link in live.graph.links_of(name):
            if link.target_id in known and link.strength >= _WEAKEST_SHOWN:
                is_directed = link.type is LinkType.CAUSAL
                ends = (name, link.target_id) if is_directed else tuple(sorted((name, link.target_id)))
                key = (ends[0], ends[1], link.type)
                strongest[key] = max(strongest.get(key, 0.0), link.strength)
    return [
        GraphTie(first, second, kind.value, strength, kind is LinkType.CAUSAL)
        for (first, second, kind), strength in sorted(strongest.items(), key=lambda one: (-one[1], one[0]))
    ]


def _node(episode: Episode, distance: int, energy: float) -> GraphNode:
    return GraphNode(
        episode_id=episode.id,
        label=_label(episode),
        summary=plain(episode.summary),
        happened_at=episode.created_at,
        salience=episode.salience,
        accessibility=episode.accessibility,
        valence=episode.valence,
        origin=episode.origin.value,
        distance=distance,
        energy=energy,
    )


def _label(episode: Episode) -> str:
    """What it was, in short: without who said it, and without what stands in brackets."""
    said = one_line(_BRACKETS.sub(" ", episode.summary), 1000)
    text = _SPEAKER.sub("", f"{said} ").strip(" …")
    return one_line(text or ", ".join(episode.topics) or episode.summary, _LABEL_CHARS)
