"""A part of the graph that is worth looking at: what lies around an episode, or around what a cue brings up. Pure."""

from dataclasses import dataclass

from reveries.memory.live import LiveMemory
from reveries.memory.model import Episode, LinkType

_WEAKEST_SHOWN = 0.05
_LOOKED_AT = 200


@dataclass(frozen=True, slots=True)
class Node:
    """An episode in the picture. `energy`: how much the cue woke it, 0 to 1 of the strongest; 0 without a cue."""

    episode: Episode
    distance: int
    """Links away from what the picture is about; 0 is that itself."""
    energy: float


@dataclass(frozen=True, slots=True)
class Tie:
    """A link in the picture, without its direction unless it has one (`is_directed`); the stronger way counts."""

    first_id: str
    second_id: str
    type: LinkType
    strength: float
    is_directed: bool


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """What belongs in the picture. `left_out`: episodes that are as near and had no room."""

    nodes: tuple[Node, ...]
    ties: tuple[Tie, ...]
    left_out: int


def neighbourhood(live: LiveMemory, centres: dict[str, float], limit: int) -> Neighbourhood:
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
        Node(episode, distance, centres.get(name, 0.0) / top)
        for name, distance in known.items()
        if (episode := live.graph.get(name)) is not None
    ]
    return Neighbourhood(tuple(nodes), _ties(live, known), len(waiting.keys() - known.keys()))


def most_telling(live: LiveMemory) -> str | None:
    """The episode to look around when none is named: of the latest few hundred, what matters much and hangs together
    with much."""

    def weight(episode: Episode) -> tuple[float, float]:
        ties = sum(link.strength for link in live.graph.links_of(episode.id))
        return episode.salience * (1.0 + ties), episode.created_at

    indices, _ = live.graph.by_time()
    best = max((live.graph.at(int(index)) for index in indices[-_LOOKED_AT:]), key=weight, default=None)
    return best.id if best is not None else None


def _offer(live: LiveMemory, name: str, nearness: float, distance: int, waiting: dict[str, tuple[float, int]]) -> None:
    for link in live.graph.links_of(name):
        if link.strength >= _WEAKEST_SHOWN:
            way = (nearness * 0.5 * link.strength, distance)
            waiting[link.target_id] = max(way, waiting.get(link.target_id, (0.0, distance)))


def _ties(live: LiveMemory, known: dict[str, int]) -> tuple[Tie, ...]:
    strongest: dict[tuple[str, str, LinkType], float] = {}
    for name in known:
        for link in live.graph.links_of(name):
            if link.target_id in known and link.strength >= _WEAKEST_SHOWN:
                is_directed = link.type is LinkType.CAUSAL
                ends = (name, link.target_id) if is_directed else tuple(sorted((name, link.target_id)))
                key = (ends[0], ends[1], link.type)
                strongest[key] = max(strongest.get(key, 0.0), link.strength)
    return tuple(
        Tie(first, second, kind, strength, kind is LinkType.CAUSAL)
        for (first, second, kind), strength in sorted(strongest.items(), key=lambda one: (-one[1], one[0]))
    )
