"""Projects as pages: where they stand, their tasks, questions, log and orientation."""

from reveries.client.features.knowledge import chunks_page
from reveries.client.render import Line, Page, Part, Style, bar, field, line, paragraph
from reveries.client.wording import ago, dollars, moment, plural, short_count
from reveries.protocol import (
    OrientationEntry,
    ProjectDetail,
    ProjectLine,
    QuestionEntry,
    StepEntry,
    TaskEntry,
    TaskTrace,
    TaskUndone,
    WorkEntry,
)
from reveries.safe_text import one_line

_NOTHING = "No projects yet. Begin one:  reveries project new Piano"
_TASK_STYLES: dict[str, tuple[str, Style]] = {
    "done": ("✓", "good"),
    "in_progress": ("▸", "accent"),
    "ready": ("·", ""),
    "blocked": ("‖", "warn"),
    "dropped": ("×", "dim"),
}
_RESTS = {
    "done": "everything is done",
    "waiting for you": "it waits for you",
    "budget": "its budget is used up",
    "rested": "it rests, and goes on soon",
    "interrupted": "you spoke; it goes on when you are done",
    "no model": "no model answers",
    "stuck": "nothing can go on by itself",
}


def projects_page(projects: list[ProjectLine], now: float) -> Page:
    """A block a project: how far it is, what comes, what it waits for."""
    if not projects:
        return [line(_NOTHING)]
    page: Page = []
    for one in projects:
        page += [*_project_head(one, now), line()]
    return page[:-1]


def _project_head(one: ProjectLine, now: float) -> Page:
    state = one.phase if one.state == "active" else one.state
    head = line(
        Part("● ", "good" if one.state == "active" else "dim"),
        Part(one_line(one.name), "strong"),
        Part(f"  {one_line(state)}  "),
        Part(f"{bar(one.percent / 100)} {one.percent} %", "dim"),
    )
    rows: Page = [head, *paragraph(one.goal or "It has no goal yet.", indent=2)]
    if one.next_task:
        rows.append(field("next", one_line(one.next_task)))
    if one.open_questions:
        asks = f"{plural(one.open_questions, 'question')} for you"
        rows.append(field("asks", Part(asks, "warn"), Part("  reveries questions", "dim")))
    rested = _RESTS.get(one.rested_because, one.rested_because)
    if rested and one.last_worked_at:
        rows.append(field("last worked", ago(one.last_worked_at, now), Part(f"  {one_line(rested)}", "dim")))
    if one.folder:
        rows.append(field("folder", one_line(one.folder, 120), Part("" if one.may_write else "  only read", "dim")))
    if one.tokens:
        rows.append(field("used", f"{short_count(one.tokens)} tokens", Part(f"  {dollars(one.dollars)}", "dim")))
    return rows


def project_page(detail: ProjectDetail, now: float, *, is_detailed: bool) -> Page:
    """In short: how far it is, what it waits for, what is uncertain. In detail: the page and every task too."""
    page = _project_head(detail.project, now)
    if detail.message:
        page += paragraph(detail.message, indent=2, style="dim")
    if detail.doubts:
        page += [
            line(),
            line(Part("  Uncertain, because of contradictions or of something that no longer holds:", "warn")),
        ]
        page += [row for doubt in detail.doubts for row in paragraph(f"- {doubt}", indent=4)]
    if detail.questions:
        page += [line(), *questions_page(detail.questions, now)]
    if is_detailed:
        page += [line(), *paragraph(detail.orientation, indent=2), line(), *tasks_page(detail.tasks)]
    else:
        page += _short_tasks(detail.tasks)
    return page


def _short_tasks(tasks: list[TaskEntry]) -> Page:
    done = [one for one in tasks if one.status == "done"]
    if not done:
        return []
    page: Page = [line(), line(Part(f"  Done: {len(done)} of {len(tasks)}. Lately:", "dim"))]
    for one in done[-3:]:
        page += [
            line(Part("  ✓ ", "good"), one_line(one.title)),
            *paragraph(_shorten(one.outcome), indent=6, style="dim"),
        ]
    return page


def _shorten(text: str, chars: int = 300) -> str:
    return one_line(text, chars)


def tasks_page(tasks: list[TaskEntry]) -> Page:
    """A block a task, in the order in which they were planned."""
    if not tasks:
        return [line("  No tasks yet: it plans when it works.")]
    page: Page = []
    for one in tasks:
        mark, style = _TASK_STYLES.get(one.status, ("?", ""))
        area = f"  {one_line(one.skill_area)}" if one.skill_area else ""
        page.append(line(Part(f"  {mark} ", style), Part(one_line(one.title), "strong"), Part(area, "dim")))
        if one.waits_for:
            page += paragraph(f"waits for {one.waits_for}", indent=6, style="warn")
        if one.flagged_because:
            page += paragraph(f"in doubt: {one.flagged_because}", indent=6, style="warn")
        if one.outcome:
            page += paragraph(_shorten(one.outcome, 600), indent=6, style="dim")
    return page


