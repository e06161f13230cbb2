"""The real child process with the small real model."""

import asyncio
import contextlib
import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import psutil
import pytest

from reveries.clock import SystemClock
from reveries.config import load_settings
from reveries.errors import ModelMissingError, ModelUnavailableError
from reveries.llm import embedded_server
from reveries.llm.assets import find_weights
from reveries.llm.base import ChatMessage, Delta, Prompt, Role
from reveries.llm.embedded import EmbeddedModel, EmbeddedOptions, suitable_threads
from reveries.llm.embedded_server import ServerOptions
from reveries.llm.model_process import ModelProcess, start_model_process
from reveries.llm.template_marks import escape_marks
from tests.fakes.clock import HandClock, settle
from tests.llm.contract import ChatModelContract, a_prompt, play

pytestmark = [pytest.mark.e2e]

LLM = load_settings(None).llm
NICENESS = 1


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="rv") as short:
        yield Path(short)


def _options(folder: Path, weights: str = "smollm2-135m") -> EmbeddedOptions:
    settings = msgspec.structs.replace(LLM.embedded, context_tokens=2048, threads=1, niceness=NICENESS)
    return EmbeddedOptions("small", lambda: find_weights(weights), folder / "m.sock", settings, LLM.limits)


@dataclass
class _Running:
    model: EmbeddedModel

    def say_forever(self) -> None:
        """The small model does not stop by itself within 2,000 tokens."""

    async def has_stopped(self) -> None:
        await play(self.model, a_prompt(max_tokens=1))


@pytest.fixture
async def running(folder: Path) -> AsyncIterator[_Running]:
    model = EmbeddedModel(_options(folder), SystemClock())
    yield _Running(model)
    await model.aclose()


class TestEmbeddedModel(ChatModelContract):
    pass


def _is_gone(pid: int) -> bool:
    """Whether the process ends."""
    try:
        psutil.Process(pid).wait(30)
    except psutil.NoSuchProcess:
        return True
    except psutil.TimeoutExpired:
        return False
    return True


@pytest.mark.requirement("F4", "F4b")
async def test_it_listens_for_the_owner_alone_and_on_no_port(running: _Running, folder: Path) -> None:
    await play(running.model, a_prompt(max_tokens=1))
    assert stat.S_IMODE((folder / "m.sock").stat().st_mode) == 0o600
    assert running.model.pid is not None
    child = psutil.Process(running.model.pid)
    assert not [c for c in child.net_connections(kind="inet") if c.status == psutil.CONN_LISTEN]
    assert child.nice() == min(psutil.Process().nice() + NICENESS, 19)
    if sys.platform == "linux":
        assert (
            child.rlimit(psutil.RLIMIT_CORE)[1] <= 1
        )  # Of 1, Linux makes none for a program at the end of a pipe either.


@pytest.mark.requirement("R-40")
async def test_a_crash_costs_one_answer_and_the_next_call_works(running: _Running) -> None:
    events = running.model.stream(a_prompt(max_tokens=2000))
    async with asyncio.timeout(300):
        assert isinstance(await anext(events), Delta)
        assert running.model.pid is not None
        os.kill(running.model.pid, signal.SIGSEGV)
        with pytest.raises(ModelUnavailableError, match="its process ended"):
            async for _ in events:
                pass
    text, _ = await play(running.model, a_prompt())
    assert text


async def test_a_model_that_fails_again_and_again_is_left_alone_for_longer(folder: Path, clock: HandClock) -> None:
    broken = folder / "broken.gguf"
    broken.write_bytes(b"GGUF but not really")
    model = EmbeddedModel(_options(folder, str(broken)), clock)
    for _ in range(2):
        with pytest.raises(ModelUnavailableError, match="could not be loaded"):
            await play(model, a_prompt())
    with pytest.raises(ModelUnavailableError, match="failed 2 times in a row"):
        await play(model, a_prompt())
    await clock.advance(2.1)
    with pytest.raises(ModelUnavailableError, match="could not be loaded"):
        await play(model, a_prompt())
    await model.aclose()


async def test_missing_weights_are_named_and_may_come_later(folder: Path) -> None:
    mine = folder / "mine.gguf"
    model = EmbeddedModel(_options(folder, str(mine)), SystemClock())
    with pytest.raises(ModelMissingError, match=r"mine\.gguf"):
        await play(model, a_prompt())
    mine.symlink_to(find_weights("smollm2-135m"))
    text, _ = await play(model, a_prompt())
    assert text
    await model.aclose()


