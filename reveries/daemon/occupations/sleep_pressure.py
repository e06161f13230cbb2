"""When deep sleep is due (R-97, R-98, R-101). Pure."""

from dataclasses import dataclass

from reveries.config import MemorySettings
from reveries.memory.sleep.owner_questions import Question


@dataclass(frozen=True, slots=True)
class SleepPressure:
    """The conditions for a pass."""

    unprocessed: int
    seconds_since_last: float
    """Since the last pass ended, or since the start if there was none."""
    is_talking: bool
    is_thinking: bool
    is_out_of_budget: bool = False
    """Whether the budget of deep sleep is used up. Light sleep needs no model and goes on."""
    asks_owner: bool = False
    """Whether an earlier pass waits for the owner's answer."""
    is_only_thoughts: bool = False
    """Nothing but fresh thoughts waits, which a capable model reads with the next conversation."""


def why_sleep_is_due(pressure: SleepPressure, settings: MemorySettings) -> str | None:
    """Return "volume" or "time" if a pass should begin now, else None. Without anything to process, none is due."""
    if pressure.is_talking or pressure.is_thinking or pressure.is_out_of_budget or pressure.asks_owner:
        return None
    if pressure.unprocessed == 0:
        return None
    if pressure.unprocessed > settings.consolidation_volume:
        return "volume"
    if not pressure.is_only_thoughts and pressure.seconds_since_last >= settings.consolidation_interval_hours * 3600:
        return "time"
    return None


def sleep_question_notice(question: Question) -> str:
    """Build the notice that a pass waits for the owner's answer, and how to give it."""
    how = f"reveries consolidate confirm {question.run_id}, or: reveries consolidate drop {question.run_id}"
    return f"Deep sleep waits for your answer. {question.text} {how}"
