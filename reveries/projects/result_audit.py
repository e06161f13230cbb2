"""Checks of a task: whether it serves the goal, before it is done, and the audit of its outcome. In an audit, code
checks what it can, then the model judges the evidence in a fresh prompt without the worker's own account (DESIGN,
section 3). With a small model code decides alone."""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
import numpy as np

from reveries.knowledge.model import Chunk
from reveries.llm.base import Role
from reveries.llm.tier import Tier
from reveries.projects.attempt_evidence import MOST_EVIDENCE_CHARS
from reveries.projects.coherence import LEAST_SCORE, Coherence, measure_coherence, score_task, shares_words
from reveries.projects.conflict_material import MOST_CONFLICT_CHARS, describe_open_conflicts
from reveries.projects.evidence import AuditVerdict, Evidence, EvidenceFacts, Observed, find_faults
from reveries.projects.model import AgentState, Orientation, WorkTask
from reveries.projects.prompt_material import CONFLICTS_TITLE, list_chunks, section
from reveries.projects.store import ProjectStore
from reveries.projects.task_execution import TaskResult
from reveries.projects.work_model import WorkModel
from reveries.prompts import prompt

_ANSWER_TOKENS = 240
_MOST_KNOWN_CHARS = 6000
"""Of what is known, in the evidence; what is there has MOST_EVIDENCE_CHARS."""
_MOST_CHUNK_CHARS = 3000
_MOST_OUTCOME_CHARS = 6000
_MOST_RESULT_TOKENS = (MOST_EVIDENCE_CHARS + _MOST_KNOWN_CHARS + _MOST_OUTCOME_CHARS + MOST_CONFLICT_CHARS) // 3
"""Of an outcome and its evidence, at three characters a token."""
_COHERENCE_TOKENS = 80


class AuditAnswer(msgspec.Struct, frozen=True):
    why: str
    accepted: bool
    reached: tuple[int, ...] = ()


async def audit_attempt(
    store: ProjectStore, model: WorkModel, state: AgentState, task: WorkTask, result: TaskResult
) -> AuditVerdict:
    """Audit an outcome against what the project knows and what was observed in its folder."""
    chunks = {chunk.id: chunk for chunk in await store.knowledge.of_project(task.project_id) if chunk.stands}
    texts = {name: f"{chunk.title}\n{chunk.content}" for name, chunk in chunks.items()}
    facts = EvidenceFacts(texts, result.observed.files, result.observed.commands)
    goal = state.goal.text if state.goal is not None else ""
    conflicts, _ = describe_open_conflicts(await store.read_facts(task.project_id))
    return await audit_result(model, task, result, state.orientation.content, facts, chunks, goal, conflicts)


async def audit_result(
    model: WorkModel,
    task: WorkTask,
    result: TaskResult,
    orientation: Orientation,
    facts: EvidenceFacts,
    chunks: Mapping[str, Chunk],
    goal: str = "",
    conflicts: str = "",
) -> AuditVerdict:
    """Decide whether the outcome is accepted."""
    if result.is_audited:
        return AuditVerdict(True, "You accepted it.")
    if not result.outcome.strip():
        return AuditVerdict(False, "There is no outcome.")
    if faults := find_faults(result.evidence, facts):
        return AuditVerdict(False, " ".join(faults))
    if model.tier is not Tier.CAPABLE:
        return AuditVerdict(True, "Every quote stands in its source.")
    evidence = _describe_evidence(result.evidence, result.observed, chunks)
    text = _audit_text(task, orientation, goal, result.outcome[:_MOST_OUTCOME_CHARS], evidence, conflicts)
    answer = await model.ask("audit", text, AuditAnswer, tokens=_ANSWER_TOKENS, role=Role.LEARNING)
    if answer is None:
        return AuditVerdict(False, "The auditor gave no usable answer.", is_judged=False)
    criteria = orientation.success_criteria
    reached = {number for number in answer.reached if 0 < number <= len(criteria)} if answer.accepted else set()
    return AuditVerdict(
        answer.accepted, answer.why.strip(), tuple(criteria[number - 1].text for number in sorted(reached))
    )


