"""Recipes for tasks with a small model: code walks the steps, the model fills one field at a time (DESIGN, section 8).

A line counts as an answer only if the model says so *and* it is similar to the task or shares the task's rare words.
What fails becomes a question to the owner, never another round.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import msgspec
import numpy as np

from reveries.index.terms import terms_of
from reveries.knowledge.model import Chunk, ChunkSource, ChunkType, Confidence, NewChunk
from reveries.llm.base import Role
from reveries.memory.sleep.grounding import keep_grounded
from reveries.memory.text.extracts import sentences_of
from reveries.projects.answers import is_no
from reveries.projects.drafts import DRAFT_TAG, keep_draft
from reveries.projects.evidence import Evidence, QuotedChunk
from reveries.projects.folder_recipe import is_overview, write_overview
from reveries.projects.model import OwnerQuestion, QuestionKind, QuestionStatus, TaskKind, WorkTask
from reveries.projects.store import NewQuestion
from reveries.projects.task_execution import ResultStatus, TaskResult, Workplace
from reveries.projects.yes_answers import YesTo, is_yes, what_is_beyond_yes
from reveries.prompts import prompt
from reveries.safe_text import one_line

LEAST_COSINE: Final = 0.40
"""A line that a model says yes of counts from this nearness to the task on, or with two words in common that the goal,
which every task repeats, does not have."""
_FOUND: Final = 6
_LINES: Final = 6
_NOTES: Final = 4
_LONGEST_LINE: Final = 400
_SHORTEST_LINE: Final = 12
_ASKED_LINES: Final = 3
_YES_NO_TOKENS: Final = 16
_DRAFT_TOKENS: Final = 320
_DRAFT_WORDS: Final = 160
_SHORTEST_DRAFT_WORDS: Final = 12
_SIDES_TOKENS: Final = 60
_ORIGINALS: Final = (ChunkType.RESOURCE, ChunkType.USER_INPUT)
"""Lines are taken from these types only: learnings of earlier recipes repeat them."""


@dataclass(frozen=True, slots=True)
class NoteLine:
    """A sentence of a chunk, with its similarity to the question."""

    text: str
    chunk: Chunk
    cosine: float


class HoldsAnswer(msgspec.Struct, frozen=True):
    answer: Literal["yes", "no"]


class ComparedSides(msgspec.Struct, frozen=True):
    first: str
    second: str


async def follow_recipe(place: Workplace, task: WorkTask) -> TaskResult:
    """Make one attempt by the recipe of the task's kind."""
    if is_overview(task):
        return await write_overview(place, task)
    match task.kind:
        case TaskKind.ASK:
            return _ask_owner(place, task)
        case TaskKind.COMPARE:
            return await _compare(place, task)
        case TaskKind.WRITE:
            return await _write(place, task)
        case TaskKind.READ:
            return await _read(place, task)
        case TaskKind.FIND_OUT | TaskKind.OTHER:
            return await _find_out(place, task)


# --- ask --------------------------------------------------------------------------------------------------------------


def _ask_owner(place: Workplace, task: WorkTask) -> TaskResult:
    if answered := _answered(place, task):
        return _answer_result(answered)
    title = task.title.rstrip(".")
    asked = title if title.endswith("?") else f"“{title}” needs your input. What should I write down?"
    return _blocked(task, asked, task.description)


def _answered(place: Workplace, task: WorkTask) -> OwnerQuestion | None:
    """Return the latest answer to this task's own questions."""
    own = [one for one in place.state.questions if one.task_id == task.id and one.status is QuestionStatus.ANSWERED]
    if not own:
        return None
    place.seen_sources.update(own[-1].foreign_sources)
    return own[-1]


def _answer_result(answered: OwnerQuestion) -> TaskResult:
    """Use the answer as the outcome; it is stored as a chunk already. Only an answer of the owner needs no audit."""
    return TaskResult(ResultStatus.COMPLETE, _say_answer(answered), is_audited=not answered.answered_by)


def _say_answer(answered: OwnerQuestion) -> str:
    return f"{answered.answered_by or 'You'} said: “{answered.answer}”"


