"""How earlier versions wrote down what a pass did: whole episodes before and after, whole claims. Only read."""

from dataclasses import dataclass

import msgspec

from reveries.memory.changes import (
    Before,
    ChangeSet,
    Dormancy,
    Processed,
    Retirement,
    SelfModelChange,
)
from reveries.memory.model import Episode, Link
from reveries.memory.sleep.claims import Claim, Conflict
from reveries.memory.sleep.records import Recorded, recorded


class _Form(msgspec.Struct, frozen=True):
    form: int = 1


@dataclass(frozen=True, slots=True)
class _First:
    """The first form, which said of itself nothing. An erasure leaves it, too."""

    before: Before
    episodes: tuple[Episode, ...] = ()
    links: tuple[Link, ...] = ()
    retired: tuple[Retirement, ...] = ()
    light_slept_ids: tuple[str, ...] = ()
    dormant: tuple[Dormancy, ...] = ()
    processed: tuple[Processed, ...] = ()
    self_model: SelfModelChange | None = None
    removed_ids: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    is_erased: bool = False


def from_json(text: str) -> Recorded:
    """What stands in `consolidation_changes`, in whichever form. Raises msgspec.ValidationError for what is none."""
    if msgspec.json.decode(text, type=_Form).form > 1:
        return msgspec.json.decode(text, type=Recorded)
    first = msgspec.json.decode(text, type=_First)
    if first.is_erased:
        return Recorded(is_erased=True)
    changes = ChangeSet(
        removed_ids=first.removed_ids,
        episodes=first.episodes,
        links=first.links,
        retired=first.retired,
        dormant=first.dormant,
        light_slept_ids=first.light_slept_ids,
        processed=first.processed,
        self_model=first.self_model,
        claims=first.claims,
        conflicts=first.conflicts,
    )
    return recorded(changes, first.before)
