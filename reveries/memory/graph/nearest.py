"""Vectors by row, and which are nearest to a cue: exact, whichever way it is found. Pure.

An int8 shadow is a quarter of the memory to read. A pass over it says which rows can be among the nearest at all (what
rounding can do is bounded), and those few are compared as they are; so the answer is that of the whole float32 pass.
"""

import numpy as np

from reveries.llm.base import Vector, Vectors
from reveries.memory.graph.kernels import Kernels
from reveries.memory.graph.loops import Float32, Int8, Int64

_CUE_STEPS = 16_000
"""A cue is rounded to int16, in fewer steps where so many dimensions could leave int32."""
_ROUNDING = 1e-5
"""By so much float32 sums of one product, added up in another order, can differ."""
_SHADOW_ROWS = 4096


class GrowingVectors:
    """A growable float32 array, shape (size, dimensions), beside its shadow. Rows of zeros stand for nothing."""

    def __init__(self, kernels: Kernels, dimensions: int, rows: int) -> None:
        self.kernels = kernels
        self.dimensions = dimensions
        self.rows: Vectors = np.zeros((rows, dimensions), dtype=np.float32)
        self._shadowed = 0
        self._allot_shadow(0)

    @property
    def shadowed_rows(self) -> int:
        """Rows below this have a shadow that is up to date."""
        return self._shadowed

    def grow(self, rows: int) -> None:
        """Room for `rows` rows."""
        self.rows = np.concatenate([self.rows, np.zeros((rows - len(self.rows), self.dimensions), dtype=np.float32)])

    def take(self, rows: Vectors) -> None:
        """Hold `rows` from now on, in the place of everything before. They are not copied."""
        self.rows = rows
        self._shadowed = 0

    def put(self, row: int, vector: Vector) -> None:
        """Set one row."""
        self.rows[row] = vector
        if row < self._shadowed:
            self._shadow(row, row + 1)

    def clear(self, row: int) -> None:
        """Let nothing stand in a row."""
        self.rows[row] = 0.0
        if row < self._shadowed:
            self._shadow(row, row + 1)

    def shadow_more(self, size: int) -> bool:
        """Shadow up to 4,096 more of the first `size` rows; whether any are left."""
        if not self.kernels.are_compiled or self._shadowed >= size:
            return False
        if len(self._scales) < size:
            self._widen_shadow()
        last = min(size, self._shadowed + _SHADOW_ROWS)
        self._shadow(self._shadowed, last)
        self._shadowed = last
        return last < size

    def nearest(self, cue: Vector, count: int, size: int) -> tuple[list[int], list[float]]:
        """Of the first `size` rows those that can be among the `count` nearest to `cue`, ties included, with their
        products; only products above 0."""
        if count < 1 or not size or not cue.any():
            return [], []
        shadowed = min(size, self._shadowed)
        found = [self._near_in_shadow(cue, count, shadowed)] if shadowed else []
        if shadowed < size:
            found.append(shadowed + _near(self.rows[shadowed:size], cue, count))
        rows = np.concatenate(found)
        # Each product for itself and in float64: equal rows have equal products, wherever they stand.
        products = (self.rows[rows].astype(np.float64) * cue.astype(np.float64)).sum(axis=1).astype(np.float32)
        least = np.partition(products, -count)[-count] if len(products) > count else np.float32(0.0)
        kept = (products >= least) & (products > 0.0)
        return rows[kept].tolist(), products[kept].tolist()

    def _near_in_shadow(self, cue: Vector, count: int, size: int) -> Int64:
        scale = float(np.abs(cue).max()) / min(_CUE_STEPS, (2**31 - 1) // (128 * self.dimensions))
        rounded = np.rint(cue / np.float32(scale)).astype(np.int16)
        seen = rounded.astype(np.float64) * scale
        rows = self.kernels.near_in_shadow(
            self._shadow_values,
            self._scales,
            self._norms,
            self._errors,
            self._products,
            size,
            rounded,
            scale,
            float(np.linalg.norm(seen)),
            float(np.linalg.norm(cue.astype(np.float64) - seen)) + _ROUNDING,
            count,
        )
        return rows.astype(np.int64)

    def _shadow(self, first: int, last: int) -> None:
        self.kernels.shadow_rows(self.rows, self._shadow_values, self._scales, self._norms, self._errors, first, last)

    def _allot_shadow(self, rows: int) -> None:
        self._shadow_values: Int8 = np.zeros((rows, self.dimensions), dtype=np.int8)
        self._scales: Float32 = np.ones(rows, dtype=np.float32)
        self._norms: Float32 = np.zeros(rows, dtype=np.float32)
        self._errors: Float32 = np.zeros(rows, dtype=np.float32)
        self._products: Float32 = np.zeros(rows, dtype=np.float32)

    def _widen_shadow(self) -> None:
        """As many rows as there are vectors."""
        count, values = len(self._scales), self._shadow_values
        scales, norms, errors = self._scales, self._norms, self._errors
        self._allot_shadow(len(self.rows))
        self._shadow_values[:count], self._scales[:count] = values, scales
        self._norms[:count], self._errors[:count] = norms, errors


def _near(rows: Vectors, cue: Vector, count: int) -> Int64:
    products = rows @ cue
    bar = float(np.partition(products, -count)[-count]) if len(products) > count else -np.inf
    return np.flatnonzero((products >= bar - 2 * _ROUNDING) & (products > -_ROUNDING)).astype(np.int64)
