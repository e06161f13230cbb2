"""The inner loops of the link arena: links put and dropped in place.

Written so that numba can compile them (see `kernels`), and so that they run as they stand where it has not. Pure:
arrays in, arrays changed in place, counts out. An arena is described in `arena`.
"""

from reveries.memory.loops import Bytes, Float32, Int8, Int32, Int64

TOP, FREE, HEADS = 0, 1, 2
"""Places in an arena's ledger: first slot never given out, slots in free blocks, then the first free block by class."""
LEDGER_SIZE = HEADS + 32
LEAST_CLASS = 2
NO_BLOCK = -1
BACK = 255
"""The kind of a mark that leads back along a one-way link. Nothing is sent along it."""


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


def make_room(
    ledger: Int64,
    starts: Int32,
    used: Int32,
    classes: Int8,
    targets: Int32,
    strengths: Float32,
    kinds: Bytes,
    node: int,
) -> bool:
    """See to it that `node` has a slot to spare, in a block of twice the size if need be. False: the arena is full."""
    size_class = int(classes[node])  # As an int8 it could not be shifted far.
    if size_class >= 0 and used[node] < 1 << size_class:
        return True
    wider = max(LEAST_CLASS, size_class + 1)
    start = take_block(ledger, targets, wider)
    if start < 0:
        return False
    old = starts[node]
    for place in range(used[node]):
        targets[start + place] = targets[old + place]
        strengths[start + place] = strengths[old + place]
        kinds[start + place] = kinds[old + place]
    if size_class >= 0:
        give_block(ledger, targets, old, size_class)
    starts[node] = start
    classes[node] = wider
    return True


def find_slot(start: int, length: int, targets: Int32, kinds: Bytes, target: int, kind: int) -> int:
    """The slot among `length` from `start` that leads to `target` as `kind`; -1 for none."""
    for slot in range(start, start + length):
        if targets[slot] == target and kinds[slot] == kind:
            return slot
    return -1


def leads_to(start: int, length: int, targets: Int32, target: int) -> bool:
    """Whether any of `length` slots from `start` leads to `target`."""
    for slot in range(start, start + length):  # noqa: SIM110 - numba cannot compile a generator that is passed on.
        if targets[slot] == target:
            return True
    return False


def put_links(
    ledger: Int64,
    starts: Int32,
    degrees: Int32,
    used: Int32,
    classes: Int8,
    targets: Int32,
    strengths: Float32,
    kinds: Bytes,
    sources: Int32,
    ends: Int32,
    link_kinds: Bytes,
    link_strengths: Float32,
    first: int,
) -> int:
    """Put links `first`... of the given ones: new, or with a new strength. How many are done when the arena is full.

    A node's block holds its links, then its marks. Whoever is linked to holds a link or a mark that leads back, so that
    what leads to a node is found from the node itself.
    """
    for entry in range(first, len(sources)):
        source, end = sources[entry], ends[entry]
        slot = find_slot(starts[source], degrees[source], targets, kinds, end, link_kinds[entry])
        if slot >= 0:
            strengths[slot] = link_strengths[entry]
            continue
        if not leads_to(starts[end], used[end], targets, source):
            if not make_room(ledger, starts, used, classes, targets, strengths, kinds, end):
                return entry
            mark = starts[end] + used[end]
            targets[mark], strengths[mark], kinds[mark] = source, 0.0, BACK
            used[end] += 1
        start, degree = starts[source], degrees[source]
        mark = find_slot(start + degree, used[source] - degree, targets, kinds, end, BACK)
        if mark < 0:
            if not make_room(ledger, starts, used, classes, targets, strengths, kinds, source):
                return entry
            start = starts[source]
            mark = start + used[source]
            used[source] += 1
        slot = start + degree
        targets[mark], strengths[mark], kinds[mark] = targets[slot], strengths[slot], kinds[slot]
        targets[slot], strengths[slot], kinds[slot] = end, link_strengths[entry], link_kinds[entry]
        degrees[source] = degree + 1
    return len(sources)


def drop_node(
    ledger: Int64,
    starts: Int32,
    degrees: Int32,
    used: Int32,
    classes: Int8,
    targets: Int32,
    strengths: Float32,
    kinds: Bytes,
    node: int,
) -> None:
    """Take every link from and to `node` out, and give its block back."""
    for place in range(starts[node], starts[node] + used[node]):
        other = targets[place]
        start = starts[other]
        slot = start
        while slot < start + used[other]:
            if targets[slot] != node:
                slot += 1
                continue
            last = start + degrees[other] - 1
            if slot <= last:
                targets[slot], strengths[slot], kinds[slot] = targets[last], strengths[last], kinds[last]
                slot = last
                degrees[other] -= 1
            end = start + used[other] - 1
            targets[slot], strengths[slot], kinds[slot] = targets[end], strengths[end], kinds[end]
            used[other] -= 1
            slot = start
    if classes[node] >= 0:
        give_block(ledger, targets, starts[node], int(classes[node]))
    starts[node], degrees[node], used[node], classes[node] = 0, 0, 0, -1
