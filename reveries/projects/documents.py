"""Documents as a project knows them: new sections of a text are stored, and sections that it has no more fall."""

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import PurePath

from reveries.errors import NotFoundError, UsageError
from reveries.knowledge.documents import (
    Document,
    DocumentOrigin,
    choose_name,
    mark_document_gone,
    put_document,
)
from reveries.knowledge.model import Chunk, Fall, NewChunk
from reveries.projects.model import Project
from reveries.projects.premise import last_version
from reveries.projects.section_changes import compare_section
from reveries.projects.sections import split_text
from reveries.projects.store import ProjectStore
from reveries.safe_text import one_line

MOST_CHUNKS = 2000
_REASON_CHARS = 300


@dataclass(frozen=True, slots=True)
class DocumentVersion:
    """A document as it is now, cut into sections."""

    document: Document
    sections: Sequence[NewChunk]

    @property
    def texts(self) -> Set[tuple[str, str]]:
        """Title and content of each section."""
        return {(section.title, section.content) for section in self.sections}


@dataclass(frozen=True, slots=True)
class DocumentChange:
    """What changed in a project's knowledge when documents were read."""

    stored: Sequence[str]
    """Ids of the chunks of new sections."""
    gone: Sequence[Chunk]
    """The sections that stood, and that their documents have no more."""
    retired: int
    """Number of those whose lines are gone: none that a new section had replaced already, or that only grew."""


@dataclass(frozen=True, slots=True)
class AddedDocument:
    """A document that the owner added, or added again. `namesake`: the document that had its name before it came."""

    document: Document
    change: DocumentChange
    namesake: Document | None = None


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


async def update_document(
    store: ProjectStore, project: Project, name: str, text: str, *, is_own: bool, path: str = ""
) -> AddedDocument:
    """Store the current version of an added document: the one at `path` on the owner's machine, or, where no place is
    given, the one of this name. What rests on sections that it has no more is held. Raises UsageError."""
    documents = await store.knowledge.documents(project.id)
    found = find_added(documents, name, path)
    document = found
    if document is None:
        shown = [name, f"{PurePath(path).parent.name}/{name}", path] if path else [name]
        document = store.knowledge.new_document(
            project.id, DocumentOrigin.ADDED, path or name, choose_name(shown, documents)
        )
    document = replace(document, path=path or document.path, is_trusted=is_own).with_text(text)
    version = DocumentVersion(document, chunks_of_text(document.name, text, is_own=is_own))
    change = await store_versions(store, project, [version])
    if change.stored or change.retired:
        async with store.transaction() as transaction:
            words = f"{one_line(document.name, 80)}: {describe_sections(len(change.stored), change.retired)}"
            await store.log.put(transaction, project.id, "material.added", words)
            await store.rests.clear(transaction, project.id)
    namesake = next((item for item in documents if item.name == name), None) if found is None else None
    return AddedDocument(document, change, namesake)


def find_added(documents: Sequence[Document], name: str, path: str) -> Document | None:
    """Return the added document at a place, or of a name where no place is given. One whose place is not known, because
    an earlier program or an MCP client added it, is the one at `path` if that ends with its name. Pure."""
    added = [document for document in documents if document.origin is DocumentOrigin.ADDED]
    unplaced = [document for document in added if not document.path.startswith("/")]
    candidates = (
        *(document for document in added if document.path == (path or name)),
        *(document for document in unplaced if f"/{path}".endswith(f"/{document.path}")),
        *(document for document in added if not path and document.name == name),
    )
    return next(iter(candidates), None)


async def store_versions(
    store: ProjectStore,
    project: Project,
    versions: Sequence[DocumentVersion],
    missing: Collection[Document] = (),
    *,
    with_retracted: bool = True,
) -> DocumentChange:
    """Store what is new in these documents, and retire what they, or the `missing` ones, have no more.
    `with_retracted`: what the owner retracted, or settled otherwise, is stored again where a document still has it."""
    every = await store.knowledge.of_project(project.id)
    gone = _find_gone(every, versions, missing)
    gone_ids, by_id = {chunk.id for chunk in gone}, {chunk.id: chunk for chunk in every}
    stored: list[str] = []
    for version in versions:
        earlier = [chunk for chunk in every if chunk.document_id == version.document.id]
        kept = {
            (chunk.title, chunk.content)
            for chunk in earlier
            if _is_in_force(chunk, by_id, gone_ids)
            or (chunk.fell_because and chunk.fall is not Fall.LEFT_DOCUMENT and not with_retracted)
        }
        stored += await _store_version(store, project, version, earlier, kept)
    retired = await _retire_sections(store, project, gone, missing)
    return DocumentChange(stored, gone, retired)


