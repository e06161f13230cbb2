"""Adds notes on a project to the prompt when the owner mentions it: its state, what the words ask for (in detail, why,
what is uncertain), and the knowledge that fits them. How projects stand it says itself where a small model would have
to: from rows.

A project is mentioned by its name. Upper and lower case only count as equal in questions, because many names are common
words.
"""

import asyncio
import contextlib
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import structlog

from reveries.daemon.talk.code_replies import CodeReply
from reveries.daemon.talk.document_notes import MOST_PLACES, nothing_note, place_notes
from reveries.daemon.talk.personal_questions import QUESTION_MARKS
from reveries.daemon.talk.project_status import ProjectStatus
from reveries.daemon.talk.prompt_memories import PromptMemory
from reveries.errors import ReveriesError, StorageLostError
from reveries.knowledge.facts.questions import is_question
from reveries.knowledge.model import Chunk
from reveries.knowledge.project_knowledge import ProjectKnowledge
from reveries.llm.tier import Tier
from reveries.projects.model import AgentState, Project
from reveries.projects.presentation import (
    Presentation,
    choose_presentation,
    find_task_asked_about,
    tell_in_detail,
    tell_what_is_uncertain,
    tell_why,
)
from reveries.projects.status_questions import StatusQuestion
from reveries.projects.status_telling import StatusText, tell_briefly, tell_status
from reveries.projects.status_words import ENGLISH
from reveries.projects.store import ProjectStore
from reveries.safe_text import format_record

log = structlog.get_logger("conversation")

_SHORTEST_NAME: Final = 3
_MOST_CHUNKS: Final = 6
_CHUNK_CHARS: Final = 240
_WORD_CHARS: Final = 120
_CHARS_PER_TOKEN: Final = 4
_LEAST_STATE_CHARS: Final = 160
"""The state of a project in a small prompt: its goal and what is next."""
_SECONDS: Final = 3.0
"""Time limit for all that is looked up: a large project's index is reloaded after a start."""


