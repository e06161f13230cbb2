"""Wishes of the owner in the database: proposed, then applied or declined by a yes or a no."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from reveries.clock import Clock
from reveries.db.checksums import checksum
from reveries.db.database import Database
from reveries.db.typed_rows import read_row
from reveries.errors import NotFoundError, UsageError
from reveries.projects.steering import Steering, TaskEdit, require_open
from reveries.projects.store import ProjectStore
from reveries.projects.wish_reading import Wish, WishAction


class WishState(StrEnum):
    PROPOSED = "proposed"
    APPLIED = "applied"
    DECLINED = "declined"


@dataclass(frozen=True, slots=True)
class StoredWish:
    """A wish that waits for a yes."""

    id: str
    project_id: str
    task_id: str | None
    action: WishAction
    title: str
    due: str
    created_at: float


class WishStore:
    """Keeps the newest wish until it is decided, and applies it."""

    def __init__(self, database: Database, store: ProjectStore, clock: Clock, new_id: Callable[[], str]) -> None:
        self._database = database
        self._store = store
        self._clock = clock
        self._new_id = new_id

    async def propose(self, wish: Wish) -> str:
        """Store a wish, in the place of one that was not decided; return its id."""
        wish_id, now = self._new_id(), self._clock.now()
        row: dict[str, object] = {"id": wish_id, "project_id": wish.project.id, "action": wish.action.value}
        row |= {"task_id": wish.task.id if wish.task is not None else None, "title": wish.title, "due": wish.due}
        async with self._database.transaction() as transaction:
            await transaction.run("wishes.replace", {"now": now})
            await transaction.run("wishes.put", row | {"now": now, "checksum": checksum(wish.title)})
        return wish_id

    async def proposed(self) -> StoredWish | None:
        """Return the wish that waits for a yes."""
        rows = await self._database.rows("wishes.proposed")
        return read_row(StoredWish, rows[0]) if rows else None

    async def decline(self, wish: StoredWish) -> None:
        await self._decide(wish, WishState.DECLINED)

    async def apply(self, wish: StoredWish) -> str:
        """Apply a wish; return the id of its task. Raises NotFoundError, UsageError."""
        project = await self._store.find(wish.project_id)
        steering = Steering(self._store)
        # First, so that a second yes at the same moment does nothing.
        await self._decide(wish, WishState.APPLIED)
        if wish.action is WishAction.ADD:
            return await steering.add(project, wish.title, due=wish.due, is_mine=False)
        tasks = await self._store.tasks.of_project(project.id)
        task = next((item for item in tasks if item.id == wish.task_id), None)
        if task is None:
            raise NotFoundError("That task is gone.", advice="All of them: reveries project tasks")
        require_open(task)
        match wish.action:
            case WishAction.MOVE:
                await steering.edit(project, task, TaskEdit(due=wish.due))
            case WishAction.DROP:
                await steering.drop(project, [task])
            case WishAction.DONE:
                await steering.finish(project, task)
            case WishAction.START:
                await steering.move(project, task, 1)
        return task.id

    async def _decide(self, wish: StoredWish, state: WishState) -> None:
        row = {"id": wish.id, "state": state.value, "now": self._clock.now()}
        async with self._database.transaction() as transaction:
            if not await transaction.run("wishes.decide", row):
                raise UsageError("That was decided already.", advice="Nothing was changed.")
