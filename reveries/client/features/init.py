"""`reveries init`: a short guided set-up. It asks, shows what it would write, and writes it if told so."""

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from reveries.client.setup import Answers, Option
    from reveries.config import Settings
    from reveries.protocol import ModelsOverview, SuggestedModel

_PROVIDERS = ("auto", "embedded", "ollama", "openai", "anthropic", "cerebras", "openrouter")


@dataclass(frozen=True, slots=True)
class _InitOptions:
    """The words of the command."""

    provider: str | None
    owner: str | None
    dollars_per_day: float | None
    dollars_per_month: float | None
    yes: bool


@click.command("init", short_help="Set it up: a few questions, and every answer may be Enter.")
@click.option("--provider", type=click.Choice(_PROVIDERS), default=None, help="Whose models; no question about it.")
@click.option("--name", "owner", default=None, help="What it calls you.")
@click.option("--dollars-per-day", type=click.FloatRange(0, 10_000), default=None, help="The cap for hosted models.")
@click.option("--dollars-per-month", type=click.FloatRange(0, 100_000), default=None, help="The same for a month.")
@click.option("--yes", is_flag=True, help="Ask nothing: take the defaults, and write.")
@click.option(
    "--json", "as_json", is_flag=True, help="Ask nothing; one JSON object. Writes only with --yes or --provider."
)
def command(
    provider: str | None,
    owner: str | None,
    dollars_per_day: float | None,
    dollars_per_month: float | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Set it up: it looks at the machine, at Ollama, and for keys in the environment (which it names and never shows);
    says of each choice what leaves the machine and what it costs, and which model suits the machine; and writes your
    settings, with comments.

    It can be left out altogether: without it, everything stays on this machine and is free.
    """
    from reveries.errors import UsageError

    asked = _InitOptions(provider, owner, dollars_per_day, dollars_per_month, yes)
    if as_json:
        _as_json(asked)
    elif yes or (provider and not _is_conversation()):
        _without_questions(asked)
    elif not _is_conversation():
        raise UsageError(
            "init asks questions, and this is no terminal.",
            advice="For scripts: reveries init --yes, --provider NAME, or --json. It can also be left out.",
        )
    else:
        _with_questions(asked)


def _is_conversation() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _look_around() -> "tuple[Path, Settings, ModelsOverview]":
    """The file in force, what it says, and what there is."""
    from reveries.client.offline_worker import overview_asleep
    from reveries.client.settings_file import file_in_force
    from reveries.config import load_settings

    file = file_in_force()
    settings = load_settings(file)
    return file, settings, overview_asleep()


def _suggested_model(overview: "ModelsOverview", settings: "Settings", provider: str) -> "SuggestedModel | None":
    """The model that suits this machine, where one of it would answer and the owner has named none."""
    from reveries.client.model_choice import is_auto
    from reveries.client.setup import uses_embedded
    from reveries.client.weights import suggest_model

    return suggest_model() if is_auto(settings.llm) and uses_embedded(overview, provider) else None


def _as_json(asked: _InitOptions) -> None:
    from reveries.client.render import write_json
    from reveries.client.setup import as_tables, changes, options

    file, settings, overview = _look_around()
    found = changes(settings, _collect_answers(asked, settings))
    is_to_write = bool(found) and (asked.yes or asked.provider is not None)
    if is_to_write:
        _write_settings(file, found)
    machine = {"cores": overview.cores, "ram_bytes": overview.ram_bytes, "ollama_answers": overview.ollama_answers}
    told = {"file": str(file), "changes": found, "written": is_to_write, "machine": machine}
    write_json(told | {"options": as_tables(options(overview, settings))})


def _without_questions(asked: _InitOptions) -> None:
    from reveries.client.model_choice import suggestion_text
    from reveries.client.render import paragraph, show
    from reveries.client.settings_file import draft
    from reveries.client.setup import caps_text, changes, choice_page, option

    file, settings, overview = _look_around()
    answers = _collect_answers(asked, settings)
    overview = _cap_offers(overview, draft(file, changes(settings, answers)).settings)
    provider = answers.provider or settings.llm.provider
    chosen = option(overview, settings, provider)
    show(choice_page(chosen, caps_text(overview.dollars_per_day, overview.dollars_per_month)))
    suggested = _suggested_model(overview, settings, provider)
    if suggested is not None:
        show(paragraph(suggestion_text(suggested, may_ask=False)))
    _finish(file, changes(settings, answers), overview, is_sure=True, suggested=suggested)


def _cap_offers(overview: "ModelsOverview", settings: "Settings") -> "ModelsOverview":
    """`overview` with the caps of `settings`."""
    import msgspec

    day, month = settings.budget.dollars_per_day, settings.budget.dollars_per_month
    return msgspec.structs.replace(overview, dollars_per_day=day, dollars_per_month=month)


def _with_questions(asked: _InitOptions) -> None:
    from reveries.client.render import say, show
    from reveries.client.setup import caps_text, changes, found_page, option, options, options_page

    file, settings, overview = _look_around()
    say("A few questions. Enter takes what stands in brackets; Ctrl+C leaves everything as it is.", "dim")
    show([(), *found_page(overview), ()])
    owner = asked.owner if asked.owner is not None else _ask_name(settings)
    suggested = _suggested_model(overview, settings, settings.llm.provider)
    offered = options(overview, settings, suggested)
    provider = asked.provider
    if provider is None:
        say("\nWhose models should it think with?")
        caps = caps_text(settings.budget.dollars_per_day, settings.budget.dollars_per_month)
        show(options_page(offered, settings.llm.provider, caps))
        provider = _ask_provider(offered, settings.llm.provider)
    given = _InitOptions(provider, owner, asked.dollars_per_day, asked.dollars_per_month, yes=False)
    chosen = option(overview, settings, provider, suggested)
    pasted = ""
    if chosen.is_hosted:
        given, pasted = _ask_hosted(given, settings, chosen)
    suggested = suggested if provider == settings.llm.provider else _suggested_model(overview, settings, provider)
    model = _ask_model(suggested) if suggested is not None else None
    answers = replace(_collect_answers(given, settings, was_pasted=bool(pasted)), embedded_model=model)
    found = changes(settings, answers)
    _finish(file, found, overview, is_sure=False, key=pasted, key_file=answers.api_key_file or "", suggested=suggested)


def _ask_name(settings: "Settings") -> str:
    from reveries.safe_text import one_line

    now = settings.owner.name
    said: str = click.prompt("What should it call you?", default=now, show_default=bool(now))
    return one_line(said.strip(), 60)


def _ask_provider(offered: "list[Option]", now: str) -> str:
    names = [one.provider for one in offered]
    numbers = {str(number): name for number, name in enumerate(names, 1)}
    default = str(names.index(now) + 1)
    said: str = click.prompt("Which", default=default, type=click.Choice([*numbers, *names]), show_choices=False)
    return numbers.get(said, said)


def _ask_hosted(given: _InitOptions, settings: "Settings", chosen: "Option") -> tuple[_InitOptions, str]:
    """The cap and the key, which are nobody's business but a hosted provider's."""
    from reveries.client.render import say, show
    from reveries.client.setup import caps_text, choice_page, key_from

    caps = caps_text(settings.budget.dollars_per_day, settings.budget.dollars_per_month)
    show([(), *choice_page(chosen, caps)])
    day = given.dollars_per_day
    if day is None:
        day = click.prompt(
            "At most how many dollars a day", default=settings.budget.dollars_per_day, type=click.FloatRange(0, 10_000)
        )
    if chosen.key_found_in:
        say(f"A key is in {chosen.key_found_in}: it serves as long as the mind is woken with it.", "dim")
    wish = "Or paste one to keep in a file of yours" if chosen.key_found_in else "Paste the key"
    said: str = click.prompt(f"{wish} (it is not shown; Enter: no)", default="", hide_input=True, show_default=False)
    return _InitOptions(given.provider, given.owner, day, given.dollars_per_month, given.yes), key_from(said)


def _ask_model(suggested: "SuggestedModel") -> str | None:
    """Say which model was chosen, and ask whether it is to be a larger one; the answer, None where nothing is asked."""
    from reveries.client.model_choice import suggestion_text
    from reveries.client.model_setup import take_larger
    from reveries.client.render import paragraph, show

    show([(), *paragraph(suggestion_text(suggested, may_ask=True), indent=0)])
    if not suggested.larger:
        return None
    return suggested.larger if take_larger(suggested) else suggested.model


def _collect_answers(asked: _InitOptions, settings: "Settings", *, was_pasted: bool = False) -> "Answers":
    from reveries.client.setup import LOCAL_PROVIDERS, Answers, key_file
    from reveries.config import find_home

    provider = asked.provider or settings.llm.provider
    chosen_file = None
    if provider not in LOCAL_PROVIDERS:
        chosen_file = key_file(find_home().path, settings, provider, was_pasted=was_pasted)
    return Answers(asked.owner, asked.provider, asked.dollars_per_day, asked.dollars_per_month, chosen_file)


def _finish(
    file: Path,
    found: dict[str, object],
    overview: "ModelsOverview",
    *,
    is_sure: bool,
    key: str = "",
    key_file: str = "",
    suggested: "SuggestedModel | None" = None,
) -> None:
    """Show what would be written, and write it if that is wanted."""
    from reveries.client.render import say, show
    from reveries.client.settings_file import diff_page, draft
    from reveries.client.setup import caps_note, next_steps
    from reveries.config import load_settings

    needs_restart = None
    if found or key:
        say(f"\n{file}:", "strong")
        drafted = draft(file, found, explained=True)
        show([*diff_page(drafted), *caps_note(drafted.settings, found)])
        if key:
            say(f"  and the key, in {key_file} (mode 0600)", "dim")
        if not is_sure and not click.confirm("Write it?", default=True):
            say("Nothing was written.")
            return
        needs_restart = _write_settings(file, found, key, key_file)
    else:
        say("Nothing has to be written: it is as you want it.")
    show(next_steps(overview, load_settings(file), needs_restart, suggested))


def _write_settings(file: Path, found: dict[str, object], key: str = "", key_file: str = "") -> list[str] | None:
    """What of it waits for the next wake; None when the mind sleeps."""
    from reveries.client.settings_file import apply, changing, draft, write_private

    if key:
        write_private(Path(key_file), key + "\n")
    if found:
        with changing(file):
            write_private(file, draft(file, found, explained=True).after)
    return apply()
