"""`reveries open`: where things are."""

import click

_NAMES = ("home", "config", "memory", "backups", "logs", "socket", "models", "service")


@click.command("open", short_help="Where things are.")
@click.argument("what", required=False, type=click.Choice(_NAMES), metavar="[WHAT]")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(what: str | None, as_json: bool) -> None:
    """Print where the home, its settings, memory, backups, logs and models are; with WHAT that path alone, as
    in cd "$(reveries open logs)".

    WHAT is one of: home, config, memory, backups, logs, socket, models, service. Nothing but SQLite may
    open the memory.
    """
    from reveries.client.places import places
    from reveries.client.render import Part, field, say, show, write_json
    from reveries.config import find_home

    found = places(find_home())
    if as_json:
        chosen = {what: found[what]} if what else found
        write_json({name: {"path": str(path), "exists": path.exists()} for name, path in chosen.items()})
    elif what:
        say(str(found[what]))
    else:
        show(
            field(name, str(path), Part("" if path.exists() else "  not there", "dim")) for name, path in found.items()
        )
