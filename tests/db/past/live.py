"""A small life, written down by the code of an earlier commit: how the databases beside this file were made.

    git worktree add /tmp/old COMMIT
    cd /tmp/old && PYTHONPATH=. python THIS_FILE OUT.db LEDGER.json

    schema 1: 989cde3    schema 2: 2148eba    schema 3: c00cdc1    schema 4: c249f75    schema 5: 2d449cc
    schema 6: 46dc306    schema 7: da541ce    schema 8: dc5096e    schema 9: f7ab54e
    schema 10: e8a6b95    schema 11: 51c1688    schema 12: 0b23fc13    schema 13: 1e17074d    schema 14: 95de3d8d

Each is the last commit that wrote this schema. They are never made anew: a file that today's code wrote would prove
nothing. What it uses of the code was the same in all of them.
"""

import asyncio
import json
import sys
import tempfile
from pathlib import Path

import msgspec

from reveries.memory.conversations import Thought
from reveries.memory.importing import PastTurn
from reveries.memory.memory import Memory
from reveries.memory.model import Origin
from tests.fakes.clock import HandClock
from tests.memory.kit import NOW, deep_answer, open_memory, talk

try:
    from tests.fakes.scripted import ScriptedModel
except ModuleNotFoundError:  # Where schema 13 was new, it was a part of the product.
    from reveries.llm.scripted import ScriptedModel  # type: ignore[import-not-found, no-redef]

TALKS = (
    (
        ("My sister Marta bought a boat in Lisbon.", "A boat! What is she going to call it?"),
        ("It is called Aurora, after our grandmother.", "Then your grandmother goes to sea again."),
    ),
    (
        ("I planted a pear tree behind the old wall.", "It will take some years to bear."),
        ("Paul says that pears need a second tree near by.", "Is there room for one?"),
        ("Ich habe heute Zürich gesehen: schön, müde, 東京 später.", "You saw a lot in one day."),
    ),
    (("Tomorrow I have an appointment with the dentist.", "I will think of you in the morning."),),
)
LETTERS = (
    "The cello stands in the attic. Nobody has played it since 2019.",
    "The night shift ends in March, and then I move to Oslo.",
)
THOUGHTS = (
    "The boat has a name before it has a harbour. I want to ask where it will lie.",
    "Two trees behind one wall: perhaps there is room for both.",
)
DAY = 86_400.0


async def live(memory: Memory, clock: HandClock) -> None:
    """Four days: talk, thoughts, something brought in, sleep of both depths, and something left for the next sleep."""
    for exchanges in TALKS:
        conversation = await talk(memory, *exchanges)
        await memory.conversations.mark_conversation_idle(conversation)
        await memory.light_sleep()
        await clock.advance(DAY)
    now = clock.now()
    for place, text in enumerate(THOUGHTS):
        await memory.conversations.record_thought(
            Thought(f"thought{place}", now - 60, now, "association", "settled", text, 30, "scripted/model")
        )
    source = [PastTurn(NOW - 30 * DAY + place, "Ana", text) for place, text in enumerate(LETTERS)]
    await memory.begin_import("letters").add(source)
    await memory.conversations.record_external("The invoice of the boatyard: 1,200 euro.", Origin.DOCUMENT)
    await memory.light_sleep()
    answers = ScriptedModel(otherwise=_understood)
    await memory.deep_sleep(answers, limit=4)
    await clock.advance(DAY)
    await talk(memory, ("Marta's boat Aurora is blue.", "Blue as the sea that it sails."))


def _understood(prompt: object) -> list[str]:
    text = " ".join(message.text for message in prompt.messages)  # type: ignore[attr-defined]
    said = [said for exchanges in TALKS for said, _ in exchanges if said in text]
    answer = deep_answer(0.7, quote=said[0] if said else "", summary="You told me of it.", topics=["home"])
    return [msgspec.json.encode(answer).decode()]


async def main(out: Path) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        clock = HandClock(NOW)
        async with open_memory(Path(folder), clock) as memory:
            await live(memory, clock)
            database = memory._store.database
            kept = {
                "turns": [
                    [row["speaker"], row["text"]]
                    for row in await _rows(database, "SELECT speaker, text FROM turns ORDER BY rowid")
                ],
                "experiences": [
                    row["content"]
                    for row in await _rows(database, "SELECT content FROM raw_experiences ORDER BY rowid")
                ],
                "episodes": [
                    [row["id"], row["summary"]]
                    for row in await _rows(database, "SELECT id, summary FROM episodes ORDER BY rowid")
                ],
                "counts": {
                    table: (await _rows(database, f"SELECT count(*) AS many FROM {table}"))[0]["many"]
                    for table in (
                        "turns",
                        "raw_experiences",
                        "episodes",
                        "episode_links",
                        "vectors",
                        "monologue_log",
                        "conversations",
                    )
                },
            }
            await database.backup_to(out)
    return kept


async def _rows(database: object, statement: str) -> list[dict[str, object]]:
    cursor = await database._connection.execute(statement)  # type: ignore[attr-defined]
    return [dict(row) for row in await cursor.fetchall()]


if __name__ == "__main__":
    ledger = asyncio.run(main(Path(sys.argv[1])))
    Path(sys.argv[2]).write_text(json.dumps(ledger, indent=1, ensure_ascii=False), encoding="utf-8")
