"""Contradictions in what a project knows, as far as nobody has settled them: a capable model judges what is only alike,
and the owner is asked about the rest (V-124)."""

import re
from typing import Literal

import msgspec

from reveries.db.database import Transaction
from reveries.knowledge.contradictions import are_side_by_side, has_authority
from reveries.knowledge.model import KnowledgeConflict
from reveries.llm.tier import Tier
from reveries.projects.material import record_of
from reveries.projects.model import AgentState, OwnerQuestion, QuestionKind
from reveries.projects.store import NewQuestion, ProjectStore
from reveries.projects.work_model import WorkModel
from reveries.prompts import prompt

CONFLICT_TAG = "conflict"
_MOST_JUDGED = 3
"""In one wake."""
_ANSWER_TOKENS = 120
_OLDER = re.compile(r"\s*(?:a(?=\s*(?:$|[,.:;!)]|holds|is\b))|(?:the )?(?:first|older|old|earlier)\b)", re.IGNORECASE)
_NEWER = re.compile(r"\s*(?:b(?=\s*(?:$|[,.:;!)]|holds|is\b))|(?:the )?(?:second|newer|new|later)\b)", re.IGNORECASE)
_BOTH = re.compile(r"\s*(?:both\b|neither\b)", re.IGNORECASE)


class ConflictAnswer(msgspec.Struct, frozen=True):
    why: str
    verdict: Literal["contradict", "both_hold", "unclear"]


async def settle_conflicts(store: ProjectStore, model: WorkModel, state: AgentState) -> list[str]:
    """Judge what is unverified, and ask the owner what only the owner can say; the questions that were asked."""
    found = await store.knowledge.contradictions(state.project.id)
    if model.tier is Tier.CAPABLE:
        for one in [one for one in found if not one.is_verified][:_MOST_JUDGED]:
            await _judge(store, model, one)
        found = await store.knowledge.contradictions(state.project.id)
    asked = {tag for question in state.questions for tag in question.context_tags}
    new = [_conflict_question(one) for one in found if one.is_verified and one.relation.id not in asked]
    if new:
        async with store.database.transaction() as transaction:
            for question in new:
                await store.put_question(transaction, state.project.id, question)
            await store.log(transaction, state.project.id, "questions.asked", "what holds of two things")
    return [one.question for one in new]


async def settle_by_answer(store: ProjectStore, transaction: Transaction, question: OwnerQuestion) -> None:
    """What the owner said of a contradiction: A, B, both, or something else, which then stands beside them."""
    open_ones = await store.knowledge.contradictions(question.project_id, source=transaction)
    for one in open_ones:
        if one.relation.id not in question.context_tags:
            continue
        if _OLDER.match(question.answer):
            await store.knowledge.replace(transaction, one.newer, one.older)
        elif _NEWER.match(question.answer):
            await store.knowledge.replace(transaction, one.older, one.newer)
        elif not _BOTH.match(question.answer):
            for chunk in (one.older, one.newer):
                why = f"you said otherwise: {question.answer[:200]}"
                await store.knowledge.mark_fallen(transaction, question.project_id, chunk.id, why)
        await store.knowledge.settle(transaction, one, "owner")


async def _judge(store: ProjectStore, model: WorkModel, found: KnowledgeConflict) -> None:
    """Let the model say whether two like chunks contradict each other. The newer one then holds, unless the older one
    has more authority: that is asked."""
    text = prompt("judge_conflict", older=record_of(found.older), newer=record_of(found.newer))
    answer = await model.ask("conflict", text, ConflictAnswer, tokens=_ANSWER_TOKENS)
    if answer is None or answer.verdict == "unclear":
        return
    async with store.database.transaction() as transaction:
        if answer.verdict == "both_hold":
            await store.knowledge.settle(transaction, found, "none")
        elif has_authority(found.newer, found.older) and not are_side_by_side(found.older, found.newer):
            await store.knowledge.replace(transaction, found.older, found.newer)
            await store.knowledge.settle(transaction, found, "recency", "model")
        else:
            await store.knowledge.note_verified(transaction, found)


def _conflict_question(found: KnowledgeConflict) -> NewQuestion:
    older, newer = (" ".join(one.content.split())[:300] for one in (found.older, found.newer))
    is_apart = are_side_by_side(found.older, found.newer)
    first, second = (found.older.title, found.newer.title) if is_apart else ("earlier", "later")
    return NewQuestion(
        "Two things that I know do not go together. Which holds, A or B?",
        QuestionKind.DECISION,
        context=f"A ({first}): {older}\nB ({second}): {newer}\nAnswer A, B or both, or say what holds.",
        context_tags=(CONFLICT_TAG, found.relation.id),
        foreign_sources=found.older.foreign_sources | found.newer.foreign_sources,
    )
