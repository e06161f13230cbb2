"""Reads documents in the daemon when `attention` chooses it: in the lane without a local model, a while at a time."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import structlog

from reveries.clock import Deadline
from reveries.daemon.mind_parts import MindParts
from reveries.daemon.occupations.activity import Activity
from reveries.daemon.occupations.attention import Lane, Occupation, OccupationCandidate
from reveries.errors import DiskFullError, StorageLostError
from reveries.knowledge.originals import BACKUP_FOLDER, bring_back_originals
from reveries.knowledge.reading.layout import DocumentReader
from reveries.notifier import Notifier
from reveries.projects.document_library import DocumentLibrary
from reveries.projects.document_reading import DocumentReadingSteps, ReadingPace
from reveries.projects.store import ProjectStore

log = structlog.get_logger("documents")

_CANDIDATE_ID: Final = "documents"
_RUN_SECONDS: Final = 120.0
"""After that it is chosen again who runs next."""
_FAILED_SECONDS: Final = 60.0
"""After an error of ours it waits so long, while the other occupations go on."""


class DocumentWorker:
    """Reads what was added, makes it findable by meaning, then reads the pictures of pages without words."""

    def __init__(
        self,
        parts: MindParts,
        *,
        activity: Activity,
        store: ProjectStore,
        open_reader: Callable[[], Awaitable[DocumentReader]],
    ) -> None:
        """`open_reader` is called once, before the first document is read."""
        self._parts = parts
        self._activity = activity
        self._store = store
        self._open_reader = open_reader
        self._reader: DocumentReader | None = None
        backups = parts.home.backups / BACKUP_FOLDER
        self.library = DocumentLibrary(store, parts.database, parts.home.originals, backups)
        self._steps: DocumentReadingSteps | None = None
        self._may_have_work = True
        self._waits = Deadline()
        self.changed: Notifier[[]] = Notifier()
        """There may be something to read."""
        self.progressed: Notifier[[]] = Notifier()
        """Some more is read, or failed."""

    @property
    def pace(self) -> ReadingPace:
        """How fast pages were read lately."""
        return self._steps.pace if self._steps is not None else ReadingPace()

    async def open_reader(self) -> DocumentReader:
        """Return what reads files of others."""
        if self._reader is None:
            self._reader = await self._open_reader()
        return self._reader

    def consider(self) -> None:
        """Look again for something to read."""
        self._may_have_work, self._waits = True, Deadline()
        self.changed.notify()

    async def candidates(self) -> Sequence[OccupationCandidate]:
        """Return reading as something the owner asked for, if there may be something to read."""
        if not self._may_have_work or self._waits.seconds_left(self._parts.clock) > 0.0:
            return []
        return [OccupationCandidate(_CANDIDATE_ID, Occupation.WORK, Lane.HOSTED, True, None, 0.0, was_asked_for=True)]

    async def run(self, candidate_id: str) -> None:
        """Read for a while. What goes wrong with a document is noted there; an error of ours ends nothing else."""
        until = Deadline.after(_RUN_SECONDS, self._parts.clock)
        self._may_have_work = False  # Before it looks: what is added meanwhile sets it again.
        try:
            steps = await self._open_steps()
            has_read = await steps.read_some(until, self._is_interrupted)
            has_embedded = await steps.embed_some(until, self._is_interrupted)
            if has_read or has_embedded or await steps.recognise_next():
                self._may_have_work = True
        except StorageLostError:
            raise
        except DiskFullError as error:
            log.warning("documents.waiting", why=error.message)
            self._may_have_work = True
            self._waits = Deadline.after(_FAILED_SECONDS, self._parts.clock)
        except Exception:  # A named boundary: project work shares this loop, and goes on.
            log.exception("documents.failed")
            self._may_have_work = True
            self._waits = Deadline.after(_FAILED_SECONDS, self._parts.clock)
            if self._steps is not None:
                await self._steps.note_own_fault()
        finally:
            self.progressed.notify()

    def _is_interrupted(self) -> bool:
        self.progressed.notify()
        return self._activity.is_talking

    async def _open_steps(self) -> DocumentReadingSteps:
        if self._steps is None:
            parts = self._parts
            reader = await self.open_reader()
            await self._bring_back_files()
            steps = DocumentReadingSteps(
                self._store, self.library, parts.database, reader, parts.clock, parts.memory.new_id
            )
            await steps.reset_broken_off()
            self._steps = steps
            for project in await self._store.projects():
                if project.state != "archived":
                    await self._store.knowledge.places.load(project.id)
        return self._steps

    async def _bring_back_files(self) -> None:
        """After a restore of a backup, the files of its documents are in the home again."""
        home = self._parts.home
        rows = await self._parts.database.rows("documents.originals")
        needed = {str(row["original"]) for row in rows}
        try:
            await asyncio.to_thread(bring_back_originals, needed, home.originals, home.backups / BACKUP_FOLDER)
        except OSError as error:
            log.warning("documents.not_brought_back", why=error.strerror)
