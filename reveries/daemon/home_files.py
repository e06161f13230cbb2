"""What lies in the home beside the memory and may hold what was erased: copies of the memory, logs, drafts, caches."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from reveries.config import Home
from reveries.db.backups import undate
from reveries.db.integrity.seals import unseal
from reveries.memory.forgetting.needles import TextMatcher

_TEXT_BYTES = 64 * 2**20
"""A log is at most ten megabytes; what is larger and no log is no text of ours."""
_WRITING_SECONDS = 3600.0
_WEIGHTS = (".gguf", ".onnx")


@dataclass(frozen=True, slots=True)
class InFiles:
    """What of the files is concerned."""

    copies: tuple[Path, ...] = ()
    """Of the whole memory, older than the erasure: backups, files that were replaced."""
    log_lines: int = 0
    drafts: tuple[Path, ...] = ()
    caches: tuple[Path, ...] = ()
    others: tuple[Path, ...] = ()
    """Files that hold it and are the owner's: settings, and what they put there themselves."""


def look(home: Home, database: Path, holds: TextMatcher) -> InFiles:
    """What of the files holds it. Changes nothing. Slow: call it in a thread."""
    lines, drafts, caches, others = 0, list[Path](), list[Path](), list[Path]()
    for file in _text_files(home, database):
        if file.is_relative_to(home.logs):
            lines += sum(holds(line) for line in _read_text(file).splitlines())
        elif holds(_read_text(file)):
            where = (
                drafts if home.is_draft(file) else caches if "cache" in file.relative_to(home.path).parts else others
            )
            where.append(file)
    return InFiles(tuple(copies(home, database)), lines, tuple(drafts), tuple(caches), tuple(others))


def scrub(home: Home, found: InFiles, holds: TextMatcher) -> None:
    """Take out the lines, remove drafts and caches; copies go by `remove_copies`. Raises OSError."""
    if found.log_lines:
        for file in sorted(home.logs.rglob("*")):
            if file.is_file() and not file.is_symlink():
                _drop_lines(file, holds)
    for file in (*found.drafts, *found.caches):
        file.unlink(missing_ok=True)


def copies(home: Home, database: Path, but: str = "") -> Iterator[Path]:
    """Every copy of the memory, whole or begun, but the backup of that name; with what lies beside them."""
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


def clear_broken_off(home: Home, database: Path, now: float) -> int:
    """Remove what a crash left of a memory that was being written: a copy begun, a file written anew, an import; and of
    settings and keys. How many. Call it while holding the lock, before the memory is opened: nobody makes one of the
    memory then, and each is made of what is there still. (What a restoring left, opening the memory makes an end of.)
    A client may be writing settings: what of them is younger than an hour at `now` stays."""
    begun = [file for file in _settings_half_written(home) if _is_older(file, now - _WRITING_SECONDS)]
    begun += list(database.parent.glob(f"{database.name}.importing*"))
    if database.exists():  # Where it is not, whatever lies here tells of it.
        # SQLite keeps a journal beside what it writes anew, and only who goes on with that would remove it.
        begun += [file for ends in ("partial", "partial-journal") for file in home.backups.glob(f"*.{ends}")]
        ends_of_memory = [".anew", ".anew-journal", ".partial"]
        ends_of_memory += [f".{beside}.partial" for beside in ("forgotten", "erasing", "damaged")]
        begun += [database.with_name(f"{database.name}{end}") for end in ends_of_memory]
        begun.append(database.with_name(f"{database.stem}.snapshot.partial"))
        begun += database.parent.glob(f"{database.name}.replaced-*.harmed.partial")
    removed = 0
    for file in begun:
        with contextlib.suppress(OSError):
            file.unlink()
            removed += 1
    return removed


def _settings_half_written(home: Home) -> Iterator[Path]:
    """Under the names that the client's `write_private` gives them, and gave them in earlier versions."""
    settings = home.config.resolve()  # It may be kept elsewhere, and is written there.
    yield from settings.parent.glob(f".{settings.name}.*partial")
    yield from home.path.glob(".*.key.*partial")


def _is_older(file: Path, than: float) -> bool:
    try:
        return file.lstat().st_mtime < than
    except OSError:
        return False


def remove_copies(files: Iterator[Path]) -> int:
    """Remove them; how many."""
    removed = 0
    for file in list(files):
        file.unlink(missing_ok=True)
        unseal(file)
        undate(file)
        removed += 1
    return removed


def _text_files(home: Home, database: Path) -> Iterator[Path]:
    """Everything in the home that may be text: neither the memory with its copies, nor weights, nor sockets."""
    memory = {database.name, f"{database.name}-wal", f"{database.name}-shm", f"{database.stem}.snapshot"}
    # Folders that the owner keeps elsewhere are not entered from above.
    linked = [folder for folder in (home.logs, home.path / "cache") if folder.is_symlink()]
    for file in sorted(file for folder in (home.path, *linked) for file in folder.rglob("*")):
        with contextlib.suppress(OSError):
            if file.is_symlink() or not file.is_file() or file.is_relative_to(home.backups):
                continue
            if file.name in memory or file.name.startswith(f"{database.name}.") or file.suffix in _WEIGHTS:
                continue
            if file.stat().st_size <= _TEXT_BYTES:
                yield file


def _read_text(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""


def _drop_lines(file: Path, holds: TextMatcher) -> None:
    """In place: whoever writes the log appends to this very file, and goes on doing so."""
    with file.open("r+b") as opened:
        raw = opened.read()
        kept = b"".join(line for line in raw.splitlines(keepends=True) if not holds(line.decode("utf-8", "replace")))
        if len(kept) == len(raw):
            return
        # What was written meanwhile stays.
        kept += opened.read()
        opened.seek(0)
        opened.write(kept + bytes(max(0, len(raw) - len(kept))))
        opened.flush()
        opened.truncate(len(kept))
