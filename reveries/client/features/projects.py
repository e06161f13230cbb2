"""`reveries project`: what the owner gives the mind to work on, and where it stands."""

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reveries.client.features.knowledge import chunks, graph, know, relations
from reveries.client.features.project_pages import (
    diff_page,
    history_page,
    log_page,
    project_page,
    projects_page,
    tasks_page,
    trace_page,
    undone_page,
)
from reveries.client.render import Part, line, paragraph
from reveries.client.wording import plural
from reveries.safe_text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from reveries import protocol
    from reveries.protocol import ProjectDetail

_MOST_FILE_BYTES = 1_000_000


@click.group("project", short_help="What it works on for you.", invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """What you gave it to work on: where each project stands, its tasks, its questions, what it learned."""
    if ctx.invoked_subcommand is None:
        list_projects(as_json)


for _one in (know, chunks, relations, graph):
    command.add_command(_one)


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def list_command(as_json: bool) -> None:
    """All projects at a glance."""
    list_projects(as_json)


@command.command("new")
@click.argument("name")
@click.option("--folder", type=click.Path(path_type=Path), help="The one folder that its tools see.")
@click.option("--write", "may_write", is_flag=True, help="They may change what is there already, too.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def new(name: str, folder: Path | None, may_write: bool, as_json: bool) -> None:
    """Begin a project: reveries project new Piano. With --folder it reads files; one that is not there yet is made and
    is the project's own."""
    from reveries import protocol

    path = _whole_path(folder)
    detail = _ask(lambda new_id: protocol.CreateProject(new_id, name, path, may_write), as_json)
    if detail is not None:
        shown = one_line(detail.project.name)
        _say(
            f"{shown} is there{' and ' if path else ''}{_folder_told(detail)}. What is it for?",
            f'reveries project goal {_quoted(shown)} "..."',
        )


@command.command("folder")
@click.argument("name")
@click.argument("folder", type=click.Path(path_type=Path), required=False)
@click.option("--write", "may_write", is_flag=True, help="Its tools may change what is there.")
@click.option("--none", "is_none", is_flag=True, help="It has no folder any more.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def folder(name: str, folder: Path | None, may_write: bool, is_none: bool, as_json: bool) -> None:
    """Which folder its tools see, and whether they may write: reveries project folder Notes ~/notes --write. With the
    name alone it only says."""
    from reveries import protocol
    from reveries.client.sync_call import ask

    there = ask(lambda new_id: protocol.AskProject(new_id, name), protocol.ProjectDetail).project.folder
    path = "" if is_none else _whole_path(folder or (Path(there) if there else None))
    if folder is None and not is_none and not may_write:
        detail = _ask(lambda new_id: protocol.AskProject(new_id, name), as_json)
    else:
        detail = _ask(lambda new_id: protocol.SetProjectFolder(new_id, name, path, may_write), as_json)
    if detail is not None:
        _say(f"{one_line(detail.project.name)} {_folder_told(detail) or 'has no folder'}.")


@command.command("undo-task")
@click.argument("name")
@click.argument("task")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def undo_task(name: str, task: str, as_json: bool) -> None:
    """Give the folder back as it was before a task, within seven days: reveries project undo-task Notes "Make an
    index". What you changed after it is left as it is."""
    from reveries import protocol
    from reveries.client.render import show, show_json
    from reveries.client.sync_call import ask

    answer = ask(lambda new_id: protocol.UndoTask(new_id, name, task), protocol.TaskUndone, seconds=None)
    show_json(answer) if as_json else show(undone_page(answer))


@command.command("goal")
@click.argument("name")
@click.argument("text", required=False)
@click.option(
    "--limit", "limit", type=click.FloatRange(0), default=0.0, help="It may cost so many dollars. 0: no limit."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def goal(name: str, text: str | None, limit: float, as_json: bool) -> None:
    """Say what a project is for: reveries project goal Piano "Play jazz piano in six months". With one project its name
    may be left out. A new goal counts from the next task on."""
    from reveries import protocol

    project, words = (name, text) if text is not None else (_only_project(), name)
    detail = _ask(lambda new_id: protocol.SetGoal(new_id, project, words, limit), as_json)
    if detail is not None:
        _say("It begins when nobody talks.", "reveries work --watch")


@command.command("status")
@click.argument("name", required=False)
@click.option("--detail", "is_detailed", is_flag=True, help="With the page, every task and what came of it.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def status(name: str | None, is_detailed: bool, as_json: bool) -> None:
    """Where a project stands: in short, or with --detail."""
    from reveries import protocol
    from reveries.client.render import show

    project = name or _only_project()
    detail = _ask(lambda new_id: protocol.AskProject(new_id, project), as_json)
    if detail is not None:
        show(project_page(detail, time.time(), is_detailed=is_detailed))


@command.command("tasks")
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def tasks(name: str | None, as_json: bool) -> None:
    """What is done, what comes, and what each task waits for."""
    from reveries import protocol
    from reveries.client.render import show

    project = name or _only_project()
    detail = _ask(lambda new_id: protocol.AskProject(new_id, project), as_json)
    if detail is not None:
        show(tasks_page(detail.tasks))


@command.command("log")
@click.argument("name", required=False)
@click.option("--limit", type=click.IntRange(1, 1000), default=30, show_default=True, help="At most so many lines.")
@click.option("--why", "why", default="", help="Of this task: every step, what it rests on, what the auditor said.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def log(name: str | None, limit: int, why: str, as_json: bool) -> None:
    """What happened, newest last; or, with --why, how one task came to what it came to."""
    from reveries import protocol
    from reveries.client.render import show, show_json
    from reveries.client.sync_call import ask

    project = name or _only_project()
    if why:
        trace = ask(lambda new_id: protocol.AskTaskTrace(new_id, project, why), protocol.TaskTrace)
        show_json(trace) if as_json else show(trace_page(trace))
        return
    detail = _ask(lambda new_id: protocol.AskProject(new_id, project, limit), as_json)
    if detail is not None:
        show(log_page(detail.log, time.time()))


@command.command("add")
@click.argument("name")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--own", "is_own", is_flag=True, help="You wrote it: what is made of it is trusted.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def add(name: str, files: tuple[Path, ...], is_own: bool, as_json: bool) -> None:
    """Let a project know what stands in text files: reveries project add Piano notes.md. A file that changed is added
    again under the same name: what is no longer in it counts no more."""
    from reveries import protocol
    from reveries.client.render import say, show_json
    from reveries.client.sync_call import ask

    for file, shown in zip(files, _document_names(files), strict=True):
        text = _read_text(file)
        answer = ask(
            lambda new_id, text=text, shown=shown: protocol.AddMaterial(new_id, name, shown, text, is_own),  # type: ignore[misc]
            protocol.Chunks,
            seconds=None,
        )
        if as_json:
            show_json(answer)
            continue
        found = f"{plural(len(answer.chunks), 'new piece')} of knowledge." if answer.chunks else "nothing new."
        say(" ".join(part for part in (f"{shown}: {found}", one_line(answer.message)) if part))


def _document_names(files: tuple[Path, ...]) -> list[str]:
    """A document is known by the name of its file; of two files of one name, by their folders, too."""
    names = [file.name for file in files]
    return [f"{file.absolute().parent.name}/{file.name}" if names.count(file.name) > 1 else file.name for file in files]


@command.command("retract")
@click.argument("name")
@click.argument("chunk_id", metavar="ID")
@click.argument("why")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def retract(name: str, chunk_id: str, why: str, as_json: bool) -> None:
    """Say that something it knows is not so: what rests on it is held, flagged, and asked about. IDs: project know."""
    from reveries import protocol

    detail = _ask(lambda new_id: protocol.RetractChunk(new_id, name, chunk_id, why), as_json)
    if detail is not None:
        _say("It counts no more. What rests on it is held at the next wake.", "reveries work --now")


@command.command("orientation")
@click.argument("name", required=False)
@click.option("--history", "is_history", is_flag=True, help="Every version, with what made it due.")
@click.option("--diff", "diff", type=(int, int), default=None, help="What changed from one version to another.")
@click.option("--revert", "revert", type=int, default=None, help="Make this version the newest.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def orientation(
    name: str | None, is_history: bool, diff: tuple[int, int] | None, revert: int | None, as_json: bool
) -> None:
    """The page on which it keeps where the project stands."""
    from reveries import protocol
    from reveries.client.render import show, show_json
    from reveries.client.sync_call import ask

    project = name or _only_project()
    if revert is not None:
        version = revert
        detail = _ask(lambda new_id: protocol.RevertOrientation(new_id, project, version), as_json)
        if detail is not None:
            _say(f"Version {revert} is the newest again.")
        return
    answer = ask(lambda new_id: protocol.AskOrientations(new_id, project), protocol.Orientations)
    if as_json:
        show_json(answer)
    elif diff is not None:
        show(diff_page(answer.versions, *diff))
    elif is_history:
        show(history_page(answer.versions, time.time()))
    else:
        show(paragraph(answer.versions[0].text, indent=2))


@command.command("pause")
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def pause(name: str | None, as_json: bool) -> None:
    """Hold a project until `resume`."""
    _change(name, "paused", as_json, "It is not worked on until: reveries project resume")


@command.command("resume")
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def resume(name: str | None, as_json: bool) -> None:
    """Let a project go on."""
    _change(name, "active", as_json, "It goes on.")


@command.command("archive")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def archive(name: str, as_json: bool) -> None:
    """Put a project away. Nothing is deleted: `resume` brings it back."""
    _change(name, "archived", as_json, "It is put away. To have it back: reveries project resume")


def _change(name: str | None, state: str, as_json: bool, done: str) -> None:
    from reveries import protocol

    project = name or _only_project()
    detail = _ask(lambda new_id: protocol.ChangeProject(new_id, project, state), as_json)  # type: ignore[arg-type]
    if detail is not None:
        _say(done)


def _ask(make: "Callable[[int], protocol.Request]", as_json: bool) -> "ProjectDetail | None":
    """The answer; None where it was written as JSON."""
    from reveries import protocol
    from reveries.client.render import show_json
    from reveries.client.sync_call import ask

    detail = ask(make, protocol.ProjectDetail)
    if not as_json:
        return detail
    show_json(detail)
    return None


def list_projects(as_json: bool) -> None:
    """Show all projects at a glance."""
    from reveries import protocol
    from reveries.client.render import show, show_json
    from reveries.client.sync_call import ask

    answer = ask(protocol.AskProjects, protocol.Projects)
    show_json(answer) if as_json else show(projects_page(answer.projects, time.time()))


def _only_project() -> str:
    """The name of the one project there is. Raises UsageError."""
    from reveries import protocol
    from reveries.client.sync_call import ask
    from reveries.errors import UsageError

    there = ask(protocol.AskProjects, protocol.Projects).projects
    if len(there) == 1:
        return there[0].name
    if not there:
        raise UsageError("There is no project yet.", advice="Begin one: reveries project new Piano")
    names = ", ".join(one_line(one.name) for one in there)
    raise UsageError("Which project?", advice=f"There are: {names}.")


def _whole_path(folder: Path | None) -> str:
    """As the daemon can open it, wherever it was started."""
    return str(folder.expanduser().absolute()) if folder is not None else ""


def _folder_told(detail: "ProjectDetail") -> str:
    if not detail.project.folder:
        return ""
    does = "reads and writes" if detail.project.may_write else "reads"
    return f"{does} {one_line(detail.project.folder, 120)}"


def _read_text(file: Path) -> str:
    """Raises InputFileError, UsageError."""
    from reveries.errors import InputFileError, UsageError

    try:
        raw = file.read_bytes() if file.stat().st_size <= _MOST_FILE_BYTES else None
    except OSError as error:
        raise InputFileError(f"{file} cannot be read: {error.strerror}.", advice="Check its name and mode.") from error
    if raw is None:
        raise UsageError(f"{file} is larger than 1 MB.", advice="Add the parts that matter.")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{file} is no text file.", advice="Text and Markdown can be added.") from None


def _say(text: str, then: str = "") -> None:
    from reveries.client.render import show

    show([line(text), *([line(Part(f"  {then}", "accent"))] if then else [])])


def _quoted(name: str) -> str:
    return f'"{name}"' if " " in name else name