async def test_an_idle_model_gives_its_memory_back_and_loads_again(folder: Path, clock: HandClock) -> None:
    model = EmbeddedModel(_options(folder), clock)
    async with asyncio.timeout(300), asyncio.TaskGroup() as tasks:
        watching = tasks.create_task(model.watch_idle(), name="watch")
        await play(model, a_prompt(max_tokens=1))
        pid = model.pid
        assert pid is not None
        await clock.advance(29 * 60)
        assert model.pid == pid
        await clock.advance(2 * 60)
        while model.is_loaded:
            await settle()
        assert await asyncio.to_thread(_is_gone, pid)
        await play(model, a_prompt(max_tokens=1))
        assert model.pid not in (None, pid)
        watching.cancel()
    await model.aclose()


@pytest.mark.requirement("B5")
async def test_closing_leaves_no_process(running: _Running) -> None:
    await play(running.model, a_prompt(max_tokens=1))
    assert running.model.pid is not None
    child = psutil.Process(running.model.pid)
    await running.model.aclose()
    assert not child.is_running()
    with pytest.raises(ModelUnavailableError, match="closed"):
        await play(running.model, a_prompt())


@pytest.mark.requirement("B5")
async def test_a_process_whose_unloading_was_interrupted_is_reaped_by_the_next_call_and_by_closing(
    running: _Running,
) -> None:
    for next_step in (lambda: play(running.model, a_prompt(max_tokens=1)), running.model.aclose):
        await play(running.model, a_prompt(max_tokens=1))
        pid = running.model.pid
        assert pid is not None
        async with asyncio.timeout(300), asyncio.TaskGroup() as tasks:
            unloading = tasks.create_task(running.model.unload(), name="unload")
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            unloading.cancel()
        assert unloading.cancelled()
        assert not running.model.is_loaded
        ending = running.model._ending
        assert ending is not None
        await next_step()
        assert running.model._ending is None
        assert not psutil.pid_exists(pid)


@pytest.mark.requirement("B5")
def test_the_child_dies_with_its_parent(folder: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-P", embedded_server.__file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdin is not None
    assert child.stdout is not None
    options = ServerOptions(str(find_weights("smollm2-135m")), str(folder / "m.sock"), "key", 512, 1, 1, 8, 0)
    child.stdin.write(msgspec.json.encode(options) + b"\n")
    child.stdin.flush()
    assert b'"ready": true' in child.stdout.readline()
    child.stdin.close()
    assert child.wait(30) == 0
    child.stdout.close()


async def test_where_no_unix_socket_can_be_it_listens_on_loopback_behind_a_key(folder: Path) -> None:
    too_long = folder / ("x" * 120) / "m.sock"
    process = await start_model_process(
        find_weights("smollm2-135m"),
        too_long,
        context_tokens=512,
        slots=1,
        threads=1,
        batch_tokens=8,
        niceness=0,
        wire_bytes=2**20,
    )
    async with contextlib.aclosing(process):
        child = psutil.Process(process.pid)
        [listening] = [c for c in child.net_connections(kind="inet") if c.status == psutil.CONN_LISTEN]
        assert listening.laddr.ip == "127.0.0.1"
        reader, writer = await asyncio.open_connection("127.0.0.1", listening.laddr.port)
        writer.write(b"POST /tokenize HTTP/1.1\r\nHost: x\r\nContent-Length: 15\r\n\r\n" + b'{"content":"x"}')
        async with asyncio.timeout(300):
            assert b"401" in await reader.readline()
        writer.close()
        await writer.wait_closed()


async def test_a_stale_socket_of_a_killed_daemon_is_no_obstacle(running: _Running, folder: Path) -> None:
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(folder / "m.sock"))
    text, _ = await play(running.model, a_prompt())
    assert text


async def test_what_was_read_ahead_is_not_read_again(running: _Running) -> None:
    stable = ChatMessage("system", "You remember the garden and the river. " * 20)
    await running.model.read_ahead([stable], Role.CONVERSATION)
    _, end = await play(running.model, Prompt(Role.CONVERSATION, (stable, ChatMessage("user", "Hello?")), 4))
    assert end.usage is not None
    assert end.usage.cached_tokens > 150
    assert end.usage.prompt_tokens - end.usage.cached_tokens < 40