def questions_page(questions: list[QuestionEntry], now: float, how: str = 'reveries questions answer ID "..."') -> Page:
    """What it wants to know, oldest first, and how to answer."""
    if not questions:
        return [line("  It has no questions.")]
    page: Page = []
    for one in questions:
        held = f", {plural(one.blocked_tasks, 'task')} waiting" if one.blocked_tasks else ""
        told = f"  {one_line(one.project)}, {ago(one.asked_at, now)}{held}"
        page.append(line(Part(f"  {one_line(one.question_id)[:8]}", "accent"), Part(told, "dim")))
        page += paragraph(one.question, indent=4)
        if one.is_tainted:
            whose = f": {', '.join(one.sources)}" if one.sources else ""
            page += paragraph(f"(made of a text that you did not write{whose})", indent=4, style="dim")
        if one.context:
            page += paragraph(one.context, indent=6, style="dim")
    return [*page, line(Part(f"  {how}", "dim"))]


def log_page(log: list[WorkEntry], now: float) -> Page:
    """Newest last, as one reads a log."""
    return [
        line(
            Part(f"  {moment(one.happened_at)}  ", "dim"),
            Part(f"{one_line(one.action):<20} "),
            one_line(one.details, 200),
        )
        for one in reversed(log)
    ] or [line("  Nothing happened yet.")]


def trace_page(trace: TaskTrace) -> Page:
    """Steps in order, then what the outcome rests on, word for word."""
    page = tasks_page([trace.task])
    for one in trace.steps:
        page += _step_rows(one)
    if trace.audit:
        page += paragraph(f"audit: {trace.audit}", indent=6)
    if trace.failure:
        page += paragraph(f"last failure: {trace.failure}", indent=6, style="warn")
    if trace.rests_on:
        page += [line(Part("  It rests on:", "dim")), *chunks_page(trace.rests_on)]
    return page


def _step_rows(step: StepEntry) -> Page:
    """A call of a tool with its arguments and how it ended; of a call of the model the beginning of its answer."""
    told = "" if step.state in ("done", "") else f" ({step.state})"
    head = Part(f"      {step.attempt}. {one_line(step.tool)}{told}  ", "accent")
    if not step.reach:
        return [line(head, one_line(step.result, 160))]
    ended = f"  exit code {step.exit_code}, output {step.sha256[:12]}" if step.exit_code is not None else ""
    written = f"  {one_line(step.path, 80)} is {step.sha256[:12]}" if step.path else ""
    return [
        line(head, one_line(step.arguments, 120), Part(f"{ended}{written}", "dim")),
        *paragraph(one_line(step.result, 240), indent=10, style="dim"),
    ]


def undone_page(undone: TaskUndone) -> Page:
    """What a folder got back, and what was left alone."""
    if not undone.restored and not undone.left:
        return [line("  The folder is as it was before that task.")]
    page = [line(f"  As before “{one_line(undone.task)}” again: {plural(len(undone.restored), 'file')}.")]
    page += [line(Part(f"    {one_line(path, 160)}", "dim")) for path in undone.restored]
    if undone.left:
        page.append(line(Part("  Changed since, and left as they are:", "warn")))
        page += [line(f"    {one_line(path, 160)}") for path in undone.left]
    return page


def history_page(versions: list[OrientationEntry], now: float) -> Page:
    """Each version with what made it due, oldest first."""
    return [_version_line(one, now) for one in reversed(versions)]


def _version_line(one: OrientationEntry, now: float) -> Line:
    return line(
        Part(f"  {one.version:>3}  ", "accent"), Part(f"{ago(one.written_at, now)}  ", "dim"), one_line(one.trigger)
    )


def diff_page(versions: list[OrientationEntry], first: int, second: int) -> Page:
    """What stands in one version and not in the other, line by line."""
    import difflib

    texts = {one.version: one.text.splitlines() for one in versions}
    if first not in texts or second not in texts:
        return [line(f"  There are versions 1 to {max(texts, default=0)}.")]
    styles: dict[str, Style] = {"+": "good", "-": "bad"}
    rows = [row for row in difflib.ndiff(texts[first], texts[second]) if row[:1] in "+-"]
    return [line(Part(f"  {one_line(row)}", styles[row[0]])) for row in rows] or [line("  They say the same.")]
