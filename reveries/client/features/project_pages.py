"""Output about projects: status, tasks, questions, log and orientation. Pure."""

from reveries import protocol
from reveries.answer_wording import describe_answer
from reveries.client.answers import page_of
from reveries.client.features.knowledge import chunks_page
from reveries.client.features.project_notes import describe_progress, notes_rows
from reveries.client.features.project_wording import describe_action, describe_details, describe_due, describe_trigger
from reveries.client.render import Line, Page, Part, Style, field, line, paragraph
from reveries.client.wording import ago, dollars, moment, plural, short_count
from reveries.protocol import (
    CriterionEntry,
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

_NOTHING = "No projects yet. Create one:  reveries project new Piano"
_TASK_STYLES: dict[str, tuple[str, Style]] = {
    "done": ("✓", "good"),
    "in_progress": ("▸", "accent"),
    "ready": ("·", ""),
    "blocked": ("‖", "warn"),
    "dropped": ("×", "dim"),
}
_RESTS = {
    "keeps order": "what is to be done is yours",
    "done": "all tasks are done",
    "waiting for you": "it waits for your answer",
    "budget": "its budget is used up",
    "rested": "it is idle, and continues soon",
    "interrupted": "it was interrupted, and goes on",
    "no model": "no model is available",
    "stuck": "no task can continue without you",
}


def projects_page(projects: list[ProjectLine], now: float) -> Page:
    """One block per project: progress, next task, open questions."""
    if not projects:
        return [line(_NOTHING)]
    page: Page = []
    for project in projects:
        page += [*_project_rows(project, now), line()]
    return page[:-1]


def _project_rows(project: ProjectLine, now: float) -> Page:
    state = project.phase or project.state if project.state == "active" else project.state
    head = line(
        Part("● ", "good" if project.state == "active" else "dim"),
        Part(one_line(project.name), "strong"),
        Part(f"  {one_line(state)}  "),
        Part(describe_progress(project), "dim"),
    )
    rows: Page = [head, *paragraph(project.goal or "No goal yet.", indent=2)]
    if project.next_task:
        rows.append(field("next", one_line(project.next_task)))
    if project.open_questions:
        asks = f"{plural(project.open_questions, 'question')} for you"
        rows.append(field("asks", Part(asks, "warn"), Part("  reveries questions", "dim")))
    rested = _RESTS.get(project.rested_because, project.rested_because)
    if rested and project.last_worked_at:
        rows.append(field("last worked", ago(project.last_worked_at, now), Part(f"  {one_line(rested)}", "dim")))
    if project.folder:
        rows.append(
            field("folder", one_line(project.folder, 120), Part("" if project.may_write else "  read-only", "dim"))
        )
    if project.tokens:
        rows.append(
            field("used", f"{short_count(project.tokens)} tokens", Part(f"  {dollars(project.dollars)}", "dim"))
        )
    return rows


@page_of(protocol.ProjectDetail, "project")
def project_page(detail: ProjectDetail, now: float, *, is_detailed: bool = True) -> Page:
    """Render a project: progress, questions, doubts; with `is_detailed` also its orientation and every task."""
    page = _project_rows(detail.project, now)
    page += paragraph(detail.ability, indent=2, style="dim") if detail.ability else []
    page += _criterion_rows(detail)
    page += _coherence_rows(detail, is_detailed=is_detailed)
    if detail.message:
        page += paragraph(detail.message, indent=2, style="dim")
    if detail.doubts:
        page += [
            line(),
            line(Part("  Uncertain, because of contradictions, or because it is based on something invalid:", "warn")),
        ]
        page += [row for doubt in detail.doubts for row in paragraph(f"- {doubt}", indent=4)]
    page += notes_rows(detail.notes, detail.project.name, is_detailed=is_detailed)
    if detail.questions:
        page += [line(), *questions_page(detail.questions, now)]
    if is_detailed:
        page += [line(), *paragraph(detail.orientation, indent=2), line(), *tasks_page(detail.tasks)]
    else:
        page += _recent_task_rows(detail.tasks)
    return page


def _criterion_rows(detail: ProjectDetail) -> Page:
    """Render what of the goal is reached, with the task that shows it."""
    if not detail.criteria:
        return []
    shown = [criterion for criterion in detail.criteria if criterion.shown_by and not criterion.flagged_because]
    counted = plural(len(detail.criteria), "criterion", "criteria")
    page: Page = [line(), line(Part(f"  {len(shown)} of {counted} shown to be reached:", "strong"))]
    return page + [row for criterion in detail.criteria for row in _criterion_row(criterion)]


def _criterion_row(criterion: CriterionEntry) -> Page:
    if criterion.flagged_because:
        return paragraph(f"? {criterion.text} (in doubt: it {criterion.flagged_because})", indent=4, style="warn")
    if criterion.shown_by:
        return paragraph(f"✓ {criterion.text} (by: {criterion.shown_by})", indent=4)
    return paragraph(f"· {criterion.text}", indent=4)


def _coherence_rows(detail: ProjectDetail, *, is_detailed: bool) -> Page:
    """Render how the tasks keep to the goal; on the short page only where they do not."""
    rows: Page = []
    if detail.coherence is not None and (is_detailed or detail.coherence < 1.0):
        serving = round(detail.coherence * detail.begun)
        serving_text = f"  {serving} of {plural(detail.begun, 'task')} begun serve the goal"
        rows.append(field("coherence", f"{detail.coherence:.0%}", Part(serving_text, "dim")))
    for note in detail.coherence_notes:
        rows += paragraph(note, indent=2, style="warn")
    return rows


def _recent_task_rows(tasks: list[TaskEntry]) -> Page:
    done = [task for task in tasks if task.status == "done"]
    counted = sum(task.status != "dropped" for task in tasks)
    if not done:
        return []
    page: Page = [line(), line(Part(f"  Done: {len(done)} of {counted}. The latest:", "dim"))]
    for task in done[-3:]:
        page += [
            line(Part("  ✓ ", "good"), one_line(task.title)),
            *paragraph(_cut_line(task.outcome), indent=6, style="dim"),
        ]
    return page


def _cut_line(text: str, chars: int = 300) -> str:
    return one_line(text, chars)


def tasks_page(tasks: list[TaskEntry]) -> Page:
    """One block per task, in the planned order."""
    if not tasks:
        return [line("  No tasks yet.")]
    page: Page = []
    for task in tasks:
        mark, style = _TASK_STYLES.get(task.status, ("?", ""))
        area = f"  {one_line(task.skill_area)}" if task.skill_area else ""
        page.append(line(Part(f"  {mark} ", style), Part(one_line(task.title), "strong"), Part(area, "dim")))
        if task.due or task.is_mine or task.repeats:
            notes = filter(None, ("yours" if task.is_mine else "", describe_due(task.due), task.repeats))
            page.append(line(Part(f"      {', '.join(notes)}", "dim")))
        if task.waits_for:
            page += paragraph(f"waits for {task.waits_for}", indent=6, style="warn")
        if task.flagged_because:
            page += paragraph(f"in doubt: {task.flagged_because}", indent=6, style="warn")
        if task.outcome:
            page += paragraph(_cut_line(task.outcome, 600), indent=6, style="dim")
    return page


@page_of(protocol.QuestionAnswered, "answered")
def answered_page(answered: protocol.QuestionAnswered) -> Page:
    """Render that the answer was taken, and what goes on because of it."""
    goes_on = ""
    if answered.resumed_tasks:
        verb = "goes on" if answered.resumed_tasks == 1 else "go on"
        goes_on = f" {plural(answered.resumed_tasks, 'task')} that waited for it {verb} when no one talks."
    return [line(f"Noted for {one_line(answered.project)}.{goes_on}")]


def questions_page(questions: list[QuestionEntry], now: float, how: str = 'reveries questions answer ID "..."') -> Page:
    """Render open questions, oldest first, and how to answer."""
    if not questions:
        return [line("  There are no questions.")]
    page: Page = []
    for question in questions:
        blocked = f", {plural(question.blocked_tasks, 'task')} waiting" if question.blocked_tasks else ""
        details = f"  {one_line(question.project)}, {ago(question.asked_at, now)}{blocked}"
        page.append(line(Part(f"  {one_line(question.question_id)[:8]}", "accent"), Part(details, "dim")))
        page += paragraph(question.question, indent=4)
        if question.is_tainted:
            whose = f": {', '.join(question.sources)}" if question.sources else ""
            page += paragraph(f"(based on a text not written by you{whose})", indent=4, style="dim")
        if question.context:
            page += paragraph(question.context, indent=6, style="dim")
    return [*page, line(Part(f"  {how}", "dim"))]


def project_log_page(log: list[WorkEntry], now: float) -> Page:
    """Render the work log, newest last."""
    return [
        line(
            Part(f"  {moment(entry.happened_at)}  ", "dim"),
            Part(f"{one_line(describe_action(entry.action), 40):<24} "),
            one_line(describe_details(entry.action, entry.details), 200),
        )
        for entry in reversed(log)
    ] or [line("  Nothing happened yet.")]


@page_of(protocol.TaskTrace)
def trace_page(trace: TaskTrace) -> Page:
    """Render the steps of a task in order, then the knowledge that its outcome is based on."""
    page = tasks_page([trace.task])
    for step in trace.steps:
        page += _step_rows(step)
    if trace.audit:
        page += paragraph(f"audit: {trace.audit}", indent=6)
    if trace.failure:
        page += paragraph(f"last failure: {trace.failure}", indent=6, style="warn")
    if trace.rests_on:
        page += [line(Part("  Based on:", "dim")), *chunks_page(trace.rests_on)]
    return page


def _step_rows(step: StepEntry) -> Page:
    """Render a tool call with arguments and result; for a model call, the beginning of the answer."""
    state = "" if step.state in ("done", "") else f" ({step.state})"
    head = Part(f"      {step.attempt}. {one_line(step.tool)}{state}  ", "accent")
    if not step.reach:
        return [line(head, one_line(describe_answer(step.result), 160))]
    ended = f"  exit code {step.exit_code}, output {step.sha256[:12]}" if step.exit_code is not None else ""
    written = f"  {one_line(step.path, 80)} is {step.sha256[:12]}" if step.path else ""
    return [
        line(head, one_line(step.arguments, 120), Part(f"{ended}{written}", "dim")),
        *paragraph(one_line(step.result, 240), indent=10, style="dim"),
    ]


@page_of(protocol.TaskUndone)
def task_undone_page(undone: TaskUndone) -> Page:
    """Render which files were restored, and which were left unchanged."""
    if not undone.restored and not undone.left:
        return [line("  The folder already is as it was before that task.")]
    page = [line(f"  Restored {plural(len(undone.restored), 'file')} to the state before “{one_line(undone.task)}”.")]
    page += [line(Part(f"    {one_line(path, 160)}", "dim")) for path in undone.restored]
    if undone.left:
        page.append(line(Part("  Changed since then, so not restored:", "warn")))
        page += [line(f"    {one_line(path, 160)}") for path in undone.left]
    return page


def orientation_history_page(versions: list[OrientationEntry], now: float) -> Page:
    """One line per version with its trigger, oldest first."""
    return [_version_line(version, now) for version in reversed(versions)]


def _version_line(version: OrientationEntry, now: float) -> Line:
    return line(
        Part(f"  {version.version:>3}  ", "accent"),
        Part(f"{ago(version.written_at, now)}  ", "dim"),
        one_line(describe_trigger(version.trigger)),
    )


def orientation_diff_page(versions: list[OrientationEntry], first: int, second: int) -> Page:
    """Render the lines that differ between two versions."""
    import difflib

    texts = {version.version: version.text.splitlines() for version in versions}
    if first not in texts or second not in texts:
        return [line(f"  There are versions 1 to {max(texts, default=0)}.")]
    styles: dict[str, Style] = {"+": "good", "-": "bad"}
    rows = [row for row in difflib.ndiff(texts[first], texts[second]) if row[:1] in "+-"]
    return [line(Part(f"  {one_line(row)}", styles[row[0]])) for row in rows] or [line("  They are the same.")]
