"""Compute a new version of an orientation (V-94..V-98), and its skill map and progress from the tasks (V-42, V-97).

Pure: code enforces the invariants on what a model proposed."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from reveries.knowledge.model import ARCHIVE_TAG, Chunk, ChunkType
from reveries.projects.model import (
    AreaProgress,
    Criterion,
    KeyDecision,
    Orientation,
    Phase,
    SkillNode,
    TaskStatus,
    WorkTask,
)
from reveries.projects.premise import Fallen, say_chain, standing_bases, titles_of

MOST_DECISIONS = 7
MOST_PRIORITIES = 5
MOST_REASONING_CHARS = 100
_MOST_NOTES_CHARS = 240
_STATUS_FROM_PERCENT = ((100, "complete"), (75, "nearly_done"), (35, "progressing"), (1, "early"), (0, "not_started"))
_FIRST_SENTENCE = re.compile(r"^.*?[.!?](?=\s|$)", re.DOTALL)
_ORDER = tuple(Phase)


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a model proposed; None: keep the current value."""

    phase: Phase | None = None
    priorities: tuple[str, ...] | None = None
    skills: tuple[SkillNode, ...] = ()
    vision_summary: str | None = None
    success_criteria: tuple[str, ...] | None = None
    constraints: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class RewriteInput:
    """What an orientation is written from."""

    old: Orientation
    tasks: Sequence[WorkTask]
    chunks: Sequence[Chunk]
    fallen: Fallen
    proposal: Proposal
    may_change_goal: bool = False
    """Whether the owner changed the purpose: only then may vision, criteria and constraints change."""
    criteria_bases: tuple[str, ...] = ()
    """Ids of the chunks that new criteria rest on."""
    is_premise_settled: bool = False
    """Whether the owner decided how to go on after a premise fell: then nothing rests on it any more."""
    is_reached: bool = False
    """Whether the owner said that the goal is reached: that ends it, whatever became of its tasks."""


def rewrite(given: RewriteInput) -> Orientation:
    """Return the next version."""
    old, proposal = given.old, given.proposal
    goal = proposal if given.may_change_goal else Proposal()
    progress = progress_of(given.tasks)
    criteria = _criteria(goal.success_criteria, given)
    phase = next_phase(old.current_phase, proposal.phase, given.tasks)
    if phase is Phase.COMPLETE and not all(criterion.reached_by for criterion in criteria):
        phase = Phase.REFINEMENT  # Nothing shows it: the owner is asked, or what is missing is planned.
    priorities = proposal.priorities if proposal.priorities is not None else _open_areas(given.tasks, old)
    return Orientation(
        vision_summary=goal.vision_summary or old.vision_summary,
        success_criteria=criteria,
        constraints=goal.constraints if goal.constraints is not None else old.constraints,
        skill_map=update_skill_map(add_skills(old.skill_map, proposal.skills), given.tasks, given.chunks),
        current_phase=Phase.COMPLETE if given.is_reached else phase,
        key_decisions=compress_decisions(_decisions(given), given.chunks, given.fallen, given.tasks),
        active_priorities=tuple(dict.fromkeys(priority.strip() for priority in priorities if priority.strip()))[
            :MOST_PRIORITIES
        ],
        progress_snapshot=progress,
    )


def next_phase(now: Phase, proposed: Phase | None, tasks: Sequence[WorkTask]) -> Phase:
    """The phase that the tasks allow (V-100): a model may propose one step forward, or the end where nothing is left
    to do; code takes nothing back but an end that was none."""
    counted = [task for task in tasks if task.status is not TaskStatus.DROPPED]
    done = [task for task in counted if task.status is TaskStatus.DONE and not task.flagged_because]
    if counted and len(done) == len(counted) and Phase.COMPLETE in (now, proposed):
        return Phase.COMPLETE
    if now is Phase.COMPLETE:
        return Phase.EXECUTION  # Something is to be done again.
    # What the owner does alone leads through no phase.
    planned = [task for task in counted if not task.is_left_to_owner]
    if now is Phase.INTAKE and planned:
        now = Phase.RESEARCH
    if proposed is None:
        return max(now, Phase.EXECUTION, key=_ORDER.index) if any(task in planned for task in done) else now
    is_next = _ORDER.index(proposed) == _ORDER.index(now) + 1
    return proposed if is_next and proposed is not Phase.COMPLETE else now


def compress_decisions(
    old: Sequence[KeyDecision], chunks: Sequence[Chunk], fallen: Fallen, tasks: Sequence[WorkTask] = ()
) -> tuple[KeyDecision, ...]:
    """With the decisions that chunks tell, the newest seven (V-95, V-96); each in one line with one sentence of why."""
    decisions = {decision.decision: decision for decision in old}
    for chunk in chunks:
        if chunk.type is not ChunkType.DECISION or not chunk.stands or ARCHIVE_TAG in chunk.tags:
            continue
        first, _, rest = chunk.content.partition("\n")
        reasoning = shorten_reasoning(rest.strip().partition("\n")[0])
        decisions.setdefault(first.strip(), KeyDecision(first.strip(), reasoning, chunk.created_at, (chunk.id,)))
    kept = sorted(decisions.values(), key=lambda decision: decision.date)[-MOST_DECISIONS:]
    titles = titles_of(chunks, tasks)
    return tuple(
        msgspec.structs.replace(decision, flagged_because=_why_changed(decision.rests_on, fallen.chunks, titles))
        for decision in kept
    )


