"""The erasure cascade: from what the owner selected to every row to delete and every episode to rebuild. Pure.

An experience takes with it its turns, what was derived only from it, the thoughts that had one of its episodes in their
prompt, and what was derived from those. A thought that only had such a thought in its prompt stays, unless it contains
the words: otherwise one word could, step by step, erase a whole mind.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class RowIds:
    """Ids of rows that may be erased."""

    experiences: frozenset[str] = NOTHING
    turns: frozenset[str] = NOTHING
    thoughts: frozenset[str] = NOTHING
    notes: frozenset[str] = NOTHING
    claims: frozenset[str] = NOTHING
    episodes: frozenset[str] = NOTHING


@dataclass(frozen=True, slots=True)
class ChosenRows(RowIds):
    """The rows that the owner selected, or that contain the selected words. Episodes selected by id are erased with all
    their sources."""

    worded_episodes: frozenset[str] = NOTHING
    """Episodes whose own text contains the words: rebuilt if some of their sources do not."""

    def __or__(self, other: "ChosenRows") -> "ChosenRows":
        return ChosenRows(
            self.experiences | other.experiences,
            self.turns | other.turns,
            self.thoughts | other.thoughts,
            self.notes | other.notes,
            self.claims | other.claims,
            self.episodes | other.episodes,
            self.worded_episodes | other.worded_episodes,
        )

    @property
    def is_empty(self) -> bool:
        return self == ChosenRows()


@dataclass(frozen=True, slots=True)
class Relations:
    """Which row was derived from which, by id."""

    turn_experience: Mapping[str, str | None] = field(default_factory=dict)
    episode_sources: Mapping[str, Collection[str]] = field(default_factory=dict)
    """Of every episode, including merged ones."""
    merged_into: Mapping[str, str] = field(default_factory=dict)
    thought_experience: Mapping[str, str | None] = field(default_factory=dict)
    thought_recalled: Mapping[str, Collection[str]] = field(default_factory=dict)
    """The episodes in the prompt of each thought."""
    note_thought: Mapping[str, str] = field(default_factory=dict)
    claim_experience: Mapping[str, str] = field(default_factory=dict)
    conflict_claims: Mapping[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ForgetPlan(RowIds):
    """Which rows are deleted, and which episodes are rebuilt from what is left."""

    conflicts: frozenset[str] = NOTHING
    rebuilt: frozenset[str] = NOTHING
    moved: Mapping[str, str] = field(default_factory=dict)
    """New merge target of episodes that were merged into a deleted one."""

    @property
    def is_empty(self) -> bool:
        return self == ForgetPlan()

    @property
    def touched(self) -> frozenset[str]:
        """Episodes that are deleted or rebuilt."""
        return self.episodes | self.rebuilt

    @property
    def ids(self) -> frozenset[str]:
        """Ids of all deleted rows."""
        rows = self.experiences | self.turns | self.thoughts | self.notes
        return rows | self.claims | self.conflicts | self.episodes


def cascade(chosen: ChosenRows, relations: Relations) -> ForgetPlan:
    """Return the plan that erases `chosen` and everything derived from it."""
    gone = _chosen_experiences(chosen, relations)
    touched = _touched_episodes(gone, relations)
    thoughts = {
        name
        for name, recalled in relations.thought_recalled.items()
        if name in chosen.thoughts or not touched.isdisjoint(recalled) or relations.thought_experience.get(name) in gone
    }
    gone |= {experience for name in thoughts if (experience := relations.thought_experience.get(name))}
    thoughts |= {name for name, experience in relations.thought_experience.items() if experience in gone}
    episodes, rebuilt = _split_episodes(gone, chosen, relations)
    moved = _redirect_merges(episodes, relations)
    claims = {name for name, source in relations.claim_experience.items() if source in gone} | chosen.claims
    return ForgetPlan(
        experiences=frozenset(gone),
        turns=frozenset(name for name, own in relations.turn_experience.items() if own in gone) | chosen.turns,
        thoughts=frozenset(thoughts),
        notes=frozenset(name for name, own in relations.note_thought.items() if own in thoughts) | chosen.notes,
        claims=frozenset(claims),
        conflicts=frozenset(name for name, ends in relations.conflict_claims.items() if not claims.isdisjoint(ends)),
        episodes=frozenset(episodes),
        rebuilt=frozenset(rebuilt),
        moved=moved,
    )


def _chosen_experiences(chosen: ChosenRows, relations: Relations) -> set[str]:
    """The experiences of the selected rows."""
    gone = set(chosen.experiences)
    gone |= {experience for name in chosen.turns if (experience := relations.turn_experience.get(name))}
    gone |= {experience for name in chosen.thoughts if (experience := relations.thought_experience.get(name))}
    for name in chosen.episodes:
        gone.update(relations.episode_sources.get(name, ()))
    return gone


def _touched_episodes(gone: Collection[str], relations: Relations) -> set[str]:
    return {name for name, sources in relations.episode_sources.items() if any(source in gone for source in sources)}


def _split_episodes(gone: Collection[str], chosen: ChosenRows, relations: Relations) -> tuple[set[str], set[str]]:
    """Split the affected episodes into those to delete and those to rebuild from remaining sources. A merged episode is
    only kept for undo, so it is deleted as soon as one of its sources is."""
    dropped, rebuilt = set(chosen.episodes), set[str]()
    for name in _touched_episodes(gone, relations) | chosen.worded_episodes:
        left = [source for source in relations.episode_sources.get(name, ()) if source not in gone]
        if left and name not in relations.merged_into:
            rebuilt.add(name)
        else:
            dropped.add(name)
    return dropped, rebuilt - dropped


def _redirect_merges(dropped: set[str], relations: Relations) -> dict[str, str]:
    """Return new merge targets for the episodes merged into a dropped one. Those without any are added to `dropped`:
    they were only kept for undo."""
    into = relations.merged_into
    while True:
        orphans = [name for name in into if name not in dropped and into[name] in dropped]
        moved = {name: _final_target(into[name], dropped, into) for name in orphans}
        if not (lost := {name for name, target in moved.items() if not target}):
            return moved
        dropped |= lost


def _final_target(name: str, dropped: Collection[str], into: Mapping[str, str]) -> str:
    seen = set[str]()
    while name in dropped and name not in seen:
        seen.add(name)
        name = into.get(name, "")
    return "" if name in dropped else name
