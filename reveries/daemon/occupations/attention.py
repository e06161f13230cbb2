"""Chooses what runs next: the owner's words, then sleep, then work, then thought (DESIGN-projects, section 3). Pure.

There are two lanes. What needs the local model, or holds the memory as sleep does, excludes each other. What a hosted
model does waits for none of them, only for the owner's words.
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


class Lane(StrEnum):
    """What an occupation needs alone while it runs."""

    LOCAL = "local"
    """The model on a machine of the owner's, or the memory as a whole."""
    HOSTED = "hosted"
    """Nothing that is here: a provider answers."""


@dataclass(frozen=True, slots=True)
class OccupationCandidate:
    """Something that could run now, for example work on one project."""

    id: str
    occupation: Occupation
    lane: Lane
    can_run: bool
    """Whether it may run by itself and has something to do."""
    last_run_at: float | None
    """Unix seconds; None if it never ran, or goes on with what was interrupted."""
    rest_seconds: float
    """How long it rests between two runs."""
    was_asked_for: bool = False
    """Whether the owner asked for it now."""


@dataclass(frozen=True, slots=True)
class Situation:
    """All that the choice depends on."""

    is_talking: bool
    seconds_since_words: float
    is_sleep_due: bool
    held_because: str
    """Why nothing may start by itself (pause, quiet hours, battery, disk); empty if it may."""
    now: float
    candidates: Sequence[OccupationCandidate] = ()


@dataclass(frozen=True, slots=True)
class NextOccupation:
    """What runs next; `candidate_id` where it is one of the candidates."""

    occupation: Occupation
    candidate_id: str = ""


def choose_next(situation: Situation, lane: Lane) -> NextOccupation:
    """Choose for `lane`: talk, then sleep that is due, then what the owner asked for, then what waited longest, then
    thought."""
    if situation.is_talking:
        return NextOccupation(Occupation.TALK)
    if lane is Lane.LOCAL and situation.is_sleep_due and not situation.held_because:
        return NextOccupation(Occupation.SLEEP)
    in_lane = [candidate for candidate in situation.candidates if candidate.lane is lane]
    if asked := [candidate for candidate in in_lane if candidate.was_asked_for]:
        return _longest_unserved(asked)
    if situation.held_because or situation.seconds_since_words < QUIET_SECONDS:
        return NextOccupation(Occupation.THINK)
    due = [candidate for candidate in in_lane if candidate.can_run and _has_rested(candidate, situation.now)]
    return _longest_unserved(due) if due else NextOccupation(Occupation.THINK)


def _has_rested(candidate: OccupationCandidate, now: float) -> bool:
    last = candidate.last_run_at
    # A clock that was set back must not block anything for ever.
    return last is None or not 0 <= now - last < candidate.rest_seconds


def _longest_unserved(candidates: Sequence[OccupationCandidate]) -> NextOccupation:
    chosen = min(candidates, key=lambda item: (item.last_run_at if item.last_run_at is not None else -1.0, item.id))
    return NextOccupation(chosen.occupation, chosen.id)
