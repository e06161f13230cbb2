"""The inner loops of the index, compiled or interpreted, behind one interface."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol, TypeVar, cast

from reveries.index import loops

Loop = TypeVar("Loop", bound=Callable[..., object])

INT64S, INT32S, INT16S, FLOATS = "i8[::1]", "i4[::1]", "i2[::1]", "f4[::1]"
"""Numba type strings of the loops' array arguments."""
_POSTING = f"{INT32S}, {INT16S}, b1[::1]"
_SHADOW = f"i1[:, ::1], {FLOATS}, {FLOATS}, {FLOATS}"


class PrepareLoop(Protocol):
    """Prepare a loop for calling; `types` is its numba signature."""

    def __call__(self, loop: Loop, types: str) -> Loop:
        """Return `loop`, or an equivalent for arguments of these types."""


class IndexKernels:
    """The loops, ready to be called. Signatures are given up front, so a call never compiles anything."""

    def __init__(self, prepare: PrepareLoop, *, are_compiled: bool) -> None:
        self.are_compiled = are_compiled
        self.shadow_rows = prepare(loops.shadow_rows, f"void(f4[:, ::1], {_SHADOW}, i8, i8)")
        self.shadow_products = prepare(loops.shadow_products, f"f4[::1](i1[:, ::1], {FLOATS}, i8, {INT16S}, f8)")
        self.find_candidates = prepare(
            loops.find_candidates, f"i4[::1]({_SHADOW}, {FLOATS}, i8, {INT16S}, f8, f8, f8, i8)"
        )
        self.reach_windows = prepare(
            loops.reach_windows, f"UniTuple(i8, 2)({_POSTING}, {INT64S}, {INT64S}, {FLOATS}, {INT32S})"
        )
        self.weigh_windows = prepare(
            loops.weigh_windows, f"void({FLOATS}, {INT32S}, i8, {FLOATS}, f4, f4, f4, {FLOATS}, {FLOATS})"
        )
        self.weigh_rows = prepare(loops.weigh_rows, f"void({_POSTING}, {FLOATS}, f4, f4, {FLOATS}, {FLOATS})")


def interpreted_index_kernels() -> IndexKernels:
    """Return the loops run by the interpreter: the same results, more slowly."""
    return IndexKernels(keep_interpreted, are_compiled=False)


def keep_interpreted(loop: Loop, types: str) -> Loop:
    """Return `loop` unchanged."""
    return loop


def numba_compiler(cache: Path | None, called_by_loops: Iterable[Callable[..., object]]) -> PrepareLoop:
    """Return a function that compiles loops to machine code.

    The first call on a machine takes seconds; later ones load numba's cache from `cache`, or else from next to the
    modules or the user's cache folder, whichever is writable. Raises ImportError if numba is not available; the
    returned function raises RuntimeError if no folder for the cache is writable.
    """
    import numba  # 60 MB and 0.2 s to import: only the daemon needs it.

    if cache is not None:
        vars(numba.config)["CACHE_DIR"] = str(cache)
    from numba.extending import register_jitable

    for function in called_by_loops:
        register_jitable(function)

    def compile_loop(loop: Loop, types: str) -> Loop:
        return cast(Loop, numba.njit(types, cache=True, nogil=True)(loop))

    return compile_loop
