"""The links of the graph in one arena: flat arrays changed in place, with a block of 2^n slots for each node. Pure.

A block holds the outgoing links, then back marks to nodes that link here without being linked back, then free slots.
A block that has become too small goes on the free list of its size. A full arena is repacked at twice the size.
"""

from array import array
from dataclasses import dataclass

import numpy as np

from reveries.index.arrays import Bytes, Float32, Int32, Int64
from reveries.memory.graph.arena_loops import BACK, CLASS, DEGREE, FREE, LEAST_CLASS, LEDGER_SIZE, START, TOP, USED
from reveries.memory.graph.kernels import Kernels

_FIRST_SLOTS = 256
_ROOM = 1.25
"""The slots of a newly packed arena, as a multiple of the slots in use."""


@dataclass(frozen=True, slots=True)
class PackedLinks:
    """The links of nodes 0, 1, 2 ... in an arena's layout, without free blocks."""

    nodes: Int32
    """Shape (nodes, 4): START, DEGREE, USED, CLASS."""
    targets: Int32
    kinds: Bytes
    strengths: Float32
    taken: int
    """Slots below this belong to blocks; the ones above are free."""


class LinkArena:
    """Links by node index. Strengths are float32, from 0 to 1."""

    def __init__(self, kernels: Kernels, nodes: int) -> None:
        self.kernels = kernels
        self.nodes = _empty_nodes(nodes)
        self._allocate(_FIRST_SLOTS)

    @property
    def slots(self) -> int:
        """The number of slots, taken or not."""
        return len(self.targets)

    def grow_nodes(self, nodes: int) -> None:
        """Make room for node indices below `nodes`."""
        self.nodes = np.concatenate([self.nodes, _empty_nodes(nodes - len(self.nodes))])

    def put_links(self, sources: list[int], ends: list[int], kinds: list[int], strengths: list[float]) -> None:
        """Add links or update their strengths, clamped to 0 to 1; links from a node to itself are skipped."""
        entries = np.frombuffer(array("d", [*sources, *ends, *kinds, *strengths]), dtype=np.float64)
        done = 0
        while (done := self.kernels.put_links(*self._arrays(), entries, done)) < len(sources):
            self._repack()

    def drop_node(self, node: int) -> None:
        """Remove every link from and to `node`."""
        self.kernels.drop_node(*self._arrays(), node)

    def links_from(self, node: int) -> list[tuple[int, int, float]]:
        """Return target, kind and strength of every outgoing link of `node`."""
        links = self._links(node)
        columns = self.targets[links].tolist(), self.kinds[links].tolist(), map(_shortest_float, self.strengths[links])
        return list(zip(*columns, strict=True))

    def arrays_from(self, node: int) -> tuple[Int32, Float32]:
        """Return targets and strengths of the outgoing links of `node`, as views that the next change invalidates."""
        links = self._links(node)
        return self.targets[links], self.strengths[links]

    def sources_of(self, node: int) -> list[int]:
        """Return the nodes that link to `node`, in order."""
        start = self.nodes[node, START]
        block = self.targets[start : start + self.nodes[node, USED]]
        return [other for other in sorted(set(block.tolist())) if self._has_link(other, node)]

    def strength(self, source: int, end: int, kind: int) -> float | None:
        """Return the strength of a link; None if there is no such link."""
        links = self._links(source)
        slots = np.flatnonzero((self.targets[links] == end) & (self.kinds[links] == kind))
        return _shortest_float(self.strengths[links][slots[0]]) if len(slots) else None

    def pack(self, rows: Int64, size: int) -> PackedLinks:
        """Pack the links of the nodes in `rows`, renumbered by position in `rows`. `rows` must hold every node that has
        links, all below `size`."""
        places = np.full(size, -1, dtype=np.int32)
        places[rows] = np.arange(len(rows), dtype=np.int32)
        slots, degrees = self.slots_from(rows)
        return lay_out_links(degrees, places[self.targets[slots]], self.kinds[slots], self.strengths[slots])

    def load_packed(self, packed: PackedLinks) -> None:
        """Load `packed` into this empty arena. Raises ValueError if a slot leads to no node."""
        count = len(packed.nodes)
        taken = packed.targets[: packed.taken]
        if not len(packed.targets) == len(packed.kinds) == len(packed.strengths) >= packed.taken:
            raise ValueError("The columns of the links differ in length.")
        if len(taken) and not 0 <= int(taken.min()) <= int(taken.max()) < count:
            raise ValueError("A link leads to a node that does not exist.")
        if len(packed.targets) >= _FIRST_SLOTS:
            self._reset_slots(packed.targets, packed.kinds, packed.strengths)
        else:
            self.targets[: len(packed.targets)] = packed.targets
            self.kinds[: len(packed.kinds)] = packed.kinds
            self.strengths[: len(packed.strengths)] = packed.strengths
        self._ledger[TOP] = packed.taken
        self.nodes[:count] = packed.nodes

    def slots_from(self, nodes: Int64) -> tuple[Int64, Int32]:
        """Return the slots of the outgoing links of `nodes`, one node after another, and each node's link count."""
        degrees = self.nodes[nodes, DEGREE]
        return _slots_of(self.nodes[nodes, START], degrees), degrees

    def _links(self, node: int) -> slice:
        start = int(self.nodes[node, START])
        return slice(start, start + int(self.nodes[node, DEGREE]))

    def _has_link(self, source: int, end: int) -> bool:
        return bool((self.targets[self._links(source)] == end).any())

    def _arrays(self) -> tuple[Int64, Int32, Int32, Float32, Bytes]:
        return self._ledger, self.nodes, self.targets, self.strengths, self.kinds

    def _allocate(self, slots: int) -> None:
        self._reset_slots(
            np.zeros(slots, dtype=np.int32), np.zeros(slots, dtype=np.uint8), np.zeros(slots, dtype=np.float32)
        )

    def _reset_slots(self, targets: Int32, kinds: Bytes, strengths: Float32) -> None:
        """Use these slots from now on, all of them free."""
        self._ledger: Int64 = np.full(LEDGER_SIZE, -1, dtype=np.int64)
        self._ledger[TOP] = self._ledger[FREE] = 0
        self.targets, self.kinds, self.strengths = targets, kinds, strengths

    def _repack(self) -> None:
        """Move everything to a larger arena in the order of the nodes, without free blocks."""
        whole = _slots_of(self.nodes[:, START], self.nodes[:, USED])
        kept = self.targets[whole], self.kinds[whole], self.strengths[whole]
        self.nodes, taken = _allocate_blocks(self.nodes[:, DEGREE], self.nodes[:, USED])
        self._allocate(max(2 * taken, _FIRST_SLOTS))
        self._ledger[TOP] = taken
        slots = _slots_of(self.nodes[:, START], self.nodes[:, USED])
        self.targets[slots], self.kinds[slots], self.strengths[slots] = kept


