"""The links of the graph in one arena: flat arrays, a block of a power of two slots a node, changed in place. Pure.

A block holds the links that go out, then marks that lead back along links that only come in; then room. A block that
is outgrown goes on a free list of its size. When the arena is full it is packed anew, with as much room again.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reveries.memory.arena_loops import BACK, CLASS, DEGREE, FREE, LEAST_CLASS, LEDGER_SIZE, START, TOP, USED
from reveries.memory.kernels import Kernels
from reveries.memory.loops import Bytes, Float32, Int32, Int64

_FIRST_SLOTS = 256
_ROOM = 1.25
"""So much larger than what it holds is an arena that was packed anew."""


@dataclass(frozen=True, slots=True)
class PackedLinks:
    """The links of nodes 0, 1, 2 ... one after the other: `degrees[n]` of them go out from node n."""

    degrees: Int32
    targets: Int32
    kinds: Bytes
    strengths: Float32


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
        # By way of an `array`, which takes lists of any numbers over three times as fast as numpy does.
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

    def packed(self, rows: Sequence[int], size: int) -> PackedLinks:
        """The links of the nodes in `rows` (every node that has any), all below `size`, numbered by place in `rows`;
        without marks and without room."""
        places = np.full(size, -1, dtype=np.int32)
        places[rows] = np.arange(len(rows), dtype=np.int32)
        slots, degrees = self.slots_from(np.array(rows, dtype=np.int64))
        return PackedLinks(degrees, places[self.targets[slots]], self.kinds[slots], self.strengths[slots])

    def fill(self, packed: PackedLinks) -> None:
        """Put all of `packed` into this arena, which is empty. Raises ValueError where a target is no node."""
        count = len(packed.degrees)
        if len(packed.targets) and not 0 <= packed.targets.min() <= packed.targets.max() < count:
            raise ValueError("A link leads to a node that is not there.")
        if len(packed.targets) != packed.degrees.sum():
            raise ValueError("There are not as many links as nodes have.")
        sources = np.repeat(np.arange(count, dtype=np.int32), packed.degrees)
        marked, back = _one_way(sources, packed.targets, count)
        marks = np.bincount(marked, minlength=count).astype(np.int32)
        self._lay_out(packed.degrees, marks)
        starts = self.nodes[:count, START]
        slots = _slots_of(starts, packed.degrees)
        self.targets[slots], self.kinds[slots], self.strengths[slots] = packed.targets, packed.kinds, packed.strengths
        slots = _slots_of(starts + packed.degrees, marks)
        self.targets[slots], self.kinds[slots] = back, BACK

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
        self._ledger: Int64 = np.full(LEDGER_SIZE, -1, dtype=np.int64)
        self._ledger[TOP] = self._ledger[FREE] = 0
        self.targets: Int32 = np.zeros(slots, dtype=np.int32)
        self.strengths: Float32 = np.zeros(slots, dtype=np.float32)
        self.kinds: Bytes = np.zeros(slots, dtype=np.uint8)

    def _lay_out(self, degrees: Int32, marks: Int32) -> None:
        """Blocks in the order of the nodes, and as much room behind them again."""
        count = len(degrees)
        taken = degrees + marks
        classes = np.maximum(LEAST_CLASS, np.ceil(np.log2(np.maximum(taken, 1)))).astype(np.int64)
        sizes = np.where(taken > 0, np.left_shift(1, classes), 0)
        ends = np.cumsum(sizes)
        total = int(ends[-1]) if count else 0
        self._allot(max(_FIRST_SLOTS, int(_ROOM * total)))
        self._ledger[TOP] = total
        self.nodes[:count, START] = np.where(taken > 0, ends - sizes, 0)
        self.nodes[:count, DEGREE], self.nodes[:count, USED] = degrees, taken
        self.nodes[:count, CLASS] = np.where(taken > 0, classes, -1)

    def _pack_anew(self) -> None:
        """Make room: everything into a larger arena, in the order of the nodes, free blocks left behind."""
        whole = _slots_of(self.nodes[:, START], self.nodes[:, USED])
        kept = self.targets[whole], self.kinds[whole], self.strengths[whole]
        degrees = self.nodes[:, DEGREE].copy()
        self._lay_out(degrees, self.nodes[:, USED] - degrees)
        needed = 2 * int(self._ledger[TOP])
        if needed > self.slots:
            self.targets, self.kinds, self.strengths = (
                np.concatenate([part, np.zeros(needed - self.slots, dtype=part.dtype)])
                for part in (self.targets, self.kinds, self.strengths)
            )
        slots = _slots_of(self.nodes[:, START], self.nodes[:, USED])
        self.targets[slots], self.kinds[slots], self.strengths[slots] = kept


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


def _one_way(sources: Int32, targets: Int32, nodes: int) -> tuple[Int32, Int32]:
    """Which nodes are linked to without linking back, and by whom; in the order of the nodes, each pair once."""
    pairs = np.unique(sources.astype(np.int64) * nodes + targets)
    backwards = (pairs % nodes) * nodes + pairs // nodes
    missing = np.sort(np.setdiff1d(backwards, pairs, assume_unique=True))
    return (missing // nodes).astype(np.int32), (missing % nodes).astype(np.int32)
