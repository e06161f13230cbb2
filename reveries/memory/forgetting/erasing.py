"""Applies an erasure plan: runs its statements in one transaction and returns the change set for the live memory. The
self-model loses the statements that contain the words, and those supported only by erased episodes."""

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
from reveries.memory.self_model import LIST_FIELDS, TEXT_FIELDS, differences, model_of, set_days
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
    """Number of erased and of rebuilt entries by store, in display order."""

    gone: dict[str, int] = field(default_factory=dict)
    rebuilt: dict[str, int] = field(default_factory=dict)
    lost_statements: list[str] = field(default_factory=list)

    def add(self, store: str, rows: int) -> None:
        self.gone[store] = self.gone.get(store, 0) + max(0, rows)


class ErasureRunner:
    """Runs one erasure within its transaction."""

    def __init__(
        self,
        store: MemoryStore,
        transaction: Transaction,
        plan: ForgetPlan,
        related: RelatedRows,
        matches: TextMatcher,
        reason: str = _ERASED,
    ) -> None:
        """`reason`: what the self-model's history says if it loses statements."""
        self._store = store
        self._transaction = transaction
        self._plan = plan
        self._related = related
        self._matches = matches
        self._reason = reason
        self._neighbours: list[str] = []
        """Ids of episodes next to a deleted one in time."""
        self.counts = ErasedCounts()

    async def apply(self, now: float) -> ChangeSet:
        """Delete, empty and rebuild rows. Returns the changes for the live memory."""
        # Rows that refer to each other are deleted together: references only have to be valid at the end.
        await self._transaction.run_text("PRAGMA defer_foreign_keys=ON")
        unindexed = self._unindexed_turns()
        await self._drop_derived()
        await self._drop_sources()
        await self._empty_related()
        change = await self._scrub_self_model(now)
        return await self._rebuild(unindexed, change)

    async def _run_statement(self, store: str, name: str, **named: Iterable[object]) -> None:
        parameters = {key: json.dumps(_order_values(values)) for key, values in named.items()}
        rows = await self._transaction.run(name, parameters)
        if store:
            self.counts.add(store, rows)

    async def _drop_derived(self) -> None:
        plan, related = self._plan, self._related
        await self._run_statement("links", "forget.drop_links", ids=plan.episodes)
        await self._run_statement("", "forget.drop_sources", episodes=plan.episodes, experiences=plan.experiences)
        await self._run_statement("", "forget.drop_dormancy", ids=plan.episodes)
        await self._run_statement("", "forget.drop_surfaced", ids=plan.episodes)
        dormant = await self._store.deep.erase(self._transaction, plan.touched | plan.turns, plan.experiences)
        self.counts.add("texts only on disk", dormant)
        await self._run_statement("vectors", "forget.drop_vectors", ids=plan.touched | plan.turns)
        await self._run_statement("vectors", "forget.drop_passage_vectors", ids=plan.experiences)
        await self._run_statement(
            "vectors that sleep kept", "forget.drop_sleep_vectors", episodes=plan.touched, passes=related.of("passes")
        )
        await self._run_statement("embedding cache", "forget.drop_cache")
        await self._run_statement(
            "contradictions", "forget.drop_conflicts", ids={*plan.conflicts, *related.of("conflicts")}
        )
        await self._run_statement("claims", "forget.drop_claims", ids=plan.claims)
        await self._run_statement("notes to you", "forget.drop_notes", ids=plan.notes)
        await self._unlink_neighbours()
        for name, into in plan.moved.items():
            await self._transaction.run("forget.move_merged", {"id": name, "into": into})
        await self._run_statement("episodes", "forget.drop_episodes", ids=plan.episodes)

    async def _drop_sources(self) -> None:
        plan, related = self._plan, self._related
        await self._run_statement("", "forget.drop_marks", ids=plan.thoughts)
        await self._run_statement("thoughts", "forget.drop_thoughts", ids=plan.thoughts)
        await self._run_statement("turns", "forget.drop_turns", ids=plan.turns)
        await self._run_statement("", "forget.drop_withdrawn", ids=plan.experiences)
        await self._run_statement("", "forget.drop_held", ids={*plan.experiences, *related.of("held")})
        await self._run_statement("questions of sleep", "forget.drop_pending", ids=related.of("pending"))
        await self._run_statement(
            "records of sleep", "forget.empty_passes", ids=related.of("passes"), experiences=plan.experiences
        )
        await self._run_statement("experiences", "forget.drop_experiences", ids=plan.experiences)

    async def _empty_related(self) -> None:
        related = self._related
        await self._run_statement("summaries of conversations", "forget.unfold", ids=related.of("folded"))
        await self._run_statement("titles of conversations", "forget.untitle", ids=related.of("conversations"))
        await self._run_statement("meanings of silences", "forget.empty_gaps", ids=related.of("gaps"))
        await self._run_statement("records of the breaker", "forget.empty_trips", ids=related.of("trips"))
        await self._run_statement("excerpts of wellbeing", "forget.empty_tripwires", ids=related.of("tripwires"))
        await self._run_statement("thoughts you asked for", "forget.drop_asked", ids=related.of("asked"))
        await self._run_statement("words of providers", "forget.empty_circuits", ids=related.of("circuits"))
        await self._run_statement("", "forget.drop_told_events", ids=related.of("told_events"))
        documents = related.of("documents")
        await self._run_statement("places in documents", "forget.drop_chunks_of_documents", ids=documents)
        await self._run_statement("pages of documents", "forget.drop_pages_of_documents", ids=documents)
        await self._run_statement("documents", "forget.drop_documents", ids=documents)
        erased = await erase_listed_rows(self._transaction, related.listed, self._matches)
        for table, rows in erased.items():
            self.counts.add(f"{table} of projects" if table != "projects" else "projects", rows)
        await self._run_statement("", "forget.empty_buffer")
        await self._run_statement("", "forget.end_snapshot_marks")
        await self._run_statement("", "forget.end_noted")

    async def _unlink_neighbours(self) -> None:
        named = {"ids": json.dumps(sorted(self._plan.episodes))}
        for row in await self._transaction.rows("forget.temporal_around", named):
            before, after = (
                json.dumps([name for name in json.loads(row[column]) if name not in self._plan.episodes])
                for column in ("temporal_before", "temporal_after")
            )
            await self._transaction.run("forget.put_temporal", {"id": row["id"], "before": before, "after": after})
            self._neighbours.append(row["id"])

    async def _scrub_self_model(self, now: float) -> SelfModelChange | None:
        plan, model = self._plan, self._store.live.self_model
        rows = await self._transaction.rows("forget.self_history")
        revisions = [_revision_from_row(row) for row in rows]
        unsupported = find_unsupported(revisions, model, plan.touched)
        after = scrub_self_model(model, self._matches, unsupported, plan.episodes)
        self.counts.lost_statements = lost_statements(model, after)
        self.counts.add("statements of the self-model", len(self.counts.lost_statements))
        for revision in revisions:
            clean = scrub_revision(revision, self._matches, unsupported, plan.episodes)
            if clean != revision:
                self.counts.lost_statements += lost_statements(revision.before, clean.before)
                self.counts.add("changes of the self-model", 1)
                await self._transaction.run("forget.put_self_history", _revision_row(clean))
        if after == model:
            return None
        return SelfModelChange(model, replace(after, updated_at=now), self._reason, ())

    # --- rebuilding --------------------------------------------------------------------------------------------------

    async def rebuild(self) -> ChangeSet:
        """Rebuild the episodes of the plan from the sources that are left, without deleting anything. Returns the
        changes for the live memory, in which the turns of the plan are not indexed any more."""
        return await self._rebuild(self._unindexed_turns(), None)

    async def put_in_own_words(self, episode_id: str) -> None:
        """Store an episode with a summary made of its own sources."""
        [row] = await self._transaction.rows("forget.episode_rows", {"ids": json.dumps([episode_id])})
        await self._transaction.run("episodes.put", episode_row(await self._rebuild_episode(row)))

    async def _rebuild(self, unindexed: tuple[str, ...], change: SelfModelChange | None) -> ChangeSet:
        plan, live = self._plan, self._store.live
        named = {"ids": json.dumps(sorted(plan.rebuilt))}
        rows = await self._transaction.rows("forget.episode_rows", named)
        rebuilt: list[Episode] = []
        for row in rows:
            episode = await self._rebuild_episode(row)
            if row["dormant"]:
                await self._transaction.run("episodes.put", episode_row(episode))
                await self._store.deep.put_episode(self._transaction, episode)
            else:
                rebuilt.append(episode)
        self.counts.rebuilt["episodes"] = len(rows)
        # Rebuilt episodes keep their links, except those to deleted ones.
        around = await self._transaction.rows(
            "episodes.links_around", {"ids": json.dumps(sorted(episode.id for episode in rebuilt))}
        )
        remaining = {name for episode in rebuilt for name in episode.experience_ids}
        await self._run_statement("", "forget.sleep_anew", ids=remaining)
        vectors, provisional = self._rebuilt_vectors(rebuilt)
        return ChangeSet(
            removed_ids=tuple(sorted(name for name in plan.touched if name in live.graph)),
            episodes=(*rebuilt, *self._neighbours_without_erased()),
            vectors=vectors,
            links=tuple(Link(r["from_id"], r["to_id"], LinkType(r["type"]), r["strength"]) for r in around),
            unindexed_turn_ids=unindexed,
            provisional_ids=provisional,
            self_model=change,
            gone_claim_ids=tuple(sorted(plan.claims)),
            gone_conflict_ids=tuple(sorted({*plan.conflicts, *map(str, self._related.of("conflicts"))})),
        )

    def _neighbours_without_erased(self) -> list[Episode]:
        """Return the live neighbours of deleted episodes, without references to those."""
        live, gone = self._store.live.graph, self._plan.episodes
        neighbours = [live.get(name) for name in self._neighbours if name not in self._plan.touched]
        return [
            replace(
                episode,
                before=tuple(name for name in episode.before if name not in gone),
                after=tuple(name for name in episode.after if name not in gone),
            )
            for episode in neighbours
            if episode is not None
        ]

    async def _rebuild_episode(self, row: Row) -> Episode:
        """Build the episode from its remaining sources, in their own words, as light sleep does."""
        source_rows = await self._transaction.rows("deep.sources_of", {"id": row["id"]})
        sources = [str(source["experience_id"]) for source in source_rows]
        turns = await self._turns(sources)
        text = "\n".join(turn.own_text for turn in turns)
        old = episode_of(row, sources)
        return replace(
            old,
            created_at=min((turn.said_at for turn in turns), default=old.created_at),
            ended_at=max((turn.said_at for turn in turns), default=old.ended_at),
            summary=summary_of(turns),
            exemplars=exemplars_of(turns),
            confidence=1.0,
            depth="light",
            valence=valence_of(text),
            topics=topics_of(text),
            entities=entities_of(text)[:_MAX_ENTITIES],
            before=tuple(name for name in old.before if name not in self._plan.episodes),
            after=tuple(name for name in old.after if name not in self._plan.episodes),
            gap_significance="" if self._matches(old.gap_significance) else old.gap_significance,
        )

    async def _turns(self, experience_ids: Iterable[str]) -> list[Turn]:
        turns: list[Turn] = []
        for experience_id in experience_ids:
            rows = await self._transaction.rows("turns.of_experience", {"experience_id": experience_id})
            turns += map(turn_of, rows)
            if not rows:
                experiences = await self._transaction.rows("experiences.get", {"id": experience_id})
                turns += [
                    turn for row in experiences for turn in passages_of(experience_of(row), self._store.mind_name)
                ]
        return turns

    def _rebuilt_vectors(self, rebuilt: Iterable[Episode]) -> tuple[tuple[tuple[str, Vector], ...], tuple[str, ...]]:
        """Return the vectors (means of the remaining live turns), and the ids of the episodes to re-embed because none
        are left."""
        live = self._store.live
        vectors: list[tuple[str, Vector]] = []
        provisional: list[str] = []
        for episode in rebuilt:
            remaining = [
                row
                for row in live.turns.rows_of(episode.id)
                if live.turns.turn(row).experience_id not in self._plan.experiences
            ]
            rows = live.turns.vectors[remaining] if remaining else np.zeros((0, live.dimensions), dtype=np.float32)
            if not rows.any():
                provisional.append(episode.id)
            vectors.append((episode.id, unit_mean(rows) if remaining else live.no_vector))
        return tuple(vectors), tuple(provisional)

    def _unindexed_turns(self) -> tuple[str, ...]:
        """Ids of the turns and passages that leave the live index."""
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
    """A change of the self-model from its history."""

    number: int
    reason: str
    evidence: tuple[str, ...]
    before: SelfModel


