"""Vectors by row, and nearest-neighbour search. Pure.

`VectorTable` is exact: a scan of its int8 copy (the shadow, a quarter of the memory traffic) selects the rows that can
be among the nearest, because the rounding error is bounded; those few are compared in float32. `Int8VectorTable` holds
only int8: its cosines are off by some thousandths, which is good enough where other features are added to them.
"""

import numpy as np

from reveries.index.arrays import Float32, Int8, Int16, Int64
from reveries.index.kernels import IndexKernels, interpreted_index_kernels
from reveries.llm.base import Vector, Vectors

_CUE_STEPS = 16_000
"""A cue is quantised to int16 with this many steps, or fewer if a sum over its dimensions could overflow int32."""
_ROUNDING = 1e-5
"""How much two float32 sums of the same terms can differ by the order of addition."""
_ROWS_AT_ONCE = 4096


class VectorTable:
    """A growable float32 array, shape (size, dimensions), with an int8 copy (the shadow). Rows of zeros are empty."""

    def __init__(self, kernels: IndexKernels, dimensions: int, rows: int) -> None:
        self.kernels = kernels
        self.dimensions = dimensions
        self.rows: Vectors = np.zeros((rows, dimensions), dtype=np.float32)
        self._shadowed = 0
        self._allocate_shadow(0)

    def grow(self, rows: int) -> None:
        """Make room for `rows` rows."""
        self.rows = np.concatenate([self.rows, np.zeros((rows - len(self.rows), self.dimensions), dtype=np.float32)])

    def replace_rows(self, rows: Vectors) -> None:
        """Replace all rows with `rows`, which are not copied."""
        self.rows = rows
        self._shadowed = 0

    def set_row(self, row: int, vector: Vector) -> None:
        self.rows[row] = vector
        if row < self._shadowed:
            self._update_shadow(row, row + 1)

    def clear_row(self, row: int) -> None:
        self.rows[row] = 0.0
        if row < self._shadowed:
            self._update_shadow(row, row + 1)

    def extend_shadow(self, size: int) -> bool:
        """Quantise up to 4,096 more of the first `size` rows; return whether any are left."""
        if not self.kernels.are_compiled or self._shadowed >= size:
            return False
        if len(self._scales) < size:
            self._grow_shadow()
        last = min(size, self._shadowed + _ROWS_AT_ONCE)
        self._update_shadow(self._shadowed, last)
        self._shadowed = last
        return last < size

    def nearest(self, cue: Vector, count: int, size: int) -> tuple[list[int], list[float]]:
        """Return those of the first `size` rows that can be among the `count` nearest to `cue`, ties included, and
        their products; only products above 0."""
        if count < 1 or not size or not cue.any():
            return [], []
        shadowed = min(size, self._shadowed)
        candidates = [self._find_in_shadow(cue, count, shadowed)] if shadowed else []
        if shadowed < size:
            candidates.append(shadowed + _find_near_rows(self.rows[shadowed:size], cue, count))
        rows = np.concatenate(candidates)
        # One product at a time in float64, so that equal rows get equal products at any position.
        products = (self.rows[rows].astype(np.float64) * cue.astype(np.float64)).sum(axis=1).astype(np.float32)
        least = np.partition(products, -count)[-count] if len(products) > count else np.float32(0.0)
        kept = (products >= least) & (products > 0.0)
        return rows[kept].tolist(), products[kept].tolist()

    def _find_in_shadow(self, cue: Vector, count: int, size: int) -> Int64:
        rounded, scale = _round_cue(cue)
        restored = rounded.astype(np.float64) * scale
        rows = self.kernels.find_candidates(
            self._shadow_values,
            self._scales,
            self._norms,
            self._errors,
            self._products,
            size,
            rounded,
            scale,
            float(np.linalg.norm(restored)),
            float(np.linalg.norm(cue.astype(np.float64) - restored)) + _ROUNDING,
            count,
        )
        return rows.astype(np.int64)

    def _update_shadow(self, first: int, last: int) -> None:
        self.kernels.shadow_rows(self.rows, self._shadow_values, self._scales, self._norms, self._errors, first, last)

    def _allocate_shadow(self, rows: int) -> None:
        self._shadow_values: Int8 = np.zeros((rows, self.dimensions), dtype=np.int8)
        self._scales: Float32 = np.ones(rows, dtype=np.float32)
        self._norms: Float32 = np.zeros(rows, dtype=np.float32)
        self._errors: Float32 = np.zeros(rows, dtype=np.float32)
        self._products: Float32 = np.zeros(rows, dtype=np.float32)

    def _grow_shadow(self) -> None:
        """Give the shadow as many rows as there are vectors."""
        count, values = len(self._scales), self._shadow_values
        scales, norms, errors = self._scales, self._norms, self._errors
        self._allocate_shadow(len(self.rows))
        self._shadow_values[:count], self._scales[:count] = values, scales
        self._norms[:count], self._errors[:count] = norms, errors


