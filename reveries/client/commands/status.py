"""`reveries status`."""

import time

import click


@click.command("status", short_help="How it is, what it does, what it used.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(as_json: bool) -> None:
    """How the mind is: awake since when, what it does, what it knows, what it used."""
    from reveries import protocol
    from reveries.client.calling import ask
    from reveries.client.render import show, show_json
    from reveries.client.status_page import status_page

    status = ask(protocol.AskStatus, protocol.Status)
    if as_json:
        show_json(status)
    else:
        show(status_page(status, time.time()))
