"""The commands of the specification as real processes against a real daemon: what one says the other has.

The daemon is the real one in a process of its own, with its real memory; only its models are a provider's on loopback.
"""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from reveries import protocol
from reveries.config import Home
from tests.client.command_line import environment, reveries
from tests.durability.mind import SETTINGS, Zygote, client_of, until_it_listens
from tests.e2e.living import Client
from tests.fakes.provider import Provider

FACT = "My mother planted the pear tree in the garden."
THOUGHT = "Pears keep badly, so somebody must have cooked jam in that kitchen every autumn. That is enough for now."
_LOOPS = "I should write it down and then look again and " * 40
_SECONDS = 300.0
_PAUSE_SECONDS = 0.4
"""Between two processes that ask the same."""
_KEPT = "dormant_accessibility = 0.9\ndormant_after_idle_days = 0.0\nraw_retention_hours = 0.0\n"
"""What another test has its memory lose at once."""


@dataclass(frozen=True)
class Mind:
    """A daemon that is awake, and what its models say."""

    home: Home
    provider: Provider

    async def run(self, *words: str) -> str:
        """What `reveries WORDS` prints; it has to succeed."""
        ran = await asyncio.to_thread(reveries, self.home, *words)
        assert (ran.code, ran.err) == (0, ""), words
        return ran.out

    async def ask(self, *words: str) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(await self.run(*words, "--json"))
        return told

    async def until(self, holds: Callable[[dict[str, Any]], bool], *words: str) -> dict[str, Any]:
        """Ask again and again; another process is asked, there is no event."""
        async with asyncio.timeout(_SECONDS):
            while True:
                if holds(told := await self.ask(*words)):
                    return told
                await asyncio.sleep(_PAUSE_SECONDS)


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    started = Zygote.start()
    yield started
    started.close()


@contextlib.asynccontextmanager
async def awake(zygote: Zygote, thought: str = THOUGHT, settings: str = SETTINGS) -> AsyncIterator[Mind]:
    provider = Provider(time.time)
    provider.texts = {"talker": "I see, a pear tree.", "thinker": thought}
    await provider.listen()
    try:
        # Not tmp_path: a socket's path may have about a hundred bytes.
        with tempfile.TemporaryDirectory(prefix="rvc") as folder:
            home = Home(Path(folder) / "h")
            home.create()
            home.config.write_text(settings.replace(_KEPT, "").replace("{url}", provider.url))
            home.config.chmod(0o600)
            process = zygote.wake(home)
            try:
                await until_it_listens(home)
                yield Mind(home, provider)
                async with client_of(home) as client:
                    client.send(protocol.Sleep(client.number()))
                    await client.next_of(protocol.Ok)
            except BaseException:
                os.kill(process, signal.SIGKILL)  # The next test forks its daemon of the same zygote.
                raise
            finally:
                ended = await asyncio.to_thread(zygote.reap, process)
            assert ended == 0
    finally:
        await provider.close()


