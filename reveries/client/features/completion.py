"""`reveries completion`."""

import click
from click.shell_completion import get_completion_class


@click.command("completion", short_help="Print a completion script for your shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print a script with which SHELL completes commands, options and their values, by asking `reveries`.

    \b
    bash:  reveries completion bash > ~/.local/share/bash-completion/completions/reveries
    zsh:   reveries completion zsh > a folder of your $fpath, as _reveries
    fish:  reveries completion fish > ~/.config/fish/completions/reveries.fish
    """
    click.echo(completion_script(shell, ctx.find_root().command))


def completion_script(shell: str, root: click.Command) -> str:
    """Return the completion script of the command line `root` for `shell`: bash, zsh or fish."""
    completion = get_completion_class(shell)
    assert completion is not None
    return completion(root, {}, "reveries", "_REVERIES_COMPLETE").source()
