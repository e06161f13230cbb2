"""`reveries backup`: copies of the memory. Making one is asked of the waking mind; the rest needs nobody awake."""

import time
from typing import TYPE_CHECKING, TypeVar

import click

from reveries.client.render import Page, Part, line, paragraph
from reveries.client.wording import ago, moment, plural, size
from reveries.protocol import BackupEntry, BackupRestored, Backups
from reveries.safe_text import one_line

if TYPE_CHECKING:
    from reveries import protocol

    _Answer = TypeVar("_Answer", bound=protocol.Frame)


@click.group("backup", short_help="Copies of the memory: make, list, verify, restore.")
def command() -> None:
    """Copies of the memory, each verified before it counts.

    A waking mind makes one every hour. Those of 24 hours are kept, and one a day of 7 days.
    """


@command.command("create")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def create(as_json: bool) -> None:
    """Make one now."""
    from reveries import protocol
    from reveries.client.watched_call import ask_watched
    from reveries.errors import AsleepError

    try:
        made = ask_watched(protocol.MakeBackup, protocol.Backups, "making a backup", as_json=as_json)
    except AsleepError:
        made = _ask_for_backup(protocol.Backups, "making a backup", as_json, "backup-create")
    _show_backups(made, as_json=as_json)


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def list_(as_json: bool) -> None:
    """Which there are, the newest first."""
    _show_backups(_list_backups(), as_json=as_json)


@command.command("verify")
@click.argument("name", default="")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def verify(name: str, as_json: bool) -> None:
    """Whether NAME, or every backup, is a whole memory and still what was written. Ends with 74 when one is not."""
    from reveries import protocol
    from reveries.errors import StorageError

    found = _ask_for_backup(protocol.Backups, "looking at it", as_json, "backup-verify", "--name", name)
    _show_backups(found, as_json=as_json)
    if any(one.problems for one in found.backups):
        raise StorageError("Not every backup is whole.", advice="A new one: reveries backup create")


@command.command("restore")
@click.argument("name", default="")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def restore(name: str, yes: bool, as_json: bool) -> None:
    """Put NAME, or the newest backup, in the place of the memory, which is renamed and kept. The mind must sleep."""
    from reveries import protocol
    from reveries.client.render import show, show_json
    from reveries.errors import UsageError

    if not yes:
        if as_json:
            raise UsageError("With --json nobody can be asked.", advice="Add --yes.")
        wanted = _list_backups().backups
        chosen = name or (wanted[0].name if wanted else "the newest")
        click.confirm(
            f"Put {chosen} in the place of the memory? What happened since is not in it.", abort=True, err=True
        )
    done = _ask_for_backup(protocol.BackupRestored, "putting it back", as_json, "backup-restore", "--name", name)
    if as_json:
        show_json(done)
    else:
        show(restored_page(done))


def _list_backups() -> "protocol.Backups":
    from reveries import protocol
    from reveries.client.offline_worker import only_frame

    return only_frame(protocol.Backups, "backup-list")


def _ask_for_backup(kind: "type[_Answer]", what: str, as_json: bool, *words: str) -> "_Answer":
    """What the process that answers while the mind sleeps says last, with how far it is shown."""
    from reveries.client.offline_worker import only_frame
    from reveries.client.progress import progress_bar

    with progress_bar(what, as_json=as_json) as moved:
        return only_frame(kind, *words, moved=moved)


def _show_backups(found: "protocol.Backups", *, as_json: bool) -> None:
    from reveries.client.render import show, show_json

    if as_json:
        show_json(found)
    else:
        show(backups_page(found, time.time()))


def backups_page(found: Backups, now: float) -> Page:
    """A line for each copy, and what is wrong with it."""
    if not found.backups:
        return paragraph(
            "There is no backup yet. One is made every hour while the mind is awake: reveries backup create"
        )
    page: Page = []
    for one in found.backups:
        page += [line(Part(one_line(one.name), "strong"), Part(f"  {ago(one.made_at, now)}, {size(one.size_bytes)}"))]
        page += _findings_rows(one)
    return [*page, line(), *paragraph(f"They are in {one_line(found.folder)}.", style="dim")]


def restored_page(done: BackupRestored) -> Page:
    """What was done, and what is missing now."""
    page = [line(Part(f"The memory is now that of {one_line(done.backup)}.", "strong"))]
    since, until = moment(done.missing_from), moment(done.missing_until)
    if done.missing_until < done.missing_from:
        page += paragraph(f"The clock was set back after it was made, at {since}: what happened since is not in it.")
    else:
        page += paragraph(f"What happened between {since} and {until} is not in it.")
    if done.kept:
        page += paragraph(f"The file that it replaced is kept: {one_line(done.kept)}", style="dim")
    return page


def _findings_rows(one: BackupEntry) -> Page:
    if not one.is_looked_at:
        return paragraph("made before a change of the schema", style="dim") if one.is_before_migration else []
    told = [Part(f"  {plural(one.turns, 'turn')}, {plural(one.episodes, 'episode')}", "dim")]
    if one.problems:
        return [line(Part("  not whole: ", "bad"), Part(one_line(problem, 300))) for problem in one.problems]
    page = [line(Part("  whole", "good"), *told)]
    return page + [line(Part("  ", ""), Part(one_line(text, 300), "warn")) for text in one.rotten]
