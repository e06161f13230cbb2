"""Notices about the mind for the owner: when a client attaches, and as long as they hold."""

from reveries.daemon.backup_keeper import restore_notices
from reveries.daemon.mind import Mind
from reveries.daemon.sleep_pressure import sleep_question_notice
from reveries.monologue.ports import ThoughtState


async def attach_notices(mind: Mind) -> list[str]:
    """Return wellbeing notices (RA-40), problems, exhausted budgets, and notes that were not shown yet."""
    return [*await lasting_notices(mind), *mind.health.problems(), *await mind.thinking.notes_to_show()]


async def lasting_notices(mind: Mind) -> list[str]:
    """Return the notices that stay until their cause is gone."""
    reembedding = mind.memory.reembedding.notice
    question = await mind.memory.sleep_question()
    return [
        *restore_notices(mind.database.path, mind.clock.now()),
        *await mind.journal.notices(),
        *([reembedding] if reembedding else []),
        *([] if question is None else [sleep_question_notice(question)]),
        *_budget_notices(mind),
    ]


def _budget_notices(mind: Mind) -> list[str]:
    """Return what is paused because a budget limit is reached, and when it resumes (G4)."""
    waits = []
    if mind.monologue.state is ThoughtState.QUIET:
        waits.append(f"It does not think for now. {mind.monologue.quiet_reason}")
    if why := mind.sleep.why_waiting:
        waits.append(f"Deep sleep waits; nothing is lost. {why}")
    return waits
