"""What time does to memory, applied: decay and prune (R-104), and which words leave the live index (R-108)."""

from collections.abc import Sequence

from reveries.config import MemorySettings
from reveries.db.database import Transaction
from reveries.memory.changes import ChangeSet, Dormancy, join
from reveries.memory.pins import pinned_ids
from reveries.memory.sleep.decay import FADED_BELOW, fade
from reveries.memory.sleep.dormancy import falling_dormant
from reveries.memory.store import MemoryStore

_KEEP_SALIENCE = 0.9
"""Raw experiences at least this salient are never put away (RA-14)."""
_HOUR_SECONDS = 3600.0
_DORMANT_AT_ONCE = 50
_FADING_AT_ONCE = 1000
_PUT_AWAY_AT_ONCE = 500
_ROUNDING = 1e-6
"""The graph holds accessibility as float32."""


async def decay_and_prune(store: MemoryStore, settings: MemorySettings, now: float) -> ChangeSet:
    """One pass over all live episodes, some of them a transaction, so that a word that comes meanwhile need not wait.
    Accessibility falls, nothing is deleted (R-116)."""
    names = list(store.live.graph.ids())
    done: list[ChangeSet] = []
    for start in range(0, len(names), _FADING_AT_ONCE):
        some = names[start : start + _FADING_AT_ONCE]

        async def work(transaction: Transaction, some: Sequence[str] = some) -> ChangeSet:
            pinned = await pinned_ids(transaction)
            found = [one for name in some if name not in pinned and (one := store.live.graph.get(name)) is not None]
            return fade(found, now, settings.decay_half_life_days, settings.minimum_salience)

        done.append(await store.commit(work))
    await put_words_away(store, settings, now)
    return join([*done, await let_go_dormant(store, settings, now)])


async def let_go_dormant(store: MemoryStore, settings: MemorySettings, now: float) -> ChangeSet:
    """What has faded, and what is more than fits, leaves memory for the disk: some at a time, so that a word that comes
    meanwhile need not wait."""
    graph = store.live.graph
    worn = graph.less_accessible(settings.dormant_accessibility + _ROUNDING)
    excess = len(graph) - settings.live_episodes
    pinned = await pinned_ids(store.database)
    most = excess + len(worn) + len(pinned)
    names = dict.fromkeys([*worn, *(graph.least_reachable(most) if excess > 0 else ())])
    candidates = [found for name in names if name not in pinned and (found := graph.get(name)) is not None]
    leaving = falling_dormant(candidates, len(graph), now, settings)
    done: list[ChangeSet] = []
    for start in range(0, len(leaving), _DORMANT_AT_ONCE):
        some = {entry.episode_id: entry for entry in leaving[start : start + _DORMANT_AT_ONCE]}

        async def work(transaction: Transaction, some: dict[str, Dormancy] = some) -> ChangeSet:
            # One that was recalled, or pinned, while its turn came stays.
            held = await pinned_ids(transaction)
            found = [graph.get(name) for name in some if name not in held]
            still = [one for one in found if one is not None and one.last_accessed_at < now]
            return ChangeSet(dormant=tuple(some[one.id] for one in still))

        done.append(await store.commit(work))
    return join(done)


async def put_words_away(store: MemoryStore, settings: MemorySettings, now: float) -> tuple[str, ...]:
    """Let raw words leave the live index (R-65, R-66, RA-14): those that deep sleep worked on longer ago than the
    retention, of little salience, whose episode has faded, and that no exemplar quotes. They stay in the file.

    Kept while their episode is easy to reach, which R-66 does not ask for: a chat turn looks on the disk only when what
    is in memory says little.
    """
    named = {
        "keep_salience": _KEEP_SALIENCE,
        "slept_on_before": now - settings.raw_retention_hours * _HOUR_SECONDS,
    }
    past = {row["id"] for row in await store.database.rows("experiences.past_retention", named)}
    pinned = await pinned_ids(store.database)
    worn = tuple(
        turn.id
        for name in (store.live.graph.less_accessible(FADED_BELOW) if past else ())
        if name not in pinned and (episode := store.live.graph.get(name)) is not None
        for quoted in ({exemplar.turn_id for exemplar in episode.exemplars},)
        for turn in store.live.turns.turns_of(episode.id)
        if turn.experience_id in past and turn.id not in quoted
    )
    for start in range(0, len(worn), _PUT_AWAY_AT_ONCE):
        some = worn[start : start + _PUT_AWAY_AT_ONCE]
        await store.commit(lambda _, some=some: _only_on_disk(some))  # type: ignore[misc]  # bound in this very loop
    return worn


async def _only_on_disk(turn_ids: tuple[str, ...]) -> ChangeSet:
    return ChangeSet(put_away_turn_ids=turn_ids)
