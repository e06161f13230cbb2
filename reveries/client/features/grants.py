"""`reveries grant`: what the owner allows a project to do outside its folder."""

from functools import partial
from typing import TYPE_CHECKING

import click

from reveries import protocol
from reveries.client.answers import json_option, page_of, print_answer
from reveries.client.render import Line, Page, Part, line
from reveries.client.wording import ago
from reveries.safe_text import one_line

if TYPE_CHECKING:
    from reveries.protocol import GrantEntry, Grants

_SERVER_SECONDS = 90.0
"""Enough to start an MCP server, which is asked for its tools."""
_KIND_TEXTS = {
    "tool": "may be used",
    "source": "trusted source",
    "call": "one call, not used yet",
    "denial": "one call that you refused",
}


@click.group("grant", short_help="What your projects may do outside their folders.")
def command() -> None:
    """What a project may do outside its folder: which tools it may use, and which untrusted sources you trust."""


@command.command("list")
@click.argument("project")
@json_option(protocol.Grants)
def list_grants_command(project: str, as_json: bool) -> None:
    """List what you allowed a project."""
    from reveries.client.sync_call import ask_mind

    print_answer(ask_mind(lambda new_id: protocol.AskGrants(new_id, project), protocol.Grants), as_json)


@command.command("give")
@click.argument("project")
@click.argument("name")
@json_option(protocol.Grants)
def give_grant_command(project: str, name: str, as_json: bool) -> None:
    """Allow a tool (fetch, web_search, one tool of an MCP server, or all of them), or trust a source of text (folder,
    web:example.org, server:NAME): reveries grant give Piano fetch."""
    from reveries.client.render import say
    from reveries.client.sync_call import ask_mind

    make = partial(protocol.GiveGrant, project=project, name=name)
    answer = ask_mind(make, protocol.Grants, seconds=_SERVER_SECONDS)
    print_answer(answer, as_json)
    server = name.partition(".")[0]
    if not as_json and any(grant.name.startswith(f"{server}.") for grant in answer.grants):
        say(
            f"  What {server} returns is untrusted: later calls to the outside ask you first, until you trust it:",
            "dim",
        )
        say(f"  reveries grant give {project} server:{server}", "dim")


@command.command("revoke")
@click.argument("project")
@click.argument("name")
@json_option(protocol.Grants)
def revoke_grant_command(project: str, name: str, as_json: bool) -> None:
    """Revoke a grant by its name or the beginning of its ID. It takes effect at the next step."""
    from reveries.client.sync_call import ask_mind

    print_answer(ask_mind(lambda new_id: protocol.RevokeGrant(new_id, project, name), protocol.Grants), as_json)


@page_of(protocol.Grants)
def grants_page(answer: "Grants", now: float) -> Page:
    """One line per grant."""
    if not answer.grants:
        hint = f"  {one_line(answer.project)} has no grants yet. To give one:  reveries grant give NAME fetch"
        return [line(hint)]
    return [_grant_row(grant, now) for grant in answer.grants]


def _grant_row(grant: "GrantEntry", now: float) -> Line:
    within = f", within “{one_line(grant.task, 60)}”" if grant.task else ""
    return line(
        Part(f"  {one_line(grant.grant_id)[:8]}  ", "accent"),
        Part(one_line(grant.name, 60), "strong"),
        Part(f"  {_KIND_TEXTS.get(grant.kind, grant.kind)}{within}, {ago(grant.given_at, now)}", "dim"),
    )