def lay_out_links(degrees: Int32, targets: Int32, kinds: Bytes, strengths: Float32) -> PackedLinks:
    """Lay out links, given one node after another with `degrees[n]` of node n, as an arena does, with some free slots.

    Raises ValueError if a target is no node.
    """
    count = len(degrees)
    if len(targets) and not 0 <= int(targets.min()) <= int(targets.max()) < count:
        raise ValueError("A link leads to a node that does not exist.")
    sources = np.repeat(np.arange(count, dtype=np.int64), degrees)
    marked, back = _one_way_links(sources, targets.astype(np.int64), count)
    marks = np.bincount(marked, minlength=count).astype(np.int32)
    nodes, taken = _allocate_blocks(degrees, degrees + marks)
    room = max(_FIRST_SLOTS, int(_ROOM * taken))
    columns = np.zeros(room, dtype=np.int32), np.zeros(room, dtype=np.uint8), np.zeros(room, dtype=np.float32)
    slots = _slots_of(nodes[:, START], degrees)
    columns[0][slots], columns[1][slots], columns[2][slots] = targets, kinds, strengths
    slots = _slots_of(nodes[:, START] + degrees, marks)
    columns[0][slots], columns[1][slots] = back, BACK
    return PackedLinks(nodes, *columns, taken)


def _allocate_blocks(degrees: Int32, used: Int32) -> tuple[Int32, int]:
    """Return the node table with blocks in the order of the nodes, and how many slots they take."""
    nodes = _empty_nodes(len(degrees))
    classes = np.maximum(LEAST_CLASS, np.ceil(np.log2(np.maximum(used, 1)))).astype(np.int64)
    sizes = np.where(used > 0, np.left_shift(1, classes), 0)
    ends = np.cumsum(sizes)
    nodes[:, START] = np.where(used > 0, ends - sizes, 0)
    nodes[:, DEGREE], nodes[:, USED] = degrees, used
    nodes[:, CLASS] = np.where(used > 0, classes, -1)
    return nodes, int(ends[-1]) if len(ends) else 0


def _empty_nodes(count: int) -> Int32:
    nodes = np.zeros((count, 4), dtype=np.int32)
    nodes[:, CLASS] = -1
    return nodes


def _shortest_float(strength: np.float32) -> float:
    """Return the shortest decimal that rounds to this float32, so that a stored 0.4 reads back as 0.4."""
    return float(str(strength))


def _slots_of(starts: Int32, lengths: Int32) -> Int64:
    """Return every slot of the runs that begin at `starts`, one run after another."""
    before = np.cumsum(lengths, dtype=np.int64) - lengths
    total = int(lengths.sum())
    return np.repeat(starts.astype(np.int64) - before, lengths) + np.arange(total, dtype=np.int64)


def _one_way_links(sources: Int64, targets: Int64, nodes: int) -> tuple[Int64, Int64]:
    """Return the nodes that are linked to without linking back, and the sources of those links; each pair once, in the
    order of the nodes."""
    low, high = np.minimum(sources, targets), np.maximum(sources, targets)
    directed = np.sort(2 * (low * nodes + high) + (sources > targets))  # Both directions of a pair become neighbours.
    if not len(directed):
        return directed, directed
    directed = directed[np.append(True, directed[1:] != directed[:-1])]
    pairs = directed // 2
    is_other = np.concatenate([[True], pairs[1:] != pairs[:-1], [True]])
    lone = directed[is_other[:-1] & is_other[1:]]
    low, high, is_down = lone // 2 // nodes, lone // 2 % nodes, (lone % 2).astype(np.bool_)
    marked, back = np.where(is_down, low, high), np.where(is_down, high, low)
    order = np.argsort(marked, kind="stable")
    return marked[order], back[order]
