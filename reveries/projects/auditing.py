"""An outcome is accepted by fresh eyes on evidence: code checks what code can, then a second look that never saw the
worker's own account (DESIGN, section 3). A small model audits nothing: there code decides alone."""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from reveries.knowledge.model import Chunk
from reveries.llm.tier import Tier
from reveries.projects.evidence import Evidence, Facts, Observed, find_faults
from reveries.projects.executing import TaskResult
from reveries.projects.material import record_of
from reveries.projects.model import Orientation, WorkTask
from reveries.projects.work_model import WorkModel
from reveries.prompts import prompt

_ANSWER_TOKENS = 160
_MOST_EVIDENCE_CHARS = 6000


class AuditAnswer(msgspec.Struct, frozen=True):
    why: str
    accepted: bool


@dataclass(frozen=True, slots=True)
class AuditVerdict:
    is_accepted: bool
    why: str


async def audit_result(
    model: WorkModel,
    task: WorkTask,
    result: TaskResult,
    orientation: Orientation,
    facts: Facts,
    chunks: Mapping[str, Chunk],
) -> AuditVerdict:
    """Whether the outcome counts."""
    if result.is_audited:
        return AuditVerdict(True, "You accepted it.")
    if not result.outcome.strip():
        return AuditVerdict(False, "There is no outcome.")
    if faults := find_faults(result.evidence, facts):
        return AuditVerdict(False, " ".join(faults))
    if model.tier is not Tier.CAPABLE:
        return AuditVerdict(True, "Every quote stands in its source.")
    text = prompt(
        "audit",
        title=task.title,
        description=task.description,
        criteria="\n".join(f"- {one.text}" for one in orientation.success_criteria) or "nothing is agreed yet",
        outcome=result.outcome,
        evidence=_describe_evidence(result.evidence, result.observed, chunks),
    )
    answer = await model.ask("audit", text, AuditAnswer, tokens=_ANSWER_TOKENS)
    if answer is None:
        return AuditVerdict(False, "The auditor gave no usable answer.")
    return AuditVerdict(answer.accepted, answer.why.strip())


def _describe_evidence(evidence: Evidence, observed: Observed, chunks: Mapping[str, Chunk]) -> str:
    named = dict.fromkeys((*evidence.chunk_ids, *(one.chunk_id for one in evidence.quotes)))
    lines = [f"- {record_of(chunks[name])}" for name in named if name in chunks]
    lines += observed.lines
    return "\n".join(lines)[:_MOST_EVIDENCE_CHARS] or "none: it is general knowledge, or an opinion"
