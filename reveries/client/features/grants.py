"""`reveries grant`: what a project may do beyond its folder, by your word alone."""

import time
from functools import partial
from typing import TYPE_CHECKING

import click

from reveries.client.render import Line, Page, Part, line
from reveries.client.wording import ago
from reveries.safe_text import one_line

if TYPE_CHECKING:
    from reveries.protocol import GrantEntry, Grants

_SERVER_SECONDS = 90.0
"""A server has to be started to say what it offers."""
_SAID = {
    "tool": "may be used",
    "source": "may stand before what reaches out",
    "call": "one call, not made yet",
    "denial": "one call that you said no to",
}


@click.group("grant", short_help="What your projects may do outside.")
def command() -> None:
    """What a project may do beyond its folder: which tools reach out, and which foreign texts may stand before them."""


@command.command("list")
@click.argument("project")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def list_grants(project: str, as_json: bool) -> None:
    """What you allowed a project."""
    from reveries import protocol
    from reveries.client.sync_call import ask

    _show(ask(lambda new_id: protocol.AskGrants(new_id, project), protocol.Grants), as_json)


@command.command("give")
@click.argument("project")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def give(project: str, name: str, as_json: bool) -> None:
    """Allow a tool (fetch, web_search, a tool of an MCP server or all of its), or a source whose texts you trust
    (folder, web:example.org, server:NAME): reveries grant give Piano fetch."""
    from reveries import protocol
    from reveries.client.render import say
    from reveries.client.sync_call import ask

    make = partial(protocol.GiveGrant, project=project, name=name)
    answer = ask(make, protocol.Grants, seconds=_SERVER_SECONDS)
    _show(answer, as_json)
    server = name.partition(".")[0]
    if not as_json and any(one.name.startswith(f"{server}.") for one in answer.grants):
        say(f"  What {server} says is foreign: what then reaches out asks you first, until you trust it:", "dim")
        say(f"  reveries grant give {project} server:{server}", "dim")


@command.command("revoke")
@click.argument("project")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def revoke(project: str, name: str, as_json: bool) -> None:
    """Take a grant back, by its name or the beginning of its id. It counts from the next step on."""
    from reveries import protocol
    from reveries.client.sync_call import ask

    _show(ask(lambda new_id: protocol.RevokeGrant(new_id, project, name), protocol.Grants), as_json)


def _show(answer: "Grants", as_json: bool) -> None:
    from reveries.client.render import show, show_json

    show_json(answer) if as_json else show(grants_page(answer, time.time()))


def grants_page(answer: "Grants", now: float) -> Page:
    """A line a grant."""
    if not answer.grants:
        told = f"  {one_line(answer.project)} may do nothing outside. To allow it:  reveries grant give NAME fetch"
        return [line(told)]
    return [_grant_row(one, now) for one in answer.grants]


def _grant_row(one: "GrantEntry", now: float) -> Line:
    within = f", within “{one_line(one.task, 60)}”" if one.task else ""
    return line(
        Part(f"  {one_line(one.grant_id)[:8]}  ", "accent"),
        Part(one_line(one.name, 60), "strong"),
        Part(f"  {_SAID.get(one.kind, one.kind)}{within}, {ago(one.given_at, now)}", "dim"),
    )
