"""A mind with N episodes: how long the real daemon takes to wake, to search, to show, and what it adds to a turn.

    python bench/large_mind.py --episodes 100000 [--turns-per-episode 2] [--keep FOLDER] [--from-rows] [--json]

Generates a random home (`synthetic`: topics and links; the words of its turns follow Zipf's law), starts a real daemon
on it - after a clean sleep, after a kill with turns that no snapshot has, and after a kill while saving a snapshot -
and queries it as a client does, with the real embedder. The folder of `--keep` is changed: use a copy.
Replies come from a fake provider in this process, so a turn's time up to its first request is the daemon's own.
"""

import argparse
import asyncio
import contextlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from made_rows import made_rows
from synthetic import DIMENSIONS, NOW, Synthetic, episode_at, episode_id, make_mind

sys.path.insert(0, str(Path(__file__).parents[1]))  # tests is not part of the package.

from reveries import protocol
from reveries.config import Home, load_settings
from reveries.db.database import Transaction
from reveries.db.driver import dbapi
from reveries.db.opening import open_database
from reveries.llm.base import Vector, Vectors
from reveries.memory.changes import ChangeSet, IndexedTurn
from reveries.memory.graph.memory_graph import LINK_TYPES
from reveries.memory.live import LiveMemory
from reveries.memory.model import Experience, ExperienceKind, Link, Origin, Turn
from reveries.memory.rows import experience_row, turn_row
from reveries.memory.store import MemoryStore
from tests.e2e.living import Client, Living
from tests.fakes.provider import Provider, provider

_RECALL = load_settings(None).recall
SETTINGS = """
[llm]
provider = "ollama"
conversation_model = "talker"
ollama_url = "{url}"
[monologue]
enabled = false
"""
BATCH_EPISODES = 2_000
EPISODES_A_CONVERSATION = 20
WORDS_A_TURN = 22
VOCABULARY = 30_000
ASKED = 40
MODEL_ID = "all-minilm-l6-v2-int8"


