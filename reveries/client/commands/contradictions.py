"""`reveries memory contradictions`: what cannot both hold, and the owner's word on it."""

import click

_KEEP = {"A": "earlier", "B": "later", "both": "both"}


@click.group("contradictions", short_help="What was said that cannot both hold.", invoke_without_command=True)
@click.option("--all", "with_settled", is_flag=True, help="Also what was settled, and what was simply updated.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.pass_context
def command(ctx: click.Context, with_settled: bool, as_json: bool) -> None:
    """What was said that cannot both hold: both quotes, by whom and when. Nothing is changed until you settle it."""
    if ctx.invoked_subcommand is not None:
        return
    from reveries import protocol
    from reveries.client.calling import ask
    from reveries.client.render import show, show_json
    from reveries.client.sleep_page import contradictions_page

    found = ask(lambda new_id: protocol.AskContradictions(new_id, with_settled), protocol.Contradictions)
    show_json(found) if as_json else show(contradictions_page(found))


@command.command("settle")
@click.argument("conflict_id", metavar="ID")
@click.option(
    "--keep",
    type=click.Choice(["A", "B", "both"]),
    required=True,
    help="Which of the two holds. The other is kept and ranks under it.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def settle(conflict_id: str, keep: str, as_json: bool) -> None:
    """Say which of the two holds: A (said earlier), B (said later), or both. Can be said again differently."""
    from reveries import protocol
    from reveries.client.calling import ask
    from reveries.client.render import show, show_json
    from reveries.client.sleep_page import contradictions_page
    from reveries.errors import UsageError

    if not 0 < len(conflict_id) <= 100:
        raise UsageError("That is no contradiction's ID.", advice="They stand in: reveries memory contradictions")
    settled = ask(
        lambda new_id: protocol.SettleContradiction(new_id, conflict_id, _KEEP[keep]),  # type: ignore[arg-type]
        protocol.Contradictions,
        seconds=None,
    )
    show_json(settled) if as_json else show(contradictions_page(settled))
