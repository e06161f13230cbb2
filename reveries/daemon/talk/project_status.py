"""How projects stand, gathered from rows for the prompt and for a reply of code."""

import asyncio
import contextlib
from dataclasses import dataclass
from typing import Final

from reveries.daemon.talk.code_replies import CodeReply
from reveries.projects.facts_view import ProjectFacts
from reveries.projects.model import Project
from reveries.projects.proposal_store import open_proposals
from reveries.projects.status_questions import StatusKind, StatusQuestion, read_status_question
from reveries.projects.status_telling import Standing, StatusText, tell_nothing, tell_status
from reveries.projects.store import ProjectStore
from reveries.projects.task_days import today
from reveries.projects.timeline import build_timeline
from reveries.safe_text import one_line

_MOST_PROJECTS: Final = 8
_NAME_CHARS: Final = 120
_REPLY_CHARS: Final = 4000


@dataclass(frozen=True, slots=True)
class ProjectStatusText:
    """What is told of one project."""

    project: Project
    told: StatusText


class ProjectStatus:
    """Reads questions about projects and tells their rows. Notes that are not read within `most_seconds` are left out:
    their days are missing then, and nothing else."""

    def __init__(self, store: ProjectStore, *, most_seconds: float) -> None:
        self._store = store
        self._most_seconds = most_seconds

    async def read(self, words: str) -> StatusQuestion | None:
        """Return what `words` ask about the projects that are not archived."""
        return read_status_question(words, await self._projects(), today(self._store.now))

    async def answer(self, question: StatusQuestion) -> CodeReply | None:
        """Return the reply to a question; None if it is about nothing that there is."""
        statuses = await self.tell(question)
        if not statuses:
            nothing = tell_nothing(question, today(self._store.now))
            return CodeReply(nothing) if nothing else None
        lines = [
            f"{one_line(status.project.name, _NAME_CHARS)}: {' '.join(status.told.sentences)}" for status in statuses
        ]
        text = "\n".join(one_line(line, _REPLY_CHARS) for line in lines)
        return CodeReply(text, any(status.told.sources for status in statuses))

    async def tell(self, question: StatusQuestion) -> list[ProjectStatusText]:
        """Tell each project that is asked about; of all of them those of which there is something to say."""
        if question.project is not None:
            return [await self._tell(question.project, question.kind, question)]
        kind = StatusKind.NEXT if question.kind is StatusKind.STANDING else question.kind
        told = [await self._tell(project, kind, question) for project in (await self._projects())[:_MOST_PROJECTS]]
        return [status for status in told if status.told.says_something]

    async def gather(self, project_id: str) -> Standing:
        """Read where a project stands today."""
        # Imported late: a mind without projects does not need it.
        from reveries.projects.wake import read_state

        state = await read_state(self._store, project_id)
        day = today(self._store.now)
        facts = await self._read_facts(project_id)
        proposals = open_proposals(await self._store.proposals.of_project(project_id))
        timeline = build_timeline(facts or ProjectFacts({}, (), ()), state.tasks, day)
        return Standing(state, timeline, day, facts, len(proposals))

    async def _tell(self, project: Project, kind: StatusKind, question: StatusQuestion) -> ProjectStatusText:
        standing = await self.gather(project.id)
        return ProjectStatusText(project, tell_status(kind, standing, question.language, question.period))

    async def _read_facts(self, project_id: str) -> ProjectFacts | None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._most_seconds):
                return await self._store.read_facts(project_id)
        return None

    async def _projects(self) -> list[Project]:
        return [project for project in await self._store.projects() if project.state != "archived"]
