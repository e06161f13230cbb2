"""Damaged documents are read or refused; the process that reads them goes on, and so does who asked it."""

import asyncio
import json
import os
import random
import sys
from pathlib import Path

from reveries.errors import DocumentError
from reveries.tools.document_reader import SandboxedDocumentReader
from reveries.tools.sandbox import find_sandbox
from tests.fuzz.documents import make_mutant


async def test_damaged_documents_are_read_or_refused_by_a_process_that_goes_on() -> None:
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.fuzz.documents", "1", "150",
        stdout=asyncio.subprocess.PIPE, cwd=Path(__file__).parents[2], env=os.environ,
    )  # fmt: skip
    out, _ = await child.communicate()
    assert child.returncode == 0
    results = json.loads(out)
    assert sum(results.values()) == 150
    assert results["pages"] > 20


async def test_a_reader_gives_pages_of_damaged_documents_or_a_sentence(tmp_path: Path) -> None:
    reader, chance = SandboxedDocumentReader(await asyncio.to_thread(find_sandbox)), random.Random(7)
    sentences = []
    for number in range(5):
        name, content = make_mutant(chance)
        path = tmp_path / f"{number}{name}"
        path.write_bytes(content)
        sentences += await _read(reader, path)
    assert sentences
    assert all(sentence.endswith(".") for sentence in sentences)


async def _read(reader: SandboxedDocumentReader, path: Path) -> list[str]:
    try:
        return [f"page {page.number}." async for page in reader.read(path)]
    except DocumentError as error:
        return [error.message]
