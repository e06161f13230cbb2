"""Applies an erasure plan: every statement of it in one transaction, and the change set for the live memory. Of the
self-model go the statements that hold the words, and those that only erased episodes showed."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import numpy as np

from reveries.db.database import Row, Transaction
from reveries.llm.base import Vector
from reveries.memory.changes import ChangeSet, SelfModelChange
from reveries.memory.forgetting.listed_tables import erase_listed_rows
from reveries.memory.forgetting.needles import TextMatcher
from reveries.memory.forgetting.plan import ForgetPlan
from reveries.memory.forgetting.selection import RelatedRows
from reveries.memory.model import Episode, Link, LinkType, Pattern, SelfModel, Turn
from reveries.memory.rows import episode_of, episode_row, experience_of, turn_of
from reveries.memory.self_model import LIST_FIELDS, TEXT_FIELDS, differences, model_of
from reveries.memory.store import MemoryStore
from reveries.memory.text.appraisal import topics_of, valence_of
from reveries.memory.text.entities import entities_of
from reveries.memory.text.extracts import exemplars_of, summary_of
from reveries.memory.text.indexed_text import passages_of
from reveries.memory.text.segments import unit_mean

_PLAIN_LISTS = (*(name for name in LIST_FIELDS if name != "patterns"), "pinned", "refused")
_MAX_ENTITIES = 20
_ERASED = "Erased on your word."


@dataclass(slots=True)
class ErasedCounts:
    """How much went from each store, and how much was made anew, in the order in which it is told."""

    gone: dict[str, int] = field(default_factory=dict)
    remade: dict[str, int] = field(default_factory=dict)
    lost_statements: list[str] = field(default_factory=list)

    def add(self, store: str, rows: int) -> None:
        self.gone[store] = self.gone.get(store, 0) + max(0, rows)


class Erasing:
    """One erasure within its transaction."""

    def __init__(
        self, store: MemoryStore, transaction: Transaction, plan: ForgetPlan, asides: RelatedRows, holds: TextMatcher
    ) -> None:
        self._store = store
        self._transaction = transaction
        self._plan = plan
        self._asides = asides
        self._holds = holds
        self._neighbours: list[str] = []
        """Episodes that stood beside one that goes."""
        self.counts = ErasedCounts()

    async def apply(self, now: float) -> ChangeSet:
        """Delete, empty, make anew; what the live memory takes over."""
        # Rows that refer to each other go together: whole is what is left at the end.
        await self._transaction.run_text("PRAGMA defer_foreign_keys=ON")
        unindexed = self._unindexed_turns()
        await self._drop_derived()
        await self._drop_said()
        await self._empty_asides()
        change = await self._self_model(now)
        return await self._remake(unindexed, change)

    async def _run_statement(self, store: str, name: str, **named: Iterable[object]) -> None:
        parameters = {key: json.dumps(_order_values(values)) for key, values in named.items()}
        rows = await self._transaction.run(name, parameters)
        if store:
            self.counts.add(store, rows)

    async def _drop_derived(self) -> None:
        plan, asides = self._plan, self._asides
        await self._run_statement("links", "forget.drop_links", ids=plan.episodes)
        await self._run_statement("", "forget.drop_sources", episodes=plan.episodes, experiences=plan.experiences)
        await self._run_statement("", "forget.drop_dormancy", ids=plan.episodes)
        await self._run_statement("", "forget.drop_surfaced", ids=plan.episodes)
        dormant = await self._store.deep.erase(self._transaction, plan.touched | plan.turns, plan.experiences)
        self.counts.add("texts only on disk", dormant)
        await self._run_statement("vectors", "forget.drop_vectors", ids=plan.touched | plan.turns)
        await self._run_statement("vectors", "forget.drop_passage_vectors", ids=plan.experiences)
        await self._run_statement(
            "vectors that sleep kept", "forget.drop_sleep_vectors", episodes=plan.touched, passes=asides.of("passes")
        )
        await self._run_statement("embedding cache", "forget.drop_cache")
        await self._run_statement(
            "contradictions", "forget.drop_conflicts", ids={*plan.conflicts, *asides.of("conflicts")}
        )
        await self._run_statement("claims", "forget.drop_claims", ids=plan.claims)
        await self._run_statement("notes to you", "forget.drop_notes", ids=plan.notes)
        await self._temporal()
        for name, into in plan.moved.items():
            await self._transaction.run("forget.move_merged", {"id": name, "into": into})
        await self._run_statement("episodes", "forget.drop_episodes", ids=plan.episodes)

    async def _drop_said(self) -> None:
        plan, asides = self._plan, self._asides
        await self._run_statement("", "forget.drop_marks", ids=plan.thoughts)
        await self._run_statement("thoughts", "forget.drop_thoughts", ids=plan.thoughts)
        await self._run_statement("turns", "forget.drop_turns", ids=plan.turns)
        await self._run_statement("", "forget.drop_withdrawn", ids=plan.experiences)
        await self._run_statement("", "forget.drop_held", ids={*plan.experiences, *asides.of("held")})
        await self._run_statement("questions of sleep", "forget.drop_pending", ids=asides.of("pending"))
        await self._run_statement(
            "records of sleep", "forget.empty_passes", ids=asides.of("passes"), experiences=plan.experiences
        )
        await self._run_statement("experiences", "forget.drop_experiences", ids=plan.experiences)

    async def _empty_asides(self) -> None:
        asides = self._asides
        await self._run_statement("summaries of conversations", "forget.unfold", ids=asides.of("folded"))
        await self._run_statement("titles of conversations", "forget.untitle", ids=asides.of("conversations"))
        await self._run_statement("meanings of silences", "forget.empty_gaps", ids=asides.of("gaps"))
        await self._run_statement("records of the breaker", "forget.empty_trips", ids=asides.of("trips"))
        await self._run_statement("excerpts of wellbeing", "forget.empty_tripwires", ids=asides.of("tripwires"))
        await self._run_statement("thoughts you asked for", "forget.drop_asked", ids=asides.of("asked"))
        await self._run_statement("words of providers", "forget.empty_circuits", ids=asides.of("circuits"))
        await self._run_statement("", "forget.drop_told_events", ids=asides.of("told_events"))
        erased = await erase_listed_rows(self._transaction, asides.listed, self._holds)
        for table, rows in erased.items():
            self.counts.add(f"{table} of projects" if table != "projects" else "projects", rows)
        await self._run_statement("", "forget.empty_buffer")
        await self._run_statement("", "forget.end_snapshot_marks")
        await self._run_statement("", "forget.end_noted")

    async def _temporal(self) -> None:
        named = {"ids": json.dumps(sorted(self._plan.episodes))}
        for row in await self._transaction.rows("forget.temporal_around", named):
            before, after = (
                json.dumps([name for name in json.loads(row[column]) if name not in self._plan.episodes])
                for column in ("temporal_before", "temporal_after")
            )
            await self._transaction.run("forget.put_temporal", {"id": row["id"], "before": before, "after": after})
            self._neighbours.append(row["id"])

    async def _self_model(self, now: float) -> SelfModelChange | None:
        plan, model = self._plan, self._store.live.self_model
        rows = await self._transaction.rows("forget.self_history")
        changes = [_change(row) for row in rows]
        unshown = shown_only_by(changes, model, plan.touched)
        after = scrub_self_model(model, self._holds, unshown, plan.episodes)
        self.counts.lost_statements = lost_statements(model, after)
        self.counts.add("statements of the self-model", len(self.counts.lost_statements))
        for change in changes:
            clean = scrub_revision(change, self._holds, unshown, plan.episodes)
            if clean != change:
                self.counts.lost_statements += lost_statements(change.before, clean.before)
                self.counts.add("changes of the self-model", 1)
                await self._transaction.run("forget.put_self_history", _history_row(clean))
        if after == model:
            return None
        return SelfModelChange(model, replace(after, updated_at=now), _ERASED, ())

    # --- what is made anew -------------------------------------------------------------------------------------------

    async def _remake(self, unindexed: tuple[str, ...], change: SelfModelChange | None) -> ChangeSet:
        plan, live = self._plan, self._store.live
        named = {"ids": json.dumps(sorted(plan.remade))}
        rows = await self._transaction.rows("forget.episode_rows", named)
        remade: list[Episode] = []
        for row in rows:
            episode = await self._remade(row)
            if row["dormant"]:
                await self._transaction.run("episodes.put", episode_row(episode))
                await self._store.deep.put_episode(self._transaction, episode)
            else:
                remade.append(episode)
        self.counts.remade["episodes"] = len(rows)
        # Links of what is made anew stay, but for those to what is gone.
        around = await self._transaction.rows(
            "episodes.links_around", {"ids": json.dumps(sorted(one.id for one in remade))}
        )
        left = {name for one in remade for name in one.experience_ids}
        await self._run_statement("", "forget.sleep_anew", ids=left)
        vectors, provisional = self._vectors(remade)
        return ChangeSet(
            removed_ids=tuple(sorted(name for name in plan.touched if name in live.graph)),
            episodes=(*remade, *self._beside()),
            vectors=vectors,
            links=tuple(Link(r["from_id"], r["to_id"], LinkType(r["type"]), r["strength"]) for r in around),
            unindexed_turn_ids=unindexed,
            provisional_ids=provisional,
            self_model=change,
            gone_claim_ids=tuple(sorted(plan.claims)),
            gone_conflict_ids=tuple(sorted({*plan.conflicts, *map(str, self._asides.of("conflicts"))})),
        )

    def _beside(self) -> list[Episode]:
        """The live neighbours of what goes, without it."""
        live, gone = self._store.live.graph, self._plan.episodes
        kept = [live.get(name) for name in self._neighbours if name not in self._plan.touched]
        return [
            replace(
                one,
                before=tuple(name for name in one.before if name not in gone),
                after=tuple(name for name in one.after if name not in gone),
            )
            for one in kept
            if one is not None
        ]

    async def _remade(self, row: Row) -> Episode:
        """The episode from what is left of its sources, in their own words: as light sleep would make it."""
        sources = [
            str(one["experience_id"]) for one in await self._transaction.rows("deep.sources_of", {"id": row["id"]})
        ]
        turns = await self._turns(sources)
        said = "\n".join(turn.fresh for turn in turns)
        old = episode_of(row, sources)
        return replace(
            old,
            created_at=min((turn.said_at for turn in turns), default=old.created_at),
            ended_at=max((turn.said_at for turn in turns), default=old.ended_at),
            summary=summary_of(turns),
            exemplars=exemplars_of(turns),
            confidence=1.0,
            depth="light",
            valence=valence_of(said),
            topics=topics_of(said),
            entities=entities_of(said)[:_MAX_ENTITIES],
            before=tuple(name for name in old.before if name not in self._plan.episodes),
            after=tuple(name for name in old.after if name not in self._plan.episodes),
            gap_significance="" if self._holds(old.gap_significance) else old.gap_significance,
        )

    async def _turns(self, experience_ids: Iterable[str]) -> list[Turn]:
        turns: list[Turn] = []
        for experience_id in experience_ids:
            rows = await self._transaction.rows("turns.of_experience", {"experience_id": experience_id})
            turns += map(turn_of, rows)
            if not rows:
                found = await self._transaction.rows("experiences.get", {"id": experience_id})
                turns += [turn for row in found for turn in passages_of(experience_of(row), self._store.mind_name)]
        return turns

    def _vectors(self, remade: Iterable[Episode]) -> tuple[tuple[tuple[str, Vector], ...], tuple[str, ...]]:
        """The mean of what is left in the live index; where nothing is, it is made anew in the background."""
        live = self._store.live
        vectors: list[tuple[str, Vector]] = []
        provisional: list[str] = []
        for episode in remade:
            left = [
                row
                for row in live.turns.rows_of(episode.id)
                if live.turns.turn(row).experience_id not in self._plan.experiences
            ]
            rows = live.turns.vectors[left] if left else np.zeros((0, live.dimensions), dtype=np.float32)
            if not rows.any():
                provisional.append(episode.id)
            vectors.append((episode.id, unit_mean(rows) if left else live.no_vector))
        return tuple(vectors), tuple(provisional)

    def _unindexed_turns(self) -> tuple[str, ...]:
        """The turns and passages that leave the live index."""
        live, plan = self._store.live, self._plan
        passages = {
            live.turns.turn_id(row)
            for name in plan.touched
            for row in live.turns.rows_of(name)
            if live.turns.turn(row).experience_id in plan.experiences
        }
        return tuple(sorted(passages | {name for name in plan.turns if live.turns.row_of(name) is not None}))


# --- the self-model ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SelfModelRevision:
    """A change of the self-model as its history has it."""

    number: int
    reason: str
    evidence: tuple[str, ...]
    before: SelfModel


def shown_only_by(changes: Sequence[SelfModelRevision], now: SelfModel, touched: Collection[str]) -> frozenset[str]:
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


def scrub_self_model(
    model: SelfModel, holds: TextMatcher, unshown: Collection[str], gone: Collection[str]
) -> SelfModel:
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


def lost_statements(before: SelfModel, after: SelfModel) -> list[str]:
    """The statements that `after` has no more."""
    return [text for found in differences(before, after) for text in found.removed]


def scrub_revision(
    change: SelfModelRevision, holds: TextMatcher, unshown: Collection[str], gone: Collection[str]
) -> SelfModelRevision:
    """A change of the history without them."""
    return replace(
        change,
        reason="" if holds(change.reason) else change.reason,
        evidence=tuple(name for name in change.evidence if name not in gone),
        before=scrub_self_model(change.before, holds, unshown, gone),
    )


def _pattern(pattern: Pattern, gone: Collection[str]) -> Pattern | None:
    """None where only what is gone showed it."""
    left = tuple(name for name in pattern.episode_ids if name not in gone)
    if pattern.episode_ids and not left:
        return None
    return replace(pattern, episode_ids=left)


def _change(row: Row) -> SelfModelRevision:
    evidence: list[str] = json.loads(row["evidence"])
    return SelfModelRevision(int(row["id"]), row["reason"], tuple(evidence), model_of(row["before"]))


def _history_row(change: SelfModelRevision) -> Mapping[str, object]:
    return {
        "id": change.number,
        "reason": change.reason,
        "evidence": json.dumps(change.evidence),
        "before": msgspec.json.encode(change.before).decode("utf-8"),
    }


def _order_values(values: Iterable[object]) -> list[object]:
    found: Collection[object] = set(values)
    return sorted(found, key=str)
