"""What holds now: of two turns that say nearly the same, one later than the other, the later one is the news.

Only for a cue that asks what holds now (`Cue.wants_value_now`), and only among the best few: everywhere else "later is
better" does harm (RECALL section 4). It is a reason among others; the older turn stays where it can be seen. Pure.
"""

import numpy as np

from reveries.memory.cues import Cue
from reveries.memory.turn_index import TurnIndex
from reveries.memory.words import Floats, Rows

UPDATE_FEATURES = ("fresh", "stale", "fresh_number", "stale_number", "late")
_COMPARED = 12
_LIKE_FROM = 0.3
"""Below this cosine two turns are about different things."""


def update_columns(index: TurnIndex, cue: Cue, scores: Floats, rows: Rows) -> dict[str, Floats]:
    """For the best of `rows`: how much a turn renews another one, and how much it is renewed by one; 0 to 1.

    Whoever is renewed or renews must have said it to the mind: what the mind itself repeats is no news.
    """
    columns = {name: np.zeros(len(rows), dtype=np.float32) for name in UPDATE_FEATURES}
    if not cue.wants_value_now or len(rows) < 2:
        return columns
    best = np.argsort(-scores, kind="stable")[:_COMPARED]
    best = best[~index.marks["own"][rows[best]]]
    if len(best) < 2:
        return columns
    chosen = rows[best]
    cosines = index.vectors[chosen] @ index.vectors[chosen].T
    alike = np.clip((cosines - _LIKE_FROM) / (1.0 - _LIKE_FROM), 0.0, 1.0)
    near = np.exp(-0.5 * np.abs(scores[best][:, None] - scores[best][None, :]))
    said_at = index.marks["said_at"][chosen]
    later = (said_at[:, None] > said_at[None, :]) | (
        (said_at[:, None] == said_at[None, :]) & (chosen[:, None] > chosen[None, :])
    )
    renews = np.where(later, alike * near, 0.0)
    number = index.surface["number"][chosen].astype(np.float32)
    columns["fresh"][best] = renews.max(axis=1)
    columns["stale"][best] = renews.max(axis=0)
    columns["fresh_number"][best] = renews.max(axis=1) * number
    columns["stale_number"][best] = (renews * number[:, None]).max(axis=0)
    columns["late"][best] = later.mean(axis=1)
    return columns
