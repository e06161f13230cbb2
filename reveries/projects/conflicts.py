"""Contradictions in what a project knows, as far as nobody has settled them: a capable model judges what is only alike,
and the owner is asked about the rest (V-124)."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from reveries.db.database import Reader, Transaction
from reveries.knowledge.contradictions import are_side_by_side, has_authority
from reveries.knowledge.model import KnowledgeConflict
from reveries.llm.tier import Tier
from reveries.projects.answers import CONFLICT_TAG, Choice, read_choice
from reveries.projects.material import record_of
from reveries.projects.model import AgentState, OwnerQuestion, QuestionKind
from reveries.projects.store import NewQuestion, ProjectStore
from reveries.projects.work_model import WorkModel
from reveries.prompts import prompt

_MOST_JUDGED = 3
"""In one wake."""
_ANSWER_TOKENS = 120
HOW_TO_CHOOSE = "\nAnswer A, B or both, or say what holds."
"""The last line of the context of such a question."""


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
    new = [_conflict_question(one) for one in _conflicts_to_ask(found, state, model.tier)]
    if new:
        async with store.database.transaction() as transaction:
            for question in new:
                await store.put_question(transaction, state.project.id, question)
            await store.log(transaction, state.project.id, "questions.asked", "what holds of two things")
    return [one.question for one in new]


def _conflicts_to_ask(found: Sequence[KnowledgeConflict], state: AgentState, tier: Tier) -> list[KnowledgeConflict]:
    """What the owner is asked about. With a small model, which judges nothing, what was found by likeness too, one
    question at a time: a rule is often wrong about those, and three at once would be a burden."""
    asked = {tag for question in state.questions for tag in question.context_tags}
    new = [one for one in found if one.relation.id not in asked]
    verified = [one for one in new if one.is_verified]
    is_asking = any(CONFLICT_TAG in one.context_tags for one in state.open_questions)
    if verified or is_asking or tier is Tier.CAPABLE:
        return verified
    return [one for one in new if one.older.stands and one.newer.stands][:1]


async def settle_by_answer(store: ProjectStore, transaction: Transaction, question: OwnerQuestion) -> None:
    """Act on the owner's answer to a contradiction: A, B, both, or something else, which makes both fall. Where the
    owner does not know, both stay, and the contradiction stays open."""
    for one in await _asked_conflicts(store, question, transaction):
        match choice := _choice_of(question, one):
            case Choice.OLDER:
                await store.knowledge.replace(transaction, one.newer, one.older)
            case Choice.NEWER:
                await store.knowledge.replace(transaction, one.older, one.newer)
            case Choice.OTHER:
                for chunk in (one.older, one.newer):
                    why = f"you said otherwise: {question.answer[:200]}"
                    await store.knowledge.mark_fallen(transaction, question.project_id, chunk.id, why)
            case Choice.BOTH | Choice.UNSURE:
                pass
        if choice is not Choice.UNSURE:
            await store.knowledge.settle(transaction, one, "owner")


async def says_something_else(store: ProjectStore, question: OwnerQuestion) -> bool:
    """Whether the answer to a contradiction is knowledge itself: more than a choice between what is known."""
    asked = await _asked_conflicts(store, question, store.database)
    return all(_choice_of(question, one) is Choice.OTHER for one in asked)


async def _asked_conflicts(store: ProjectStore, question: OwnerQuestion, source: Reader) -> list[KnowledgeConflict]:
    found = await store.knowledge.contradictions(question.project_id, source=source)
    return [one for one in found if one.relation.id in question.context_tags]


def _choice_of(question: OwnerQuestion, conflict: KnowledgeConflict) -> Choice:
    return read_choice(question.answer, conflict.older.content, conflict.newer.content)


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
    begins = "Two things that I know do not go together."
    if not found.is_verified:
        begins = "Two things that I know say nearly the same, and may not go together."
    return NewQuestion(
        f"{begins} Which holds, A or B?",
        QuestionKind.DECISION,
        context=f"A ({first}): {older}\nB ({second}): {newer}{HOW_TO_CHOOSE}",
        context_tags=(CONFLICT_TAG, found.relation.id),
        foreign_sources=found.older.foreign_sources | found.newer.foreign_sources,
    )
