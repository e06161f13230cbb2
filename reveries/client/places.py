"""Where everything of a mind is."""

from pathlib import Path

from reveries.config import Home, find_models_folder, load_settings
from reveries.errors import ConfigError


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
