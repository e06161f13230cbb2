"""`reveries project`: what the owner gives the mind to work on, and where it stands."""

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reveries.client.features.knowledge import chunks, chunks_page, graph, know, relations
from reveries.client.render import Line, Page, Part, Style, bar, field, line, paragraph
from reveries.client.wording import ago, dollars, moment, plural, short_count
from reveries.protocol import (
    OrientationEntry,
    ProjectDetail,
    ProjectLine,
    QuestionEntry,
    TaskEntry,
    TaskTrace,
    WorkEntry,
)
from reveries.safe_text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from reveries import protocol

_NOTHING = "No projects yet. Begin one:  reveries project new Piano"
_TASK_STYLES: dict[str, tuple[str, Style]] = {
    "done": ("✓", "good"),
    "in_progress": ("▸", "accent"),
    "ready": ("·", ""),
    "blocked": ("‖", "warn"),
    "dropped": ("×", "dim"),
}
_MOST_FILE_BYTES = 1_000_000
_RESTS = {
    "done": "everything is done",
    "waiting for you": "it waits for you",
    "budget": "its budget is used up",
    "rested": "it rests, and goes on soon",
    "interrupted": "you spoke; it goes on when you are done",
    "no model": "no model answers",
    "stuck": "nothing can go on by itself",
}


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
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def new(name: str, as_json: bool) -> None:
    """Begin a project: reveries project new Piano."""
    from reveries import protocol

    detail = _ask(lambda new_id: protocol.CreateProject(new_id, name), as_json)
    if detail is not None:
        shown = one_line(detail.project.name)
        _say(f"{shown} is there. What is it for?", f'reveries project goal {_quoted(shown)} "..."')


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
    """Let a project know what stands in text files: reveries project add Piano notes.md."""
    from reveries import protocol
    from reveries.client.render import say, show_json
    from reveries.client.sync_call import ask

    for file in files:
        text = _read_text(file)
        answer = ask(
            lambda new_id, text=text, file=file: protocol.AddMaterial(new_id, name, file.name, text, is_own),  # type: ignore[misc]
            protocol.Chunks,
            seconds=None,
        )
        show_json(answer) if as_json else say(f"{file.name}: {plural(len(answer.chunks), 'piece')} of knowledge.")


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


# --- pages ------------------------------------------------------------------------------------------------------------


def projects_page(projects: list[ProjectLine], now: float) -> Page:
    """A block a project: how far it is, what comes, what it waits for."""
    if not projects:
        return [line(_NOTHING)]
    page: Page = []
    for one in projects:
        page += [*_project_head(one, now), line()]
    return page[:-1]


def _project_head(one: ProjectLine, now: float) -> Page:
    state = one.phase if one.state == "active" else one.state
    head = line(
        Part("● ", "good" if one.state == "active" else "dim"),
        Part(one_line(one.name), "strong"),
        Part(f"  {one_line(state)}  "),
        Part(f"{bar(one.percent / 100)} {one.percent} %", "dim"),
    )
    rows: Page = [head, *paragraph(one.goal or "It has no goal yet.", indent=2)]
    if one.next_task:
        rows.append(field("next", one_line(one.next_task)))
    if one.open_questions:
        asks = f"{plural(one.open_questions, 'question')} for you"
        rows.append(field("asks", Part(asks, "warn"), Part("  reveries questions", "dim")))
    rested = _RESTS.get(one.rested_because, one.rested_because)
    if rested and one.last_worked_at:
        rows.append(field("last worked", ago(one.last_worked_at, now), Part(f"  {one_line(rested)}", "dim")))
    if one.tokens:
        rows.append(field("used", f"{short_count(one.tokens)} tokens", Part(f"  {dollars(one.dollars)}", "dim")))
    return rows


def project_page(detail: ProjectDetail, now: float, *, is_detailed: bool) -> Page:
    """In short: how far it is, what it waits for, what is uncertain. In detail: the page and every task too."""
    page = _project_head(detail.project, now)
    if detail.message:
        page += paragraph(detail.message, indent=2, style="dim")
    if detail.doubts:
        page += [line(), line(Part("  Uncertain, for something it rests on does not hold any more:", "warn"))]
        page += [row for doubt in detail.doubts for row in paragraph(f"- {doubt}", indent=4)]
    if detail.questions:
        page += [line(), *questions_page(detail.questions, now)]
    if is_detailed:
        page += [line(), *paragraph(detail.orientation, indent=2), line(), *tasks_page(detail.tasks)]
    else:
        page += _short_tasks(detail.tasks)
    return page


