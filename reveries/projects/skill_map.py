"""The skill map and the progress snapshot, computed from the tasks (V-42, V-97). Pure."""

from collections.abc import Sequence

import msgspec

from reveries.knowledge.model import Chunk, ChunkType
from reveries.projects.model import AreaProgress, SkillNode, TaskStatus, WorkTask

_MOST_NOTES_CHARS = 240
_STATUS_FROM_PERCENT = ((100, "complete"), (75, "nearly_done"), (35, "progressing"), (1, "early"), (0, "not_started"))


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
    insights = [one.content for one in chunks if one.stands and one.type is ChunkType.INSIGHT and tag in one.tags]
    notes = "; ".join(insights[-3:])[:_MOST_NOTES_CHARS] or node.notes
    return msgspec.structs.replace(node, status=status, notes=notes)


def add_skills(nodes: Sequence[SkillNode], proposed: Sequence[SkillNode]) -> tuple[SkillNode, ...]:
    """Add the new ones of `proposed`; dependencies and parents that do not exist are left out."""
    found = list(nodes)
    known = {node.skill.lower() for node in nodes}
    offered = {node.skill.lower() for node in proposed}
    for node in proposed:
        if not node.skill.strip() or node.skill.lower() in known:
            continue
        known.add(node.skill.lower())
        others = tuple(one for one in node.dependencies if one.lower() in known | offered and one != node.skill)
        parent = node.parent if node.parent and node.parent.lower() in known else None
        found.append(msgspec.structs.replace(node, dependencies=others, parent=parent, status="not_started"))
    return tuple(found)


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
