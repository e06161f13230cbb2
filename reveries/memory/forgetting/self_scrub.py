"""What of the self-model goes: statements that hold the words, and those that only erased episodes showed. Pure."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from reveries.memory.forgetting.needles import Holds
from reveries.memory.model import Pattern, SelfModel
from reveries.memory.self_edit import LIST_FIELDS, TEXT_FIELDS, differences

_PLAIN_LISTS = (*(name for name in LIST_FIELDS if name != "patterns"), "pinned", "refused")


@dataclass(frozen=True, slots=True)
class Change:
    """A change of the self-model as its history has it."""

    number: int
    reason: str
    evidence: tuple[str, ...]
    before: SelfModel


def shown_only_by(changes: Sequence[Change], now: SelfModel, touched: Collection[str]) -> frozenset[str]:
    """Statements that came in with changes whose episodes are all `touched`, and no other change. `changes`: newest
    first."""
    by_erased, by_others = set[str](), set[str]()
    after = now
    for change in changes:
        added = {text for found in differences(change.before, after) for text in found.added}
        is_erased = bool(change.evidence) and all(name in touched for name in change.evidence)
        (by_erased if is_erased else by_others).update(added)
        after = change.before
    return frozenset(by_erased - by_others)


def without(model: SelfModel, holds: Holds, unshown: Collection[str], gone: Collection[str]) -> SelfModel:
    """`model` without the statements that hold the words or that nothing shows any more, and without mention of the
    episodes that are gone."""

    def stays(text: str) -> bool:
        return text not in unshown and not holds(text)

    texts: dict[str, Any] = {name: getattr(model, name) if stays(getattr(model, name)) else "" for name in TEXT_FIELDS}
    lists: dict[str, Any] = {name: tuple(text for text in getattr(model, name) if stays(text)) for name in _PLAIN_LISTS}
    # A field that is empty now is no longer one that the owner wrote.
    pinned_fields = tuple(name for name in model.pinned_fields if getattr(model, name) == texts.get(name))
    patterns = tuple(
        kept for one in model.patterns if (kept := _pattern(one, gone)) is not None and stays(one.description)
    )
    return replace(model, **texts, **lists, patterns=patterns, pinned_fields=pinned_fields)


def lost(before: SelfModel, after: SelfModel) -> list[str]:
    """The statements that `after` has no more."""
    return [text for found in differences(before, after) for text in found.removed]


def scrubbed(change: Change, holds: Holds, unshown: Collection[str], gone: Collection[str]) -> Change:
    """A change of the history without them."""
    return replace(
        change,
        reason="" if holds(change.reason) else change.reason,
        evidence=tuple(name for name in change.evidence if name not in gone),
        before=without(change.before, holds, unshown, gone),
    )


def _pattern(pattern: Pattern, gone: Collection[str]) -> Pattern | None:
    """None where only what is gone showed it."""
    left = tuple(name for name in pattern.episode_ids if name not in gone)
    if pattern.episode_ids and not left:
        return None
    return replace(pattern, episode_ids=left)
