"""The skill map and the progress, read from the tasks alone."""

import pytest

from reveries.knowledge.model import Chunk, ChunkSource, ChunkType, Confidence
from reveries.projects.model import SkillNode, TaskKind, TaskStatus, WorkTask
from reveries.projects.orientation_rewrite import add_skills, progress_of, update_skill_map


def task(name: str, area: str, status: TaskStatus, flagged: str = "") -> WorkTask:
    return WorkTask(
        name,
        "",
        TaskKind.FIND_OUT,
        goal_id="g",
        id=name,
        project_id="p",
        status=status,
        skill_area=area,
        flagged_because=flagged,
    )


TASKS = [
    task("a", "Chords", TaskStatus.DONE),
    task("b", "chords", TaskStatus.BLOCKED),
    task("c", "rhythm", TaskStatus.DONE),
    task("d", "rhythm", TaskStatus.DROPPED),
]


@pytest.mark.requirement("V-95", "V-97")
def test_a_skill_is_achieved_when_all_its_tasks_are_done_and_under_way_when_some_are() -> None:
    insight = Chunk(
        "c1", "p", "", "Voicings move little.", ChunkType.INSIGHT, ("chords",), Confidence.INFERRED,
        ChunkSource.DEDUCTION, (), None, "", 0.0, frozenset(),
    )  # fmt: skip
    nodes = (SkillNode("chords"), SkillNode("rhythm"), SkillNode("ear"))
    found = update_skill_map(nodes, TASKS, [insight])
    assert [node.status for node in found] == ["in_progress", "achieved", "not_started"]
    assert found[0].notes == "Voicings move little."


@pytest.mark.requirement("V-42", "V-130")
def test_progress_counts_what_is_done_and_not_in_doubt_and_names_what_is_blocked() -> None:
    found = {one.area.lower(): one for one in progress_of([*TASKS, task("e", "ear", TaskStatus.DONE, "it fell")])}
    assert (found["rhythm"].percent, found["rhythm"].status) == (100, "complete")
    assert (found["ear"].percent, found["ear"].status) == (0, "not_started")
    assert [one.blockers for one in progress_of([TASKS[1]])] == [("b",)]


def test_a_new_skill_is_added_once_and_depends_only_on_skills_that_are_there() -> None:
    known = (SkillNode("chords", status="achieved"),)
    offered = [SkillNode("Chords"), SkillNode("swing", dependencies=("chords", "magic")), SkillNode(" ")]
    assert add_skills(known, offered) == (known[0], SkillNode("swing", dependencies=("chords",)))
