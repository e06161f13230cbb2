"""The inner loops of the index, compiled or interpreted: both are called the same way."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol, TypeVar, cast

from reveries.index import loops

Loop = TypeVar("Loop", bound=Callable[..., object])

INT64S, INT32S, INT16S, FLOATS = "i8[::1]", "i4[::1]", "i2[::1]", "f4[::1]"
"""Numba's short names of the arrays that loops take."""
_POSTING = f"{INT32S}, {INT16S}, b1[::1]"
_SHADOW = f"i1[:, ::1], {FLOATS}, {FLOATS}, {FLOATS}"


class PrepareLoop(Protocol):
    """Returns what is called in the place of a loop; the types are numba's short names."""

    def __call__(self, loop: Loop, types: str) -> Loop:
        """`loop`, or something that does the same for arguments of these types."""


class IndexKernels:
    """The loops as they are called. Signatures are given, so that a call never compiles anything."""

    def __init__(self, prepare: PrepareLoop, *, are_compiled: bool) -> None:
        self.are_compiled = are_compiled
        self.shadow_rows = prepare(loops.shadow_rows, f"void(f4[:, ::1], {_SHADOW}, i8, i8)")
        self.shadow_products = prepare(loops.shadow_products, f"f4[::1](i1[:, ::1], {FLOATS}, i8, {INT16S}, f8)")
        self.near_in_shadow = prepare(
            loops.near_in_shadow, f"i4[::1]({_SHADOW}, {FLOATS}, i8, {INT16S}, f8, f8, f8, i8)"
        )
        self.reach_windows = prepare(
            loops.reach_windows, f"UniTuple(i8, 2)({_POSTING}, {INT64S}, {INT64S}, {FLOATS}, {INT32S})"
        )
        self.weigh_windows = prepare(
            loops.weigh_windows, f"void({FLOATS}, {INT32S}, i8, {FLOATS}, f4, f4, f4, {FLOATS}, {FLOATS})"
        )
        self.weigh_rows = prepare(loops.weigh_rows, f"void({_POSTING}, {FLOATS}, f4, f4, {FLOATS}, {FLOATS})")


def interpreted_index_kernels() -> IndexKernels:
    """The loops run by the interpreter: the same answers, slowly."""
    return IndexKernels(keep_interpreted, are_compiled=False)


def keep_interpreted(loop: Loop, types: str) -> Loop:
    """`loop` itself."""
    return loop


def numba_compiler(cache: Path | None, called_by_loops: Iterable[Callable[..., object]]) -> PrepareLoop:
    """What compiles loops to machine code: seconds on the first call on a machine, loaded from numba's cache on later
    ones: in `cache`, else beside the modules or in the user's own cache folder, where they can be written. Raises
    ImportError where numba cannot be had; what it returns, RuntimeError where there is no place for the cache."""
    import numba  # 60 MB and a fifth of a second: only who wakes needs it.

    if cache is not None:
        vars(numba.config)["CACHE_DIR"] = str(cache)
    from numba.extending import register_jitable

    for function in called_by_loops:
        register_jitable(function)

    def compile_loop(loop: Loop, types: str) -> Loop:
        return cast(Loop, numba.njit(types, cache=True, nogil=True)(loop))

    return compile_loop
