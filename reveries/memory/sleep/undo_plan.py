"""Plans the undo of a pass (DESIGN, section 3: "undone by one command"). Pure: nothing is changed here.

Each field is restored separately, so that what has happened to an episode since (it was recalled, faded, or got a
successor) is kept. A pass that a later one depends on cannot be undone before that one.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Final

from reveries.memory.changes import SelfModelChange
from reveries.memory.model import Episode, Link, LinkType, Origin, Pattern, SelfModel
from reveries.memory.sleep.decay import LEAST_ACCESSIBILITY
from reveries.memory.sleep.pass_records import EpisodeChange, PassRecord, SleepEstimate, Value, remove_added

LinkKey = tuple[str, str, LinkType]

_COUNTED: Final = ("access_count",)
_SHIFTED: Final = ("salience", "accessibility")
_KEPT: Final = ("last_accessed_at", "last_decayed_at")
"""These three: fields that recall and decay change too."""
_CHAINED: Final = ("before", "after")
"""Fields that later episodes change too."""
_OWN: Final = frozenset(
    name.name for name in fields(Episode) if name.name not in (*_COUNTED, *_SHIFTED, *_KEPT, *_CHAINED, "id")
)
"""Fields that only sleep changes: if two passes change the same one, the later depends on the earlier."""
_SELF_WORDS: Final = ("narrative", "communication_style", "current_focus")


@dataclass(frozen=True, slots=True)
class RecordedChange:
    """One recorded change of a pass."""

    id: int
    experience_id: str | None
    recorded: PassRecord


@dataclass(frozen=True, slots=True)
class UndoPlan:
    """The changes that undo a pass."""

    episodes: tuple[Episode, ...]
    """The restored episodes, including those that had been merged away (`revived_ids`)."""
    revived_ids: frozenset[str]
    erased_ids: frozenset[str]
    links: tuple[Link, ...]
    """Links with their restored strengths."""
    dropped_links: tuple[LinkKey, ...]
    experiences: tuple[SleepEstimate, ...]
    self_model: SelfModel | None


@dataclass(slots=True)
class _UndoState:
    """The current state, overlaid with the values restored so far."""

    get: Callable[[str], Episode | None]
    strength_of: Callable[[str, str, LinkType], float | None]
    episodes: dict[str, Episode] = field(default_factory=dict)
    revived: set[str] = field(default_factory=set)
    erased: set[str] = field(default_factory=set)
    links: dict[LinkKey, float | None] = field(default_factory=dict)
    experiences: dict[str, SleepEstimate] = field(default_factory=dict)

    def episode(self, name: str) -> Episode | None:
        return None if name in self.erased else self.episodes.get(name) or self.get(name)

    def strength(self, key: LinkKey) -> float | None:
        return self.links[key] if key in self.links else self.strength_of(*key)


def plan_undo(
    changes: Sequence[RecordedChange],
    get: Callable[[str], Episode | None],
    strength_of: Callable[[str, str, LinkType], float | None],
    self_model: SelfModel,
) -> UndoPlan:
    """Plan the undo of `changes`, those of a pass in order; `get`, `strength_of` and `self_model` give the current
    state."""
    state = _UndoState(get, strength_of)
    restored = self_model
    for change in reversed(changes):
        _revert_episodes(state, change.recorded)
        _revert_links(state, change.recorded)
        state.experiences |= {entry.experience_id: entry for entry in change.recorded.standings}
        if change.recorded.self_model is not None:
            restored = restore_self_model(change.recorded.self_model, restored)
    links = {key: strength for key, strength in state.links.items() if not state.erased & {key[0], key[1]}}
    return UndoPlan(
        episodes=tuple(state.episodes.values()),
        revived_ids=frozenset(state.revived),
        erased_ids=frozenset(state.erased),
        links=tuple(Link(*key, strength) for key, strength in links.items() if strength is not None),
        dropped_links=tuple(key for key, strength in links.items() if strength is None),
        experiences=tuple(state.experiences.values()),
        self_model=restored if restored != self_model else None,
    )


def is_built_upon(changes: Sequence[RecordedChange], later: PassRecord) -> bool:
    """Whether `later`, a change of a later pass, depends on `changes`."""
    theirs = _Footprint.of([later])
    ours = _Footprint.of([change.recorded for change in changes])
    named = (
        theirs.put.keys() | theirs.retired | {end for link in later.links for end in (link.source_id, link.target_id)}
    )
    if ours.created & named or ours.put.keys() & theirs.retired:
        return True
    if any(ours.put[name] & theirs.put[name] for name in ours.put.keys() & theirs.put.keys()):
        return True
    claim_ids = {claim_id for change in changes for claim_id in change.recorded.claim_ids}
    if any(claim_ids & {conflict.earlier_id, conflict.later_id} for conflict in later.conflicts):
        return True
    return bool(ours.self_fields & theirs.self_fields)


@dataclass(frozen=True, slots=True)
class _Footprint:
    """What changes affect: the changed fields by episode, the created and merged episodes, and self-model fields."""

    put: Mapping[str, frozenset[str]]
    created: frozenset[str]
    retired: frozenset[str]
    self_fields: frozenset[str]

    @classmethod
    def of(cls, records: Iterable[PassRecord]) -> "_Footprint":
        put: dict[str, frozenset[str]] = {}
        created: set[str] = set()
        retired: set[str] = set()
        own: set[str] = set()
        for record in records:
            for change in record.episodes:
                changed = _OWN if change.is_new else change.changed_fields & _OWN
                put[change.id] = put.get(change.id, frozenset()) | changed
            created |= {change.id for change in record.episodes if change.is_new}
            retired |= {entry.id for entry in record.retired}
            if (own_change := record.self_model) is not None:
                own |= {n for n in _SELF_WORDS if getattr(own_change.before, n) != getattr(own_change.after, n)}
        return cls(put, frozenset(created), frozenset(retired), frozenset(own))


def _revert_episodes(state: _UndoState, recorded: PassRecord) -> None:
    for gone in recorded.retired:
        if gone.was is not None:
            state.episodes[gone.id] = gone.was
            state.revived.add(gone.id)
    for change in recorded.episodes:
        now = state.episode(change.id)
        if change.is_new:
            state.erased.add(change.id)
            state.episodes.pop(change.id, None)
            state.revived.discard(change.id)
        elif now is not None:
            state.episodes[change.id] = restore_episode(change, now)


def _revert_links(state: _UndoState, recorded: PassRecord) -> None:
    for link, old in recorded.directed_links:
        key = (link.source_id, link.target_id, link.type)
        now = state.strength(key)
        if old is None:
            state.links[key] = None
        elif now is not None or state.revived & {link.source_id, link.target_id}:
            # The links of an episode that was merged away are only in the database, unchanged since then.
            state.links[key] = _shift_back(old, link.strength, link.strength if now is None else now)


def restore_episode(change: EpisodeChange, now: Episode) -> Episode:
    """Return `now` with `change` reverted."""
    values: dict[str, object] = {
        name: _revert_value(name, was, became, getattr(now, name)) for name, (was, became) in change.values.items()
    }
    values |= {name: splice.revert(getattr(now, name)) for name, splice in change.lists.items()}
    if "origin" in values:
        values["origin"] = Origin(str(values["origin"]))  # It is stored as text.
    return replace(now, **values)  # type: ignore[arg-type]  # each value is of its own field


def _revert_value(name: str, was: Value, became: Value, current: Value) -> Value:
    if current == became or name in _OWN:
        return was
    if name in _SHIFTED:
        before = _as_float(was)
        return max(_shift_back(before, _as_float(became), _as_float(current)), min(before, LEAST_ACCESSIBILITY))
    if name in _COUNTED:
        return max(0, _as_float(was) + _as_float(current) - _as_float(became))
    return current


def restore_self_model(change: SelfModelChange, now: SelfModel) -> SelfModel:
    """Return `now` with `change` reverted; fields that were changed again since are kept."""
    values: dict[str, object] = {}
    for name in (entry.name for entry in fields(SelfModel)):
        was, became, current = (getattr(model, name) for model in (change.before, change.after, now))
        if was == became:
            continue
        if current == became:
            values[name] = was
        elif name == "patterns":
            values[name] = _revert_patterns(was, became, current)
        elif isinstance(current, tuple):
            values[name] = remove_added(was, became, current)
    return replace(now, **values)  # type: ignore[arg-type]  # each value is of its own field


def _revert_patterns(
    before: tuple[Pattern, ...], after: tuple[Pattern, ...], now: tuple[Pattern, ...]
) -> tuple[Pattern, ...]:
    was = {pattern.description: pattern for pattern in before}
    became = {pattern.description: pattern for pattern in after}
    kept: list[Pattern] = []
    for pattern in now:
        old, new = was.get(pattern.description), became.get(pattern.description)
        if new is None or new == old:
            kept.append(pattern)
        elif old is not None:
            kept.append(
                replace(
                    pattern,
                    confidence=_shift_back(old.confidence, new.confidence, pattern.confidence),
                    episode_ids=remove_added(old.episode_ids, new.episode_ids, pattern.episode_ids),
                )
            )
    current = {pattern.description for pattern in now}
    lost = [pattern for pattern in before if pattern.description not in became and pattern.description not in current]
    return (*lost, *kept)


def _shift_back(before: float, after: float, now: float) -> float:
    """Return `before` shifted by the change from `after` to `now`, clamped to 0 to 1."""
    if now == after:
        return before
    return min(1.0, max(0.0, before + now - after))


def _as_float(value: Value) -> float:
    """Return the value of a numeric field."""
    return value if isinstance(value, int | float) else 0.0
