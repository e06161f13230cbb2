"""A whole mind of N episodes: how long the real daemon takes to wake, to search, to show, and what it adds to a turn.

    python bench/large_mind.py --episodes 100000 [--turns-per-episode 2] [--keep FOLDER] [--json]

Writes a home made by chance (`synthetic`: topics and links; its turns are words drawn by Zipf's law), lets a real
daemon wake on it, once from the rows and once from the snapshot, and asks it as a client does, with the real embedder.
Replies come from a pretended provider in this process: a turn's time up to its first request is the daemon's own.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from synthetic import DIMENSIONS, NOW, Synthetic, episode_at, episode_id, make_mind

sys.path.insert(0, str(Path(__file__).parents[1]))  # tests is not part of the package.

from reveries import protocol
from reveries.config import Home, load_settings
from reveries.db.database import Transaction, open_database
from reveries.llm.base import Vector, Vectors
from reveries.memory.changes import ChangeSet, IndexedTurn
from reveries.memory.graph.memory_graph import LINK_TYPES
from reveries.memory.live import LiveMemory
from reveries.memory.model import Experience, ExperienceKind, Link, Origin, Turn
from reveries.memory.rows import experience_row, turn_row
from reveries.memory.store import MemoryStore
from tests.e2e.living import Client, Living
from tests.fakes.provider import Provider, provider

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
MODEL_ID = "all-minilm-l6-v2"


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
    """What is said: words without sense, as unequal in number as those of a language."""

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
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rv") as folder:
        home = Home(arguments.keep or Path(folder) / "h")
        report = asyncio.run(measured(home, arguments.episodes, arguments.turns_per_episode))
    if arguments.json:
        print(json.dumps(report, indent=2))
        return
    for name, value in report.items():
        print(f"{name:36} {value}")


async def measured(home: Home, episodes: int, turns: int) -> dict[str, object]:
    """Seconds and milliseconds on the wall."""
    home.create()
    if not home.database_default.exists():
        await fill(home, make_mind(episodes, hubs=False), turns)
    report: dict[str, object] = {"episodes": episodes, "turns": episodes * turns}
    report["database_bytes"] = home.database_default.stat().st_size
    snapshot = home.database_default.with_suffix(".snapshot")
    async with provider(time.monotonic) as there:
        daemon = Living(home, settings=SETTINGS.format(url=there.url))
        for source in ("rows", "snapshot"):
            if source == "rows":
                snapshot.unlink(missing_ok=True)
            began = time.monotonic()
            await daemon.wake(900)
            async with daemon.client() as client:
                report[f"answers_s_from_{source}"] = round(time.monotonic() - began, 2)
                await client.status()
                report[f"status_s_from_{source}"] = round(time.monotonic() - began, 2)
                await client.search("the plan of last spring")
                report[f"recalls_s_from_{source}"] = round(time.monotonic() - began, 2)
                if source == "snapshot":
                    report |= await asked(client, there)
                else:
                    await client.until(lambda: asyncio.to_thread(snapshot.exists), 300)
                    report["snapshot_s_from_rows"] = round(time.monotonic() - began, 2)
            began = time.monotonic()
            await daemon.end(seconds=600)
            report[f"ends_s_after_{source}"] = round(time.monotonic() - began, 2)
    return report


async def asked(client: Client, there: Provider) -> dict[str, object]:
    """Searching, showing, and talking, each many times, with other words each time."""
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
    writer = MemoryStore(database, NoEmbedder(), LiveMemory(DIMENSIONS, load_settings(None).recall), "Reverie")
    talk = Talk()
    count = len(mind.packed.ids)
    try:
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
