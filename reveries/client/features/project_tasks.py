"""`reveries project task` and `project proposals`: the owner's tasks, and those that notes propose."""

import datetime
import shlex
from typing import TYPE_CHECKING, Any, Final, Literal

import click

from reveries import protocol
from reveries.client.answers import json_option, page_of, print_answer
from reveries.client.features.project_pages import tasks_page
from reveries.client.features.project_wording import describe_due
from reveries.client.render import Page, Part, line, paragraph
from reveries.client.wording import plural
from reveries.safe_text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from reveries.protocol import Proposals, TasksChanged
    from reveries.protocol.message import Request


_USAGE: Final = 'add Boat "Call the plumber" --due Friday    or edit, drop, move, done PROJECT TASK'


@click.group("task", short_help="Add, edit, drop, move or finish tasks; accept those that notes propose.")
def task_group() -> None:
    """Steer the tasks of a project. TASK: the beginning of its title or id, or a part of its title."""


@task_group.command("add")
@click.argument("name")
@click.argument("title")
@click.option("--description", default="", help="What is to be done, in more words.")
@click.option("--due", default="", help="The day: '9 December', 'next Friday at 14:00', 2026-12-09.")
@click.option("--every", default="", help="It comes back: Monday, month, '2 weeks', or five fields of cron.")
@click.option("--mine", is_flag=True, help="You do it: nothing works on it.")
@json_option(protocol.TasksChanged)
def add_command(as_json: bool, **given: Any) -> None:
    """Add a task of yours: reveries project task add Boat "Call the plumber" --due Friday."""
    _change("add", given, as_json)


@task_group.command("edit")
@click.argument("name")
@click.argument("task")
@click.option("--title", default=None, help="Call it this.")
@click.option("--description", default=None, help="What is to be done, in more words.")
@click.option("--due", default=None, help="The day on which it is due; '' for none.")
@click.option("--every", default=None, help="How often it comes back; '' for never.")
@click.option("--mine/--not-mine", default=None, help="Whether you do it.")
@json_option(protocol.TasksChanged)
def edit_command(as_json: bool, **given: Any) -> None:
    """Change an open task: reveries project task edit Boat plumber --due "9 December"."""
    _change("edit", given, as_json)


@task_group.command("move")
@click.argument("name")
@click.argument("task")
@click.argument("position", type=click.IntRange(1, 10_000))
@json_option(protocol.TasksChanged)
def move_command(as_json: bool, **given: Any) -> None:
    """Put a task at a place among the open ones: reveries project task move Boat plumber 1."""
    _change("move", given, as_json)


@task_group.command("done")
@click.argument("name")
@click.argument("task")
@click.option("--outcome", default="", help="What came of it.")
@json_option(protocol.TasksChanged)
def done_command(as_json: bool, **given: Any) -> None:
    """Say that a task is done. One that repeats comes back at its next day."""
    _change("done", given, as_json)


_REQUESTS: "Final[Mapping[str, Callable[[int, Mapping[str, Any]], Request]]]" = {
    "add": lambda number, given: protocol.AddTask(
        number,
        given["name"],
        given["title"],
        given["description"],
        given["due"],
        given["every"],
        given["mine"],
    ),
    "edit": lambda number, given: protocol.EditTask(
        number,
        given["name"],
        given["task"],
        protocol.TaskEdit(given["title"], given["description"], given["due"], given["every"], given["mine"]),
    ),
    "drop": lambda number, given: protocol.DropTasks(number, given["name"], given["tasks"]),
    "move": lambda number, given: protocol.MoveTask(number, given["name"], given["task"], given["position"]),
    "done": lambda number, given: protocol.FinishTask(number, given["name"], given["task"], given["outcome"]),
}
"""What each command of `task` sends, from its number and what was given."""


_DECISIONS: "Final[Mapping[str, Literal['apply', 'decline']]]" = {"yes": "apply", "no": "decline"}
"""About the change that the conversation asked about last."""


def parse_task_command(number: int, words: str) -> "Request":
    """Return the request of `/task add Boat "Call the plumber" --due Friday`. Raises UsageError."""
    from reveries.errors import UsageError

    if (decision := _DECISIONS.get(words.strip().casefold())) is not None:
        return protocol.DecideWish(number, decision)
    try:
        name, *given = shlex.split(words)
        command = task_group.commands[name]
        build = _REQUESTS[name]
        context = command.make_context(name, given, help_option_names=[])
    except (ValueError, KeyError):
        raise UsageError("Say what to do with a task.", advice=f"/task {_USAGE}") from None
    except click.ClickException as error:
        raise UsageError(error.format_message(), advice=f"/task {_USAGE}") from None
    return build(number, context.params)


