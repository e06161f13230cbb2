"""The owner's word on two claims that cannot both hold."""

from reveries.db.database import Transaction
from reveries.errors import NotFoundError
from reveries.memory.changes import ChangeSet
from reveries.memory.sleep.claims import Conflict, Settlement
from reveries.memory.store import MemoryStore


async def settle(store: MemoryStore, id_or_prefix: str, keep: str, now: float) -> Conflict:
    """Let the earlier, the later or both claims of a conflict hold. Raises NotFoundError."""
    settled: list[Conflict] = []

    async def work(_: Transaction) -> ChangeSet:
        conflict = _conflict(store, id_or_prefix)
        settled.append(conflict.settle(keep))
        return ChangeSet(settlements=(Settlement(conflict.id, keep, now),))

    await store.commit(work)
    return settled[0]


def _conflict(store: MemoryStore, id_or_prefix: str) -> Conflict:
    """As it stands now: it goes when the pass that found it is taken back."""
    conflicts = store.live.claims.conflicts
    if id_or_prefix in conflicts:
        return conflicts[id_or_prefix]
    found = [one for one in conflicts.values() if id_or_prefix and one.id.startswith(id_or_prefix)]
    if len(found) != 1:
        many = "More than one contradiction begins" if found else "There is no contradiction that begins"
        raise NotFoundError(f"{many} with {id_or_prefix}.", advice="They are listed by: reveries memory contradictions")
    return found[0]
