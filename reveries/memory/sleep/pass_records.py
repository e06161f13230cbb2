"""Records of the changes of a sleep pass, as stored in `consolidation_changes`: just enough to show and to undo them.

Only the changed fields of an episode are stored, and only the changed items of a list: an episode of many experiences
is long, and whole copies before and after each change would be most of the file. The records are exact: an undo
restores the earlier values to the last bit.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Final, TypeVar

import msgspec

from reveries.memory.changes import (
    ChangeSet,
    Dormancy,
    ExperienceBefore,
    PriorState,
    ProcessedExperience,
    Retirement,
    SelfModelChange,
)
from reveries.memory.claims import Claim, Conflict
from reveries.memory.model import Episode, Exemplar, Link, LinkType, SelfModel

Value = str | int | float | bool | None
Items = tuple[str | Exemplar, ...]
T = TypeVar("T")

_FIELDS: Final = tuple(entry.name for entry in fields(Episode) if entry.name != "id")


class Splice(msgspec.Struct, frozen=True, omit_defaults=True):
    """A change of a list: the items between its first `ahead` and its last `behind` were `old` and became `new`."""

    ahead: int = 0
    behind: int = 0
    old: Items = ()
    new: Items = ()

    def revert(self, now: Items) -> Items:
        """Return the list before the change if `now` is its result; else `now` without the new items and with the old
        ones in front."""
        end = self.ahead + len(self.new)
        if len(now) == end + self.behind and now[self.ahead : end] == self.new:
            return (*now[: self.ahead], *self.old, *now[end:])
        return remove_added(self.old, self.new, now)


class EpisodeChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """An episode that was added, or that replaced the one with the same id."""

    id: str
    is_new: bool = False
    values: dict[str, tuple[Value, Value]] = {}
    """Changed fields with a single value: before and after."""
    lists: dict[str, Splice] = {}
    summary: str = ""
    salience: float | None = None
    """What the log shows in addition to the changes."""

    @property
    def changed_fields(self) -> frozenset[str]:
        return frozenset((*self.values, *self.lists))

    @property
    def added_quotes(self) -> tuple[str, ...]:
        """The quotes that were added."""
        quotes = self.lists.get("exemplars", Splice())
        old_quotes = {(exemplar.quote, exemplar.turn_id) for exemplar in _exemplars(quotes.old)}
        return tuple(
            exemplar.quote
            for exemplar in _exemplars(quotes.new)
            if (exemplar.quote, exemplar.turn_id) not in old_quotes
        )

    @property
    def is_shown(self) -> bool:
        """Whether the episode is new, or its summary, salience or quotes changed."""
        return self.is_new or not self.values.keys().isdisjoint(("summary", "salience")) or bool(self.added_quotes)


class LinkChange(msgspec.Struct, frozen=True, array_like=True):
    """A link that was added or changed, with its strength before; None if it is new."""

    source_id: str
    target_id: str
    type: LinkType
    strength: float
    before: float | None
    is_mutual: bool
    """The reverse link changed in the same way."""


class RetiredEpisode(msgspec.Struct, frozen=True, omit_defaults=True):
    """An episode that was merged into another."""

    id: str
    into: str
    was: Episode | None = None


class SleepEstimate(msgspec.Struct, frozen=True, array_like=True):
    """The state of an experience before the change."""

    experience_id: str
    salience: float
    valence: float
    light_slept: bool
    processed: bool
    attempts: int


class ConflictRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """Two claims of which one cannot hold, with the sentences that state them."""

    id: str
    earlier_id: str
    earlier: str
    later_id: str
    later: str
    kind: str
    reason: str


class PassRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="form", tag=2):
    """A change set with the state before, in the stored form 2."""

    removed_ids: tuple[str, ...] = ()
    episodes: tuple[EpisodeChange, ...] = ()
    """At most one for each episode."""
    links: tuple[LinkChange, ...] = ()
    retired: tuple[RetiredEpisode, ...] = ()
    dormant: tuple[Dormancy, ...] = ()
    light_slept_ids: tuple[str, ...] = ()
    processed_ids: tuple[str, ...] = ()
    """Ids of experiences, as in `light_slept_ids`."""
    standings: tuple[SleepEstimate, ...] = ()
    self_model: SelfModelChange | None = None
    """Unchanged fields are empty."""
    claim_ids: tuple[str, ...] = ()
    conflicts: tuple[ConflictRecord, ...] = ()
    is_erased: bool = False
    """The owner had some of it erased, and with it the whole record: it cannot be undone."""

    @property
    def directed_links(self) -> Iterator[tuple[Link, float | None]]:
        """Every changed link, each direction separately, with its strength before."""
        for link in self.links:
            yield Link(link.source_id, link.target_id, link.type, link.strength), link.before
            if link.is_mutual:
                yield Link(link.target_id, link.source_id, link.type, link.strength), link.before


def build_pass_record(changes: ChangeSet, before: PriorState) -> PassRecord:
    """Build the record of `changes` and the state before. Vectors are left out because they can be recomputed, and
    fadings because decay is not undone."""
    was = {episode.id: episode for episode in before.episodes}
    # If an episode occurs twice, the later version counts.
    put = {episode.id: episode for episode in changes.episodes}
    return PassRecord(
        removed_ids=changes.removed_ids,
        episodes=tuple(episode_change(was.get(episode.id), episode) for episode in put.values()),
        links=_link_changes(changes.links, before.links),
        retired=tuple(
            RetiredEpisode(retired.episode_id, retired.merged_into, was.get(retired.episode_id))
            for retired in changes.retired
        ),
        dormant=changes.dormant,
        light_slept_ids=changes.light_slept_ids,
        processed_ids=tuple(processed.experience_id for processed in changes.processed),
        standings=tuple(_estimate_before(experience) for experience in before.experiences),
        self_model=None if changes.self_model is None else _keep_changed_fields(changes.self_model),
        claim_ids=tuple(claim.id for claim in changes.claims),
        conflicts=tuple(map(_conflict_record, changes.conflicts)),
    )


def encode_record(record: PassRecord) -> str:
    """Return `record` as JSON for `consolidation_changes`."""
    return msgspec.json.encode(record).decode("utf-8")


def episode_change(before: Episode | None, after: Episode) -> EpisodeChange:
    """Return the change from `before` to `after`. If `before` is None the episode is new, and its fields are in its own
    row."""
    if before is None:
        return EpisodeChange(after.id, is_new=True, summary=after.summary, salience=after.salience)
    values: dict[str, tuple[Value, Value]] = {}
    lists: dict[str, Splice] = {}
    for name in _FIELDS:
        was, became = getattr(before, name), getattr(after, name)
        if was == became:
            continue
        if isinstance(became, tuple):
            lists[name] = _build_splice(was, became)
        else:
            values[name] = (was, became)
    change = EpisodeChange(after.id, values=values, lists=lists)
    if not change.is_shown:
        return change
    return msgspec.structs.replace(
        change,
        summary="" if "summary" in values else after.summary,
        salience=None if "salience" in values else after.salience,
    )


def remove_added(before: Iterable[T], after: Iterable[T], now: Iterable[T]) -> tuple[T, ...]:
    """Return `now` without the items that `after` added to `before` (the last occurrences, no more than were added),
    and with the items that `after` removed in front."""
    was, became, current = list(before), list(after), list(now)
    # Never leave fewer than there were before: an added item may have been removed since.
    added = (Counter(became) - Counter(was)) & (Counter(current) - Counter(was))
    kept = _remove_last(current, added)
    # An item that was added again since must not occur twice.
    lost = (Counter(was) - Counter(became)) & (Counter(was) - Counter(kept))
    return (*_remove_last(was, Counter(was) - lost), *kept)


def _remove_last(items: Sequence[T], counts: Counter[T]) -> list[T]:
    """Return `items` without the last `counts` occurrences of each."""
    kept, left = list[T](), Counter(counts)
    for item in reversed(items):
        if left[item]:
            left[item] -= 1
        else:
            kept.append(item)
    return kept[::-1]


def _exemplars(items: Items) -> Iterator[Exemplar]:
    return (item for item in items if isinstance(item, Exemplar))


def _build_splice(was: Items, became: Items) -> Splice:
    most = min(len(was), len(became))
    ahead = next((place for place in range(most) if was[place] != became[place]), most)
    most -= ahead
    behind = next((place for place in range(most) if was[-1 - place] != became[-1 - place]), most)
    return Splice(ahead, behind, was[ahead : len(was) - behind], became[ahead : len(became) - behind])


def _link_changes(links: Iterable[Link], before: Iterable[Link]) -> tuple[LinkChange, ...]:
    was = {_link_key(link): link.strength for link in before}
    put = {_link_key(link): link.strength for link in links}
    changes: list[LinkChange] = []
    done = set[tuple[str, str, LinkType]]()
    for key, strength in put.items():
        if key in done:
            continue
        source, target, kind = key
        back = (target, source, kind)
        is_mutual = back != key and put.get(back) == strength and was.get(back) == was.get(key)
        changes.append(LinkChange(source, target, kind, strength, was.get(key), is_mutual))
        if is_mutual:
            done.add(back)
    return tuple(changes)


def _link_key(link: Link) -> tuple[str, str, LinkType]:
    return link.source_id, link.target_id, link.type


def _estimate_before(before: ExperienceBefore) -> SleepEstimate:
    return SleepEstimate(
        before.experience_id, before.salience, before.valence, before.light_slept, before.processed, before.attempts
    )


def _conflict_record(conflict: Conflict) -> ConflictRecord:
    earlier, later = conflict.earlier, conflict.later
    return ConflictRecord(conflict.id, earlier.id, earlier.quote, later.id, later.quote, conflict.kind, conflict.reason)


def _keep_changed_fields(change: SelfModelChange) -> SelfModelChange:
    differ = [
        field.name
        for field in fields(SelfModel)
        if getattr(change.before, field.name) != getattr(change.after, field.name)
    ]
    before, after = ({name: getattr(model, name) for name in differ} for model in (change.before, change.after))
    return SelfModelChange(SelfModel(**before), SelfModel(**after), change.reason, change.evidence)


class _FormNumber(msgspec.Struct, frozen=True):
    form: int = 1


@dataclass(frozen=True, slots=True)
class _FirstForm:
    """The first form, which has no form number. An erasure leaves a record in this form."""

    before: PriorState
    episodes: tuple[Episode, ...] = ()
    links: tuple[Link, ...] = ()
    retired: tuple[Retirement, ...] = ()
    light_slept_ids: tuple[str, ...] = ()
    dormant: tuple[Dormancy, ...] = ()
    processed: tuple[ProcessedExperience, ...] = ()
    self_model: SelfModelChange | None = None
    removed_ids: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    is_erased: bool = False


def decode_record(text: str) -> PassRecord:
    """Decode a record of `consolidation_changes` in either form. Raises msgspec.ValidationError if it is invalid."""
    if msgspec.json.decode(text, type=_FormNumber).form > 1:
        return msgspec.json.decode(text, type=PassRecord)
    first = msgspec.json.decode(text, type=_FirstForm)
    if first.is_erased:
        return PassRecord(is_erased=True)
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
    return build_pass_record(changes, first.before)
