"""Project requests: create and change projects, material, tasks, questions, grants, work."""

import asyncio
from pathlib import Path

from reveries import protocol
from reveries.daemon.requests.knowledge import chunk_entry
from reveries.daemon.requests.project_frames import (
    project_frame,
    project_line,
    question_entry,
    task_entries,
    usage_by_project,
)
from reveries.daemon.requests.registry import Call, handles
from reveries.errors import UsageError
from reveries.knowledge.documents import DocumentOrigin
from reveries.llm.base import Role
from reveries.llm.tier import Tier
from reveries.projects.answers import is_dropping
from reveries.projects.documents import AddedDocument, count_noun, note_fallen_chunk, update_document
from reveries.projects.grants import give_grant, revoke_grants
from reveries.projects.intake import GoalFrame, answer_with_goal
from reveries.projects.model import Project
from reveries.projects.prompt_material import describe_orientation
from reveries.projects.task_store import find_task
from reveries.projects.wake import read_state
from reveries.safe_text import one_line, plain
from reveries.tools.sandbox import why_not_a_folder

_MOST_WATCHED = 1000


@handles(protocol.AskProjects)
async def show_projects(call: Call, request: protocol.AskProjects) -> protocol.Projects:
    store = call.mind.projects.store
    spent = await usage_by_project(call)
    lines = [
        project_line(await read_state(store, project.id), spent.get(project.id, (0.0, 0)))
        for project in await store.projects()
    ]
    return protocol.Projects(request.request_id, [line for line in lines if line.state != "archived"])


@handles(protocol.AskProject)
async def show_project(call: Call, request: protocol.AskProject) -> protocol.ProjectDetail:
    return await project_frame(call, await call.mind.projects.store.find(request.project), request.limit)


@handles(protocol.CreateProject)
async def create_project(call: Call, request: protocol.CreateProject) -> protocol.ProjectDetail:
    folder, may_write = await _prepare_folder(call, request.folder, may_write=request.may_write)
    created = await call.mind.projects.store.create(plain(request.name), folder, may_write=may_write)
    return await project_frame(call, created)


@handles(protocol.SetProjectFolder)
async def set_project_folder(call: Call, request: protocol.SetProjectFolder) -> protocol.ProjectDetail:
    store = call.mind.projects.store
    project = await store.find(request.project)
    folder, may_write = await _prepare_folder(call, request.folder, may_write=request.may_write)
    await store.set_folder(project, folder, may_write=may_write)
    call.mind.projects.consider()
    return await project_frame(call, await store.find(project.id))


@handles(protocol.UndoTask)
async def undo_project_task(call: Call, request: protocol.UndoTask) -> protocol.TaskUndone:
    store = call.mind.projects.store
    project = await store.find(request.project)
    task = find_task(await store.tasks.of_project(project.id), request.task)
    undone = await call.mind.projects.undo_task(project, task)
    restored, left = ([plain(path) for path in paths] for paths in (undone.restored, undone.left))
    return protocol.TaskUndone(request.request_id, one_line(task.title), restored, left)


@handles(protocol.AskGrants)
async def show_grants(call: Call, request: protocol.AskGrants) -> protocol.Grants:
    return await _grants_frame(call, await call.mind.projects.store.find(request.project))


@handles(protocol.GiveGrant)
async def give_project_grant(call: Call, request: protocol.GiveGrant) -> protocol.Grants:
    project = await call.mind.projects.store.find(request.project)
    server = request.name.partition(".")[0]
    if server in call.mind.settings.mcp.servers:
        await call.mind.projects.grant_server_tools(project, server, request.name)
    else:
        await give_grant(call.mind.projects.store, project, request.name)
    call.mind.projects.consider()
    return await _grants_frame(call, project)


@handles(protocol.RevokeGrant)
async def revoke_project_grant(call: Call, request: protocol.RevokeGrant) -> protocol.Grants:
    project = await call.mind.projects.store.find(request.project)
    await revoke_grants(call.mind.projects.store, project, request.name)
    return await _grants_frame(call, project)


