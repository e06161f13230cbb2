"""What no longer holds when a chunk falls (DESIGN: the premise falls). Pure.

A chunk falls when it is contradicted, replaced or erased. Chunks derived from it fall too, and so do the findings of
tasks that rest on it. A task that needs such a task rests on it as well.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from reveries.knowledge.model import Chunk
from reveries.projects.model import Orientation, TaskStatus, WorkTask
from reveries.projects.section_changes import has_only_grown
from reveries.safe_text import one_line

_TITLE_CHARS = 60
_FILE = "file:"
"""Before the path of a file in a chain."""
_OPEN = (TaskStatus.READY, TaskStatus.IN_PROGRESS, TaskStatus.BLOCKED)


@dataclass(frozen=True, slots=True)
class Fallen:
    """Everything that rests on a fallen chunk, by id with the chain that leads to it, the fallen chunk first."""

    chunks: Mapping[str, tuple[str, ...]]
    held: Mapping[str, tuple[str, ...]]
    """Tasks that are not done yet."""
    flagged: Mapping[str, tuple[str, ...]]
    """Tasks that are done."""
    decisions: tuple[int, ...]
    """Indexes in the orientation's list."""
    criteria: tuple[int, ...]


def what_falls(
    chunks: Sequence[Chunk],
    tasks: Sequence[WorkTask],
    orientation: Orientation,
    *,
    also_fallen: Iterable[str] = (),
    changed_files: Mapping[str, str] = MappingProxyType({}),
) -> Fallen:
    """Find everything that rests on a fallen chunk, over any number of steps. A chunk that is referenced but missing
    was erased. `also_fallen` counts as fallen regardless of its row; `changed_files`: for the id of a task, a file that
    it was made from and that changed since."""
    by_id = {chunk.id: chunk for chunk in chunks}
    named = {base for chunk in chunks for base in chunk.rests_on}
    named |= {base for task in tasks for base in task.rests_on}
    named |= {base for decision in orientation.key_decisions for base in decision.rests_on}
    named |= {base for criterion in orientation.success_criteria for base in criterion.rests_on}
    chains: dict[str, tuple[str, ...]] = {
        name: (name,)
        for name in sorted(named | by_id.keys())
        if name in also_fallen or name not in by_id or not is_unchanged(by_id[name], chunks)
    }
    task_chains: dict[str, tuple[str, ...]] = {name: (f"{_FILE}{path}", name) for name, path in changed_files.items()}
    is_growing = True
    while is_growing:
        is_growing = False
        for task in tasks:
            if task.id not in task_chains and (
                chain := _chain(chains, task.rests_on) or _chain(task_chains, task.needs)
            ):
                task_chains[task.id] = (*chain, task.id)
                is_growing = True
        for chunk in chunks:
            if chunk.id in chains:
                continue
            of_task = (chunk.task_id,) if chunk.task_id is not None else ()
            if chain := _chain(chains, chunk.rests_on) or _chain(task_chains, of_task):
                chains[chunk.id] = (*chain, chunk.id)
                is_growing = True
    statuses = {task.id: task.status for task in tasks}
    return Fallen(
        chunks=chains,
        held={name: chain for name, chain in task_chains.items() if statuses[name] in _OPEN},
        flagged={name: chain for name, chain in task_chains.items() if statuses[name] is TaskStatus.DONE},
        decisions=_fallen_places(chains, [decision.rests_on for decision in orientation.key_decisions]),
        criteria=_fallen_places(chains, [criterion.rests_on for criterion in orientation.success_criteria]),
    )


def is_unchanged(chunk: Chunk, chunks: Sequence[Chunk]) -> bool:
    """Whether what rests on a chunk still can: it stands, or the section that it was only grew since."""
    return chunk.stands or has_only_grown(chunk, chunks)


def titles_of(chunks: Iterable[Chunk], tasks: Iterable[WorkTask]) -> dict[str, str]:
    """Return what chunks and tasks are called, by id; a chunk without a title by its first words."""
    named = {chunk.id: chunk.title or one_line(chunk.content, _TITLE_CHARS) for chunk in chunks}
    return named | {task.id: task.title for task in tasks}


def say_chain(chain: Sequence[str], titles: Mapping[str, str], changed_lines: str = "") -> str:
    """Say why something no longer holds: the chain of what it rests on, the fallen chunk or changed file first, and
    what of it changed where that is known."""
    is_file = chain[0].startswith(_FILE)
    first = chain[0].removeprefix(_FILE) if is_file else titles.get(chain[0], "something erased")
    names = [first, *(titles.get(name, "something erased") for name in chain[1:])]
    return f"rests on {' > '.join(names)}, which {'changed' if is_file or changed_lines else 'fell'}" + (
        f": {changed_lines}" if changed_lines else ""
    )


def find_changed_files(
    tasks: Sequence[WorkTask],
    digests: Mapping[str, str],
    has_only_grown: Callable[[WorkTask, str], bool] = lambda task, path: False,
) -> dict[str, str]:
    """Return, by the id of a finished task, a file that it was made from and that is another one now. `digests`: the
    hashes of the files as they are; one that is gone is not in it. A file that a later task made or found as it is now
    changed by the work itself; one that `has_only_grown` since the task still says what it was made from."""
    changed: dict[str, str] = {}
    done = [finished for finished in tasks if finished.status is TaskStatus.DONE]
    for task in done:
        later = [other for other in done if (other.completed_at or 0.0) >= (task.completed_at or 0.0)]
        allowed = {(file.path, file.sha256) for other in later for file in other.files}
        for file in task.files:
            is_other = not file.is_made and (file.path, digests.get(file.path, "")) not in allowed
            if is_other and task.id not in changed and not has_only_grown(task, file.path):
                changed[task.id] = file.path
    return changed


def standing_bases(bases: Iterable[str], chunks: Mapping[str, Chunk]) -> tuple[str, ...]:
    """Return the bases that still hold, each in its latest version."""
    versions = [last for base in bases if (last := last_version(base, chunks)) is not None]
    return tuple(dict.fromkeys(version.id for version in versions if is_unchanged(version, [*chunks.values()])))


def last_version(chunk_id: str, chunks: Mapping[str, Chunk]) -> Chunk | None:
    """Return the chunk that replaced this one, over any number of replacements; itself if none did."""
    seen: set[str] = set()
    chunk = chunks.get(chunk_id)
    while chunk is not None and chunk.superseded_by is not None and chunk.id not in seen:
        seen.add(chunk.id)
        chunk = chunks.get(chunk.superseded_by)
    return chunk


def _chain(chains: Mapping[str, tuple[str, ...]], bases: Iterable[str]) -> tuple[str, ...]:
    """Return the shortest chain of one of `bases`; empty if none of them fell."""
    return min((chains[base] for base in bases if base in chains), key=len, default=())


def _fallen_places(chains: Mapping[str, tuple[str, ...]], rests: Sequence[tuple[str, ...]]) -> tuple[int, ...]:
    return tuple(place for place, bases in enumerate(rests) if _chain(chains, bases))
