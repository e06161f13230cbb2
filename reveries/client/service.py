"""The mind as a service of its owner: a systemd user unit, a launchd agent. Pure: what they say, word for word."""

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
"""Trying again changes nothing there; the sentence is in the journal."""


@dataclass(frozen=True, slots=True)
class Service:
    """What is to be run: which Python, in which home. `environment` is kept as it is now."""

    python: Path
    home: Path
    models: Path
    environment: dict[str, str]


def systemd_unit(service: Service) -> str:
    """The user unit. It may write the home and the models' folder, and see the rest of the disk read-only."""
    python = _command_word(str(service.python))
    lines = [
        "# Written by: reveries service install",
        "[Unit]",
        "Description=Reveries, a mind that stays awake",
        "StartLimitIntervalSec=600",
        # More than the crashes after which it wakes in safe mode: that start must still be made.
        f"StartLimitBurst={2 * CRASHES_UNTIL_SAFE}",
        "",
        "[Service]",
        "Type=notify",
        "NotifyAccess=main",
        f"ExecStart={python} -m reveries wake --foreground",
        f"ExecStop=-{python} -m reveries sleep",
        *(f"Environment={_word(f'{name}={value}')}" for name, value in sorted(service.environment.items())),
        "Restart=on-failure",
        "RestartSec=5",
        f"RestartPreventExitStatus={' '.join(map(str, _NO_USE_TO_RESTART))}",
        "WatchdogSec=60",
        # Waking may read a large memory; falling asleep may ask the model a last time.
        "TimeoutStartSec=300",
        "TimeoutStopSec=180",
        # Where memory runs out, the kernel ends the model's process first: the mind lives on without it (E8).
        "OOMPolicy=continue",
        "UMask=0077",
        "LimitCORE=0",
        "",
        "# It may do this and no more. Not MemoryDenyWriteExecute: the loops of recall are compiled while it is awake.",
        *_HARDENING,
        f"ReadWritePaths={_word('-' + str(service.home))} {_word('-' + str(service.models))}",
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
    """The agent for macOS: awake from login on, begun anew after a crash."""
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


def _command_word(text: str) -> str:
    """One word of a command line in a unit file: there a dollar begins a variable."""
    return _word(text.replace("$", "$$"))


def _word(text: str) -> str:
    """One word of a unit file, taken literally: its specifiers doubled, quoted where needed."""
    literal = text.replace("%", "%%")
    if re.fullmatch(r"[\w%$=@:.,/+-]+", literal, re.ASCII):
        return literal
    return '"' + literal.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _is_below_tmp(*paths: Path) -> bool:
    return any(path.is_relative_to(folder) for path in paths for folder in (Path("/tmp"), Path("/var/tmp")))
