"""`reveries project`: create, steer and inspect the projects that the mind works on."""

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reveries import protocol
from reveries.client.answers import json_option, print_answer
from reveries.client.features.knowledge import (
    draw_knowledge_command,
    know_command,
    list_chunks_command,
    list_relations_command,
)
from reveries.client.features.project_drafts import list_drafts_command, write_draft_command
from reveries.client.features.project_facts import conflict_group, list_conflicts_command, list_facts_command
from reveries.client.features.project_pages import (
    orientation_diff_page,
    orientation_history_page,
    project_log_page,
    project_page,
    projects_page,
    tasks_page,
)
from reveries.client.features.project_tasks import list_proposals_command, task_group
from reveries.client.file_option import PathToCreate
from reveries.client.render import Part, line, paragraph
from reveries.client.wording import plural
from reveries.safe_text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from reveries.protocol import ProjectDetail

_MOST_FILE_BYTES = 1_000_000


class ProjectGroup(click.Group):
    """A group that takes an unknown command for a misspelled one, or for the name of a project."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.commands and not ctx.resilient_parsing:
            import difflib

            near = difflib.get_close_matches(args[0], self.commands, n=1)
            meant = f"reveries project {near[0] if near else f'status {_quote_argument(args[0])}'}"
            raise click.UsageError(f"There is no command {args[0]!r}. Did you mean {meant}?")
        return super().resolve_command(ctx, args)


@click.group("project", cls=ProjectGroup, short_help="Projects that it works on for you.", invoke_without_command=True)
@json_option(protocol.Projects)
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """Show your projects; with a command: create one, set its goal, see its tasks, questions and knowledge."""
    if ctx.invoked_subcommand is None:
        print_projects(as_json)


for _subcommand in (
    know_command,
    list_chunks_command,
    list_relations_command,
    draw_knowledge_command,
    list_facts_command,
    list_conflicts_command,
    conflict_group,
    write_draft_command,
    list_drafts_command,
    list_proposals_command,
    task_group,
):
    command.add_command(_subcommand)


@command.command("list")
@json_option(protocol.Projects)
def list_projects_command(as_json: bool) -> None:
    """List all projects."""
    print_projects(as_json)


@command.command("new")
@click.argument("name")
@click.option("--folder", type=PathToCreate(path_type=Path), help="The only folder that its tools can read.")
@click.option("--write", "may_write", is_flag=True, help="Also allow them to change existing files.")
@json_option(protocol.ProjectDetail)
def create_project_command(name: str, folder: Path | None, may_write: bool, as_json: bool) -> None:
    """Create a project: reveries project new Piano. With --folder it can read files. A folder that does not exist is
    created, and the project may write to it."""

    path = _absolute_path(folder)
    detail = _ask_project_detail(lambda new_id: protocol.CreateProject(new_id, name, path, may_write), as_json)
    if detail is not None:
        shown = one_line(detail.project.name)
        _print_with_hint(
            f"Created {shown}{', which ' if path else ''}{_folder_text(detail)}. Now say what it is for:",
            f'reveries project goal {_quote_argument(shown)} "..."',
        )


@command.command("folder")
@click.argument("name")
@click.argument("folder", type=click.Path(path_type=Path), required=False)
@click.option("--write", "may_write", is_flag=True, help="Allow its tools to change files.")
@click.option("--none", "is_none", is_flag=True, help="Remove the folder from the project.")
@json_option(protocol.ProjectDetail)
def set_folder_command(name: str, folder: Path | None, may_write: bool, is_none: bool, as_json: bool) -> None:
    """Set the folder that its tools can read, and whether they may write: reveries project folder Notes ~/notes
    --write. With the name alone, show the folder."""
    from reveries.client.sync_call import ask_mind

    current = ask_mind(lambda new_id: protocol.AskProject(new_id, name), protocol.ProjectDetail).project.folder
    path = "" if is_none else _absolute_path(folder or (Path(current) if current else None))
    if folder is None and not is_none and not may_write:
        detail = _ask_project_detail(lambda new_id: protocol.AskProject(new_id, name), as_json)
    else:
        detail = _ask_project_detail(lambda new_id: protocol.SetProjectFolder(new_id, name, path, may_write), as_json)
    if detail is not None:
        _print_with_hint(f"{one_line(detail.project.name)} {_folder_text(detail) or 'has no folder'}.")


@command.command("undo-task")
@click.argument("name")
@click.argument("task")
@json_option(protocol.TaskUndone)
def undo_task_command(name: str, task: str, as_json: bool) -> None:
    """Restore the folder to its state before a task, within seven days: reveries project undo-task Notes "Make an
    index". Files that you changed since then are not touched."""
    from reveries.client.sync_call import ask_mind

    answer = ask_mind(lambda new_id: protocol.UndoTask(new_id, name, task), protocol.TaskUndone, seconds=None)
    print_answer(answer, as_json)


