"""`reveries uninstall`."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from reveries.client.features.paths import places
from reveries.client.setup import key_files
from reveries.config import Home
from reveries.crash_history import record_of


@click.command("uninstall", short_help="Remove the service; with --purge the mind too.")
@click.option("--purge", is_flag=True, help="Remove memory, settings, logs and backups too: for good.")
@click.option("--dry-run", is_flag=True, help="Show what would be removed. Nothing is.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(purge: bool, dry_run: bool, yes: bool, as_json: bool) -> int:
    """Take back what Reveries put on this machine beside itself. Without --purge that is the service alone: the memory
    stays. The program goes with what installed it (pip uninstall reveries), the weights with: reveries open models."""
    from reveries.client.checkup.daemon_check import lock_is_held
    from reveries.client.render import say, write_json
    from reveries.client.service_control import uninstall
    from reveries.client.wording import plural, size
    from reveries.config import find_home
    from reveries.errors import AlreadyAwakeError, UsageError

    home = find_home()
    plan = planned(home, purge=purge)
    if as_json and not (dry_run or yes):
        raise UsageError("With --json nobody can be asked.", advice="Add --dry-run or --yes.")
    if not as_json:
        _show_plan(plan.files, plan.stays)
        say(f"{plural(len(plan.files), 'file')}, {size(plan.size_bytes)}.", "strong")
    failed: list[str] = []
    if not dry_run and plan.files:
        if purge and any(lock_is_held(file) for file in plan.files if file.suffix == ".lock"):
            raise AlreadyAwakeError("The mind is awake.", advice="Put it to sleep first: reveries sleep")
        if not yes:
            click.confirm("Remove them for good?" if purge else "Remove it?", abort=True)
        failed = [*uninstall(), *remove(plan)]
    if as_json:
        write_json(
            {
                "files": [str(file) for file in plan.files],
                "stays": [str(file) for file in plan.stays],
                "bytes": plan.size_bytes,
                "was_removed": not dry_run,
                "left_to_do": failed,
            }
        )
    else:
        _end_daemon(dry_run=dry_run, failed=failed)
    return int(bool(failed))


def _show_plan(files: "list[Path]", stays: "list[Path]") -> None:
    from reveries.client.render import say

    for file in files:
        say(f"  goes   {file}")
    for file in stays:
        say(f"  stays  {file} (yours to remove)", "dim")


def _end_daemon(*, dry_run: bool, failed: list[str]) -> None:
    from reveries.client.render import say

    for row in failed:
        say(row, "warn")
    say("Nothing was removed." if dry_run else "Removed." if not failed else "Not all of it was removed.")


_LOGS = ("daemon.log*", "daemon.out", "client.log")
_BACKUPS = ("*.db", "*.db.seal", "*.db.made", "*.partial", "*.partial-journal")
_BESIDE_MEMORY = (
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
"""What a database's name goes on with in the files that the daemon keeps beside it."""


@dataclass(frozen=True, slots=True)
class Removal:
    """What goes, what stays. `folders` go when they are empty by then."""

    files: list[Path]
    folders: list[Path]
    stays: list[Path]
    size_bytes: int


def planned(home: Home, *, purge: bool) -> Removal:
    """What would be removed now."""
    where = places(home)
    files = [where["service"]]
    folders: list[Path] = []
    if purge:
        memory = where["memory"]
        # Where the memory is elsewhere now, an earlier one may lie in the home.
        files += [*_with_what_lies_beside(memory), *_with_what_lies_beside(home.database_default)]
        files += [
            home.config,
            record_of(home),
            home.lock,
            home.socket,
            *(
                file
                for kept in (home.config, *key_files(home.path))
                for file in home.path.glob(f".{kept.name}.*partial")
            ),
            *home.path.glob("model*.sock"),
            *filter(home.is_draft, home.path.glob("draft*")),
            *key_files(home.path),
        ]
        files += [file for pattern in _LOGS for file in home.logs.glob(pattern)]
        files += [file for pattern in _BACKUPS for file in home.backups.glob(pattern)]
        for loops in dict.fromkeys(folder / "cache" / "loops" for folder in (memory.parent, home.path)):
            files += loops.rglob("*.nb[ic]")
            inside = sorted((folder for folder in loops.rglob("*") if folder.is_dir()), reverse=True)
            folders += [*inside, loops, loops.parent]
        folders += [home.logs, home.backups, home.path]
    there = [file for file in dict.fromkeys(files) if os.path.lexists(file) and not file.is_dir()]
    return Removal(there, folders, _what_stays(home, there) if purge else [], sum(_size(file) for file in there))


def _with_what_lies_beside(memory: Path) -> Iterator[Path]:
    yield memory
    yield from (memory.with_name(f"{memory.name}{end}") for end in _BESIDE_MEMORY)
    yield from memory.parent.glob(f"{memory.name}.replaced-*")
    yield from memory.parent.glob(f"{memory.name}.importing*")
    yield memory.with_suffix(".snapshot")
    yield memory.with_name(f"{memory.stem}.snapshot.partial")


def remove(removal: Removal) -> list[str]:
    """Remove it; what could not be, in words."""
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


def _what_stays(home: Home, going: list[Path]) -> list[Path]:
    """What is in the home and is not ours to remove, and what a link that goes leads to: settings kept elsewhere."""
    inside = [file for file in sorted(home.path.rglob("*")) if file not in going and not file.is_dir()]
    behind = [target for file in going if file.is_symlink() and (target := file.resolve()).is_file()]
    return inside + [target for target in dict.fromkeys(behind) if target not in going]


def _size(file: Path) -> int:
    try:
        return file.lstat().st_size
    except OSError:
        return 0
