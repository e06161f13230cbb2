"""`reveries open`: where things are."""

from pathlib import Path

import click

from reveries.config import Home, find_models_folder, load_settings
from reveries.errors import ConfigError

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


def places(home: Home) -> dict[str, Path]:
    """Each place by its name, whether anything is there or not."""
    try:
        database = home.database(load_settings(home.config))
    except ConfigError:
        database = home.database_default
    return {
        "home": home.path,
        "config": home.config,
        "memory": database,
        "backups": home.backups,
        "logs": home.logs,
        "socket": home.socket,
        "models": find_models_folder(),
        "service": service_file(),
    }


def service_file() -> Path:
    """Where this system's service manager looks for what a user wants run."""
    import sys

    if sys.platform == "darwin":
        return Path("~/Library/LaunchAgents/reveries.mind.plist").expanduser()
    from platformdirs import user_config_path

    return user_config_path("systemd") / "user" / "reveries.service"