@pytest.mark.requirement("R-18", "R-20", "R-21", "R-22", "R-23", "R-29")
async def test_status_sleep_statistics_search_and_inspection_tell_what_the_mind_has(zygote: Zygote) -> None:
    async with awake(zygote) as mind:
        began = time.time()
        before = await mind.ask("status")
        assert (before["last_consolidation"], before["memory"]["turns"]) == ("", 0)
        assert began - 100 < before["awake_since"] <= time.time()
        await mind.run("say", FACT)
        await mind.until(lambda told: bool(told["thoughts"] and told["thoughts"][-1]["text"]), "monologue", "history")
        await mind.run("monologue", "pause")

        waiting = (await mind.until(lambda told: told["episodes"] >= 2, "memory"))["unprocessed"]
        assert waiting >= 2, "what was said, and what was thought"
        assert f"Processed {waiting} experiences" in await mind.run("consolidate")
        stats, status = await mind.ask("memory"), await mind.ask("status")
        assert (stats["unprocessed"], stats["turns"]) == (0, 2)
        assert f"{waiting} processed" in status["last_consolidation"]
        assert status["memory"]["episodes"] == stats["episodes"] > 0
        assert status["state"]

        found = await mind.ask("memory", "search", "who planted the pear tree?")
        assert found["turns"][0]["text"] == FACT
        name = found["turns"][0]["episode_id"]
        assert name in [episode["episode_id"] for episode in found["episodes"]]
        first = await mind.ask("memory", "inspect", name)
        await mind.run("memory", "search", "the pear tree")
        assert await mind.ask("memory", "inspect", name) == first, "looking changes nothing"
        assert FACT in [turn["text"] for turn in first["sources"]]
        said = " ".join(turn["text"] for turn in first["sources"])
        assert first["exemplars"]
        assert all(exemplar["quote"] in said for exemplar in first["exemplars"])
        assert began <= first["happened_at"] <= first["ended_at"] <= time.time()
        fields = "summary last_accessed_at links before after gap_seconds gap_significance salience confidence topics"
        assert set(fields.split()) <= first.keys()


@pytest.mark.requirement("R-27", "R-161")
async def test_a_setting_that_is_changed_while_it_is_awake_is_used_by_what_comes_next(zygote: Zygote) -> None:
    async with awake(zygote) as mind:
        await mind.run("monologue", "pause")
        await mind.run("say", FACT)
        assert (await mind.ask("memory", "search", "pear tree"))["episodes"]
        for key, value in (
            ("owner.name", "Paul"),
            ("recall.activation_threshold", "1000000"),
            ("budget.conversation.tokens_per_day", "123456"),
        ):
            assert "uses it now" in await mind.run("config", "set", key, value)
        await mind.run("say", "My dentist is Doctor Marti.")
        found = await mind.ask("memory", "search", "pear tree dentist")
        assert found["episodes"] == []
        assert {turn["speaker"] for turn in found["turns"] if "dentist" in turn["text"]} == {"Paul"}
        assert {turn["speaker"] for turn in found["turns"] if turn["text"] == FACT} == {"You"}
        assert 123456 in [one["limit"] for one in (await mind.ask("usage"))["limits"]]
        assert "after a restart" in await mind.run("config", "set", "mind.name", "Ada")


@pytest.mark.requirement("R-24", "R-25")
async def test_the_live_stream_shows_a_thought_that_history_has_from_when_it_was_thought(zygote: Zygote) -> None:
    async with awake(zygote) as mind:
        await mind.run("say", FACT)
        await mind.until(lambda told: bool(told["thoughts"] and told["thoughts"][-1]["text"]), "monologue", "history")
        await asyncio.sleep(1.1)  # A time of history is a whole second.
        mind.provider.texts["thinker"] = "An old piano stands in the hall. That is enough for now."
        between = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        async with asyncio.TaskGroup() as tasks:
            nudging = tasks.create_task(_nudge_again_and_again(mind), name="nudging")
            code, seen = await asyncio.to_thread(_watch_until, mind.home, b"enough for now")
            nudging.cancel()
        assert code == 0
        assert b"An old piano stands in the hall." in seen
        assert THOUGHT.encode() not in seen
        is_kept = await mind.until(lambda told: bool(told["thoughts"]), "monologue", "history", "--since", between)
        assert {one["text"] for one in is_kept["thoughts"]} == {mind.provider.texts["thinker"]}
        whole = await mind.run("monologue", "history")
        assert whole.index("Pears keep badly") < whole.index("An old piano stands")


async def _nudge_again_and_again(mind: Mind) -> None:
    """Who begins to watch a moment late misses a thought: nothing tells when the stream has begun."""
    while True:
        await mind.run("monologue", "nudge", "the old piano")
        await asyncio.sleep(1)