class NoEmbedder:
    """Everything that is written here has its vector already."""

    model_id = MODEL_ID
    dimensions = DIMENSIONS

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Nobody asks."""
        raise AssertionError(f"{len(texts)} texts have no vector")

    async def aclose(self) -> None:
        """There is nothing to close."""


class Talk:
    """Random words with the frequencies of a language."""

    def __init__(self) -> None:
        self._numbers = np.random.default_rng(3)
        self._noise = np.random.default_rng(4)
        syllables = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er", "il")]
        picks = self._numbers.choice(len(syllables), (VOCABULARY, 3))
        self._words = ["".join(syllables[pick] for pick in row) for row in picks]
        shares = 1.0 / np.arange(1, VOCABULARY + 1)
        self._shares = np.cumsum(shares / shares.sum())

    def words(self, count: int) -> str:
        """So many words."""
        places = np.searchsorted(self._shares, self._numbers.random(count))
        return " ".join(self._words[min(int(place), VOCABULARY - 1)] for place in places)

    def vector(self, near: Vector) -> Vector:
        """A vector near to another, of length 1."""
        row = near + 0.03 * self._noise.standard_normal(DIMENSIONS).astype(np.float32)
        unit: Vector = (row / np.linalg.norm(row)).astype(np.float32)
        return unit


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=10_000)
    parser.add_argument("--turns-per-episode", type=int, default=2)
    parser.add_argument(
        "--keep", type=Path, help="a folder for the home: made when it is not there, used again when it is"
    )
    parser.add_argument("--from-rows", action="store_true", help="first without any snapshot")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rv") as folder:
        home = Home(arguments.keep or Path(folder) / "h")
        report = asyncio.run(
            measured(home, arguments.episodes, arguments.turns_per_episode, from_rows=arguments.from_rows)
        )
    if arguments.json:
        print(json.dumps(report, indent=2))
        return
    for name, value in report.items():
        print(f"{name:36} {value}")


async def measured(home: Home, episodes: int, turns: int, *, from_rows: bool) -> dict[str, object]:
    """Seconds and milliseconds on the wall."""
    home.create()
    if not home.database_default.exists():
        await fill(home, make_mind(episodes, hubs=False), turns)
    report: dict[str, object] = {"episodes": episodes, "turns": episodes * turns}
    report["database_bytes"], report["load_before"] = home.database_default.stat().st_size, os.getloadavg()[0]
    snapshot = home.database_default.with_suffix(".snapshot")
    async with provider(time.monotonic) as there:
        # As an installed package is: compiled once.
        compiled = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(home.path / "cache" / "bytecode")}
        daemon = Living(home, settings=SETTINGS.format(url=there.url), environment=compiled)
        if from_rows or not snapshot.exists():
            snapshot.unlink(missing_ok=True)
            report |= await woken(daemon, "rows")
            async with daemon.client() as client:
                began = time.monotonic()
                await client.until(lambda: asyncio.to_thread(snapshot.exists), 300)
                report["snapshot_s_after_rows"] = round(time.monotonic() - began, 2)
            report["ends_s"] = await timed(daemon.end(seconds=600))
        await daemon.wake(900)
        await fall_asleep(daemon)
        report |= await woken(daemon, "clean_sleep")
        async with daemon.client() as client:
            await snapshot_left(home)
            report |= await asked(client, there)
            report["rss_mb"] = resident_mb(daemon)
        # Killed with turns that no snapshot has.
        daemon.kill()
        report["changed_rows_before_kill"] = changed_rows(home)
        report |= await woken(daemon, "kill_after_turns")
        # Killed in the middle of the save that follows waking.
        partial = snapshot.with_name(f"{snapshot.name}.partial")
        async with daemon.client() as client:
            await client.until(lambda: asyncio.to_thread(partial.exists), 300)
        daemon.kill()
        report["partial_bytes_at_kill"] = partial.stat().st_size
        report["changed_rows_before_second_kill"] = changed_rows(home)
        report |= await woken(daemon, "kill_in_save")
        # After time has done its work on every episode.
        daemon.kill()
        report["stand_otherwise"] = await apply_decay(home)
        report |= await woken(daemon, "kill_after_decay")
        await daemon.end(seconds=600)
    report["load_after"] = os.getloadavg()[0]
    return report


async def woken(daemon: Living, after: str) -> dict[str, object]:
    """Wake it: when it takes a connection, when it has answered with its status, when it has recalled."""
    began = time.monotonic()
    report: dict[str, object] = {}
    await daemon.wake(900)
    async with daemon.client() as client:
        report[f"ready_s_after_{after}"] = round(time.monotonic() - began, 2)
        report[f"ready_cpu_s_after_{after}"] = processor_seconds(daemon)
        await client.status()
        report[f"status_s_after_{after}"] = round(time.monotonic() - began, 2)
        await client.search("the plan of last spring")
        report[f"recalls_s_after_{after}"] = round(time.monotonic() - began, 2)
    return report


async def fall_asleep(daemon: Living) -> None:
    """`reveries sleep`, and wait until it is gone."""
    async with daemon.client() as client:
        client.send(protocol.Sleep(client.number()))
        assert daemon.process is not None
        await asyncio.to_thread(daemon.process.wait, 600)


async def snapshot_left(home: Home) -> None:
    """Wait until the snapshot has every change, so that changes counted later happened later."""
    async with asyncio.timeout(120):
        while changed_rows(home):  # noqa: ASYNC110 - it is another process that writes
            await asyncio.sleep(0.5)


def changed_rows(home: Home) -> int:
    """Return how many rows a wake would reload."""
    with contextlib.closing(dbapi.connect(str(home.database_default))) as connection:
        return int(connection.execute("SELECT count(*) FROM changed_rows").fetchone()[0])


async def apply_decay(home: Home) -> int:
    """As a night's sleep does: every episode fades a little."""
    with contextlib.closing(dbapi.connect(str(home.database_default))) as connection:
        connection.execute("UPDATE episodes SET salience = 0.99 * salience, last_decayed_at = last_decayed_at + 3600")
        connection.commit()
    return changed_rows(home)


