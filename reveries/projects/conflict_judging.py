"""A capable model judges pairs of lines that may not go together, where no rule is sure: one request for all of them,
its quotes checked, each pair once while its lines are unchanged."""

from collections.abc import Sequence
from typing import Annotated, Final, Literal

import msgspec

from reveries.knowledge.facts.fact_conflict import FactConflict
from reveries.llm.base import Role
from reveries.llm.tier import Tier
from reveries.projects.conflict_decisions import DecidedBy, DecisionState, NewDecision
from reveries.projects.facts_view import ProjectFacts
from reveries.projects.store import ProjectStore
from reveries.projects.work_model import WorkModel
from reveries.prompts import prompt
from reveries.safe_text import one_line

_MOST_PAIRS: Final = 12
"""Of one request; the others have their turn in the next wake."""
_LINE_CHARS: Final = 300
_TOKENS_A_PAIR: Final = 80


class JudgedPair(msgspec.Struct, frozen=True):
    number: int
    quote_a: Annotated[str, msgspec.Meta(max_length=300)]
    quote_b: Annotated[str, msgspec.Meta(max_length=300)]
    why: Annotated[str, msgspec.Meta(max_length=300)]
    verdict: Literal["contradict", "both_hold", "unclear"]


class JudgedPairs(msgspec.Struct, frozen=True):
    pairs: Annotated[list[JudgedPair], msgspec.Meta(max_length=_MOST_PAIRS)]


async def judge_doubtful(store: ProjectStore, model: WorkModel, project_id: str) -> int:
    """Let a capable model judge the pairs that no rule is sure of; return how many contradict each other."""
    if model.tier is not Tier.CAPABLE:
        return 0
    project_facts = await store.read_facts(project_id)
    pairs = project_facts.doubtful[:_MOST_PAIRS]
    if not pairs:
        return 0
    text = prompt("judge_near_pairs", pairs=_say_pairs(pairs))
    answer = await model.ask(
        "conflicts", text, JudgedPairs, tokens=_TOKENS_A_PAIR * len(pairs) + 100, role=Role.LEARNING
    )
    if answer is None:
        return 0
    decisions = read_judgement(project_facts, pairs, answer, model.model.name)
    confirmed = sum(decision.state is DecisionState.CONFIRMED for decision in decisions)
    async with store.transaction() as transaction:
        for decision in decisions:
            await store.conflict_decisions.put(transaction, project_id, decision)
        if confirmed:
            await store.log.put(transaction, project_id, "conflict.judged", f"{confirmed} of {len(decisions)}")
    return confirmed


def read_judgement(
    project_facts: ProjectFacts, pairs: Sequence[FactConflict], answer: JudgedPairs, model: str
) -> list[NewDecision]:
    """Return what a model's answer decides of `pairs`. One that it left out, could not tell or quoted wrongly is not
    asked about again while its lines are unchanged. Pure."""
    by_number = {item.number: item for item in answer.pairs}
    decisions = []
    for number, pair in enumerate(pairs, 1):
        judged = by_number.get(number)
        is_confirmed = judged is not None and judged.verdict == "contradict" and _are_quoted(pair, judged)
        state = DecisionState.CONFIRMED if is_confirmed else DecisionState.DENIED
        why = one_line(judged.why, _LINE_CHARS) if judged is not None else ""
        rests_on, sources = project_facts.bases_of((fact.document, fact.line) for fact in (pair.a, pair.b))
        decisions.append(NewDecision(pair, state, DecidedBy.MODEL, why, model, rests_on, sources))
    return decisions


def _are_quoted(pair: FactConflict, judged: JudgedPair) -> bool:
    """Whether each quote stands in its line, in either order."""
    lines = [one_line(fact.text).casefold() for fact in (pair.a, pair.b)]
    quotes = [one_line(quote).casefold().strip() for quote in (judged.quote_a, judged.quote_b)]
    return all(quotes) and any(
        all(quote in line for quote, line in zip(quotes, order, strict=True)) for order in (lines, lines[::-1])
    )


def _say_pairs(pairs: Sequence[FactConflict]) -> str:
    return "\n".join(
        f"Pair {number}\n"
        f"a ({one_line(pair.a.document, 100)}): {one_line(pair.a.text, _LINE_CHARS)}\n"
        f"b ({one_line(pair.b.document, 100)}): {one_line(pair.b.text, _LINE_CHARS)}"
        for number, pair in enumerate(pairs, 1)
    )
