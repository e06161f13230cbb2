"""Write an overview of a folder with a small model: code lists and quotes every file, the owner approves the draft.

The model only says what the goal asks for. Nothing in the overview comes from the model: each line names a file of the
folder and quotes a sentence that was read in it (DESIGN-projects.md, section 8).
"""

import asyncio
import heapq
import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Final, Literal

import msgspec
import numpy as np

from reveries.errors import ToolError
from reveries.knowledge.contradictions import find_change, speak_alike
from reveries.knowledge.model import Chunk, KnowledgeConflict
from reveries.memory.text.extracts import sentences_of
from reveries.projects.drafts import keep_draft
from reveries.projects.evidence import Evidence, Observed
from reveries.projects.folder_reading import NoteFile, is_of_folder
from reveries.projects.model import Goal, OwnerQuestion, QuestionKind, QuestionStatus, TaskKind, WorkTask
from reveries.projects.planning import PlannedTask
from reveries.projects.sections import path_of
from reveries.projects.store import NewQuestion
from reveries.projects.task_execution import ResultStatus, TaskResult, Workplace
from reveries.projects.work_model import WorkModel
from reveries.projects.yes_answers import YesTo, begins_with_yes, is_yes, what_is_beyond_yes
from reveries.prompts import prompt
from reveries.safe_text import one_line

FOLDER_AREA: Final = "folder"
FILE: Final = "INDEX.md"
_INDEX: Final = f"Write {FILE}: a line for each note"
_CONFLICTS: Final = f"Write {FILE}: what does not go together"
_BOTH: Final = f"{_INDEX}, and what does not go together"
_LIST_ITEM: Final = re.compile(r"\s{0,3}(?:[-*+]|\d+[.)])\s+")
_YES_NO_TOKENS: Final = 16
_SENTENCES: Final = 60
_FIRST_SENTENCES: Final = 12
_NEAR_COSINE: Final = 0.75
_MOST_PAIRS: Final = 20
_MOST_COMPARED: Final = 10_000
"""Pairs of near sentences, the nearest first, that are looked at until `_MOST_PAIRS` are found."""
_BLOCK_ROWS: Final = 512
_MOST_NAMED: Final = 20
_SHORTEST: Final = 12
_LONGEST: Final = 240
_FIRST_BONUS: Final = 0.05
"""Notes tend to say first what they are about."""


class AskedFor(msgspec.Struct, frozen=True):
    answer: Literal["yes", "no"]


async def plan_overview(model: WorkModel, goal: Goal, files: int) -> tuple[PlannedTask, ...]:
    """Return the one task of a goal that asks for an overview of the folder; empty for any other goal."""
    each = await _says_yes(model, "asks for each", prompt("asks_for_each", goal=goal.text, count=str(files)))
    conflicts = await _says_yes(
        model, "asks for conflicts", prompt("asks_for_conflicts", goal=goal.text, count=str(files))
    )
    title = {(True, False): _INDEX, (False, True): _CONFLICTS, (True, True): _BOTH}.get((each, conflicts))
    if title is None:
        return ()
    return (PlannedTask(title, f"For the goal: {goal.text}", TaskKind.WRITE, FOLDER_AREA),)


async def _says_yes(model: WorkModel, name: str, text: str) -> bool:
    answer = await model.ask(name, text, AskedFor, tokens=_YES_NO_TOKENS)
    return answer is not None and answer.answer == "yes"


def is_overview(task: WorkTask) -> bool:
    """Whether a task was created by `plan_overview`."""
    return task.skill_area == FOLDER_AREA and task.title in (_INDEX, _CONFLICTS, _BOTH)