def find_unsupported(
    revisions: Sequence[SelfModelRevision], now: SelfModel, touched: Collection[str]
) -> frozenset[str]:
    """Return the statements that were only added by revisions whose episodes are all `touched`. `revisions`: newest
    first."""
    by_erased, by_others = set[str](), set[str]()
    after = now
    for revision in revisions:
        added = {text for change in differences(revision.before, after) for text in change.added}
        is_erased = bool(revision.evidence) and all(name in touched for name in revision.evidence)
        (by_erased if is_erased else by_others).update(added)
        after = revision.before
    return frozenset(by_erased - by_others)


def scrub_self_model(
    model: SelfModel, matches: TextMatcher, unsupported: Collection[str], gone: Collection[str]
) -> SelfModel:
    """Return `model` without the statements that match or are unsupported, and without the ids of deleted episodes."""

    def is_kept(text: str) -> bool:
        return text not in unsupported and not matches(text)

    texts: dict[str, Any] = {
        name: getattr(model, name) if is_kept(getattr(model, name)) else "" for name in TEXT_FIELDS
    }
    lists: dict[str, Any] = {
        name: tuple(text for text in getattr(model, name) if is_kept(text)) for name in _PLAIN_LISTS
    }
    # A field that was emptied here no longer counts as written by the owner.
    pinned_fields = tuple(name for name in model.pinned_fields if getattr(model, name) == texts.get(name))
    patterns = tuple(
        kept
        for pattern in model.patterns
        if (kept := _scrub_pattern(pattern, gone)) is not None and is_kept(pattern.description)
    )
    return set_days(replace(model, **texts, **lists, patterns=patterns, pinned_fields=pinned_fields), ())


