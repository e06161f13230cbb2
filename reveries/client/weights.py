"""Download a model in a separate process (weights of the manifest, or through Ollama), with progress."""

from collections.abc import Callable

import msgspec

from reveries.client.offline_worker import json_rows, start_worker
from reveries.client.progress import ProgressCallback
from reveries.errors import ModelUnavailableError, error_from_code
from reveries.protocol import SuggestedModel
from reveries.safe_text import one_line


class PulledModel(msgspec.Struct, frozen=True):
    name: str
    source: str


class ModelChosen(msgspec.Struct, frozen=True):
    """The chat model that will be used, and why, in a sentence; `model` is empty if it is a provider's or Ollama's, and
    nothing is downloaded. `source`: where its last file came from (empty: it was already here). `written`: whether the
    settings now name it."""

    model: str
    why: str
    source: str
    written: bool


OLLAMA_PREFIX = "ollama/"
_ASSETS_MODULE = "reveries.llm.assets"
_SUGGESTION_MODULE = "reveries.llm.model_suggestion"
_OLLAMA_MODULE = "reveries.llm.ollama_pull"


class _DownloadLine(msgspec.Struct, frozen=True):
    """One line of output of the process: progress, completion, or an error."""

    file: str = ""
    done_bytes: int = 0
    total_bytes: int = 0
    source: str = ""
    given_up: str = ""
    done: bool = False
    error: str = ""
    advice: str = ""
    code: str = "model_unavailable"


def request_suggestion(module: str = "") -> SuggestedModel:
    """Return the model that suits this machine, asking publishers (5 s) if none is here. Raises ReveriesError."""
    with start_worker(module or _SUGGESTION_MODULE) as process:
        for row in json_rows(process):
            return msgspec.json.decode(row, type=SuggestedModel)
    raise ModelUnavailableError(
        "No suitable model for this machine could be determined.", advice="Choose one: reveries models choose NAME"
    )


def pull_model(name: str, on_progress: ProgressCallback, note: Callable[[str], None], module: str = "") -> PulledModel:
    """Download `name` (of the manifest, or "ollama/NAME"). Raises ReveriesError.

    `on_progress` receives the progress, `note` a sentence for each source that failed.
    """
    try:
        return _pull(name, on_progress, note, module)
    except KeyboardInterrupt:
        note("Interrupted. The downloaded part is kept, and the next run continues there.")
        raise


def _pull(name: str, on_progress: ProgressCallback, note: Callable[[str], None], module: str) -> PulledModel:
    is_ollama = name.startswith(OLLAMA_PREFIX)
    source = ""
    words = ("pull", name.removeprefix(OLLAMA_PREFIX), "--json")
    with start_worker(module or (_OLLAMA_MODULE if is_ollama else _ASSETS_MODULE), *words) as process:
        for row in json_rows(process):
            update = msgspec.json.decode(row, type=_DownloadLine)
            if update.error:
                raise error_from_code(update.code, update.error, update.advice)
            if update.given_up:
                note(f"{one_line(update.source, 80)}: {one_line(update.given_up)}; trying the next source.")
                continue
            source = update.source or source
            if update.done:
                return PulledModel(name, one_line(source))
            on_progress(f"{name}  {update.file}", update.done_bytes, update.total_bytes)
    raise ModelUnavailableError(
        f"The model {name} was not downloaded: the download ended early.", advice="Run it again to continue."
    )


def pulled_sentence(done: PulledModel) -> str:
    """Return a sentence on the result."""
    return f"{done.name} is on this machine{', from ' + done.source if done.source else ''}."
