"""Open contradictions in what a project knows: a capable model judges those found by likeness alone, and the owner is
asked about the rest, one at a time (V-124)."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from reveries.db.database import Reader, Transaction
from reveries.knowledge.contradictions import are_side_by_side, has_authority
from reveries.knowledge.model import Chunk, Fall, KnowledgeConflict
from reveries.llm.base import Role
from reveries.llm.tier import Tier
from reveries.projects.answers import CONFLICT_TAG, DOUBT_TAG
from reveries.projects.conflict_answers import ConflictChoice, read_choice
from reveries.projects.model import (
    AgentState,
    NewQuestion,
    Orientation,
    OwnerQuestion,
    Project,
    QuestionKind,
    QuestionStatus,
    WorkTask,
)
from reveries.projects.store import ProjectStore
from reveries.projects.work_model import WorkModel
from reveries.prompts import prompt
from reveries.safe_text import format_record, one_line

_MOST_JUDGED = 3
"""In one wake."""
_MOST_DOUBTS = 5
_QUOTED_CHARS = 100
_SIDE_CHARS = 1200
_ANSWER_TOKENS = 120
HOW_TO_CHOOSE = "\nAnswer A, B or both, or say what holds."
"""The last line of the context of such a question."""


class ConflictAnswer(msgspec.Struct, frozen=True):
    why: str
    verdict: Literal["contradict", "both_hold", "unclear"]


async def settle_conflicts(store: ProjectStore, model: WorkModel, state: AgentState) -> list[str]:
    """Let a capable model judge what is unverified, and ask the owner about at most one contradiction at a time. Return
    the question that was asked, if any."""
    project_id, can_judge = state.project.id, model.tier is Tier.CAPABLE
    conflicts = await store.knowledge.contradictions(project_id)
    if can_judge:
        for doubtful in [conflict for conflict in conflicts if not conflict.is_verified and not conflict.is_unclear][
            :_MOST_JUDGED
        ]:
            await _judge(store, model, doubtful)
        conflicts = await store.knowledge.contradictions(project_id)
    await _drop_settled_questions(store, state, conflicts)
    chosen = choose_conflict(conflicts, state.questions, can_judge=can_judge)
    if chosen is None:
        return []
    question = _conflict_question(chosen)
    async with store.transaction() as transaction:
        await store.questions.put(transaction, project_id, question)
        await store.log.put(transaction, project_id, "questions.asked", "what holds of two things")
    return [question.question]


def choose_conflict(
    conflicts: Sequence[KnowledgeConflict], questions: Sequence[OwnerQuestion], *, can_judge: bool
) -> KnowledgeConflict | None:
    """The contradiction to ask the owner about next; None while such a question is open. `conflicts`: the open ones,
    newest first. Verified ones go first, then those that a capable model could not judge: that two texts are only
    alike is no reason to ask. Pure."""
    about = [
        question
        for question in questions
        if CONFLICT_TAG in question.context_tags and question.status is not QuestionStatus.DROPPED
    ]
    asked = {tag for question in about for tag in question.context_tags}
    still = {conflict.relation.id for conflict in conflicts}
    if any(question.status is QuestionStatus.OPEN and still.intersection(question.context_tags) for question in about):
        return None
    new = [conflict for conflict in conflicts if conflict.relation.id not in asked]
    if verified := [conflict for conflict in new if conflict.is_verified]:
        return verified[0]
    doubts = [conflict for conflict in new if conflict.is_unclear and can_judge]
    return doubts[0] if doubts else None


async def settle_by_answer(store: ProjectStore, transaction: Transaction, question: OwnerQuestion) -> None:
    """Act on the owner's answer to a contradiction: A, B, both, or something else, which makes both fall. Where the
    owner does not know, both stay, and the contradiction stays open."""
    for conflict in await _asked_conflicts(store, question, transaction):
        match choice := _choice_of(question, conflict):
            case ConflictChoice.OLDER:
                await store.knowledge.replace(transaction, conflict.newer, conflict.older)
            case ConflictChoice.NEWER:
                await store.knowledge.replace(transaction, conflict.older, conflict.newer)
            case ConflictChoice.OTHER:
                for chunk in (conflict.older, conflict.newer):
                    why = f"you said otherwise: {question.answer[:200]}"
                    await store.knowledge.mark_fallen(
                        transaction, question.project_id, chunk.id, Fall.CONTRADICTED, why
                    )
            case ConflictChoice.BOTH:
                await store.knowledge.keep_both(transaction, conflict.older, conflict.newer)
            case ConflictChoice.UNSURE:
                pass
        if choice is not ConflictChoice.UNSURE:
            await store.knowledge.settle(transaction, conflict, "owner")


async def settle_by_owner(store: ProjectStore, project: Project, conflict: KnowledgeConflict, keep: str) -> None:
    """Settle a contradiction as the owner says: keep the "earlier" chunk, the "later" one, or, for anything else,
    both."""
    async with store.transaction() as transaction:
        if keep == "earlier":
            await store.knowledge.replace(transaction, conflict.newer, conflict.older)
        elif keep == "later":
            await store.knowledge.replace(transaction, conflict.older, conflict.newer)
        else:
            await store.knowledge.keep_both(transaction, conflict.older, conflict.newer)
        await store.knowledge.settle(transaction, conflict, "owner")
        await store.rests.clear(transaction, project.id)


async def says_something_else(store: ProjectStore, question: OwnerQuestion) -> bool:
    """Whether the answer to a contradiction is knowledge itself: more than a choice between what is known."""
    asked = await _asked_conflicts(store, question)
    return all(_choice_of(question, conflict) is ConflictChoice.OTHER for conflict in asked)


async def _asked_conflicts(
    store: ProjectStore, question: OwnerQuestion, source: Reader | None = None
) -> list[KnowledgeConflict]:
    conflicts = await store.knowledge.contradictions(question.project_id, source=source)
    return [conflict for conflict in conflicts if conflict.relation.id in question.context_tags]


def _choice_of(question: OwnerQuestion, conflict: KnowledgeConflict) -> ConflictChoice:
    return read_choice(question.answer, conflict.older.content, conflict.newer.content)


def is_doubtful(task: WorkTask) -> bool:
    """True if the task rests on something that does not hold any more. Pure."""
    return bool(task.held_because or task.flagged_because)


def list_doubts(page: Orientation, tasks: Sequence[WorkTask], conflicts: Sequence[KnowledgeConflict]) -> list[str]:
    """Everything in a project that is in doubt: tasks, criteria and decisions that rest on something that does not hold
    any more, and open contradictions. Pure."""
    doubts = [f"{task.title}: {task.held_because}" for task in tasks if task.held_because]
    doubts += [f"{task.title}: {task.flagged_because}" for task in tasks if task.flagged_because]
    doubts += [
        f"{criterion.text}: {criterion.flagged_because}"
        for criterion in page.success_criteria
        if criterion.flagged_because
    ]
    doubts += [
        f"{decision.decision}: {decision.flagged_because}"
        for decision in page.key_decisions
        if decision.flagged_because
    ]
    return doubts + describe_doubts(conflicts)


def describe_doubts(conflicts: Sequence[KnowledgeConflict]) -> list[str]:
    """The open contradictions of a project in sentences, the newest ones; how many more there are. Pure."""
    lines = []
    for conflict in conflicts[:_MOST_DOUBTS]:
        older, newer = (one_line(chunk.content, _QUOTED_CHARS) for chunk in (conflict.older, conflict.newer))
        is_sure = "do not go together" if conflict.is_verified else "may not go together (not verified)"
        lines.append(f"“{older}” and “{newer}” {is_sure}")
    more = len(conflicts) - len(lines)
    return [*lines, f"{more} more contradictions: reveries memory contradictions"] if more else lines


async def _drop_settled_questions(
    store: ProjectStore, state: AgentState, conflicts: Sequence[KnowledgeConflict]
) -> None:
    """Withdraw questions about contradictions that were settled otherwise, or whose chunks fell."""
    still = {conflict.relation.id for conflict in conflicts}
    gone = [
        question
        for question in state.open_questions
        if CONFLICT_TAG in question.context_tags and not still.intersection(question.context_tags)
    ]
    if gone:
        async with store.transaction() as transaction:
            for outdated in gone:
                await store.questions.drop(transaction, outdated.id)


async def _judge(store: ProjectStore, model: WorkModel, conflict: KnowledgeConflict) -> None:
    """Let the model say whether two like chunks contradict each other. The newer one then holds, unless the older one
    has more authority: that is asked."""
    text = prompt("judge_conflict", older=_format_side(conflict.older), newer=_format_side(conflict.newer))
    answer = await model.ask("conflict", text, ConflictAnswer, tokens=_ANSWER_TOKENS, role=Role.LEARNING)
    if answer is None:
        return
    async with store.transaction() as transaction:
        if answer.verdict == "unclear":
            await store.knowledge.note_unclear(transaction, conflict)
        elif answer.verdict == "both_hold":
            await store.knowledge.settle(transaction, conflict, "none")
        elif has_authority(conflict.newer, conflict.older) and not are_side_by_side(conflict.older, conflict.newer):
            await store.knowledge.replace(transaction, conflict.older, conflict.newer)
            await store.knowledge.settle(transaction, conflict, "recency", "model")
        else:
            await store.knowledge.note_verified(transaction, conflict)


def _format_side(chunk: Chunk) -> str:
    return format_record(f"{chunk.title}: {chunk.content}" if chunk.title else chunk.content, _SIDE_CHARS)


def _conflict_question(conflict: KnowledgeConflict) -> NewQuestion:
    older, newer = (" ".join(chunk.content.split())[:300] for chunk in (conflict.older, conflict.newer))
    is_apart = are_side_by_side(conflict.older, conflict.newer)
    first, second = (conflict.older.title, conflict.newer.title) if is_apart else ("earlier", "later")
    begins = "Two things that I know do not go together."
    if not conflict.is_verified:
        begins = "Two things that I know say nearly the same, and may not go together."
    return NewQuestion(
        f"{begins} Which holds, A or B?",
        QuestionKind.DECISION,
        context=f"A ({first}): {older}\nB ({second}): {newer}{HOW_TO_CHOOSE}",
        context_tags=(CONFLICT_TAG, conflict.relation.id, *(() if conflict.is_verified else (DOUBT_TAG,))),
        foreign_sources=conflict.older.foreign_sources | conflict.newer.foreign_sources,
    )
