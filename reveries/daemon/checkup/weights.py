"""Checks the weights of the models that run here: there, intact, and small enough for this machine."""

import asyncio
from collections.abc import AsyncIterator, Iterator

from reveries.daemon.checkup.inside import ChosenModels, Inside
from reveries.errors import ModelMissingError, NotFoundError, ReveriesError
from reveries.llm.assets import asset, damaged_file, find_weights
from reveries.llm.embedded import SLOTS
from reveries.llm.fitting import fit_context
from reveries.protocol import Fault, Finding

_FETCH = "Download them: reveries models pull"

MISSING = Fault("weights-missing", "wrong", "The weights of a model or the embedder are not on this machine.", _FETCH)
DAMAGED = Fault("weights-damaged", "wrong", "A file of a model's weights is damaged or a different one.", _FETCH)
TOO_LARGE = Fault(
    "model-too-large", "wrong", "The model does not fit into memory.", "Choose a smaller: reveries models"
)


async def check(inside: Inside, chosen: ChosenModels) -> AsyncIterator[Finding | str]:
    """Yield what keeps a model or the embedder from running here."""
    for model in sorted({choice.model for choice in chosen.choices if choice.provider == "embedded"}):
        for finding in await asyncio.to_thread(_check_model, inside, model):
            yield finding
    if "/" not in (embedder := inside.llm.embedding_model):
        for finding in await asyncio.to_thread(lambda: list(_check_files(inside, embedder))):
            yield finding


def _check_model(inside: Inside, model: str) -> list[Finding]:
    if findings := list(_check_files(inside, model)):
        return findings
    try:
        fit_context(inside.llm.embedded, model, len(set(SLOTS.values())), inside.machine)
    except ReveriesError as error:
        return [TOO_LARGE.found(error.message, error.advice, model)]
    return []


def _check_files(inside: Inside, model: str) -> Iterator[Finding]:
    try:
        damage = damaged_file(asset(model), inside.models)
    except (NotFoundError, OSError):  # The owner's own file, or none.
        damage = None
    if damage:
        yield DAMAGED.found(
            f"{damage} is damaged: its size or sha256 is wrong.", f"Fetch them: reveries models pull {model}", damage
        )
        return
    try:
        find_weights(model, inside.models)
    except (ModelMissingError, NotFoundError) as error:
        yield MISSING.found(error.message, error.advice, model)
