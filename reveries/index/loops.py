"""The inner loops of the index (see `kernels`): quantising vectors to int8 and scanning them (`vectors`), and scoring
rows by the words of a cue, one term at a time (`word_scores`).

They call no function of another file, because numba's cache does not notice when that file changes. The loops over
words do the same float32 operations in the same order as the whole-array form, so both give identical bits.
"""

import math

import numpy as np

from reveries.index.arrays import Bools, Float32, Int8, Int16, Int32, Int64


def shadow_rows(
    vectors: Float32, shadow: Int8, scales: Float32, norms: Float32, errors: Float32, first: int, last: int
) -> None:
    """Quantise rows `first` to `last` to int8, each by its own scale; store each row's norm and quantisation error."""
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
    """Return the product of each of the first `size` rows with a cue."""
    products = np.empty(size, dtype=np.float32)
    for row in range(size):
        total = np.int32(0)
        for place in range(len(cue)):
            total = np.int32(total + np.int32(np.int32(shadow[row, place]) * np.int32(cue[place])))
        products[row] = total * cue_scale * scales[row]
    return products


def find_candidates(
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
    """Return every row that can be among the `wanted` nearest with a product above 0; none of those is missed.

    A product of quantised vectors is off by at most |cue - q(cue)| |row| + |q(cue)| |row - q(row)|.
    """
    best = np.full(max(1, wanted), -np.inf)
    for row in range(size):
        total = np.int32(0)
        for place in range(len(cue)):
            # Cast to int32 at every step: only then does the compiler use one vector instruction.
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
    count = 0
    for row in range(size):
        if cosines[row] + (cue_error * norms[row] + cue_norm * errors[row]) >= bar:
            count += 1
    rows = np.empty(count, dtype=np.int32)
    place = 0
    for row in range(size):
        if cosines[row] + (cue_error * norms[row] + cue_norm * errors[row]) >= bar:
            rows[place] = row
            place += 1
    return rows


def reach_windows(
    rows: Int32, counts: Int16, live: Bools, previous: Int64, following: Int64, wide: Float32, reached: Int32
) -> tuple[int, int]:
    """Add the `counts` of a term to `wide`, for every window that contains one of its live `rows`. Return how many rows
    are live and how many windows were reached; `reached` lists those.

    Neighbours are as in `Neighbours`; `wide` and `reached` have one extra slot at the end for missing neighbours.
    """
    size = len(live)
    live_count, window_count = 0, 0
    for place in range(len(rows)):
        row = np.int64(rows[place])
        if not live[row]:
            continue
        live_count += 1
        count = np.float32(counts[place])
        before, after = previous[row], following[row]
        second = following[after] if after < size else np.int64(size)
        # Always written, and overwritten later if it was not new: there is no branch to mispredict.
        reached[window_count] = row
        window_count += 1 if wide[row] == 0.0 else 0
        wide[row] += count
        reached[window_count] = before
        window_count += 1 if wide[before] == 0.0 and before < size else 0
        wide[before] += count
        reached[window_count] = after
        window_count += 1 if wide[after] == 0.0 and after < size else 0
        wide[after] += count
        reached[window_count] = second
        window_count += 1 if wide[second] == 0.0 and second < size else 0
        wide[second] += count
    wide[size] = 0.0
    return live_count, window_count


def weigh_windows(
    wide: Float32,
    reached: Int32,
    window_count: int,
    norms: Float32,
    saturation: float,
    rarity: float,
    weight: float,
    window: Float32,
    covered: Float32,
) -> None:
    """Add the counts that `reach_windows` left in `wide` to the windows' scores, and reset `wide` to zeros."""
    least = np.float32(1e-9)
    for place in range(window_count):
        row = reached[place]
        count = wide[row]
        wide[row] = 0.0
        saturated = np.float32(np.float32(count * saturation) / np.float32(np.float32(count + norms[row]) + least))
        window[row] += np.float32(rarity * saturated)
        covered[row] += weight


def weigh_rows(
    rows: Int32,
    counts: Int16,
    live: Bools,
    norms: Float32,
    saturation: float,
    weight: float,
    scores: Float32,
    covered: Float32,
) -> None:
    """Add a term to the scores of its live `rows`."""
    least = np.float32(1e-9)
    for place in range(len(rows)):
        row = rows[place]
        if live[row]:
            count = np.float32(counts[place])
            saturated = np.float32(np.float32(count * saturation) / np.float32(np.float32(count + norms[row]) + least))
            scores[row] += np.float32(weight * saturated)
            covered[row] += weight
