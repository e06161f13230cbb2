"""Requests about what has a value in the notes of a project, and what of it does not go together."""

from collections.abc import Sequence
from datetime import date
from typing import Final, Literal

import msgspec

from reveries import protocol
from reveries.daemon.requests.registry import Call, handles
from reveries.knowledge.facts.fact_conflict import FactConflict
from reveries.knowledge.facts.model import DayStatus, Fact, FactKind
from reveries.llm.tier import Tier
from reveries.projects.conflict_decisions import (
    DecidedBy,
    DecisionState,
    NewDecision,
    find_conflict,
    lines_of,
    pair_id,
)
from reveries.projects.facts_view import ProjectFacts
from reveries.projects.model import Project, WorkTask
from reveries.projects.proposal_store import open_proposals
from reveries.projects.store import ProjectStore
from reveries.projects.timeline import add_tables, build_timeline
from reveries.safe_text import one_line, plain

_LINE_CHARS = 2000
_CHANGED_SECONDS = 7 * 86_400.0
_LOOKED_AT = 200


@handles(protocol.AskFacts)
async def list_facts(call: Call, request: protocol.AskFacts) -> protocol.Facts:
    store = call.mind.projects.store
    project_facts = await store.read_facts((await store.find(request.project)).id)
    return protocol.Facts(
        request.request_id,
        fact_entries(project_facts, date.fromtimestamp(store.now), request.kind, is_ahead=request.is_ahead),
    )


@handles(protocol.AskFactConflicts)
async def list_fact_conflicts(call: Call, request: protocol.AskFactConflicts) -> protocol.FactConflicts:
    store = call.mind.projects.store
    project_facts = await store.read_facts((await store.find(request.project)).id)
    return _conflicts_frame(request.request_id, project_facts, is_decided=request.is_decided)


@handles(protocol.DecideFactConflict)
async def decide_fact_conflict(call: Call, request: protocol.DecideFactConflict) -> protocol.FactConflicts:
    store = call.mind.projects.store
    project = await store.find(request.project)
    project_facts = await store.read_facts(project.id)
    state = _DECISIONS.get(request.decision)
    pairs = project_facts.settled if state is None else (*project_facts.conflicts, *project_facts.settled)
    pair = find_conflict(pairs, request.conflict)
    async with store.transaction() as transaction:
        if state is None:
            await store.conflict_decisions.take_back(transaction, project.id, pair)
        else:
            rests_on, sources = project_facts.bases_of((fact.document, fact.line) for fact in (pair.a, pair.b))
            decision = NewDecision(pair, state, DecidedBy.OWNER, plain(request.reason), "", rests_on, sources)
            await store.conflict_decisions.put(transaction, project.id, decision)
        logged = f"{state.value if state is not None else 'reopened'}: {one_line(pair.subject, 200)}"
        await store.log.put(transaction, project.id, "conflict.decided", logged)
        await store.rests.clear(transaction, project.id)
    call.mind.projects.consider()
    return _conflicts_frame(request.request_id, await store.read_facts(project.id))


_DECISIONS: Final = {
    "dismiss": DecisionState.DISMISSED,
    "keep_a": DecisionState.KEPT_A,
    "keep_b": DecisionState.KEPT_B,
}
_OWNERS_DECISIONS: Final[dict[DecisionState, Literal["dismissed", "kept_a", "kept_b"]]] = {
    DecisionState.DISMISSED: "dismissed",
    DecisionState.KEPT_A: "kept_a",
    DecisionState.KEPT_B: "kept_b",
}


def _conflicts_frame(
    request_id: int, project_facts: ProjectFacts, *, is_decided: bool = False
) -> protocol.FactConflicts:
    pairs = project_facts.settled if is_decided else project_facts.conflicts
    entries = [conflict_entry(pair, project_facts) for pair in pairs]
    return protocol.FactConflicts(request_id, entries, len(project_facts.settled))


def fact_entries(
    project_facts: ProjectFacts, today: date, kind: str = "", *, is_ahead: bool = False
) -> list[protocol.FactEntry]:
    """Convert facts to their frame parts. A time without a day is none by itself."""
    facts = [fact for fact in project_facts.facts if fact.is_listed and kind in ("", fact.kind.value)]
    if is_ahead:
        ahead = [fact for fact in facts if fact.day is not None and fact.day.status_on(today) is DayStatus.AHEAD]
        facts = sorted(ahead, key=lambda fact: (fact.value, fact.document, fact.line))
    return [_fact_entry(project_facts, fact, today) for fact in facts]


def _fact_entry(project_facts: ProjectFacts, fact: Fact, today: date) -> protocol.FactEntry:
    return protocol.copy_fields(
        protocol.FactEntry,
        fact,
        text=one_line(fact.text, _LINE_CHARS),
        document=plain(fact.document),
        status=fact.day.status_on(today).value if fact.day is not None else "",
        is_tainted=project_facts.is_tainted(fact),
    )


def conflict_entry(pair: FactConflict, project_facts: ProjectFacts) -> protocol.FactConflictEntry:
    """Convert a conflict to its frame part."""
    judged = project_facts.decisions.get(lines_of(pair))
    is_by_model = judged is not None and judged.decided_by is DecidedBy.MODEL
    return protocol.FactConflictEntry(
        one_line(pair.subject, 200),
        _side(pair.a),
        _side(pair.b),
        pair_id(pair),
        "model" if is_by_model else "rule",
        one_line(judged.model) if judged is not None and is_by_model else "",
        _OWNERS_DECISIONS.get(judged.state, "") if judged is not None else "",
    )


def _side(fact: Fact) -> protocol.ValueLine:
    return protocol.copy_fields(
        protocol.ValueLine, fact, text=one_line(fact.text, _LINE_CHARS), document=plain(fact.document)
    )


async def build_overview(store: ProjectStore, project: Project, tasks: Sequence[WorkTask]) -> protocol.NotesOverview:
    """Return what the notes of a project come to today."""
    project_facts = await store.read_facts(project.id)
    since = store.now - _CHANGED_SECONDS
    log = await store.log.newest(project.id, _LOOKED_AT)
    changed = [entry for entry in log if entry.action == "facts.changed" and entry.happened_at >= since]
    waiting = open_proposals(await store.proposals.of_project(project.id))
    return protocol.NotesOverview(
        timeline=tuple(
            msgspec.structs.replace(entry, text=one_line(entry.text, 300), document=plain(entry.document))
            for entry in build_timeline(project_facts, tasks, date.fromtimestamp(store.now))
        ),
        sums=tuple(
            msgspec.structs.replace(item, subject=one_line(item.subject), document=plain(item.document))
            for item in add_tables(project_facts)
        ),
        open_ends=sum(fact.kind is FactKind.OPEN for fact in project_facts.facts),
        conflicts=tuple(conflict_entry(pair, project_facts) for pair in project_facts.conflicts),
        proposals=len(waiting),
        changed=tuple(one_line(entry.details, 400) for entry in changed),
        in_doubt=tuple(
            one_line(f"draft “{draft.wish}”: {draft.flagged_because}", 400)
            for draft in await store.drafts.of_project(project.id)
            if draft.flagged_because
        ),
    )


def describe_ability(tier: Tier) -> str:
    """Say in a sentence what a model of this tier can and cannot do for a project."""
    if tier is Tier.CAPABLE:
        return "This model plans and does tasks by itself, and shows the evidence for each."
    return (
        "This model does nothing by itself: dates, sums, open ends and contradictions of the notes are kept by rules, "
        "tasks are yours; project know finds what the notes say."
    )
