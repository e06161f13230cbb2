"""Messages about what the notes of a project say: facts, what does not go together, and tasks that they propose."""

from enum import StrEnum
from typing import Annotated, Literal

import msgspec

from reveries.protocol.message import Answer, Request
from reveries.protocol.registry import request

ProjectName = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]


class ProposalEntry(msgspec.Struct, frozen=True):
    """A task that a line of a note proposes; it begins only if the owner accepts it."""

    proposal_id: str
    title: str
    due: str
    """As that of a task."""
    document: str
    line: int
    text: str
    """The line that it was read from."""
    is_tainted: bool


class ValueLine(msgspec.Struct, frozen=True):
    """A line of a note, a document or an answer, with the value that it says."""

    text: str
    """The line, verbatim."""
    document: str
    line: int
    """From 1."""
    value: str
    """Of a date: a day, a day with a time (2026-12-08T14:00), or FROM/TO; of an amount or a measure: its number. Empty
    for a name, a place, or a line as a whole."""
    unit: str | None


class FactEntry(ValueLine, frozen=True):
    """A value in a line. `kind`: date, amount, measure, or open: something that is left open."""

    kind: str
    status: str = ""
    """Of a date, seen from today: ahead, past, or cancelled."""
    is_tainted: bool = False


class Facts(Answer, frozen=True):
    """By document and line; with `ahead`, by day."""

    facts: list[FactEntry]


class AnswerStanding(StrEnum):
    """Whether an answer holds, or was replaced by what was written later, or called off."""

    HOLDS = "holds"
    REPLACED = "replaced"
    CANCELLED = "cancelled"


class NoteAnswer(ValueLine, frozen=True):
    """A line that answers a question."""

    written_on: str
    """A day; empty where nothing tells."""
    standing: AnswerStanding
    is_owner: bool
    """Whether the owner answered it: that stands above any note."""
    is_tainted: bool


class FactConflictEntry(msgspec.Struct, frozen=True):
    """One subject with two values, of which at most one holds. `found_by`: rule, or model with its name."""

    subject: str
    a: ValueLine
    b: ValueLine
    conflict_id: str = ""
    """The same as long as both lines are unchanged."""
    found_by: Literal["rule", "model"] = "rule"
    model: str = ""
    decision: Literal["", "dismissed", "kept_a", "kept_b"] = ""
    """What the owner decided of it."""


class FactConflicts(Answer, frozen=True):
    """The surest first. `decided`: how many were decided, and are not shown while their lines are unchanged."""

    conflicts: list[FactConflictEntry]
    decided: int = 0
    message: str = ""


class Due(StrEnum):
    OVERDUE = "overdue"
    DUE = "due"
    """Within a week."""
    AHEAD = "ahead"


class TimelineEntry(msgspec.Struct, frozen=True):
    """A day on which something happens, or by which it has to be done."""

    due: Due
    value: str
    """A day, a day with a time, or FROM/TO."""
    text: str
    document: str
    line: int
    """0: it is a task, not a line of a document."""


class TableSum(msgspec.Struct, frozen=True):
    """What the rows of a table come to in one currency."""

    subject: str
    value: float
    unit: str
    count: int
    document: str
    line: int
    """The first line that is added."""


class NotesOverview(msgspec.Struct, frozen=True):
    """What the notes of a project come to today; read by rules, not by a model."""

    timeline: tuple[TimelineEntry, ...] = ()
    sums: tuple[TableSum, ...] = ()
    open_ends: int = 0
    conflicts: tuple[FactConflictEntry, ...] = ()
    proposals: int = 0
    """Tasks that the notes propose, and that wait for the owner."""
    changed: tuple[str, ...] = ()
    """Values that changed in the last seven days, newest first."""
    in_doubt: tuple[str, ...] = ()
    """Drafts that rest on something that changed."""


class Proposals(Answer, frozen=True):
    """The proposals that wait for the owner: those with a day first. `task_ids`: what accepted ones became."""

    project: str
    proposals: list[ProposalEntry]
    message: str = ""
    task_ids: tuple[str, ...] = ()


