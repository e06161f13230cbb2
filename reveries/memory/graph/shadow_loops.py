"""The inner loops of the vector search: rows rounded to int8, and one pass over them (see `nearest`, `kernels`).

They call nothing of another file: numba's cache does not notice when that one changes.
"""

import math

import numpy as np

from reveries.memory.graph.loops import Float32, Int8, Int16, Int32


def shadow_rows(
    vectors: Float32, shadow: Int8, scales: Float32, norms: Float32, errors: Float32, first: int, last: int
) -> None:
    """Round rows `first` to `last` to int8, each by its own scale; note how long a row is, how far off its shadow."""
    for row in range(first, last):
        greatest = np.float32(0.0)
        for place in range(vectors.shape[1]):
            greatest = max(greatest, abs(vectors[row, place]))
        scale = greatest / np.float32(127.0) if greatest > 0.0 else np.float32(1.0)
        squared = 0.0
        off = 0.0
        for place in range(vectors.shape[1]):
            value = vectors[row, place]
            rounded = np.float32(round(value / scale))
            shadow[row, place] = np.int8(rounded)
            squared += value * value
            off += (value - rounded * scale) * (value - rounded * scale)
        scales[row] = scale
        norms[row] = math.sqrt(squared)
        errors[row] = math.sqrt(off)


def shadow_products(shadow: Int8, scales: Float32, size: int, cue: Int16, cue_scale: float) -> Float32:
    """The product of each of the first `size` rows with a cue."""
    products = np.empty(size, dtype=np.float32)
    for row in range(size):
        total = np.int32(0)
        for place in range(len(cue)):
            total = np.int32(total + np.int32(np.int32(shadow[row, place]) * np.int32(cue[place])))
        products[row] = total * cue_scale * scales[row]
    return products


def near_in_shadow(
    shadow: Int8,
    scales: Float32,
    norms: Float32,
    errors: Float32,
    cosines: Float32,
    size: int,
    cue: Int16,
    cue_scale: float,
    cue_norm: float,
    cue_error: float,
    wanted: int,
) -> Int32:
    """Rows that can be among the `wanted` nearest with a product above 0. None of those is missed.

    A product of shadows is off by at most |cue - its shadow| |row| + |shadow of cue| |row - its shadow|.
    """
    best = np.full(max(1, wanted), -np.inf)
    for row in range(size):
        total = np.int32(0)
        for place in range(len(cue)):
            # Kept within int32 step by step: only so it becomes one vector instruction.
            total = np.int32(total + np.int32(np.int32(shadow[row, place]) * np.int32(cue[place])))
        product = total * cue_scale * scales[row]
        cosines[row] = product
        least = product - (cue_error * norms[row] + cue_norm * errors[row])
        if least > best[0]:
            spot = 0
            while spot + 1 < wanted and best[spot + 1] < least:
                best[spot] = best[spot + 1]
                spot += 1
            best[spot] = least
    bar = max(0.0, best[0]) - 1e-6
    found = 0
    for row in range(size):
        if cosines[row] + (cue_error * norms[row] + cue_norm * errors[row]) >= bar:
            found += 1
    rows = np.empty(found, dtype=np.int32)
    place = 0
    for row in range(size):
        if cosines[row] + (cue_error * norms[row] + cue_norm * errors[row]) >= bar:
            rows[place] = row
            place += 1
    return rows
