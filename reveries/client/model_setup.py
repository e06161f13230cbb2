"""Choose the embedded chat model: print the suggestion, ask about a larger model, download the weights."""

import sys
from collections.abc import Callable
from pathlib import Path

import click

from reveries.client.model_choice import is_auto_model, other_provider_text, question_text, suggestion_text
from reveries.client.progress import progress_bar
from reveries.client.render import paragraph, say, show, show_json
from reveries.client.settings_file import apply_to_daemon, file_in_force, write_setting
from reveries.client.weights import ModelChosen, PulledModel, pull_model, pulled_sentence, request_suggestion
from reveries.config import AUTO_MODEL, Settings, load_settings
from reveries.errors import NotFoundError, UsageError
from reveries.protocol import ModelsOverview, SuggestedModel

_KEY = "llm.embedded.model"


def choose_model(name: str, *, as_json: bool, overview: Callable[[], ModelsOverview]) -> None:
    """Run `reveries models choose`. `overview` returns the available models, and is called only if needed."""
    file = file_in_force()
    if name == AUTO_MODEL:
        _save_choice(file, AUTO_MODEL, as_json=as_json)
        name = ""
    settings = load_settings(file)
    if name:
        chosen = _choose_named(name, settings, file, as_json=as_json, overview=overview)
    else:
        models = overview() if settings.llm.provider == "auto" else None
        chosen = _choose_automatically(settings, file, models, as_json=as_json)
    if as_json:
        show_json(chosen)


def download_model(name: str, *, as_json: bool) -> PulledModel:
    """Download the weights of `name` with a progress bar. Raises ReveriesError."""
    with progress_bar(name, in_bytes=True, as_json=as_json) as on_progress:
        return pull_model(name, on_progress, lambda text: say(text, "dim", err=True))


def confirm_larger(suggestion: SuggestedModel) -> bool:
    """Ask whether to download the larger model. The default is no: an accidental Enter must not cost gigabytes."""
    return click.confirm(question_text(suggestion), default=False)


def _choose_named(
    name: str, settings: Settings, file: Path, *, as_json: bool, overview: Callable[[], ModelsOverview]
) -> ModelChosen:
    path = Path(name).expanduser()
    is_file = path.is_file()
    if not is_file and ("/" in name or name.endswith(".gguf")):
        raise UsageError(f"There is no file {name}.", advice="Give a name from `reveries models`, or a GGUF file.")
    model = str(path.absolute()) if is_file else name
    models = overview()
    names = [offer.name for offer in models.weights]
    if not is_file and name not in names:
        raise NotFoundError(
            f"There is no model called {name}.", advice=f"There are: {', '.join(names)}; or a GGUF file."
        )
    why = other_provider_text(settings.llm, models)
    source = ""
    if why:
        _print_line(why, as_json=as_json)
    elif not is_file:
        source = _download_and_report(model, as_json=as_json)
    _save_choice(file, model, as_json=as_json)
    return ModelChosen(model, why or "You named it.", source, written=True)


def _choose_automatically(
    settings: Settings, file: Path, overview: ModelsOverview | None, *, as_json: bool
) -> ModelChosen:
    if reason := other_provider_text(settings.llm, overview):
        _print_line(reason, as_json=as_json)
        return ModelChosen("", reason, "", written=False)
    if not is_auto_model(settings.llm):
        model = settings.llm.embedded.model
        source = "" if Path(model).expanduser().is_file() else _download_and_report(model, as_json=as_json)
        return ModelChosen(model, f"It is set in {_KEY}.", source, written=False)
    suggestion = request_suggestion()
    may_ask = not as_json and sys.stdin.isatty() and sys.stdout.isatty()
    why = suggestion_text(suggestion, may_ask=may_ask)
    _print_line(why, as_json=as_json)
    model, is_answer = suggestion.model, bool(suggestion.larger) and may_ask
    if is_answer:
        model = suggestion.larger if confirm_larger(suggestion) else model
        # Saved before the download, so that an interrupted one does not ask again.
        _save_choice(file, model, as_json=as_json)
    source = "" if suggestion.is_here else _download_and_report(model, as_json=as_json)
    return ModelChosen(model, why, source, written=is_answer)


def _download_and_report(model: str, *, as_json: bool) -> str:
    """Download the model, print the result, and return its source."""
    done = download_model(model, as_json=as_json)
    _print_line(pulled_sentence(done), as_json=as_json)
    return done.source


def _save_choice(file: Path, model: str, *, as_json: bool) -> None:
    write_setting(file, _KEY, model)
    needs_restart = apply_to_daemon()
    _print_line(f"{_KEY} = {model}  (in {file})", as_json=as_json)
    if needs_restart:
        _print_line("It takes effect after a restart: reveries sleep, then reveries wake.", as_json=as_json)


def _print_line(text: str, *, as_json: bool) -> None:
    if not as_json:
        show(paragraph(text, indent=0))
