"""`reveries wake`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveries.client.waking import Awake


@click.command("wake", short_help="Wake the mind, and return when it answers.")
@click.option("--config", type=click.Path(path_type=Path), default=None, help="Another settings file than the home's.")
@click.option("--foreground", is_flag=True, help="Stay in this terminal (for systemd and launchd).")
@click.option("--safe", is_flag=True, help="Safe mode: look, search, export, back up; nothing else.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(config: Path | None, foreground: bool, safe: bool, as_json: bool) -> int:
    """Wake the mind, and return when it answers. It stays awake when the terminal is closed. After an upgrade one that
    is awake falls asleep first, and wakes as what is installed.

    With --safe even where the settings are broken, or where it crashes while it wakes; after five crashes in ten
    minutes it wakes so by itself."""
    from reveries.client.json_answers import Woken
    from reveries.client.render import say, write_struct
    from reveries.client.waking import FailedWake, prepare, run_in_foreground, wake_what_is_installed

    plan = prepare(config, is_safe=safe)
    outcome = wake_what_is_installed(plan) if not foreground else run_in_foreground(plan)
    if isinstance(outcome, FailedWake):
        say(outcome.sentence, err=True)
        return outcome.exit_code
    why = _safe_because()
    # One that was awake has the keys of where it was woken.
    worries = () if outcome.was_awake else plan.worries
    if as_json:
        write_struct(Woken(outcome.pid, outcome.mind, outcome.was_awake, why, list(worries)))
    else:
        _show_awake(outcome, why, worries, wanted_safe=safe)
    return 0


def _show_awake(awake: "Awake", why: str, worries: "Sequence[str]", *, wanted_safe: bool) -> None:
    from reveries.client.render import Part, line, paragraph, say, show

    if awake.was_awake:
        how = "in safe mode" if why else "in full; for safe mode: reveries sleep, then reveries wake --safe"
        say(f"{awake.mind} is already awake (pid {awake.pid}){f', {how}' if why or wanted_safe else ''}.")
    else:
        show([line(Part("● ", "good"), Part(f"{awake.mind} is awake", "strong"), Part(f" (pid {awake.pid})", "dim"))])
    for worry in worries:
        show(paragraph(worry, indent=2, style="warn"))
    if why:
        show(paragraph(why, indent=2, style="warn"))
    elif not awake.was_awake:
        say("  Talk to it: reveries", "dim")


def _safe_because() -> str:
    """Why it is in safe mode; empty when it is not, or does not say."""
    from reveries import protocol
    from reveries.client.calling import ask
    from reveries.errors import ReveriesError
    from reveries.plaintext import one_line

    try:
        status = ask(protocol.AskStatus, protocol.Status)
    except ReveriesError:
        return ""
    return one_line(status.problems[0], 1000) if status.state == protocol.SAFE_MODE and status.problems else ""