def _watch_until(home: Home, text: bytes) -> tuple[int, bytes]:
    """`reveries monologue` until it has shown `text`, then Ctrl+C: the exit code, and all that it showed."""
    command = [sys.executable, "-m", "reveries", "monologue"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment(home), bufsize=0) as watching:
        assert watching.stdout is not None
        seen = b""
        while text not in seen and (read := watching.stdout.read(4096)):
            seen += read
        watching.send_signal(signal.SIGINT)
        rest, _ = watching.communicate(timeout=_SECONDS)
    return watching.returncode, seen + rest


@pytest.mark.requirement("R-15", "R-39")
async def test_two_chats_and_two_observers_at_once_each_get_what_is_theirs(zygote: Zygote) -> None:
    async with awake(zygote) as mind, contextlib.AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(client_of(mind.home)) for _ in range(4)]
        talker, other, *observers = clients
        for observer in observers:
            observer.send(protocol.Observe(observer.number()))
        for chat in (talker, other):
            chat.send(protocol.Attach(chat.number()))
            await chat.next_of(protocol.Attached)
        assert (await talker.say(FACT)).text == "I see, a pear tree."
        spoken = [(await other.next_of(protocol.Spoken)).turn.text for _ in range(2)]
        assert spoken == [FACT, "I see, a pear tree."]
        # The first of the two hears it, too: who came later has not taken its place.
        assert [frame.turn.text for frame in talker.seen if isinstance(frame, protocol.Spoken)] == spoken
        for chat in (talker, other):
            chat.send(protocol.Detach(chat.number()))
            await chat.next_of(protocol.Ok)
        thoughts = [await _thought(observer) for observer in observers]
        assert thoughts[0] == thoughts[1]
        assert thoughts[0][1].strip() == THOUGHT
        assert not any(isinstance(frame, protocol.ThoughtToken) for frame in (*talker.seen, *other.seen))


async def _thought(observer: Client) -> tuple[str, str, str]:
    began = await observer.next_of(protocol.ThoughtBegan)
    seen = len(observer.seen)
    ended = await observer.next_of(protocol.ThoughtEnded)
    pieces = [frame.text for frame in observer.seen[seen:] if isinstance(frame, protocol.ThoughtToken)]
    return began.thought_id, began.so_far + "".join(pieces), ended.reason


@pytest.mark.requirement("R-2")
async def test_one_daemon_has_graph_self_model_monologue_breaker_database_sleep_and_models(zygote: Zygote) -> None:
    """Each by what only it can do, in one process."""
    settings = SETTINGS.replace("[circuit_breaker]\nenabled = false", "[circuit_breaker]\nenabled = true")
    settings = settings.replace("max_tokens_per_cycle = 40", "max_tokens_per_cycle = 200")
    settings = settings.replace("target_tokens_per_second = 5000.0", "target_tokens_per_second = 18.0")
    async with awake(zygote, _LOOPS, settings) as mind:
        assert await mind.run("say", FACT) == "I see, a pear tree.\n"
        tripped = await mind.until(lambda told: bool(told["trips_by_reason"]), "wellbeing")
        assert tripped["trips_by_reason"] == {"loop_detected": 1}
        await mind.run("self", "edit", "current_focus", "--set", "The garden.")
        shown = await mind.ask("self")
        (focus,) = [one for one in shown["fields"] if one["name"] == "current_focus"]
        assert [one["text"] for one in focus["statements"]] == ["The garden."]
        assert "Processed" in await mind.run("consolidate")
        found = await mind.ask("memory", "search", "pear tree")
        assert found["turns"][0]["text"] == FACT
        assert found["turns"][0]["episode_id"] in [episode["episode_id"] for episode in found["episodes"]]
        asked = {request.model for request in mind.provider.generations}
        assert asked == {"talker", "thinker", "sleeper"}
        status = await mind.ask("status")
        roles = {model["role"] for model in status["models"]}
        assert roles >= {"conversation", "monologue", "consolidation", "embedding"}
        assert status["memory"]["database_bytes"] > 0
        assert mind.home.database_default.is_file()
