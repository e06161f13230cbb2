"""What the notes of a project come to, on its status page: due days, sums, what does not go together, changes. Pure."""

from typing import TYPE_CHECKING, Final

from reveries.client.features.project_facts import fact_conflicts_page
from reveries.client.features.project_wording import describe_day
from reveries.client.render import Page, Part, Style, line, paragraph
from reveries.client.wording import plural
from reveries.protocol import FactConflicts
from reveries.safe_text import one_line

if TYPE_CHECKING:
    from reveries.protocol import NotesOverview, ProjectLine, TimelineEntry

_MOST_AHEAD: Final = 5
"""Days further ahead, on the short page."""
_DUE_STYLES: Final[dict[str, Style]] = {"overdue": "bad", "due": "warn"}


def describe_progress(project: "ProjectLine") -> str:
    """Say what of the goal is shown, and how much is left to do. How many tasks are done is no progress; where
    something is not shown or asked, something is left, though no task is open."""
    shown = f"{project.criteria_shown} of {plural(project.criteria, 'criterion', 'criteria')} shown, "
    open_tasks = project.tasks - project.tasks_done
    is_over = project.criteria_shown == project.criteria and not project.open_questions
    none_open = ("nothing left to do" if is_over else "no open task") if project.tasks else "no tasks"
    left = plural(open_tasks, "open task") if open_tasks else none_open
    return f"{shown if project.criteria else ''}{left}"


def notes_rows(notes: "NotesOverview", project: str, *, is_detailed: bool) -> Page:
    """Render the overview; nothing for a project without notes."""
    page = _timeline_rows(notes.timeline, is_detailed=is_detailed)
    if notes.conflicts:
        page += [line(), line(Part("  What does not go together:", "warn"))]
        page += fact_conflicts_page(FactConflicts(0, list(notes.conflicts)))
    if notes.changed or notes.in_doubt:
        page += [line(), line(Part("  Changed lately, and what rests on it:", "strong"))]
        page += [row for change in notes.changed for row in paragraph(change, indent=4)]
        page += [row for doubt in notes.in_doubt for row in paragraph(f"in doubt: {doubt}", indent=4, style="warn")]
    for item in notes.sums:
        subject = f"{one_line(item.subject, 60)}, " if item.subject else ""
        place = f"  {subject}{one_line(item.document, 80)}: {plural(item.count, 'row')}"
        page.append(line(Part(f"  sum {item.value:,.2f} {item.unit}"), Part(place, "dim")))
    counts = []
    if notes.open_ends:
        counts.append(f"{plural(notes.open_ends, 'open end')} (reveries project facts {project} --kind open)")
    if notes.proposals:
        counts.append(f"{plural(notes.proposals, 'proposal')} for tasks (reveries project proposals {project})")
    return [*page, *(line(Part(f"  {one_line(count, 200)}", "dim")) for count in counts)]


def _timeline_rows(timeline: "tuple[TimelineEntry, ...]", *, is_detailed: bool) -> Page:
    near = [entry for entry in timeline if entry.due != "ahead"]
    ahead = [entry for entry in timeline if entry.due == "ahead"]
    shown = ahead if is_detailed else ahead[:_MOST_AHEAD]
    page: Page = [line()] if near or shown else []
    for entry in (*near, *shown):
        place = f"  {one_line(entry.document, 80)}:{entry.line}" if entry.line else ""
        head = Part(f"  {entry.due:<8} {describe_day(entry.value)}", _DUE_STYLES.get(entry.due, "accent"))
        page += [line(head, Part(place, "dim")), *paragraph(entry.text, indent=11)]
    if len(ahead) > len(shown):
        page.append(line(Part(f"  and {plural(len(ahead) - len(shown), 'day')} further ahead", "dim")))
    return page
