"""The weights process (`python -m reveries.llm.assets`), started and listened to. It writes one JSON object a line."""

import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import msgspec

from reveries.client.progress import Moved
from reveries.client.render import Page, Part, line
from reveries.client.wording import size
from reveries.errors import ModelUnavailableError, ReveriesError, error_from_code
from reveries.plaintext import one_line

_END_SECONDS = 10
_MODULE = "reveries.llm.assets"


class KnownModel(msgspec.Struct, frozen=True):
    """A line of the manifest, and whether its weights are on this machine."""

    name: str
    kind: str
    size_bytes: Annotated[int, msgspec.Meta(ge=0)]
    licence: str
    present: bool


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


def list_models(module: str = _MODULE) -> list[KnownModel]:
    """What the manifest knows. Raises ReveriesError when the process fails."""
    with _started(module, "list", "--json") as process:
        output = process.stdout.read() if process.stdout else b""
    text = output.strip()
    try:
        if text.startswith(b"["):
            return msgspec.json.decode(text, type=list[KnownModel])
        return [msgspec.json.decode(row, type=KnownModel) for row in text.splitlines()]
    except msgspec.MsgspecError as error:
        raise ReveriesError(
            "The list of models could not be read.", advice=f"See what it says: {sys.executable} -m {_MODULE} list"
        ) from error


def models_page(models: list[KnownModel]) -> Page:
    """One model a line; those that are here are marked."""
    widest = max((len(model.name) for model in models), default=0)
    rows = [
        line(
            Part("  ● " if model.present else "  ○ ", "good" if model.present else "dim"),
            Part(f"{one_line(model.name):<{widest}}", "strong" if model.present else ""),
            Part(f"  {one_line(model.kind):<10} {size(model.size_bytes):>8}  {one_line(model.licence)}", "dim"),
        )
        for model in models
    ]
    return [*rows, line(), line(Part("  ● here   ○ not here: reveries models pull NAME", "dim"))]


def pull_model(name: str, moved: Moved, note: Callable[[str], None], module: str = _MODULE) -> str:
    """Fetch `name`; a sentence on what came of it. Raises ReveriesError.

    `moved` is told how far it is, `note` which source did not serve and why.
    """
    source = ""
    with _started(module, "pull", name, "--json") as process:
        for said in _lines(process):
            if said.error:
                raise error_from_code(said.code, said.error, said.advice)
            if said.given_up:
                note(f"{one_line(said.source, 80)}: {one_line(said.given_up)}; trying the next source.")
                continue
            source = said.source or source
            if said.done:
                return f"{name} is here{', from ' + one_line(source) if source else ''}."
            moved(f"{name}  {said.file}", said.done_bytes, said.total_bytes)
    raise ModelUnavailableError(
        f"The model {name} was not fetched: the fetching ended early.", advice="Run it again: it goes on where it was."
    )


def _lines(process: "subprocess.Popen[bytes]") -> Iterator[_Said]:
    assert process.stdout is not None
    for row in process.stdout:
        with contextlib.suppress(msgspec.MsgspecError):
            yield msgspec.json.decode(row, type=_Said)


@contextlib.contextmanager
def _started(module: str, *words: str) -> Iterator["subprocess.Popen[bytes]"]:
    """The process with its stdout piped; ended when left. Raises what it complained of when it failed."""
    with tempfile.TemporaryFile() as complaints:
        process = subprocess.Popen(
            [sys.executable, "-m", module, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=complaints,
            # `-m` looks in the working folder first: let that be where this package is, not where the user is.
            cwd=Path(__file__).parents[2],
        )
        try:
            yield process
            if code := process.wait(_END_SECONDS):
                complaints.seek(0)
                told = _last_line(complaints.read()) or f"The weights process ended with code {code}."
                raise ModelUnavailableError(told)
        finally:
            process.terminate()
            process.wait(_END_SECONDS)
            if process.stdout is not None:
                process.stdout.close()


def _last_line(complaint: bytes) -> str:
    rows = complaint.decode("utf-8", "replace").strip().splitlines()
    return one_line(rows[-1].removeprefix("reveries: "), 500) if rows else ""
