"""Reminders of due tasks: made outside of quiet hours, shown when a client attaches; the status has what is due."""

from reveries.daemon.mind import Mind
from reveries.monologue.permission import find_quiet_end, parse_quiet_span
from reveries.safe_text import one_line


async def make_reminders(mind: Mind) -> str | None:
    """Make the reminders of today; what is due begins a wake. Return what was done, None for nothing."""
    if _is_quiet(mind) or not (made := await mind.projects.store.reminders.make()):
        return None
    for project in {item.task.project_id for item in await mind.projects.store.reminders.due_tasks()}:
        await mind.projects.store.let_go_on(project)
    mind.projects.consider()
    return f"{made} made"


async def take_reminders(mind: Mind) -> list[str]:
    """Return the reminders that were not shown yet, each once; none in quiet hours."""
    if _is_quiet(mind):
        return []
    await mind.projects.store.reminders.make()
    return [one_line(text, 300) for text in await mind.projects.store.reminders.take()]


async def due_now(mind: Mind) -> list[str]:
    """Return what is due today or tomorrow."""
    return [one_line(item.describe(), 300) for item in await mind.projects.store.reminders.due_tasks()]


def _is_quiet(mind: Mind) -> bool:
    spans = [span for text in mind.settings.monologue.quiet_hours if (span := parse_quiet_span(text)) is not None]
    return find_quiet_end(spans, mind.clock.now(), None) is not None
