"""What a step of a task is shown besides the steps so far (DESIGN, section 8): the same text in the same order at each
step of a try, stable parts first, so that a provider reads it from its cache. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from reveries.knowledge.model import ARCHIVE_TAG, Chunk
from reveries.projects.answers import own_answers
from reveries.projects.model import AgentState, TaskStatus, WorkStep, WorkTask
from reveries.projects.prompt_material import (
    KNOWLEDGE_SHARE,
    ORIENTATION_SHARE,
    choose_chunks,
    describe_purpose,
    describe_tasks,
    format_chunks,
)
from reveries.safe_text import one_line
from reveries.tools.results import fence

_MOST_LISTED_FILES: Final = 200
_MOST_FILE_CHARS: Final = 6_000
_MOST_OUTCOME_CHARS: Final = 3_000
_MOST_OTHER_CHARS: Final = 16_000
"""Of knowledge that the task does not rest on: it is read again at each step, and a search brings what is missing."""
_BASIS_CHUNK_CHARS: Final = 6_000
_OTHER_CHUNK_CHARS: Final = 1_200
_ANSWERS: Final = 3
_OTHER_TASKS: Final = 20
_PAST_CALLS: Final = 12
_PAST_CALL_CHARS: Final = 160
"""Of the arguments, and of the result: enough to see what was tried and what came of it."""


@dataclass(frozen=True, slots=True)
class FolderFile:
    """One file of the folder."""

    path: str
    size_bytes: int
    changed_at: float


@dataclass(frozen=True, slots=True)
class StepMaterial:
    """Texts for the prompt of a step, and the chunk id for each name in them."""

    orientation: str
    files: str
    known: str
    conflicts: str
    """Open contradictions of the notes."""
    before: str
    failure: str
    names: Mapping[str, str]


def gather_step_material(
    state: AgentState,
    task: WorkTask,
    chunks: Sequence[Chunk],
    matches: Sequence[Chunk],
    files: Sequence[FolderFile],
    *,
    owner: str,
    chars: int,
    past_steps: Sequence[WorkStep] = (),
    conflicts: str = "",
) -> StepMaterial:
    """Gather the material. `chunks`: all that the project knows; `matches`: what a search for the task brought, best
    first; `chars`: what fits the context; `past_steps`: the calls of the try before this one."""
    basis = order_basis(state, task, chunks)
    basis_ids = {chunk.id for chunk in basis}
    other = [chunk for chunk in complete_found(matches, chunks) if chunk.id not in basis_ids]
    room = int(chars * KNOWLEDGE_SHARE)
    chosen, left = choose_chunks(basis, room, most_chunk_chars=_BASIS_CHUNK_CHARS)
    more, _ = choose_chunks(other, min(_MOST_OTHER_CHARS, left), most_chunk_chars=_OTHER_CHUNK_CHARS)
    known, names = format_chunks([*chosen, *more], room)
    return StepMaterial(
        orientation=describe_purpose(state.orientation.content)[: int(chars * ORIENTATION_SHARE)],
        files=list_files(files),
        known=known,
        conflicts=conflicts,
        before=_describe_tasks_before(state, task),
        failure=_describe_failure(state, task, owner, past_steps),
        names=names,
    )


def complete_found(matches: Sequence[Chunk], chunks: Sequence[Chunk]) -> list[Chunk]:
    """Return what a search found, best first, then all else that is known, oldest first: of a small folder all fits,
    also a text that shares neither words nor language with what was searched for. Past pages are left out."""
    rest = sorted(chunks, key=lambda chunk: (chunk.created_at, chunk.id))
    usable = [chunk for chunk in (*matches, *rest) if chunk.stands and ARCHIVE_TAG not in chunk.tags]
    return list({chunk.id: chunk for chunk in usable}.values())


def order_basis(state: AgentState, task: WorkTask, chunks: Sequence[Chunk]) -> list[Chunk]:
    """Return what must stand before the model: what the task rests on, what the tasks learned that it depends on, and
    all that the owner answered; each part oldest first."""
    standing = sorted((chunk for chunk in chunks if chunk.stands), key=lambda chunk: (chunk.created_at, chunk.id))
    by_id = {chunk.id: chunk for chunk in standing}
    rests = [by_id[name] for name in task.rests_on if name in by_id]
    learned = [chunk for chunk in standing if chunk.task_id in task.needs]
    answers = [chunk for chunk in standing if "user_answer" in chunk.tags]
    return list({chunk.id: chunk for chunk in (*rests, *learned, *answers)}.values())


def list_files(files: Sequence[FolderFile]) -> str:
    """List the files of the folder by path, with their sizes; empty without any."""
    lines = [f"{file.path} ({file.size_bytes:,} bytes)" for file in sorted(files, key=lambda file: file.path)]
    kept, left = list[str](), _MOST_FILE_CHARS
    for line in lines[:_MOST_LISTED_FILES]:
        left -= len(line) + 3
        if left < 0:
            break
        kept.append(line)
    more = f"\nand {len(lines) - len(kept):,} more: find_files lists them" if len(kept) < len(lines) else ""
    return fence(kept) + more if lines else ""


def _describe_tasks_before(state: AgentState, task: WorkTask) -> str:
    """What the tasks brought that it depends on, to the end, and the other finished tasks in a line each."""
    needed = [other for other in state.tasks if other.id in task.needs and other.status is TaskStatus.DONE]
    done = [other for other in state.tasks if other.status is TaskStatus.DONE and other.id not in task.needs]
    lines = [f"- {other.title}: {one_line(other.outcome, _MOST_OUTCOME_CHARS)}" for other in needed]
    if done:
        lines.append(describe_tasks(done[-_OTHER_TASKS:]))
    return "\n".join(lines)


def pick_past_steps(steps: Sequence[WorkStep], task: WorkTask) -> list[WorkStep]:
    """Return the tool calls of the last try before the current one, oldest first, of a task whose last try failed."""
    past = [step for step in steps if step.reach and step.attempt < task.tries and task.failure]
    last = max((step.attempt for step in past), default=0)
    return [step for step in past if step.attempt == last][-_PAST_CALLS:]


def _describe_failure(state: AgentState, task: WorkTask, owner: str, past_steps: Sequence[WorkStep]) -> str:
    """Why the last try failed and what it did, and what the owner said to the task's own questions."""
    text = f"An earlier try failed: {task.failure}\nWhat it made still lies in the folder.\n" if task.failure else ""
    if past_steps:
        lines = [
            f"{step.tool} {one_line(step.arguments, _PAST_CALL_CHARS)}: {one_line(step.result, _PAST_CALL_CHARS)}"
            for step in past_steps
        ]
        text += f"It did this:\n{fence(lines)}\n"
    for question in own_answers(state.questions, task.id)[-_ANSWERS:]:
        text += f"{owner} was asked “{one_line(question.question, 300)}” and said: “{one_line(question.answer)}”\n"
    return text
