"""Wishes of the owner in the database: proposed, then applied or declined by a yes or a no."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from reveries.clock import Clock
from reveries.db.checksums import checksum
from reveries.db.database import Database
from reveries.db.typed_rows import read_row
from reveries.errors import NotFoundError, UsageError
from reveries.projects.model import Project
from reveries.projects.project_names import derive_project_name
from reveries.projects.steering import Steering, require_open
from reveries.projects.store import ProjectStore
from reveries.projects.wishes import Wish, WishAction, split_beginning
from reveries.protocol import TaskEdit


class WishState(StrEnum):
    PROPOSED = "proposed"
    APPLIED = "applied"
    DECLINED = "declined"


@dataclass(frozen=True, slots=True)
class StoredWish:
    """A wish that waits for a yes."""

    id: str
    project_id: str | None
    task_id: str | None
    question_id: str | None
    action: WishAction
    title: str
    due: str
    created_at: float


@dataclass(frozen=True, slots=True)
class AppliedWish:
    """What a wish changed."""

    project: Project
    task_id: str | None = None


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
        row: dict[str, object] = {"id": wish_id, "action": wish.action.value, "title": wish.title, "due": wish.due}
        row |= {"project_id": wish.project.id if wish.project is not None else None}
        row |= {"task_id": wish.task.id if wish.task is not None else None}
        row |= {"question_id": wish.question.id if wish.question is not None else None}
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

    async def apply(self, wish: StoredWish) -> AppliedWish:
        """Apply a wish. Raises NotFoundError, UsageError."""
        # First, so that a second yes at the same moment does nothing.
        await self._decide(wish, WishState.APPLIED)
        if wish.project_id is None:
            return await self._begin_project(wish)
        project = await self._store.find(wish.project_id)
        match wish.action:
            case WishAction.GOAL:
                await self._store.set_goal(project, wish.title, None)
            case WishAction.ANSWER:
                await self._store.questions.answer(wish.question_id or "", wish.title)
            case WishAction.ADD:
                added = await Steering(self._store).add(project, wish.title, due=wish.due, is_mine=False)
                return AppliedWish(project, added)
            case _:
                return await self._change_task(project, wish)
        return AppliedWish(project)

    async def _begin_project(self, wish: StoredWish) -> AppliedWish:
        taken = {project.name.casefold() for project in await self._store.projects()}
        name, goal = split_beginning(wish.title)
        if wish.action is WishAction.PURSUE:
            name, goal = derive_project_name(wish.title, taken), wish.title
        project = await self._store.create(name)
        if goal:
            await self._store.set_goal(project, goal, None)
        return AppliedWish(project)

    async def _change_task(self, project: Project, wish: StoredWish) -> AppliedWish:
        steering = Steering(self._store)
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
        return AppliedWish(project, task.id)

    async def _decide(self, wish: StoredWish, state: WishState) -> None:
        row = {"id": wish.id, "state": state.value, "now": self._clock.now()}
        async with self._database.transaction() as transaction:
            if not await transaction.run("wishes.decide", row):
                raise UsageError("That was decided already.", advice="Nothing was changed.")
