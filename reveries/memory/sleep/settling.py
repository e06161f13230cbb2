"""The owner's word on two claims that cannot both hold."""

from reveries.db.database import Transaction
from reveries.errors import NotFoundError
from reveries.memory.changes import ChangeSet
from reveries.memory.sleep.claims import Conflict, Settlement
from reveries.memory.store import MemoryStore


async def settle(store: MemoryStore, id_or_prefix: str, keep: str, now: float) -> Conflict:
    """Let the earlier, the later or both claims of a conflict hold. Raises NotFoundError."""
    found = [one for one in store.live.claims.conflicts.values() if id_or_prefix and one.id.startswith(id_or_prefix)]
    if len(found) != 1:
        many = "More than one contradiction begins" if found else "There is no contradiction that begins"
        raise NotFoundError(f"{many} with {id_or_prefix}.", advice="They are listed by: reveries memory contradictions")

    async def work(_: Transaction) -> ChangeSet:
        return ChangeSet(settlements=(Settlement(found[0].id, keep, now),))

    await store.commit(work)
    return store.live.claims.conflicts[found[0].id]
