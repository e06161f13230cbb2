"""What an outcome stands on, and what code can check of it (DESIGN: an outcome is audited, not believed). Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_SPACES = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class QuotedChunk:
    """Words that are said to stand in a chunk."""

    chunk_id: str
    quote: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a worker hands in with its outcome."""

    quotes: tuple[QuotedChunk, ...] = ()
    chunk_ids: tuple[str, ...] = ()
    """What the outcome rests on."""
    files: Mapping[str, str] = field(default_factory=dict)
    """By path: the SHA-256 that it is said to have."""
    commands: tuple[str, ...] = ()
    """Commands that are said to have ended well."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is so, read by code: texts of chunks, hashes of files, exit codes of commands."""

    chunks: Mapping[str, str]
    files: Mapping[str, str] = field(default_factory=dict)
    commands: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Observed:
    """What code saw of a try's work in the folder, after it was handed in."""

    files: Mapping[str, str] = field(default_factory=dict)
    """By path: the SHA-256 of a file that is there."""
    commands: Mapping[str, int] = field(default_factory=dict)
    """What each command ended with."""
    lines: tuple[str, ...] = ()
    """The same for a reader, with the beginnings of files."""


def find_faults(evidence: Evidence, facts: Facts) -> tuple[str, ...]:
    """What of the evidence is not so, a sentence each; empty where all that code can check holds."""
    found = [f"It rests on {name}, which is not there." for name in evidence.chunk_ids if name not in facts.chunks]
    for one in evidence.quotes:
        if one.chunk_id not in facts.chunks:
            found.append(f"It quotes {one.chunk_id}, which is not there.")
        elif not stands_in(one.quote, facts.chunks[one.chunk_id]):
            found.append(f"The quote does not stand in its source: “{one.quote[:80]}”.")
    for path, digest in evidence.files.items():
        if path not in facts.files:
            found.append(f"The file {path} is not there.")
        elif facts.files[path] != digest:
            found.append(f"The file {path} is another than the one that was handed in.")
    for command in evidence.commands:
        code = facts.commands.get(command)
        if code is None:
            found.append(f"The command was never run: {command}.")
        elif code:
            found.append(f"The command failed with {code}: {command}.")
    return tuple(found)


def stands_in(quote: str, text: str) -> bool:
    """Whether `quote` stands in `text` word for word; how lines are broken does not count."""
    wanted = _SPACES.sub(" ", quote).strip()
    return bool(wanted) and wanted in _SPACES.sub(" ", text)
