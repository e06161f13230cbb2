"""The inner loops of the graph and of the index, compiled or interpreted, behind one interface."""

from pathlib import Path

from reveries.index.kernels import FLOATS, INT32S, INT64S, IndexKernels, PrepareLoop, keep_interpreted, numba_compiler
from reveries.memory.graph import arena_loops, spread_loops

_NODES, _DOUBLES = "i4[:, ::1]", "f8[::1]"
_ARENA = f"{INT64S}, {_NODES}, {INT32S}, {FLOATS}, u1[::1]"
_PASS = f"{_NODES}, {INT32S}, {FLOATS}, {FLOATS}, f8[:, ::1], {INT32S}"
_FACTS = f"{FLOATS}, {FLOATS}, {_DOUBLES}, {_DOUBLES}"
_CALLED_BY_LOOPS = (
    arena_loops.allocate_block,
    arena_loops.free_block,
    arena_loops.reserve_slot,
    arena_loops.find_slot,
    arena_loops.has_target,
    arena_loops.put_link,
    arena_loops.remove_target,
    spread_loops.send_from_few,
    spread_loops.send_from_many,
    spread_loops.insert_ranked,
    spread_loops.year_day,
    spread_loops.double_length,
    spread_loops.extend_paths,
    spread_loops.find_last_link,
)


class Kernels(IndexKernels):
    """All loops of the live memory."""

    def __init__(self, prepare: PrepareLoop, *, are_compiled: bool) -> None:
        super().__init__(prepare, are_compiled=are_compiled)
        self.put_links = prepare(arena_loops.put_links, f"i8({_ARENA}, {_DOUBLES}, i8)")
        self.drop_node = prepare(arena_loops.drop_node, f"void({_ARENA}, i8)")
        self.spread_energy = prepare(
            spread_loops.spread_energy, f"UniTuple(i8, 2)({_PASS}, {INT32S}, i8, i8, f8, i8, i8)"
        )
        self.select_surfaced = prepare(
            spread_loops.select_surfaced,
            f"Tuple((i4[::1], f8[::1]))(f8[:, ::1], {INT32S}, i8, {_FACTS}, f8, i8, i8, f8, f8, f8, i8)",
        )
        self.find_strongest_paths = prepare(
            spread_loops.find_strongest_paths,
            f"i4[:, ::1]({_NODES}, {INT32S}, {FLOATS}, {FLOATS}, {INT32S}, {INT32S}, {_DOUBLES}, f8, i8, {INT32S})",
        )
        self.clear_energy = prepare(spread_loops.clear_energy, f"void(f8[:, ::1], {INT32S}, i8)")


def interpreted_kernels() -> Kernels:
    """Return the loops run by the interpreter: the same results, more slowly. Spreading uses whole-array operations
    instead."""
    return Kernels(keep_interpreted, are_compiled=False)


def compile_kernels(cache: Path | None = None) -> Kernels:
    """Compile the loops to machine code (see `numba_compiler`). Call it in a thread. Raises ImportError if numba is not
    available, RuntimeError if no folder for its cache is writable."""
    return Kernels(numba_compiler(cache, _CALLED_BY_LOOPS), are_compiled=True)