@handles(protocol.SetGoal)
async def set_goal(call: Call, request: protocol.SetGoal) -> protocol.ProjectDetail:
    store = call.mind.projects.store
    project = await store.find(request.project)
    text = plain(request.text)
    frame = GoalFrame(
        tuple(plain(criterion) for criterion in request.success_criteria),
        plain(request.timeline),
        plain(request.context),
    )
    await store.set_goal(project, text, request.dollars_limit, answer_with_goal(text.strip(), frame))
    call.mind.projects.consider()
    return await project_frame(call, project)


@handles(protocol.ChangeProject)
async def change_project(call: Call, request: protocol.ChangeProject) -> protocol.ProjectDetail:
    store = call.mind.projects.store
    project = await store.find(request.project)
    await store.set_state(project, request.state)
    if request.state != "active":
        call.mind.projects.break_off(project.id, f"It is {request.state}.")
    call.mind.projects.consider()
    return await project_frame(call, await store.find(project.id))


@handles(protocol.AddMaterial)
async def add_material(call: Call, request: protocol.AddMaterial) -> protocol.Chunks:
    store = call.mind.projects.store
    project = await store.find(request.project)
    name = plain(request.name)
    added = await update_document(
        store, project, name, plain(request.text), is_own=request.is_own, path=plain(request.path)
    )
    call.mind.projects.consider()
    stored = await call.mind.knowledge.named(project.id, added.change.stored)
    return protocol.Chunks(request.request_id, [chunk_entry(chunk) for chunk in stored], message=_describe_added(added))


def _describe_added(added: AddedDocument) -> str:
    """Say which sections no longer count, and where the document has another name than the one it came with. Pure."""
    name, retired = one_line(added.document.name, 80), added.change.retired
    sentences = []
    if retired:
        verbs = "is no longer in it and no longer counts" if retired == 1 else "are no longer in it and no longer count"
        sentences.append(f"{count_noun(retired, 'section')} of the earlier {name} {verbs}.")
    if (other := added.namesake) is not None:
        place = "in the folder" if other.origin is DocumentOrigin.FOLDER else f"at {one_line(other.path, 200)}"
        sentences.append(f"It is called {name}: {one_line(other.name, 80)} is another document, {place}, and stays.")
    return " ".join(sentences)


@handles(protocol.RetractChunk)
async def retract_chunk(call: Call, request: protocol.RetractChunk) -> protocol.ProjectDetail:
    store = call.mind.projects.store
    project = await store.find(request.project)
    await note_fallen_chunk(store, project, request.chunk_id, plain(request.why))
    call.mind.projects.consider()
    return await project_frame(call, project)


@handles(protocol.AskTaskTrace)
async def show_task_trace(call: Call, request: protocol.AskTaskTrace) -> protocol.TaskTrace:
    store = call.mind.projects.store
    project = await store.find(request.project)
    state = await read_state(store, project.id)
    task = find_task(state.tasks, request.task)
    chunks = [chunk for chunk in await call.mind.knowledge.of_project(project.id) if chunk.id in task.rests_on]
    return protocol.TaskTrace(
        request_id=request.request_id,
        task=task_entries(state, [task])[0],
        audit=plain(task.audit),
        failure=plain(task.failure),
        rests_on=[chunk_entry(chunk) for chunk in chunks],
        steps=[
            protocol.copy_fields(
                protocol.StepEntry, step, result=plain(step.result), path=plain(step.path),
                arguments=plain(step.arguments) if step.reach else "",
            )
            for step in await store.tasks.steps_of(task.id)
        ],
    )  # fmt: skip


@handles(protocol.AskOrientations)
async def list_orientations(call: Call, request: protocol.AskOrientations) -> protocol.Orientations:
    store = call.mind.projects.store
    project = await store.find(request.project)
    versions = [
        protocol.OrientationEntry(
            version.version, plain(version.trigger), version.written_at, plain(describe_orientation(version.content))
        )
        for version in await store.orientations(project.id)
    ]
    return protocol.Orientations(request.request_id, versions)


@handles(protocol.RevertOrientation)
async def revert_orientation(call: Call, request: protocol.RevertOrientation) -> protocol.ProjectDetail:
    store = call.mind.projects.store
    project = await store.find(request.project)
    await store.revert_orientation(project, request.version)
    return await project_frame(call, project)