class ProjectTalk:
    """Builds notes on the project that the owner's words mention."""

    def __init__(
        self,
        store: ProjectStore,
        knowledge: ProjectKnowledge,
        *,
        tier: Callable[[], Tier] = lambda: Tier.SMALL,
        most_seconds: float = _SECONDS,
    ) -> None:
        """`tier`: of the model that talks. What is not looked up within `most_seconds` is left out."""
        self._tier = tier
        self._store = store
        self._knowledge = knowledge
        self._most_seconds = most_seconds
        self._status = ProjectStatus(store, most_seconds=most_seconds)

    async def answer_status(self, words: str) -> CodeReply | None:
        """Return the reply to a question how projects stand, what is next or what is due; None if `words` ask none. An
        error fails no reply."""
        try:
            question = await self._status.read(words)
            return await self._status.answer(question) if question is not None else None
        except StorageLostError:
            raise
        except ReveriesError:
            log.warning("project_status.failed", exc_info=True)
            return None

    async def notes_for(self, words: str, room_tokens: int) -> list[PromptMemory]:
        """Return the project's state, or what the words ask of it, then its best matching knowledge, within
        `room_tokens`; empty without a project. An error fails no reply (R-94)."""
        room_chars = room_tokens * _CHARS_PER_TOKEN
        try:
            question = await self._status.read(words)
            if question is not None and question.project is None:
                return fit_notes(await self._status_notes(question, room_chars), room_chars)
            project = question.project if question is not None else find_named(words, await self._store.projects())
            return await self._notes_on(project, question, words, room_chars) if project is not None else []
        except StorageLostError:
            raise
        except ReveriesError:
            log.warning("project_notes.failed", exc_info=True)
            return []

    async def _status_notes(self, question: StatusQuestion, room_chars: int) -> list[PromptMemory]:
        """Return what is asked of projects, in English: a capable model says it in the owner's language."""
        asked = replace(question, language=ENGLISH)
        return [
            note
            for status in await self._status.tell(asked)
            for note in status_note(status.project, status.told, room_chars)
        ]

    async def _notes_on(
        self, project: Project, question: StatusQuestion | None, words: str, room_chars: int
    ) -> list[PromptMemory]:
        standing = await self._status.gather(project.id)
        state = standing.state
        if question is not None:
            notes = status_note(project, tell_status(question.kind, standing, ENGLISH, question.period), room_chars)
        else:
            state_chars = min(room_chars, max(room_chars // 2, _LEAST_STATE_CHARS))
            notes = status_note(project, tell_briefly(standing), state_chars)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._most_seconds):
                # Above what else is known: what a document says is asked for more often than how a project stands.
                notes = [*await self._document_notes(project, words, room_chars), *notes]
                notes += await self._asked_notes(state, words, room_chars // 2)
                notes += await self._chunk_notes(project, words)
        return fit_notes(notes, room_chars)

    async def _asked_notes(self, state: AgentState, words: str, room_chars: int) -> list[PromptMemory]:
        """Return the note that the owner's words ask for beside the state; none where that is enough."""
        from reveries.projects.coherence import describe_coherence
        from reveries.projects.conflicts import list_doubts
        from reveries.projects.result_audit import read_coherence

        page, project_id = state.orientation, state.project.id
        match choose_presentation(words):
            case Presentation.SUMMARY:
                return []
            case Presentation.DETAIL:
                told, tasks = tell_in_detail(state)
                sources = [one.foreign_sources for one in tasks]
            case Presentation.TRACE:
                told, sources = await self._trace(state, words)
            case Presentation.UNCERTAIN:
                conflicts = await self._knowledge.contradictions(project_id)
                doubts = list_doubts(page.content, state.tasks, conflicts)
                told = tell_what_is_uncertain(doubts, describe_coherence(await read_coherence(self._store, state)))
                sources = [side.foreign_sources for one in conflicts for side in (one.older, one.newer)]
                # Criteria, decisions and areas are quoted from the page.
                sources += [page.foreign_sources, *(one.foreign_sources for one in state.tasks)]
        return sentences_note(state.project, told, room_chars, is_tainted=any(sources))

    async def _trace(self, state: AgentState, words: str) -> tuple[list[str], list[frozenset[str]]]:
        """Tell how the task that is asked about came to its outcome; also return the sources of what is told."""
        task = find_task_asked_about(words, state.tasks)
        if task is None:
            return tell_why(None, {}), []
        bases = await self._knowledge.named(state.project.id, task.rests_on)
        told = tell_why(task, {one.id: one for one in bases})
        holds = not task.flagged_because and all(one.stands for one in bases)
        # The reason why something holds no more may quote any task that leads to it.
        tasks = [task] if holds else state.tasks
        return told, [one.foreign_sources for one in (*tasks, *bases)]

    async def _document_notes(self, project: Project, words: str, room_chars: int) -> list[PromptMemory]:
        """Return the places in the project's documents that fit the words, or that a question finds nothing there."""
        documents = [item.name for item in await self._knowledge.documents(project.id) if item.is_read_by_page]
        if not documents:
            return []
        found = await self._knowledge.places.find(project.id, words, MOST_PLACES)
        related = [item for item in found if item.is_related]
        if related:
            places = await self._knowledge.places.offer(related)
            share = room_chars * 3 // 4
            return place_notes(project, places, share, self._tier())
        return [nothing_note(project, documents)] if is_question(words) else []

    async def _chunk_notes(self, project: Project, words: str) -> list[PromptMemory]:
        found = await self._knowledge.search.hybrid(project.id, words, _MOST_CHUNKS, is_counted=False)
        chunks = [one.chunk for one in found if one.chunk.stands]
        return [chunk_note(project, chunk, number) for number, chunk in enumerate(chunks, 1)]


def find_named(words: str, projects: Sequence[Project]) -> Project | None:
    """Return the project that `words` name, the longest name first. Pure."""
    is_asked = not QUESTION_MARKS.isdisjoint(words) or "project" in words.casefold()
    for one in sorted(projects, key=lambda one: -len(one.name)):
        name = re.escape(one.name)
        flags = re.IGNORECASE if is_asked else re.NOFLAG
        if len(one.name) >= _SHORTEST_NAME and re.search(rf"(?<!\w){name}(?!\w)", words, flags):
            return one
    return None


def status_note(project: Project, told: StatusText, room_chars: int) -> list[PromptMemory]:
    """Build the note on how a project stands. Addressed to the person: a small model repeats its wording. Pure."""
    head = f"- Your project {format_record(project.name, _WORD_CHARS)}:"
    return _note_of(project, head, told.sentences, room_chars, is_tainted=bool(told.sources))


def sentences_note(project: Project, told: Sequence[str], room_chars: int, *, is_tainted: bool) -> list[PromptMemory]:
    """Build one note of as many of the sentences as fit; none if not even the first does. Pure."""
    head = f"- Of your project {format_record(project.name, _WORD_CHARS)}:"
    return _note_of(project, head, told, room_chars, is_tainted=is_tainted)


def _note_of(
    project: Project, head: str, told: Sequence[str], room_chars: int, *, is_tainted: bool
) -> list[PromptMemory]:
    line, length = head, len(head)
    for sentence in told:
        if len(line) + 1 + len(sentence) > room_chars:
            break
        line += f" {sentence}"
    if len(line) == length:
        return []
    return [PromptMemory(project.id, None, line, project=project.name, is_tainted=is_tainted)]


def chunk_note(project: Project, chunk: Chunk, number: int) -> PromptMemory:
    """Build the note on a chunk, with a number to cite it by. Pure."""
    whose = "somebody else wrote: " if chunk.foreign_sources else ""
    line = f"- ({number}) {whose}{format_record(chunk.content, _CHUNK_CHARS)}"
    is_tainted = bool(chunk.foreign_sources)
    return PromptMemory(chunk.id, None, line, said_at=chunk.created_at, project=project.name, is_tainted=is_tainted)


def fit_notes(notes: Sequence[PromptMemory], room_chars: int) -> list[PromptMemory]:
    """Return the first notes that fit together. Pure."""
    fitting: list[PromptMemory] = []
    for one in notes:
        if len(one.line) > room_chars:
            break
        fitting.append(one)
        room_chars -= len(one.line)
    return fitting
