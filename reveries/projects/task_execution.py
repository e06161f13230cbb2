"""The result of an attempt at a task, and the free tool loop of a capable model (V-81..V-87)."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Literal, cast

import msgspec

from reveries.knowledge.model import (
    Chunk,
    ChunkSource,
    ChunkType,
    Confidence,
    NewChunk,
    RelationType,
    SearchFilters,
)
from reveries.llm.base import Role
from reveries.projects.answers import own_answers
from reveries.projects.conflict_material import describe_open_conflicts
from reveries.projects.evidence import AuditVerdict, Evidence, Observed, QuotedChunk, stands_in
from reveries.projects.model import AgentState, NewQuestion, QuestionKind, WorkTask
from reveries.projects.prompt_material import CONFLICTS_TITLE, format_today, section
from reveries.projects.step_material import StepMaterial, gather_step_material, pick_past_steps
from reveries.projects.store import ProjectStore
from reveries.projects.task_tools import TaskTools
from reveries.projects.work_model import WorkModel
from reveries.prompts import prompt
from reveries.tools.loop import (
    CallRecord,
    LoopLimits,
    ToolLoop,
    answer_type,
    arguments_of,
    describe_calls,
    describe_tools,
)

_ANSWER_TOKENS = 8000
"""At most, of a step: a file is written in one."""
_SHARE_OF_ANSWER = 4
"""The answer may take this part of the context."""
_FOUND = 40
_MOST_REJECTIONS = 2
"""Rejected outcomes after which the same try goes on."""
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
    verdict: AuditVerdict | None = None
    """Of the audit within the attempt, if there was one."""
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
        chunks_found = [match.chunk for match in chunks if match.chunk.stands]
        self.seen_sources.update(*(chunk.foreign_sources for chunk in chunks_found))
        return chunks_found


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


class StatedRelation(msgspec.Struct, frozen=True):
    """How what was learned relates to something that is known, by its name (V-55)."""

    to: str
    type: Literal["replaces", "contradicts", "supports", "requires"]


class Learning(msgspec.Struct, frozen=True):
    content: Annotated[str, msgspec.Meta(min_length=1)]
    type: ChunkType = ChunkType.INSIGHT
    tags: tuple[str, ...] = ()
    confidence: Confidence = Confidence.INFERRED
    rests_on: tuple[str, ...] = ()
    quote: str = ""
    relations: tuple[StatedRelation, ...] = ()


class FinishStep(msgspec.Struct, frozen=True, tag_field="tool", tag="finish"):
    status: Literal["complete", "blocked", "needs_research", "partial", "failed"]
    outcome: str = ""
    learnings: tuple[Learning, ...] = ()
    rests_on: tuple[str, ...] = ()
    question: str = ""
    topic: str = ""
    files: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()


Audit = Callable[[TaskResult], Awaitable[AuditVerdict]]


async def execute_freely(place: Workplace, task: WorkTask, audit: Audit) -> TaskResult:
    """Let a capable model work with its tools until `audit` accepts its result. An interrupted attempt continues
    where it stopped, and so does one whose result was rejected."""
    tools = place.tools
    assert tools is not None
    place.seen_sources.update(place.state.orientation.foreign_sources)
    for question in own_answers(place.state.questions, task.id):
        place.seen_sources.update(question.foreign_sources)
    material = await _gather_material(place, task, tools)
    tools.names |= material.names
    kind = answer_type(tools.tools, FinishStep)
    room = int(place.model.context_chars * _RESULTS_SHARE)
    tokens = min(_ANSWER_TOKENS, place.model.model.context_tokens // _SHARE_OF_ANSWER)

    async def ask_steps(calls: Sequence[CallRecord]) -> Sequence[object]:
        text = _step_text(place, task, material, tools, describe_calls(calls, room))
        is_reading = bool(calls) and calls[-1].tool in _READING_TOOLS
        role = Role.READING if is_reading else Role.WORK
        answer = await place.model.require("step", text, kind, tokens=tokens, role=role)
        return cast("Sequence[object]", answer.steps)

    review = _Review(task, tools, audit)
    loop = ToolLoop(ask_steps, tools.call, FinishStep, place.limits, await tools.earlier_calls(), review=review.judge)
    end = await loop.run()
    if end.held is not None and end.why_held is not None:
        return TaskResult(ResultStatus.HELD, question=await tools.approval_for(end.held, end.why_held))
    if end.finish is None:
        why = f"{end.why_ended} Before: {review.why_not}" if review.why_not else end.why_ended
        return TaskResult(ResultStatus.FAILED, why)
    assert review.result is not None
    return review.result


@dataclass(slots=True)
class _Review:
    """Looks at what an attempt hands in, and says whether the same attempt is to go on."""

    task: WorkTask
    tools: TaskTools
    audit: Audit
    result: TaskResult | None = None
    why_not: str = ""
    """Why the last outcome was rejected."""
    _last: FinishStep | None = None
    _rejections: int = 0

    async def judge(self, step: FinishStep) -> str:
        """Return what is to be mended; empty if the attempt ends."""
        digests = await self.tools.digests(step.files)
        evidence = tuple(await self.tools.describe_evidence(step.files))
        result = finish(self.task, step, self.tools.names, digests)
        files = await self.tools.list_task_files()
        self.result = replace(result, observed=Observed(digests, self.tools.commands, evidence, files))
        if result.status is not ResultStatus.COMPLETE or (step == self._last and self.why_not):
            return ""
        verdict = await self.audit(self.result)
        self.result = replace(self.result, verdict=verdict)
        self.why_not, self._last = "" if verdict.is_accepted else verdict.why, step
        self._rejections += not verdict.is_accepted
        if verdict.is_accepted or not verdict.is_judged or self._rejections > _MOST_REJECTIONS:
            return ""
        return await self.tools.record_rejection(arguments_of(step), f"Not accepted: {verdict.why}")


async def _gather_material(place: Workplace, task: WorkTask, tools: TaskTools) -> StepMaterial:
    matches = await place.search.find(task, f"{task.title}. {task.description}", _FOUND)
    chunks = await place.store.knowledge.of_project(task.project_id)
    past_steps = pick_past_steps(await place.store.tasks.steps_of(task.id), task)
    place.seen_sources.update(*(step.foreign_sources for step in past_steps))
    conflicts, conflict_sources = describe_open_conflicts(await place.store.read_facts(task.project_id))
    place.seen_sources.update(conflict_sources)
    material = gather_step_material(
        place.state, task, chunks, matches, await tools.list_folder(), owner=place.model.owner,
        chars=place.model.context_chars, past_steps=past_steps, conflicts=conflicts,
    )  # fmt: skip
    shown = set(material.names.values())
    place.seen_sources.update(*(chunk.foreign_sources for chunk in chunks if chunk.id in shown))
    return material


def _step_text(place: Workplace, task: WorkTask, material: StepMaterial, tools: TaskTools, done: str) -> str:
    return prompt(
        "work_step",
        owner=place.model.owner,
        tools=describe_tools(tools.tools),
        goal=place.state.goal.text if place.state.goal is not None else "",
        orientation=material.orientation,
        today=format_today(tools.began_at),
        files=section("Files in the folder when this try began:", material.files),
        known=material.known,
        conflicts=section(CONFLICTS_TITLE, material.conflicts),
        before=section("Tasks done before:", material.before),
        title=task.title,
        description=task.description,
        failure=material.failure,
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
        learnings=tuple(_new_chunk(task, learning, ids) for learning in step.learnings),
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
        QuotedChunk(ids.get(learning.rests_on[0], learning.rests_on[0]) if learning.rests_on else "", learning.quote)
        for learning in learnings
        if learning.quote.strip()
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
        related_to=tuple(
            (ids[relation.to], RelationType(relation.type)) for relation in learning.relations if relation.to in ids
        ),
    )
