"""Handing the service to systemd or launchd, asking how it is, taking it back."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from reveries.api_keys import without_secrets
from reveries.client.features.paths import service_file
from reveries.client.service import LABEL, Service, launchd_plist, systemd_unit
from reveries.config import Home, find_home, find_models_folder
from reveries.errors import HomeError
from reveries.safe_text import one_line

_UNIT = "reveries.service"
_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class InstalledService:
    """How the service is. `manager` is empty where none answers."""

    file: Path
    is_installed: bool
    manager: str
    is_enabled: bool
    is_running: bool


def this_service() -> Service:
    """This Python, this home, and the two variables that say where things are."""
    home, models = find_home(), find_models_folder()
    environment = {"REVERIES_HOME": str(home.path), "REVERIES_MODELS": str(models)}
    return Service(Path(sys.executable), home.path, models, environment)


def text_of(service: Service, home: Home) -> bytes:
    """What this system's service manager reads."""
    if sys.platform == "darwin":
        return launchd_plist(service, home.logs / "daemon.out")
    return systemd_unit(service).encode()


def install(service: Service, home: Home) -> list[str]:
    """Write the file and tell the manager of it; what is left for the owner to do, in words. Raises HomeError."""
    home.create()
    file = service_file()
    try:
        service.models.mkdir(parents=True, exist_ok=True)
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_name(f".{file.name}.partial")
        partial.write_bytes(text_of(service, home))
        partial.replace(file)
    except OSError as error:
        raise HomeError(f"{file} cannot be written: {error.strerror}.", advice="Look at its folder.") from error
    if sys.platform == "darwin":
        return _to_do(["launchctl", "bootstrap", f"gui/{os.getuid()}", str(file)])
    return [
        *_to_do(["systemctl", "--user", "daemon-reload"]),
        *_to_do(["systemctl", "--user", "enable", _UNIT]),
    ]


def uninstall() -> list[str]:
    """Take it back; what was removed or is left to do, in words."""
    file = service_file()
    if not file.exists():
        return []
    if sys.platform == "darwin":
        left = _to_do(["launchctl", "bootout", f"gui/{os.getuid()}/{LABEL}"])
    else:
        left = _to_do(["systemctl", "--user", "disable", _UNIT])
    file.unlink(missing_ok=True)
    if sys.platform != "darwin":
        left += _to_do(["systemctl", "--user", "daemon-reload"])
    return left


def state() -> InstalledService:
    """How it is now."""
    file = service_file()
    if sys.platform == "darwin":
        answer = _run_manager(["launchctl", "print", f"gui/{os.getuid()}/{LABEL}"])
        is_known = answer is not None and answer[0] == 0
        return InstalledService(
            file, file.exists(), "launchd", is_known, is_known and "state = running" in (answer or (0, ""))[1]
        )
    enabled = _run_manager(["systemctl", "--user", "is-enabled", _UNIT])
    active = _run_manager(["systemctl", "--user", "is-active", _UNIT])
    is_there = active is not None and active[1].strip() in {
        "active",
        "activating",
        "inactive",
        "failed",
        "deactivating",
    }
    return InstalledService(
        file,
        file.exists(),
        "systemd" if is_there else "",
        enabled is not None and enabled[1].strip() == "enabled",
        active is not None and active[1].strip() in {"active", "activating"},
    )


def _to_do(command: list[str]) -> list[str]:
    """Run it; when it cannot be run, say so and what to do by hand."""
    done = _run_manager(command)
    if done is not None and done[0] == 0:
        return []
    why = one_line(done[1], 200) if done is not None and done[1].strip() else "it is not to be had here"
    return [f"{command[0]} did not do it ({why}). By hand: {' '.join(command)}"]


def _run_manager(command: list[str]) -> tuple[int, str] | None:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
            env=without_secrets(os.environ),
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.returncode, done.stdout + done.stderr