def _find_near_rows(rows: Vectors, cue: Vector, count: int) -> Int64:
    products = rows @ cue
    bar = float(np.partition(products, -count)[-count]) if len(products) > count else -np.inf
    return np.flatnonzero((products >= bar - 2 * _ROUNDING) & (products > -_ROUNDING)).astype(np.int64)


RowSelection = Int64 | list[int] | slice


class Int8Rows:
    """Read-only int8 rows: `rows[chosen]` is float32, `rows @ cue` the product of every row with `cue`."""

    def __init__(self, kernels: IndexKernels, values: Int8, scales: Float32) -> None:
        self._kernels = kernels
        self._values = values
        self._scales = scales

    @classmethod
    def interpreted(cls, values: Int8, scales: Float32) -> "Int8Rows":
        """Create rows that are read without compiled loops."""
        return cls(interpreted_index_kernels(), values, scales)

    @property
    def dimensions(self) -> int:
        return int(self._values.shape[1])

    def __len__(self) -> int:
        return len(self._scales)

    def __getitem__(self, chosen: RowSelection) -> Vectors:
        rows: Vectors = self._values[chosen].astype(np.float32) * self._scales[chosen][:, None]
        return rows

    def __matmul__(self, cue: Vector) -> Float32:
        if not len(self) or not cue.any():
            return np.zeros(len(self), dtype=np.float32)
        rounded, scale = _round_cue(cue)
        if self._kernels.are_compiled:
            return self._kernels.shadow_products(self._values, self._scales, len(self), rounded, scale)
        products = np.empty(len(self), dtype=np.float32)
        wide = rounded.astype(np.float32)
        for first in range(0, len(self), _ROWS_AT_ONCE):
            part = slice(first, first + _ROWS_AT_ONCE)
            products[part] = self._values[part].astype(np.float32) @ wide
        products *= self._scales * np.float32(scale)
        return products


class Int8VectorTable:
    """A growable table of int8 vectors. Rows of zeros are empty."""

    def __init__(self, dimensions: int, rows: int) -> None:
        self.kernels = interpreted_index_kernels()
        self.dimensions = dimensions
        self.values: Int8 = np.zeros((rows, dimensions), dtype=np.int8)
        self.scales: Float32 = np.ones(rows, dtype=np.float32)

    def grow(self, rows: int) -> None:
        """Make room for `rows` rows."""
        more = rows - len(self.scales)
        self.values = np.concatenate([self.values, np.zeros((more, self.dimensions), dtype=np.int8)])
        self.scales = np.concatenate([self.scales, np.ones(more, dtype=np.float32)])

    def set_row(self, row: int, vector: Vector) -> None:
        self.values[row : row + 1], self.scales[row : row + 1] = quantise_rows(vector[None, :])

    def rows(self, size: int) -> Int8Rows:
        """Return the first `size` rows."""
        return Int8Rows(self.kernels, self.values[:size], self.scales[:size])


def _round_cue(cue: Vector) -> tuple[Int16, float]:
    """Quantise `cue`, which must not be all zeros, to int16; return it with its scale."""
    scale = float(np.abs(cue).max()) / min(_CUE_STEPS, (2**31 - 1) // (128 * len(cue)))
    return np.rint(cue / np.float32(scale)).astype(np.int16), scale


def quantise_rows(rows: Vectors) -> tuple[Int8, Float32]:
    """Return the rows as int8 with their scales: row = value x scale."""
    if not rows.size:
        return np.zeros(rows.shape, dtype=np.int8), np.ones(len(rows), dtype=np.float32)
    greatest = np.abs(rows).max(axis=1)
    scales = np.where(greatest > 0.0, greatest / np.float32(127.0), np.float32(1.0)).astype(np.float32)
    return np.rint(rows / scales[:, None]).astype(np.int8), scales
