"""The inner loops, compiled or as they stand: whoever holds a `Kernels` calls them the same way."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar, cast

from reveries.memory.graph import arena_loops, shadow_loops, spread_loops
from reveries.memory.recall import word_loops

_Loop = TypeVar("_Loop", bound=Callable[..., object])

_LEDGER, _INTS, _SHORTS, _BYTES, _SINGLES, _DOUBLES = "i8[::1]", "i4[::1]", "i2[::1]", "u1[::1]", "f4[::1]", "f8[::1]"
_NODES = "i4[:, ::1]"
_ARENA = f"{_LEDGER}, {_NODES}, {_INTS}, {_SINGLES}, {_BYTES}"
_PASS = f"{_NODES}, {_INTS}, {_SINGLES}, {_SINGLES}, f8[:, ::1], {_INTS}"
_POSTING, _LIVE = f"{_INTS}, {_SHORTS}, b1[::1]", "b1[::1]"
_SHADOW = f"i1[:, ::1], {_SINGLES}, {_SINGLES}, {_SINGLES}"


class Prepare(Protocol):
    """Makes of a loop what is called in its place; the types are numba's short names."""

    def __call__(self, loop: _Loop, types: str) -> _Loop:
        """`loop`, or something that does the same for arguments of these types."""


class Kernels:
    """The loops as they are called. Signatures are given, so that a call never compiles anything."""

    def __init__(self, prepare: Prepare, *, are_compiled: bool) -> None:
        self.are_compiled = are_compiled
        self.put_links = prepare(arena_loops.put_links, f"i8({_ARENA}, {_DOUBLES}, i8)")
        self.drop_node = prepare(arena_loops.drop_node, f"void({_ARENA}, i8)")
        self.spread_energy = prepare(
            spread_loops.spread_energy, f"UniTuple(i8, 2)({_PASS}, {_INTS}, i8, i8, f8, i8, i8)"
        )
        facts = f"{_SINGLES}, {_SINGLES}, {_DOUBLES}, {_DOUBLES}"
        self.select_surfaced = prepare(
            spread_loops.select_surfaced,
            f"Tuple((i4[::1], f8[::1]))(f8[:, ::1], {_INTS}, i8, {facts}, f8, i8, i8, f8, f8, f8, i8)",
        )
        self.strongest_ways = prepare(
            spread_loops.strongest_ways,
            f"i4[:, ::1]({_NODES}, {_INTS}, {_SINGLES}, {_SINGLES}, {_INTS}, {_INTS}, {_DOUBLES}, f8, i8, {_INTS})",
        )
        self.clear_energy = prepare(spread_loops.clear_energy, f"void(f8[:, ::1], {_INTS}, i8)")
        self.shadow_rows = prepare(shadow_loops.shadow_rows, f"void(f4[:, ::1], {_SHADOW}, i8, i8)")
        self.shadow_products = prepare(
            shadow_loops.shadow_products, f"f4[::1](i1[:, ::1], {_SINGLES}, i8, {_SHORTS}, f8)"
        )
        self.near_in_shadow = prepare(
            shadow_loops.near_in_shadow, f"i4[::1]({_SHADOW}, {_SINGLES}, i8, {_SHORTS}, f8, f8, f8, i8)"
        )
        self.reach_windows = prepare(
            word_loops.reach_windows,
            f"UniTuple(i8, 2)({_POSTING}, {_LEDGER}, {_LEDGER}, {_SINGLES}, {_INTS})",
        )
        self.weigh_windows = prepare(
            word_loops.weigh_windows,
            f"void({_SINGLES}, {_INTS}, i8, {_SINGLES}, f4, f4, f4, {_SINGLES}, {_SINGLES})",
        )
        self.weigh_rows = prepare(
            word_loops.weigh_rows, f"void({_POSTING}, {_SINGLES}, f4, f4, {_SINGLES}, {_SINGLES})"
        )


def interpreted() -> Kernels:
    """The loops as they stand: the same answers, slowly. Large graphs spread by whole-array operations meanwhile."""
    return Kernels(_as_it_stands, are_compiled=False)


def compiled(cache: Path | None = None) -> Kernels:
    """The loops as machine code: compiled on the first call on a machine (seconds), loaded from numba's cache on later
    ones: in `cache`, else beside the modules or in the user's own cache folder, where they can be written. Call it in a
    thread. Raises ImportError where numba cannot be had, RuntimeError where it has no place for its cache."""
    import numba  # 60 MB and a fifth of a second: only who wakes needs it.

    if cache is not None:
        vars(numba.config)["CACHE_DIR"] = str(cache)
    from numba.extending import register_jitable

    for helper in (
        arena_loops.take_block,
        arena_loops.give_block,
        arena_loops.make_room,
        arena_loops.find_slot,
        arena_loops.leads_to,
        arena_loops.put_link,
        arena_loops.forget_target,
        spread_loops.send_from_few,
        spread_loops.send_from_many,
        spread_loops.rise,
        spread_loops.year_day,
        spread_loops.widened,
        spread_loops.follow_outward,
        spread_loops.last_link,
    ):
        register_jitable(helper)

    def compile_loop(loop: _Loop, types: str) -> _Loop:
        return cast(_Loop, numba.njit(types, cache=True, nogil=True)(loop))

    return Kernels(compile_loop, are_compiled=True)


def _as_it_stands(loop: _Loop, types: str) -> _Loop:
    return loop
