"""F10: a word that went everywhere is nowhere after it was erased, and stays away."""

import asyncio
import contextlib
import shutil
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from reveries import protocol
from reveries.client.byte_search import search_files
from reveries.config import Home
from tests.durability.mind import SETTINGS, Zygote, client_of, until_it_listens
from tests.durability.parrot import Parrot
from tests.e2e.living import Client

WORD = "Zqvorblax-7741"
_READY_SECONDS = 300.0


def places(home: Home) -> dict[str, dict[str, int]]:
    """Where in the home the word stands, in whatever form."""
    return search_files(home.path, WORD).found


@contextlib.asynccontextmanager
async def awake(home: Home, zygote: Zygote) -> AsyncIterator[Client]:
    """A mind that is put to sleep gracefully at the end."""
    process = zygote.wake(home)
    await until_it_listens(home)
    async with client_of(home) as client:
        yield client
        client.send(protocol.Sleep(client.number()))
        await client.next_of(protocol.Ok)
    assert await asyncio.to_thread(zygote.reap, process) == 0


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(_READY_SECONDS):
        while True:
            if holds():
                return
            await asyncio.sleep(0.1)


async def spread(client: Client, home: Home) -> None:
    """Said, replied, slept on, thought, noted, in the self-model, asked for, in a draft, a log and a backup."""
    client.send(protocol.Attach(client.number()))
    await client.next_of(protocol.Attached)
    await client.say(f"The word for the safe is {WORD}, and my name for it is {WORD} too.")
    await client.say(f"Remember that {WORD} is my favourite word now.")
    client.send(protocol.EditSelf(client.number(), "current_focus", f"Keeping {WORD} safe."))
    await client.next_of(protocol.SelfModelShown)
    client.send(protocol.Detach(client.number()))
    await client.next_of(protocol.Ok)
    client.send(protocol.NudgeThinking(client.number(), f"what {WORD} means"))
    await client.next_of(protocol.ThinkingControlled)
    notes: list[protocol.Note] = []
    async with asyncio.timeout(_READY_SECONDS):
        while not any(WORD in note.text for note in notes):
            client.send(protocol.AskNotes(client.number()))
            notes = (await client.next_of(protocol.Notes)).notes
            await asyncio.sleep(0.1)
    for _ in range(2):
        client.send(protocol.Consolidate(client.number(), 10))
        await client.next_of(protocol.Consolidated)
    home.draft.write_text(f"And about {WORD.upper()}, I wanted to say")
    with (home.logs / "daemon.out").open("a") as output:
        output.write(f"Traceback: what {WORD} quoted\n")
    client.send(protocol.MakeBackup(client.number()))
    await client.next_of(protocol.Backups)


async def probe(client: Client, count: int) -> list[str]:
    """What a hundred searches bring up that holds the word."""
    found: list[str] = []
    cues = (WORD, f"What is {WORD}?", "the word for the safe", "my favourite word", "what matters today", "bread")
    for number in range(count):
        cue = f"{cues[number % len(cues)]} {number // len(cues)}"
        client.send(protocol.Search(client.number(), cue, 20, deep=True, explain=True))
        answer = await client.next_of(protocol.Found)
        shown = [str(answer.episodes), str(answer.turns), str(answer.on_disk)]
        found += [text for text in shown if WORD.lower() in text.lower()]
    return found


async def erased(client: Client) -> protocol.Forgotten:
    client.send(protocol.Forget(client.number(), matching=WORD, erase=True))
    would = await client.next_of(protocol.Forgotten)
    assert would.item_count
    client.send(protocol.Forget(client.number(), matching=WORD, erase=True, dry_run=False))
    did = await client.next_of(protocol.Forgotten)
    # What was thought between the two may be a row more, never one fewer; what was asked for may have been thought.
    gone = {store.store: store.gone for store in did.stores}
    for store in would.stores:
        assert gone.get(store.store, 0) >= store.gone or store.store == "thoughts you asked for", store
    assert not did.items
    assert WORD.lower() not in str(did).lower()
    return did


async def says_bread(client: Client) -> None:
    """The model is told nothing of it: in talk, in thought and in sleep."""
    client.send(protocol.Attach(client.number()))
    attached = await client.next_of(protocol.Attached)
    assert WORD not in str(attached)
    assert "bread" in (await client.say("What do you keep in mind?")).text
    client.send(protocol.Consolidate(client.number(), 10))
    await client.next_of(protocol.Consolidated)


@pytest.mark.requirement("F10")
async def test_a_word_that_went_everywhere_is_erased_from_every_byte_of_the_home_and_stays_away() -> None:
    # Not tmp_path: a socket's path may have about a hundred bytes.
    with tempfile.TemporaryDirectory(prefix="rvf") as folder:
        home, zygote = Home(Path(folder) / "h"), Zygote.start()
        old, parrot = Path(folder) / "old.db", Parrot(time.time)
        parrot.word = WORD
        await parrot.listen()
        try:
            home.create()
            home.config.write_text(SETTINGS.replace("{url}", parrot.url))
            home.config.chmod(0o600)
            async with awake(home, zygote) as client:
                await spread(client, home)
            before = places(home)
            kept = {"memory.db", "draft.txt", "logs/daemon.out"} | {
                f"backups/{file.name}" for file in home.backups.glob("memory-*.db")
            }
            assert kept <= before.keys()
            shutil.copyfile(home.database_default, old)
            async with awake(home, zygote) as client:
                receipt = await erased(client)
                assert places(home) == {}
                assert not list(home.path.glob("*.erasing"))
                assert await probe(client, 100) == []
                await says_bread(client)
            assert places(home) == {}
            assert receipt.tombstones
            _break_off(home, old)
            async with awake(home, zygote):
                await until(lambda: not places(home))
            _restore(home, old)
            assert places(home)
            async with awake(home, zygote) as client:
                await until(lambda: not places(home))
                assert await probe(client, 20) == []
                await says_bread(client)
            assert places(home) == {}
            assert _grep(home) == ""
        finally:
            zygote.close()
            await parrot.close()


def _break_off(home: Home, old: Path) -> None:
    """As if the process had been killed before it came to the logs and the backups."""
    shutil.copyfile(old, home.backups / "memory-1600000000.db")
    with (home.logs / "daemon.out").open("a") as output:
        output.write(f"Traceback: what {WORD} quoted\n")
    home.database_default.with_name("memory.db.erasing").touch()


def _restore(home: Home, old: Path) -> None:
    """As an owner would who knows files: the old copy in the place of the memory, and among its backups."""
    for name in ("memory.db-wal", "memory.db-shm", "memory.db.seal"):
        (home.path / name).unlink(missing_ok=True)
    shutil.copyfile(old, home.database_default)
    shutil.copyfile(old, home.backups / "memory-1700000000.db")


def _grep(home: Home) -> str:
    found = subprocess.run(["grep", "-rilaF", WORD, str(home.path)], capture_output=True, text=True, check=False)
    return found.stdout
