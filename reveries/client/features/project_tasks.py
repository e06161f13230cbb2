"""`reveries project task` and `project proposals`: tasks that notes propose, accepted or dropped by the owner."""

import datetime
from typing import TYPE_CHECKING

import click

from reveries import protocol
from reveries.client.answers import json_option, page_of, print_answer
from reveries.client.features.project_wording import describe_due
from reveries.client.render import Page, Part, line, paragraph
from reveries.client.wording import plural
from reveries.safe_text import one_line

if TYPE_CHECKING:
    from reveries.protocol import Proposals


@click.group("task", short_help="Accept or drop tasks that notes propose.")
def task_group() -> None:
    """Decide about the tasks of a project."""


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
    answer = _decide(name, proposals, is_all, "accept", title, _day_text(due))
    print_answer(
        answer, as_json, lambda: [line(f"  {plural(len(answer.task_ids), 'new task')}."), *proposals_page(answer)]
    )


@task_group.command("drop")
@click.argument("name")
@click.argument("proposals", nargs=-1)
@click.option("--all", "is_all", is_flag=True, help="Drop all that wait.")
@json_option(protocol.Proposals)
def drop_command(name: str, proposals: tuple[str, ...], is_all: bool, as_json: bool) -> None:
    """Drop proposals: they do not come back while their lines in the notes are unchanged."""
    print_answer(_decide(name, proposals, is_all, "dismiss"), as_json)


def _decide(
    name: str, proposals: tuple[str, ...], is_all: bool, decision: str, title: str = "", due: str = ""
) -> "Proposals":
    from reveries.client.sync_call import ask_mind
    from reveries.errors import UsageError

    if bool(proposals) is is_all:
        raise UsageError("Say which: IDs, or --all.", advice=f"See: reveries project proposals {name}")
    return ask_mind(
        lambda new_id: protocol.DecideProposals(new_id, name, decision, proposals, title, due),  # type: ignore[arg-type]
        protocol.Proposals,
    )


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
