"""Fetching a model: the process that does it (weights of the manifest, or Ollama's own), started and listened to."""

from collections.abc import Callable

import msgspec

from reveries.client.json_answers import PulledModel
from reveries.client.offline_worker import rows_of, started
from reveries.client.progress import Moved
from reveries.errors import ModelUnavailableError, error_from_code
from reveries.protocol import SuggestedModel
from reveries.safe_text import one_line

OLLAMA_PREFIX = "ollama/"
_ASSETS_MODULE = "reveries.llm.assets"
_SUGGESTION_MODULE = "reveries.llm.model_suggestion"
_OLLAMA_MODULE = "reveries.llm.ollama_pull"


class _Said(msgspec.Struct, frozen=True):
    """A line of the process: how far it is, that it is done, or what went wrong."""

    file: str = ""
    done_bytes: int = 0
    total_bytes: int = 0
    source: str = ""
    given_up: str = ""
    done: bool = False
    error: str = ""
    advice: str = ""
    code: str = "model_unavailable"


def suggest_model(module: str = "") -> SuggestedModel:
    """What suits this machine. Where it has no model, publishers are asked, for five seconds. Raises ReveriesError."""
    with started(module or _SUGGESTION_MODULE) as process:
        for row in rows_of(process):
            return msgspec.json.decode(row, type=SuggestedModel)
    raise ModelUnavailableError(
        "It could not be found out which model suits this machine.", advice="Name one: reveries models choose NAME"
    )


def pull_model(name: str, moved: Moved, note: Callable[[str], None], module: str = "") -> PulledModel:
    """Fetch `name` (of the manifest, or "ollama/NAME"); what came of it. Raises ReveriesError.

    `moved` is told how far it is, `note` which source did not serve and why.
    """
    try:
        return _pull(name, moved, note, module)
    except KeyboardInterrupt:
        note("Interrupted: what has come is kept, and the next run goes on there.")
        raise


def _pull(name: str, moved: Moved, note: Callable[[str], None], module: str) -> PulledModel:
    is_ollamas = name.startswith(OLLAMA_PREFIX)
    source = ""
    words = ("pull", name.removeprefix(OLLAMA_PREFIX), "--json")
    with started(module or (_OLLAMA_MODULE if is_ollamas else _ASSETS_MODULE), *words) as process:
        for row in rows_of(process):
            said = msgspec.json.decode(row, type=_Said)
            if said.error:
                raise error_from_code(said.code, said.error, said.advice)
            if said.given_up:
                note(f"{one_line(said.source, 80)}: {one_line(said.given_up)}; trying the next source.")
                continue
            source = said.source or source
            if said.done:
                return PulledModel(name, one_line(source))
            moved(f"{name}  {said.file}", said.done_bytes, said.total_bytes)
    raise ModelUnavailableError(
        f"The model {name} was not fetched: the fetching ended early.", advice="Run it again: it goes on where it was."
    )


def pulled_line(done: PulledModel) -> str:
    """What came of it, in a sentence."""
    return f"{done.name} is here{', from ' + done.source if done.source else ''}."
