"""`reveries models` and `models pull`: a process of its own fetches the weights; this shows what it says."""

import click


@click.group("models", short_help="The models of this machine: list, pull.", invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON list.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """The models that can run on this machine, and which of them are here."""
    if ctx.invoked_subcommand is not None:
        return
    from reveries.client.render import show, write_json
    from reveries.client.weights import list_models, models_page

    models = list_models()
    if as_json:
        write_json(models)
    else:
        show(models_page(models))


@command.command("pull")
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
def pull(names: tuple[str, ...]) -> None:
    """Fetch the weights of NAME: resumed where it broke off, and checked against their known hash."""
    from reveries.client.progress import progress_bar
    from reveries.client.render import say
    from reveries.client.weights import pull_model

    for name in names:
        with progress_bar(name, in_bytes=True) as moved:
            result = pull_model(name, moved, lambda text: say(text, "dim", err=True))
        say(result)
