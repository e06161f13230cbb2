"""Cost of the schema's guards (triggers that check each row): the same writes with them and without, in turn.

    PYTHONPATH=.:bench python bench/doors.py [--rounds 7]

Workloads: an import with its light sleep; exchanges one by one, each in its own commit; and rows of the guarded tables
in one transaction, where only SQLite works: the worst case. Processor time of all threads, the minimum over many small
pieces of equal work, so that other load on the machine has little influence.
"""

import argparse
import asyncio
import contextlib
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from reveries.db.driver import dbapi
from reveries.db.schemas import schema_statements
from reveries.memory.importing import PastTurn
from reveries.memory.memory import Memory
from tests.fakes.clock import HandClock
from tests.memory.kit import NOW, open_memory, talk

_GUARDS = "SELECT name FROM sqlite_master WHERE type = 'trigger' AND name LIKE '%~_guarded' ESCAPE '~'"
_ROWS = (
    "INSERT INTO conversations (id, began_at, last_said_at, source) VALUES ('c{n}', 1, 1, 'chat')",
    """INSERT INTO raw_experiences (id, kind, happened_at, content, salience, origin, tainted, checksum)
    VALUES ('x{n}', 'conversation', 1, 'words of so and so', 0.5, 'owner', {t}, x'00')""",
    """INSERT INTO turns (id, conversation_id, position, origin, tainted, speaker, text, said_at, checksum)
    VALUES ('t{n}', 'c{n}', 0, 'owner', 0, 's', 'words of so and so', 1, x'00')""",
    "UPDATE turns SET experience_id = 'x{n}' WHERE id = 't{n}'",
    """INSERT INTO turns (id, conversation_id, experience_id, position, origin, tainted, speaker, text, said_at,
    checksum) VALUES ('r{n}', 'c{n}', 'x{n}', 1, 'self', {t}, 's', 'words of so and so', 1, x'00')""",
    """INSERT INTO episodes (id, created_at, ended_at, last_accessed_at, summary, exemplars, salience, confidence,
    last_decayed_at, depth, origin, tainted, checksum)
    VALUES ('e{n}', 1, 1, 1, 'words of so and so', '[]', 0.5, 1, 1, 'light', 'owner', {t}, x'00')""",
    "INSERT INTO episode_sources VALUES ('e{n}', 'x{n}')",
    """INSERT INTO claims (id, subject, relation, value, quote, is_change, turn_id, experience_id, speaker, said_at,
    found_by, origin, tainted, checksum)
    VALUES ('k{n}', 's', 'r', 'v', 'q', 0, 't{n}', 'x{n}', 's', 1, 'pattern', 'owner', 0, x'00')""",
)


_LINES, _PIECE = 600, 50


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    lines = [PastTurn(NOW + place, "Ana" if place % 2 else "Reverie", _words(place)) for place in range(_LINES)]
    ways: dict[str, Callable[[bool], float]] = {
        "a line of an import": lambda is_guarded: _lived(is_guarded, lambda one: _import(one, lines)),
        "light sleep on a line": lambda is_guarded: _lived(is_guarded, lambda one: _slept(one, lines)),
        "an exchange": lambda is_guarded: _lived(is_guarded, _talk),
        f"{len(_ROWS)} rows alone": _rows,
    }
    for name, measure in ways.items():
        pairs = [(measure(False), measure(True)) for _ in range(rounds)]
        without, guarded = (1e6 * min(pair[place] for pair in pairs) for place in (0, 1))
        print(f"{name}: {without:.1f} us without, {guarded:.1f} us with ({guarded / without - 1:+.1%})", flush=True)


def _words(place: int) -> str:
    return (
        f"Line {place}: the {('boat', 'tree', 'wall', 'harbour')[place % 4]} of {place % 97} was blue on day {place}."
    )


def _lived(is_guarded: bool, do: Callable[[Memory], Awaitable[float]]) -> float:
    async def live() -> float:
        with tempfile.TemporaryDirectory(prefix="rv-") as folder:
            async with open_memory(Path(folder), HandClock(NOW)) as memory:
                if not is_guarded:
                    await _open_doors(memory)
                return await do(memory)

    return asyncio.run(live())


async def _open_doors(memory: Memory) -> None:
    database = memory._store.database
    for row in await database.rows_of_text(_GUARDS, ()):
        async with database.transaction() as transaction:
            await transaction.run_text_many(f"DROP TRIGGER {row['name']}", [()])


async def _import(memory: Memory, lines: list[PastTurn]) -> float:
    """Seconds a line, of the quickest piece."""
    under_way, least = memory.begin_import("letters"), float("inf")
    for start in range(0, len(lines), _PIECE):
        began = time.process_time()
        await under_way.add(lines[start : start + _PIECE])
        least = min(least, time.process_time() - began)
    return least / _PIECE


async def _slept(memory: Memory, lines: list[PastTurn]) -> float:
    await _import(memory, lines)
    began = time.process_time()
    await memory.light_sleep()
    return (time.process_time() - began) / len(lines)


async def _talk(memory: Memory) -> float:
    least = float("inf")
    for start in range(0, 10 * _PIECE, _PIECE):
        began = time.process_time()
        await talk(memory, *((_words(start + place), _words(start + place + 1)) for place in range(_PIECE)))
        least = min(least, time.process_time() - began)
    return least / _PIECE


def _rows(is_guarded: bool) -> float:
    with contextlib.closing(dbapi.connect(":memory:", isolation_level=None)) as connection:
        for statement in schema_statements():
            connection.execute(statement)
        if not is_guarded:
            for (name,) in connection.execute(_GUARDS).fetchall():
                connection.execute(f"DROP TRIGGER {name}")
        bound, least = [_bound(row) for row in _ROWS], float("inf")
        connection.execute("BEGIN")
        for start in range(0, 40 * _PIECE, _PIECE):
            began = time.process_time()
            for number in range(start, start + _PIECE):
                for statement in bound:
                    connection.execute(statement, {"n": str(number), "t": number % 2})
            least = min(least, time.process_time() - began)
        connection.execute("COMMIT")
        return least / _PIECE


def _bound(row: str) -> str:
    """The statement with its number and its taint as parameters, so that it is compiled once."""
    for letter in "cxtrek":
        row = row.replace(f"'{letter}{{n}}'", f"'{letter}' || :n")
    return row.replace("{t}", ":t")


if __name__ == "__main__":
    main()
