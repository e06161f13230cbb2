"""Requests about drafts: make one from the notes of a project, list, delete."""

from collections.abc import Sequence

from reveries import protocol
from reveries.daemon.requests.registry import Call, handles
from reveries.projects.draft_store import Draft, find_draft
from reveries.projects.model import Project
from reveries.safe_text import one_line, plain


@handles(protocol.WriteDraft)
async def write_project_draft(call: Call, request: protocol.WriteDraft) -> protocol.Drafts:
    project = await call.mind.projects.store.find(request.project)
    draft_id = await call.mind.projects.write_draft(project, plain(request.wish))
    return _drafts_frame(call, project, [find_draft(await _drafts_of(call, project), draft_id)])


@handles(protocol.AskDrafts)
async def list_drafts(call: Call, request: protocol.AskDrafts) -> protocol.Drafts:
    project = await call.mind.projects.store.find(request.project)
    drafts = await _drafts_of(call, project)
    return _drafts_frame(call, project, [find_draft(drafts, request.draft)] if request.draft else drafts)


@handles(protocol.DropDraft)
async def drop_draft(call: Call, request: protocol.DropDraft) -> protocol.Drafts:
    store = call.mind.projects.store
    project = await store.find(request.project)
    draft = find_draft(await _drafts_of(call, project), request.draft)
    async with store.transaction() as transaction:
        await store.drafts.drop(transaction, draft)
    return _drafts_frame(call, project, await _drafts_of(call, project))


async def _drafts_of(call: Call, project: Project) -> list[Draft]:
    return await call.mind.projects.store.drafts.of_project(project.id)


def _drafts_frame(call: Call, project: Project, drafts: Sequence[Draft]) -> protocol.Drafts:
    return protocol.Drafts(call.request_id, one_line(project.name), [draft_entry(draft) for draft in drafts])


def draft_entry(draft: Draft) -> protocol.DraftEntry:
    """Convert a draft to its frame part."""
    return protocol.DraftEntry(
        draft_id=draft.id,
        wish=one_line(draft.wish, 2000),
        content=plain(draft.content),
        made_by=draft.made_by.value,
        doubts=tuple(one_line(doubt, 300) for doubt in draft.doubts),
        flagged_because=one_line(draft.flagged_because, 400),
        created_at=draft.created_at,
        is_tainted=bool(draft.foreign_sources),
    )
