"""The inner loops of scoring words: one term taken over at a time (see `tallying`, `kernels`).

They call nothing of another file: numba's cache does not notice when that one changes. Every step is the one that the
whole-array form takes, in float32 and in its order, so that both come to the same bits.
"""

import numpy as np

from reveries.memory.graph.loops import Bools, Float32, Int16, Int32, Int64


def reach_windows(
    rows: Int32, counts: Int16, live: Bools, previous: Int64, following: Int64, wide: Float32, reached: Int32
) -> tuple[int, int]:
    """Add the `counts` of a term to `wide`, in every window that one of its live `rows` is part of. How many rows are
    live; how many windows are reached: `reached` names them.

    Neighbours are as in `Neighbours`; `wide` and `reached` have one place more than there are rows, for nobody's.
    """
    size = len(live)
    held, found = 0, 0
    for place in range(len(rows)):
        row = np.int64(rows[place])
        if not live[row]:
            continue
        held += 1
        count = np.float32(counts[place])
        before, after = previous[row], following[row]
        second = following[after] if after < size else np.int64(size)
        # Noted whether new or not, and overwritten where it was not: no branch to guess wrong.
        reached[found] = row
        found += 1 if wide[row] == 0.0 else 0
        wide[row] += count
        reached[found] = before
        found += 1 if wide[before] == 0.0 and before < size else 0
        wide[before] += count
        reached[found] = after
        found += 1 if wide[after] == 0.0 and after < size else 0
        wide[after] += count
        reached[found] = second
        found += 1 if wide[second] == 0.0 and second < size else 0
        wide[second] += count
    wide[size] = 0.0
    return held, found


def weigh_windows(
    wide: Float32,
    reached: Int32,
    found: int,
    norms: Float32,
    saturation: float,
    rarity: float,
    weight: float,
    window: Float32,
    covered: Float32,
) -> None:
    """Take what `reach_windows` left in `wide` over into the windows' scores, and leave zeros there."""
    least = np.float32(1e-9)
    for place in range(found):
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
    turn: Float32,
    covered: Float32,
) -> None:
    """Take a term over into the scores of its live `rows`."""
    least = np.float32(1e-9)
    for place in range(len(rows)):
        row = rows[place]
        if live[row]:
            count = np.float32(counts[place])
            saturated = np.float32(np.float32(count * saturation) / np.float32(np.float32(count + norms[row]) + least))
            turn[row] += np.float32(weight * saturated)
            covered[row] += weight
