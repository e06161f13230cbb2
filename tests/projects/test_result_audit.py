"""A task that does not seem to serve the goal is warned of, and done all the same (V-91)."""

from pathlib import Path

import pytest

from tests.projects.kit import asked_for, finished, open_work, planned
from tests.projects.test_goals_and_input import answers


@pytest.mark.requirement("V-91", "V-5")
async def test_a_task_far_from_the_goal_is_warned_of_once_and_not_skipped(tmp_path: Path) -> None:
    def strays(text: str) -> object:
        match asked_for(text):
            case "plan":
                task = {"description": "", "kind": "find_out", "skill_area": "", "depends_on": [], "rests_on": []}
                titles = ("Measure the shed", "Count penguins", "Paint the shed")
                return planned(text, [{"title": title} | task for title in titles])
            case "coherence":
                return {"why": "Penguins are no part of it.", "serves": False}
            case "step":
                return finished()
        return answers(text)

    async with open_work(tmp_path, strays) as work:
        project = await work.begin("Shed", "Build a shed")
        await work.wake(project)
        log = await work.store.log.newest(project.id, 1000)
        warned = [one.details for one in log if one.action == "coherence.warned"]
        assert warned == ["Count penguins: Penguins are no part of it. (coherence 0.00)"]
        assert (await work.task(project, "Count penguins")).outcome == "It is done."
