"""The inner loops of spreading activation: sending energy along links, selecting what surfaces, and finding the
strongest paths (see `spreading`). They run both compiled by numba (see `kernels`) and interpreted.
"""

import math
from typing import TypeVar

import numpy as np

from reveries.index.arrays import Float32, Float64, Int32

_Numbers = TypeVar("_Numbers", Int32, Float64)

MOST_RECENT, SAME_TIME = 1.5, 1.2
"""The maxima of recency and temporal relevance (RA-33); neither is ever below 1."""
_MOST_RESONANT = 1.25
_RECENCY_DAYS = 30.0
_DAY_SECONDS = 86_400.0
_HOUR_SECONDS = 3600.0
_WEEK_HOURS = 168
LEAST_TIME, MOST_TIME = -62_135_596_800.0, 253_402_300_799.0
"""The start of year 1 and the end of year 9999, the range of `datetime`."""
START, DEGREE, USED = 0, 1, 2
"""Columns of an arena's nodes, as in `arena_loops`. Repeated here because numba's cache does not notice when another
file changes."""
_ANNIVERSARY_DAYS = 300


def send_from_few(
    nodes: Int32,
    targets: Int32,
    strengths: Float32,
    accessibility: Float32,
    energy: Float64,
    active: Int32,
    reached: Int32,
    count: int,
    decay: float,
) -> tuple[int, int]:
    """Do one pass that visits only the `count` active nodes. Return how many are active afterwards, and links
    followed."""
    followed = 0
    hits = 0
    for place in range(count):
        node = active[place]
        amount = energy[node, 0]
        first, degree = nodes[node, START], nodes[node, DEGREE]
        followed += degree
        for slot in range(first, first + degree):
            sent = amount * strengths[slot]
            if sent > 0.0:
                target = targets[slot]
                if energy[target, 1] == 0.0:
                    reached[hits] = target
                    hits += 1
                energy[target, 1] += sent
    for place in range(hits):
        node = reached[place]
        taken = energy[node, 1] * decay * accessibility[node]
        energy[node, 1] = 0.0
        if taken > 0.0:
            if energy[node, 0] == 0.0:
                active[count] = node
                count += 1
            energy[node, 0] += taken
    return count, followed


def send_from_many(
    nodes: Int32,
    targets: Int32,
    strengths: Float32,
    accessibility: Float32,
    energy: Float64,
    active: Int32,
    size: int,
    count: int,
    decay: float,
) -> tuple[int, int]:
    """Do the same pass over the whole graph in memory order, which is faster when much of it is active."""
    followed = 0
    for node in range(size):
        amount = energy[node, 0]
        if amount > 0.0:
            first, degree = nodes[node, START], nodes[node, DEGREE]
            followed += degree
            for slot in range(first, first + degree):
                energy[targets[slot], 1] += amount * strengths[slot]
    for node in range(size):
        sent = energy[node, 1]
        if sent > 0.0:
            taken = sent * decay * accessibility[node]
            energy[node, 1] = 0.0
            if taken > 0.0:
                if energy[node, 0] == 0.0:
                    active[count] = node
                    count += 1
                energy[node, 0] += taken
    return count, followed


def spread_energy(
    nodes: Int32,
    targets: Int32,
    strengths: Float32,
    accessibility: Float32,
    energy: Float64,
    active: Int32,
    reached: Int32,
    size: int,
    count: int,
    decay: float,
    hops: int,
    many_from: int,
) -> tuple[int, int]:
    """Do `hops` passes from the `count` nodes in `active`, whose energies are in the first column of `energy` (R-121).

    With `many_from` active nodes or more, a pass sweeps the whole graph. Return how many nodes are active, all of them
    in `active` with their energies in the first column (the second is zero again), and how many links were followed.
    """
    followed = 0
    for _ in range(hops):
        if count >= many_from:
            count, more = send_from_many(nodes, targets, strengths, accessibility, energy, active, size, count, decay)
        else:
            count, more = send_from_few(nodes, targets, strengths, accessibility, energy, active, reached, count, decay)
        followed += more
    return count, followed


