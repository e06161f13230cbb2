"""`reveries init`: a short guided setup. It asks, shows what it would write, and writes it once confirmed."""

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reveries.client.answers import json_option

if TYPE_CHECKING:
    from reveries.client.setup import Answers, Option
    from reveries.config import Settings
    from reveries.protocol import ModelsOverview, SuggestedModel

_PROVIDERS = ("auto", "embedded", "ollama", "openai", "anthropic", "cerebras", "openrouter")


@dataclass(frozen=True, slots=True)
class _InitOptions:
    """The options of the command."""

    provider: str | None
    owner: str | None
    dollars_per_day: float | None
    dollars_per_month: float | None
    yes: bool


@click.command("init", short_help="Set up Reveries: a few questions; Enter accepts each default.")
@click.option(
    "--provider", type=click.Choice(_PROVIDERS), default=None, help="The provider of the models; skips that question."
)
@click.option("--name", "owner", default=None, help="Your name.")
@click.option(
    "--dollars-per-day",
    type=click.FloatRange(0, 10_000),
    default=None,
    help="The most that hosted models may cost a day.",
)
@click.option(
    "--dollars-per-month", type=click.FloatRange(0, 100_000), default=None, help="The most that they may cost a month."
)
@click.option("--yes", is_flag=True, help="Ask nothing: accept the defaults, and write them.")
@json_option(
    "The questions with their choices, and what was written.",
    help="Ask nothing; print one JSON object. Writes only with --yes or --provider.",
)
def command(
    provider: str | None,
    owner: str | None,
    dollars_per_day: float | None,
    dollars_per_month: float | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Set up Reveries: checks the machine, Ollama, and the environment for API keys (they are named, never shown); says
    what each choice costs and what leaves the machine, and which model suits it; then writes your settings, with
    comments.

    This is optional: without it, everything stays on this machine and is free.
    """
    from reveries.errors import UsageError

    options = _InitOptions(provider, owner, dollars_per_day, dollars_per_month, yes)
    if as_json:
        _init_as_json(options)
    elif yes or (provider and not _is_interactive()):
        _init_without_questions(options)
    elif not _is_interactive():
        raise UsageError(
            "init asks questions, and needs a terminal for that.",
            advice="For scripts: reveries init --yes, --provider NAME, or --json. This step is optional.",
        )
    else:
        _init_with_questions(options)


def _is_interactive() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _inspect_machine() -> "tuple[Path, Settings, ModelsOverview]":
    """Return the settings file in use, its settings, and the models available."""
    from reveries.client.offline_worker import overview_offline
    from reveries.client.settings_file import file_in_force
    from reveries.config import load_settings

    file = file_in_force()
    settings = load_settings(file)
    return file, settings, overview_offline()


def _suggest_model(overview: "ModelsOverview", settings: "Settings", provider: str) -> "SuggestedModel | None":
    """Return the model that suits this machine, if an embedded one would be used and the owner has named none."""
    from reveries.client.model_choice import is_auto_model
    from reveries.client.setup import uses_embedded
    from reveries.client.weights import request_suggestion

    return request_suggestion() if is_auto_model(settings.llm) and uses_embedded(overview, provider) else None


def _init_as_json(given_options: _InitOptions) -> None:
    from reveries.client.render import write_json
    from reveries.client.setup import changed_settings, list_options, options_as_json

    file, settings, overview = _inspect_machine()
    changed = changed_settings(settings, _collect_answers(given_options, settings))
    is_to_write = bool(changed) and (given_options.yes or given_options.provider is not None)
    if is_to_write:
        _write_settings(file, changed)
    machine = {"cores": overview.cores, "ram_bytes": overview.ram_bytes, "ollama_answers": overview.ollama_answers}
    answer = {"file": str(file), "changes": changed, "written": is_to_write, "machine": machine}
    write_json(answer | {"options": options_as_json(list_options(overview, settings))})


def _init_without_questions(options: _InitOptions) -> None:
    from reveries.client.model_choice import suggestion_text
    from reveries.client.render import paragraph, show
    from reveries.client.settings_file import draft_changes
    from reveries.client.setup import caps_text, changed_settings, choice_page, find_option

    file, settings, overview = _inspect_machine()
    answers = _collect_answers(options, settings)
    overview = _apply_caps(overview, draft_changes(file, changed_settings(settings, answers)).settings)
    provider = answers.provider or settings.llm.provider
    chosen = find_option(overview, settings, provider)
    show(choice_page(chosen, caps_text(overview.dollars_per_day, overview.dollars_per_month)))
    suggested = _suggest_model(overview, settings, provider)
    if suggested is not None:
        show(paragraph(suggestion_text(suggested, may_ask=False)))
    _confirm_and_write(file, changed_settings(settings, answers), overview, is_sure=True, suggested=suggested)


def _apply_caps(overview: "ModelsOverview", settings: "Settings") -> "ModelsOverview":
    """Return `overview` with the caps of `settings`."""
    import msgspec

    day, month = settings.budget.dollars_per_day, settings.budget.dollars_per_month
    return msgspec.structs.replace(overview, dollars_per_day=day, dollars_per_month=month)


def _init_with_questions(given_options: _InitOptions) -> None:
    from reveries.client.render import say, show
    from reveries.client.setup import caps_text, changed_settings, find_option, list_options, machine_page, options_page

    file, settings, overview = _inspect_machine()
    say("A few questions. Enter accepts the value in brackets; Ctrl+C changes nothing.", "dim")
    show([(), *machine_page(overview), ()])
    owner = given_options.owner if given_options.owner is not None else _ask_name(settings)
    suggested = _suggest_model(overview, settings, settings.llm.provider)
    offered = list_options(overview, settings, suggested)
    provider = given_options.provider
    if provider is None:
        say("\nWhich models should it use?")
        caps = caps_text(settings.budget.dollars_per_day, settings.budget.dollars_per_month)
        show(options_page(offered, settings.llm.provider, caps))
        provider = _ask_provider(offered, settings.llm.provider)
    given = _InitOptions(provider, owner, given_options.dollars_per_day, given_options.dollars_per_month, yes=False)
    chosen = find_option(overview, settings, provider, suggested)
    pasted = ""
    if chosen.is_hosted:
        given, pasted = _ask_hosted(given, settings, chosen)
    suggested = suggested if provider == settings.llm.provider else _suggest_model(overview, settings, provider)
    model = _ask_model(suggested) if suggested is not None else None
    answers = replace(_collect_answers(given, settings, was_pasted=bool(pasted)), embedded_model=model)
    changed = changed_settings(settings, answers)
    _confirm_and_write(
        file, changed, overview, is_sure=False, key=pasted, key_file=answers.api_key_file or "", suggested=suggested
    )


def _ask_name(settings: "Settings") -> str:
    from reveries.safe_text import one_line

    now = settings.owner.name
    answer: str = click.prompt("What should it call you?", default=now, show_default=bool(now))
    return one_line(answer.strip(), 60)


def _ask_provider(offered: "list[Option]", now: str) -> str:
    names = [option.provider for option in offered]
    numbers = {str(number): name for number, name in enumerate(names, 1)}
    default = str(names.index(now) + 1)
    answer: str = click.prompt("Which", default=default, type=click.Choice([*numbers, *names]), show_choices=False)
    return numbers.get(answer, answer)


def _ask_hosted(given: _InitOptions, settings: "Settings", chosen: "Option") -> tuple[_InitOptions, str]:
    """Ask for the cap and the API key of a hosted provider."""
    from reveries.client.render import say, show
    from reveries.client.setup import caps_text, choice_page, parse_key

    caps = caps_text(settings.budget.dollars_per_day, settings.budget.dollars_per_month)
    show([(), *choice_page(chosen, caps)])
    day = given.dollars_per_day
    if day is None:
        day = click.prompt(
            "The most to spend, in dollars a day",
            default=settings.budget.dollars_per_day,
            type=click.FloatRange(0, 10_000),
        )
    if chosen.key_found_in:
        say(f"A key was found in {chosen.key_found_in}; it is used if that is set when the mind is woken.", "dim")
    wish = "Or paste a key to save in a private file" if chosen.key_found_in else "Paste the key"
    answer: str = click.prompt(f"{wish} (hidden; Enter skips this)", default="", hide_input=True, show_default=False)
    return _InitOptions(given.provider, given.owner, day, given.dollars_per_month, given.yes), parse_key(answer)


def _ask_model(suggested: "SuggestedModel") -> str | None:
    """Say which model was chosen, and offer a larger one if there is one. Return the answer; None if not asked."""
    from reveries.client.model_choice import suggestion_text
    from reveries.client.model_setup import confirm_larger
    from reveries.client.render import paragraph, show

    show([(), *paragraph(suggestion_text(suggested, may_ask=True), indent=0)])
    if not suggested.larger:
        return None
    return suggested.larger if confirm_larger(suggested) else suggested.model


def _collect_answers(options: _InitOptions, settings: "Settings", *, was_pasted: bool = False) -> "Answers":
    from reveries.client.setup import LOCAL_PROVIDERS, Answers, choose_key_file
    from reveries.config import find_home

    provider = options.provider or settings.llm.provider
    chosen_file = None
    if provider not in LOCAL_PROVIDERS:
        chosen_file = choose_key_file(find_home().path, settings, provider, was_pasted=was_pasted)
    return Answers(options.owner, options.provider, options.dollars_per_day, options.dollars_per_month, chosen_file)


def _confirm_and_write(
    file: Path,
    changed: dict[str, object],
    overview: "ModelsOverview",
    *,
    is_sure: bool,
    key: str = "",
    key_file: str = "",
    suggested: "SuggestedModel | None" = None,
) -> None:
    """Show what would be written, and write it if confirmed."""
    from reveries.client.render import say, show
    from reveries.client.settings_file import draft_changes, settings_diff_page
    from reveries.client.setup import caps_note, next_steps
    from reveries.config import load_settings

    needs_restart = None
    if changed or key:
        say(f"\n{file}:", "strong")
        drafted = draft_changes(file, changed, explained=True)
        show([*settings_diff_page(drafted), *caps_note(drafted.settings, changed)])
        if key:
            say(f"  and the key, in {key_file} (only you can read it)", "dim")
        if not is_sure and not click.confirm("Write it?", default=True):
            say("Nothing was written.")
            return
        needs_restart = _write_settings(file, changed, key, key_file)
    else:
        say("There is nothing to change.")
    show(next_steps(overview, load_settings(file), needs_restart, suggested))


def _write_settings(file: Path, changed: dict[str, object], key: str = "", key_file: str = "") -> list[str] | None:
    """Write them. Return the settings that need a restart; None if the mind is asleep."""
    from reveries.client.settings_file import apply_to_daemon, draft_changes, lock_settings, write_private

    if key:
        write_private(Path(key_file), key + "\n")
    if changed:
        with lock_settings(file):
            write_private(file, draft_changes(file, changed, explained=True).after)
    return apply_to_daemon()
