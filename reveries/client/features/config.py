"""`reveries config`, `config get`, `config set`."""

import click
import msgspec

from reveries.client.answers import json_option


class SettingShown(msgspec.Struct, frozen=True):
    """`value` as in config.toml; secrets are masked."""

    key: str
    value: object
    meaning: str


class SettingChanged(msgspec.Struct, frozen=True):
    """`counts`: "now", "after a restart", "from the next wake on" or, for settings of the chat, "in the next chat"."""

    key: str
    value: object
    file: str
    counts: str


@click.group("config", short_help="Show and change the settings.", invoke_without_command=True)
@json_option("The settings in use, as in config.toml: tables of keys, secrets masked.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """Show the settings in use."""
    if ctx.invoked_subcommand is not None:
        return
    from reveries.client.render import Part, line, show, write_json
    from reveries.client.settings_file import mask_credentials, settings_in_force, settings_page

    source, settings = settings_in_force()
    if as_json:
        write_json(mask_credentials(settings))
    else:
        show([line(Part(f"# {source}", "dim")), *settings_page(settings)])


@command.command("get")
@click.argument("key")
@json_option(SettingShown)
def get_setting_command(key: str, as_json: bool) -> None:
    """Show the value of KEY and what it means. The name of a table shows all of its keys."""
    from reveries.client.render import Part, line, show, show_json
    from reveries.client.settings_file import mask_credentials, settings_in_force, toml_value
    from reveries.config import describe_setting, get_setting

    _, settings = settings_in_force()
    value = get_setting(settings, key)
    meaning = describe_setting(key)
    if as_json:
        show_json(SettingShown(key, mask_credentials(value), meaning))
        return
    values = value.items() if isinstance(value, dict) else [(key.rpartition(".")[2], value)]
    show(line(f"{name} = {toml_value(setting_value)}") for name, setting_value in values)
    if meaning:
        show([line(Part(f"# {meaning}", "dim"))])


@command.command("set", context_settings={"ignore_unknown_options": True})
@click.argument("key")
@click.argument("value")
@json_option(SettingChanged)
def set_setting_command(key: str, value: str, as_json: bool) -> None:
    """Set KEY to VALUE in the settings file, keep its comments, and apply the change if the mind is awake."""
    from reveries.client.render import say, show_json
    from reveries.client.settings_file import (
        apply_to_daemon,
        file_in_force,
        mask_credentials,
        toml_value,
        write_setting,
    )

    file = file_in_force()
    written = write_setting(file, key, value)
    needs_restart = apply_to_daemon()
    counts = "from the next wake on" if needs_restart is None else "after a restart" if key in needs_restart else "now"
    if key.startswith("client."):
        counts = "in the next chat"
    if as_json:
        show_json(SettingChanged(key, mask_credentials(written), str(file), counts))
        return
    say(f"{key} = {toml_value(written)}  (in {file})")
    match counts:
        case "now":
            say("The mind uses it now.", "dim")
        case "in the next chat":
            say("The next chat that you open uses it.", "dim")
        case "after a restart":
            say("It takes effect after a restart: reveries sleep, then reveries wake.", "warn")
        case _:
            say("It takes effect at the next wake.", "dim")