@command.command("goal")
@click.argument("name")
@click.argument("text", required=False)
@click.option(
    "--limit",
    "limit",
    type=click.FloatRange(0),
    help="The most it may cost, in dollars. 0: no limit. Without it: as before; for a new goal, no limit.",
)
@click.option(
    "--criterion", "criteria", multiple=True, help="A fact by which one will see that it is reached. Repeatable."
)
@click.option("--by", "timeline", default="", help="Until when, in your words.")
@click.option("--context", "context", default="", help="What else counts for it.")
@json_option(protocol.ProjectDetail)
def set_goal_command(
    name: str,
    text: str | None,
    limit: float | None,
    criteria: tuple[str, ...],
    timeline: str,
    context: str,
    as_json: bool,
) -> None:
    """Set the goal of a project: reveries project goal Piano "Play jazz piano in six months". With only one project,
    its name may be omitted. A new goal takes effect at the next task. The same text again with another --limit changes
    only the limit, unless the goal is reached: then it is a new goal. With --criterion it is not asked how one will
    see that it is reached."""

    project, words = (name, text) if text is not None else (only_project(), name)
    detail = _ask_project_detail(
        lambda new_id: protocol.SetGoal(new_id, project, words, limit, list(criteria), timeline, context), as_json
    )
    if detail is not None:
        _print_with_hint("It starts when no conversation is active.", "reveries work --watch")


@command.command("status")
@click.argument("name", required=False)
@click.option(
    "--detail", "is_detailed", is_flag=True, help="Also show the orientation page, every task and its outcome."
)
@json_option(protocol.ProjectDetail)
def project_status_command(name: str | None, is_detailed: bool, as_json: bool) -> None:
    """Show the status of a project, in short or with --detail."""
    from reveries.client.render import show

    project = name or only_project()
    detail = _ask_project_detail(lambda new_id: protocol.AskProject(new_id, project), as_json)
    if detail is not None:
        show(project_page(detail, time.time(), is_detailed=is_detailed))


@command.command("tasks")
@click.argument("name", required=False)
@json_option(protocol.ProjectDetail)
def list_tasks_command(name: str | None, as_json: bool) -> None:
    """Show which tasks are done, which come next, and what each waits for."""
    from reveries.client.render import show

    project = name or only_project()
    detail = _ask_project_detail(lambda new_id: protocol.AskProject(new_id, project), as_json)
    if detail is not None:
        show(tasks_page(detail.tasks))


@command.command("log")
@click.argument("name", required=False)
@click.option("--limit", type=click.IntRange(1, 1000), default=30, show_default=True, help="The most lines to show.")
@click.option("--why", "why", default="", help="Explain this task: its steps, what it is based on, the audit.")
@json_option(protocol.ProjectDetail, {"--why": protocol.TaskTrace})
def project_log_command(name: str | None, limit: int, why: str, as_json: bool) -> None:
    """Show the work log, newest last; with --why, how one task reached its outcome."""
    from reveries.client.render import show
    from reveries.client.sync_call import ask_mind

    project = name or only_project()
    if why:
        trace = ask_mind(lambda new_id: protocol.AskTaskTrace(new_id, project, why), protocol.TaskTrace)
        print_answer(trace, as_json)
        return
    detail = _ask_project_detail(lambda new_id: protocol.AskProject(new_id, project, limit), as_json)
    if detail is not None:
        show(project_log_page(detail.log, time.time()))


@command.command("add")
@click.argument("name")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--own", "is_own", is_flag=True, help="You wrote it: what is derived from it is trusted.")
@json_option(protocol.Chunks)
def add_material_command(name: str, files: tuple[Path, ...], is_own: bool, as_json: bool) -> None:
    """Add text files to the knowledge of a project: reveries project add Piano notes.md. To update a changed file, add
    it again: what it no longer says is no longer used."""
    from reveries.client.render import say, show_json
    from reveries.client.sync_call import ask_mind

    for file in files:
        make_request = partial(
            protocol.AddMaterial,
            project=name, name=file.name, text=_read_material(file), is_own=is_own, path=str(file.resolve()),
        )  # fmt: skip
        answer = ask_mind(make_request, protocol.Chunks, seconds=None)
        if as_json:
            show_json(answer)
            continue
        outcome = f"{plural(len(answer.chunks), 'new piece')} of knowledge." if answer.chunks else "nothing new."
        say(" ".join(part for part in (f"{file.name}: {outcome}", one_line(answer.message)) if part))


@command.command("retract")
@click.argument("name")
@click.argument("chunk_id", metavar="ID")
@click.argument("why")
@json_option(protocol.ProjectDetail)
def retract_chunk_command(name: str, chunk_id: str, why: str, as_json: bool) -> None:
    """Say that a piece of knowledge is wrong: what is based on it is blocked and flagged. IDs: project know."""

    detail = _ask_project_detail(lambda new_id: protocol.RetractChunk(new_id, name, chunk_id, why), as_json)
    if detail is not None:
        _print_with_hint(
            "It is no longer used. What is based on it is blocked the next time the project works.",
            "reveries work --now",
        )


