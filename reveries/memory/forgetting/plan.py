"""The erasure cascade: from what the owner chose to every row that goes and every episode that is made anew. Pure.

What goes with an experience: its turns, what only it made, the thoughts that had one of its episodes before them, and
what came of those. A thought that had only such a thought before it stays, unless it holds the words: else, hop by hop,
one word would take a whole mind with it.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Chosen:
    """What the owner chose, and what holds its words, by id."""

    experiences: frozenset[str] = NOTHING
    turns: frozenset[str] = NOTHING
    thoughts: frozenset[str] = NOTHING
    notes: frozenset[str] = NOTHING
    claims: frozenset[str] = NOTHING
    episodes: frozenset[str] = NOTHING
    """Chosen by id: with all that they were made of."""
    worded_episodes: frozenset[str] = NOTHING
    """Whose own text holds the words: made anew where their sources do not hold them."""

    def __or__(self, other: "Chosen") -> "Chosen":
        return Chosen(
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
        return self == Chosen()


@dataclass(frozen=True, slots=True)
class Relations:
    """Which row came of which, by id."""

    turn_experience: Mapping[str, str | None] = field(default_factory=dict)
    episode_sources: Mapping[str, Collection[str]] = field(default_factory=dict)
    """Of every episode, those that went into another included."""
    merged_into: Mapping[str, str] = field(default_factory=dict)
    thought_experience: Mapping[str, str | None] = field(default_factory=dict)
    thought_recalled: Mapping[str, Collection[str]] = field(default_factory=dict)
    """The episodes that a thought had before it."""
    note_thought: Mapping[str, str] = field(default_factory=dict)
    claim_experience: Mapping[str, str] = field(default_factory=dict)
    conflict_claims: Mapping[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ForgetPlan:
    """Which rows go, and which are made anew from what is left."""

    experiences: frozenset[str] = NOTHING
    turns: frozenset[str] = NOTHING
    thoughts: frozenset[str] = NOTHING
    notes: frozenset[str] = NOTHING
    claims: frozenset[str] = NOTHING
    conflicts: frozenset[str] = NOTHING
    episodes: frozenset[str] = NOTHING
    remade: frozenset[str] = NOTHING
    moved: Mapping[str, str] = field(default_factory=dict)
    """Episodes that went into one that goes: what they went into instead."""

    @property
    def is_empty(self) -> bool:
        return self == ForgetPlan()

    @property
    def touched(self) -> frozenset[str]:
        """Episodes that go or are made anew."""
        return self.episodes | self.remade

    @property
    def ids(self) -> frozenset[str]:
        """Of all that goes."""
        rows = self.experiences | self.turns | self.thoughts | self.notes
        return rows | self.claims | self.conflicts | self.episodes


def cascade(chosen: Chosen, relations: Relations) -> ForgetPlan:
    """Everything that goes with `chosen`."""
    gone = _first(chosen, relations)
    touched = _touched_names(gone, relations)
    thoughts = {
        name
        for name, recalled in relations.thought_recalled.items()
        if name in chosen.thoughts or not touched.isdisjoint(recalled) or relations.thought_experience.get(name) in gone
    }
    gone |= {found for name in thoughts if (found := relations.thought_experience.get(name))}
    thoughts |= {name for name, made in relations.thought_experience.items() if made in gone}
    episodes, remade = _episodes(gone, chosen, relations)
    moved = _mergers_of_dropped(episodes, relations)
    claims = {name for name, made_of in relations.claim_experience.items() if made_of in gone} | chosen.claims
    return ForgetPlan(
        experiences=frozenset(gone),
        turns=frozenset(name for name, own in relations.turn_experience.items() if own in gone) | chosen.turns,
        thoughts=frozenset(thoughts),
        notes=frozenset(name for name, own in relations.note_thought.items() if own in thoughts) | chosen.notes,
        claims=frozenset(claims),
        conflicts=frozenset(name for name, ends in relations.conflict_claims.items() if not claims.isdisjoint(ends)),
        episodes=frozenset(episodes),
        remade=frozenset(remade),
        moved=moved,
    )


def _first(chosen: Chosen, relations: Relations) -> set[str]:
    """The experiences that go by what was chosen itself."""
    gone = set(chosen.experiences)
    gone |= {found for name in chosen.turns if (found := relations.turn_experience.get(name))}
    gone |= {found for name in chosen.thoughts if (found := relations.thought_experience.get(name))}
    for name in chosen.episodes:
        gone.update(relations.episode_sources.get(name, ()))
    return gone


def _touched_names(gone: Collection[str], relations: Relations) -> set[str]:
    return {name for name, sources in relations.episode_sources.items() if any(one in gone for one in sources)}


def _episodes(gone: Collection[str], chosen: Chosen, relations: Relations) -> tuple[set[str], set[str]]:
    """Those of which nothing is left, and those of which something is. What went into another is only kept for undoing:
    it goes when anything of it does."""
    dropped, remade = set(chosen.episodes), set[str]()
    for name in _touched_names(gone, relations) | chosen.worded_episodes:
        left = [one for one in relations.episode_sources.get(name, ()) if one not in gone]
        if left and name not in relations.merged_into:
            remade.add(name)
        else:
            dropped.add(name)
    return dropped, remade - dropped


def _mergers_of_dropped(dropped: set[str], relations: Relations) -> dict[str, str]:
    """What those that went into a dropped one went into now. Where there is nothing they are dropped too: they were
    only kept for undoing."""
    into = relations.merged_into
    while True:
        lone = [name for name in into if name not in dropped and into[name] in dropped]
        moved = {name: _end_of_mergers(into[name], dropped, into) for name in lone}
        if not (lost := {name for name, end in moved.items() if not end}):
            return moved
        dropped |= lost


def _end_of_mergers(name: str, dropped: Collection[str], into: Mapping[str, str]) -> str:
    seen = set[str]()
    while name in dropped and name not in seen:
        seen.add(name)
        name = into.get(name, "")
    return "" if name in dropped else name