async def test_thinking_does_not_evict_what_the_conversation_has_read(running: _Running) -> None:
    talk = Prompt(Role.CONVERSATION, (ChatMessage("system", "You talk. " * 40), ChatMessage("user", "Hello?")), 4)
    await play(running.model, talk)
    await play(running.model, Prompt(Role.MONOLOGUE, (ChatMessage("system", "You think. " * 40),), 4))
    _, end = await play(running.model, talk)
    assert end.usage is not None
    assert end.usage.cached_tokens > end.usage.prompt_tokens - 5


@pytest.mark.requirement("R-113")
async def test_an_answer_follows_its_schema(running: _Running) -> None:
    schema = {
        "type": "object",
        "properties": {
            "importance": {"type": "integer", "minimum": 1, "maximum": 10},  # Else its digits may fill the answer.
            "quote": {"enum": ['He said "yes".', "No."]},
        },
        "required": ["importance", "quote"],
        "additionalProperties": False,
    }
    prompt = Prompt(Role.CONSOLIDATION, (ChatMessage("user", "How important was it?"),), 60, schema=schema)
    text, _ = await play(running.model, prompt)
    answer = msgspec.json.decode(text)
    assert answer["importance"] in range(1, 11)
    assert answer["quote"] in ('He said "yes".', "No.")


async def test_a_prompt_that_is_longer_than_the_context_is_refused_in_words(running: _Running) -> None:
    with pytest.raises(ModelUnavailableError, match="exceeds the available context"):
        await play(running.model, a_prompt("word " * 4000))
    text, _ = await play(running.model, a_prompt())
    assert text


@pytest.mark.requirement("F3")
async def test_a_template_mark_in_remembered_text_is_only_text(running: _Running) -> None:
    mark = "<|im_end|>"
    assert await running.model.count_tokens(mark) > 3
    assert await running.model.count_tokens(escape_marks(mark)) > 3


async def test_a_call_that_is_read_can_be_cancelled_quickly(running: _Running) -> None:
    """A prompt of about 1,500 tokens: on one thread it takes seconds to read."""
    await play(running.model, a_prompt(max_tokens=1))
    events = running.model.stream(a_prompt("the garden was quiet " * 370))
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(0.3):
            await anext(events)
    await events.aclose()
    began = time.monotonic()
    await play(running.model, a_prompt("Hi", max_tokens=1))
    quickly = time.monotonic() - began
    if quickly >= 3.0:  # The machine is so busy that this says nothing: to read so much to its end takes twice as long.
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(2 * quickly):
                await play(running.model, a_prompt("a river flowed there " * 370, max_tokens=1))


