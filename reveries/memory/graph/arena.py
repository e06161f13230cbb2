"""The links of the graph in one arena: flat arrays, a block of a power of two slots a node, changed in place. Pure.

A block holds the links that go out, then marks that lead back along links that only come in; then room. A block that
is outgrown goes on a free list of its size. When the arena is full it is packed anew, with as much room again.
"""

from array import array
from dataclasses import dataclass

import numpy as np

from reveries.index.arrays import Bytes, Float32, Int32, Int64
from reveries.memory.graph.arena_loops import BACK, CLASS, DEGREE, FREE, LEAST_CLASS, LEDGER_SIZE, START, TOP, USED
from reveries.memory.graph.kernels import Kernels

_FIRST_SLOTS = 256
_ROOM = 1.25
"""So much larger than what it holds is an arena that was packed anew."""


@dataclass(frozen=True, slots=True)
class PackedLinks:
    """The links of nodes 0, 1, 2 ... laid out as an arena holds them, without free blocks."""

    nodes: Int32
    """Shape (nodes, 4): START, DEGREE, USED, CLASS."""
    targets: Int32
    kinds: Bytes
    strengths: Float32
    taken: int
    """Slots below this are in blocks; what is behind them is room."""


class LinkArena:
    """Links by node index. Strengths are float32, from 0 to 1."""

    def __init__(self, kernels: Kernels, nodes: int) -> None:
        self.kernels = kernels
        self.nodes = _without_blocks(nodes)
        self._allot(_FIRST_SLOTS)

    @property
    def slots(self) -> int:
        """How many slots there are, taken or not."""
        return len(self.targets)

    @property
    def free_slots(self) -> int:
        """Slots in blocks that were given back."""
        return int(self._ledger[FREE])

    @property
    def link_count(self) -> int:
        return int(self.nodes[:, DEGREE].sum())

    def grow_nodes(self, nodes: int) -> None:
        """Room for node indices below `nodes`."""
        self.nodes = np.concatenate([self.nodes, _without_blocks(nodes - len(self.nodes))])

    def put(self, sources: list[int], ends: list[int], kinds: list[int], strengths: list[float]) -> None:
        """Put links, new or with a new strength, held to 0 to 1; what leads to where it comes from is passed over."""
        entries = np.frombuffer(array("d", [*sources, *ends, *kinds, *strengths]), dtype=np.float64)
        done = 0
        while (done := self.kernels.put_links(*self._arrays(), entries, done)) < len(sources):
            self._pack_anew()

    def drop_node(self, node: int) -> None:
        """Take every link from and to `node` out."""
        self.kernels.drop_node(*self._arrays(), node)

    def links_from(self, node: int) -> list[tuple[int, int, float]]:
        """Target, kind and strength of every link that goes out from `node`."""
        links = self._links(node)
        columns = self.targets[links].tolist(), self.kinds[links].tolist(), map(_as_written, self.strengths[links])
        return list(zip(*columns, strict=True))

    def arrays_from(self, node: int) -> tuple[Int32, Float32]:
        """Targets and strengths of the links that go out from `node`: views, gone with the next change."""
        links = self._links(node)
        return self.targets[links], self.strengths[links]

    def sources_of(self, node: int) -> list[int]:
        """The nodes from which a link leads to `node`, in order."""
        start = self.nodes[node, START]
        block = self.targets[start : start + self.nodes[node, USED]]
        return [other for other in sorted(set(block.tolist())) if self._leads_to(other, node)]

    def strength(self, source: int, end: int, kind: int) -> float | None:
        """How strong a link is; None when there is none."""
        links = self._links(source)
        found = np.flatnonzero((self.targets[links] == end) & (self.kinds[links] == kind))
        return _as_written(self.strengths[links][found[0]]) if len(found) else None

    def pack(self, rows: Int64, size: int) -> PackedLinks:
        """The links of the nodes in `rows` (every node that has any), all below `size`, numbered by place in `rows`."""
        places = np.full(size, -1, dtype=np.int32)
        places[rows] = np.arange(len(rows), dtype=np.int32)
        slots, degrees = self.slots_from(rows)
        return laid_out(degrees, places[self.targets[slots]], self.kinds[slots], self.strengths[slots])

    def fill(self, packed: PackedLinks) -> None:
        """Take `packed` over as it is; this arena is empty. Raises ValueError where a slot leads to no node."""
        count = len(packed.nodes)
        taken = packed.targets[: packed.taken]
        if not len(packed.targets) == len(packed.kinds) == len(packed.strengths) >= packed.taken:
            raise ValueError("The columns of the links are not of one length.")
        if len(taken) and not 0 <= int(taken.min()) <= int(taken.max()) < count:
            raise ValueError("A link leads to a node that is not there.")
        if len(packed.targets) >= _FIRST_SLOTS:
            self._hold_links(packed.targets, packed.kinds, packed.strengths)
        else:
            self.targets[: len(packed.targets)] = packed.targets
            self.kinds[: len(packed.kinds)] = packed.kinds
            self.strengths[: len(packed.strengths)] = packed.strengths
        self._ledger[TOP] = packed.taken
        self.nodes[:count] = packed.nodes

    def slots_from(self, nodes: Int64) -> tuple[Int64, Int32]:
        """The slots of the links that go out from `nodes`, one node after the other, and how many each has."""
        degrees = self.nodes[nodes, DEGREE]
        return _slots_of(self.nodes[nodes, START], degrees), degrees

    def _links(self, node: int) -> slice:
        start = int(self.nodes[node, START])
        return slice(start, start + int(self.nodes[node, DEGREE]))

    def _leads_to(self, source: int, end: int) -> bool:
        return bool((self.targets[self._links(source)] == end).any())

    def _arrays(self) -> tuple[Int64, Int32, Int32, Float32, Bytes]:
        return self._ledger, self.nodes, self.targets, self.strengths, self.kinds

    def _allot(self, slots: int) -> None:
        self._hold_links(
            np.zeros(slots, dtype=np.int32), np.zeros(slots, dtype=np.uint8), np.zeros(slots, dtype=np.float32)
        )

    def _hold_links(self, targets: Int32, kinds: Bytes, strengths: Float32) -> None:
        """These slots from now on, none of them taken."""
        self._ledger: Int64 = np.full(LEDGER_SIZE, -1, dtype=np.int64)
        self._ledger[TOP] = self._ledger[FREE] = 0
        self.targets, self.kinds, self.strengths = targets, kinds, strengths

    def _pack_anew(self) -> None:
        """Make room: everything into a larger arena, in the order of the nodes, free blocks left behind."""
        whole = _slots_of(self.nodes[:, START], self.nodes[:, USED])
        kept = self.targets[whole], self.kinds[whole], self.strengths[whole]
        self.nodes, taken = _blocks_for(self.nodes[:, DEGREE], self.nodes[:, USED])
        self._allot(max(2 * taken, _FIRST_SLOTS))
        self._ledger[TOP] = taken
        slots = _slots_of(self.nodes[:, START], self.nodes[:, USED])
        self.targets[slots], self.kinds[slots], self.strengths[slots] = kept


