"""`reveries context`: what the mind was told for the last turn."""

import time

import click


@click.command("context", short_help="What it was told for the last turn.")
@click.option("--conversation", default="", help="Of the conversation with this ID; without, of the latest.")
@click.option("--whole", is_flag=True, help="Cut no part short.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(conversation: str, whole: bool, as_json: bool) -> None:
    """What the mind was told for the last turn, part by part: rules, self-model, folded history, history, recalled
    memories with their sources, its thought; tokens against the budget, and what was left out and why.

    It is kept while the mind is awake, for the last turn of each of the latest eight conversations.
    """
    from reveries import protocol
    from reveries.client.calling import ask
    from reveries.client.context_page import context_page
    from reveries.client.render import show, show_json

    told = ask(lambda new_id: protocol.AskContext(new_id, conversation[:100]), protocol.ToldContext)
    if as_json:
        show_json(told)
    else:
        show(context_page(told, time.time(), whole=whole))
