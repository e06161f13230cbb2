"""The mind as a user service: text of the systemd user unit and the launchd agent. Pure."""

import plistlib
import re
from dataclasses import dataclass
from pathlib import Path

from reveries.crash_history import CRASHES_UNTIL_SAFE
from reveries.errors import AlreadyAwakeError, ConfigError, DatabaseTooNewError, HomeError, ModelError

LABEL = "reveries.mind"
_NO_USE_TO_RESTART = sorted(
    {error.exit_code for error in (AlreadyAwakeError, ConfigError, DatabaseTooNewError, HomeError, ModelError)}
)
"""Exit codes for which a restart cannot help; the message is in the journal."""


@dataclass(frozen=True, slots=True)
class Service:
    """What to run: the Python, the home, the models' folder, and `environment`, which is written into the file."""

    python: Path
    home: Path
    models: Path
    environment: dict[str, str]


def systemd_unit(service: Service) -> str:
    """Return the user unit. It may write to the home and the models' folder; the rest of the disk is read-only."""
    python = _quote_command_word(str(service.python))
    lines = [
        "# Written by: reveries service install",
        "[Unit]",
        "Description=Reveries, a mind that stays awake",
        "StartLimitIntervalSec=600",
        # More than the crashes that lead to safe mode: that start must still be allowed.
        f"StartLimitBurst={2 * CRASHES_UNTIL_SAFE}",
        "",
        "[Service]",
        "Type=notify",
        "NotifyAccess=main",
        f"ExecStart={python} -m reveries wake --foreground",
        f"ExecStop=-{python} -m reveries sleep",
        *(f"Environment={_quote_word(f'{name}={value}')}" for name, value in sorted(service.environment.items())),
        "Restart=on-failure",
        "RestartSec=5",
        f"RestartPreventExitStatus={' '.join(map(str, _NO_USE_TO_RESTART))}",
        "WatchdogSec=60",
        # Starting may load a large memory; stopping may call the model a last time.
        "TimeoutStartSec=300",
        "TimeoutStopSec=180",
        # When memory runs out, the kernel ends the model's process first; the daemon continues without it (E8).
        "OOMPolicy=continue",
        "UMask=0077",
        "LimitCORE=0",
        "",
        "# Sandbox. Without MemoryDenyWriteExecute: recall compiles its loops at run time.",
        *_HARDENING,
        f"ReadWritePaths={_quote_word('-' + str(service.home))} {_quote_word('-' + str(service.models))}",
        # A home below /tmp would be hidden from its own daemon.
        *([] if _is_below_tmp(service.home, service.models) else ["PrivateTmp=yes"]),
        "",
        "[Install]",
        "WantedBy=default.target",
    ]
    return "\n".join(lines) + "\n"


_HARDENING = [
    "NoNewPrivileges=yes",
    "CapabilityBoundingSet=",
    "AmbientCapabilities=",
    "LockPersonality=yes",
    "RestrictNamespaces=yes",
    "RestrictRealtime=yes",
    "RestrictSUIDSGID=yes",
    "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6",
    "SystemCallArchitectures=native",
    "SystemCallFilter=@system-service",
    "SystemCallFilter=~@privileged",
    "SystemCallErrorNumber=EPERM",
    "KeyringMode=private",
    "PrivateUsers=yes",
    "PrivateDevices=yes",
    "DevicePolicy=closed",
    "ProtectSystem=strict",
    "ProtectHome=read-only",
    "ProtectClock=yes",
    "ProtectControlGroups=yes",
    "ProtectHostname=yes",
    "ProtectKernelLogs=yes",
    "ProtectKernelModules=yes",
    "ProtectKernelTunables=yes",
    "ProtectProc=invisible",
    "RemoveIPC=yes",
]


def launchd_plist(service: Service, log: Path) -> bytes:
    """Return the agent for macOS: starts at login, restarts after a crash."""
    agent = {
        "Label": LABEL,
        "ProgramArguments": [str(service.python), "-m", "reveries", "wake", "--foreground"],
        "EnvironmentVariables": service.environment,
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": 30,
        "ExitTimeOut": 30,
        "Umask": 0o077,
        "ProcessType": "Background",
        "HardResourceLimits": {"Core": 0},
        "StandardOutPath": str(log),
        "StandardErrorPath": str(log),
    }
    return plistlib.dumps(agent)


def _quote_command_word(text: str) -> str:
    """Quote a word of a command line in a unit file, where a dollar sign begins a variable."""
    return _quote_word(text.replace("$", "$$"))


def _quote_word(text: str) -> str:
    """Quote a word of a unit file: specifiers are doubled."""
    literal = text.replace("%", "%%")
    if re.fullmatch(r"[\w%$=@:.,/+-]+", literal, re.ASCII):
        return literal
    return '"' + literal.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _is_below_tmp(*paths: Path) -> bool:
    return any(path.is_relative_to(folder) for path in paths for folder in (Path("/tmp"), Path("/var/tmp")))
