"""Messages about past conversations that were imported: which there are, and the owner's corrections of them."""

from typing import Annotated, Literal

import msgspec

from reveries.protocol.message import Answer, Progress, Request
from reveries.protocol.registry import request

ImportSource = Annotated[str, msgspec.Meta(min_length=1, max_length=500)]
SpeakerName = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]


class ImportSpeaker(msgspec.Struct, frozen=True):
    """One speaker of an import. `author`: whose words theirs count as."""

    name: str
    author: Literal["owner", "mind", "other"]
    turns: int


class ImportedSource(msgspec.Struct, frozen=True):
    """One import, named after its file. Times in unix seconds."""

    source: str
    first_at: float
    last_at: float
    speakers: list[ImportSpeaker]


class Imports(Answer, frozen=True):
    """The imports, by name."""

    imports: list[ImportedSource]


class ImportedProject(msgspec.Struct, frozen=True):
    """A project that was imported. `vision`: what its page says it is for; `left_out`: what was not stored, each with
    how many."""

    name: str
    vision: str
    tasks: int
    questions: int
    chunks: int
    relations: int
    log_lines: int
    left_out: dict[str, int]


class ProjectsImported(Answer, frozen=True):
    """The projects that were imported, paused and without a goal."""

    projects: list[ImportedProject]


class AnewCount(msgspec.Struct, frozen=True):
    """How many entries of one store go with the turns, and are made again from them, as far as sleep makes them."""

    store: str
    count: int


class ImportCorrected(Answer, frozen=True):
    """What a correction changed, or would change. `run_id`: its entry in the log of sleep; empty if nothing changed."""

    source: str
    is_dry_run: bool
    is_taken_back: bool
    owners: list[str]
    run_id: str
    turns: int
    now_yours: int
    no_longer_yours: int
    made_anew: list[AnewCount]
    episodes: int
    """How many episodes light sleep made of the turns."""


@request(answer=Imports, safe=True)
class AskImports(Request, frozen=True):
    """Answered by `Imports`."""


@request(answer=ImportCorrected, before=(Progress,))
class CorrectImport(Request, frozen=True):
    """Make the speakers named in `owners`, and no others, the owner in an import; or take the import back, so that it
    can be imported again. Its turns are stored anew, and what was made of them is made again. Answered by `Progress`
    and `ImportCorrected`."""

    source: ImportSource
    owners: list[SpeakerName] = msgspec.field(default_factory=list)
    take_back: bool = False
    dry_run: bool = True


@request(answer=ProjectsImported)
class ImportVisioneer(Request, frozen=True):
    """Import the projects of a database of Visioneer; `path` is absolute. Answered by `ProjectsImported`."""

    path: Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]
