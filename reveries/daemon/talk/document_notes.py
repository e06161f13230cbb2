"""Places in documents in a prompt, and what the reply rests on: the notes that offer them, the check of citations."""

from collections.abc import Mapping, Sequence
from typing import Final

from reveries.daemon.talk.prompt_memories import PromptMemory
from reveries.knowledge.citations import (
    Citation,
    CitationMaker,
    CitationState,
    OfferedPlace,
    choose_citation,
    resolve_citations,
)
from reveries.llm.tier import Tier
from reveries.projects.model import Project
from reveries.prompts import prompt
from reveries.safe_text import format_record

MOST_PLACES: Final = 5
_PLACE_CHARS: Final = 900
_LEAST_PLACE_CHARS: Final = 200
_NAME_CHARS: Final = 80
_LOOKED_AT: Final = 6


def place_notes(project: Project, places: Sequence[OfferedPlace], room_chars: int, tier: Tier) -> list[PromptMemory]:
    """Build the notes that offer places, best first, within `room_chars`. A capable model is also told how to cite
    them; for any other the best place alone is told, because it mixes up several. Pure."""
    is_citing = tier is Tier.CAPABLE
    head = prompt("cite_documents") if is_citing else ""
    notes = [PromptMemory(project.id, None, head, project=project.name)] if head else []
    left = room_chars - len(head)
    for place in places if is_citing else places[:1]:
        line = describe_place(place, min(_PLACE_CHARS, left), with_id=is_citing)
        if left < _LEAST_PLACE_CHARS or len(line) > left:
            break
        left -= len(line)
        notes.append(
            PromptMemory(place.pointer_id, None, line, project=project.name, is_tainted=place.is_tainted, place=place)
        )
    return notes if any(note.place is not None for note in notes) else []


def describe_place(place: OfferedPlace, most_chars: int, *, with_id: bool) -> str:
    """Return a place as a line of a prompt, as a record of somebody's words (F1). Pure."""
    page = place.page_label or str(place.page_number)
    where = f"{format_record(place.document, _NAME_CHARS)}, page {format_record(page, _NAME_CHARS)}"
    whose = "somebody else wrote: " if place.is_tainted else ""
    title = f"{format_record(place.title, _NAME_CHARS)}: " if place.title else ""
    head = f"- {place.short_id}, {where}: {whose}{title}" if with_id else f"- In {where}: {whose}{title}"
    return head + format_record(place.text, max(_LEAST_PLACE_CHARS // 2, most_chars - len(head)))


def nothing_note(project: Project, documents: Sequence[str]) -> PromptMemory:
    """Build the note that the documents of a project do not say what is asked. Pure."""
    names = describe_looked_at(documents)
    line = f"- In the documents of {format_record(project.name, _NAME_CHARS)} nothing fits these words: {names}."
    return PromptMemory(project.id, None, line, project=project.name, looked_at=names)


def describe_looked_at(documents: Sequence[str]) -> str:
    """Name the documents that were looked at, the first of many. Pure."""
    names = [format_record(name, _NAME_CHARS) for name in documents[:_LOOKED_AT]]
    more = len(documents) - len(names)
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")


def cite_reply(
    words: str, reply: str, memories: Sequence[PromptMemory], earlier: Mapping[str, OfferedPlace], tier: Tier
) -> list[Citation]:
    """Return what a reply rests on in documents: what it cites, checked; for a model that does not cite, the place that
    answers best, found by rule. `earlier`: what was offered before in this conversation. Pure."""
    places = [memory.place for memory in memories if memory.place is not None]
    offered = {**earlier, **{place.short_id: place for place in places}}
    cited = resolve_citations(reply, offered) if offered else []
    if not cited and tier is not Tier.CAPABLE and (chosen := choose_citation(words, reply, places)) is not None:
        return [chosen]
    looked_at = next((memory.looked_at for memory in memories if memory.looked_at), "")
    if not cited and looked_at:
        return [Citation("", CitationState.NOT_IN_DOCUMENTS, CitationMaker.RULES, document=looked_at)]
    return cited
