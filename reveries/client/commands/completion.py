"""`reveries completion`."""

import click


@click.command("completion", short_help="Let your shell complete commands.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print a script that lets SHELL complete commands and options. It is of this version: print it again after an
    upgrade.

    \b
    bash:  reveries completion bash > ~/.local/share/bash-completion/completions/reveries
    zsh:   reveries completion zsh > a folder of your $fpath, as _reveries
    fish:  reveries completion fish > ~/.config/fish/completions/reveries.fish
    """
    from reveries.client.completion import completion

    click.echo(completion(shell), nl=False)
