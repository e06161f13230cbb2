"""Requests about past conversations that were imported, and the owner's corrections of them."""

import asyncio
from pathlib import Path
from typing import Final, Literal

from reveries import protocol
from reveries.daemon.requests.registry import Call, handles
from reveries.memory.model import Origin
from reveries.memory.owner_edits.imports import ImportCorrection

_AUTHORS: Final[dict[Origin, Literal["owner", "mind"]]] = {Origin.OWNER: "owner", Origin.SELF: "mind"}


@handles(protocol.AskImports)
async def list_imports(call: Call, request: protocol.AskImports) -> protocol.Imports:
    entries = await call.mind.memory.import_edits.list_imports()
    sources = [
        protocol.ImportedSource(
            entry.source,
            entry.first_at,
            entry.last_at,
            [
                protocol.ImportSpeaker(speaker.name, _AUTHORS.get(speaker.origin, "other"), speaker.turns)
                for speaker in entry.speakers
            ],
        )
        for entry in entries
    ]
    return protocol.Imports(request.request_id, sources)


@handles(protocol.CorrectImport)
async def correct_import(call: Call, request: protocol.CorrectImport) -> protocol.ImportCorrected:
    """Correct an import while nothing else works with its turns, and run light sleep on them."""
    if request.dry_run:
        return _corrected_frame(request, await _correct(call, request), 0)
    mind = call.mind
    async with mind.memory.forgetting.erasure_lock, mind.activity.during_silence():
        correction = await _correct(call, request)
        mind.conversations.forget_context()
    slept = await mind.sleep.light_sleep(call.progress_for_all("light sleep"))
    return _corrected_frame(request, correction, slept.episodes)


@handles(protocol.ImportVisioneer)
async def import_visioneer(call: Call, request: protocol.ImportVisioneer) -> protocol.ProjectsImported:
    # A mind without projects does not need these.
    from reveries.projects.visioneer_file import read_visioneer_file
    from reveries.projects.visioneer_import import import_projects

    found = await asyncio.to_thread(read_visioneer_file, Path(request.path))
    imported = await import_projects(call.mind.projects.store, found)
    return protocol.ProjectsImported(request.request_id, imported)


async def _correct(call: Call, request: protocol.CorrectImport) -> ImportCorrection:
    edits = call.mind.memory.import_edits
    if request.take_back:
        return await edits.take_back(request.source, is_dry_run=request.dry_run)
    return await edits.set_owner(request.source, request.owners, is_dry_run=request.dry_run)


def _corrected_frame(
    request: protocol.CorrectImport, correction: ImportCorrection, episodes: int
) -> protocol.ImportCorrected:
    return protocol.ImportCorrected(
        request.request_id,
        request.source,
        is_dry_run=request.dry_run,
        is_taken_back=request.take_back,
        owners=request.owners,
        run_id="" if request.dry_run else correction.run_id,
        turns=correction.turns,
        now_yours=correction.now_yours,
        no_longer_yours=correction.no_longer_yours,
        made_anew=[protocol.AnewCount(store, count) for store, count in correction.made_anew.items()],
        episodes=episodes,
    )