def laid_out(degrees: Int32, targets: Int32, kinds: Bytes, strengths: Float32) -> PackedLinks:
    """Links given one node after the other, `degrees[n]` of node n, as an arena holds them, with some room behind.

    Raises ValueError where a target is no node.
    """
    count = len(degrees)
    if len(targets) and not 0 <= int(targets.min()) <= int(targets.max()) < count:
        raise ValueError("A link leads to a node that is not there.")
    sources = np.repeat(np.arange(count, dtype=np.int64), degrees)
    marked, back = _one_way(sources, targets.astype(np.int64), count)
    marks = np.bincount(marked, minlength=count).astype(np.int32)
    nodes, taken = _blocks_for(degrees, degrees + marks)
    room = max(_FIRST_SLOTS, int(_ROOM * taken))
    columns = np.zeros(room, dtype=np.int32), np.zeros(room, dtype=np.uint8), np.zeros(room, dtype=np.float32)
    slots = _slots_of(nodes[:, START], degrees)
    columns[0][slots], columns[1][slots], columns[2][slots] = targets, kinds, strengths
    slots = _slots_of(nodes[:, START] + degrees, marks)
    columns[0][slots], columns[1][slots] = back, BACK
    return PackedLinks(nodes, *columns, taken)


def _blocks_for(degrees: Int32, used: Int32) -> tuple[Int32, int]:
    """Blocks in the order of the nodes, and how many slots they take."""
    nodes = _without_blocks(len(degrees))
    classes = np.maximum(LEAST_CLASS, np.ceil(np.log2(np.maximum(used, 1)))).astype(np.int64)
    sizes = np.where(used > 0, np.left_shift(1, classes), 0)
    ends = np.cumsum(sizes)
    nodes[:, START] = np.where(used > 0, ends - sizes, 0)
    nodes[:, DEGREE], nodes[:, USED] = degrees, used
    nodes[:, CLASS] = np.where(used > 0, classes, -1)
    return nodes, int(ends[-1]) if len(ends) else 0


def _without_blocks(count: int) -> Int32:
    nodes = np.zeros((count, 4), dtype=np.int32)
    nodes[:, CLASS] = -1
    return nodes


def _as_written(strength: np.float32) -> float:
    """0.4 for the float32 that is nearest to 0.4: what was put in comes out, as far as float32 can tell it apart."""
    return float(str(strength))


def _slots_of(starts: Int32, lengths: Int32) -> Int64:
    """Every slot of runs that begin at `starts`, one run after the other."""
    before = np.cumsum(lengths, dtype=np.int64) - lengths
    total = int(lengths.sum())
    return np.repeat(starts.astype(np.int64) - before, lengths) + np.arange(total, dtype=np.int64)


def _one_way(sources: Int64, targets: Int64, nodes: int) -> tuple[Int64, Int64]:
    """Which nodes are linked to without linking back, and by whom; in the order of the nodes, each pair once."""
    low, high = np.minimum(sources, targets), np.maximum(sources, targets)
    ways = np.sort(2 * (low * nodes + high) + (sources > targets))  # Both ways of a pair come to stand side by side.
    if not len(ways):
        return ways, ways
    ways = ways[np.append(True, ways[1:] != ways[:-1])]
    pairs = ways // 2
    is_other = np.concatenate([[True], pairs[1:] != pairs[:-1], [True]])
    lone = ways[is_other[:-1] & is_other[1:]]
    low, high, is_down = lone // 2 // nodes, lone // 2 % nodes, (lone % 2).astype(np.bool_)
    marked, back = np.where(is_down, low, high), np.where(is_down, high, low)
    order = np.argsort(marked, kind="stable")
    return marked[order], back[order]
