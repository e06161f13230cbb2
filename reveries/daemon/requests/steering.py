"""Requests by which the owner steers the tasks of projects."""

from collections.abc import Sequence

import msgspec

from reveries import protocol
from reveries.daemon.requests.project_frames import task_entries
from reveries.daemon.requests.registry import Call, handles
from reveries.errors import NotFoundError
from reveries.projects.model import Project, WorkTask
from reveries.projects.steering import Steering, find_open_task, split_dropped
from reveries.projects.wake import read_state
from reveries.safe_text import one_line, plain


@handles(protocol.AddTask)
async def add_task(call: Call, request: protocol.AddTask) -> protocol.TasksChanged:
    project = await call.mind.projects.store.find(request.project)
    task_id = await _steering(call).add(
        project, plain(request.title), plain(request.description), request.due, request.every, is_mine=request.is_mine
    )
    return await _changed_frame(call, project, [task_id], "Added.")


@handles(protocol.EditTask)
async def edit_task(call: Call, request: protocol.EditTask) -> protocol.TasksChanged:
    project, task = await _named_task(call, request.project, request.task)
    edit = msgspec.structs.replace(
        request.edit,
        title=None if request.edit.title is None else plain(request.edit.title),
        description=None if request.edit.description is None else plain(request.edit.description),
    )
    _break_off(call, project, [task])
    await _steering(call).edit(project, task, edit)
    return await _changed_frame(call, project, [task.id], "Changed.")


@handles(protocol.DropTasks)
async def drop_tasks(call: Call, request: protocol.DropTasks) -> protocol.TasksChanged:
    store = call.mind.projects.store
    project = await store.find(request.project)
    tasks, proposals = split_dropped(
        await store.tasks.of_project(project.id), await store.proposals.of_project(project.id), request.tasks
    )
    _break_off(call, project, tasks)
    await _steering(call).drop(project, tasks, proposals)
    titles = [one_line(title, 80) for title in [*(item.title for item in tasks), *(item.title for item in proposals)]]
    message = f"Dropped: {'; '.join(titles)}." if titles else "There was nothing to drop."
    return await _changed_frame(call, project, [task.id for task in tasks], message)


@handles(protocol.MoveTask)
async def move_task(call: Call, request: protocol.MoveTask) -> protocol.TasksChanged:
    project, task = await _named_task(call, request.project, request.task)
    await _steering(call).move(project, task, request.position)
    return await _changed_frame(call, project, [task.id], "Moved.")


@handles(protocol.FinishTask)
async def finish_task(call: Call, request: protocol.FinishTask) -> protocol.TasksChanged:
    project, task = await _named_task(call, request.project, request.task)
    _break_off(call, project, [task])
    await _steering(call).finish(project, task, plain(request.outcome))
    tasks = await call.mind.projects.store.tasks.of_project(project.id)
    again = [item.id for item in tasks if task.repeats and item.title == task.title and item.repeats == task.repeats]
    return await _changed_frame(call, project, [task.id, *again], "Done.")


@handles(protocol.DecideWish)
async def decide_wish(call: Call, request: protocol.DecideWish) -> protocol.TasksChanged:
    wish = await call.mind.wishes.wishes.proposed()
    if wish is None:
        raise NotFoundError("No change waits for a yes.", advice="To change a task: reveries project task edit")
    reply = await call.mind.wishes.decide(wish, is_applied=request.decision == "apply")
    if wish.project_id is None:
        call.mind.projects.consider()
        return protocol.TasksChanged(call.request_id, "", [], reply.text)
    project = await call.mind.projects.store.find(wish.project_id)
    return await _changed_frame(call, project, [], reply.text)


async def _named_task(call: Call, project_name: str, name: str) -> tuple[Project, WorkTask]:
    store = call.mind.projects.store
    project = await store.find(project_name)
    return project, find_open_task(await store.tasks.of_project(project.id), name)


def _steering(call: Call) -> Steering:
    return Steering(call.mind.projects.store)


def _break_off(call: Call, project: Project, tasks: Sequence[WorkTask]) -> None:
    """End the try of a task that is under way: what comes of it must not overwrite the owner's change."""
    if any(task.is_in_hand for task in tasks):
        call.mind.projects.break_off(project.id, "You changed the task.")


async def _changed_frame(call: Call, project: Project, task_ids: Sequence[str], message: str) -> protocol.TasksChanged:
    call.mind.projects.consider()
    state = await read_state(call.mind.projects.store, project.id)
    tasks = [task for task in state.tasks if task.id in task_ids]
    return protocol.TasksChanged(call.request_id, one_line(project.name), task_entries(state, tasks), message)