async def write_overview(place: Workplace, task: WorkTask) -> TaskResult:
    """Ask the owner to approve the draft; write the file once it is approved."""
    if (answered := _approval_of(place, task)) is not None:
        if is_yes(answered.answer, YesTo.WRITE):
            return await _write_file(place, task, answered)
        if begins_with_yes(answered.answer, YesTo.WRITE):
            return _ask_as_it_is(place, task, answered)
        return TaskResult(ResultStatus.GIVEN_UP, f"It is not written. You said: “{answered.answer}”")
    every = await place.store.knowledge.of_project(task.project_id)
    files = await _list_notes(place)
    left_out = {FILE, *(one.path for one in files if one.is_too_large)}
    there = [one for one in every if is_of_folder(one) and not one.fell_because and path_of(one) not in left_out]
    if not there:
        asked = "There is no note in the folder that I can read. What should I look at?"
        return TaskResult(ResultStatus.BLOCKED, question=NewQuestion(asked, blocks=(task.id,), task_id=task.id))
    place.seen_sources.update(*(one.foreign_sources for one in there))
    notes = await _read_notes(place, there)
    lines = ["# Index", "", *(_index_line(one) for one in notes)] if task.title in (_INDEX, _BOTH) else []
    if task.title in (_CONFLICTS, _BOTH):
        ids = {one.id for one in there}
        conflicts = await place.store.knowledge.contradictions(task.project_id, unresolved_only=False)
        sure = [one for one in conflicts if one.is_verified and {one.older.id, one.newer.id} <= ids]
        lines += ["", *conflict_lines(sure, await asyncio.to_thread(find_near_pairs, notes))]
    lines += _name_left_out(files, {note.path for note in notes})
    draft = "\n".join(lines).strip() + "\n"
    return _ask_approval(task, f"Shall I {_say_where(place)}? Say yes or no.", draft)


async def _list_notes(place: Workplace) -> Sequence[NoteFile]:
    """Return the notes in the folder; none if it cannot be looked at any more."""
    if place.tools is None or place.tools.folder is None:
        return ()
    try:
        return (await place.tools.list_notes()).files
    except ToolError:
        return ()


def _name_left_out(files: Sequence[NoteFile], shown: Set[str]) -> list[str]:
    """Return the lines that name the notes that the overview does not show: empty, too large, no text, retracted, or
    not read yet."""
    left_out = [one_line(one.path) for one in files if one.path not in shown and one.path != FILE]
    if not left_out:
        return []
    more = f" and {len(left_out) - _MOST_NAMED} more" if len(left_out) > _MOST_NAMED else ""
    named = ", ".join(left_out[:_MOST_NAMED])
    return ["", f"Not in this overview (empty, too large, no text, retracted, or not read yet): {named}{more}."]


def _say_where(place: Workplace) -> str:
    return f"write this into {FILE}" if place.state.project.may_write else "keep this (the folder may only be read)"


def _ask_as_it_is(place: Workplace, task: WorkTask, answered: OwnerQuestion) -> TaskResult:
    """Ask again where the owner said yes to something else: nothing in the draft can be changed by words."""
    place.seen_sources.update(answered.foreign_sources)
    change = one_line(what_is_beyond_yes(answered.answer, YesTo.WRITE))
    told = f"I cannot do this: “{change}”. An overview only lists and quotes the notes."
    return _ask_approval(task, f"{told} Shall I {_say_where(place)} as it is? Say yes or no.", answered.context)


def _ask_approval(task: WorkTask, asked: str, draft: str) -> TaskResult:
    question = NewQuestion(asked, QuestionKind.APPROVAL, context=draft, blocks=(task.id,), task_id=task.id)
    return TaskResult(ResultStatus.BLOCKED, question=question)


def _approval_of(place: Workplace, task: WorkTask) -> OwnerQuestion | None:
    own = [one for one in place.state.questions if one.task_id == task.id and one.status is QuestionStatus.ANSWERED]
    return next((one for one in reversed(own) if one.kind is QuestionKind.APPROVAL), None)


async def _write_file(place: Workplace, task: WorkTask, answered: OwnerQuestion) -> TaskResult:
    """Store the approved overview: as a file, or as a chunk if the folder is read-only."""
    assert place.tools is not None
    text = answered.context
    if not place.state.project.may_write:
        return keep_draft(task, answered)
    try:
        await place.tools.call("write_file", {"path": FILE, "text": text})
    except ToolError as error:
        return TaskResult(ResultStatus.FAILED, error.message)
    digests = await place.tools.digests((FILE,))
    outcome = f"{FILE} is written: {text.count(chr(10) + '- ')} entries."
    evidence = Evidence(files={FILE: digests.get(FILE, "")})
    return TaskResult(
        ResultStatus.COMPLETE, outcome, evidence=evidence, is_audited=False, observed=Observed(files=digests)
    )


@dataclass(frozen=True, slots=True)
class _Note:
    """A file: its first heading, and its sentences verbatim with a unit vector each."""

    path: str
    heading: str
    sentences: Sequence[str]
    vectors: np.ndarray