async def require_audit_budget(model: WorkModel, task: WorkTask, orientation: Orientation) -> None:
    """Raise BudgetExceededError unless the longest audit of the task could be paid for now. A task whose outcome could
    not be judged is not begun: its steps would be paid for in each wake, and nothing could be accepted."""
    if model.tier is not Tier.CAPABLE:
        return
    tokens = await model.model.count_tokens(_audit_text(task, orientation, "", "", ""))
    await model.require_budget(Role.LEARNING, tokens + _MOST_RESULT_TOKENS, _ANSWER_TOKENS)


def _audit_text(
    task: WorkTask, orientation: Orientation, goal: str, outcome: str, evidence: str, conflicts: str = ""
) -> str:
    criteria = [f"{number}. {criterion.text}" for number, criterion in enumerate(orientation.success_criteria, 1)]
    return prompt(
        "audit",
        goal=goal,
        title=task.title,
        description=task.description,
        criteria="\n".join(criteria) or "nothing is agreed yet",
        outcome=outcome,
        evidence=evidence,
        conflicts=section(CONFLICTS_TITLE, conflicts),
    )


def _describe_evidence(evidence: Evidence, observed: Observed, chunks: Mapping[str, Chunk]) -> str:
    named = dict.fromkeys((*evidence.chunk_ids, *(quote.chunk_id for quote in evidence.quotes)))
    stated = [chunks[name] for name in named if name in chunks]
    chunk_list, _ = list_chunks(stated, _MOST_KNOWN_CHARS, most_chunk_chars=_MOST_CHUNK_CHARS)
    observations = "\n".join(observed.lines)[:MOST_EVIDENCE_CHARS]
    parts = [part for part, is_there in ((observations, bool(observations)), (chunk_list, bool(stated))) if is_there]
    return "\n".join(parts) or "none: it is general knowledge, or an opinion"


class CoherenceAnswer(msgspec.Struct, frozen=True):
    why: str
    serves: bool


@dataclass(frozen=True, slots=True)
class OffTrack:
    """A task that does not seem to serve the goal: its score, and why."""

    score: float
    why: str


async def find_off_track(store: ProjectStore, model: WorkModel, state: AgentState, task: WorkTask) -> OffTrack | None:
    """Return why the task does not seem to serve the goal; None if it does. It is done all the same (V-91): shared
    words or similarity settle most tasks, a capable model is asked about the rest."""
    page = state.orientation.content
    if state.goal is None or shares_words(task, state.goal.text, page):
        return None
    goal, own = await store.knowledge.embed_texts([state.goal.text, f"{task.title}. {task.description}"])
    score = score_task(task, state.goal.text, page, float(np.dot(goal, own)))
    if score >= LEAST_SCORE:
        return None
    if model.tier is not Tier.CAPABLE:
        return OffTrack(score, "It shares no word with the goal, and its meaning is far from it.")
    text = prompt("coherent", goal=state.goal.text, title=task.title, description=task.description)
    answer = await model.ask("coherence", text, CoherenceAnswer, tokens=_COHERENCE_TOKENS)
    return OffTrack(score, answer.why.strip()) if answer is not None and not answer.serves else None


async def note_off_track(store: ProjectStore, task: WorkTask, off_track: OffTrack) -> str:
    """Record a warning in the log (V-51); return its words."""
    words = f"{task.title}: {off_track.why} (coherence {off_track.score:.2f})"
    await store.log.put_event(task.project_id, "coherence.warned", words, task)
    return words


async def read_coherence(store: ProjectStore, state: AgentState) -> Coherence:
    """Measure how the tasks of the active goal keep to it, by what was judged when they were begun."""
    if state.goal is None:
        return Coherence()
    checks = await store.log.coherence_checks(state.project.id)
    begun = {str(check.task_id) for check in checks if check.action == "task.began"}
    warned = {str(check.task_id): check.details for check in checks if check.action == "coherence.warned"}
    return measure_coherence(state.goal.id, state.tasks, state.orientation.content, begun, warned)
