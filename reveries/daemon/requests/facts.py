"""Requests about what has a value in the notes of a project, and what of it does not go together."""

from datetime import date

from reveries import protocol
from reveries.daemon.requests.registry import Call, handles
from reveries.knowledge.facts.conflicts import FactConflict
from reveries.knowledge.facts.model import DayStatus, Fact, FactKind
from reveries.projects.facts_view import ProjectFacts
from reveries.safe_text import one_line, plain

_LINE_CHARS = 2000


@handles(protocol.AskFacts)
async def list_facts(call: Call, request: protocol.AskFacts) -> protocol.Facts:
    store = call.mind.projects.store
    found = await store.read_facts((await store.find(request.project)).id)
    return protocol.Facts(
        request.request_id, fact_entries(found, date.fromtimestamp(store.now), request.kind, is_ahead=request.is_ahead)
    )


@handles(protocol.AskFactConflicts)
async def list_fact_conflicts(call: Call, request: protocol.AskFactConflicts) -> protocol.FactConflicts:
    store = call.mind.projects.store
    found = await store.read_facts((await store.find(request.project)).id)
    return protocol.FactConflicts(request.request_id, [conflict_entry(pair) for pair in found.conflicts])


def fact_entries(
    found: ProjectFacts, today: date, kind: str = "", *, is_ahead: bool = False
) -> list[protocol.FactEntry]:
    """Convert facts to their frame parts. A time without a day is none by itself."""
    facts = [fact for fact in found.facts if fact.kind is not FactKind.TIME and kind in ("", fact.kind.value)]
    if is_ahead:
        ahead = [fact for fact in facts if fact.day is not None and fact.day.status_on(today) is DayStatus.AHEAD]
        facts = sorted(ahead, key=lambda fact: (fact.value, fact.document, fact.line))
    return [_fact_entry(found, fact, today) for fact in facts]


def _fact_entry(found: ProjectFacts, fact: Fact, today: date) -> protocol.FactEntry:
    return protocol.FactEntry(
        kind=fact.kind.value,
        value=fact.value,
        unit=fact.unit,
        text=one_line(fact.text, _LINE_CHARS),
        document=plain(fact.document),
        line=fact.line,
        status=fact.day.status_on(today).value if fact.day is not None else "",
        is_tainted=found.is_tainted(fact),
    )


def conflict_entry(pair: FactConflict) -> protocol.FactConflictEntry:
    """Convert a conflict to its frame part."""
    return protocol.FactConflictEntry(one_line(pair.subject, 200), _side(pair.a), _side(pair.b))


def _side(fact: Fact) -> protocol.ConflictSide:
    return protocol.ConflictSide(
        one_line(fact.text, _LINE_CHARS), plain(fact.document), fact.line, fact.value, fact.unit
    )
