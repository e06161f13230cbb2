"""Checks the files of documents that projects read: each is in the home, or beside the backups."""

import asyncio
from collections.abc import AsyncIterator

from reveries.daemon.checkup.inside import ChosenModels, Inside
from reveries.knowledge.originals import BACKUP_FOLDER, find_original
from reveries.protocol import Fault, Finding
from reveries.safe_text import one_line

_NAME_CHARS = 80

MISSING = Fault(
    "document-file-missing",
    "note",
    "The file of a document is gone: its pages cannot be drawn or read again.",
    "Add the file again: reveries document add",
)


async def check(inside: Inside, _: ChosenModels) -> AsyncIterator[Finding | str]:
    """Yield the documents whose files are nowhere."""
    if inside.memory is None:
        return
    folders = inside.home.originals, inside.home.backups / BACKUP_FOLDER
    for row in await inside.memory.database.rows("documents.kept"):
        if await asyncio.to_thread(find_original, str(row["original"]), *folders) is None:
            name = one_line(str(row["name"]), _NAME_CHARS)
            yield MISSING.found(f"The file of the document {name} is not in the home any more.", where=folders[0])
