"""Questions of sleep to the owner, and the owner's answers.

A pass that would merge away more than a share of the episodes asks first: its next change is stored, already checked,
and applied or dropped when the owner answers. The owner also settles conflicts between two claims that cannot both
hold."""

from dataclasses import dataclass

import msgspec

from reveries.config import MemorySettings
from reveries.db.database import Transaction
from reveries.errors import NotFoundError
from reveries.memory.changes import ChangeSet
from reveries.memory.claims import Conflict, Settlement
from reveries.memory.graph.memory_graph import MemoryGraph
from reveries.memory.sleep.claims.verification import max_changes_at_once
from reveries.memory.sleep.model_answers import ExperienceDecision, InterpretedPart
from reveries.memory.sleep.questions import Abstraction, SelfAnswer
from reveries.memory.sleep.self_model_changes import SelfUpdate, Trait, update_from_answer
from reveries.memory.store import MemoryStore
from reveries.safe_text import one_line


class _StoredAnswer(msgspec.Struct, frozen=True):
    """The model's checked answers, as stored in the row."""

    abstraction: Abstraction
    self_answer: SelfAnswer | None = None
    trait: Trait | None = None
    """These two: as stored by earlier versions."""
    about_self: SelfUpdate | None = None
    experience_ids: tuple[str, ...] = ()

    def update(self, said_at: float) -> SelfUpdate | None:
        """Return what it changes in the self-model."""
        if self.self_answer is None:
            return self.about_self
        patterns = () if self.abstraction.is_foreign else self.abstraction.patterns
        return update_from_answer(self.self_answer, patterns, self.trait, said_at)


@dataclass(frozen=True, slots=True)
class Question:
    """What a pass would do next and asks the owner about."""

    run_id: str
    text: str
    understood: InterpretedPart


def merge_allowance(graph: MemoryGraph, settings: MemorySettings) -> float:
    """Return how many episodes one pass may merge away or supersede before it asks."""
    return max_changes_at_once(len(graph), settings)


def merge_question_text(decision: ExperienceDecision, spent: int, graph: MemoryGraph) -> str:
    """Return one sentence on what was done and one on what would be next. It is shown without a request, so it quotes
    nothing tainted."""
    actions = [
        f"merge \u201c{one_line(source.summary, 80)}\u201d into \u201c{one_line(target.summary, 80)}\u201d"
        for entry in decision.own_merges
        if (source := graph.get(entry.episode_id)) is not None and (target := graph.get(entry.merged_into)) is not None
    ]
    actions += [
        f"rank \u201c{one_line(update.earlier.quote, 80)}\u201d under \u201c{one_line(update.later.quote, 80)}\u201d"
        for update in decision.own_updates
    ]
    return (
        f"This pass has merged away or superseded {spent} of {len(graph) + spent} episodes, the most it may. "
        f"Next it would {' and '.join(actions)}."
    )


async def store_question(transaction: Transaction, question: Question, now: float) -> None:
    """Store a change that waits for the owner's answer instead of applying it."""
    understood = question.understood
    answer = _StoredAnswer(
        understood.abstraction,
        about_self=understood.about_self,
        experience_ids=tuple(experience.id for experience in understood.experiences),
    )
    named = {
        "run_id": question.run_id,
        "experience_id": understood.experiences[0].id,
        "asked_at": now,
        "question": question.text,
        "answer": msgspec.json.encode(answer).decode("utf-8"),
    }
    await transaction.run("consolidation.ask", named)


async def load_open_question(store: MemoryStore) -> Question | None:
    """Load the question that waits for the owner's answer; the oldest if there are several."""
    rows = await store.database.rows("consolidation.pending")
    if not rows:
        return None
    answer = msgspec.json.decode(rows[0]["answer"], type=_StoredAnswer)
    loaded = await store.load_with_turns(answer.experience_ids or (str(rows[0]["experience_id"]),))
    experiences = tuple(experience for experience, _ in loaded)
    turns = tuple(turn for _, several in loaded for turn in several)
    update = answer.update(experiences[0].happened_at)
    understood = InterpretedPart(experiences, turns, answer.abstraction, update)
    return Question(rows[0]["run_id"], rows[0]["question"], understood)


async def find_question(store: MemoryStore, run: str) -> Question:
    """Return the open question of the pass whose id begins with `run`. Raises NotFoundError if it has none."""
    question = await load_open_question(store)
    if question is None or not question.run_id.startswith(run):
        raise NotFoundError(
            f"The pass {run} does not wait for an answer.", advice="To see which one does: reveries consolidate log"
        )
    return question


async def drop_question(store: MemoryStore, question: Question, now: float) -> str:
    """Drop what a pass asked about. The experience is processed again only on the owner's request."""
    ids = [experience.id for experience in question.understood.experiences]

    async def work(transaction: Transaction) -> ChangeSet:
        await transaction.run("undo.drop_pending", {"run_id": question.run_id})
        await transaction.run("consolidation.end", {"id": question.run_id, "ended_at": now, "outcome": "done"})
        why = "what sleep would have made of it was refused"
        holds = [{"experience_id": name, "held_at": now, "why": why} for name in ids]
        await transaction.run_many("experiences.hold", holds)
        return ChangeSet()

    await store.commit(work)
    return "It was dropped. Nothing was changed."


async def settle_conflict(store: MemoryStore, id_or_prefix: str, keep: str, now: float) -> Conflict:
    """Let the earlier, the later or both claims of a conflict hold. Raises NotFoundError."""
    settled: list[Conflict] = []

    async def work(_: Transaction) -> ChangeSet:
        conflict = _find_conflict(store, id_or_prefix)
        settled.append(conflict.settle(keep))
        return ChangeSet(settlements=(Settlement(conflict.id, keep, now),))

    await store.commit(work)
    return settled[0]


def _find_conflict(store: MemoryStore, id_or_prefix: str) -> Conflict:
    """Find a conflict in the live memory; undoing the pass that found it removes it."""
    conflicts = store.live.claims.conflicts
    if id_or_prefix in conflicts:
        return conflicts[id_or_prefix]
    matches = [conflict for conflict in conflicts.values() if id_or_prefix and conflict.id.startswith(id_or_prefix)]
    if len(matches) != 1:
        problem = "More than one contradiction begins" if matches else "There is no contradiction that begins"
        raise NotFoundError(f"{problem} with {id_or_prefix}.", advice="To list them: reveries memory contradictions")
    return matches[0]
