"""`reveries self`: what the mind takes itself and its owner to be, how that came, and the owner's hand on it."""

import time
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from reveries import protocol


@click.group("self", short_help="What it takes itself and you to be.", invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """The self-model: what the mind takes itself and you to be. Deep sleep changes it, slowly; you may at any time."""
    if ctx.invoked_subcommand is not None:
        return
    from reveries import protocol
    from reveries.client.calling import ask

    _show_self(ask(protocol.AskSelf, protocol.SelfModelShown), as_json)


@command.command("history")
@click.option("--limit", type=click.IntRange(1, 200), default=20, show_default=True, help="The last so many changes.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def history(limit: int, as_json: bool) -> None:
    """Each change of the self-model, newest last: what went, what came, and the episode that it was made from."""
    from reveries import protocol
    from reveries.client.calling import ask
    from reveries.client.render import show, show_json
    from reveries.client.self_page import self_history_page

    told = ask(lambda new_id: protocol.AskSelfHistory(new_id, limit), protocol.SelfHistory)
    if as_json:
        show_json(told)
    else:
        show(self_history_page(told, time.time()))


@command.command("revert")
@click.argument("number", type=click.IntRange(1), metavar="N")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def revert(number: int, as_json: bool) -> None:
    """The self-model as it stood before change N, and so without all that came after it.

    This too is a change: reverting it brings back what went."""
    from reveries import protocol
    from reveries.client.calling import ask

    _show_self(ask(lambda new_id: protocol.RevertSelf(new_id, number), protocol.SelfModelShown, seconds=None), as_json)


@command.command("edit")
@click.argument("field")
@click.option("--set", "text", default=None, help="The new text, instead of opening an editor.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def edit(field: str, text: str | None, as_json: bool) -> None:
    """Put your own words into FIELD, in $EDITOR or with --set; a list has one statement a line.

    What you write is pinned: sleep leaves it alone. What you take out does not come back in the same words. A text that
    you empty is sleep's again.
    """
    from reveries import protocol
    from reveries.client.calling import ask
    from reveries.client.render import say

    name = field.replace("-", "_")
    shown = ask(protocol.AskSelf, protocol.SelfModelShown)
    wanted = _written(shown, name) if text is None else text
    if wanted is None:
        say("Nothing was changed.", "dim")
        return
    _show_self(
        ask(lambda new_id: protocol.EditSelf(new_id, name, wanted), protocol.SelfModelShown, seconds=None), as_json
    )


def _written(shown: "protocol.SelfModelShown", name: str) -> str | None:
    """What the owner makes of a field in an editor; None when that was nothing."""
    from reveries.client.self_page import TITLES
    from reveries.errors import UsageError

    one = next((one for one in shown.fields if one.name == name), None)
    if one is None:
        raise UsageError(
            f"The self-model has no field {name!r}.", advice=f"It has: {', '.join(one.name for one in shown.fields)}."
        )
    how = "One statement a line." if one.is_list else "A short text."
    head = f"# {TITLES.get(name, name)}. {how} This line is not part of it."
    before = "\n".join(statement.text for statement in one.statements)
    try:
        after = click.edit(f"{head}\n{before}\n", extension=".txt", require_save=True)
    except click.ClickException as error:
        advice = "Name one that can (EDITOR=nano reveries self edit ...), or give the text with --set."
        raise UsageError(f"No editor could be used: {error.message.rstrip('.')}.", advice=advice) from error
    if after is None:
        return None
    kept = "\n".join(row for row in after.splitlines() if row.rstrip() != head).strip()
    return None if kept == before.strip() else kept


def _show_self(shown: "protocol.SelfModelShown", as_json: bool) -> None:
    from reveries.client.render import show, show_json
    from reveries.client.self_page import self_page

    if as_json:
        show_json(shown)
    else:
        show(self_page(shown, time.time()))
