"""The owner's view and edits of the self-model: its history (R-87), setting a field, reverting to before a change.

The decisions are pure (`memory/self_model.py`); this module reads the history and writes changes with the state before.
"""

from collections.abc import Callable
from dataclasses import replace

import msgspec

from reveries.clock import Clock
from reveries.db.database import Database, Transaction
from reveries.errors import NotFoundError
from reveries.memory.changes import ChangeSet, SelfModelChange
from reveries.memory.live import LiveMemory
from reveries.memory.model import SelfModel
from reveries.memory.rows import episode_of
from reveries.memory.self_model import BY_THE_OWNER, differences, edit_field, model_of, revert_to
from reveries.memory.sleep.pass_log import record_self_change
from reveries.memory.store import MemoryStore
from reveries.protocol import SelfChange, SelfEvidence, SelfFieldChange
from reveries.safe_text import plain


class SelfModelEdits:
    """Reads the history and writes the owner's changes, each with the state before it."""

    def __init__(self, store: MemoryStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def history(self, limit: int) -> tuple[list[SelfChange], int]:
        """Return the last `limit` changes, oldest first, and the total number."""
        database = self._store.database
        rows = await database.rows("self_model.history", {"limit": limit})
        after = self._store.live.self_model
        changes: list[SelfChange] = []
        for row in rows:
            before = model_of(row["before"])
            evidence = [await _load_evidence(database, self._store.live, name) for name in _parse_ids(row["evidence"])]
            changes.append(
                SelfChange(
                    number=row["id"],
                    at=row["replaced_at"],
                    reason=plain(row["reason"]),
                    run_id=row["run_id"] or "",
                    by_owner=row["run_id"] is None,
                    changes=[
                        SelfFieldChange(
                            difference.field, list(map(plain, difference.removed)), list(map(plain, difference.added))
                        )
                        for difference in differences(before, after)
                    ],
                    evidence=evidence,
                )
            )
            after = before
        counted = await database.rows("self_model.history_count")
        return changes[::-1], int(counted[0]["changes"])

    async def edit(self, field: str, text: str) -> SelfModel:
        """Set a field to the owner's words. Raises UsageError."""
        now = self._clock.now()
        edit_field(self._store.live.self_model, field, text, now)
        return await self._change(
            lambda current: edit_field(current, field, text, now), f"{BY_THE_OWNER}: {field}", now
        )

    async def revert(self, number: int) -> SelfModel:
        """Revert to the state before change `number`, which undoes all later changes too. Raises NotFoundError."""
        rows = await self._store.database.rows("self_model.history_entry", {"id": number})
        if not rows:
            raise NotFoundError(f"There is no change {number}.", advice="List the changes: reveries self history")
        before, now = model_of(rows[0]["before"]), self._clock.now()
        reason = f"{BY_THE_OWNER}: back to before change {number}"
        return await self._change(lambda current: revert_to(current, before, now), reason, now)

    async def _change(self, decide: Callable[[SelfModel], SelfModel], reason: str, now: float) -> SelfModel:
        live = self._store.live

        async def work(transaction: Transaction) -> ChangeSet:
            current = live.self_model
            after = decide(current)
            if replace(after, updated_at=current.updated_at) == current:
                return ChangeSet()
            change = SelfModelChange(current, after, reason, ())
            await record_self_change(transaction, None, change, now)
            return ChangeSet(self_model=change)

        await self._store.commit(work)
        return live.self_model


def _parse_ids(raw: str) -> list[str]:
    return msgspec.json.decode(raw, type=list[str])


async def _load_evidence(database: Database, live: LiveMemory, episode_id: str) -> SelfEvidence:
    """Load an episode behind a change, from its row if it is no longer live."""
    episode = live.graph.get(episode_id)
    if episode is None:
        rows = await database.rows("episodes.one", {"id": episode_id})
        if not rows:
            return SelfEvidence(episode_id, "", "", 0.0, "")
        episode = episode_of(rows[0], ())
    quote = episode.exemplars[0] if episode.exemplars else None
    return SelfEvidence(
        episode.id,
        plain(episode.summary),
        plain(quote.quote) if quote else "",
        quote.said_at if quote else 0.0,
        episode.merged_into or "",
    )