def test_small_machines_use_all_their_cores_and_larger_ones_keep_one() -> None:
    assert [suitable_threads(cores) for cores in (1, 2, 4, 64)] == [1, 2, 3, 8]


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="no say about cores on this system")
@pytest.mark.parametrize(("role", "share"), [(Role.CONVERSATION, 1), (Role.MONOLOGUE, 2), (Role.CONSOLIDATION, 2)])
async def test_all_cores_work_while_the_owner_waits_and_half_of_them_on_thoughts_and_sleep(
    running: _Running, role: Role, share: int
) -> None:
    seen: set[int] = set()
    async with contextlib.aclosing(running.model.stream(a_prompt("Tell me.", max_tokens=4, role=role))) as events:
        async for event in events:
            if isinstance(event, Delta):
                assert running.model.pid is not None
                threads = psutil.Process(running.model.pid).threads()
                seen |= {len(os.sched_getaffinity(thread.id)) for thread in threads}
    assert seen == {max(1, len(os.sched_getaffinity(0)) // share)}


@contextlib.asynccontextmanager
async def _keeping(folder: Path) -> AsyncIterator[tuple[EmbeddedModel, Path]]:
    kept = folder / "talk.read"
    async with contextlib.aclosing(EmbeddedModel(replace(_options(folder), kept=kept), SystemClock())) as model:
        yield model, kept


async def test_what_was_read_ahead_is_not_read_again_after_a_night(folder: Path) -> None:
    stable = ChatMessage("system", "You remember the garden and the river. " * 20)
    async with _keeping(folder) as (model, kept):
        await model.read_ahead([stable], Role.CONVERSATION)
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    async with _keeping(folder) as (model, kept):
        _, end = await play(model, Prompt(Role.CONVERSATION, (stable, ChatMessage("user", "Hello?")), 4))
        assert end.usage is not None
        assert end.usage.cached_tokens > 150
        assert not kept.exists(), "it is of use once"


async def test_a_turn_after_what_was_read_ahead_is_not_written_to_a_file(folder: Path) -> None:
    stable = ChatMessage("system", "You remember the garden and the river.")
    async with _keeping(folder) as (model, kept):
        await model.read_ahead([stable], Role.CONVERSATION)
        await play(model, Prompt(Role.CONVERSATION, (stable, ChatMessage("user", "A secret.")), 4))
    assert not kept.exists()


async def test_what_is_forgotten_is_neither_kept_nor_reused(folder: Path) -> None:
    stable = ChatMessage("system", "You remember the garden and the river. " * 20)
    async with _keeping(folder) as (model, kept):
        await model.read_ahead([stable], Role.CONVERSATION)
        model.forget_read()
    assert not kept.exists()
    async with _keeping(folder) as (model, kept):
        await model.read_ahead([stable], Role.CONVERSATION)
        await model.unload()
        assert kept.exists()
        model.forget_read()
        assert not kept.exists()
        await model.read_ahead([stable], Role.CONVERSATION)
        model.forget_read()
        _, end = await play(model, Prompt(Role.CONVERSATION, (stable, ChatMessage("user", "Hello?")), 4))
        assert end.usage is not None
        assert end.usage.cached_tokens == 0


async def test_what_is_forgotten_during_a_reply_is_read_anew_after_it(folder: Path) -> None:
    stable = ChatMessage("system", "You remember the garden and the river. " * 20)
    async with _keeping(folder) as (model, _):
        talk = model.stream(Prompt(Role.CONVERSATION, (stable, ChatMessage("user", "Tell me.")), 8))
        async with contextlib.aclosing(talk) as events:
            async for _ in events:
                model.forget_read()
        for cached in (False, True):
            _, end = await play(model, Prompt(Role.CONVERSATION, (stable, ChatMessage("user", "Hello?")), 4))
            assert end.usage is not None
            assert (end.usage.cached_tokens > 0) is cached


@pytest.mark.parametrize("is_only_end", [False, True])
async def test_what_is_taken_back_while_it_is_saved_is_not_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch, is_only_end: bool
) -> None:
    save = ModelProcess.save_slot
    async with _keeping(folder) as (model, kept):

        async def save_meanwhile(process: ModelProcess, slot: int, name: str) -> bool:
            model.forget_read(is_only_end=is_only_end)
            return await save(process, slot, name)

        monkeypatch.setattr(ModelProcess, "save_slot", save_meanwhile)
        await model.read_ahead([ChatMessage("system", "You remember the garden.")], Role.CONVERSATION)
        await model.unload()
        assert not kept.exists()


async def test_a_start_that_is_stopped_while_it_loads_what_was_kept_leaves_no_process(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pids, is_restoring = list[int](), asyncio.Event()

    async def restore_for_ever(process: ModelProcess, slot: int, name: str) -> bool:
        pids.append(process.pid)
        is_restoring.set()
        await asyncio.Event().wait()
        return True

    monkeypatch.setattr(ModelProcess, "restore_slot", restore_for_ever)
    async with _keeping(folder) as (model, kept):
        kept.write_bytes(b"what was said")
        async with asyncio.TaskGroup() as tasks:
            call = tasks.create_task(model.count_tokens("Hello"), name="call")
            await is_restoring.wait()
            call.cancel()
        assert not psutil.pid_exists(pids[0])


async def test_the_newest_half_of_a_long_talk_is_not_read_again_when_the_older_half_goes(running: _Running) -> None:
    system = ChatMessage("system", "You talk.")
    said = [ChatMessage("user", f"On day {day} I saw {day + 3} herons at the weir near the mill.") for day in range(20)]
    answered = ChatMessage("assistant", "How good of them to come.")
    talk = [message for words in said for message in (words, answered)]
    await running.model.read_ahead([system, *talk], Role.CONVERSATION)
    _, end = await play(running.model, Prompt(Role.CONVERSATION, (system, *talk[20:], said[0]), 4))
    assert end.usage is not None
    assert end.usage.prompt_tokens - end.usage.cached_tokens < 60
