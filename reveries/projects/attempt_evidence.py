"""What an attempt left behind, as an auditor is shown it: files with their text, commands with their end. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import PurePosixPath
from typing import Final

from reveries.projects.step_material import FolderFile
from reveries.tools.results import fence

MOST_EVIDENCE_CHARS: Final = 16_000
_LEAST_FILE_CHARS: Final = 1_000
_COMMAND_LINES: Final = 25
_COMMAND_CHARS: Final = 1_500
_MOST_COMMANDS: Final = 8
_SHARE_OF_BEGINNING: Final = 0.7
_WORD: Final = re.compile(r"[\w./*?-]+")
"""What may be the name of a file, or a pattern of names."""
_PROSE: Final = frozenset({".md", ".markdown", ".txt", ".rst", ".org", ".adoc"})
"""Files of text for people: an asterisk in them is emphasis."""
_EMPHASIS: Final = re.compile(r"(\*{2,3})[^*]+\1")
_PATTERN: Final = re.compile(r"\*\.\w|\w\*|\?\.\w")


@dataclass(frozen=True, slots=True)
class CommandRun:
    """The last run of a command."""

    command: str
    exit_code: int
    output: str
    changed_after: tuple[str, ...] = ()
    """Files that were written after it ran."""


@dataclass(frozen=True, slots=True)
class FileText:
    """A file as it is now; `text` is None if it is gone, and empty with a reason in `problem` if it is no text."""

    path: str
    text: str | None
    problem: str = ""


def find_made_files(before: Sequence[FolderFile], after: Sequence[FolderFile]) -> list[str]:
    """Return the paths that are new or changed."""
    before_by_path = {file.path: (file.size_bytes, file.changed_at) for file in before}
    return [file.path for file in after if before_by_path.get(file.path) != (file.size_bytes, file.changed_at)]


def is_prose(path: str) -> bool:
    """Whether a file holds text for people by its name: no program, and no table."""
    return PurePosixPath(path).suffix.lower() in _PROSE


def find_used_files(paths: Sequence[str], texts: Sequence[str], prose: Sequence[str] = ()) -> list[str]:
    """Return which files are named in what an attempt did: in a path, a command, or a program that it wrote. A file is
    named by its path, by its name alone, or by a pattern that it matches. `prose`: texts for people that it wrote,
    which hold names and no patterns."""
    commanded = _words_of(texts)
    words = commanded | _words_of(prose)
    patterns = [word for word in commanded if _PATTERN.search(word) and not _EMPHASIS.fullmatch(word)]
    used = []
    for path in paths:
        names = {path, PurePosixPath(path).name}
        is_named = bool(names & words) or any(fnmatch(name, pattern) for name in names for pattern in patterns)
        is_odd = not any(_WORD.fullmatch(name) for name in names)
        if is_named or (is_odd and any(name in text for name in names for text in (*texts, *prose))):
            used.append(path)
    return used


def _words_of(texts: Sequence[str]) -> set[str]:
    return {word.removeprefix("./").rstrip(".") for text in texts for word in _WORD.findall(text)}


def describe_runs(runs: Sequence[CommandRun]) -> list[str]:
    """Describe commands with exit code and the end of their output."""
    lines = []
    for run in runs[-_MOST_COMMANDS:]:
        after = f", before {', '.join(run.changed_after)} was written" if run.changed_after else ""
        end = "\n".join(run.output.splitlines()[-_COMMAND_LINES:])[-_COMMAND_CHARS:]
        lines.append(
            f"- command, ended with {run.exit_code}{after}:\n{fence(run.command.splitlines())}\n  output:\n{end}"
        )
    return lines


def describe_files(files: Sequence[FileText], most_chars: int) -> list[str]:
    """Describe files with their text, line by line, each in its share of `most_chars`."""
    lines, left = list[str](), most_chars
    for place, file in enumerate(files):
        if file.text is None or file.problem:
            lines.append(f"- file {file.path}: {file.problem or 'it is not there any more'}")
            continue
        share = max(_LEAST_FILE_CHARS, left // (len(files) - place))
        text = cut_middle(file.text, min(share, left))
        left = max(0, left - len(text))
        lines.append(f"- file {file.path}, {len(file.text):,} characters:\n{fence(text.splitlines())}")
    return lines


def cut_middle(text: str, most_chars: int) -> str:
    """Return a text whole, or its beginning and its end with a line that says how much is left out."""
    if len(text) <= most_chars:
        return text
    beginning = int(most_chars * _SHARE_OF_BEGINNING)
    end = most_chars - beginning
    cut = len(text) - beginning - end
    return (
        f"{text[:beginning]}\n... {cut:,} characters are not shown here ...\n{text[len(text) - end :] if end else ''}"
    )


def order_paths(named: Sequence[str], written: Mapping[str, str], made: Sequence[str]) -> list[str]:
    """Order files: those named as evidence, those that tools wrote, newest first, and those that commands made."""
    return list(dict.fromkeys((*named, *reversed(list(written)), *made)))
