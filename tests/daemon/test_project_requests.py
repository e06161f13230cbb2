"""Requests about projects and MCP servers, as the daemon answers them."""

from pathlib import Path

import msgspec
import pytest

from reveries import protocol
from reveries.client.features.importing import projects_imported_page
from reveries.config import Home
from reveries.daemon.mind import Mind
from reveries.daemon.requests.knowledge import found_entry
from reveries.errors import InputFileError, NotFoundError
from reveries.knowledge.model import Chunk, FoundChunk, NewRelation, RelationType
from reveries.projects.model import NewTask, TaskKind
from tests.client.test_looking_pages import text_of
from tests.daemon.asking import ask
from tests.daemon.mind_kit import NOON, living
from tests.daemon.test_project_work import QUIET, worker
from tests.fakes.patient_clock import PatientClock
from tests.knowledge.kit import stored_chunk
from tests.projects.test_visioneer_import import file

__all__ = ["file"]

NAME = "Shed"


async def add_chunk(mind: Mind, text: str) -> str:
    """Add a text of the owner to what the project knows; returns the id of its chunk."""
    added = await ask(mind, protocol.AddMaterial(1, NAME, f"{text[:8]}.md", text, is_own=True), protocol.Chunks)
    return added.chunks[0].chunk_id


async def test_a_project_is_listed_and_an_earlier_orientation_becomes_the_newest(home: Home) -> None:
    async with living(home, worker(), PatientClock(NOON), QUIET) as life:
        await ask(life.mind, protocol.CreateProject(1, NAME), protocol.ProjectDetail)
        await ask(life.mind, protocol.SetGoal(1, NAME, "Build a shed"), protocol.ProjectDetail)
        listed = await ask(life.mind, protocol.AskProjects(1), protocol.Projects)
        assert [one.name for one in listed.projects] == [NAME]
        before = (await ask(life.mind, protocol.AskOrientations(1, NAME), protocol.Orientations)).versions
        await ask(life.mind, protocol.RevertOrientation(1, NAME, before[-1].version), protocol.ProjectDetail)
        after = (await ask(life.mind, protocol.AskOrientations(1, NAME), protocol.Orientations)).versions
        assert len(after) == len(before) + 1
        assert after[0].text == before[-1].text


async def test_an_archived_relation_is_restored_and_a_retracted_chunk_falls(home: Home) -> None:
    async with living(home, worker(), PatientClock(NOON), QUIET) as life:
        await ask(life.mind, protocol.CreateProject(1, NAME), protocol.ProjectDetail)
        oak, wood = await add_chunk(life.mind, "The floor is oak."), await add_chunk(life.mind, "Oak lasts long.")
        store = life.mind.projects.store
        project = await store.find(NAME)
        relation = await store.knowledge.state(project.id, NewRelation(oak, wood, RelationType.SUPPORTS, 0.5))
        await store.knowledge.weaken(project.id, relation, "manual", 1.0)
        restored = await ask(life.mind, protocol.RestoreRelation(1, NAME, relation.id[:12]), protocol.ProjectRelations)
        assert [one.relation_id for one in restored.relations] == [relation.id]
        with pytest.raises(NotFoundError):
            await ask(life.mind, protocol.RestoreRelation(1, NAME, relation.id[:12]))
        await ask(life.mind, protocol.RetractChunk(1, NAME, oak, "It is pine."), protocol.ProjectDetail)
        known = await ask(life.mind, protocol.AskChunks(1, NAME), protocol.Chunks)
        assert {one.chunk_id: one.fell_because for one in known.chunks}[oak] == "It is pine."


def test_only_what_holds_instead_of_a_replaced_text_says_so() -> None:
    old = stored_chunk(id="c1", title="The lease", superseded_by="c2")
    between = stored_chunk(id="c2", title="The new lease", superseded_by="c3")
    new = stored_chunk(id="c3", title="The newest lease")
    every = {one.id: one for one in (old, between, new)}

    def why(chunk: Chunk, led_from: Chunk, led_by: str = "replaces") -> str:
        return found_entry(FoundChunk(1.0, chunk=chunk, led_from=led_from.id, led_by=led_by), every, 1.0, NOON).why

    assert "holds now instead of “The lease”" in why(new, old)
    assert "“replaces” leads here from “The lease”" in why(between, old)
    assert "“replaces” leads here from “The newest lease”" in why(between, new)
    assert "“replaces” leads here from “The newest lease”" in why(new, new)
    assert "“supports” leads here from “The lease”" in why(new, old, "supports")


async def test_asked_how_the_work_stood_on_a_day_it_says_that_this_is_not_kept_and_not_how_it_stands_today(
    home: Home,
) -> None:
    async with living(home, worker(), PatientClock(NOON), QUIET) as life:
        await ask(life.mind, protocol.CreateProject(1, NAME), protocol.ProjectDetail)
        store = life.mind.projects.store
        project = await store.find(NAME)
        async with store.transaction() as transaction:
            await store.tasks.put(transaction, project.id, [NewTask("Saw oak", "", TaskKind.OTHER)])
        asked = protocol.AskChunks(1, NAME, "What is blocked?")
        today = await ask(life.mind, asked, protocol.Chunks)
        assert "Saw oak" in today.message
        then = await ask(life.mind, msgspec.structs.replace(asked, until=NOON - 1.0), protocol.Chunks)
        assert (then.plan, then.message) == ("operational", "Where the work stood on that day is not kept.")


async def test_a_server_that_is_not_in_the_settings_is_not_found(home: Home) -> None:
    async with living(home, worker(), PatientClock(NOON), QUIET) as life:
        assert (await ask(life.mind, protocol.AskToolServers(1), protocol.ToolServers)).servers == []
        with pytest.raises(NotFoundError, match="'wiki'"):
            await ask(life.mind, protocol.AskToolServers(1, "wiki"))


@pytest.mark.requirement("V-137")
async def test_projects_of_visioneer_are_imported_and_told(home: Home, file: Path) -> None:
    async with living(home, worker(), PatientClock(NOON), QUIET) as life:
        done = await ask(life.mind, protocol.ImportVisioneer(1, str(file)), protocol.ProjectsImported)
        listed = await ask(life.mind, protocol.AskProjects(2), protocol.Projects)
        with pytest.raises(InputFileError):
            await ask(life.mind, protocol.ImportVisioneer(3, "/nowhere/visioneer.db"), protocol.ProjectsImported)
    assert [(one.name, one.state) for one in listed.projects] == [("Play jazz piano in six months", "paused")]
    shown = text_of(projects_imported_page(done))
    assert "Play jazz piano in six months: 3 tasks, 2 questions, 3 texts, 2 relations, 1 log line." in shown
    assert "left out: 1 relations without two texts" in shown
    assert "reveries project resume NAME" in shown
