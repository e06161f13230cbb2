"""`reveries doctor` for people."""

from collections.abc import Sequence

from reveries.client.render import Page, Part, Style, line, paragraph
from reveries.client.wording import plural
from reveries.plaintext import one_line
from reveries.protocol import Checkup, Finding

_MARKS: dict[str, tuple[str, Style]] = {"wrong": ("✗", "bad"), "watch": ("!", "warn"), "note": ("·", "dim")}


def doctor_page(checkup: Checkup, done: Sequence[str] = ()) -> Page:
    """Each finding with its next step, what was mended, what was looked at."""
    page: Page = [line(Part("✓ ", "good"), one_line(deed, 400)) for deed in done]
    for finding in checkup.findings:
        page += _finding_rows(finding)
    count = sum(finding.severity != "note" for finding in checkup.findings)
    told = f"{plural(count, 'thing')} to put right." if count else "Nothing is wrong."
    page += [line(Part(told, "bad" if count else "good"), Part(f" Looked at {', '.join(checkup.looked_at)}.", "dim"))]
    for left_out in checkup.not_looked_at:
        page += paragraph(f"Not looked at: {left_out}.".replace("..", "."), style="dim")
    if any(finding.is_mendable for finding in checkup.findings) and not done:
        page.append(line(Part("  Some of it can be mended: reveries doctor --fix", "dim")))
    return page


def _finding_rows(finding: Finding) -> Page:
    mark, style = _MARKS[finding.severity]
    place = f"  {one_line(finding.where, 200)}" if ":" in finding.where else ""
    return [
        line(Part(f"{mark} ", style), Part(finding.fault, "strong"), Part(place, "dim")),
        *paragraph(one_line(finding.sentence, 1000), indent=4),
        *paragraph(one_line(finding.advice, 600), indent=4, style="accent"),
    ]
