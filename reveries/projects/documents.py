"""Documents that the owner adds to a project, and knowledge that the owner retracts."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial

from reveries.errors import NotFoundError, UsageError
from reveries.knowledge.model import Chunk, ChunkType, NewChunk
from reveries.projects.model import Project
from reveries.projects.premise import last_version
from reveries.projects.sections import path_of, source_name, split_text
from reveries.projects.store import ProjectStore
from reveries.safe_text import one_line

MOST_CHUNKS = 2000
_REASON_CHARS = 300


@dataclass(frozen=True, slots=True)
class DocumentChange:
    """What changed in a project's knowledge when a document was added."""

    stored: Sequence[str]
    """Ids of the chunks of new sections."""
    retired: int
    """Number of sections of an earlier version that were retired."""


def describe_sections(stored: int, retired: int) -> str:
    """Say how many sections of a text are new, and how many of its earlier version are gone. Pure."""
    words = [f"{count_noun(stored, 'new section')}"] if stored else []
    words += [f"{count_noun(retired, 'earlier section')} no longer there"] if retired else []
    return ", ".join(words) or "nothing new"


def count_noun(number: int, noun: str) -> str:
    """Return a number with its noun in the plural where it needs one. Pure."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def chunks_of_text(name: str, text: str, *, is_own: bool) -> list[NewChunk]:
    """As `split_text`, for a document that is added as a whole. Raises UsageError where there is nothing, or too
    much."""
    pieces = split_text(name, text, is_own=is_own)
    if not pieces:
        raise UsageError(f"There is no text in {name[:80]}.", advice="Only text can be added: Markdown, or plain.")
    if len(pieces) > MOST_CHUNKS:
        raise UsageError(
            f"{name[:80]} is too long: {len(pieces)} pieces, and {MOST_CHUNKS} may be added at once.",
            advice="Add the parts that matter.",
        )
    return pieces


def known_sections(every: Sequence[Chunk], gone: Collection[str] = ()) -> Set[tuple[str, str]]:
    """Return title and content of the chunks that hold, or whose replacement does. `gone`: ids of chunks that will be
    retired; what one of them replaced does not count as known, so it is stored again where it is back. Pure."""
    by_id = {one.id: one for one in every}
    return {(one.title, one.content) for one in every if _is_in_force(one, by_id, gone)}


def rejected_sections(sections: Iterable[Chunk]) -> Set[tuple[str, str]]:
    """Return title and content of the sections that fell for another reason than being gone from their file: the owner
    retracted them, or settled a contradiction otherwise. Pure."""
    fallen = (one for one in sections if one.fell_because)
    return {(one.title, one.content) for one in fallen if one.fell_because != _why_gone(one)}


async def store_document(
    store: ProjectStore, project: Project, sections: Sequence[NewChunk], known: Set[tuple[str, str]]
) -> list[str]:
    """Store a text's sections and return the ids of the new ones; those in `known` are neither stored nor embedded
    again."""
    new = [one for one in sections if (one.title, one.content) not in known]
    return await store.knowledge.store(project.id, new, are_one_text=True) if new else []


async def update_document(
    store: ProjectStore, project: Project, name: str, text: str, *, is_own: bool
) -> DocumentChange:
    """Store the current version of a document: new sections are added, and sections of an earlier version that are no
    longer in it are retired, so that what rests on them is held. Raises UsageError."""
    sections = chunks_of_text(name, text, is_own=is_own)
    wanted = {(one.title, one.content) for one in sections}
    every = await store.knowledge.of_project(project.id)
    gone = [one for one in every if _is_of_document(one, name) and (one.title, one.content) not in wanted]
    stored = await store_document(store, project, sections, known_sections(every, {one.id for one in gone}))
    retired = await retire_sections(store, project, gone)
    await place_sections(store, project, {name: sections}, partial(_is_of_document, name=name))
    if stored or retired:
        async with store.transaction() as transaction:
            words = f"{one_line(name, 80)}: {describe_sections(len(stored), retired)}"
            await store.log.put(transaction, project.id, "material.added", words)
            await store.rests.clear(transaction, project.id)
    return DocumentChange(stored, retired)


async def place_sections(
    store: ProjectStore,
    project: Project,
    read: Mapping[str, Sequence[NewChunk]],
    is_section: Callable[[Chunk], bool],
) -> None:
    """Note where the sections of these documents stand now: what is unchanged may have moved, and what is no longer
    there stands nowhere. `is_section`: which chunks of the project can be meant."""
    places = {(item.title, item.content): item for sections in read.values() for item in sections}
    every = await store.knowledge.of_project(project.id)
    async with store.transaction() as transaction:
        for chunk in every:
            if path_of(chunk) not in read or not is_section(chunk):
                continue
            now = places.get((chunk.title, chunk.content))
            first_line, lead = (now.first_line, now.lead) if now is not None else (0, "")
            if (chunk.first_line, chunk.lead) != (first_line, lead):
                await store.knowledge.place(transaction, chunk.id, first_line, lead)


async def retire_sections(store: ProjectStore, project: Project, gone: Iterable[Chunk]) -> int:
    """Mark sections as fallen that are no longer in their file and not replaced by a newer one; return how many."""
    async with store.transaction() as transaction:
        there = {one.id: one for one in await store.knowledge.read(transaction, project.id)}
        fallen = [one for one in gone if one.id in there and there[one.id].stands]
        for one in fallen:
            await store.knowledge.mark_fallen(transaction, project.id, one.id, _why_gone(one))
    return len(fallen)


def _why_gone(section: Chunk) -> str:
    """Return why a section falls that is no longer in its file. Stored: `rejected_sections` knows it by these words."""
    return f"it stands no more in {path_of(section)}"


def _is_of_document(chunk: Chunk, name: str) -> bool:
    """Whether a chunk is a section of the document that the owner added under this name."""
    is_section = chunk.type is ChunkType.RESOURCE and chunk.task_id is None and path_of(chunk) == name
    return is_section and not chunk.fell_because and chunk.foreign_sources <= {source_name(name)}


def _is_in_force(chunk: Chunk, every: Mapping[str, Chunk], gone: Collection[str]) -> bool:
    """Whether a chunk, or the one that replaced it, holds and is not about to be retired."""
    last = last_version(chunk.id, every)
    return not chunk.fell_because and last is not None and last.stands and last.id not in gone


async def note_fallen_chunk(store: ProjectStore, project: Project, prefix: str, why: str) -> None:
    """Retract a chunk: it no longer counts, and the next wake holds what rests on it. Raises NotFoundError, and
    UsageError if it fell already."""
    found = [one for one in await store.knowledge.of_project(project.id) if one.id.startswith(prefix)]
    if len(found) != 1:
        raise NotFoundError(
            f"{len(found) or 'No'} pieces of knowledge have an id that begins with {prefix[:40]}.",
            advice=f"Find it: reveries project know {project.name}",
        )
    if found[0].fell_because:
        why_fallen = one_line(found[0].fell_because, _REASON_CHARS)
        raise UsageError(f"That was taken out already: {why_fallen}", advice="Nothing was changed.")
    async with store.transaction() as transaction:
        await store.knowledge.mark_fallen(transaction, project.id, found[0].id, why)
        await store.log.put(transaction, project.id, "chunk.fell", why)
        await store.rests.clear(transaction, project.id)
