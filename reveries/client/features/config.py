"""`reveries config`, `config get`, `config set`."""

import click


@click.group("config", short_help="The settings: show, get, set.", invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """The settings in force."""
    if ctx.invoked_subcommand is not None:
        return
    from reveries.client.render import Part, line, show, write_json
    from reveries.client.settings_file import in_force, masked, settings_page

    source, settings = in_force()
    if as_json:
        write_json(masked(settings))
    else:
        show([line(Part(f"# {source}", "dim")), *settings_page(settings)])


@command.command("get")
@click.argument("key")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def get(key: str, as_json: bool) -> None:
    """The value of KEY (a table's name gives all of it), and what it means."""
    from reveries.client.render import Part, line, show, write_json
    from reveries.client.settings_file import in_force, masked, toml_value
    from reveries.config import describe, setting

    _, settings = in_force()
    value = setting(settings, key)
    if as_json:
        write_json({"key": key, "value": masked(value), "meaning": describe(key)})
        return
    meaning = describe(key)
    values = value.items() if isinstance(value, dict) else [(key.rpartition(".")[2], value)]
    show(line(f"{name} = {toml_value(one)}") for name, one in values)
    if meaning:
        show([line(Part(f"# {meaning}", "dim"))])


@command.command("set", context_settings={"ignore_unknown_options": True})
@click.argument("key")
@click.argument("value")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def set_(key: str, value: str, as_json: bool) -> None:
    """Set KEY to VALUE in the settings file (its comments stay), and tell the mind if it is awake."""
    from reveries.client.json_answers import SettingChanged
    from reveries.client.render import say, write_struct
    from reveries.client.settings_file import apply, file_in_force, masked, toml_value, write_setting

    file = file_in_force()
    written = write_setting(file, key, value)
    needs_restart = apply()
    counts = "from the next wake on" if needs_restart is None else "after a restart" if key in needs_restart else "now"
    if as_json:
        write_struct(SettingChanged(key, masked(written), str(file), counts))
        return
    say(f"{key} = {toml_value(written)}  (in {file})")
    match counts:
        case "now":
            say("The mind has taken it over.", "dim")
        case "after a restart":
            say("It counts after a restart: reveries sleep, then reveries wake.", "warn")
        case _:
            say("It counts from the next wake on.", "dim")
