"""`reveries doctor`: checks from outside, and from inside by the daemon or, while none runs, by an offline worker."""

from collections.abc import Callable, Sequence
from pathlib import Path

import click
import msgspec

from reveries import protocol
from reveries.client import checkup
from reveries.client.answers import json_option
from reveries.client.checkup.machine import CheckupMachine
from reveries.client.checkup.place import Place, Repair
from reveries.client.offline_worker import checkup_offline
from reveries.client.render import Page, Part, Style, line, paragraph, show, show_json
from reveries.client.wording import plural
from reveries.config import Settings, find_home
from reveries.errors import ReveriesError
from reveries.protocol import Checkup, Finding, faults_in, modules_in
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
    place = Place(find_home(), CheckupMachine())
    report = run_checkup(place)
    done: list[str] = []
    if fix and any(finding.is_mendable for finding in report.findings):
        done = repair(report.findings, place)
        report = run_checkup(Place(place.home, place.machine))
    if as_json:
        show_json(Diagnosis(report.findings, report.looked_at, report.not_looked_at, done))
    else:
        show(doctor_page(report, done))
    return int(any(finding.severity != "note" for finding in report.findings))


def run_checkup(place: Place, inspect_offline: Callable[[], Checkup] = checkup_offline) -> Checkup:
    """Run every check and return the findings, worst first. Never raises for a fault that is a finding."""
    findings = [
        found for module in modules_in(checkup) if (check := getattr(module, "check", None)) for found in check(place)
    ]
    has_settings = isinstance(place.settings, Settings)
    named = {"what is installed": has_settings, "the daemon": place.is_usable}
    looked_at = ["the home", "the settings", *(what for what, is_checked in named.items() if is_checked)]
    inside = place.answer.checkup if place.is_usable and place.answer else None
    if inside is None:
        faults = faults_in(checkup)
        if not place.is_usable or not has_settings or any(faults[found.fault].hides_memory for found in findings):
            why = "first fix what is listed above"
        else:
            try:
                inside, why = inspect_offline(), ""
            except ReveriesError as error:
                why = str(error)
        if inside is None:
            inside = Checkup(0, [], [], [f"the memory and the models: {why}"])
    ordered = _sort_findings([*findings, *inside.findings])
    return Checkup(0, ordered, [*looked_at, *inside.looked_at], inside.not_looked_at)


def repair(findings: Sequence[Finding], place: Place) -> list[str]:
    """Repair what can be repaired; a sentence for each repair, or for its failure. Nothing is removed that may be of
    use or might not be ours."""
    repairs: dict[str, Repair] = {}
    for module in modules_in(checkup):
        repairs |= getattr(module, "REPAIRS", {})
    done: list[str] = []
    for fault, where in dict.fromkeys((finding.fault, finding.where) for finding in findings if finding.is_mendable):
        try:
            done += repairs[fault](Path(where), place)
        except OSError as error:
            done.append(f"Not done ({fault}): {error.strerror or error}.")
    return done


def _sort_findings(findings: list[Finding]) -> list[Finding]:
    """Sort by severity without duplicates; a general finding is dropped where a specific one says the same."""
    named = [finding for finding in findings if finding.fault != "degraded"]
    own = [
        finding
        for finding in findings
        if finding.fault == "degraded"
        and not any(named_finding.sentence in finding.sentence for named_finding in named)
    ]
    return sorted(dict.fromkeys([*named, *own]), key=lambda finding: _SEVERITIES.index(finding.severity))


def doctor_page(report: Checkup, done: Sequence[str] = ()) -> Page:
    """Render the findings with their next steps, what was fixed, and what was checked."""
    page: Page = [line(Part("✓ ", "good"), one_line(fix, 400)) for fix in done]
    for finding in report.findings:
        page += _finding_rows(finding)
    count = sum(finding.severity != "note" for finding in report.findings)
    verdict = f"{plural(count, 'problem')} found." if count else "No problems found."
    page += [line(Part(verdict, "bad" if count else "good"), Part(f" Checked: {', '.join(report.looked_at)}.", "dim"))]
    for left_out in report.not_looked_at:
        page += paragraph(f"Not checked: {left_out}.".replace("..", "."), style="dim")
    if any(finding.is_mendable for finding in report.findings) and not done:
        page.append(line(Part("  Some of this can be fixed automatically: reveries doctor --fix", "dim")))
    return page


def _finding_rows(finding: Finding) -> Page:
    mark, style = _MARKS[finding.severity]
    place = f"  {one_line(finding.where, 200)}" if finding.where and finding.where not in finding.sentence else ""
    return [
        line(Part(f"{mark} ", style), Part(finding.fault, "strong"), Part(place, "dim")),
        *paragraph(one_line(finding.sentence, 1000), indent=4),
        *paragraph(one_line(finding.advice, 600), indent=4, style="accent"),
    ]
