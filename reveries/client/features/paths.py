"""`reveries open`: show where the files are."""

from pathlib import Path

import click
import msgspec

from reveries.client.answers import json_option
from reveries.client.service_control import service_file
from reveries.config import Home, find_models_folder, load_settings
from reveries.errors import ConfigError


class PlaceShown(msgspec.Struct, frozen=True):
    path: str
    exists: bool


class Places(msgspec.Struct, frozen=True):
    """With WHAT, only that one."""

    home: PlaceShown
    config: PlaceShown
    memory: PlaceShown
    backups: PlaceShown
    logs: PlaceShown
    socket: PlaceShown
    models: PlaceShown
    service: PlaceShown


_NAMES = ("home", "config", "memory", "backups", "logs", "socket", "models", "service")


@click.command("open", short_help="Show where the files are.")
@click.argument("what", required=False, type=click.Choice(_NAMES), metavar="[WHAT]")
@json_option(Places)
def command(what: str | None, as_json: bool) -> None:
    """Print the paths of the home, its settings, memory, backups, logs and models; with WHAT only that path, as in
    cd "$(reveries open logs)".

    WHAT is one of: home, config, memory, backups, logs, socket, models, service. Open the memory only with SQLite.
    """
    from reveries.client.render import Part, field, say, show, show_json, write_json
    from reveries.config import find_home

    paths = list_paths(find_home())
    if as_json:
        shown = {name: PlaceShown(str(path), path.exists()) for name, path in paths.items()}
        write_json({what: shown[what]}) if what else show_json(Places(**shown))
    elif what:
        say(str(paths[what]))
    else:
        show(
            field(name, str(path), Part("" if path.exists() else "  not there", "dim")) for name, path in paths.items()
        )


def list_paths(home: Home) -> dict[str, Path]:
    """Return each path by its name, whether it exists or not."""
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
