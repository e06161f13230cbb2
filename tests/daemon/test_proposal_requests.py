"""Tasks that notes propose: nothing begins before the owner accepts one, and what was dropped stays away."""

import pytest

from reveries import protocol
from reveries.config import Home
from reveries.errors import NotFoundError, UsageError
from reveries.projects.proposal_store import NewProposal
from tests.daemon.asking import ask
from tests.daemon.mind_kit import NOON, living
from tests.daemon.test_project_work import QUIET, worker
from tests.fakes.patient_clock import PatientClock

NAME = "Allotment"
FENCE = NewProposal("Mend the fence", "2026-12-05", "todo.md", 3, "Mend the fence by 5 December", frozenset({"folder"}))
SEEDS = NewProposal("Order seeds", "", "todo.md", 4, "Order seeds")
MULCH = NewProposal("Ask Bea about mulch", "", "mails.md", 9, "Ask Bea about mulch")


async def test_a_proposal_becomes_a_task_only_by_a_yes_and_a_dropped_one_stays_away_until_its_line_changes(
    home: Home,
) -> None:
    async with living(home, worker(), PatientClock(NOON), QUIET) as life:
        await ask(life.mind, protocol.CreateProject(1, NAME), protocol.ProjectDetail)
        store = life.mind.projects.store
        project = await store.find(NAME)
        async with store.transaction() as transaction:
            await store.proposals.update(transaction, project.id, [FENCE, SEEDS, MULCH])
        waiting = await ask(life.mind, protocol.AskProposals(1, NAME), protocol.Proposals)
        assert [item.title for item in waiting.proposals] == ["Mend the fence", "Ask Bea about mulch", "Order seeds"]
        assert waiting.proposals[0].is_tainted
        assert not await store.tasks.of_project(project.id)

        with pytest.raises(UsageError):
            await ask(life.mind, protocol.DecideProposals(1, NAME, "accept", title="All of them"))
        left = await ask(
            life.mind,
            protocol.DecideProposals(1, NAME, "accept", ("mend",), due="2026-12-04T09:30"),
            protocol.Proposals,
        )
        [task] = await store.tasks.of_project(project.id)
        assert (task.title, task.due, task.foreign_sources) == (
            "Mend the fence",
            "2026-12-04T09:30",
            FENCE.foreign_sources,
        )
        assert left.task_ids == (task.id,)
        left = await ask(life.mind, protocol.DecideProposals(1, NAME, "dismiss", ("Order seeds",)), protocol.Proposals)
        assert [item.title for item in left.proposals] == ["Ask Bea about mulch"]
        with pytest.raises(NotFoundError):
            await ask(life.mind, protocol.DecideProposals(1, NAME, "accept", ("Order seeds",)))

        changed = NewProposal("Order seeds and bulbs", "", "todo.md", 4, "Order seeds and bulbs")
        async with store.transaction() as transaction:
            new = await store.proposals.update(transaction, project.id, [FENCE, SEEDS, changed])
        assert new == [changed]
        waiting = await ask(life.mind, protocol.AskProposals(1, NAME), protocol.Proposals)
        assert [item.title for item in waiting.proposals] == ["Order seeds and bulbs"]
        async with store.transaction() as transaction:
            await store.proposals.update(transaction, project.id, [MULCH])
        waiting = await ask(life.mind, protocol.AskProposals(1, NAME), protocol.Proposals)
        assert [item.title for item in waiting.proposals] == ["Ask Bea about mulch"]
