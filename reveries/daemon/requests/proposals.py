"""Requests about tasks that notes propose: list, accept, dismiss."""

from collections.abc import Sequence

from reveries import protocol
from reveries.daemon.requests.registry import Call, handles
from reveries.errors import UsageError
from reveries.projects.model import Project, TaskProposal
from reveries.projects.proposal_store import find_proposal, open_proposals
from reveries.projects.store import ProjectStore
from reveries.safe_text import one_line, plain


@handles(protocol.AskProposals)
async def list_proposals(call: Call, request: protocol.AskProposals) -> protocol.Proposals:
    store = call.mind.projects.store
    return await _proposals_frame(call, store, await store.find(request.project))


@handles(protocol.DecideProposals)
async def decide_proposals(call: Call, request: protocol.DecideProposals) -> protocol.Proposals:
    store = call.mind.projects.store
    project = await store.find(request.project)
    proposals = await store.proposals.of_project(project.id)
    chosen = _choose(proposals, request.proposals)
    if len(chosen) != 1 and (request.title or request.due):
        raise UsageError("A title or a day is for one proposal.", advice="Accept the others on their own.")
    goals = await store.goals(project.id)
    goal_id = next((goal.id for goal in goals if goal.state == "active"), None)
    task_ids = []
    async with store.transaction() as transaction:
        for proposal in chosen:
            if request.decision == "accept":
                title = plain(request.title) or proposal.title
                task_ids.append(
                    await store.proposals.accept(transaction, proposal, goal_id, title, request.due or proposal.due)
                )
                await store.log.put(transaction, project.id, "proposal.accepted", title)
            else:
                await store.proposals.dismiss(transaction, proposal)
                await store.log.put(transaction, project.id, "proposal.dismissed", proposal.title)
        if task_ids:
            await store.rests.clear(transaction, project.id)
    call.mind.projects.consider()
    return await _proposals_frame(call, store, project, task_ids)


def _choose(proposals: Sequence[TaskProposal], names: Sequence[str]) -> list[TaskProposal]:
    """Return the named proposals, each once; all open ones if none is named. Raises NotFoundError."""
    if not names:
        return open_proposals(proposals)
    return list({item.id: item for item in (find_proposal(proposals, name) for name in names)}.values())


async def _proposals_frame(
    call: Call, store: ProjectStore, project: Project, task_ids: Sequence[str] = ()
) -> protocol.Proposals:
    waiting = open_proposals(await store.proposals.of_project(project.id))
    return protocol.Proposals(
        call.request_id, one_line(project.name), [proposal_entry(item) for item in waiting], task_ids=tuple(task_ids)
    )


def proposal_entry(proposal: TaskProposal) -> protocol.ProposalEntry:
    """Convert a proposal to its frame part."""
    return protocol.ProposalEntry(
        proposal_id=proposal.id,
        title=one_line(proposal.title, 300),
        due=proposal.due,
        document=one_line(proposal.document),
        line=proposal.line,
        text=one_line(proposal.source_line, 1000),
        is_tainted=bool(proposal.foreign_sources),
    )
