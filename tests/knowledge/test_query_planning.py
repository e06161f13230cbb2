"""Which way a question to a project goes."""

import tomllib
from pathlib import Path

import pytest

from reveries.knowledge.model import ChunkType, RelationType
from reveries.knowledge.query_planning import QueryMethod, QueryType, plan_query

FORMS = tomllib.loads((Path(__file__).parent / "question_forms.toml").read_text(encoding="utf-8"))


@pytest.mark.requirement("V-71")
def test_of_a_hundred_questions_ninety_are_planned_right() -> None:
    assert sum(len(asked) for asked in FORMS.values()) == 100
    right = [asked for kind, every in FORMS.items() for asked in every if plan_query(asked).type == QueryType(kind)]
    assert len(right) >= 90


@pytest.mark.requirement("V-71", "V-72")
@pytest.mark.parametrize(
    ("question", "kind", "target", "method"),
    [
        ("What is blocked?", "operational", "working_layer", QueryMethod.STRUCTURED_QUERY),
        ("What did we decide about the keyboard?", "lookup", "knowledge_layer", QueryMethod.TAG_FILTER),
        ("What builds on the chord chapter?", "connection", "knowledge_layer", QueryMethod.RELATIONSHIP_TRAVERSAL),
        ("What do you know about voicings?", "exploration", "knowledge_layer", QueryMethod.SEMANTIC_SEARCH),
        ("How long does a heat pump last?", "hybrid", "knowledge_layer", QueryMethod.EXPANDED_SEARCH),
    ],
)
def test_each_kind_has_its_layer_and_its_method(question: str, kind: str, target: str, method: QueryMethod) -> None:
    plan = plan_query(question)
    assert (plan.type.value, plan.target, plan.method) == (kind, target, method)


def test_a_plan_says_which_relations_and_types_are_meant_and_what_the_question_is_about() -> None:
    assert plan_query("What contradicts the claim on noise?").relation_types == (RelationType.CONTRADICTS,)
    assert plan_query("What is related to noise?").relation_types == ()
    assert plan_query("Which piano did we choose?").filters.types == {ChunkType.DECISION, ChunkType.USER_INPUT}
    assert plan_query("Where is the link to the lesson plan?").filters.types == {
        ChunkType.RESOURCE,
        ChunkType.RESEARCH,
    }
    assert plan_query("What do you know about voicings?").topic == "voicings"
    assert plan_query("  Who wrote it? ").topic == "Who wrote it?"
