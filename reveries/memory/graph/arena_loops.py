"""The inner loops of the link arena: links put and dropped in place.

Written so that numba can compile them (see `kernels`), and so that they run as they stand where it has not. Pure:
arrays in, arrays changed in place, counts out. An arena is described in `arena`.
"""

from reveries.index.arrays import Bytes, Float32, Float64, Int32, Int64

TOP, FREE, HEADS = 0, 1, 2
"""Places in an arena's ledger: first slot never given out, slots in free blocks, then the first free block by class."""
LEDGER_SIZE = HEADS + 32
LEAST_CLASS = 2
NO_BLOCK = -1
BACK = 255
"""The kind of a mark that leads back along a one-way link. Nothing is sent along it."""
START, DEGREE, USED, CLASS = 0, 1, 2, 3
"""Columns of an arena's nodes: the first slot of the block, links in it, links and marks, and the block's size: 2^CLASS
slots. Without a block the class is -1."""


def take_block(ledger: Int64, targets: Int32, size_class: int) -> int:
    """The first slot of a free block of 2^size_class slots; -1 when the arena is full."""
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


def give_block(ledger: Int64, targets: Int32, start: int, size_class: int) -> None:
    """Put a block on its free list; the list runs through the first slots of its blocks."""
    targets[start] = ledger[HEADS + size_class]
    ledger[HEADS + size_class] = start
    ledger[FREE] += 1 << size_class


def make_room(ledger: Int64, nodes: Int32, targets: Int32, strengths: Float32, kinds: Bytes, node: int) -> bool:
    """See to it that `node` has a slot to spare, in a block of twice the size if need be. False: the arena is full."""
    size_class = int(nodes[node, CLASS])
    used = nodes[node, USED]
    if size_class >= 0 and used < 1 << size_class:
        return True
    wider = max(LEAST_CLASS, size_class + 1)
    start = take_block(ledger, targets, wider)
    if start < 0:
        return False
    old = nodes[node, START]
    for place in range(used):
        targets[start + place] = targets[old + place]
        strengths[start + place] = strengths[old + place]
        kinds[start + place] = kinds[old + place]
    if size_class >= 0:
        give_block(ledger, targets, old, size_class)
    nodes[node, START] = start
    nodes[node, CLASS] = wider
    return True


def find_slot(start: int, end: int, targets: Int32, kinds: Bytes, target: int, kind: int) -> int:
    """The slot from `start` to before `end` that leads to `target` as `kind`; -1 for none."""
    for slot in range(start, end):
        if targets[slot] == target and kinds[slot] == kind:
            return slot
    return -1


def leads_to(start: int, end: int, targets: Int32, target: int) -> bool:
    """Whether any slot from `start` to before `end` leads to `target`."""
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
    """Put one link, new or with a new strength. False: the arena is full; put it again when it is not."""
    first = nodes[source, START]
    slot = find_slot(first, first + nodes[source, DEGREE], targets, kinds, end, kind)
    if slot >= 0:
        strengths[slot] = strength
        return True
    back = nodes[end, START]
    if not leads_to(back, back + nodes[end, USED], targets, source):
        if not make_room(ledger, nodes, targets, strengths, kinds, end):
            return False
        mark = nodes[end, START] + nodes[end, USED]
        targets[mark], strengths[mark], kinds[mark] = source, 0.0, BACK
        nodes[end, USED] += 1
    slot = first + nodes[source, DEGREE]
    mark = find_slot(slot, first + nodes[source, USED], targets, kinds, end, BACK)
    if mark < 0:
        if not make_room(ledger, nodes, targets, strengths, kinds, source):
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
    """Put links `first`... of `entries`: all sources, then all targets, all kinds, all strengths. How many are done
    when the arena is full. A strength is held to 0 to 1; a link from a node to itself is passed over.

    A node's block holds its links, then its marks. Whoever is linked to holds a link or a mark that leads back, so that
    what leads to a node is found from the node itself.
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


def forget_target(nodes: Int32, targets: Int32, strengths: Float32, kinds: Bytes, node: int, target: int) -> None:
    """Take every link and mark that leads to `target` out of the block of `node`."""
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
    """Take every link from and to `node` out, and give its block back."""
    start = nodes[node, START]
    for slot in range(start, start + nodes[node, USED]):
        forget_target(nodes, targets, strengths, kinds, targets[slot], node)
    if nodes[node, CLASS] >= 0:
        give_block(ledger, targets, start, int(nodes[node, CLASS]))
    nodes[node, START], nodes[node, DEGREE], nodes[node, USED], nodes[node, CLASS] = 0, 0, 0, -1