def lost_statements(before: SelfModel, after: SelfModel) -> list[str]:
    """Return the statements that `after` no longer has."""
    return [text for change in differences(before, after) for text in change.removed]


def scrub_revision(
    revision: SelfModelRevision, matches: TextMatcher, unsupported: Collection[str], gone: Collection[str]
) -> SelfModelRevision:
    """Scrub a revision like `scrub_self_model`."""
    return replace(
        revision,
        reason="" if matches(revision.reason) else revision.reason,
        evidence=tuple(name for name in revision.evidence if name not in gone),
        before=scrub_self_model(revision.before, matches, unsupported, gone),
    )


def _scrub_pattern(pattern: Pattern, gone: Collection[str]) -> Pattern | None:
    """Remove deleted episodes from a pattern; None if no others support it."""
    remaining = tuple(name for name in pattern.episode_ids if name not in gone)
    if pattern.episode_ids and not remaining:
        return None
    return replace(pattern, episode_ids=remaining)


def _revision_from_row(row: Row) -> SelfModelRevision:
    evidence: list[str] = json.loads(row["evidence"])
    return SelfModelRevision(int(row["id"]), row["reason"], tuple(evidence), model_of(row["before"]))


def _revision_row(revision: SelfModelRevision) -> Mapping[str, object]:
    return {
        "id": revision.number,
        "reason": revision.reason,
        "evidence": json.dumps(revision.evidence),
        "before": msgspec.json.encode(revision.before).decode("utf-8"),
    }


def _order_values(values: Iterable[object]) -> list[object]:
    unique: Collection[object] = set(values)
    return sorted(unique, key=str)


# --- summaries of conversations --------------------------------------------------------------------------------------


async def remove_from_summaries(transaction: Transaction, experiences: list[str], matches: TextMatcher) -> None:
    """Remove matching lines from the summaries of conversations. A summary without a matching line is removed as a
    whole, since it may say the same in other words."""
    named = {"ids": json.dumps(experiences)}
    for row in await transaction.rows("forget.summaries_over", named):
        lines = str(row["folded_summary"]).splitlines()
        remaining = [line for line in lines if not matches(line)]
        summary = "\n".join(remaining) if len(remaining) < len(lines) else ""
        until = row["folded_until"] if summary else 0
        await transaction.run("forget.put_summary", {"id": row["id"], "summary": summary, "until": until})
