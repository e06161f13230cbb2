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
    Orientation,
    OwnerQuestion,
    Project,
    QuestionKind,
    QuestionStatus,
    WorkTask,
)
from reveries.projects.question_store import NewQuestion
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
    found = await store.knowledge.contradictions(project_id)
    if can_judge:
        for one in [one for one in found if not one.is_verified and not one.is_unclear][:_MOST_JUDGED]:
            await _judge(store, model, one)
        found = await store.knowledge.contradictions(project_id)
    await _drop_settled_questions(store, state, found)
    chosen = choose_conflict(found, state.questions, can_judge=can_judge)
    if chosen is None:
        return []
    question = _conflict_question(chosen)
    async with store.transaction() as transaction:
        await store.questions.put(transaction, project_id, question)
        await store.log.put(transaction, project_id, "questions.asked", "what holds of two things")
    return [question.question]


def choose_conflict(
    found: Sequence[KnowledgeConflict], questions: Sequence[OwnerQuestion], *, can_judge: bool
) -> KnowledgeConflict | None:
    """The contradiction to ask the owner about next; None while such a question is open. `found`: the open ones, newest
    first. Verified ones go first, then those that a capable model could not judge: that two texts are only alike is no
    reason to ask. Pure."""
    about = [one for one in questions if CONFLICT_TAG in one.context_tags and one.status is not QuestionStatus.DROPPED]
    asked = {tag for one in about for tag in one.context_tags}
    still = {one.relation.id for one in found}
    if any(one.status is QuestionStatus.OPEN and still.intersection(one.context_tags) for one in about):
        return None
    new = [one for one in found if one.relation.id not in asked]
    if verified := [one for one in new if one.is_verified]:
        return verified[0]
    doubts = [one for one in new if one.is_unclear and can_judge]
    return doubts[0] if doubts else None


async def settle_by_answer(store: ProjectStore, transaction: Transaction, question: OwnerQuestion) -> None:
    """Act on the owner's answer to a contradiction: A, B, both, or something else, which makes both fall. Where the
    owner does not know, both stay, and the contradiction stays open."""
    for one in await _asked_conflicts(store, question, transaction):
        match choice := _choice_of(question, one):
            case ConflictChoice.OLDER:
                await store.knowledge.replace(transaction, one.newer, one.older)
            case ConflictChoice.NEWER:
                await store.knowledge.replace(transaction, one.older, one.newer)
            case ConflictChoice.OTHER:
                for chunk in (one.older, one.newer):
                    why = f"you said otherwise: {question.answer[:200]}"
                    await store.knowledge.mark_fallen(
                        transaction, question.project_id, chunk.id, Fall.CONTRADICTED, why
                    )
            case ConflictChoice.BOTH:
                await store.knowledge.keep_both(transaction, one.older, one.newer)
            case ConflictChoice.UNSURE:
                pass
        if choice is not ConflictChoice.UNSURE:
            await store.knowledge.settle(transaction, one, "owner")


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
    return all(_choice_of(question, one) is ConflictChoice.OTHER for one in asked)


async def _asked_conflicts(
    store: ProjectStore, question: OwnerQuestion, source: Reader | None = None
) -> list[KnowledgeConflict]:
    found = await store.knowledge.contradictions(question.project_id, source=source)
    return [one for one in found if one.relation.id in question.context_tags]


def _choice_of(question: OwnerQuestion, conflict: KnowledgeConflict) -> ConflictChoice:
    return read_choice(question.answer, conflict.older.content, conflict.newer.content)


def is_doubtful(task: WorkTask) -> bool:
    """True if the task rests on something that does not hold any more. Pure."""
    return bool(task.held_because or task.flagged_because)


def list_doubts(page: Orientation, tasks: Sequence[WorkTask], conflicts: Sequence[KnowledgeConflict]) -> list[str]:
    """Everything in a project that is in doubt: tasks, criteria and decisions that rest on something that does not hold
    any more, and open contradictions. Pure."""
    found = [f"{task.title}: {task.held_because}" for task in tasks if task.held_because]
    found += [f"{task.title}: {task.flagged_because}" for task in tasks if task.flagged_because]
    found += [f"{one.text}: {one.flagged_because}" for one in page.success_criteria if one.flagged_because]
    found += [f"{one.decision}: {one.flagged_because}" for one in page.key_decisions if one.flagged_because]
    return found + describe_doubts(conflicts)


def describe_doubts(found: Sequence[KnowledgeConflict]) -> list[str]:
    """The open contradictions of a project in sentences, the newest ones; how many more there are. Pure."""
    lines = []
    for one in found[:_MOST_DOUBTS]:
        older, newer = (one_line(chunk.content, _QUOTED_CHARS) for chunk in (one.older, one.newer))
        is_sure = "do not go together" if one.is_verified else "may not go together (not verified)"
        lines.append(f"“{older}” and “{newer}” {is_sure}")
    more = len(found) - len(lines)
    return [*lines, f"{more} more contradictions: reveries memory contradictions"] if more else lines


async def _drop_settled_questions(store: ProjectStore, state: AgentState, found: Sequence[KnowledgeConflict]) -> None:
    """Withdraw questions about contradictions that were settled otherwise, or whose chunks fell."""
    still = {one.relation.id for one in found}
    gone = [
        one
        for one in state.open_questions
        if CONFLICT_TAG in one.context_tags and not still.intersection(one.context_tags)
    ]
    if gone:
        async with store.transaction() as transaction:
            for one in gone:
                await store.questions.drop(transaction, one.id)


async def _judge(store: ProjectStore, model: WorkModel, found: KnowledgeConflict) -> None:
    """Let the model say whether two like chunks contradict each other. The newer one then holds, unless the older one
    has more authority: that is asked."""
    text = prompt("judge_conflict", older=_format_side(found.older), newer=_format_side(found.newer))
    answer = await model.ask("conflict", text, ConflictAnswer, tokens=_ANSWER_TOKENS, role=Role.LEARNING)
    if answer is None:
        return
    async with store.transaction() as transaction:
        if answer.verdict == "unclear":
            await store.knowledge.note_unclear(transaction, found)
        elif answer.verdict == "both_hold":
            await store.knowledge.settle(transaction, found, "none")
        elif has_authority(found.newer, found.older) and not are_side_by_side(found.older, found.newer):
            await store.knowledge.replace(transaction, found.older, found.newer)
            await store.knowledge.settle(transaction, found, "recency", "model")
        else:
            await store.knowledge.note_verified(transaction, found)


def _format_side(chunk: Chunk) -> str:
    return format_record(f"{chunk.title}: {chunk.content}" if chunk.title else chunk.content, _SIDE_CHARS)


def _conflict_question(found: KnowledgeConflict) -> NewQuestion:
    older, newer = (" ".join(one.content.split())[:300] for one in (found.older, found.newer))
    is_apart = are_side_by_side(found.older, found.newer)
    first, second = (found.older.title, found.newer.title) if is_apart else ("earlier", "later")
    begins = "Two things that I know do not go together."
    if not found.is_verified:
        begins = "Two things that I know say nearly the same, and may not go together."
    return NewQuestion(
        f"{begins} Which holds, A or B?",
        QuestionKind.DECISION,
        context=f"A ({first}): {older}\nB ({second}): {newer}{HOW_TO_CHOOSE}",
        context_tags=(CONFLICT_TAG, found.relation.id, *(() if found.is_verified else (DOUBT_TAG,))),
        foreign_sources=found.older.foreign_sources | found.newer.foreign_sources,
    )
