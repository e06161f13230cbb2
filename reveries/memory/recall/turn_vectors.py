"""The vectors of turns: int8, each row by its own scale, a quarter of the memory and of the time of a pass. Pure.

A cosine is off by some thousandths at most; what ranks turns adds up dozens of reasons beside it.
"""

import numpy as np
from numpy.typing import NDArray

from reveries.llm.base import Vector, Vectors
from reveries.memory.graph.kernels import Kernels, interpreted
from reveries.memory.graph.loops import Float32, Int8, Int64

_CUE_STEPS = 16_000
"""A cue is rounded to int16, in fewer steps where so many dimensions could leave int32."""
_ROWS_AT_ONCE = 4096

Chosen = Int64 | list[int] | slice


class TurnRows:
    """Rows to be read: `rows[chosen]` is float32, `rows @ cue` the product of every row."""

    def __init__(self, kernels: Kernels, values: Int8, scales: Float32) -> None:
        self._kernels = kernels
        self._values = values
        self._scales = scales

    @classmethod
    def plain(cls, values: Int8, scales: Float32) -> "TurnRows":
        """Rows to be read without compiled loops."""
        return cls(interpreted(), values, scales)

    @property
    def dimensions(self) -> int:
        """How long each row is."""
        return int(self._values.shape[1])

    def __len__(self) -> int:
        return len(self._scales)

    def __getitem__(self, chosen: Chosen) -> Vectors:
        rows: Vectors = self._values[chosen].astype(np.float32) * self._scales[chosen][:, None]
        return rows

    def __matmul__(self, cue: Vector) -> Float32:
        if not len(self) or not cue.any():
            return np.zeros(len(self), dtype=np.float32)
        scale = float(np.abs(cue).max()) / min(_CUE_STEPS, (2**31 - 1) // (128 * len(cue)))
        rounded = np.rint(cue / np.float32(scale)).astype(np.int16)
        if self._kernels.are_compiled:
            return self._kernels.shadow_products(self._values, self._scales, len(self), rounded, scale)
        products = np.empty(len(self), dtype=np.float32)
        wide = rounded.astype(np.float32)
        for first in range(0, len(self), _ROWS_AT_ONCE):
            part = slice(first, first + _ROWS_AT_ONCE)
            products[part] = self._values[part].astype(np.float32) @ wide
        products *= self._scales * np.float32(scale)
        return products

    def are_there(self) -> NDArray[np.bool_]:
        """Which rows have a vector."""
        there: NDArray[np.bool_] = np.any(self._values, axis=1)
        return there


class TurnVectors:
    """A growable table. Rows of zeros stand for nothing."""

    def __init__(self, dimensions: int, rows: int) -> None:
        self.kernels = interpreted()
        self.dimensions = dimensions
        self.values: Int8 = np.zeros((rows, dimensions), dtype=np.int8)
        self.scales: Float32 = np.ones(rows, dtype=np.float32)

    def grow(self, rows: int) -> None:
        """Room for `rows` rows."""
        more = rows - len(self.scales)
        self.values = np.concatenate([self.values, np.zeros((more, self.dimensions), dtype=np.int8)])
        self.scales = np.concatenate([self.scales, np.ones(more, dtype=np.float32)])

    def put(self, row: int, vector: Vector) -> None:
        """Set one row."""
        self.values[row : row + 1], self.scales[row : row + 1] = rounded_rows(vector[None, :])

    def rows(self, size: int) -> TurnRows:
        """The first `size` rows."""
        return TurnRows(self.kernels, self.values[:size], self.scales[:size])


def rounded_rows(rows: Vectors) -> tuple[Int8, Float32]:
    """Rows as int8 and their scales: row = value x scale."""
    if not rows.size:
        return np.zeros(rows.shape, dtype=np.int8), np.ones(len(rows), dtype=np.float32)
    greatest = np.abs(rows).max(axis=1)
    scales = np.where(greatest > 0.0, greatest / np.float32(127.0), np.float32(1.0)).astype(np.float32)
    return np.rint(rows / scales[:, None]).astype(np.int8), scales
