"""MCP tools for what has a value in the notes of a project. Each names its project, and each answer repeats it."""

import asyncio
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Literal

import msgspec

from reveries.knowledge.facts.model import DayStatus, Fact
from reveries.projects.conflict_decisions import pair_id
from reveries.projects.knowledge_tools import SERVER
from reveries.projects.note_answers import answer_from_notes
from reveries.projects.proposal_store import open_proposals
from reveries.projects.store import ProjectStore
from reveries.protocol import ValueLine, copy_fields
from reveries.tools.registry import ToolCaller
from reveries.tools.tool_group import ToolGroup, offer_tool

_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]


class GetFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`kind`: only these; `ahead`: only days from today on, in their order."""

    project_id: _Name
    kind: Literal["date", "amount", "measure", "open"] | None = None
    ahead: bool = False


class QuestionToNotes(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    project_id: _Name
    question: Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]


class GetFactConflicts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    project_id: _Name


class GetProposals(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    project_id: _Name


class FactOut(ValueLine, frozen=True):
    """A value, the line that says it, and its place. `status`, of a date: ahead, past or cancelled."""

    kind: str
    status: str


class FactsOut(msgspec.Struct, frozen=True):
    project: str
    facts: list[FactOut]


class FactConflictOut(msgspec.Struct, frozen=True):
    """Only the owner decides it."""

    id: str
    subject: str
    a: FactOut
    b: FactOut


class FactConflictsOut(msgspec.Struct, frozen=True):
    project: str
    conflicts: list[FactConflictOut]


class NoteAnswerOut(ValueLine, frozen=True):
    """`standing`: holds, replaced, or cancelled."""

    standing: str
    is_owner: bool


class NoteAnswersOut(msgspec.Struct, frozen=True):
    """`verdict`: said, open (a note leaves it open: the first of `answers`), unsure (no line surely says it: `answers`
    come nearest), or not_said."""

    project: str
    verdict: str
    answers: list[NoteAnswerOut]


class ProposalOut(msgspec.Struct, frozen=True):
    id: str
    title: str
    due: str
    document: str
    line: int


class ProposalsOut(msgspec.Struct, frozen=True):
    """Only the owner accepts or drops them."""

    project: str
    proposals: list[ProposalOut]


@dataclass(frozen=True, slots=True)
class FactsTools(ToolGroup):
    """The tools; none of them changes anything."""

    server = SERVER

    store: ProjectStore

    @offer_tool("Dates, amounts, measures and open ends of the notes, each with its line.")
    async def get_facts(self, given: GetFacts, _: ToolCaller) -> FactsOut:
        project = await self.store.find(given.project_id)
        today = self._today
        facts = [
            fact
            for fact in (await self.store.read_facts(project.id)).facts
            if fact.is_listed and given.kind in (None, fact.kind.value)
        ]
        if given.ahead:
            ahead = [fact for fact in facts if fact.day is not None and fact.day.status_on(today) is DayStatus.AHEAD]
            facts = sorted(ahead, key=lambda fact: (fact.value, fact.document, fact.line))
        return FactsOut(project.name, [_fact_out(fact, today) for fact in facts])

    @offer_tool("The lines of the notes that answer a question, or those that come nearest.")
    async def ask_notes(self, given: QuestionToNotes, _: ToolCaller) -> NoteAnswersOut:
        project = await self.store.find(given.project_id)
        project_facts = await self.store.read_facts(project.id)
        answered = await asyncio.to_thread(answer_from_notes, project_facts, given.question, self._today)
        return NoteAnswersOut(
            project.name,
            answered.verdict.value,
            [copy_fields(NoteAnswerOut, item) for item in answered.answers],
        )

    @offer_tool("One thing with two values in the notes.")
    async def get_fact_conflicts(self, given: GetFactConflicts, _: ToolCaller) -> FactConflictsOut:
        project = await self.store.find(given.project_id)
        today = self._today
        conflicts = (await self.store.read_facts(project.id)).conflicts
        return FactConflictsOut(
            project.name,
            [
                FactConflictOut(pair_id(pair), pair.subject, _fact_out(pair.a, today), _fact_out(pair.b, today))
                for pair in conflicts
            ],
        )

    @offer_tool("Tasks that the notes propose, and that the owner has not decided.")
    async def get_proposals(self, given: GetProposals, _: ToolCaller) -> ProposalsOut:
        project = await self.store.find(given.project_id)
        waiting = open_proposals(await self.store.proposals.of_project(project.id))
        return ProposalsOut(
            project.name,
            [ProposalOut(item.id, item.title, item.due, item.document, item.line) for item in waiting],
        )

    @property
    def _today(self) -> date:
        return date.fromtimestamp(self.store.now)


def _fact_out(fact: Fact, today: date) -> FactOut:
    status = fact.day.status_on(today).value if fact.day is not None else ""
    return copy_fields(FactOut, fact, status=status)
