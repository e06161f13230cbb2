"""The whole checkup: from outside, and from inside by the running daemon or, without one, by an offline worker."""

from collections.abc import Callable

from reveries.client.checkup.daemon_check import DaemonFindings, check_daemon
from reveries.client.checkup.home_check import check_home, is_usable
from reveries.client.checkup.machine import CheckupMachine
from reveries.client.checkup.settings_check import check_settings_file, check_settings_targets
from reveries.client.offline_worker import checkup_offline
from reveries.config import Home
from reveries.errors import ReveriesError
from reveries.protocol import Checkup, Finding

_SEVERITIES = ("wrong", "watch", "note")


def run_checkup(
    home: Home, machine: CheckupMachine, inspect_offline: Callable[[], Checkup] = checkup_offline
) -> Checkup:
    """Run every check and return the findings, worst first. Never raises for a fault that is a finding."""
    settings, settings_findings = check_settings_file(home)
    findings = [*check_home(home, machine), *settings_findings]
    looked_at = ["the home", "the settings"]
    left_out: list[str] = []
    if settings is not None:
        findings += check_settings_targets(settings, home, machine)
        looked_at.append("what is installed")
    daemon = DaemonFindings([])
    if is_usable(findings):
        daemon = check_daemon(home, machine)
        findings += daemon.findings
        looked_at.append("the daemon")
    inside = daemon.checkup
    if inside is None:
        inside = _inspect_inside(findings, inspect_offline, left_out, has_settings=settings is not None)
    if inside is not None:
        findings += inside.findings
        looked_at += inside.looked_at
        left_out += inside.not_looked_at
    return Checkup(0, _sort_findings(findings), looked_at, left_out)


def _inspect_inside(
    findings: list[Finding], inspect_offline: Callable[[], Checkup], left_out: list[str], *, has_settings: bool
) -> Checkup | None:
    blocking = {
        "package-missing",
        "home-missing",
        "home-owner",
        "home-in-open-folder",
        "lock-not-file",
        "database-folder-missing",
        "disk-full",
    }
    if not is_usable(findings) or not has_settings or blocking & {finding.fault for finding in findings}:
        left_out.append("the memory and the models: first fix what is listed above")
        return None
    try:
        return inspect_offline()
    except ReveriesError as error:
        left_out.append(f"the memory and the models: {error}")
        return None


def _sort_findings(findings: list[Finding]) -> list[Finding]:
    """Sort by severity without duplicates; a general finding is dropped where a specific one says the same."""
    named = [finding for finding in findings if finding.fault != "degraded"]
    own = [
        finding
        for finding in findings
        if finding.fault == "degraded" and not any(known.sentence in finding.sentence for known in named)
    ]
    return sorted(dict.fromkeys([*named, *own]), key=lambda finding: _SEVERITIES.index(finding.severity))
