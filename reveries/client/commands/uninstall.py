"""`reveries uninstall`."""

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pathlib import Path


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
    from reveries.client.uninstalling import planned, remove
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
