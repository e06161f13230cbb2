"""`reveries completion`."""

from dataclasses import dataclass

import click


@click.command("completion", short_help="Print a completion script for your shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print a script with which SHELL completes commands and options. Print it again after an upgrade.

    \b
    bash:  reveries completion bash > ~/.local/share/bash-completion/completions/reveries
    zsh:   reveries completion zsh > a folder of your $fpath, as _reveries
    fish:  reveries completion fish > ~/.config/fish/completions/reveries.fish
    """
    click.echo(completion_script(shell, ctx.find_root().command), nl=False)


_SHELLS = ("bash", "zsh", "fish")


@dataclass(frozen=True, slots=True)
class CompletionPlace:
    """A command by its full path, with what may follow it and the help text of each."""

    path: str
    below: dict[str, str]
    options: dict[str, str]
    choices: tuple[str, ...]
    """Values that its arguments accept."""
    values: dict[str, tuple[str, ...]]
    """By option: the values it accepts."""

    @property
    def words(self) -> list[str]:
        return [*self.below, *self.choices, *self.options]


def completion_script(shell: str, root: click.Command) -> str:
    """Return the completion script of the command line `root` for `shell`: bash, zsh or fish."""
    places = _list_places(root, "reveries")
    return {"bash": _bash_script, "zsh": _zsh_script, "fish": _fish_script}[shell](places)


def _list_places(command: click.Command, path: str) -> list[CompletionPlace]:
    context = click.Context(command, info_name=path)
    below: dict[str, click.Command] = {}
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            if child is not None:
                below[name] = child
    options, values, choices = _list_parameters(command, context)
    helps = {name: child.get_short_help_str(60) for name, child in below.items()}
    here = CompletionPlace(path, helps, options, choices, values)
    return [here, *(place for name, child in below.items() for place in _list_places(child, f"{path} {name}"))]


def _list_parameters(
    command: click.Command, context: click.Context
) -> tuple[dict[str, str], dict[str, tuple[str, ...]], tuple[str, ...]]:
    options: dict[str, str] = {}
    values: dict[str, tuple[str, ...]] = {}
    choices: tuple[str, ...] = ()
    for parameter in command.get_params(context):
        allowed = tuple(map(str, parameter.type.choices)) if isinstance(parameter.type, click.Choice) else ()
        if isinstance(parameter, click.Option):
            for name in (*parameter.opts, *parameter.secondary_opts):
                options[name] = (parameter.help or "").partition(". ")[0].rstrip(".")
                if allowed:
                    values[name] = allowed
        else:
            choices += allowed
    return options, values, choices


def _render_word_walk(places: list[CompletionPlace]) -> str:
    paths = "|".join(f'"{place.path}"' for place in places[1:])
    return f'        case "$where $word" in {paths}) where="$where $word" ;; esac\n'


def _render_cases(places: list[CompletionPlace]) -> str:
    rows = [f'        "{place.path}") words="{" ".join(place.words)}" ;;' for place in places]
    for place in places:
        for option, allowed in place.values.items():
            rows.insert(0, f'        "{place.path} {option}") words="{" ".join(allowed)}" ;;')
    return "\n".join(rows)


def _render_option_walk(places: list[CompletionPlace]) -> str:
    named = [f'"{place.path} {option}"' for place in places for option in place.values]
    return f'    case "$where $before" in {"|".join(named)}) where="$where $before" ;; esac\n' if named else ""


def _bash_script(places: list[CompletionPlace]) -> str:
    return f"""# reveries completion bash
_reveries() {{
    local here=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} where=reveries words= word
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
{_render_word_walk(places)}    done
{_render_option_walk(places)}    case "$where" in
{_render_cases(places)}
    esac
    COMPREPLY=($(compgen -W "$words" -- "$here"))
}}
complete -o default -F _reveries reveries
"""


def _zsh_script(places: list[CompletionPlace]) -> str:
    return f"""#compdef reveries
# reveries completion zsh
_reveries() {{
    local before=${{words[CURRENT-1]}} where=reveries words_here= word
    for word in "${{(@)words[2,CURRENT-1]}}"; do
{_render_word_walk(places)}    done
{_render_option_walk(places)}    case "$where" in
{_render_cases(places).replace('words="', 'words_here="')}
    esac
    compadd -- ${{=words_here}}
    [[ -n $words_here ]] || _files
}}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _reveries "$@"; else compdef _reveries reveries; fi
"""


def _fish_script(places: list[CompletionPlace]) -> str:
    paths = " ".join(f'"{place.path}"' for place in places[1:])
    rows = [
        "# reveries completion fish",
        "function __reveries_where",
        "    set -l where reveries",
        "    for word in (commandline -opc)[2..-1]",
        f'        contains -- "$where $word" {paths}; and set where "$where $word"',
        "    end",
        "    echo $where",
        "end",
        "complete -c reveries -f",
    ]
    for place in places:
        at = f"complete -c reveries -n 'test (__reveries_where) = \"{place.path}\"'"
        rows += [f"{at} -a {name} -d {_shell_quote(help_text)}" for name, help_text in place.below.items()]
        rows += [f"{at} -a {name}" for name in place.choices]
        for name, help_text in place.options.items():
            flag = f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
            allowed = f" -x -a {_shell_quote(' '.join(place.values[name]))}" if name in place.values else ""
            rows.append(f"{at} {flag} -d {_shell_quote(help_text)}{allowed}")
    return "\n".join(rows) + "\n"


def _shell_quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", " ")
    return f"'{escaped}'"