async def _store_version(
    store: ProjectStore,
    project: Project,
    version: DocumentVersion,
    earlier: Sequence[Chunk],
    kept: Set[tuple[str, str]],
) -> list[str]:
    """Store a document with its new sections, and note where the earlier ones stand now: what is unchanged may have
    moved, and what is no longer there stands nowhere. Sections in `kept` are neither stored nor embedded again."""
    new = [
        replace(section, document_id=version.document.id)
        for section in version.sections
        if (section.title, section.content) not in kept
    ]
    prepared = await store.knowledge.prepare(project.id, new, are_one_text=True)
    places = {(section.title, section.content): (section.first_line, section.lead) for section in version.sections}
    async with store.transaction() as transaction:
        await put_document(transaction, version.document)
        ids = await store.knowledge.put(transaction, project.id, prepared)
        for chunk in earlier:
            first_line, lead = places.get((chunk.title, chunk.content), (0, ""))
            if (chunk.first_line, chunk.lead) != (first_line, lead):
                await store.knowledge.place(transaction, chunk.id, first_line, lead)
    return ids


def _find_gone(
    every: Sequence[Chunk], versions: Sequence[DocumentVersion], missing: Collection[Document]
) -> list[Chunk]:
    """Return the sections that their document has no more, and those of documents that are gone. Pure."""
    now = {version.document.id: version.texts for version in versions} | {document.id: set() for document in missing}
    return [
        chunk
        for chunk in every
        if chunk.stands and chunk.document_id in now and (chunk.title, chunk.content) not in now[chunk.document_id]
    ]


async def _retire_sections(
    store: ProjectStore, project: Project, gone: Sequence[Chunk], missing: Iterable[Document]
) -> int:
    """Mark sections as fallen that left their document and that no newer one replaced meanwhile. Return of how many the
    lines are gone: not of those that only grew."""
    async with store.transaction() as transaction:
        now = {chunk.id: chunk for chunk in await store.knowledge.read(transaction, project.id)} if gone else {}
        fallen = [chunk for chunk in gone if chunk.id in now and now[chunk.id].stands]
        for chunk in fallen:
            why = f"it stands no more in {chunk.document}"
            await store.knowledge.mark_fallen(transaction, project.id, chunk.id, Fall.LEFT_DOCUMENT, why)
        for document in missing:
            await mark_document_gone(transaction, document.id)
        after = await store.knowledge.read(transaction, project.id) if fallen else []
    return sum(not compare_section(chunk, after).has_only_grown for chunk in fallen)


def _is_in_force(chunk: Chunk, chunks_by_id: Mapping[str, Chunk], gone: Collection[str]) -> bool:
    """Whether a chunk, or the one that replaced it, holds and is not about to be retired."""
    last = last_version(chunk.id, chunks_by_id)
    return not chunk.fell_because and last is not None and last.stands and last.id not in gone


async def note_fallen_chunk(store: ProjectStore, project: Project, prefix: str, why: str) -> None:
    """Retract a chunk: it no longer counts, and the next wake holds what rests on it. Raises NotFoundError, and
    UsageError if it fell already."""
    matches = [chunk for chunk in await store.knowledge.of_project(project.id) if chunk.id.startswith(prefix)]
    if len(matches) != 1:
        raise NotFoundError(
            f"{len(matches) or 'No'} pieces of knowledge have an id that begins with {prefix[:40]}.",
            advice=f"Find it: reveries project know {project.name}",
        )
    if matches[0].fell_because:
        why_fallen = one_line(matches[0].fell_because, _REASON_CHARS)
        raise UsageError(f"That was taken out already: {why_fallen}", advice="Nothing was changed.")
    async with store.transaction() as transaction:
        await store.knowledge.mark_fallen(transaction, project.id, matches[0].id, Fall.RETRACTED, why)
        await store.log.put(transaction, project.id, "chunk.fell", why)
        await store.rests.clear(transaction, project.id)
