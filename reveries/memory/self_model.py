"""Operations on the self-model: the differences between two states, the owner's edits of a field, the days of its
statements, and limiting a list that has grown too long. Pure."""

import re
from collections.abc import Container, Iterable
from dataclasses import dataclass, fields, replace
from datetime import date, datetime
from typing import Final

import msgspec

from reveries.errors import UsageError
from reveries.index.terms import terms_of, words_of
from reveries.memory.model import DayUnit, Pattern, SelfModel, StatementDay
from reveries.safe_text import one_line

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
    "closed_threads",
    "past_facts",
    "anticipations",
)
EDITABLE: Final = (*TEXT_FIELDS, *LIST_FIELDS)
MAX_FIELD_CHARS: Final = 4000
MAX_STATEMENTS: Final = 40
_OWN_CONFIDENCE = 1.0
_REFUSED_KEPT = 200
_DENYING: Final = frozenset({"no", "nor", "not", "cannot", "without"})
_TELLING: Final = frozenset(
    {
        "above",
        "after",
        "against",
        "before",
        "below",
        "down",
        "from",
        "more",
        "off",
        "out",
        "over",
        "than",
        "under",
        "until",
        "up",
    }
)
"""Small words that carry no content for a search and yet make another statement."""
_DAY_FORMATS: Final = {DayUnit.DAY: "%a %-d %b %Y", DayUnit.MONTH: "%b %Y", DayUnit.YEAR: "%Y"}


@dataclass(frozen=True, slots=True)
class FieldChange:
    """The statements that a change removed from a field and added to it; a text field counts as one statement."""

    field: str
    removed: tuple[str, ...]
    added: tuple[str, ...]


# --- decisions -------------------------------------------------------------------------------------------------------


def statements_of(model: SelfModel, field: str) -> tuple[str, ...]:
    """Return the statements of a field. Raises UsageError for an unknown field."""
    if field in TEXT_FIELDS:
        text = str(getattr(model, field))
        return (text,) if text else ()
    if field == "patterns":
        return tuple(pattern.description for pattern in model.patterns)
    if field in LIST_FIELDS:
        return tuple(getattr(model, field))
    raise UsageError(f"The self-model has no field {field!r}.", advice=f"It has: {', '.join(EDITABLE)}.")


def differences(before: SelfModel, after: SelfModel) -> tuple[FieldChange, ...]:
    """Return the differences, field by field. A pattern whose confidence changed counts as removed and added."""
    changes: list[FieldChange] = []
    for field in EDITABLE:
        old, new = _format_statements(before, field), _format_statements(after, field)
        removed = tuple(text for text in old if text not in new)
        added = tuple(text for text in new if text not in old)
        if removed or added:
            changes.append(FieldChange(field, removed, added))
    return tuple(changes)


def edit_field(before: SelfModel, field: str, text: str, now: float) -> SelfModel:
    """Return the self-model with a field set to the owner's words; a list takes one statement per line.

    Added statements are pinned and removed ones refused, so that sleep neither overwrites the former nor brings back
    the latter. Raises UsageError.
    """
    old = statements_of(before, field)
    new = _parse_statements(field, text)
    removed, added = [text for text in old if text not in new], [text for text in new if text not in old]
    if field in TEXT_FIELDS:
        pinned_fields = tuple(name for name in before.pinned_fields if name != field)
        # Sleep may write an emptied field again.
        after = replace(before, pinned_fields=(*pinned_fields, field) if new else pinned_fields)
        after = replace(after, **{field: new[0] if new else ""}, updated_at=now)  # type: ignore[arg-type]
        return set_days(after, [StatementDay(text, now, now) for text in added])
    after = replace(
        before,
        pinned=tuple(dict.fromkeys([*(text for text in before.pinned if text not in removed), *added])),
        refused=_refused_statements(before.refused, removed, new),
        updated_at=now,
    )
    if field == "patterns":
        return replace(after, patterns=_patterns(before.patterns, new))
    return set_days(replace(after, **{field: new}), [StatementDay(text, now, now) for text in added])  # type: ignore[arg-type]


def statement_key(text: str) -> frozenset[str]:
    """Return what two statements have in common that say the same in the same words; empty if `text` says nothing.

    A denial is another statement than what it denies, although "not" counts for nothing in a search.
    """
    terms = terms_of(text)
    if not terms:
        return frozenset()
    words = words_of(text)
    denial = ["not"] if any(word in _DENYING or word.endswith("n't") for word in words) else []
    return frozenset((*terms, *(word for word in words if word in _TELLING), *denial))


def revert_to(current: SelfModel, before: SelfModel, now: float) -> SelfModel:
    """Return the self-model as it was `before`. Statements removed by this become refused; restored ones no longer
    are."""
    removed = [
        text
        for field in LIST_FIELDS
        for text in statements_of(current, field)
        if text not in statements_of(before, field)
    ]
    restored = [text for field in LIST_FIELDS for text in statements_of(before, field)]
    refused = _refused_statements((*before.refused, *current.refused), removed, restored)
    return replace(before, refused=refused, updated_at=now)


