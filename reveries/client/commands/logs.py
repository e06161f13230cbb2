"""`reveries logs`."""

import click


@click.command("logs", short_help="What the daemon wrote.")
@click.option(
    "-n", "--lines", type=click.IntRange(0, 100_000), default=20, show_default=True, help="So many, the last."
)
@click.option("-f", "--follow", is_flag=True, help="Go on with what is written, until Ctrl+C.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def command(lines: int, follow: bool, as_json: bool) -> None:
    """The daemon's log. What was said and thought is in it at the level debug only (log.level)."""
    from reveries.client.log_page import entry_json, entry_line, last_lines, length_of, new_lines
    from reveries.client.render import show
    from reveries.config import find_home
    from reveries.errors import NotFoundError

    log = find_home().logs / "daemon.log"

    def tell(row: str) -> None:
        if as_json:
            click.echo(entry_json(row))
        else:
            show([entry_line(row)])

    if not log.exists() and not follow:
        raise NotFoundError(f"There is no log {log} yet.", advice="It begins with: reveries wake")
    end = length_of(log)
    for row in last_lines(log, lines, end):
        tell(row)
    if follow:
        for row in new_lines(log, end):
            tell(row)
