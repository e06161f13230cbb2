"""`reveries service`: awake from login on, by systemd or launchd."""

import sys

import click


@click.group("service", short_help="Let systemd or launchd keep it awake.")
def command() -> None:
    """Let this system's service manager wake the mind with your login and after a crash."""


@command.command("install")
@click.option("--print", "only_print", is_flag=True, help="Print what would be written; write nothing.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def install(only_print: bool, as_json: bool) -> None:
    """Write the unit (systemd) or agent (launchd) of this home, and tell the manager of it."""
    from reveries.client.features.paths import service_file
    from reveries.client.render import say, write_json
    from reveries.client.service_control import install, text_of, this_service
    from reveries.config import find_home
    from reveries.safe_text import plain

    service, home = this_service(), find_home()
    if only_print:
        click.echo(plain(text_of(service, home).decode()), nl=False)
        return
    left = install(service, home)
    if as_json:
        write_json({"file": str(service_file()), "left_to_do": left})
        return
    say(f"Written: {service_file()}")
    for row in left:
        say(row, "warn")
    if sys.platform != "darwin" and not left:
        say("It wakes with your next login. Now: reveries sleep, then systemctl --user start reveries", "dim")
        say("Also while you are not logged in: loginctl enable-linger", "dim")


@command.command("status")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def status(as_json: bool) -> None:
    """Whether it is installed, enabled, and running."""
    from reveries.client.render import field, show, write_json
    from reveries.client.service_control import state

    seen = state()
    if as_json:
        write_json(
            {
                "file": str(seen.file),
                "is_installed": seen.is_installed,
                "manager": seen.manager,
                "is_enabled": seen.is_enabled,
                "is_running": seen.is_running,
            }
        )
        return
    show(
        [
            field("file", str(seen.file) if seen.is_installed else f"{seen.file} is not there"),
            field("manager", seen.manager or "none answers here"),
            field("with login", "yes" if seen.is_enabled else "no"),
            field("running", "yes" if seen.is_running else "no"),
        ]
    )


@command.command("uninstall")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def uninstall(as_json: bool) -> None:
    """Take it back from the manager. The mind and its memory stay as they are."""
    from reveries.client.features.paths import service_file
    from reveries.client.render import say, write_json
    from reveries.client.service_control import uninstall

    file = service_file()
    was_there = file.exists()
    left = uninstall()
    if as_json:
        write_json({"file": str(file), "was_installed": was_there, "left_to_do": left})
        return
    say(f"Removed: {file}" if was_there else "It was not installed.")
    for row in left:
        say(row, "warn")