def shorten_reasoning(text: str) -> str:
    """Shorten a text of over 100 characters to its first sentence, and that to 200 characters."""
    if len(text) <= MOST_REASONING_CHARS:
        return text
    first = _FIRST_SENTENCE.match(text)
    return (first[0] if first else text)[: 2 * MOST_REASONING_CHARS]


def _criteria(proposed: Sequence[str] | None, given: RewriteInput) -> tuple[Criterion, ...]:
    kept, titles = given.old.success_criteria, titles_of(given.chunks, given.tasks)
    if proposed is not None:
        same = {criterion.text: criterion for criterion in kept}
        bases = given.criteria_bases
        kept = tuple(same.get(text, Criterion(text, bases)) for text in dict.fromkeys(proposed) if text.strip())
    if given.is_premise_settled:
        chunks = {chunk.id: chunk for chunk in given.chunks}
        kept = tuple(
            msgspec.structs.replace(criterion, rests_on=standing_bases(criterion.rests_on, chunks))
            for criterion in kept
        )
    # A result in doubt stays named: if its owner leaves it as it is, it shows again what it showed.
    holding = {task.id for task in given.tasks if task.status is TaskStatus.DONE}
    return tuple(
        msgspec.structs.replace(
            criterion,
            flagged_because=_why_changed(criterion.rests_on, given.fallen.chunks, titles),
            reached_by=criterion.reached_by if criterion.reached_by in holding else "",
        )
        for criterion in kept
    )


def _decisions(given: RewriteInput) -> tuple[KeyDecision, ...]:
    """Return the decisions so far; once a fallen premise is settled they rest on what still holds."""
    if not given.is_premise_settled:
        return given.old.key_decisions
    chunks = {chunk.id: chunk for chunk in given.chunks}
    return tuple(
        msgspec.structs.replace(decision, rests_on=standing_bases(decision.rests_on, chunks))
        for decision in given.old.key_decisions
    )


def _why_changed(bases: Sequence[str], chains: Mapping[str, tuple[str, ...]], titles: Mapping[str, str]) -> str:
    hit = next((chains[base] for base in bases if base in chains), None)
    return "" if hit is None else say_chain(hit, titles)


def _open_areas(tasks: Sequence[WorkTask], old: Orientation) -> tuple[str, ...]:
    """Return priorities without a model: those that still have open tasks, then the areas of open tasks."""
    open_areas = [
        task.skill_area
        for task in tasks
        if task.skill_area and task.status not in (TaskStatus.DONE, TaskStatus.DROPPED)
    ]
    kept = [
        priority for priority in old.active_priorities if any(priority.lower() in area.lower() for area in open_areas)
    ]
    return (*kept, *open_areas)


def update_skill_map(
    nodes: Sequence[SkillNode], tasks: Sequence[WorkTask], chunks: Sequence[Chunk]
) -> tuple[SkillNode, ...]:
    """Update each node with the status of its tasks and the latest insights tagged with its name."""
    return tuple(_update_node(node, tasks, chunks) for node in nodes)


def _update_node(node: SkillNode, tasks: Sequence[WorkTask], chunks: Sequence[Chunk]) -> SkillNode:
    own = [task for task in _counted(tasks) if task.skill_area.lower() == node.skill.lower()]
    done = sum(task.status is TaskStatus.DONE for task in own)
    status = node.status
    if own:
        status = "achieved" if done == len(own) else "in_progress" if done else status
    tag = node.skill.lower()
    insights = [
        chunk.content for chunk in chunks if chunk.stands and chunk.type is ChunkType.INSIGHT and tag in chunk.tags
    ]
    notes = "; ".join(insights[-3:])[:_MOST_NOTES_CHARS] or node.notes
    return msgspec.structs.replace(node, status=status, notes=notes)


def add_skills(nodes: Sequence[SkillNode], proposed: Sequence[SkillNode]) -> tuple[SkillNode, ...]:
    """Add the new ones of `proposed`; dependencies and parents that do not exist are left out."""
    skills = list(nodes)
    names = {node.skill.lower() for node in nodes}
    offered = {node.skill.lower() for node in proposed}
    for node in proposed:
        if not node.skill.strip() or node.skill.lower() in names:
            continue
        names.add(node.skill.lower())
        others = tuple(
            dependency
            for dependency in node.dependencies
            if dependency.lower() in names | offered and dependency != node.skill
        )
        parent = node.parent if node.parent and node.parent.lower() in names else None
        skills.append(msgspec.structs.replace(node, dependencies=others, parent=parent, status="not_started"))
    return tuple(skills)


def progress_of(tasks: Sequence[WorkTask]) -> tuple[AreaProgress, ...]:
    """Compute the progress of each skill area from its tasks alone."""
    areas: dict[str, list[WorkTask]] = {}
    for task in _counted(tasks):
        areas.setdefault(task.skill_area or "general", []).append(task)
    return tuple(_progress(area, own) for area, own in areas.items())


def _progress(area: str, tasks: Sequence[WorkTask]) -> AreaProgress:
    percent = 100 * sum(task.status is TaskStatus.DONE and not task.flagged_because for task in tasks) // len(tasks)
    status = next(name for least, name in _STATUS_FROM_PERCENT if percent >= least)
    blockers = tuple(task.title for task in tasks if task.status is TaskStatus.BLOCKED)
    return AreaProgress(area, status, percent, blockers)


def _counted(tasks: Sequence[WorkTask]) -> list[WorkTask]:
    return [task for task in tasks if task.status is not TaskStatus.DROPPED]
