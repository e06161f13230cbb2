"""`reveries doctor`."""

from collections.abc import Sequence

import click

from reveries.client.render import Page, Part, Style, line, paragraph
from reveries.client.wording import plural
from reveries.protocol import Checkup, Finding
from reveries.safe_text import one_line


@click.command("doctor", short_help="Find problems, and say how to fix them.")
@click.option("--fix", is_flag=True, help="Fix what is safe to fix: file modes, a stale socket, partial files.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(fix: bool, as_json: bool) -> int:
    """Check the home, the settings, the daemon, the memory and the models for problems, and say how to fix each.

    Exits with 1 if there is something to do. All faults that it knows: docs/reference/faults.md.
    """
    from reveries.client.checkup.full_checkup import run_checkup
    from reveries.client.checkup.machine import CheckupMachine
    from reveries.client.checkup.repairs import repair
    from reveries.client.json_answers import Diagnosis
    from reveries.client.render import show, write_struct
    from reveries.config import find_home

    home, machine = find_home(), CheckupMachine()
    checkup = run_checkup(home, machine)
    done: list[str] = []
    if fix and any(finding.is_mendable for finding in checkup.findings):
        done = repair(checkup.findings, home, machine)
        checkup = run_checkup(home, machine)
    if as_json:
        write_struct(Diagnosis(checkup.findings, checkup.looked_at, checkup.not_looked_at, done))
    else:
        show(doctor_page(checkup, done))
    return int(any(finding.severity != "note" for finding in checkup.findings))


_MARKS: dict[str, tuple[str, Style]] = {"wrong": ("✗", "bad"), "watch": ("!", "warn"), "note": ("·", "dim")}


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
