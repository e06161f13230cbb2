"""The result of an attempt at a task, and the free tool loop of a capable model (V-81..V-87)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Literal

import msgspec

from reveries.knowledge.model import Chunk, ChunkSource, ChunkType, Confidence, NewChunk, SearchFilters
from reveries.llm.base import Role
from reveries.projects.answers import own_answers
from reveries.projects.evidence import Evidence, Observed, QuotedChunk, stands_in
from reveries.projects.model import AgentState, QuestionKind, WorkTask
from reveries.projects.prompt_material import Material, gather_material
from reveries.projects.store import NewQuestion, ProjectStore
from reveries.projects.task_tools import TaskTools
from reveries.projects.work_model import WorkModel
from reveries.prompts import prompt
from reveries.safe_text import one_line
from reveries.tools.loop import CallRecord, LoopLimits, ToolLoop, describe_calls, describe_tools, step_type

_ANSWER_TOKENS = 2000
_FOUND = 8
_ANSWERS = 3
_READING_TOOLS = frozenset({"read_file", "fetch"})
"""The step after one of these reads the text for the first time, and is charged as reading."""
_RESULTS_SHARE = 0.5
"""Share of the context that tool results may take."""


class ResultStatus(StrEnum):
    COMPLETE = "complete"
    BLOCKED = "blocked"
    NEEDS_RESEARCH = "needs_research"
    PARTIAL = "partial"
    FAILED = "failed"
    GIVEN_UP = "given_up"
    """Not even the owner can answer it: the work goes on without it. Set by code, never by a model."""
    HELD = "held"
    """A tool call waits for the owner's approval; then the same attempt continues."""


@dataclass(frozen=True, slots=True)
class TaskResult:
    """The result of one attempt at a task."""

    status: ResultStatus
    outcome: str = ""
    learnings: tuple[NewChunk, ...] = ()
    rests_on: tuple[str, ...] = ()
    question: NewQuestion | None = None
    topic: str = ""
    evidence: Evidence = field(default_factory=Evidence)
    is_audited: bool = False
    """The owner accepted it, so it is not audited."""
    observed: Observed = field(default_factory=Observed)
    """What code observed of the work in the folder."""


@dataclass(frozen=True, slots=True)
class SourcedSearch:
    """Searches the knowledge of a project, and collects the foreign sources of what an attempt reads."""

    store: ProjectStore
    session_id: str
    seen_sources: set[str] = field(default_factory=set)
    """Foreign sources of everything that was read; the result of the attempt inherits them."""

    async def find(self, task: WorkTask, query: str, limit: int, types: Collection[ChunkType] = ()) -> list[Chunk]:
        """Return the best matching chunks, and record their foreign sources."""
        filters = SearchFilters(types=frozenset(types))
        chunks = await self.store.knowledge.search.hybrid(
            task.project_id, query, limit, filters, session_id=self.session_id
        )
        # What a newer chunk replaces is no ground to stand on.
        found = [one.chunk for one in chunks if one.chunk.stands]
        self.seen_sources.update(*(chunk.foreign_sources for chunk in found))
        return found


@dataclass(frozen=True, slots=True)
class Workplace:
    """What an attempt at a task works with. `tools` is None where a recipe is followed without any."""

    store: ProjectStore
    model: WorkModel
    state: AgentState
    search: SourcedSearch
    limits: LoopLimits = field(default_factory=LoopLimits)
    tools: TaskTools | None = None

    @property
    def seen_sources(self) -> set[str]:
        """Foreign sources of everything that was read."""
        return self.search.seen_sources


# --- the capable model's answer (V-87) --------------------------------------------------------------------------------


class Learning(msgspec.Struct, frozen=True):
    content: Annotated[str, msgspec.Meta(min_length=1)]
    type: ChunkType = ChunkType.INSIGHT
    tags: tuple[str, ...] = ()
    confidence: Confidence = Confidence.INFERRED
    rests_on: tuple[str, ...] = ()
    quote: str = ""


class FinishStep(msgspec.Struct, frozen=True, tag_field="tool", tag="finish"):
    status: Literal["complete", "blocked", "needs_research", "partial", "failed"]
    outcome: str = ""
    learnings: tuple[Learning, ...] = ()
    rests_on: tuple[str, ...] = ()
    question: str = ""
    topic: str = ""
    files: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()


async def execute_freely(place: Workplace, task: WorkTask) -> TaskResult:
    """Let a capable model work with its tools until it finishes. An interrupted attempt continues where it stopped."""
    tools = place.tools
    assert tools is not None
    place.seen_sources.update(place.state.orientation.foreign_sources)
    for one in own_answers(place.state.questions, task.id):
        place.seen_sources.update(one.foreign_sources)
    found = await place.search.find(task, f"{task.title}. {task.description}", _FOUND)
    material = gather_material(
        place.state.orientation.content, place.state.activities, found, chars=place.model.context_chars
    )
    tools.names |= material.names
    kind = step_type(tools.tools, FinishStep)
    room = int(place.model.context_chars * _RESULTS_SHARE)

    async def ask_step(calls: Sequence[CallRecord]) -> object:
        text = _step_text(place, task, material, tools, describe_calls(calls, room))
        is_reading = bool(calls) and calls[-1].tool in _READING_TOOLS
        role = Role.READING if is_reading else Role.WORK
        return (await place.model.require("step", text, kind, tokens=_ANSWER_TOKENS, role=role)).step

    loop = ToolLoop(ask_step, tools.call, FinishStep, place.limits, await tools.earlier_calls())
    end = await loop.run()
    if end.held is not None and end.why_held is not None:
        return TaskResult(ResultStatus.HELD, question=await tools.approval_for(end.held, end.why_held))
    if end.finish is None:
        return TaskResult(ResultStatus.FAILED, end.why_ended)
    digests = await tools.digests(end.finish.files)
    observed = Observed(digests, tools.commands, tuple(await tools.describe()))
    return replace(finish(task, end.finish, tools.names, digests), observed=observed)


def _step_text(place: Workplace, task: WorkTask, material: Material, tools: TaskTools, done: str) -> str:
    failure = f"An earlier try failed: {task.failure}\n" if task.failure else ""
    for one in own_answers(place.state.questions, task.id)[-_ANSWERS:]:
        failure += f"{place.model.owner} was asked “{one_line(one.question, 300)}” and said: “{one_line(one.answer)}”\n"
    return prompt(
        "work_step",
        owner=place.model.owner,
        orientation=material.orientation,
        known=material.known,
        lately=material.lately,
        title=task.title,
        description=task.description,
        failure=failure,
        tools=describe_tools(tools.tools),
        done=done,
    )


def finish(
    task: WorkTask, step: FinishStep, ids: Mapping[str, str], digests: Mapping[str, str] = MappingProxyType({})
) -> TaskResult:
    """Convert the model's finish step into a result, with ids for names; `digests`: hashes of existing files. Pure."""
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
        evidence=Evidence(
            quotes=_quotes(step.learnings, ids),
            chunk_ids=rests,
            files={path: digests.get(path, "") for path in step.files},
            commands=step.commands,
        ),
    )


def _quotes(learnings: Sequence[Learning], ids: Mapping[str, str]) -> tuple[QuotedChunk, ...]:
    return tuple(
        QuotedChunk(ids.get(one.rests_on[0], one.rests_on[0]) if one.rests_on else "", one.quote)
        for one in learnings
        if one.quote.strip()
    )


def _new_chunk(task: WorkTask, learning: Learning, ids: Mapping[str, str]) -> NewChunk:
    """Convert a learning into a chunk. Without a supporting quote it is not verified, whatever the model says."""
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
