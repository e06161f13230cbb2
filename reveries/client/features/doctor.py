"""`reveries doctor`: checks from outside, and from inside by the daemon or, while none runs, by an offline worker."""

from collections.abc import Callable, Sequence

import click
import msgspec

from reveries import protocol
from reveries.client.answers import json_option
from reveries.client.checkup.daemon_check import DaemonFindings, check_daemon
from reveries.client.checkup.home_check import check_home, is_usable
from reveries.client.checkup.machine import CheckupMachine
from reveries.client.checkup.repairs import repair
from reveries.client.checkup.settings_check import check_settings_file, check_settings_targets
from reveries.client.offline_worker import checkup_offline
from reveries.client.render import Page, Part, Style, line, paragraph, show, show_json
from reveries.client.wording import plural
from reveries.config import Home, find_home
from reveries.errors import ReveriesError
from reveries.protocol import Checkup, Finding
from reveries.safe_text import one_line


class Diagnosis(msgspec.Struct, frozen=True):
    """`mended`: a sentence for each fix that --fix applied."""

    findings: list[protocol.Finding]
    looked_at: list[str]
    not_looked_at: list[str]
    mended: list[str]


_SEVERITIES = ("wrong", "watch", "note")
_MARKS: dict[str, tuple[str, Style]] = {"wrong": ("✗", "bad"), "watch": ("!", "warn"), "note": ("·", "dim")}


@click.command("doctor", short_help="Find problems, and say how to fix them.")
@click.option("--fix", is_flag=True, help="Fix what is safe to fix: file modes, a stale socket, partial files.")
@json_option(Diagnosis)
def command(fix: bool, as_json: bool) -> int:
    """Check the home, the settings, the daemon, the memory and the models for problems, and say how to fix each.

    Exits with 1 if there is something to do. All faults that it knows: docs/reference/faults.md.
    """
    home, machine = find_home(), CheckupMachine()
    checkup = run_checkup(home, machine)
    done: list[str] = []
    if fix and any(finding.is_mendable for finding in checkup.findings):
        done = repair(checkup.findings, home, machine)
        checkup = run_checkup(home, machine)
    if as_json:
        show_json(Diagnosis(checkup.findings, checkup.looked_at, checkup.not_looked_at, done))
    else:
        show(doctor_page(checkup, done))
    return int(any(finding.severity != "note" for finding in checkup.findings))


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


def doctor_page(checkup: Checkup, done: Sequence[str] = ()) -> Page:
    """Render the findings with their next steps, what was fixed, and what was checked."""
    page: Page = [line(Part("✓ ", "good"), one_line(fix, 400)) for fix in done]
    for finding in checkup.findings:
        page += _finding_rows(finding)
    count = sum(finding.severity != "note" for finding in checkup.findings)
    verdict = f"{plural(count, 'problem')} found." if count else "No problems found."
    page += [line(Part(verdict, "bad" if count else "good"), Part(f" Checked: {', '.join(checkup.looked_at)}.", "dim"))]
    for left_out in checkup.not_looked_at:
        page += paragraph(f"Not checked: {left_out}.".replace("..", "."), style="dim")
    if any(finding.is_mendable for finding in checkup.findings) and not done:
        page.append(line(Part("  Some of this can be fixed automatically: reveries doctor --fix", "dim")))
    return page


def _finding_rows(finding: Finding) -> Page:
    mark, style = _MARKS[finding.severity]
    place = f"  {one_line(finding.where, 200)}" if ":" in finding.where else ""
    return [
        line(Part(f"{mark} ", style), Part(finding.fault, "strong"), Part(place, "dim")),
        *paragraph(one_line(finding.sentence, 1000), indent=4),
        *paragraph(one_line(finding.advice, 600), indent=4, style="accent"),
    ]