@command.command("orientation")
@click.argument("name", required=False)
@click.option("--history", "is_history", is_flag=True, help="List all versions with their triggers.")
@click.option("--diff", "diff", type=(int, int), default=None, help="Show what changed between two versions.")
@click.option("--revert", "revert", type=int, default=None, help="Make this version the newest.")
@json_option(protocol.Orientations)
def orientation_command(
    name: str | None, is_history: bool, diff: tuple[int, int] | None, revert: int | None, as_json: bool
) -> None:
    """Show the page on which it keeps track of the project."""
    from reveries.client.render import show, show_json
    from reveries.client.sync_call import ask_mind

    project = name or only_project()
    if revert is not None:
        version = revert
        detail = _ask_project_detail(lambda new_id: protocol.RevertOrientation(new_id, project, version), as_json)
        if detail is not None:
            _print_with_hint(f"Version {revert} is the newest again.")
        return
    answer = ask_mind(lambda new_id: protocol.AskOrientations(new_id, project), protocol.Orientations)
    if as_json:
        show_json(answer)
    elif diff is not None:
        show(orientation_diff_page(answer.versions, *diff))
    elif is_history:
        show(orientation_history_page(answer.versions, time.time()))
    else:
        show(paragraph(answer.versions[0].text, indent=2))


@command.command("pause")
@click.argument("name", required=False)
@json_option(protocol.ProjectDetail)
def pause_project_command(name: str | None, as_json: bool) -> None:
    """Pause a project until `resume`."""
    _set_project_state(name, "paused", as_json, "It is paused. To continue: reveries project resume")


@command.command("resume")
@click.argument("name", required=False)
@json_option(protocol.ProjectDetail)
def resume_project_command(name: str | None, as_json: bool) -> None:
    """Resume a project."""
    _set_project_state(name, "active", as_json, "It continues.")


@command.command("archive")
@click.argument("name")
@json_option(protocol.ProjectDetail)
def archive_project_command(name: str, as_json: bool) -> None:
    """Archive a project. Nothing is deleted, and `resume` restores it."""
    _set_project_state(name, "archived", as_json, "It is archived. To restore it: reveries project resume")


def _set_project_state(name: str | None, state: str, as_json: bool, done: str) -> None:
    project = name or only_project()
    detail = _ask_project_detail(lambda new_id: protocol.ChangeProject(new_id, project, state), as_json)  # type: ignore[arg-type]
    if detail is not None:
        _print_with_hint(done)


def _ask_project_detail(make: "Callable[[int], protocol.Request]", as_json: bool) -> "ProjectDetail | None":
    """Send the request. Return its answer; None if it was printed as JSON."""
    from reveries.client.render import show_json
    from reveries.client.sync_call import ask_mind

    detail = ask_mind(make, protocol.ProjectDetail)
    if not as_json:
        return detail
    show_json(detail)
    return None


def print_projects(as_json: bool) -> None:
    """Print all projects."""
    from reveries.client.sync_call import ask_mind

    answer = ask_mind(protocol.AskProjects, protocol.Projects)
    print_answer(answer, as_json, lambda: projects_page(answer.projects, time.time()))


def only_project() -> str:
    """Return the name of the only project. Raises UsageError if there is none, or several."""
    from reveries.client.sync_call import ask_mind
    from reveries.errors import UsageError

    projects = ask_mind(protocol.AskProjects, protocol.Projects).projects
    if len(projects) == 1:
        return projects[0].name
    if not projects:
        raise UsageError("There are no projects yet.", advice="Create one: reveries project new Piano")
    names = ", ".join(one_line(project.name) for project in projects)
    raise UsageError("Say which project.", advice=f"There are: {names}.")


def _absolute_path(folder: Path | None) -> str:
    """Return an absolute path: the daemon may have another working folder."""
    return str(folder.expanduser().absolute()) if folder is not None else ""


def _folder_text(detail: "ProjectDetail") -> str:
    if not detail.project.folder:
        return ""
    does = "reads and writes" if detail.project.may_write else "reads"
    return f"{does} {one_line(detail.project.folder, 120)}"


def _read_material(file: Path) -> str:
    """Raises InputFileError, UsageError."""
    from reveries.errors import InputFileError, UsageError
    from reveries.tools.sandboxed.text_decoding import decode_text

    try:
        raw = file.read_bytes() if file.stat().st_size <= _MOST_FILE_BYTES else None
    except OSError as error:
        raise InputFileError(
            f"{file} cannot be read: {error.strerror}.", advice="Check its name and permissions."
        ) from error
    if raw is None:
        raise UsageError(f"{file} is larger than 1 MB.", advice="Add the parts that matter.")
    try:
        return decode_text(raw)
    except ValueError:
        raise UsageError(
            f"{file} is no text, or in an encoding that is not certain.", advice="Save it as UTF-8, then try again."
        ) from None


def _print_with_hint(text: str, then: str = "") -> None:
    from reveries.client.render import show

    show([line(text), *([line(Part(f"  {then}", "accent"))] if then else [])])


def _quote_argument(name: str) -> str:
    return f'"{name}"' if " " in name else name
