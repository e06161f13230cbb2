"""Choosing the embedded chat model: what was found is said, the one question is asked, and the weights are fetched."""

import sys
from collections.abc import Callable
from pathlib import Path

import click

from reveries.client.json_answers import ModelChosen, PulledModel
from reveries.client.model_choice import is_auto, question_text, suggestion_text, where_it_speaks
from reveries.client.progress import progress_bar
from reveries.client.render import paragraph, say, show, write_struct
from reveries.client.settings_file import apply, file_in_force, write_setting
from reveries.client.weights import pull_model, pulled_line, suggest_model
from reveries.config import AUTO_MODEL, Settings, load_settings
from reveries.errors import NotFoundError, UsageError
from reveries.protocol import ModelsOverview, SuggestedModel

_KEY = "llm.embedded.model"


def choose_model(name: str, *, as_json: bool, overview: Callable[[], ModelsOverview]) -> None:
    """Do what `reveries models choose` says. `overview`: what there is, asked for only where it matters."""
    file = file_in_force()
    if name == AUTO_MODEL:
        _remember(file, AUTO_MODEL, as_json=as_json)
        name = ""
    settings = load_settings(file)
    if name:
        chosen = _take_named(name, settings, file, as_json=as_json, overview=overview)
    else:
        asked = overview() if settings.llm.provider == "auto" else None
        chosen = _take_suitable(settings, file, asked, as_json=as_json)
    if as_json:
        write_struct(chosen)


def fetch_model(name: str, *, as_json: bool) -> PulledModel:
    """Fetch the weights of `name`, with a bar; what came of it. Raises ReveriesError."""
    with progress_bar(name, in_bytes=True, as_json=as_json) as moved:
        return pull_model(name, moved, lambda text: say(text, "dim", err=True))


def take_larger(found: SuggestedModel) -> bool:
    """Ask whether the larger model may be fetched. Enter is no: nobody pays for gigabytes by a key pressed too soon."""
    return click.confirm(question_text(found), default=False)


def _take_named(
    name: str, settings: Settings, file: Path, *, as_json: bool, overview: Callable[[], ModelsOverview]
) -> ModelChosen:
    path = Path(name).expanduser()
    is_file = path.is_file()
    if not is_file and ("/" in name or name.endswith(".gguf")):
        raise UsageError(f"There is no file {name}.", advice="A name of `reveries models` will do, or a GGUF file.")
    model = str(path.absolute()) if is_file else name
    asked = overview()
    known = [one.name for one in asked.weights]
    if not is_file and name not in known:
        raise NotFoundError(
            f"There is no model called {name}.", advice=f"There are: {', '.join(known)}; or a GGUF file."
        )
    why = where_it_speaks(settings.llm, asked)
    source = ""
    if why:
        _print_line(why, as_json=as_json)
    elif not is_file:
        source = _fetch_model(model, as_json=as_json)
    _remember(file, model, as_json=as_json)
    return ModelChosen(model, why or "It was named.", source, written=True)


def _take_suitable(settings: Settings, file: Path, overview: ModelsOverview | None, *, as_json: bool) -> ModelChosen:
    if elsewhere := where_it_speaks(settings.llm, overview):
        _print_line(elsewhere, as_json=as_json)
        return ModelChosen("", elsewhere, "", written=False)
    if not is_auto(settings.llm):
        model = settings.llm.embedded.model
        source = "" if Path(model).expanduser().is_file() else _fetch_model(model, as_json=as_json)
        return ModelChosen(model, f"{_KEY} names it.", source, written=False)
    found = suggest_model()
    may_ask = not as_json and sys.stdin.isatty() and sys.stdout.isatty()
    why = suggestion_text(found, may_ask=may_ask)
    _print_line(why, as_json=as_json)
    model, is_answer = found.model, bool(found.larger) and may_ask
    if is_answer:
        model = found.larger if take_larger(found) else model
        # Before it is fetched: whoever is interrupted in it is not asked again.
        _remember(file, model, as_json=as_json)
    source = "" if found.is_here else _fetch_model(model, as_json=as_json)
    return ModelChosen(model, why, source, written=is_answer)


def _fetch_model(model: str, *, as_json: bool) -> str:
    """Where it came from."""
    done = fetch_model(model, as_json=as_json)
    _print_line(pulled_line(done), as_json=as_json)
    return done.source


def _remember(file: Path, model: str, *, as_json: bool) -> None:
    write_setting(file, _KEY, model)
    needs_restart = apply()
    _print_line(f"{_KEY} = {model}  (in {file})", as_json=as_json)
    if needs_restart:
        _print_line("It counts after a restart: reveries sleep, then reveries wake.", as_json=as_json)


def _print_line(text: str, *, as_json: bool) -> None:
    if not as_json:
        show(paragraph(text, indent=0))
