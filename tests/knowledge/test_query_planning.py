"""Which way a question to a project goes."""

import tomllib
from pathlib import Path

import pytest

from reveries.knowledge.model import ChunkType, RelationType
from reveries.knowledge.query_planning import (
    QueryMethod,
    QueryType,
    example_questions,
    plan_query,
    refine_plan,
)

FORMS, LATER_FORMS = (
    tomllib.loads((Path(__file__).parent / name).read_text(encoding="utf-8"))
    for name in ("question_forms.toml", "later_question_forms.toml")
)


@pytest.mark.requirement("V-71")
def test_of_a_hundred_questions_ninety_are_planned_right() -> None:
    assert sum(len(asked) for asked in FORMS.values()) == 100
    right = [asked for kind, every in FORMS.items() for asked in every if plan_query(asked).type == QueryType(kind)]
    assert len(right) >= 90


@pytest.mark.requirement("V-71")
def test_of_forty_questions_that_were_written_later_thirty_are_planned_right_by_their_form_alone() -> None:
    right = [
        asked for kind, every in LATER_FORMS.items() for asked in every if plan_query(asked).type == QueryType(kind)
    ]
    assert len(right) >= 30


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


@pytest.mark.requirement("V-71")
def test_a_form_that_no_pattern_knows_is_what_its_examples_are_if_they_are_clearly_nearer() -> None:
    plan = plan_query("Is the oak floor laid by anybody?")
    assert plan.type is QueryType.HYBRID
    far = dict.fromkeys(QueryType, 0.2)
    assert refine_plan(plan, far | {QueryType.LOOKUP: 0.3}) == plan
    refined = refine_plan(plan, far | {QueryType.LOOKUP: 0.5})
    assert (refined.type, refined.method) == (QueryType.LOOKUP, QueryMethod.TAG_FILTER)
    assert refined.filters.types == frozenset(), "a guess leaves no chunk out"
    known = plan_query("What is blocked?")
    assert refine_plan(known, far | {QueryType.LOOKUP: 0.9}) == known


def test_the_examples_hold_each_type_and_none_of_the_questions_that_are_counted() -> None:
    examples = {one for questions in example_questions().values() for one in questions}
    assert set(example_questions()) == set(QueryType)
    assert not examples & {one for forms in (FORMS, LATER_FORMS) for questions in forms.values() for one in questions}
