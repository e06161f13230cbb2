"""The material in the prompt of a task: orientation, log and knowledge in their shares of the context. Pure.

25 % orientation, 15 % tasks and activities, 60 % chunks (V-125). Every text is a record of one line or of fenced
ones, so that none can pass for another.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from reveries.knowledge.model import Chunk
from reveries.projects.model import Criterion, Orientation, TaskStatus, WorkLogEntry, WorkTask
from reveries.safe_text import one_line
from reveries.tools.results import fence

ORIENTATION_SHARE = 0.25
LOG_SHARE = 0.15
KNOWLEDGE_SHARE = 0.60
_MOST_CHUNK_CHARS = 1200
_MOST_TITLE_CHARS = 200


@dataclass(frozen=True, slots=True)
class Material:
    """Texts for a prompt, and the chunk id for each name in them."""

    orientation: str
    lately: str
    known: str
    names: Mapping[str, str]
    """Chunk id by its name in the text ("k1")."""


@dataclass(frozen=True, slots=True)
class ShownChunk:
    """A chunk that has its place in a prompt, with at most so many of its characters."""

    chunk: Chunk
    most_chars: int

    @property
    def about(self) -> str:
        """What its head says of it."""
        return f" · {self.chunk.confidence.value} · {format_day(self.chunk.created_at)}"

    def format(self, number: int, last: str) -> str:
        """Return its record; `last`: what the head before it says."""
        head = f"[k{number}{self.about if self.about != last else ''}]"
        title = f"{head} {_without_brackets(self.chunk.title)}".rstrip()
        return f"{title}\n{quote_chunk(self.chunk, self.most_chars)}"


def gather_material(
    orientation: Orientation, log: Sequence[WorkLogEntry], chunks: Sequence[Chunk], *, chars: int
) -> Material:
    """Gather the material; `chunks` are given best first, and those that do not fit are left out."""
    known_text, names = list_chunks(chunks, int(chars * KNOWLEDGE_SHARE))
    return Material(
        orientation=describe_orientation(orientation)[: int(chars * ORIENTATION_SHARE)],
        lately="\n".join(f"- {describe_entry(entry)}" for entry in log if not entry.is_foreign)[
            : int(chars * LOG_SHARE)
        ]
        or "nothing yet",
        known=known_text,
        names=names,
    )


def list_chunks(
    chunks: Sequence[Chunk], chars: int, first: int = 1, *, most_chunk_chars: int = _MOST_CHUNK_CHARS
) -> tuple[str, dict[str, str]]:
    """Format those chunks that fit into `chars` as records, named from k`first` on; also return the ids by name.
    `chunks`: best first; pieces of one document stand together where its best one would, in their order there."""
    chosen, _ = choose_chunks(chunks, chars, most_chunk_chars=most_chunk_chars)
    return format_chunks(chosen, chars, first)


def choose_chunks(
    chunks: Sequence[Chunk], chars: int, *, most_chunk_chars: int = _MOST_CHUNK_CHARS
) -> tuple[list[ShownChunk], int]:
    """Return those chunks that fit into `chars`, and how many characters are left."""
    chosen: list[ShownChunk] = []
    left, last = chars, ""
    for chunk in chunks:
        shown = ShownChunk(chunk, most_chunk_chars)
        record = shown.format(len(chosen) + 1, last)
        if len(record) > left:
            continue
        left -= len(record) + 1
        chosen.append(shown)
        last = shown.about
    return chosen, left


def format_chunks(chosen: Sequence[ShownChunk], chars: int, first: int = 1) -> tuple[str, dict[str, str]]:
    """Format chunks as records. What is known of one as of the one before it is not said again: of a file with many
    sections that is half of a head."""
    lines: list[str] = []
    names: dict[str, str] = {}
    left, last = chars, ""
    for shown in _join_documents(chosen):
        number = first + len(names)
        record = shown.format(number, last)
        if len(record) > left:
            continue
        left -= len(record) + 1
        lines.append(record)
        names[f"k{number}"], last = shown.chunk.id, shown.about
    return "\n".join(lines) or "nothing yet", names


def _join_documents(chosen: Sequence[ShownChunk]) -> list[ShownChunk]:
    """Put the pieces of each document together, in the order in which they stand in it."""
    by_document: dict[str, list[ShownChunk]] = {}
    for shown in chosen:
        by_document.setdefault(shown.chunk.document_id or shown.chunk.id, []).append(shown)
    return [
        shown for pieces in by_document.values() for shown in sorted(pieces, key=lambda piece: piece.chunk.first_line)
    ]


CONFLICTS_TITLE = "Found before in the notes not to go together, and open (each with its two places):"


def section(title: str, text: str) -> str:
    """Return a part of a prompt under its title; nothing if it is empty, as most are at first."""
    return f"\n{title}\n{text}\n" if text else ""


def format_day(at: float) -> str:
    """Format a time as a day where the owner is: 28 Nov 2026."""
    return datetime.fromtimestamp(at).strftime("%-d %b %Y")


def format_today(at: float) -> str:
    """Format a time for a prompt: Saturday 28 November 2026, 14:05."""
    return datetime.fromtimestamp(at).strftime("%A %-d %B %Y, %H:%M")


def quote_chunk(chunk: Chunk, most_chars: int = _MOST_CHUNK_CHARS) -> str:
    """Quote the text of a chunk line by line, word for word: rows of tables and boxes of lists stay what they are."""
    text = chunk.content.strip()
    cut = f"\n({len(text) - most_chars:,} more characters are not shown)" if len(text) > most_chars else ""
    return fence(text[:most_chars].splitlines()) + cut


def _without_brackets(title: str) -> str:
    return one_line(title, _MOST_TITLE_CHARS).replace("[", "(").replace("]", ")")


def describe_orientation(orientation: Orientation) -> str:
    """Format an orientation as text."""
    parts = [
        describe_purpose(orientation),
        f"phase: {orientation.current_phase.value}",
        _listed("areas", [f"{node.skill} ({node.status})" for node in orientation.skill_map]),
        _listed("priorities", orientation.active_priorities),
    ]
    return "\n".join(part for part in parts if part)


def describe_purpose(orientation: Orientation) -> str:
    """Format what of an orientation each task must know: what is to be reached, what limits it, what was decided."""
    criteria = [
        criterion.text + _flag(criterion.flagged_because) + _reached(criterion)
        for criterion in orientation.success_criteria
    ]
    decided = [
        f"{decision.decision}: {decision.reasoning}{_flag(decision.flagged_because)}"
        for decision in orientation.key_decisions
    ]
    parts = [
        orientation.vision_summary or "nothing is written down yet",
        _listed("criteria", criteria),
        _listed("constraints", orientation.constraints),
        _listed("decided", decided),
    ]
    return "\n".join(part for part in parts if part)


def describe_tasks(tasks: Sequence[WorkTask]) -> str:
    """Format tasks, one per line, finished ones with their outcome."""
    lines = [
        f"- {task.title} ({task.skill_area or 'general'}, {task.status.value})"
        + (f" (IN DOUBT: it {task.flagged_because})" if task.flagged_because else "")
        + (f": {one_line(task.outcome, 200)}" if task.status is TaskStatus.DONE else "")
        for task in tasks
        if task.status is not TaskStatus.DROPPED
    ]
    return "\n".join(lines) or "none yet"


def describe_entry(entry: WorkLogEntry) -> str:
    return f"{entry.action} {one_line(entry.details, 160)}".strip()


def _listed(name: str, items: Sequence[str]) -> str:
    return f"{name}: " + "; ".join(items) if items else ""


def _reached(criterion: Criterion) -> str:
    return " (REACHED)" if criterion.reached_by and not criterion.flagged_because else ""


def _flag(why: str) -> str:
    return " (IN DOUBT)" if why else ""
