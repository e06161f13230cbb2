"""`reveries service`: keep the mind awake with systemd or launchd."""

import sys

import click
import msgspec

from reveries.client.answers import json_option
from reveries.client.service_control import ServiceState


class ServiceInstalled(msgspec.Struct, frozen=True):
    """`left_to_do`: commands to run yourself, because the service manager failed."""

    file: str
    left_to_do: list[str]


class ServiceRemoved(msgspec.Struct, frozen=True):
    file: str
    was_installed: bool
    left_to_do: list[str]


@click.group("service", short_help="Keep it awake with systemd or launchd.")
def command() -> None:
    """Let the service manager of this system wake the mind at login and after a crash."""


@command.command("install")
@click.option("--print", "only_print", is_flag=True, help="Print the file, and write nothing.")
@json_option(ServiceInstalled)
def install_service_command(only_print: bool, as_json: bool) -> None:
    """Write the unit (systemd) or agent (launchd) of this home, and register it."""
    from reveries.client.render import say, show_json
    from reveries.client.service_control import install_service, service_file, service_text, this_service
    from reveries.config import find_home
    from reveries.safe_text import plain

    service, home = this_service(), find_home()
    if only_print:
        click.echo(plain(service_text(service, home).decode()), nl=False)
        return
    left = install_service(service, home)
    if as_json:
        show_json(ServiceInstalled(str(service_file()), left))
        return
    say(f"Written: {service_file()}")
    for row in left:
        say(row, "warn")
    if sys.platform != "darwin" and not left:
        say(
            "It starts at your next login. To start it now: reveries sleep, then systemctl --user start reveries", "dim"
        )
        say("To keep it awake while you are logged out: loginctl enable-linger", "dim")


@command.command("status")
@json_option(ServiceState)
def service_status_command(as_json: bool) -> None:
    """Show whether it is installed, enabled and running."""
    from reveries.client.render import field, show, show_json
    from reveries.client.service_control import service_state

    service = service_state()
    if as_json:
        show_json(service)
        return
    show(
        [
            field("file", service.file if service.is_installed else f"{service.file} does not exist"),
            field("manager", service.manager or "not available"),
            field("at login", "yes" if service.is_enabled else "no"),
            field("running", "yes" if service.is_running else "no"),
        ]
    )


@command.command("uninstall")
@json_option(ServiceRemoved)
def uninstall_service_command(as_json: bool) -> None:
    """Remove the service. The mind and its memory are not changed."""
    from reveries.client.render import say, show_json
    from reveries.client.service_control import service_file, uninstall_service

    file = service_file()
    was_there = file.exists()
    left = uninstall_service()
    if as_json:
        show_json(ServiceRemoved(str(file), was_there, left))
        return
    say(f"Removed: {file}" if was_there else "It was not installed.")
    for row in left:
        say(row, "warn")
