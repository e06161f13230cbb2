"""`reveries wellbeing`."""

import click


@click.command("wellbeing", short_help="What was counted about its welfare.")
@click.option("--excerpts", type=click.IntRange(0, 50), default=3, show_default=True, help="So many of each kind.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(excerpts: int, as_json: bool) -> None:
    """What in its thoughts bears on its welfare: counts, trend, base rate and excerpts, and no verdict.

    docs/explain/safety.md says what is watched and why.
    """
    from reveries import protocol
    from reveries.client.calling import ask
    from reveries.client.render import show, show_json
    from reveries.client.wellbeing_page import wellbeing_page

    report = ask(lambda new_id: protocol.AskWellbeing(new_id, excerpts), protocol.Wellbeing)
    if as_json:
        show_json(report)
    else:
        show(wellbeing_page(report))
