"""Which chat model suits this machine, by its memory, cores, disk, and which publishers answer.

Runs as a separate process, like `assets`, and writes one JSON object (`SuggestedModel`):

    python -m reveries.llm.model_suggestion
"""

import shutil
import sys
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from reveries.config import find_models_folder
from reveries.llm.asset_sources import UrlSource, has_file
from reveries.llm.assets import Asset, asset, list_local_models
from reveries.llm.fitting import free_memory_bytes, read_machine_memory
from reveries.llm.model_ladder import best_local_model, choose_suggestion, models_to_ask_for
from reveries.own_process import protect_process
from reveries.protocol import SuggestedModel


def find_suggestion(cores: int, free_bytes: int, folder: Path | None = None) -> SuggestedModel:
    """Suggest a model. Contacts publishers only where no model is on the disk; a silent one takes five seconds."""
    place = folder or find_models_folder()
    here, room_bytes = list_local_models(place), _free_disk_bytes(place)
    suiting = [] if best_local_model(here) else [asset(name) for name in models_to_ask_for(free_bytes, cores)]
    wanted = [
        model for model in suiting if model.size_bytes <= room_bytes
    ]  # Do not offer what does not fit on the disk.
    published = _published_names(wanted)
    suggestion = choose_suggestion(free_bytes, cores, here, published)
    return SuggestedModel(
        model=suggestion.model,
        size_bytes=asset(suggestion.model).size_bytes,
        is_here=suggestion.is_here,
        larger=suggestion.larger,
        larger_bytes=asset(suggestion.larger).size_bytes if suggestion.larger else 0,
        cores=cores,
        free_bytes=free_bytes,
        silent=sorted(_publishers(wanted) - _publishers([model for model in wanted if model.name in published])),
    )


def _free_disk_bytes(folder: Path) -> int:
    """Return the free space where `folder` is, or will be."""
    return shutil.disk_usage(next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())).free


def _published_names(wanted: Sequence[Asset]) -> Collection[str]:
    """Return the names of the models whose publisher has every file. Asked concurrently, so silence is waited for only
    once."""
    if not wanted:
        return ()
    with ThreadPoolExecutor(len(wanted)) as threads:
        answers = list(threads.map(_is_published, wanted))
    return [model.name for model, is_published in zip(wanted, answers, strict=True) if is_published]


def _is_published(model: Asset) -> bool:
    return all(
        any(has_file(source, file.size_bytes) for source in file.source if isinstance(source, UrlSource))
        for file in model.file
    )


def _publishers(models: Sequence[Asset]) -> set[str]:
    files = [file for model in models for file in model.file]
    return {source.title for file in files for source in file.source if isinstance(source, UrlSource)}


def main() -> int:
    """Print the suggestion; return the exit code."""
    suggested = find_suggestion(read_machine_memory().cores, free_memory_bytes())
    sys.stdout.write(msgspec.json.encode(suggested).decode("utf-8") + "\n")
    return 0


if __name__ == "__main__":
    protect_process()
    raise SystemExit(main())