def _change(name: str, given: "Mapping[str, Any]", as_json: bool) -> None:
    from reveries.client.sync_call import ask_mind

    print_answer(ask_mind(lambda number: _REQUESTS[name](number, given), protocol.TasksChanged), as_json)


@page_of(protocol.TasksChanged, "tasks")
def tasks_changed_page(answer: "TasksChanged") -> Page:
    """Render what was done, and the tasks as they are now."""
    return [*paragraph(answer.message, indent=2), *(tasks_page(answer.tasks) if answer.tasks else [])]


@click.command("proposals")
@click.argument("name")
@json_option(protocol.Proposals)
def list_proposals_command(name: str, as_json: bool) -> None:
    """Show the tasks that the notes of a project propose: open boxes, things to do, days ahead. Nothing begins before
    you accept one."""
    from reveries.client.sync_call import ask_mind

    print_answer(ask_mind(lambda new_id: protocol.AskProposals(new_id, name), protocol.Proposals), as_json)


@task_group.command("accept")
@click.argument("name")
@click.argument("proposals", nargs=-1)
@click.option("--all", "is_all", is_flag=True, help="Accept all that wait.")
@click.option("--title", default="", help="Call the task this instead.")
@click.option("--due", type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M"]), help="It is due on this day instead.")
@json_option(protocol.Proposals)
def accept_command(
    name: str,
    proposals: tuple[str, ...],
    is_all: bool,
    title: str,
    due: datetime.datetime | None,
    as_json: bool,
) -> None:
    """Make tasks of proposals: reveries project task accept Boat 4f2a 91c0. ID: see project proposals."""
    from reveries.client.sync_call import ask_mind

    _require_names(name, proposals, is_all)
    answer = ask_mind(
        lambda new_id: protocol.DecideProposals(new_id, name, "accept", proposals, title, _day_text(due)),
        protocol.Proposals,
    )
    print_answer(
        answer, as_json, lambda: [line(f"  {plural(len(answer.task_ids), 'new task')}."), *proposals_page(answer)]
    )


@task_group.command("drop")
@click.argument("name")
@click.argument("tasks", nargs=-1)
@click.option("--all", "is_all", is_flag=True, help="Drop all that notes propose.")
@json_option(protocol.TasksChanged)
def drop_command(name: str, tasks: tuple[str, ...], is_all: bool, as_json: bool) -> None:
    """Drop tasks, or proposals: these do not come back while their lines in the notes are unchanged."""
    _require_names(name, tasks, is_all)
    _change("drop", {"name": name, "tasks": tasks}, as_json)


def _require_names(name: str, names: tuple[str, ...], is_all: bool) -> None:
    from reveries.errors import UsageError

    if bool(names) is is_all:
        raise UsageError("Say which: IDs, or --all.", advice=f"See: reveries project proposals {name}")


def _day_text(due: datetime.datetime | None) -> str:
    if due is None:
        return ""
    return due.strftime("%Y-%m-%dT%H:%M") if due.time() != datetime.time() else due.strftime("%Y-%m-%d")


@page_of(protocol.Proposals, "proposals")
def proposals_page(answer: "Proposals") -> Page:
    """Render each proposal with its line and place in the notes."""
    if not answer.proposals:
        return [line("  The notes propose nothing that you have not decided.")]
    page: Page = []
    for proposal in answer.proposals:
        due = f"  {describe_due(proposal.due)}" if proposal.due else ""
        page.append(
            line(
                Part(f"  {one_line(proposal.proposal_id)[:8]}  ", "accent"),
                Part(one_line(proposal.title, 160), "strong"),
                Part(due),
            )
        )
        place = f"{one_line(proposal.document, 120)}:{proposal.line}"
        is_said_again = one_line(proposal.text) != one_line(proposal.title)
        page += paragraph(place + (f": {proposal.text}" if is_said_again else ""), indent=12, style="dim")
    name = one_line(answer.project)
    return [*page, line(Part(f"  reveries project task accept {_quoted(name)} ID    or drop", "dim"))]


def _quoted(name: str) -> str:
    return f'"{name}"' if " " in name else name
