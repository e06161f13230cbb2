"""Plans the undo of a pass (DESIGN, section 3: "undone by one command"). Pure: nothing is changed here.

Field by field and not as a whole: what has happened to an episode since (it was recalled, it faded, another came after
it) stays. A pass that a later one built upon cannot be taken back before that one.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Final

from reveries.memory.changes import SelfModelChange
from reveries.memory.model import Episode, Link, LinkType, Origin, Pattern, SelfModel
from reveries.memory.sleep.decay import LEAST_ACCESSIBILITY
from reveries.memory.sleep.pass_records import EpisodeChange, PassRecord, SleepEstimate, Value, without_added

LinkKey = tuple[str, str, LinkType]

_COUNTED: Final = ("access_count",)
_SHIFTED: Final = ("salience", "accessibility")
_KEPT: Final = ("last_accessed_at", "last_decayed_at")
"""What use and time change, not sleep alone."""
_CHAINED: Final = ("before", "after")
"""What whatever comes next changes too."""
_OWN: Final = frozenset(
    name.name for name in fields(Episode) if name.name not in (*_COUNTED, *_SHIFTED, *_KEPT, *_CHAINED, "id")
)
"""What sleep alone changes: two passes that change the same of these build on each other."""
_SELF_WORDS: Final = ("narrative", "communication_style", "current_focus")


@dataclass(frozen=True, slots=True)
class RecordedChange:
    """One thing that a pass did, as it was written down."""

    id: int
    experience_id: str | None
    recorded: PassRecord


@dataclass(frozen=True, slots=True)
class UndoPlan:
    """What taking a pass back comes to."""

    episodes: tuple[Episode, ...]
    """As they shall be: changed back, or back from where they were merged into."""
    revived_ids: frozenset[str]
    erased_ids: frozenset[str]
    links: tuple[Link, ...]
    """With the strength that they shall have."""
    dropped_links: tuple[LinkKey, ...]
    experiences: tuple[SleepEstimate, ...]
    self_model: SelfModel | None


@dataclass(slots=True)
class _Bench:
    """Everything as it is, and then as it was."""

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


def undone(
    changes: Sequence[RecordedChange],
    get: Callable[[str], Episode | None],
    strength_of: Callable[[str, str, LinkType], float | None],
    self_model: SelfModel,
) -> UndoPlan:
    """What takes `changes`, those of a pass in their order, back; `get`, `strength_of` and `self_model` say what stands
    now."""
    bench = _Bench(get, strength_of)
    then = self_model
    for change in reversed(changes):
        _take_back_episodes(bench, change.recorded)
        _take_back_links(bench, change.recorded)
        bench.experiences |= {entry.experience_id: entry for entry in change.recorded.standings}
        if change.recorded.self_model is not None:
            then = self_put_back(change.recorded.self_model, then)
    links = {key: strength for key, strength in bench.links.items() if not bench.erased & {key[0], key[1]}}
    return UndoPlan(
        episodes=tuple(bench.episodes.values()),
        revived_ids=frozenset(bench.revived),
        erased_ids=frozenset(bench.erased),
        links=tuple(Link(*key, strength) for key, strength in links.items() if strength is not None),
        dropped_links=tuple(key for key, strength in links.items() if strength is None),
        experiences=tuple(bench.experiences.values()),
        self_model=then if then != self_model else None,
    )


def built_upon(changes: Sequence[RecordedChange], later: PassRecord) -> bool:
    """Whether `later`, something that another pass did afterwards, stands on what `changes` did."""
    theirs = _Footprint.of([later])
    ours = _Footprint.of([change.recorded for change in changes])
    named = (
        theirs.put.keys() | theirs.retired | {end for link in later.links for end in (link.source_id, link.target_id)}
    )
    if ours.created & named or ours.put.keys() & theirs.retired:
        return True
    if any(ours.put[name] & theirs.put[name] for name in ours.put.keys() & theirs.put.keys()):
        return True
    made = {name for change in changes for name in change.recorded.claim_ids}
    if any(made & {conflict.earlier_id, conflict.later_id} for conflict in later.conflicts):
        return True
    return bool(ours.self_fields & theirs.self_fields)


@dataclass(frozen=True, slots=True)
class _Footprint:
    """What changes change: which fields of which episodes, what they made, what they merged away."""

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
                changed = _OWN if change.is_new else change.changed & _OWN
                put[change.id] = put.get(change.id, frozenset()) | changed
            created |= {change.id for change in record.episodes if change.is_new}
            retired |= {entry.id for entry in record.retired}
            if (own_change := record.self_model) is not None:
                own |= {n for n in _SELF_WORDS if getattr(own_change.before, n) != getattr(own_change.after, n)}
        return cls(put, frozenset(created), frozenset(retired), frozenset(own))


def _take_back_episodes(bench: _Bench, recorded: PassRecord) -> None:
    for gone in recorded.retired:
        if gone.was is not None:
            bench.episodes[gone.id] = gone.was
            bench.revived.add(gone.id)
    for change in recorded.episodes:
        now = bench.episode(change.id)
        if change.is_new:
            bench.erased.add(change.id)
            bench.episodes.pop(change.id, None)
            bench.revived.discard(change.id)
        elif now is not None:
            bench.episodes[change.id] = restore_episode(change, now)


def _take_back_links(bench: _Bench, recorded: PassRecord) -> None:
    for link, old in recorded.each_link:
        key = (link.source_id, link.target_id, link.type)
        now = bench.strength(key)
        if old is None:
            bench.links[key] = None
        elif now is not None or bench.revived & {link.source_id, link.target_id}:
            # Of an episode that was merged away the links stand in the file alone, as they were left.
            bench.links[key] = _shift_back(old, link.strength, link.strength if now is None else now)


def restore_episode(change: EpisodeChange, now: Episode) -> Episode:
    """`now` without what `change` changed."""
    values: dict[str, object] = {
        name: _value_put_back(name, was, became, getattr(now, name)) for name, (was, became) in change.values.items()
    }
    values |= {name: splice.taken_back(getattr(now, name)) for name, splice in change.lists.items()}
    if "origin" in values:
        values["origin"] = Origin(str(values["origin"]))  # As it is written down it is a text.
    return replace(now, **values)  # type: ignore[arg-type]  # each value is of its own field


def _value_put_back(name: str, was: Value, became: Value, stands: Value) -> Value:
    if stands == became or name in _OWN:
        return was
    if name in _SHIFTED:
        before = _number(was)
        return max(_shift_back(before, _number(became), _number(stands)), min(before, LEAST_ACCESSIBILITY))
    if name in _COUNTED:
        return max(0, _number(was) + _number(stands) - _number(became))
    return stands


def self_put_back(change: SelfModelChange, now: SelfModel) -> SelfModel:
    """`now` without what `change` changed; what was changed again since stays as it is."""
    values: dict[str, object] = {}
    for name in (entry.name for entry in fields(SelfModel)):
        was, became, stands = (getattr(one, name) for one in (change.before, change.after, now))
        if was == became:
            continue
        if stands == became:
            values[name] = was
        elif name == "patterns":
            values[name] = _patterns_put_back(was, became, stands)
        elif isinstance(stands, tuple):
            values[name] = without_added(was, became, stands)
    return replace(now, **values)  # type: ignore[arg-type]  # each value is of its own field


def _patterns_put_back(
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
                    episode_ids=without_added(old.episode_ids, new.episode_ids, pattern.episode_ids),
                )
            )
    known = {pattern.description for pattern in now}
    lost = [pattern for pattern in before if pattern.description not in became and pattern.description not in known]
    return (*lost, *kept)


def _shift_back(before: float, after: float, now: float) -> float:
    """What `before` would be, had it gone the way from `after` to `now`."""
    if now == after:
        return before
    return min(1.0, max(0.0, before + now - after))


def _number(value: Value) -> float:
    """A field that is one in every episode."""
    return value if isinstance(value, int | float) else 0.0
