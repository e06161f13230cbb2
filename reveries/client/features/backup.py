"""`reveries backup`: backups of the memory. The daemon creates them if it is awake; the rest works while it sleeps."""

from typing import TYPE_CHECKING, TypeVar

import click

from reveries import protocol
from reveries.client.answers import json_option, page_of, print_answer
from reveries.client.render import Page, Part, line, paragraph
from reveries.client.wording import ago, moment, plural, size
from reveries.protocol import BackupEntry, BackupRestored, Backups
from reveries.safe_text import one_line

if TYPE_CHECKING:
    _Answer = TypeVar("_Answer", bound=protocol.Frame)


@click.group("backup", short_help="Back up the memory: create, list, verify, restore.")
def command() -> None:
    """Backups of the memory, each verified after it is written.

    While the mind is awake, one is created every hour. Hourly backups are kept for 24 hours, daily ones for 7 days.
    """


@command.command("create")
@json_option(protocol.Backups, takes_long=True)
def create_backup_command(as_json: bool) -> None:
    """Create a backup now."""
    from reveries.client.sync_call import ask_with_progress
    from reveries.errors import AsleepError

    try:
        backups = ask_with_progress(protocol.MakeBackup, protocol.Backups, "creating a backup", as_json=as_json)
    except AsleepError:
        backups = _run_backup_command(protocol.Backups, "creating a backup", as_json, "backup-create")
    print_answer(backups, as_json)


@command.command("list")
@json_option(protocol.Backups)
def list_backups_command(as_json: bool) -> None:
    """List the backups, newest first."""
    print_answer(_list_backups(), as_json)


@command.command("verify")
@click.argument("name", default="")
@json_option(protocol.Backups, takes_long=True)
def verify_backup_command(name: str, as_json: bool) -> None:
    """Check that NAME, or every backup, is complete and unchanged since it was written. Exits with 74 if one is not."""
    from reveries.errors import StorageError

    backups = _run_backup_command(protocol.Backups, "verifying", as_json, "backup-verify", "--name", name)
    print_answer(backups, as_json)
    if any(backup.problems for backup in backups.backups):
        raise StorageError("At least one backup is damaged.", advice="Create a new one: reveries backup create")


@command.command("restore")
@click.argument("name", default="")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option(protocol.BackupRestored, takes_long=True)
def restore_backup_command(name: str, yes: bool, as_json: bool) -> None:
    """Replace the memory with NAME, or the newest backup. The old memory is renamed and kept. The mind must sleep."""
    from reveries.errors import UsageError

    if not yes:
        if as_json:
            raise UsageError("--json cannot ask for confirmation.", advice="Add --yes.")
        backups = _list_backups().backups
        chosen = name or (backups[0].name if backups else "the newest")
        click.confirm(f"Replace the memory with {chosen}? It has nothing that happened later.", abort=True, err=True)
    done = _run_backup_command(protocol.BackupRestored, "restoring", as_json, "backup-restore", "--name", name)
    print_answer(done, as_json)


def _list_backups() -> "protocol.Backups":
    from reveries.client.offline_worker import run_for_frame

    return run_for_frame(protocol.Backups, "backup-list")


def _run_backup_command(kind: "type[_Answer]", what: str, as_json: bool, *words: str) -> "_Answer":
    """Run a backup command in an offline process, show its progress, and return its answer."""
    from reveries.client.offline_worker import run_for_frame
    from reveries.client.progress import progress_bar

    with progress_bar(what, as_json=as_json) as on_progress:
        return run_for_frame(kind, *words, on_progress=on_progress)


@page_of(protocol.Backups, "backup")
def backups_page(backups: Backups, now: float) -> Page:
    """One line per backup, with the problems found in it."""
    if not backups.backups:
        return paragraph(
            "There is no backup yet. One is created every hour while the mind is awake. Now: reveries backup create"
        )
    page: Page = []
    for backup in backups.backups:
        page += [
            line(
                Part(one_line(backup.name), "strong"), Part(f"  {ago(backup.made_at, now)}, {size(backup.size_bytes)}")
            )
        ]
        page += _backup_detail_rows(backup)
    return [*page, line(), *paragraph(f"Folder: {one_line(backups.folder)}", style="dim")]


@page_of(protocol.BackupRestored)
def restored_page(done: BackupRestored) -> Page:
    """What was restored, and which period is missing from it."""
    page = [line(Part(f"The memory was restored from {one_line(done.backup)}.", "strong"))]
    since, until = moment(done.missing_from), moment(done.missing_until)
    if done.missing_until < done.missing_from:
        page += paragraph(
            f"The clock was set back after this backup was created at {since}. Later events are not in it."
        )
    else:
        page += paragraph(f"Events between {since} and {until} are not in it.")
    if done.kept:
        page += paragraph(f"The replaced file was kept: {one_line(done.kept)}", style="dim")
    return page


def _backup_detail_rows(backup: BackupEntry) -> Page:
    if not backup.is_looked_at:
        return paragraph("created before a schema migration", style="dim") if backup.is_before_migration else []
    counts = [Part(f"  {plural(backup.turns, 'turn')}, {plural(backup.episodes, 'episode')}", "dim")]
    if backup.problems:
        return [line(Part("  damaged: ", "bad"), Part(one_line(problem, 300))) for problem in backup.problems]
    page = [line(Part("  complete", "good"), *counts)]
    return page + [line(Part("  ", ""), Part(one_line(text, 300), "warn")) for text in backup.rotten]
