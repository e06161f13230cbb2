"""Notices about the mind for the owner: when a client attaches, and as long as they hold."""

from reveries.daemon.due_notes import due_now, take_reminders
from reveries.daemon.lifecycle.backup_keeper import restore_notices
from reveries.daemon.mind import Mind
from reveries.daemon.occupations.sleep_pressure import sleep_question_notice
from reveries.monologue.ports import ThoughtState
from reveries.safe_text import one_line


async def attach_notices(mind: Mind) -> list[str]:
    """Return wellbeing notices (RA-40), problems, exhausted budgets, and reminders and notes not shown yet."""
    lasting = await _mind_notices(mind)
    return [*lasting, *mind.health.problems(), *await take_reminders(mind), *await mind.thinking.notes_to_show()]


async def lasting_notices(mind: Mind) -> list[str]:
    """Return the notices that stay until their cause is gone, and what is due."""
    return [*await _mind_notices(mind), *await due_now(mind)]


async def _mind_notices(mind: Mind) -> list[str]:
    reembedding = mind.memory.reembedding.notice
    question = await mind.memory.sleep_question()
    return [
        *restore_notices(mind.database.path, mind.clock.now()),
        *await mind.journal.notices(),
        *([reembedding] if reembedding else []),
        *([] if question is None else [sleep_question_notice(question)]),
        *_budget_notices(mind),
        *await _project_notices(mind),
    ]


async def _project_notices(mind: Mind) -> list[str]:
    """Return for each project what rests on something that changed, until it is done again or dropped."""
    store, notices = mind.projects.store, []
    for project in await store.projects():
        if project.state != "active":
            continue
        tasks = [task for task in await store.tasks.of_project(project.id) if task.flagged_because]
        drafts = [draft for draft in await store.drafts.of_project(project.id) if draft.flagged_because]
        if count := len(tasks) + len(drafts):
            things = "Something" if count == 1 else f"{count} things"
            name = one_line(project.name, 60)
            notices.append(
                f"{things} in {name} rest{'s' * (count == 1)} on what changed: reveries project status {name}"
            )
    return notices


def _budget_notices(mind: Mind) -> list[str]:
    """Return what is paused because a budget limit is reached, and when it resumes (G4)."""
    waits = []
    if mind.monologue.state is ThoughtState.QUIET:
        waits.append(f"It does not think for now. {mind.monologue.quiet_reason}")
    if why := mind.sleep.why_waiting:
        waits.append(f"Deep sleep waits; nothing is lost. {why}")
    return waits
