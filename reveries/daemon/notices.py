"""What the owner should see of the mind: when attaching, and for as long as it is so."""

from reveries.daemon.backup_keeper import restore_notices
from reveries.daemon.mind import Mind
from reveries.daemon.sleep_pressure import sleep_question_notice
from reveries.monologue.ports import ThoughtState


async def attach_notices(mind: Mind) -> list[str]:
    """Wellbeing (RA-40), whatever is degraded, what waits for money, and the notes that nobody has seen yet."""
    return [*await lasting_notices(mind), *mind.health.problems(), *await mind.thinking.notes_to_show()]


async def lasting_notices(mind: Mind) -> list[str]:
    """What stays until it is over."""
    changed = mind.memory.reembedding.notice
    question = await mind.memory.sleep_question()
    return [
        *restore_notices(mind.database.path, mind.clock.now()),
        *await mind.journal.notices(),
        *([changed] if changed else []),
        *([] if question is None else [sleep_question_notice(question)]),
        *_budget_notices(mind),
    ]


def _budget_notices(mind: Mind) -> list[str]:
    """What is quiet because a limit is reached, and when it goes on (G4)."""
    waits = []
    if mind.monologue.state is ThoughtState.QUIET:
        waits.append(f"It does not think for now. {mind.monologue.quiet_reason}")
    if why := mind.sleep.why_waiting:
        waits.append(f"Deep sleep waits; nothing is lost. {why}")
    return waits