def resident_mb(daemon: Living) -> int:
    """Return the resident memory of the daemon in MB."""
    assert daemon.process is not None
    status = Path(f"/proc/{daemon.process.pid}/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) // 1024


def processor_seconds(daemon: Living) -> float:
    """Return the processor seconds it has used: an upper bound for its time on an idle machine."""
    assert daemon.process is not None
    fields = Path(f"/proc/{daemon.process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return round((int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), 2)


async def timed(work: Awaitable[object]) -> float:
    """Seconds that it took."""
    began = time.monotonic()
    await work
    return round(time.monotonic() - began, 2)


async def asked(client: Client, there: Provider) -> dict[str, object]:
    """Measure searching, showing and talking, each many times with different words. As an attached client: otherwise
    the conversation would rest after each reply, and the next turn would wait for light sleep."""
    client.send(protocol.Attach(client.number()))
    await client.next_of(protocol.Attached)
    talk = Talk()
    cues = [" ".join(talk.words(WORDS_A_TURN).split()[:9]) for _ in range(2 * ASKED)]
    searching, showing, turning = [], [], []
    for place, cue in enumerate(cues[:ASKED]):
        began = time.monotonic()
        found = await client.search(cue)
        searching.append(time.monotonic() - began)
        assert found.turns, "words that were said are found"
        began = time.monotonic()
        client.send(protocol.Inspect(client.number(), episode_id(place)))
        await client.next_of(protocol.EpisodeDetail)
        showing.append(time.monotonic() - began)
    for cue in cues[ASKED:]:
        before = len(there.generations)
        began = time.monotonic()
        await client.say(cue)
        turning.append(there.generations[before].at - began)
    return {
        **_spread("search", searching),
        **_spread("inspect", showing),
        **_spread("turn_before_its_request", turning),
    }


def _spread(name: str, seconds: Sequence[float]) -> dict[str, object]:
    p50, p95 = np.percentile(seconds, (50, 95))
    return {f"{name}_p50_ms": round(1000 * p50, 1), f"{name}_p95_ms": round(1000 * p95, 1)}


async def fill(home: Home, mind: Synthetic, turns: int) -> None:
    """Write the mind's rows, in batches."""
    database = await open_database(home.database_default)
    writer = MemoryStore(database, NoEmbedder(), LiveMemory(DIMENSIONS, lambda: _RECALL), "Reverie")
    talk = Talk()
    count = len(mind.packed.ids)
    try:
        async with made_rows(database):
            for first in range(0, count, BATCH_EPISODES):
                await writer.commit(_lived(mind, range(first, min(count, first + BATCH_EPISODES)), turns, talk))
        for first in range(0, count, BATCH_EPISODES):
            await writer.commit(_linked(mind, range(first, min(count, first + BATCH_EPISODES))))
    finally:
        await database.aclose()


def _lived(mind: Synthetic, places: range, turns: int, talk: Talk):  # type: ignore[no-untyped-def]  # a Work
    async def work(transaction: Transaction) -> ChangeSet:
        episodes, vectors, indexed, slept = [], [], [], []
        for place in places:
            conversation = f"c{place // EPISODES_A_CONVERSATION}"
            if place % EPISODES_A_CONVERSATION == 0:
                named = {"id": conversation, "began_at": NOW - place, "source": "import", "title": "made by chance"}
                await transaction.run("conversations.insert", named)
            experience = f"x{place}"
            said = list(_turns(place, turns, conversation, experience, talk))
            lived = Experience(
                id=experience,
                kind=ExperienceKind.CONVERSATION,
                happened_at=said[0].said_at,
                content="\n".join(turn.text for turn in said),
                salience=0.5,
                valence=0.0,
                origin=Origin.OWNER,
                tainted=False,
                conversation_id=conversation,
            )
            await transaction.run("experiences.insert", experience_row(lived, len(said)))
            for turn in said:
                await transaction.run("turns.insert", turn_row(turn))
                indexed.append(IndexedTurn(turn, episode_id(place), talk.vector(mind.packed.vectors[place])))
            episodes.append(
                replace(
                    episode_at(place),
                    summary=said[0].text,
                    conversation_id=conversation,
                    experience_ids=(experience,),
                )
            )
            vectors.append((episode_id(place), mind.packed.vectors[place]))
            slept.append(experience)
        return ChangeSet(
            episodes=tuple(episodes),
            vectors=tuple(vectors),
            indexed=tuple(indexed),
            light_slept_ids=tuple(slept),
        )

    return work


def _turns(place: int, count: int, conversation: str, experience: str, talk: Talk) -> Iterator[Turn]:
    at = episode_at(place).created_at
    for number in range(count):
        is_owner = number % 2 == 0
        yield Turn(
            id=f"t{place}-{number}",
            conversation_id=conversation,
            experience_id=experience,
            position=(place % EPISODES_A_CONVERSATION) * count + number,
            origin=Origin.OWNER if is_owner else Origin.SELF,
            speaker="You" if is_owner else "Reverie",
            text=talk.words(WORDS_A_TURN),
            said_at=at + number,
        )


def _linked(mind: Synthetic, places: range):  # type: ignore[no-untyped-def]  # a Work
    links, nodes = mind.packed.links, mind.packed.links.nodes

    async def work(_: Transaction) -> ChangeSet:
        return ChangeSet(
            links=tuple(
                Link(
                    episode_id(place),
                    episode_id(int(links.targets[slot])),
                    LINK_TYPES[links.kinds[slot]],
                    float(links.strengths[slot]),
                )
                for place in places
                for slot in range(int(nodes[place][0]), int(nodes[place][0]) + int(nodes[place][1]))
            )
        )

    return work


if __name__ == "__main__":
    main()
