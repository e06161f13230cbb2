"""The evidence for an outcome, and what code can check of it (DESIGN: an outcome is audited, not believed). Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from reveries.projects.model import TaskFile

_SPACES = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class QuotedChunk:
    """A claimed quote from a chunk."""

    chunk_id: str
    quote: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence that comes with an outcome."""

    quotes: tuple[QuotedChunk, ...] = ()
    chunk_ids: tuple[str, ...] = ()
    """Ids of the chunks that the outcome rests on."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Claimed SHA-256 by path."""
    commands: tuple[str, ...] = ()
    """Commands that are claimed to have succeeded."""


@dataclass(frozen=True, slots=True)
class AuditVerdict:
    """Whether an outcome is accepted, and why."""

    is_accepted: bool
    why: str
    reached: tuple[str, ...] = ()
    """The success criteria that its evidence shows to be reached."""
    is_judged: bool = True
    """False if no usable answer came: then there is nothing to mend."""


@dataclass(frozen=True, slots=True)
class EvidenceFacts:
    """Facts read by code: texts of chunks, hashes of files, exit codes of commands."""

    chunks: Mapping[str, str]
    files: Mapping[str, str] = field(default_factory=dict)
    commands: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Observed:
    """What code observed of an attempt's work in the folder, after it finished."""

    files: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 by path, of existing files."""
    commands: Mapping[str, int] = field(default_factory=dict)
    """Exit code by command."""
    lines: tuple[str, ...] = ()
    """The same as readable records: files with their text, commands with the end of their output."""
    task_files: tuple[TaskFile, ...] = ()
    """All that was made and used in the folder, with hashes."""


def find_faults(evidence: Evidence, facts: EvidenceFacts) -> tuple[str, ...]:
    """Return what is wrong with the evidence, a sentence each; empty if all that code can check holds."""
    faults = [f"It rests on {name}, which is not there." for name in evidence.chunk_ids if name not in facts.chunks]
    for quote in evidence.quotes:
        if quote.chunk_id not in facts.chunks:
            faults.append(f"It quotes {quote.chunk_id}, which is not there.")
        elif not stands_in(quote.quote, facts.chunks[quote.chunk_id]):
            faults.append(f"The quote does not stand in its source: “{quote.quote[:80]}”.")
    for path, digest in evidence.files.items():
        if path not in facts.files:
            faults.append(f"The file {path} is not there.")
        elif facts.files[path] != digest:
            faults.append(f"The file {path} is another than the one that was handed in.")
    for command in evidence.commands:
        code = facts.commands.get(command)
        if code is None:
            faults.append(f"The command was never run: {command}.")
        elif code:
            faults.append(f"The command failed with {code}: {command}.")
    return tuple(faults)


def stands_in(quote: str, text: str) -> bool:
    """Whether `quote` is in `text` word for word, ignoring line breaks."""
    wanted = _SPACES.sub(" ", quote).strip()
    return bool(wanted) and wanted in _SPACES.sub(" ", text)
