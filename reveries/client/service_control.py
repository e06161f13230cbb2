"""Install, query and remove the service through systemd or launchd."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec

from reveries.api_keys import remove_secrets
from reveries.client.service import LABEL, Service, launchd_plist, systemd_unit
from reveries.config import Home, find_home, find_models_folder
from reveries.errors import HomeError
from reveries.safe_text import one_line

_UNIT = "reveries.service"
_SECONDS = 30.0


def service_file() -> Path:
    """Return where this system's service manager looks for user services."""
    if sys.platform == "darwin":
        return Path("~/Library/LaunchAgents/reveries.mind.plist").expanduser()
    from platformdirs import user_config_path

    return user_config_path("systemd") / "user" / "reveries.service"


class ServiceState(msgspec.Struct, frozen=True):
    """`manager` is empty if no service manager is available."""

    file: str
    is_installed: bool
    manager: str
    is_enabled: bool
    is_running: bool


def this_service() -> Service:
    """Return the service for this Python and home, with the two environment variables that name the folders."""
    home, models = find_home(), find_models_folder()
    environment = {"REVERIES_HOME": str(home.path), "REVERIES_MODELS": str(models)}
    return Service(Path(sys.executable), home.path, models, environment)


def service_text(service: Service, home: Home) -> bytes:
    """Return the unit or agent file for this system's service manager."""
    if sys.platform == "darwin":
        return launchd_plist(service, home.logs / "daemon.out")
    return systemd_unit(service).encode()


def install_service(service: Service, home: Home) -> list[str]:
    """Write the file and register it. Return what the owner still has to do, as sentences. Raises HomeError."""
    home.create()
    file = service_file()
    try:
        service.models.mkdir(parents=True, exist_ok=True)
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_name(f".{file.name}.partial")
        partial.write_bytes(service_text(service, home))
        partial.replace(file)
    except OSError as error:
        raise HomeError(
            f"{file} cannot be written: {error.strerror}.", advice="Check the permissions of its folder."
        ) from error
    if sys.platform == "darwin":
        return _run_or_explain(["launchctl", "bootstrap", f"gui/{os.getuid()}", str(file)])
    return [
        *_run_or_explain(["systemctl", "--user", "daemon-reload"]),
        *_run_or_explain(["systemctl", "--user", "enable", _UNIT]),
    ]


def uninstall_service() -> list[str]:
    """Remove the service. Return what the owner still has to do, as sentences."""
    file = service_file()
    if not file.exists():
        return []
    if sys.platform == "darwin":
        left = _run_or_explain(["launchctl", "bootout", f"gui/{os.getuid()}/{LABEL}"])
    else:
        left = _run_or_explain(["systemctl", "--user", "disable", _UNIT])
    file.unlink(missing_ok=True)
    if sys.platform != "darwin":
        left += _run_or_explain(["systemctl", "--user", "daemon-reload"])
    return left


def service_state() -> ServiceState:
    """Return the current state of the service."""
    file = service_file()
    if sys.platform == "darwin":
        answer = _run_manager(["launchctl", "print", f"gui/{os.getuid()}/{LABEL}"])
        is_known = answer is not None and answer[0] == 0
        return ServiceState(
            str(file), file.exists(), "launchd", is_known, is_known and "state = running" in (answer or (0, ""))[1]
        )
    enabled = _run_manager(["systemctl", "--user", "is-enabled", _UNIT])
    active = _run_manager(["systemctl", "--user", "is-active", _UNIT])
    state = active[1].strip() if active is not None else ""
    return ServiceState(
        str(file),
        file.exists(),
        "systemd" if state in {"active", "activating", "inactive", "failed", "deactivating"} else "",
        enabled is not None and enabled[1].strip() == "enabled",
        state in {"active", "activating"},
    )


def _run_or_explain(command: list[str]) -> list[str]:
    """Run the command. If it fails, return a sentence with the reason and the command to run by hand."""
    done = _run_manager(command)
    if done is not None and done[0] == 0:
        return []
    why = one_line(done[1], 200) if done is not None and done[1].strip() else "it is not available here"
    return [f"{command[0]} failed ({why}). Run this yourself: {' '.join(command)}"]


def _run_manager(command: list[str]) -> tuple[int, str] | None:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
            env=remove_secrets(os.environ),
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.returncode, done.stdout + done.stderr
