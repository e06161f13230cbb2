"""Chooses what runs next: the owner's words, then sleep, then work, then thought (DESIGN-projects, section 3). Pure.

A local model never serves two of these at once: what is chosen runs alone until it is done or the owner speaks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

QUIET_SECONDS = 60.0
"""No work begins by itself so soon after the owner's last words, so that the next reply does not wait for it."""


class Occupation(StrEnum):
    """What the mind can do."""

    TALK = "talk"
    SLEEP = "sleep"
    WORK = "work"
    THINK = "think"


@dataclass(frozen=True, slots=True)
class WorkableProject:
    """What the choice needs to know of a project."""

    id: str
    can_work: bool
    """Whether it is active, has a goal and has something to do."""
    last_worked_at: float | None
    was_asked_for: bool = False
    """Whether the owner asked for work on it now."""


@dataclass(frozen=True, slots=True)
class Situation:
    """All that the choice depends on."""

    is_talking: bool
    seconds_since_words: float
    is_sleep_due: bool
    held_because: str
    """Why nothing may start by itself (pause, quiet hours, battery, disk); empty if it may."""
    is_enabled: bool
    """Whether work without a request is enabled."""
    now: float
    seconds_between_wakes: float
    projects: Sequence[WorkableProject] = ()


@dataclass(frozen=True, slots=True)
class NextOccupation:
    occupation: Occupation
    project_id: str = ""


def choose_next(situation: Situation) -> NextOccupation:
    """Choose talk, then sleep that is due, then work that the owner asked for, then the project that waited longest,
    then thought."""
    if situation.is_talking:
        return NextOccupation(Occupation.TALK)
    if situation.is_sleep_due and not situation.held_because:
        return NextOccupation(Occupation.SLEEP)
    asked = [one for one in situation.projects if one.was_asked_for]
    if asked:
        return NextOccupation(Occupation.WORK, _longest_unserved(asked).id)
    is_quiet = situation.seconds_since_words >= QUIET_SECONDS
    if situation.held_because or not situation.is_enabled or not is_quiet:
        return NextOccupation(Occupation.THINK)
    due = [one for one in situation.projects if one.can_work and _has_rested(one, situation)]
    if due:
        return NextOccupation(Occupation.WORK, _longest_unserved(due).id)
    return NextOccupation(Occupation.THINK)


def _has_rested(project: WorkableProject, situation: Situation) -> bool:
    last = project.last_worked_at
    # A clock that was set back must not block a project for ever.
    return last is None or not 0 <= situation.now - last < situation.seconds_between_wakes


def _longest_unserved(projects: Sequence[WorkableProject]) -> WorkableProject:
    return min(projects, key=lambda one: (one.last_worked_at if one.last_worked_at is not None else -1.0, one.id))