def _short_tasks(tasks: list[TaskEntry]) -> Page:
    done = [one for one in tasks if one.status == "done"]
    if not done:
        return []
    page: Page = [line(), line(Part(f"  Done: {len(done)} of {len(tasks)}. Lately:", "dim"))]
    for one in done[-3:]:
        page += [
            line(Part("  ✓ ", "good"), one_line(one.title)),
            *paragraph(_shorten(one.outcome), indent=6, style="dim"),
        ]
    return page


def _shorten(text: str, chars: int = 300) -> str:
    return one_line(text, chars)


def tasks_page(tasks: list[TaskEntry]) -> Page:
    """A block a task, in the order in which they were planned."""
    if not tasks:
        return [line("  No tasks yet: it plans when it works.")]
    page: Page = []
    for one in tasks:
        mark, style = _TASK_STYLES.get(one.status, ("?", ""))
        area = f"  {one_line(one.skill_area)}" if one.skill_area else ""
        page.append(line(Part(f"  {mark} ", style), Part(one_line(one.title), "strong"), Part(area, "dim")))
        if one.waits_for:
            page += paragraph(f"waits for {one.waits_for}", indent=6, style="warn")
        if one.flagged_because:
            page += paragraph(f"in doubt: {one.flagged_because}", indent=6, style="warn")
        if one.outcome:
            page += paragraph(_shorten(one.outcome, 600), indent=6, style="dim")
    return page


def questions_page(questions: list[QuestionEntry], now: float, how: str = 'reveries questions answer ID "..."') -> Page:
    """What it wants to know, oldest first, and how to answer."""
    if not questions:
        return [line("  It has no questions.")]
    page: Page = []
    for one in questions:
        held = f", {plural(one.blocked_tasks, 'task')} waiting" if one.blocked_tasks else ""
        told = f"  {one_line(one.project)}, {ago(one.asked_at, now)}{held}"
        page.append(line(Part(f"  {one_line(one.question_id)[:8]}", "accent"), Part(told, "dim")))
        page += paragraph(one.question, indent=4)
        if one.is_tainted:
            page += paragraph("(made of a text that you did not write)", indent=4, style="dim")
        if one.context:
            page += paragraph(one.context, indent=6, style="dim")
    return [*page, line(Part(f"  {how}", "dim"))]


def log_page(log: list[WorkEntry], now: float) -> Page:
    """Newest last, as one reads a log."""
    return [
        line(
            Part(f"  {moment(one.happened_at)}  ", "dim"),
            Part(f"{one_line(one.action):<20} "),
            one_line(one.details, 200),
        )
        for one in reversed(log)
    ] or [line("  Nothing happened yet.")]


def trace_page(trace: TaskTrace) -> Page:
    """Steps in order, then what the outcome rests on, word for word."""
    page = tasks_page([trace.task])
    for one in trace.steps:
        page.append(line(Part(f"      {one.attempt}. {one_line(one.tool)}  ", "accent"), one_line(one.result, 160)))
    if trace.audit:
        page += paragraph(f"audit: {trace.audit}", indent=6)
    if trace.failure:
        page += paragraph(f"last failure: {trace.failure}", indent=6, style="warn")
    if trace.rests_on:
        page += [line(Part("  It rests on:", "dim")), *chunks_page(trace.rests_on)]
    return page


def history_page(versions: list[OrientationEntry], now: float) -> Page:
    """Each version with what made it due, oldest first."""
    return [_version_line(one, now) for one in reversed(versions)]


def _version_line(one: OrientationEntry, now: float) -> Line:
    return line(
        Part(f"  {one.version:>3}  ", "accent"), Part(f"{ago(one.written_at, now)}  ", "dim"), one_line(one.trigger)
    )


def diff_page(versions: list[OrientationEntry], first: int, second: int) -> Page:
    """What stands in one version and not in the other, line by line."""
    import difflib

    texts = {one.version: one.text.splitlines() for one in versions}
    if first not in texts or second not in texts:
        return [line(f"  There are versions 1 to {max(texts, default=0)}.")]
    styles: dict[str, Style] = {"+": "good", "-": "bad"}
    rows = [row for row in difflib.ndiff(texts[first], texts[second]) if row[:1] in "+-"]
    return [line(Part(f"  {one_line(row)}", styles[row[0]])) for row in rows] or [line("  They say the same.")]
