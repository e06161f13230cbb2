"""What sleep asks the owner, and the owner's answers.

A pass that would merge away more than a share of what is remembered asks first: what it would do next is written down,
already checked, and done or dropped on the owner's word. And two claims that cannot both hold are settled by it."""

from dataclasses import dataclass

import msgspec

from reveries.config import MemorySettings
from reveries.db.database import Transaction
from reveries.errors import NotFoundError
from reveries.memory.changes import ChangeSet
from reveries.memory.claims import Conflict, Settlement
from reveries.memory.graph.memory_graph import MemoryGraph
from reveries.memory.rows import experience_of
from reveries.memory.sleep.claims.verification import allowed_at_once
from reveries.memory.sleep.model_answers import ExperienceDecision, InterpretedExperience
from reveries.memory.sleep.questions import Abstraction, SelfAnswer
from reveries.memory.sleep.self_model_changes import Trait
from reveries.memory.store import MemoryStore
from reveries.safe_text import one_line


class _Answer(msgspec.Struct, frozen=True):
    """What the model said, as the row has it."""

    abstraction: Abstraction
    self_answer: SelfAnswer | None
    trait: Trait | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """What a pass would do next, and asks about."""

    run_id: str
    text: str
    understood: InterpretedExperience


def allowance(graph: MemoryGraph, settings: MemorySettings) -> float:
    """How many episodes one pass may take out of reach before it asks."""
    return allowed_at_once(len(graph), settings)


def merge_question_text(decision: ExperienceDecision, spent: int, graph: MemoryGraph) -> str:
    """One sentence on what was done and one on what would be. It is shown unasked: nothing tainted is quoted in it."""
    actions = [
        f"merge \u201c{one_line(source.summary, 80)}\u201d into \u201c{one_line(target.summary, 80)}\u201d"
        for entry in decision.own_merges
        if (source := graph.get(entry.episode_id)) is not None and (target := graph.get(entry.merged_into)) is not None
    ]
    actions += [
        f"rank \u201c{one_line(found.earlier.quote, 80)}\u201d under \u201c{one_line(found.later.quote, 80)}\u201d"
        for found in decision.own_updates
    ]
    return (
        f"This pass has merged away or superseded {spent} of {len(graph) + spent} episodes: as many as it may. "
        f"Next it would {' and '.join(actions)}."
    )


async def note_question(transaction: Transaction, question: Question, now: float) -> None:
    """Write down what waits for the owner's word, in the place of doing it."""
    understood = question.understood
    answer = _Answer(understood.abstraction, understood.self_answer, understood.trait)
    named = {
        "run_id": question.run_id,
        "experience_id": understood.experience.id,
        "asked_at": now,
        "question": question.text,
        "answer": msgspec.json.encode(answer).decode("utf-8"),
    }
    await transaction.run("consolidation.ask", named)


async def open_question(store: MemoryStore) -> Question | None:
    """What waits for the owner's word; the oldest, if there should be several."""
    rows = await store.database.rows("consolidation.pending")
    if not rows:
        return None
    found = await store.database.rows("experiences.get", {"id": rows[0]["experience_id"]})
    answer = msgspec.json.decode(rows[0]["answer"], type=_Answer)
    experience = experience_of(found[0])
    turns = await store.turns_of(experience)
    understood = InterpretedExperience(experience, turns, answer.abstraction, answer.self_answer, answer.trait)
    return Question(rows[0]["run_id"], rows[0]["question"], understood)


async def question_of(store: MemoryStore, run: str) -> Question:
    """The question of the pass whose id begins with `run`. Raises NotFoundError when it asks nothing."""
    question = await open_question(store)
    if question is None or not question.run_id.startswith(run):
        raise NotFoundError(
            f"The pass {run} does not wait for an answer.", advice="What waits is shown by: reveries consolidate log"
        )
    return question


async def drop_question(store: MemoryStore, question: Question, now: float) -> str:
    """Leave undone what a pass asked about. Sleep takes that experience up again only when the owner asks for it."""
    experience_id = question.understood.experience.id

    async def work(transaction: Transaction) -> ChangeSet:
        await transaction.run("undo.drop_pending", {"run_id": question.run_id})
        await transaction.run("consolidation.end", {"id": question.run_id, "ended_at": now, "outcome": "done"})
        held = {"experience_id": experience_id, "held_at": now, "why": "what sleep would have made of it was refused"}
        await transaction.run("experiences.hold", held)
        return ChangeSet()

    await store.commit(work)
    return "It was dropped. Nothing was changed."


async def settle_conflict(store: MemoryStore, id_or_prefix: str, keep: str, now: float) -> Conflict:
    """Let the earlier, the later or both claims of a conflict hold. Raises NotFoundError."""
    settled: list[Conflict] = []

    async def work(_: Transaction) -> ChangeSet:
        conflict = _conflict(store, id_or_prefix)
        settled.append(conflict.settle(keep))
        return ChangeSet(settlements=(Settlement(conflict.id, keep, now),))

    await store.commit(work)
    return settled[0]


def _conflict(store: MemoryStore, id_or_prefix: str) -> Conflict:
    """As it stands now: it goes when the pass that found it is taken back."""
    conflicts = store.live.claims.conflicts
    if id_or_prefix in conflicts:
        return conflicts[id_or_prefix]
    found = [one for one in conflicts.values() if id_or_prefix and one.id.startswith(id_or_prefix)]
    if len(found) != 1:
        many = "More than one contradiction begins" if found else "There is no contradiction that begins"
        raise NotFoundError(f"{many} with {id_or_prefix}.", advice="They are listed by: reveries memory contradictions")
    return found[0]
