"""Finds and removes erased text in the files of the home next to the memory: copies, logs, drafts, caches."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from reveries.config import Home
from reveries.db.backups import remove_corrected_date
from reveries.db.integrity.seals import unseal
from reveries.memory.forgetting.needles import TextMatcher

_TEXT_BYTES = 64 * 2**20
"""Larger files are not ours: a log has at most ten megabytes."""
_WRITING_SECONDS = 3600.0
_WEIGHTS = (".gguf", ".onnx")


@dataclass(frozen=True, slots=True)
class FileTraces:
    """The files that contain erased text."""

    copies: tuple[Path, ...] = ()
    """Copies of the whole memory from before the erasure: backups, replaced files."""
    log_lines: int = 0
    drafts: tuple[Path, ...] = ()
    caches: tuple[Path, ...] = ()
    others: tuple[Path, ...] = ()
    """Files of the owner that contain it: settings, and files that they put there."""


def find_traces(home: Home, database: Path, holds: TextMatcher) -> FileTraces:
    """Find the files that contain matching text. Slow: call it in a thread."""
    lines, drafts, caches, others = 0, list[Path](), list[Path](), list[Path]()
    for file in _text_files(home, database):
        if file.is_relative_to(home.logs):
            lines += sum(holds(line) for line in _read_file_text(file).splitlines())
        elif holds(_read_file_text(file)):
            where = (
                drafts if home.is_draft(file) else caches if "cache" in file.relative_to(home.path).parts else others
            )
            where.append(file)
    return FileTraces(tuple(list_copies(home, database)), lines, tuple(drafts), tuple(caches), tuple(others))


def scrub(home: Home, traces: FileTraces, holds: TextMatcher) -> None:
    """Remove matching log lines, drafts and caches; `remove_copies` removes the copies. Raises OSError."""
    if traces.log_lines:
        for file in sorted(home.logs.rglob("*")):
            if file.is_file() and not file.is_symlink():
                _drop_lines(file, holds)
    for file in (*traces.drafts, *traces.caches):
        file.unlink(missing_ok=True)


def list_copies(home: Home, database: Path, but: str = "") -> Iterator[Path]:
    """List every complete or partial copy of the memory, except the backup named `but`."""
    if home.backups.is_dir():
        for file in sorted(home.backups.iterdir()):
            if file.is_file() and file.name not in (but, f"{but}.seal") and not file.name.endswith((".seal", ".made")):
                yield file
    for pattern in (
        f"{database.name}.replaced-*",
        f"{database.name}.anew*",
        f"{database.name}.restoring",
        f"{database.name}.importing*",
        f"{database.name}.partial",
        f"{database.stem}.snapshot.partial",
    ):
        yield from sorted(database.parent.glob(pattern))


def clear_partial_files(home: Home, database: Path, now: float) -> int:
    """Remove the partial files that a crash left: copies, rewrites and imports of the memory, settings and keys. Return
    how many. Call it while holding the lock and before the memory is opened, so that no such file is in use. (Opening
    the memory clears partial restores.) A client may be writing settings: files younger than an hour at `now` stay."""
    partial = [file for file in _partial_settings(home) if _is_older(file, now - _WRITING_SECONDS)]
    partial += list(database.parent.glob(f"{database.name}.importing*"))
    if database.exists():  # If it is missing, these files may be all that is left of it.
        # SQLite keeps a journal next to a file that it rewrites, and removes it only if the rewrite goes on.
        partial += [file for ends in ("partial", "partial-journal") for file in home.backups.glob(f"*.{ends}")]
        ends_of_memory = [".anew", ".anew-journal", ".partial"]
        ends_of_memory += [f".{name}.partial" for name in ("forgotten", "erasing", "damaged")]
        partial += [database.with_name(f"{database.name}{end}") for end in ends_of_memory]
        partial.append(database.with_name(f"{database.stem}.snapshot.partial"))
        partial += database.parent.glob(f"{database.name}.replaced-*.harmed.partial")
    removed = 0
    for file in partial:
        with contextlib.suppress(OSError):
            file.unlink()
            removed += 1
    return removed


def _partial_settings(home: Home) -> Iterator[Path]:
    """List partial files under the names that the client's `write_private` gives them, now and in earlier versions."""
    settings = home.config.resolve()  # A link is written at its target.
    yield from settings.parent.glob(f".{settings.name}.*partial")
    yield from home.path.glob(".*.key.*partial")


def _is_older(file: Path, than: float) -> bool:
    try:
        return file.lstat().st_mtime < than
    except OSError:
        return False


def remove_copies(files: Iterator[Path]) -> int:
    """Remove `files`; return how many."""
    removed = 0
    for file in list(files):
        file.unlink(missing_ok=True)
        unseal(file)
        remove_corrected_date(file)
        removed += 1
    return removed


def _text_files(home: Home, database: Path) -> Iterator[Path]:
    """List every file in the home that may be text: not the memory, its copies, weights or sockets."""
    memory = {database.name, f"{database.name}-wal", f"{database.name}-shm", f"{database.stem}.snapshot"}
    # rglob does not follow links, so linked folders are searched separately.
    linked = [folder for folder in (home.logs, home.path / "cache") if folder.is_symlink()]
    for file in sorted(file for folder in (home.path, *linked) for file in folder.rglob("*")):
        with contextlib.suppress(OSError):
            if file.is_symlink() or not file.is_file() or file.is_relative_to(home.backups):
                continue
            if file.is_relative_to(home.originals):  # They go with the rows of their documents.
                continue
            if file.name in memory or file.name.startswith(f"{database.name}.") or file.suffix in _WEIGHTS:
                continue
            if file.stat().st_size <= _TEXT_BYTES:
                yield file


def _read_file_text(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""


def _drop_lines(file: Path, holds: TextMatcher) -> None:
    """Remove matching lines in place, because the log handler keeps appending to this file."""
    with file.open("r+b") as opened:
        raw = opened.read()
        kept = b"".join(line for line in raw.splitlines(keepends=True) if not holds(line.decode("utf-8", "replace")))
        if len(kept) == len(raw):
            return
        # Keep what was written meanwhile.
        kept += opened.read()
        opened.seek(0)
        opened.write(kept + bytes(max(0, len(raw) - len(kept))))
        opened.flush()
        opened.truncate(len(kept))