async def _weigh_answer(place: Workplace, task: WorkTask, answered: OwnerQuestion) -> TaskResult:
    """Use the owner's answer as outcome if it answers the task; "I don't know" ends the task without one."""
    text = prompt("holds_answer", task=_asked_question(task), note=one_line(answered.answer))
    weighed = await place.model.ask("holds answer", text, HoldsAnswer, tokens=_YES_NO_TOKENS, role=Role.LEARNING)
    if weighed is not None and weighed.answer == "no":
        return TaskResult(ResultStatus.GIVEN_UP, f"It is not known. {_say_answer(answered)}")
    return _answer_result(answered)


def _blocked(task: WorkTask, question: str, context: str, kind: QuestionKind = QuestionKind.QUESTION) -> TaskResult:
    asked = NewQuestion(question, kind, context=context, blocks=(task.id,), task_id=task.id)
    return TaskResult(ResultStatus.BLOCKED, question=asked)


# --- find out, read, compare ------------------------------------------------------------------------------------------


async def _find_out(place: Workplace, task: WorkTask) -> TaskResult:
    answered = _answered(place, task)
    question = _asked_question(task)
    lines = await _nearest_lines(place, task, question, since=answered)
    chosen = await _choose_line(place, question, lines)
    if chosen is not None:
        return _quote_result(task, [chosen])
    if answered is not None:
        return await _weigh_answer(place, task, answered)
    nearest = "\n".join(f"- {one.chunk.title or 'noted'}: “{one.text}”" for one in lines[:2])
    context = f"The closest that is known:\n{nearest}" if nearest else "Nothing that is known is near it."
    return _blocked(task, f"I found no clear answer to “{task.title}”. What do you know about it?", context)


async def _read(place: Workplace, task: WorkTask) -> TaskResult:
    answered = _answered(place, task)
    question = _asked_question(task)
    near = await _nearest_lines(place, task, question, since=answered)
    if lines := [one for one in near if _is_near(place, one, question)]:
        return _quote_result(task, lines[:_NOTES])
    if answered is not None:
        return await _weigh_answer(place, task, answered)
    return _blocked(task, f"There is nothing to read yet for “{task.title}”. What should I know?", task.description)


async def _compare(place: Workplace, task: WorkTask) -> TaskResult:
    sides = await _sides(place, task)
    chosen = [
        line
        for side in sides
        if (line := await _choose_line(place, f"{side}: {task.title}", await _nearest_lines(place, task, side)))
        is not None
    ]
    if len(sides) == len(chosen) == 2 and chosen[0].text != chosen[1].text:
        return _quote_result(task, chosen)
    return await _find_out(place, task)


async def _sides(place: Workplace, task: WorkTask) -> tuple[str, ...]:
    """Return the two things to compare, in words of the task; empty if the model named others."""
    text = prompt("compare_sides", title=task.title, description=task.description)
    answer = await place.model.ask("sides", text, ComparedSides, tokens=_SIDES_TOKENS)
    own = set(terms_of(f"{task.title} {task.description}"))
    sides = (answer.first.strip(), answer.second.strip()) if answer else ()
    return sides if len(set(sides)) == 2 and all(own & set(terms_of(side)) for side in sides) else ()


def _asked_question(task: WorkTask) -> str:
    return f"{task.title}. {task.description}".strip()


async def _nearest_lines(
    place: Workplace, task: WorkTask, question: str, *, since: OwnerQuestion | None = None
) -> list[NoteLine]:
    """Return the sentences of the best matching chunks, most similar first. `since`: only of material that was added
    after this question was asked; everything else was searched before."""
    found = await place.search.find(task, question, _FOUND, _ORIGINALS)
    if since is not None:
        found = [one for one in found if one.type is ChunkType.RESOURCE and one.created_at > since.asked_at]
    asked = set(terms_of(question))
    pieces = [
        (text, chunk)
        for chunk in found
        if DRAFT_TAG not in chunk.tags
        for text in _lines_of(chunk)
        if set(terms_of(text)) - asked  # A line that only repeats the question answers nothing.
    ]
    if not pieces:
        return []
    [cue, *vectors] = await place.store.knowledge.embed_texts([question, *(text for text, _ in pieces)])
    lines = [
        NoteLine(text, chunk, float(np.dot(cue, vector))) for (text, chunk), vector in zip(pieces, vectors, strict=True)
    ]
    return sorted({line.text: line for line in lines}.values(), key=lambda line: -line.cosine)[:_LINES]


