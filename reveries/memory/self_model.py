"""The self-model's fields: how two states differ, what the owner's own words make of a field, what stays of a list
that grows too long. Pure."""

from collections.abc import Container, Iterable
from dataclasses import dataclass, fields, replace
from typing import Final

import msgspec

from reveries.errors import UsageError
from reveries.index.terms import terms_of
from reveries.memory.model import Pattern, SelfModel

BY_THE_OWNER: Final = "by the owner"
TEXT_FIELDS: Final = ("narrative", "communication_style", "current_focus")
LIST_FIELDS: Final = (
    "values",
    "tendencies",
    "owner_facts",
    "patterns",
    "strengths",
    "limitations",
    "unresolved_threads",
    "anticipations",
)
EDITABLE: Final = (*TEXT_FIELDS, *LIST_FIELDS)
MAX_FIELD_CHARS: Final = 4000
MAX_STATEMENTS: Final = 40
_OWN_CONFIDENCE = 1.0
_REFUSED_KEPT = 200


@dataclass(frozen=True, slots=True)
class FieldChange:
    """What a change took out of a field and put into it; a text counts as one statement."""

    field: str
    removed: tuple[str, ...]
    added: tuple[str, ...]


# --- decisions -------------------------------------------------------------------------------------------------------


def statements_of(model: SelfModel, field: str) -> tuple[str, ...]:
    """What a field says, one statement each. Raises UsageError for a field that is none."""
    if field in TEXT_FIELDS:
        text = str(getattr(model, field))
        return (text,) if text else ()
    if field == "patterns":
        return tuple(pattern.description for pattern in model.patterns)
    if field in LIST_FIELDS:
        return tuple(getattr(model, field))
    raise UsageError(f"The self-model has no field {field!r}.", advice=f"It has: {', '.join(EDITABLE)}.")


def differences(before: SelfModel, after: SelfModel) -> tuple[FieldChange, ...]:
    """What differs, field by field; a pattern that only gained confidence says so by its number of episodes."""
    found: list[FieldChange] = []
    for field in EDITABLE:
        old, new = _shown(before, field), _shown(after, field)
        removed = tuple(text for text in old if text not in new)
        added = tuple(text for text in new if text not in old)
        if removed or added:
            found.append(FieldChange(field, removed, added))
    return tuple(found)


def edit_field(before: SelfModel, field: str, text: str, now: float) -> SelfModel:
    """The self-model with a field in the owner's words: one statement a line for a list. What is new is pinned, what
    went is refused: no sleep overwrites the one or brings back the other. Raises UsageError."""
    old = statements_of(before, field)
    new = _own_words(field, text)
    removed, added = [one for one in old if one not in new], [one for one in new if one not in old]
    if field in TEXT_FIELDS:
        pinned_fields = tuple(name for name in before.pinned_fields if name != field)
        # An emptied field is given back to sleep.
        after = replace(before, pinned_fields=(*pinned_fields, field) if new else pinned_fields)
        return replace(after, **{field: new[0] if new else ""}, updated_at=now)  # type: ignore[arg-type]
    after = replace(
        before,
        pinned=tuple(dict.fromkeys([*(one for one in before.pinned if one not in removed), *added])),
        refused=_refused_statements(before.refused, removed, new),
        updated_at=now,
    )
    if field == "patterns":
        return replace(after, patterns=_patterns(before.patterns, new))
    return replace(after, **{field: new})  # type: ignore[arg-type]


def revert_to(current: SelfModel, before: SelfModel, now: float) -> SelfModel:
    """The self-model as `before` was. What went since does not come back by itself; what returns is refused no more."""
    gone = [
        one for field in LIST_FIELDS for one in statements_of(current, field) if one not in statements_of(before, field)
    ]
    back = [one for field in LIST_FIELDS for one in statements_of(before, field)]
    return replace(before, refused=_refused_statements((*before.refused, *current.refused), gone, back), updated_at=now)


def _refused_statements(refused: Iterable[str], removed: Iterable[str], kept: Iterable[str]) -> tuple[str, ...]:
    said = {frozenset(terms_of(text)) for text in kept}
    found = [text for text in dict.fromkeys([*refused, *removed]) if frozenset(terms_of(text)) not in said]
    return tuple(found[-_REFUSED_KEPT:])


def _own_words(field: str, text: str) -> tuple[str, ...]:
    if len(text) > MAX_FIELD_CHARS:
        raise UsageError(
            f"{field} would have {len(text)} characters.",
            advice=f"{MAX_FIELD_CHARS} at most: it is told at every turn.",
        )
    lines = [" ".join(line.removeprefix("- ").split()) for line in text.splitlines()]
    found = tuple(dict.fromkeys(line for line in lines if line))
    if field in TEXT_FIELDS:
        return (" ".join(found),) if found else ()
    if len(found) > MAX_STATEMENTS:
        raise UsageError(f"{field} would have {len(found)} lines.", advice=f"{MAX_STATEMENTS} at most.")
    return found


def _patterns(old: tuple[Pattern, ...], wanted: tuple[str, ...]) -> tuple[Pattern, ...]:
    known = {pattern.description: pattern for pattern in old}
    return tuple(known.get(one) or Pattern(one, _OWN_CONFIDENCE, ()) for one in wanted)


def _shown(model: SelfModel, field: str) -> tuple[str, ...]:
    if field != "patterns":
        return statements_of(model, field)
    return tuple(f"{one.description} (confidence {one.confidence:.2f})" for one in model.patterns)


# --- the shell -------------------------------------------------------------------------------------------------------


def model_of(raw: str) -> SelfModel:
    """A self-model as it was kept; one from an older Reveries lacks the newer fields."""
    known = {field.name for field in fields(SelfModel)}
    values = {name: value for name, value in msgspec.json.decode(raw, type=dict[str, object]).items() if name in known}
    return msgspec.convert(values, SelfModel)


def limit_statements(statements: tuple[str, ...], pinned: Container[str], limit: int) -> tuple[str, ...]:
    """The `limit` statements that are kept or told when there are more, in their order: those that the owner wrote,
    then the newest."""
    places = sorted(range(len(statements)), key=lambda place: (statements[place] not in pinned, -place))[:limit]
    return tuple(statements[place] for place in sorted(places))
