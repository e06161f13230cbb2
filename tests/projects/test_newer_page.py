"""A page that the owner or a program writes while the model rewrites it stands."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from reveries.knowledge.model import ARCHIVE_TAG
from reveries.llm.base import Vectors
from reveries.projects.model import Orientation, Project
from reveries.projects.wake_report import RestReason
from tests.memory.kit import WordEmbedder
from tests.projects.kit import Work, open_work
from tests.projects.test_goals_and_input import answers


class Meanwhile(WordEmbedder):
    """Does something once while the mind writes a page, whose earlier version it embeds."""

    happens: Callable[[], Awaitable[None]] | None = None

    async def embed(self, texts: Sequence[str]) -> Vectors:
        if self.happens is not None and any(text.startswith("Orientation, version") for text in texts):
            happens, self.happens = self.happens, None
            await happens()
        return await super().embed(texts)


async def begin(work: Work) -> Project:
    """A project with two pages, and a milestone that makes the next one due."""
    project = await work.begin("Shed", "Build a shed")
    await work.wake(project)
    async with work.store.transaction() as transaction:
        await work.store.note_rewrite_due(transaction, project, "milestone")
    return project


async def triggers(work: Work, project: Project) -> list[str]:
    return [one.trigger for one in await work.store.orientations(project.id)][::-1]


@pytest.mark.requirement("V-92")
async def test_a_page_that_the_owner_reverts_while_the_model_rewrites_it_stands_and_the_wake_goes_on(
    tmp_path: Path,
) -> None:
    embedder = Meanwhile()
    async with open_work(tmp_path, answers, embedder=embedder) as work:
        project = await begin(work)
        before = await triggers(work, project)
        embedder.happens = lambda: work.store.revert_orientation(project, 1)
        assert (await work.wake(project)).reason is RestReason.WAITING
        assert await triggers(work, project) == [*before, "reverted to 1"]
        chunks = await work.store.knowledge.of_project(project.id)
        assert sum(ARCHIVE_TAG in one.tags for one in chunks) == len(before) - 1
        assert (await work.store.find("Shed")).rewrite_due == ()


@pytest.mark.requirement("V-92")
async def test_a_page_that_a_program_writes_meanwhile_stands_and_is_the_ground_of_the_next_try(tmp_path: Path) -> None:
    embedder = Meanwhile()
    async with open_work(tmp_path, answers, embedder=embedder) as work:
        project = await begin(work)
        before = await triggers(work, project)

        async def write() -> None:
            old = await work.store.orientation(project.id)
            page = Orientation("A shed with a window", constraints=("No nails",))
            async with work.store.transaction() as transaction:
                await work.store.put_orientation(transaction, project.id, old, page, "mcp:x", frozenset())

        embedder.happens = write
        await work.wake(project)
        assert await triggers(work, project) == [*before, "mcp:x"]
        assert (await work.store.find("Shed")).rewrite_due == ("milestone",)
        await work.wake(project)
        assert await triggers(work, project) == [*before, "mcp:x", "milestone"]
        assert (await work.state(project)).orientation.content.constraints == ("No nails",)
