"""Plans how a question to a project is answered: from its state, its decisions, its relations, or by search.

Patterns decide by the form of the question, in the order of the specification (V-71..V-73): what is blocked or open is
read from tasks and questions; what was decided, or where something is kept, is looked up; what contradicts or builds on
something follows relations; everything on a subject is explored; anything else is searched, and what is found is
expanded. A form that no pattern knows is compared with examples. English. Pure.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from importlib import resources

from reveries.knowledge.model import ChunkType, RelationType, SearchFilters


class QueryType(StrEnum):
    OPERATIONAL = "operational"
    LOOKUP = "lookup"
    CONNECTION = "connection"
    EXPLORATION = "exploration"
    HYBRID = "hybrid"


class QueryMethod(StrEnum):
    STRUCTURED_QUERY = "structured_query"
    TAG_FILTER = "tag_filter"
    RELATIONSHIP_TRAVERSAL = "relationship_traversal"
    SEMANTIC_SEARCH = "semantic_search"
    EXPANDED_SEARCH = "semantic_then_filter_then_expand"


_METHODS = {
    QueryType.OPERATIONAL: QueryMethod.STRUCTURED_QUERY,
    QueryType.LOOKUP: QueryMethod.TAG_FILTER,
    QueryType.CONNECTION: QueryMethod.RELATIONSHIP_TRAVERSAL,
    QueryType.EXPLORATION: QueryMethod.SEMANTIC_SEARCH,
    QueryType.HYBRID: QueryMethod.EXPANDED_SEARCH,
}
_MARGIN = 0.14
"""Cosine by which a type has to be ahead of the plain search. With 0.10 three of twenty questions on a subject were
taken for something else, with 0.14 one."""


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """How a question is answered (V-72)."""

    type: QueryType
    method: QueryMethod
    topic: str
    """What is left of the question without the words that say how it is meant."""
    filters: SearchFilters = field(default_factory=SearchFilters)
    relation_types: tuple[RelationType, ...] = ()
    names_type: bool = False
    """Whether the question itself names what it asks for: a decision. Otherwise the types only come first."""

    @property
    def target(self) -> str:
        """Which layer holds the answer."""
        return "working_layer" if self.type is QueryType.OPERATIONAL else "knowledge_layer"


_FILLERS = re.compile(
    r"^(?:please|can you|could you|do you|tell me|show me|give me|find|open|list|explain|describe|summari[sz]e|what|"
    r"which|who|when|where|why|how|is|are|was|were|did|do|does|has|have|we|i|you|it|there|anything|everything|all|about|the|a|"
    r"an|of|on|know|known|decide|decided|decision|say|said|that|already|an overview|any)\b[\s,]*",
    re.IGNORECASE,
)


def plan_query(question: str) -> QueryPlan:
    """The plan of a question."""
    asked = " ".join(question.casefold().replace("\u2019", "'").split())
    if _holds(QueryType.OPERATIONAL, asked):
        return QueryPlan(QueryType.OPERATIONAL, QueryMethod.STRUCTURED_QUERY, _topic(question))
    if _holds(QueryType.LOOKUP, asked):
        filters, names_type = SearchFilters(types=_types(asked)), _names_decision(asked)
        return QueryPlan(QueryType.LOOKUP, QueryMethod.TAG_FILTER, _topic(question), filters, names_type=names_type)
    if (types := _relation_types(asked)) is not None:
        return QueryPlan(
            QueryType.CONNECTION, QueryMethod.RELATIONSHIP_TRAVERSAL, _topic(question), relation_types=types
        )
    if _holds(QueryType.EXPLORATION, asked):
        return QueryPlan(QueryType.EXPLORATION, QueryMethod.SEMANTIC_SEARCH, _topic(question))
    return QueryPlan(QueryType.HYBRID, QueryMethod.EXPANDED_SEARCH, question.strip())


def refine_plan(plan: QueryPlan, likeness: Mapping[QueryType, float]) -> QueryPlan:
    """The plan of a question whose form no pattern knows, by its likeness to the examples of each type: the most
    similar type, if it is ahead of the plain search by a margin. `likeness`: cosines."""
    best = max(likeness, key=likeness.__getitem__)
    if plan.type is not QueryType.HYBRID or likeness[best] - likeness[QueryType.HYBRID] <= _MARGIN:
        return plan
    return QueryPlan(best, _METHODS[best], _topic(plan.topic))


@cache
def example_questions() -> Mapping[QueryType, Sequence[str]]:
    """Questions of each type, as examples."""
    raw = tomllib.loads(resources.files(__package__).joinpath("question_examples.toml").read_text(encoding="utf-8"))
    return {QueryType(name): questions for name, questions in raw.items()}


@dataclass(frozen=True, slots=True)
class _Forms:
    """The words of query_forms.toml, compiled."""

    by_type: dict[str, re.Pattern[str]]
    decided: re.Pattern[str]
    relations: tuple[tuple[re.Pattern[str], tuple[RelationType, ...]], ...]


@cache
def _compiled_forms() -> _Forms:
    raw = tomllib.loads(resources.files(__package__).joinpath("query_forms.toml").read_text(encoding="utf-8"))

    def compiled(pattern: str) -> re.Pattern[str]:
        for name, words in raw["words"].items():
            pattern = pattern.replace(f"<{name}>", words)
        return re.compile(pattern)

    return _Forms(
        {name: compiled("|".join(f"(?:{pattern})" for pattern in patterns)) for name, patterns in raw["forms"].items()},
        compiled(r"\b<DECIDED>\b"),
        tuple(
            (compiled(rf"\b(?:{form['words']})\b"), tuple(map(RelationType, form["types"])))
            for form in raw["relations"]
        ),
    )


def _holds(form: QueryType, asked: str) -> bool:
    return bool(_compiled_forms().by_type[form.value].search(asked))


def _names_decision(asked: str) -> bool:
    return bool(_compiled_forms().decided.search(asked))


def _types(asked: str) -> frozenset[ChunkType]:
    """Which types of chunk a lookup means."""
    if _names_decision(asked) or re.search(r"\b(?:i|my|we|our|us)\b", asked):
        return frozenset({ChunkType.DECISION, ChunkType.USER_INPUT})
    return frozenset({ChunkType.RESOURCE, ChunkType.RESEARCH})


def _relation_types(asked: str) -> tuple[RelationType, ...] | None:
    """The relations that are asked for, () for any; None where the question is about none."""
    if not _holds(QueryType.CONNECTION, asked):
        return None
    return next((types for pattern, types in _compiled_forms().relations if pattern.search(asked)), None)


def _topic(question: str) -> str:
    """The question without its opening words."""
    left = question.strip().rstrip("?.! ")
    while (shorter := _FILLERS.sub("", left, count=1)) != left and shorter:
        left = shorter
    return left or question.strip()