def _lines_of(chunk: Chunk) -> list[str]:
    """Return a chunk's sentences verbatim; for an answered question only those of the answer."""
    body = chunk.content.partition("\nA: ")[2] if chunk.type is ChunkType.USER_INPUT else chunk.content
    pieces = [piece.strip() for line in body.splitlines() for piece in sentences_of(line)]
    return [piece for piece in pieces if _SHORTEST_LINE <= len(piece) <= _LONGEST_LINE and not piece.startswith("#")]


async def _choose_line(place: Workplace, question: str, lines: Sequence[NoteLine]) -> NoteLine | None:
    """The nearest line of which the model says that it answers the question, and code that it is about it. One line at
    a time: asked to choose among several, the default model says of most questions that none does."""
    for line in lines[:_ASKED_LINES]:
        if not _is_near(place, line, question):
            continue
        text = prompt("holds_answer", task=question, note=one_line(line.text))
        answer = await place.model.ask("holds answer", text, HoldsAnswer, tokens=_YES_NO_TOKENS, role=Role.READING)
        if answer is not None and answer.answer == "yes":
            return line
    return None


def _is_near(place: Workplace, line: NoteLine, question: str) -> bool:
    goal = place.state.goal.text if place.state.goal else ""
    shared = set(terms_of(line.text)) & set(terms_of(question)) - set(terms_of(goal))
    return line.cosine >= LEAST_COSINE or len(shared) >= 2


def _quote_result(task: WorkTask, lines: Sequence[NoteLine]) -> TaskResult:
    """Use the lines, word for word, as outcome, learnings and evidence."""
    told = [f"“{line.text}”" + (f" ({line.chunk.title})" if line.chunk.title else "") for line in lines]
    learnings = tuple(
        NewChunk(
            content=f"{task.title}: “{line.text}”",
            type=ChunkType.RESEARCH,
            confidence=Confidence.VERIFIED,
            source=ChunkSource.RESEARCH,
            tags=(task.skill_area.lower(),) if task.skill_area else (),
            rests_on=(line.chunk.id,),
            task_id=task.id,
        )
        for line in lines
    )
    ids = tuple(dict.fromkeys(line.chunk.id for line in lines))
    quotes = tuple(QuotedChunk(line.chunk.id, line.text) for line in lines)
    return TaskResult(ResultStatus.COMPLETE, " ".join(told), learnings, ids, evidence=Evidence(quotes, ids))


# --- write ------------------------------------------------------------------------------------------------------------


async def _write(place: Workplace, task: WorkTask) -> TaskResult:
    answered = _answered(place, task)
    if answered is not None and answered.kind is QuestionKind.APPROVAL and is_yes(answered.answer, YesTo.DRAFT):
        return keep_draft(task, answered)
    if answered is not None and answered.kind is QuestionKind.APPROVAL and is_no(answered.answer):
        return TaskResult(ResultStatus.GIVEN_UP, f"The draft is not kept. {_say_answer(answered)}")
    wish = f"\nChange it so: {what_is_beyond_yes(answered.answer, YesTo.DRAFT)}" if answered is not None else ""
    lines = await _nearest_lines(place, task, _asked_question(task))
    if not lines:
        return _blocked(task, f"I know nothing yet for “{task.title}”. What should it contain?", task.description)
    facts = "\n".join(f"- {line.text}" for line in lines)
    text = prompt(
        "draft", owner=place.model.owner, title=task.title, description=f"{task.description}{wish}", facts=facts,
        words=str(_DRAFT_WORDS),
    )  # fmt: skip
    written = await place.model.write("draft", text, tokens=_DRAFT_TOKENS)
    # A name or a number that stands in no fact is an invention: its sentence is left out.
    draft = keep_grounded(written, [facts, task.title, task.description, wish])
    if len(draft.split()) < _SHORTEST_DRAFT_WORDS and answered is not None:
        return TaskResult(ResultStatus.GIVEN_UP, f"It could not be written. {_say_answer(answered)}")
    if len(draft.split()) < _SHORTEST_DRAFT_WORDS:
        return _blocked(task, f"I could not write “{task.title}” from what is known. What should it contain?", facts)
    asked = f"Is this draft of “{task.title}” good? Say yes or no, or what to change."
    return _blocked(task, asked, draft, QuestionKind.APPROVAL)
