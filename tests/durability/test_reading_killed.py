"""A mind that is killed while it reads: no page is lost, none is stored twice, no pointer is without its box."""

import contextlib
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from reveries.db.driver import dbapi

_PAGES = 40
_READS = f"""
import asyncio, os, signal, sys
from pathlib import Path

from tests.fakes.documents import ScriptedDocumentReader
from tests.projects.test_document_reading import desk_of
from tests.projects.kit import open_work
from tests.projects.test_goals_and_input import answers
from reveries.db.database import Database

home, first_id, dies_at = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
statements = 0


async def main():
    global statements
    async with open_work(home, answers, first_id=first_id) as work:
        projects = await work.store.projects()
        project = projects[0] if projects else await work.begin("Canopy")
        desk = await desk_of(work, project, home, first_id=first_id * 1000 + 10**6)
        if not await desk.library.standings(project):
            text = "\\f".join(f"Sheet {{number}}.\\n\\nIt has {{number}} doors." for number in range(1, {_PAGES} + 1))
            await desk.add("plans.pdf", text)
        connection = work.database._connection
        execute = connection.execute

        async def counted(*given, **named):
            global statements
            statements += 1
            if statements == dies_at:
                os.kill(os.getpid(), signal.SIGKILL)
            return await execute(*given, **named)

        connection.execute = counted
        await desk.steps.reset_broken_off()
        await desk.read_all()
        connection.execute = execute
    print(statements)


asyncio.run(main())
"""


def read_until(home: Path, first_id: int, dies_at: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", _READS, str(home), str(first_id), str(dies_at)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def wrong_in(home: Path) -> list[str]:
    """What does not hold of a document that is read: in words."""
    with contextlib.closing(dbapi.connect(str(home / "memory.db"))) as look:
        return [
            what
            for what, query in {
                "a page is missing": f"SELECT 1 WHERE (SELECT count(*) FROM pages) <> {_PAGES}",
                "a page is there twice": "SELECT number FROM pages GROUP BY number HAVING count(*) > 1",
                "a text is there twice": "SELECT content FROM chunks GROUP BY content HAVING count(*) > 1",
                "a pointer is missing": f"SELECT 1 WHERE (SELECT count(*) FROM pointers) <> {2 * _PAGES}",
                "a pointer has no box": "SELECT chunk_id FROM pointers"
                " WHERE chunk_id NOT IN (SELECT pointer_id FROM pointer_boxes)",
                "a pointer has no vector": "SELECT chunk_id FROM pointers"
                " WHERE chunk_id NOT IN (SELECT chunk_id FROM chunk_vectors)",
                "it is not complete": "SELECT id FROM documents WHERE reading <> 'complete'",
            }.items()
            if _any(look, query)
        ]


def _any(look: sqlite3.Connection, query: str) -> bool:
    return look.execute(query).fetchone() is not None


@pytest.mark.requirement("A1", "M-29")
@pytest.mark.parametrize("share", [0.02, 0.3, 0.55, 0.8, 0.98])
def test_a_mind_that_is_killed_at_any_statement_of_reading_loses_no_page_and_reads_none_twice(
    tmp_path: Path, share: float
) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    whole.mkdir()
    killed.mkdir()
    uncut = read_until(whole, 0, 0)
    assert uncut.returncode == 0, uncut.stderr
    assert read_until(killed, 0, max(1, int(int(uncut.stdout.split()[-1]) * share))).returncode == -9
    assert read_until(killed, 5000, 0).returncode == 0
    assert wrong_in(killed) == []
