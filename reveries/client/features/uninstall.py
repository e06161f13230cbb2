"""`reveries uninstall`."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import msgspec

from reveries.client.answers import json_option
from reveries.client.features.paths import list_paths
from reveries.client.setup import list_key_files
from reveries.config import Home
from reveries.crash_history import crash_history_file


class Uninstalled(msgspec.Struct, frozen=True):
    """`files` are removed; `stays` are kept, as Reveries did not create them. `was_removed` is false for a dry run."""

    files: list[str]
    stays: list[str]
    bytes: int
    was_removed: bool
    left_to_do: list[str]


@click.command("uninstall", short_help="Remove the service; with --purge the mind too.")
@click.option("--purge", is_flag=True, help="Also remove memory, settings, logs and backups, for good.")
@click.option("--dry-run", is_flag=True, help="Show what would be removed, but remove nothing.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@json_option(Uninstalled)
def command(purge: bool, dry_run: bool, yes: bool, as_json: bool) -> int:
    """Remove what Reveries created on this machine. Without --purge, only the service: the memory stays. How to
    remove the program itself and the models: docs/start.md."""
    from reveries.client.checkup.place import lock_is_held
    from reveries.client.render import say, show_json
    from reveries.client.service_control import uninstall_service
    from reveries.client.wording import plural, size
    from reveries.config import find_home
    from reveries.errors import AlreadyAwakeError, UsageError

    home = find_home()
    plan = plan_removal(home, purge=purge)
    if as_json and not (dry_run or yes):
        raise UsageError("--json cannot ask for confirmation.", advice="Add --dry-run or --yes.")
    if not as_json:
        _show_plan(plan.files, plan.stays)
        say(f"{plural(len(plan.files), 'file')}, {size(plan.size_bytes)}.", "strong")
    failed: list[str] = []
    if not dry_run and plan.files:
        if purge and any(lock_is_held(file) for file in plan.files if file.suffix == ".lock"):
            raise AlreadyAwakeError("The mind is awake.", advice="Put it to sleep first: reveries sleep")
        if not yes:
            click.confirm("Remove them for good?" if purge else "Remove it?", abort=True)
        failed = [*uninstall_service(), *remove_files(plan)]
    if as_json:
        show_json(
            Uninstalled(
                files=[str(file) for file in plan.files],
                stays=[str(file) for file in plan.stays],
                bytes=plan.size_bytes,
                was_removed=not dry_run,
                left_to_do=failed,
            )
        )
    else:
        _show_result(dry_run=dry_run, failed=failed)
    return int(bool(failed))


def _show_plan(files: "list[Path]", stays: "list[Path]") -> None:
    from reveries.client.render import say

    for file in files:
        say(f"  remove  {file}")
    for file in stays:
        say(f"  keep    {file} (not created by Reveries)", "dim")


def _show_result(*, dry_run: bool, failed: list[str]) -> None:
    from reveries.client.render import say

    for row in failed:
        say(row, "warn")
    say("Nothing was removed." if dry_run else "Removed." if not failed else "Some files could not be removed.")


_LOGS = ("daemon.log*", "daemon.out", "client.log")
_BACKUPS = ("*.db", "*.db.seal", "*.db.made", "*.partial", "*.partial-journal")
_DATABASE_SUFFIXES = (
    *(
        "-wal",
        "-shm",
        "-journal",
        ".lock",
        ".reserve",
        ".tried",
        ".seal",
        ".pages",
        ".damaged",
        ".damaged.partial",
        ".restoring",
        ".restoring.json",
        ".restored.json",
        ".forgotten",
        ".forgotten.partial",
        ".erasing",
        ".erasing.partial",
        ".anew",
        ".anew-journal",
        ".partial",
    ),
)
"""Suffixes of the files that the daemon keeps next to a database."""


@dataclass(frozen=True, slots=True)
class Removal:
    """Files to remove and files to keep. `folders` are removed if they are empty by then."""

    files: list[Path]
    folders: list[Path]
    stays: list[Path]
    size_bytes: int


def plan_removal(home: Home, *, purge: bool) -> Removal:
    """Return what would be removed now."""
    paths = list_paths(home)
    files = [paths["service"]]
    folders: list[Path] = []
    if purge:
        memory = paths["memory"]
        # If the memory is elsewhere now, an earlier one may still be in the home.
        files += [*_database_files(memory), *_database_files(home.database_default)]
        files += [
            home.config,
            crash_history_file(home),
            home.lock,
            home.socket,
            *(
                file
                for private in (home.config, *list_key_files(home.path))
                for file in home.path.glob(f".{private.name}.*partial")
            ),
            *home.path.glob("model*.sock"),
            *filter(home.is_draft, home.path.glob("draft*")),
            *list_key_files(home.path),
        ]
        files += [file for pattern in _LOGS for file in home.logs.glob(pattern)]
        files += [file for pattern in _BACKUPS for file in home.backups.glob(pattern)]
        for loops in dict.fromkeys(folder / "cache" / "loops" for folder in (memory.parent, home.path)):
            files += loops.rglob("*.nb[ic]")
            inside = sorted((folder for folder in loops.rglob("*") if folder.is_dir()), reverse=True)
            folders += [*inside, loops, loops.parent]
        folders += [home.logs, home.backups, home.path]
    existing = [file for file in dict.fromkeys(files) if os.path.lexists(file) and not file.is_dir()]
    return Removal(
        existing, folders, _kept_files(home, existing) if purge else [], sum(_file_size(file) for file in existing)
    )


def _database_files(memory: Path) -> Iterator[Path]:
    yield memory
    yield from (memory.with_name(f"{memory.name}{end}") for end in _DATABASE_SUFFIXES)
    yield from memory.parent.glob(f"{memory.name}.replaced-*")
    yield from memory.parent.glob(f"{memory.name}.importing*")
    yield memory.with_suffix(".snapshot")
    yield memory.with_name(f"{memory.stem}.snapshot.partial")


def remove_files(removal: Removal) -> list[str]:
    """Remove the files. Return a sentence for each that could not be removed."""
    failed = []
    for file in removal.files:
        try:
            file.unlink(missing_ok=True)
        except OSError as error:
            failed.append(f"{file} could not be removed: {error.strerror}.")
    for folder in removal.folders:
        with contextlib.suppress(OSError):
            folder.rmdir()
    return failed


def _kept_files(home: Home, removed: list[Path]) -> list[Path]:
    """Return what is in the home but not created by Reveries, and the targets of removed links."""
    inside = [file for file in sorted(home.path.rglob("*")) if file not in removed and not file.is_dir()]
    targets = [target for file in removed if file.is_symlink() and (target := file.resolve()).is_file()]
    return inside + [target for target in dict.fromkeys(targets) if target not in removed]


def _file_size(file: Path) -> int:
    try:
        return file.lstat().st_size
    except OSError:
        return 0
