"""The inner loops of the link arena: adding and removing links in place.

They run both compiled by numba (see `kernels`) and interpreted. Pure: arrays in, arrays changed in place, counts out.
The layout is described in `arena`.
"""

from reveries.index.arrays import Bytes, Float32, Float64, Int32, Int64

TOP, FREE, HEADS = 0, 1, 2
"""Indices in an arena's ledger: the first slot never allocated, slots in free blocks, then the free list of each
class."""
LEDGER_SIZE = HEADS + 32
LEAST_CLASS = 2
NO_BLOCK = -1
BACK = 255
"""The kind of a back mark, which leads from the target of a one-way link to its source. No energy follows it."""
START, DEGREE, USED, CLASS = 0, 1, 2, 3
"""Columns of an arena's nodes: the first slot of the block, its links, its links and marks, and its size class (2^CLASS
slots). Without a block the class is -1."""


def allocate_block(ledger: Int64, targets: Int32, size_class: int) -> int:
    """Return the first slot of a new block of 2^size_class slots; -1 if the arena is full."""
    start = ledger[HEADS + size_class]
    if start >= 0:
        ledger[HEADS + size_class] = targets[start]
        ledger[FREE] -= 1 << size_class
        return int(start)
    start = ledger[TOP]
    if start + (1 << size_class) > len(targets):
        return NO_BLOCK
    ledger[TOP] = start + (1 << size_class)
    return int(start)


def free_block(ledger: Int64, targets: Int32, start: int, size_class: int) -> None:
    """Put a block on its free list, which is linked through the first slots of its blocks."""
    targets[start] = ledger[HEADS + size_class]
    ledger[HEADS + size_class] = start
    ledger[FREE] += 1 << size_class


def reserve_slot(ledger: Int64, nodes: Int32, targets: Int32, strengths: Float32, kinds: Bytes, node: int) -> bool:
    """Make sure that `node` has a free slot, moving it to a block of twice the size if needed. False: arena full."""
    size_class = int(nodes[node, CLASS])
    used = nodes[node, USED]
    if size_class >= 0 and used < 1 << size_class:
        return True
    wider = max(LEAST_CLASS, size_class + 1)
    start = allocate_block(ledger, targets, wider)
    if start < 0:
        return False
    old = nodes[node, START]
    for place in range(used):
        targets[start + place] = targets[old + place]
        strengths[start + place] = strengths[old + place]
        kinds[start + place] = kinds[old + place]
    if size_class >= 0:
        free_block(ledger, targets, old, size_class)
    nodes[node, START] = start
    nodes[node, CLASS] = wider
    return True


def find_slot(start: int, end: int, targets: Int32, kinds: Bytes, target: int, kind: int) -> int:
    """Return the slot in `start` to `end` - 1 that leads to `target` with `kind`; -1 if there is none."""
    for slot in range(start, end):
        if targets[slot] == target and kinds[slot] == kind:
            return slot
    return -1


def has_target(start: int, end: int, targets: Int32, target: int) -> bool:
    """Whether any slot in `start` to `end` - 1 leads to `target`."""
    for slot in range(start, end):  # noqa: SIM110 - numba cannot compile a generator that is passed on.
        if targets[slot] == target:
            return True
    return False


def put_link(
    ledger: Int64,
    nodes: Int32,
    targets: Int32,
    strengths: Float32,
    kinds: Bytes,
    source: int,
    end: int,
    kind: int,
    strength: float,
) -> bool:
    """Add a link or update its strength. False: the arena is full, and the call must be repeated after a repack."""
    first = nodes[source, START]
    slot = find_slot(first, first + nodes[source, DEGREE], targets, kinds, end, kind)
    if slot >= 0:
        strengths[slot] = strength
        return True
    back = nodes[end, START]
    if not has_target(back, back + nodes[end, USED], targets, source):
        if not reserve_slot(ledger, nodes, targets, strengths, kinds, end):
            return False
        mark = nodes[end, START] + nodes[end, USED]
        targets[mark], strengths[mark], kinds[mark] = source, 0.0, BACK
        nodes[end, USED] += 1
    slot = first + nodes[source, DEGREE]
    mark = find_slot(slot, first + nodes[source, USED], targets, kinds, end, BACK)
    if mark < 0:
        if not reserve_slot(ledger, nodes, targets, strengths, kinds, source):
            return False
        slot = nodes[source, START] + nodes[source, DEGREE]
        mark = nodes[source, START] + nodes[source, USED]
        nodes[source, USED] += 1
    targets[mark], strengths[mark], kinds[mark] = targets[slot], strengths[slot], kinds[slot]
    targets[slot], strengths[slot], kinds[slot] = end, strength, kind
    nodes[source, DEGREE] += 1
    return True


def put_links(
    ledger: Int64, nodes: Int32, targets: Int32, strengths: Float32, kinds: Bytes, entries: Float64, first: int
) -> int:
    """Put the links of `entries` (all sources, then all targets, all kinds, all strengths) from number `first` on.
    Return how many are done, fewer than all if the arena is full. Strengths are clamped to 0 to 1; links from a node to
    itself are skipped.

    A node's block holds its links, then its back marks. The target of a link always holds a link or a mark that leads
    back, so that the links into a node can be found from the node itself.
    """
    count = len(entries) // 4
    for entry in range(first, count):
        source, end = int(entries[entry]), int(entries[count + entry])
        strength = entries[3 * count + entry]
        if source == end:
            continue
        strength = min(strength, 1.0) if strength > 0.0 else 0.0
        kind = int(entries[2 * count + entry])
        if not put_link(ledger, nodes, targets, strengths, kinds, source, end, kind, strength):
            return entry
    return count


def remove_target(nodes: Int32, targets: Int32, strengths: Float32, kinds: Bytes, node: int, target: int) -> None:
    """Remove every link and mark to `target` from the block of `node`."""
    start = nodes[node, START]
    slot = start
    while slot < start + nodes[node, USED]:
        if targets[slot] != target:
            slot += 1
            continue
        hole = slot
        last = start + nodes[node, DEGREE] - 1
        if hole <= last:
            targets[hole], strengths[hole], kinds[hole] = targets[last], strengths[last], kinds[last]
            hole = last
            nodes[node, DEGREE] -= 1
        end = start + nodes[node, USED] - 1
        targets[hole], strengths[hole], kinds[hole] = targets[end], strengths[end], kinds[end]
        nodes[node, USED] -= 1


def drop_node(ledger: Int64, nodes: Int32, targets: Int32, strengths: Float32, kinds: Bytes, node: int) -> None:
    """Remove every link from and to `node`, and free its block."""
    start = nodes[node, START]
    for slot in range(start, start + nodes[node, USED]):
        remove_target(nodes, targets, strengths, kinds, targets[slot], node)
    if nodes[node, CLASS] >= 0:
        free_block(ledger, targets, start, int(nodes[node, CLASS]))
    nodes[node, START], nodes[node, DEGREE], nodes[node, USED], nodes[node, CLASS] = 0, 0, 0, -1
