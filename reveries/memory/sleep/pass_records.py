"""Records of what a pass of sleep did, as `consolidation_changes` keeps them: enough to show it and to undo it, and no
more.

Of an episode only the fields that changed are kept, and of a list only the items: an episode that many experiences went
into is as long as all of them, and whole ones before and after each would be most of the file. What is kept is exact:
`undo` gives back what stood there to the last bit.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Final, TypeVar

import msgspec

from reveries.memory.changes import (
    Before,
    ChangeSet,
    Dormancy,
    ExperienceBefore,
    Processed,
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
    """How a list changed: what is between its first `ahead` items and its last `behind` was `old` and became `new`."""

    ahead: int = 0
    behind: int = 0
    old: Items = ()
    new: Items = ()

    def taken_back(self, now: Items) -> Items:
        """The list before, where `now` is what came of it; else `now` without the new items, and with the old in
        front."""
        end = self.ahead + len(self.new)
        if len(now) == end + self.behind and now[self.ahead : end] == self.new:
            return (*now[: self.ahead], *self.old, *now[end:])
        return without_added(self.old, self.new, now)


class EpisodeChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """An episode that was put: new, or in the place of the one with the same id."""

    id: str
    is_new: bool = False
    values: dict[str, tuple[Value, Value]] = {}
    """Fields of one value that changed: before and after."""
    lists: dict[str, Splice] = {}
    summary: str = ""
    salience: float | None = None
    """What the log shows of it beside that."""

    @property
    def changed(self) -> frozenset[str]:
        """The fields that changed."""
        return frozenset((*self.values, *self.lists))

    @property
    def added_quotes(self) -> tuple[str, ...]:
        """The quotes that it gained."""
        quotes = self.lists.get("exemplars", Splice())
        known = {(one.quote, one.turn_id) for one in _exemplars(quotes.old)}
        return tuple(one.quote for one in _exemplars(quotes.new) if (one.quote, one.turn_id) not in known)

    @property
    def is_shown(self) -> bool:
        """Whether it says or weighs something else."""
        return self.is_new or not self.values.keys().isdisjoint(("summary", "salience")) or bool(self.added_quotes)


class LinkChange(msgspec.Struct, frozen=True, array_like=True):
    """A link that was put, with the strength that it had before; None where there was none."""

    source_id: str
    target_id: str
    type: LinkType
    strength: float
    before: float | None
    is_mutual: bool
    """The same happened to the link the other way."""


class RetiredEpisode(msgspec.Struct, frozen=True, omit_defaults=True):
    """An episode that went into another."""

    id: str
    into: str
    was: Episode | None = None


class SleepEstimate(msgspec.Struct, frozen=True, array_like=True):
    """What sleep thought of an experience until then."""

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
    """A change set with what stood there before, as it is written down since form 2."""

    removed_ids: tuple[str, ...] = ()
    episodes: tuple[EpisodeChange, ...] = ()
    """One for each episode."""
    links: tuple[LinkChange, ...] = ()
    retired: tuple[RetiredEpisode, ...] = ()
    dormant: tuple[Dormancy, ...] = ()
    light_slept_ids: tuple[str, ...] = ()
    processed_ids: tuple[str, ...] = ()
    """Experiences, both."""
    standings: tuple[SleepEstimate, ...] = ()
    self_model: SelfModelChange | None = None
    """With nothing in the fields that did not change."""
    claim_ids: tuple[str, ...] = ()
    conflicts: tuple[ConflictRecord, ...] = ()
    is_erased: bool = False
    """The owner had some of it erased, and so all that this said: it cannot be taken back."""

    @property
    def each_link(self) -> Iterator[tuple[Link, float | None]]:
        """Every link that was put, each direction for itself, and how strong it was."""
        for one in self.links:
            yield Link(one.source_id, one.target_id, one.type, one.strength), one.before
            if one.is_mutual:
                yield Link(one.target_id, one.source_id, one.type, one.strength), one.before


def record_of(changes: ChangeSet, before: Before) -> PassRecord:
    """`changes` and what stood there before. Vectors are left out: they can be remade. Fading is, too: time is not
    undone."""
    was = {episode.id: episode for episode in before.episodes}
    # Of two that are put in one place the later counts.
    put = {episode.id: episode for episode in changes.episodes}
    return PassRecord(
        removed_ids=changes.removed_ids,
        episodes=tuple(episode_change(was.get(one.id), one) for one in put.values()),
        links=_link_changes(changes.links, before.links),
        retired=tuple(
            RetiredEpisode(one.episode_id, one.merged_into, was.get(one.episode_id)) for one in changes.retired
        ),
        dormant=changes.dormant,
        light_slept_ids=changes.light_slept_ids,
        processed_ids=tuple(one.experience_id for one in changes.processed),
        standings=tuple(_estimate_before(one) for one in before.experiences),
        self_model=None if changes.self_model is None else _sparse(changes.self_model),
        claim_ids=tuple(claim.id for claim in changes.claims),
        conflicts=tuple(map(_at_odds, changes.conflicts)),
    )


def to_json(record: PassRecord) -> str:
    """`record` for `consolidation_changes`."""
    return msgspec.json.encode(record).decode("utf-8")


def episode_change(before: Episode | None, after: Episode) -> EpisodeChange:
    """What makes `after` of `before`; None: it is new, and its fields stand in its own row."""
    if before is None:
        return EpisodeChange(after.id, is_new=True, summary=after.summary, salience=after.salience)
    values: dict[str, tuple[Value, Value]] = {}
    lists: dict[str, Splice] = {}
    for name in _FIELDS:
        was, became = getattr(before, name), getattr(after, name)
        if was == became:
            continue
        if isinstance(became, tuple):
            lists[name] = _splice_of(was, became)
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


def without_added(before: Iterable[T], after: Iterable[T], now: Iterable[T]) -> tuple[T, ...]:
    """`now` without what `after` added to `before`, the last of it and only as many as it added; and with what it left
    out, in front."""
    was, became, stands = list(before), list(after), list(now)
    # Never so many that fewer are left than there were: what was added may have gone by itself.
    added = (Counter(became) - Counter(was)) & (Counter(stands) - Counter(was))
    kept = _without_last(stands, added)
    # What has come back by itself since is not doubled.
    lost = (Counter(was) - Counter(became)) & (Counter(was) - Counter(kept))
    return (*_without_last(was, Counter(was) - lost), *kept)


def _without_last(items: Sequence[T], counts: Counter[T]) -> list[T]:
    """`items` without so many of each, the last ones."""
    kept, left = list[T](), Counter(counts)
    for item in reversed(items):
        if left[item]:
            left[item] -= 1
        else:
            kept.append(item)
    return kept[::-1]


def _exemplars(items: Items) -> Iterator[Exemplar]:
    return (item for item in items if isinstance(item, Exemplar))


def _splice_of(was: Items, became: Items) -> Splice:
    most = min(len(was), len(became))
    ahead = next((place for place in range(most) if was[place] != became[place]), most)
    most -= ahead
    behind = next((place for place in range(most) if was[-1 - place] != became[-1 - place]), most)
    return Splice(ahead, behind, was[ahead : len(was) - behind], became[ahead : len(became) - behind])


def _link_changes(links: Iterable[Link], before: Iterable[Link]) -> tuple[LinkChange, ...]:
    was = {_key(link): link.strength for link in before}
    put = {_key(link): link.strength for link in links}
    found: list[LinkChange] = []
    done = set[tuple[str, str, LinkType]]()
    for key, strength in put.items():
        if key in done:
            continue
        source, target, kind = key
        back = (target, source, kind)
        is_mutual = back != key and put.get(back) == strength and was.get(back) == was.get(key)
        found.append(LinkChange(source, target, kind, strength, was.get(key), is_mutual))
        if is_mutual:
            done.add(back)
    return tuple(found)


def _key(link: Link) -> tuple[str, str, LinkType]:
    return link.source_id, link.target_id, link.type


def _estimate_before(before: ExperienceBefore) -> SleepEstimate:
    return SleepEstimate(
        before.experience_id, before.salience, before.valence, before.light_slept, before.processed, before.attempts
    )


def _at_odds(one: Conflict) -> ConflictRecord:
    return ConflictRecord(
        one.id, one.earlier.id, one.earlier.quote, one.later.id, one.later.quote, one.kind, one.reason
    )


def _sparse(change: SelfModelChange) -> SelfModelChange:
    differ = [
        one.name for one in fields(SelfModel) if getattr(change.before, one.name) != getattr(change.after, one.name)
    ]
    before, after = ({name: getattr(model, name) for name in differ} for model in (change.before, change.after))
    return SelfModelChange(SelfModel(**before), SelfModel(**after), change.reason, change.evidence)


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


def from_json(text: str) -> PassRecord:
    """What stands in `consolidation_changes`, in whichever form. Raises msgspec.ValidationError for what is none."""
    if msgspec.json.decode(text, type=_Form).form > 1:
        return msgspec.json.decode(text, type=PassRecord)
    first = msgspec.json.decode(text, type=_First)
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
    return record_of(changes, first.before)