@handles(protocol.AskOpenQuestions)
async def list_open_questions(call: Call, request: protocol.AskOpenQuestions) -> protocol.OpenQuestions:
    store = call.mind.projects.store
    entries = [
        question_entry(name, question, await store.questions.count_blocked(question.id))
        for name, question in await store.questions.list_open()
    ]
    return protocol.OpenQuestions(request.request_id, entries)


@handles(protocol.AnswerQuestion)
async def answer_question(call: Call, request: protocol.AnswerQuestion) -> protocol.QuestionAnswered:
    store = call.mind.projects.store
    resumed = await _count_resumed(call, request)
    name, question = await store.questions.answer(request.question_id, plain(request.answer))
    call.mind.activity.note_words()  # The owner may answer the next question soon: then work considers both answers.
    call.mind.projects.consider()
    return protocol.QuestionAnswered(request.request_id, name, plain(question.question), resumed)


async def _count_resumed(call: Call, request: protocol.AnswerQuestion) -> int:
    """Return how many tasks will go on by themselves after this answer."""
    store = call.mind.projects.store
    if call.mind.models.tier(Role.WORK) is not Tier.CAPABLE or is_dropping(request.answer):
        return 0
    asked = [
        question.id for _, question in await store.questions.list_open() if question.id.startswith(request.question_id)
    ]
    return await store.questions.count_blocked(asked[0]) if len(asked) == 1 else 0


@handles(protocol.WorkNow)
async def work_now(call: Call, request: protocol.WorkNow) -> protocol.Worked:
    project, report = await call.mind.projects.work_now(request.project)
    return protocol.Worked(request.request_id, project.name, report.reason.value, plain(report.message))


@handles(protocol.RequestWork)
async def request_work(call: Call, request: protocol.RequestWork) -> protocol.WorkRequested:
    project = await call.mind.projects.request_work(request.project)
    return protocol.WorkRequested(request.request_id, project.name)


@handles(protocol.WatchWork)
async def watch_work(call: Call, request: protocol.WatchWork) -> None:
    """Stream the events of work until the watcher stops. A slow watcher misses some; the work never waits."""
    happened: asyncio.Queue[protocol.WorkHappened] = asyncio.Queue(_MOST_WATCHED)

    def note(project: str, action: str, words: str) -> None:
        if not happened.full():
            happened.put_nowait(protocol.WorkHappened(request.request_id, project, action, one_line(words, 1000)))

    with call.mind.projects.happened.subscribed(note):
        while True:
            call.session.outbox.send_piece(await happened.get())


async def _prepare_folder(call: Call, path: str, *, may_write: bool) -> tuple[str, bool]:
    """Return the resolved folder, and whether the project may write to it. A missing folder is created and belongs to
    the project. Raises UsageError."""
    if not path:
        return "", False
    folder = Path(path)
    if not folder.is_absolute():
        raise UsageError(f"{path[:200]} is not an absolute path.", advice="Give a path that begins with /")
    is_new = not await asyncio.to_thread(folder.exists)
    if is_new and (await asyncio.to_thread(folder.resolve)).is_relative_to(call.mind.home.path.resolve()):
        raise UsageError(f"{folder} is within the home of this mind.", advice="Choose a folder outside of it.")
    if is_new:
        try:
            await asyncio.to_thread(folder.mkdir, parents=True)
        except OSError as error:
            raise UsageError(
                f"{folder} cannot be created: {error.strerror}.", advice="Choose another place."
            ) from error
    if why := await asyncio.to_thread(why_not_a_folder, folder, call.mind.home.path):
        raise UsageError(why, advice="")
    return str(await asyncio.to_thread(folder.resolve)), may_write or is_new


async def _grants_frame(call: Call, project: Project) -> protocol.Grants:
    store = call.mind.projects.store
    titles = {task.id: task.title for task in await store.tasks.of_project(project.id)}
    entries = [
        protocol.GrantEntry(
            grant.id,
            grant.kind.value,
            one_line(grant.plain_name),
            one_line(titles.get(grant.task_id or "", "")),
            grant.given_at,
        )
        for grant in await store.grants.of_project(project.id)
    ]
    return protocol.Grants(call.request_id, one_line(project.name), entries)