@request(answer=Facts, safe=True, large=True)
class AskFacts(Request, frozen=True):
    """What has a value in the notes, documents and answers of a project, read by rules and not by a model. `kind`
    empty: all kinds. `is_ahead`: only days from today on. Answered by `Facts`."""

    project: ProjectName
    kind: Literal["", "date", "amount", "measure", "open"] = ""
    is_ahead: bool = False


@request(answer=FactConflicts, safe=True, large=True)
class AskFactConflicts(Request, frozen=True):
    """What does not go together in the notes, documents and answers of a project. `is_decided`: what the owner decided
    of it instead. Answered by `FactConflicts`."""

    project: ProjectName
    is_decided: bool = False


@request(answer=FactConflicts)
class DecideFactConflict(Request, frozen=True):
    """Say of two lines that do not go together that they do (`dismiss`), or which one holds: they are not shown again
    while both are unchanged; or take that back (`reopen`). `conflict`: a unique prefix of its id. Answered by
    `FactConflicts`, those left."""

    project: ProjectName
    conflict: Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
    decision: Literal["dismiss", "keep_a", "keep_b", "reopen"]
    reason: Annotated[str, msgspec.Meta(max_length=1000)] = ""


class DraftEntry(msgspec.Struct, frozen=True):
    """A text that was made on request; never progress. `made_by`: rules, or a model."""

    draft_id: str
    wish: str
    content: str
    """Markdown."""
    made_by: Literal["rules", "model"]
    doubts: tuple[str, ...]
    """Claims, days and numbers in it that no note has."""
    flagged_because: str
    """Why it may no longer hold: a note that it was made from changed."""
    created_at: float
    is_tainted: bool


class Drafts(Answer, frozen=True):
    """Newest first."""

    project: str
    drafts: list[DraftEntry]
    message: str = ""


DraftName = Annotated[str, msgspec.Meta(min_length=1, max_length=300)]


@request(answer=Drafts, large=True)
class WriteDraft(Request, frozen=True):
    """Make a draft from the notes of a project: a capable model words it, with any other it is put together by rules.
    One with the same wish takes the place of the earlier one. Answered by `Drafts`, that one."""

    project: ProjectName
    wish: Annotated[str, msgspec.Meta(min_length=1, max_length=2000)]


@request(answer=Drafts, safe=True, large=True)
class AskDrafts(Request, frozen=True):
    """The drafts of a project. `draft`: a unique prefix of the id or the wish of one; empty: all. Answered by
    `Drafts`."""

    project: ProjectName
    draft: Annotated[str, msgspec.Meta(max_length=300)] = ""


@request(answer=Drafts)
class DropDraft(Request, frozen=True):
    """Delete a draft. Answered by `Drafts`, those that are left."""

    project: ProjectName
    draft: DraftName


@request(answer=Proposals, safe=True, large=True)
class AskProposals(Request, frozen=True):
    """Tasks that the notes of a project propose. Answered by `Proposals`."""

    project: ProjectName


ProposalName = Annotated[str, msgspec.Meta(min_length=1, max_length=300)]


@request(answer=Proposals)
class DecideProposals(Request, frozen=True):
    """Accept proposals, which become tasks, or dismiss them: then they do not come back while their lines are
    unchanged. `proposals`: a unique prefix of the id or title of each; empty: all. `title` and `due` replace those of
    a single accepted one. Answered by `Proposals`, those that still wait."""

    project: ProjectName
    decision: Literal["accept", "dismiss"]
    proposals: Annotated[tuple[ProposalName, ...], msgspec.Meta(max_length=500)] = ()
    title: Annotated[str, msgspec.Meta(max_length=300)] = ""
    due: Annotated[str, msgspec.Meta(max_length=16, pattern=r"^(\d{4}-\d\d-\d\d(T\d\d:\d\d)?)?$")] = ""
