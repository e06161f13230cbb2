"""`reveries wake`."""

from pathlib import Path

import click


@click.command("wake", short_help="Wake the mind, and return when it answers.")
@click.option("--config", type=click.Path(path_type=Path), default=None, help="Another settings file than the home's.")
@click.option("--foreground", is_flag=True, help="Stay in this terminal (for systemd and launchd).")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(config: Path | None, foreground: bool, as_json: bool) -> int:
    """Wake the mind, and return when it answers. It stays awake when the terminal is closed. After an upgrade one that
    is awake falls asleep first, and wakes as what is installed."""
    from reveries.client.json_answers import Woken
    from reveries.client.render import Part, line, say, show, write_struct
    from reveries.client.upgrading import wake_what_is_installed
    from reveries.client.waking import Awake, Failed, prepare, run_in_foreground

    plan = prepare(config)
    outcome = wake_what_is_installed(plan) if not foreground else run_in_foreground(plan)
    if as_json and isinstance(outcome, Awake):
        write_struct(Woken(outcome.pid, outcome.mind, outcome.was_awake))
        return 0
    match outcome:
        case Awake(pid=pid, mind=mind, was_awake=True):
            say(f"{mind} is already awake (pid {pid}).")
            return 0
        case Awake(pid=pid, mind=mind):
            show([line(Part("● ", "good"), Part(f"{mind} is awake", "strong"), Part(f" (pid {pid})", "dim"))])
            say("  Talk to it: reveries", "dim")
            return 0
        case Failed(sentence=sentence, exit_code=code):
            say(sentence, err=True)
            return code
