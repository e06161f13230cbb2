"""MCP tools for project orientations (V-16..V-19), with the names and fields of the specification."""

from dataclasses import dataclass
from typing import Annotated

import msgspec

from reveries.errors import UsageError
from reveries.projects.conflicts import is_doubtful, list_doubts
from reveries.projects.model import (
    AreaProgress,
    Criterion,
    KeyDecision,
    Orientation,
    Phase,
    Project,
    SkillNode,
)
from reveries.projects.orientation import archive_chunk
from reveries.projects.project_names import derive_project_name
from reveries.projects.result_audit import read_coherence
from reveries.projects.store import ProjectStore
from reveries.projects.wake import read_state
from reveries.protocol import copy_fields
from reveries.safe_text import plain
from reveries.tools.reach import Reach
from reveries.tools.registry import ToolCaller
from reveries.tools.tool_group import ToolGroup, offer_tool

SERVER = "orientation"
_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
_Text = Annotated[str, msgspec.Meta(max_length=4_000)]
_Vision = Annotated[str, msgspec.Meta(min_length=1, max_length=4_000)]
_Lines = Annotated[list[_Text], msgspec.Meta(max_length=100)]


# --- arguments --------------------------------------------------------------------------------------------------------


class GetOrientation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    project_id: _Name


class ListProjects(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


class BeginProject(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    vision_summary: _Vision
    success_criteria: _Lines
    constraints: _Lines = []
    name: str = ""
    """What the project is called; empty: the first words of its vision."""


class DecisionIn(msgspec.Struct, frozen=True):
    """A choice with its reason. `date` in unix seconds; without one: now."""

    decision: _Text
    reasoning: _Text = ""
    date: float | None = None
    rests_on: list[_Name] = []


class OrientationIn(msgspec.Struct, frozen=True):
    """The page, as `get_orientation` gives it. What is left out stays as it is. `version`, where it is given, is
    the one that this was made of: with a newer one there, nothing is written."""

    vision_summary: _Vision | None = None
    success_criteria: _Lines | None = None
    constraints: _Lines | None = None
    skill_map: Annotated[list[SkillNode], msgspec.Meta(max_length=200)] | None = None
    current_phase: Phase | None = None
    key_decisions: Annotated[list[DecisionIn], msgspec.Meta(max_length=200)] | None = None
    active_priorities: _Lines | None = None
    progress_snapshot: Annotated[list[AreaProgress], msgspec.Meta(max_length=200)] | None = None
    version: int | None = None


class UpdateOrientation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    project_id: _Name
    orientation: OrientationIn


# --- results ----------------------------------------------------------------------------------------------------------


class OrientationOut(msgspec.Struct, frozen=True):
    """The page (V-39). `doubts`: tasks, criteria and decisions that rest on something that does not hold any more, and
    open contradictions. `coherence`: the share of begun tasks that serve the goal, 0 to 1; null before the first."""

    project_id: str
    vision_summary: str
    success_criteria: list[str]
    constraints: list[str]
    skill_map: list[SkillNode]
    current_phase: Phase
    key_decisions: list[KeyDecision]
    active_priorities: list[str]
    progress_snapshot: list[AreaProgress]
    last_rewritten: float
    version: int
    goal: str
    doubts: list[str]
    coherence: float | None
    foreign_sources: list[str]


class OneOrientationOut(msgspec.Struct, frozen=True):
    project: str
    orientation: OrientationOut


class UpdatedOut(msgspec.Struct, frozen=True):
    project: str
    success: bool
    updated_at: float
    version: int


class ProjectOut(msgspec.Struct, frozen=True):
    project_id: str
    name: str
    state: str
    vision_summary: str
    current_phase: Phase
    last_updated: float


class ProjectsOut(msgspec.Struct, frozen=True):
    projects: list[ProjectOut]


class CreatedOut(msgspec.Struct, frozen=True):
    project: str
    project_id: str
    orientation: OrientationOut


@dataclass(frozen=True, slots=True)
class OrientationTools(ToolGroup):
    """The tools that read and write project orientations."""

    server = SERVER

    store: ProjectStore

    @offer_tool("Where a project stands, on one page. Call it first.")
    async def get_orientation(self, given: GetOrientation, _: ToolCaller) -> OneOrientationOut:
        project = await self.store.find(given.project_id)
        return OneOrientationOut(project.name, await self._orientation_out(project))

    @offer_tool("Write that page anew; the one before is kept.", Reach.INSIDE, is_repeatable=False)
    async def update_orientation(self, given: UpdateOrientation, caller: ToolCaller) -> UpdatedOut:
        project = await self.store.find(given.project_id)
        current = await self.store.orientation(project.id)
        prepared = await self.store.knowledge.prepare(project.id, [archive_chunk(current)])
        async with self.store.transaction() as transaction:
            old = await self.store.orientation(project.id, transaction)
            if old.version != current.version or given.orientation.version not in (None, old.version):
                raise UsageError(
                    f"The orientation of {project.name} is at version {old.version} by now.",
                    advice="Read it again with get_orientation, and write on from there.",
                )
            await self.store.knowledge.put(transaction, project.id, prepared)
            new = merge_orientation(old.content, given.orientation, self.store.now)
            trigger = caller.source or caller.role
            await self.store.put_orientation(transaction, project.id, old, new, trigger, caller.foreign_sources)
        return UpdatedOut(project.name, True, self.store.now, old.version + 1)

    @offer_tool("All projects, each with its phase.")
    async def list_projects(self, _: ListProjects, __: ToolCaller) -> ProjectsOut:
        projects = []
        for project in await self.store.projects():
            if project.state != "archived":
                page = await self.store.orientation(project.id)
                vision = page.content.vision_summary or await self._goal_of(project)
                phase = page.content.current_phase
                projects.append(ProjectOut(project.id, project.name, project.state, vision, phase, page.written_at))
        return ProjectsOut(projects)

    @offer_tool("Begin a project. Its owner gives it a goal.", Reach.INSIDE, is_repeatable=False)
    async def create_project(self, given: BeginProject, caller: ToolCaller) -> CreatedOut:
        taken = {other.name.casefold() for other in await self.store.projects()}
        name = plain(given.name).strip() or derive_project_name(plain(given.vision_summary), taken)
        orientation = Orientation(
            given.vision_summary.strip(),
            success_criteria=tuple(Criterion(criterion) for criterion in given.success_criteria),
            constraints=tuple(given.constraints),
        )
        project = await self.store.create(name, orientation=orientation, sources=caller.foreign_sources)
        return CreatedOut(project.name, project.id, await self._orientation_out(project))

    async def _goal_of(self, project: Project) -> str:
        goals = await self.store.goals(project.id)
        return next((goal.text for goal in goals if goal.state == "active"), "")

    async def _orientation_out(self, project: Project) -> OrientationOut:
        page = await self.store.orientation(project.id)
        content = page.content
        tasks = await self.store.tasks.of_project(project.id)
        conflicts = await self.store.knowledge.contradictions(project.id)
        return copy_fields(
            OrientationOut,
            content,
            project_id=project.id,
            success_criteria=[criterion.text for criterion in content.success_criteria],
            last_rewritten=page.written_at,
            version=page.version,
            goal=await self._goal_of(project),
            doubts=list_doubts(content, tasks, conflicts),
            coherence=(await read_coherence(self.store, await read_state(self.store, project.id))).score,
            foreign_sources=sorted(
                page.foreign_sources.union(*(task.foreign_sources for task in tasks if is_doubtful(task)))
            ),
        )


def merge_orientation(old: Orientation, given: OrientationIn, now: float) -> Orientation:
    """Return the orientation with the given fields replaced; unchanged criteria and decisions keep their premises.
    Pure."""
    criteria = {criterion.text: criterion for criterion in old.success_criteria}
    decisions = {decision.decision: decision for decision in old.key_decisions}
    changed: dict[str, object] = {}
    if given.success_criteria is not None:
        changed["success_criteria"] = tuple(criteria.get(text, Criterion(text)) for text in given.success_criteria)
    if given.key_decisions is not None:
        changed["key_decisions"] = tuple(
            _merge_decision(decision, decisions.get(decision.decision), now) for decision in given.key_decisions
        )
    for name in ("constraints", "skill_map", "active_priorities", "progress_snapshot"):
        if (items := getattr(given, name)) is not None:
            changed[name] = tuple(items)
    for name in ("vision_summary", "current_phase"):
        if (value := getattr(given, name)) is not None:
            changed[name] = value
    return msgspec.structs.replace(old, **changed)


def _merge_decision(given: DecisionIn, old: KeyDecision | None, now: float) -> KeyDecision:
    rests_on = tuple(given.rests_on) or (old.rests_on if old else ())
    date = given.date if given.date is not None else old.date if old else now
    flag = old.flagged_because if old and rests_on == old.rests_on else ""
    return KeyDecision(given.decision, given.reasoning or (old.reasoning if old else ""), date, rests_on, flag)
