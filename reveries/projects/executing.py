"""What a try of a task brings, whoever worked on it, and the loop of a capable model (V-81..V-87)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Literal

import msgspec

from reveries.knowledge.model import Chunk, ChunkSource, ChunkType, Confidence, NewChunk, SearchFilters
from reveries.projects.evidence import Evidence, QuotedChunk, stands_in
from reveries.projects.material import Material, gather_material, list_chunks
from reveries.projects.model import AgentState, QuestionKind, WorkTask
from reveries.projects.store import NewQuestion, ProjectStore
from reveries.projects.work_model import WorkModel
from reveries.prompts import prompt

MOST_STEPS = 8
_ANSWER_TOKENS = 900
_FOUND = 8
_MORE_SHARE = 0.15


class ResultStatus(StrEnum):
    COMPLETE = "complete"
    BLOCKED = "blocked"
    NEEDS_RESEARCH = "needs_research"
    PARTIAL = "partial"
    FAILED = "failed"
    GIVEN_UP = "given_up"
    """Nobody knows it, the owner neither: the work goes on without it. No model can say so."""


@dataclass(frozen=True, slots=True)
class TaskResult:
    """What one try came to."""

    status: ResultStatus
    outcome: str = ""
    learnings: tuple[NewChunk, ...] = ()
    rests_on: tuple[str, ...] = ()
    question: NewQuestion | None = None
    topic: str = ""
    evidence: Evidence = field(default_factory=Evidence)
    is_audited: bool = False
    """The owner has accepted it: no auditor looks at it."""


@dataclass(slots=True)
class Workplace:
    """What a try of a task works with."""

    store: ProjectStore
    model: WorkModel
    state: AgentState
    seen_sources: set[str] = field(default_factory=set)
    """Foreign sources of all that was looked at: what comes of the try has them."""

    async def search(self, task: WorkTask, query: str, limit: int, types: Collection[ChunkType] = ()) -> list[Chunk]:
        """The chunks that fit best; their sources are noted."""
        filters = SearchFilters(types=frozenset(types))
        session = self.state.session_id
        chunks = await self.store.knowledge.search.hybrid(task.project_id, query, limit, filters, session_id=session)
        # What a newer chunk replaces is no ground to stand on.
        found = [one.chunk for one in chunks if one.chunk.stands]
        self.seen_sources.update(*(chunk.foreign_sources for chunk in found))
        return found


# --- the capable model's answer (V-87) --------------------------------------------------------------------------------


class Learning(msgspec.Struct, frozen=True):
    content: Annotated[str, msgspec.Meta(min_length=1)]
    type: ChunkType = ChunkType.INSIGHT
    tags: tuple[str, ...] = ()
    confidence: Confidence = Confidence.INFERRED
    rests_on: tuple[str, ...] = ()
    quote: str = ""


class SearchStep(msgspec.Struct, frozen=True, tag_field="tool", tag="search"):
    query: Annotated[str, msgspec.Meta(min_length=1, max_length=400)]


class FinishStep(msgspec.Struct, frozen=True, tag_field="tool", tag="finish"):
    status: Literal["complete", "blocked", "needs_research", "partial", "failed"]
    outcome: str = ""
    learnings: tuple[Learning, ...] = ()
    rests_on: tuple[str, ...] = ()
    question: str = ""
    topic: str = ""


class NextStep(msgspec.Struct, frozen=True):
    step: SearchStep | FinishStep


async def execute_freely(place: Workplace, task: WorkTask) -> TaskResult:
    """Let a capable model work: search what the project knows, then finish. The same search twice, or too many steps,
    ends the try."""
    model = place.model
    place.seen_sources |= place.state.orientation.foreign_sources
    found = await place.search(task, f"{task.title}. {task.description}", _FOUND)
    material = gather_material(
        place.state.orientation.content,
        place.state.activities,
        found,
        chars=model.context_chars,
    )
    queries: list[str] = []
    for _ in range(MOST_STEPS):
        answer = await model.ask("step", _step_text(place, task, material), NextStep, tokens=_ANSWER_TOKENS)
        if answer is None:
            return TaskResult(ResultStatus.FAILED, "The model gave no usable answer.")
        if isinstance(answer.step, FinishStep):
            return finish(task, answer.step, material)
        query = answer.step.query.strip().lower()
        if query in queries:
            return TaskResult(ResultStatus.FAILED, f"It searched for the same twice: {query[:80]}.")
        queries.append(query)
        material = await _search_more(place, task, material, query)
    return TaskResult(ResultStatus.FAILED, f"It had not finished after {MOST_STEPS} steps.")


async def _search_more(place: Workplace, task: WorkTask, material: Material, query: str) -> Material:
    known = set(material.names.values())
    new = [chunk for chunk in await place.search(task, query, _FOUND) if chunk.id not in known]
    room = int(place.model.context_chars * _MORE_SHARE)
    text, names = list_chunks(new, room, first=len(material.names) + 1)
    heading = f"\nFound for “{query[:100]}”: "
    more = heading + (f"\n{text}" if names else "nothing that does not stand above already.")
    return Material(material.orientation, material.lately, material.known + more, {**material.names, **names})


def _step_text(place: Workplace, task: WorkTask, material: Material) -> str:
    failure = f"An earlier try failed: {task.failure}\n" if task.failure else ""
    return prompt(
        "work_step",
        owner=place.model.owner,
        orientation=material.orientation,
        known=material.known,
        lately=material.lately,
        title=task.title,
        description=task.description,
        failure=failure,
    )


def finish(task: WorkTask, step: FinishStep, material: Material) -> TaskResult:
    """What the model handed in, with names as ids. Pure."""
    ids = material.names
    rests = tuple(ids[name] for name in step.rests_on if name in ids)
    question, status = None, ResultStatus(step.status)
    if status is ResultStatus.BLOCKED:
        asked = step.question.strip() or f"What is needed for: {task.title}?"
        question = NewQuestion(asked, QuestionKind.QUESTION, context=task.title, blocks=(task.id,), task_id=task.id)
    return TaskResult(
        status=status,
        outcome=step.outcome.strip(),
        learnings=tuple(_new_chunk(task, one, ids) for one in step.learnings),
        rests_on=rests,
        question=question,
        topic=step.topic.strip(),
        evidence=Evidence(quotes=_quotes(step.learnings, ids), chunk_ids=rests),
    )


def _quotes(learnings: Sequence[Learning], ids: Mapping[str, str]) -> tuple[QuotedChunk, ...]:
    return tuple(
        QuotedChunk(ids.get(one.rests_on[0], one.rests_on[0]) if one.rests_on else "", one.quote)
        for one in learnings
        if one.quote.strip()
    )


def _new_chunk(task: WorkTask, learning: Learning, ids: Mapping[str, str]) -> NewChunk:
    """A learning as a chunk. What no quote bears out is not verified, whatever the model says."""
    rests = tuple(ids[name] for name in learning.rests_on if name in ids)
    has_quote = bool(learning.quote.strip()) and stands_in(learning.quote, learning.content)
    is_too_sure = learning.confidence is Confidence.VERIFIED and not (rests and has_quote)
    return NewChunk(
        content=learning.content.strip(),
        type=learning.type,
        confidence=Confidence.INFERRED if is_too_sure else learning.confidence,
        source=ChunkSource.RESEARCH if "research" in task.title.lower() else ChunkSource.EXPERIMENT,
        tags=tuple(tag.lower() for tag in (*learning.tags, task.skill_area) if tag),
        rests_on=rests,
        task_id=task.id,
    )
