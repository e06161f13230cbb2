"""`reveries usage`: asked of the waking mind, or of a process that reads the ledger for it."""

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from reveries import protocol


@click.command("usage", short_help="What models used, and what is left.")
@click.option("--days", type=click.IntRange(1, 366), default=30, show_default=True, help="So many days in the history.")
@click.option("--plain", is_flag=True, help="Numbers for each day instead of a drawing.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(days: int, plain: bool, as_json: bool) -> None:
    """What models used today and this month, by role and by model, against the limits.

    What nobody told us counts at its worst case; the page says how much of it that is.
    """
    import shutil

    from reveries.client.render import show, show_json
    from reveries.client.usage_page import usage_page

    report = _report(days)
    if as_json:
        show_json(report)
    else:
        show(usage_page(report, columns=shutil.get_terminal_size().columns, is_plain=plain))


def _report(days: int) -> "protocol.UsageReport":
    from reveries import protocol
    from reveries.client.calling import ask
    from reveries.client.daemon_side import usage_asleep
    from reveries.errors import AsleepError

    try:
        return ask(lambda new_id: protocol.AskUsage(new_id, days), protocol.UsageReport)
    except AsleepError:
        return usage_asleep(days)