def insert_ranked(best: Float64, value: float) -> None:
    """Insert `value` into the greatest values seen so far (ascending) if it is greater than the least of them."""
    if value <= best[0]:
        return
    spot = 0
    while spot + 1 < len(best) and best[spot + 1] < value:
        best[spot] = best[spot + 1]
        spot += 1
    best[spot] = value


def year_day(days: int) -> int:
    """Return 32 x month + day of a number (or an array) of days since 1970-01-01 in the proleptic Gregorian calendar.
    In years that begin in March, leap days come last and the months follow one formula."""
    in_era = (days + 719_468) % 146_097
    year = (in_era - in_era // 1460 + in_era // 36_524 - in_era // 146_096) // 365
    in_year = in_era - (365 * year + year // 4 - year // 100)
    month = (5 * in_year + 2) // 153
    day = in_year - (153 * month + 2) // 5 + 1
    return 32 * ((month + 2) % 12 + 1) + day


def select_surfaced(
    energy: Float64,
    active: Int32,
    count: int,
    accessibility: Float32,
    valence: Float32,
    last_accessed_at: Float64,
    created_at: Float64,
    now: float,
    now_week_hour: int,
    now_year_day: int,
    mood: float,
    threshold: float,
    share: float,
    limit: int,
) -> tuple[Int32, Float64]:
    """Return the active nodes that can be among the best `limit`, and the energies they rank by (R-122, R-123).

    The first column of `energy` holds a node's whole energy, the second its energy as an entry point. Recency and
    temporal relevance are bounded, so nodes that cannot get there are skipped before those are computed. No node of the
    best `limit` is missed, ties included; the caller cuts off the rest.
    """
    most = MOST_RECENT * SAME_TIME
    nodes = np.empty(count, dtype=np.int32)
    ranks = np.empty(count, dtype=np.float64)
    best = np.zeros(max(1, limit), dtype=np.float64)
    hopeful = 0
    for place in range(count):
        node = active[place]
        whole = energy[node, 0]
        if whole * (most * _MOST_RESONANT) <= threshold:
            continue
        steady = accessibility[node] * (1.0 + 0.25 * mood * valence[node])
        if whole * steady * most <= threshold:
            continue
        direct = energy[node, 1]
        nodes[hopeful] = node
        ranks[hopeful] = (direct + share * (whole - direct)) * steady
        hopeful += 1
        if whole * steady > threshold:
            insert_ranked(best, ranks[hopeful - 1])
    bar = best[0] * (1.0 - 1e-9)
    count_surfaced = 0
    for place in range(hopeful):
        node = nodes[place]
        if ranks[place] * most < bar:
            continue
        days = max(0.0, now - last_accessed_at[node]) / _DAY_SECONDS
        scale = 1.0 + 0.5 * math.exp(-days / _RECENCY_DAYS)
        created = min(max(created_at[node], LEAST_TIME), MOST_TIME)
        hour = math.floor(created / _HOUR_SECONDS)
        since = abs(math.floor((now - created) / _DAY_SECONDS))
        if hour % _WEEK_HOURS == now_week_hour or (since >= _ANNIVERSARY_DAYS and year_day(hour // 24) == now_year_day):
            scale *= SAME_TIME
        steady = accessibility[node] * (1.0 + 0.25 * mood * valence[node])
        if energy[node, 0] * steady * scale > threshold:
            nodes[count_surfaced] = node
            ranks[count_surfaced] = ranks[place] * scale
            count_surfaced += 1
    return nodes[:count_surfaced], ranks[:count_surfaced]


def clear_energy(energy: Float64, active: Int32, count: int) -> None:
    """Reset both columns to zero for every active node."""
    for place in range(count):
        energy[active[place], 0] = 0.0
        energy[active[place], 1] = 0.0


def double_length(values: _Numbers) -> _Numbers:
    """Return a copy of twice the length, with the new half uninitialised."""
    wider = np.empty(2 * len(values), dtype=values.dtype)
    wider[: len(values)] = values
    return wider


def extend_paths(
    nodes: Int32,
    targets: Int32,
    strengths: Float32,
    accessibility: Float32,
    latest: Int32,
    stations: Int32,
    parents: Int32,
    arriving: Float64,
    decay: float,
    passes: int,
) -> tuple[Int32, Int32, Float64, int]:
    """Extend the given records by the strongest single paths of at most `passes` links. Return the records (node,
    parent record, energy arriving by this path) and their number; `latest` holds each node's best record."""
    count = len(stations)
    first, last = 0, count
    for _ in range(passes):
        for record in range(first, last):
            node = stations[record]
            if latest[node] != record and latest[node] < last:
                continue  # A better path to it was found in the same pass.
            for slot in range(nodes[node, START], nodes[node, START] + nodes[node, DEGREE]):
                target = targets[slot]
                amount = arriving[record] * strengths[slot] * decay * accessibility[target]
                if amount > (arriving[latest[target]] if latest[target] >= 0 else 0.0):
                    if count == len(stations):
                        stations, parents = double_length(stations), double_length(parents)
                        arriving = double_length(arriving)
                    stations[count], parents[count], arriving[count] = target, record, amount
                    latest[target] = count
                    count += 1
        first, last = last, count
    return stations, parents, arriving, count


def find_last_link(
    nodes: Int32,
    targets: Int32,
    strengths: Float32,
    accessibility: Float32,
    latest: Int32,
    arriving: Float64,
    decay: float,
    target: int,
) -> int:
    """Return the record from which one more link gives a stronger path to `target` than is known; -1 for none."""
    best = arriving[latest[target]] if latest[target] >= 0 else 0.0
    through = -1
    for back in range(nodes[target, START], nodes[target, START] + nodes[target, USED]):
        other = targets[back]
        if latest[other] < 0 or arriving[latest[other]] * decay * accessibility[target] <= best:
            continue
        for slot in range(nodes[other, START], nodes[other, START] + nodes[other, DEGREE]):
            amount = arriving[latest[other]] * strengths[slot] * decay * accessibility[target]
            if targets[slot] == target and amount > best:
                best, through = amount, latest[other]
    return through


def find_strongest_paths(
    nodes: Int32,
    targets: Int32,
    strengths: Float32,
    accessibility: Float32,
    latest: Int32,
    seeds: Int32,
    energies: Float64,
    decay: float,
    hops: int,
    wanted: Int32,
) -> Int32:
    """Return for each wanted node the strongest single path of at most `hops` links from a seed: shape (wanted,
    hops + 1), the node first, the seed last, padded with -1.

    Paths are extended outward for all passes but the last, which is searched backwards from the wanted nodes. `latest`
    is scratch space: -1 for every node before and after.
    """
    for place in range(len(seeds)):
        latest[seeds[place]] = place
    parents = np.empty(len(seeds), dtype=np.int32)
    parents[:] = -1
    stations, parents, arriving, count = extend_paths(
        nodes, targets, strengths, accessibility, latest, seeds, parents, energies, decay, hops - 1
    )
    paths = np.empty((len(wanted), hops + 1), dtype=np.int32)
    paths[:] = -1
    for place in range(len(wanted)):
        record = latest[wanted[place]]
        step = 0
        if hops > 0:
            through = find_last_link(nodes, targets, strengths, accessibility, latest, arriving, decay, wanted[place])
            if through >= 0:
                paths[place, 0] = wanted[place]
                record, step = through, 1
        while record >= 0:
            paths[place, step] = stations[record]
            record = parents[record]
            step += 1
    for record in range(count):
        latest[stations[record]] = -1
    return paths