def _refused_statements(refused: Iterable[str], removed: Iterable[str], kept: Iterable[str]) -> tuple[str, ...]:
    kept_keys = {statement_key(text) for text in kept}
    remaining = [text for text in dict.fromkeys([*refused, *removed]) if statement_key(text) not in kept_keys]
    return tuple(remaining[-_REFUSED_KEPT:])


def _parse_statements(field: str, text: str) -> tuple[str, ...]:
    if len(text) > MAX_FIELD_CHARS:
        raise UsageError(
            f"{field} would have {len(text)} characters.",
            advice=f"At most {MAX_FIELD_CHARS} are possible, because it is part of every prompt.",
        )
    lines = [" ".join(line.removeprefix("- ").split()) for line in text.splitlines()]
    statements = tuple(dict.fromkeys(line for line in lines if line))
    if field in TEXT_FIELDS:
        return (" ".join(statements),) if statements else ()
    if len(statements) > MAX_STATEMENTS:
        raise UsageError(
            f"{field} would have {len(statements)} lines.", advice=f"At most {MAX_STATEMENTS} are possible."
        )
    return statements


def _patterns(old: tuple[Pattern, ...], wanted: tuple[str, ...]) -> tuple[Pattern, ...]:
    by_description = {pattern.description: pattern for pattern in old}
    return tuple(by_description.get(text) or Pattern(text, _OWN_CONFIDENCE, ()) for text in wanted)


def _format_statements(model: SelfModel, field: str) -> tuple[str, ...]:
    if field != "patterns":
        return statements_of(model, field)
    return tuple(f"{pattern.description} (confidence {pattern.confidence:.2f})" for pattern in model.patterns)


def model_of(raw: str) -> SelfModel:
    """Decode a stored self-model. One from an older version lacks the newer fields, which get their defaults."""
    field_names = {field.name for field in fields(SelfModel)}
    values = {
        name: value for name, value in msgspec.json.decode(raw, type=dict[str, object]).items() if name in field_names
    }
    return msgspec.convert(values, SelfModel)


def day_of(model: SelfModel, text: str) -> StatementDay | None:
    """Return the day of a statement; None if it has none."""
    return next((day for day in model.days if day.text == text), None)


def set_days(model: SelfModel, days: Iterable[StatementDay]) -> SelfModel:
    """Return the self-model with these days besides the others. Days of statements that it does not have are
    dropped."""
    statements = {text for field in EDITABLE for text in statements_of(model, field)}
    by_text = {day.text: day for day in (*model.days, *days) if day.text in statements}
    return replace(model, days=tuple(by_text.values()))


def with_days(model: SelfModel, texts: Iterable[str], limit_chars: int = MAX_FIELD_CHARS) -> tuple[str, ...]:
    """Return statements, each cut to `limit_chars` and followed by its day in brackets. What "on Monday" means in a
    statement depends on the day."""
    return tuple(_with_day(one_line(text, limit_chars), day_of(model, text)) for text in texts)


def past_facts_with_days(model: SelfModel) -> tuple[str, ...]:
    """Return the facts that are no longer true, each followed by the day until which it was."""
    days = [(text, day_of(model, text)) for text in model.past_facts]
    return tuple(text if day is None else f"{text} (until {_written(day)})" for text, day in days)


def _with_day(text: str, day: StatementDay | None) -> str:
    """Add the day: "as of" that on which it was said, "since" an earlier one, "on" one that was still to come, unless
    the statement itself names that."""
    if day is None:
        return text
    written = _written(day)
    if _local_date(day.at) == _local_date(day.said_at):
        return f"{text} (as of {written})"
    if day.at < day.said_at:
        return f"{text} (since {written})"
    named = f"{datetime.fromtimestamp(day.at):%-d %b}"
    if day.unit is DayUnit.DAY and re.search(rf"(?<!\d){named}", text):
        return text
    return f"{text} ({'on' if day.unit is DayUnit.DAY else 'in'} {written})"


def _written(day: StatementDay) -> str:
    return datetime.fromtimestamp(day.at).strftime(_DAY_FORMATS[day.unit])


def expected_in_order(model: SelfModel, now: float | None = None) -> tuple[str, ...]:
    """Return the anticipations, the next in time first: those with a day by their day, then the others, the newest
    first. With `now`, those whose day is over come last."""

    def sort_key(place: int) -> tuple[int, float]:
        day = day_of(model, model.anticipations[place])
        if day is None or day.at <= day.said_at:
            return 1, -place
        is_over = now is not None and _local_date(day.at) < _local_date(now)
        return (2, -day.at) if is_over else (0, day.at)

    return tuple(model.anticipations[place] for place in sorted(range(len(model.anticipations)), key=sort_key))


def format_day(at: float) -> str:
    """Format a local day in short: Fri 13 Nov 2026."""
    return datetime.fromtimestamp(at).strftime(_DAY_FORMATS[DayUnit.DAY])


def _local_date(at: float) -> date:
    return datetime.fromtimestamp(at).date()


def limit_statements(statements: tuple[str, ...], pinned: Container[str], limit: int) -> tuple[str, ...]:
    """Return at most `limit` statements in their order, preferring pinned ones, then the newest."""
    places = sorted(range(len(statements)), key=lambda place: (statements[place] not in pinned, -place))[:limit]
    return tuple(statements[place] for place in sorted(places))