async def _read_notes(place: Workplace, chunks: Sequence[Chunk]) -> list[_Note]:
    """Return the notes in the order of their paths."""
    files: dict[str, list[Chunk]] = {}
    for chunk in chunks:
        files.setdefault(path_of(chunk), []).append(chunk)
    sentences = {path: _sentences_of(files[path]) for path in sorted(files)}
    vectors = await place.store.knowledge.embed_texts([text for found in sentences.values() for text in found])
    notes, first = [], 0
    for path, found in sentences.items():
        heading = files[path][0].title.partition(" › ")[2]
        notes.append(_Note(path, heading, found, vectors[first : first + len(found)]))
        first += len(found)
    return notes


def _sentences_of(chunks: Sequence[Chunk]) -> list[str]:
    """Return the first sentences of a file's prose, verbatim except for line breaks."""
    found = [piece.strip() for chunk in chunks for text in _paragraphs(chunk.content) for piece in sentences_of(text)]
    return [one for one in found if _SHORTEST <= len(one) <= _LONGEST][:_SENTENCES]


def _paragraphs(text: str) -> list[str]:
    """Return the paragraphs of prose, without tables, code, headings and list markers."""
    paragraphs, is_code = [""], False
    for line in text.splitlines():
        is_code ^= line.lstrip().startswith("```")
        is_prose = not line.startswith(("    ", "\t", "|", "#", "```", "---", "![")) and "   " not in line.strip()
        if is_code or not line.strip() or not is_prose:
            paragraphs.append("")
        elif item := _LIST_ITEM.match(line):
            paragraphs.append(line[item.end() :])
        else:
            paragraphs[-1] = f"{paragraphs[-1]} {line.strip().removeprefix('> ')}".strip()
    return [one for one in paragraphs if one]


def _index_line(note: _Note) -> str:
    """Format an index entry: path, first heading, and the sentence closest to the mean of the first sentences."""
    named = f"- **{note.path}**" + (f" · {note.heading}" if note.heading else "")
    if not note.sentences:
        return named
    vectors = note.vectors[:_FIRST_SENTENCES]
    scores = vectors @ vectors.mean(axis=0)
    scores[0] += _FIRST_BONUS
    return f"{named}: “{note.sentences[int(np.argmax(scores))]}”"


def find_near_pairs(notes: Sequence[_Note]) -> list[tuple[str, str, str, str]]:
    """Sentences of different notes that say nearly the same with another number, or with a not: paths and sentences,
    nearest first. They may go together: it takes a reader to say. Pure."""
    places = [(note.path, text) for note in notes for text in note.sentences]
    if not places:
        return []
    vectors = np.concatenate([note.vectors for note in notes if len(note.sentences)])
    found = []
    for _, row, column in heapq.nsmallest(_MOST_COMPARED, _near_rows(vectors)):
        (path, text), (other_path, other) = places[row], places[column]
        if path != other_path and text != other and speak_alike("", text, "", other):
            found.append((path, text, other_path, other))
            if len(found) == _MOST_PAIRS:
                break
    return found


def _near_rows(vectors: np.ndarray) -> Iterator[tuple[float, int, int]]:
    """Yield the pairs of rows that are near: the negative cosine, and both rows. A few rows at a time: all at once
    would take ten gigabytes for 50,000 sentences."""
    for start in range(0, len(vectors), _BLOCK_ROWS):
        cosines = vectors[start : start + _BLOCK_ROWS] @ vectors.T
        rows, columns = np.nonzero(np.triu(cosines >= _NEAR_COSINE, start + 1))
        for row, column in zip(rows, columns, strict=True):
            yield -float(cosines[row, column]), start + int(row), int(column)


def conflict_lines(sure: Sequence[KnowledgeConflict], near: Sequence[tuple[str, str, str, str]]) -> list[str]:
    """What does not go together, with both sides word for word; what is only alike stands apart. Pure."""
    lines = ["## What does not go together", ""]
    lines += [line for one in sure for line in _both_sides(one)] or ["Nothing was found that surely does not."]
    if near:
        lines += ["", "## Perhaps not: nearly the same, with another number or a not", ""]
        for path, text, other_path, other in near:
            lines += [f"- {path}: “{text}”", f"  {other_path}: “{other}”"]
    return lines


def _both_sides(conflict: KnowledgeConflict) -> list[str]:
    older, newer = conflict.older, conflict.newer
    change = find_change(older.title, older.content, newer.title, newer.content)
    first, second = (change.old_sentence, change.new_sentence) if change else (older.content, newer.content)
    return [
        f"- {path_of(older)}: “{one_line(first, _LONGEST)}”",
        f"  {path_of(newer)}: “{one_line(second, _LONGEST)}”",
    ]
