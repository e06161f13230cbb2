"""A mind that only pretends: the real protocol over a real socket, with answers that a test writes beforehand.

`python -m tests.fakes.daemon` runs it as a process in REVERIES_HOME, with the kernel's lock, until it is put to sleep.
"""

import asyncio
import contextlib
import fcntl
import os
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

from reveries import __version__, protocol
from reveries.config import Home, find_home, read_default_toml
from reveries.protocol import Frame, Request, SaidTurn

_M = TypeVar("_M", bound=protocol.Message)

NOW = 1_750_000_000.0

STATS = protocol.MemoryStats(
    request_id=0,
    experiences=40,
    unprocessed=3,
    turns=81,
    episodes=17,
    links={"temporal": 20, "thematic": 31},
    mean_salience=0.41,
    min_salience=0.12,
    faded=2,
    database_bytes=1_230_000,
    last_consolidation="2 h ago: 5 experiences, 3 new episodes",
)


def status(home: Home, **changes: object) -> protocol.Status:
    """A healthy mind's status, with `changes`."""
    fields: dict[str, object] = {
        "request_id": 0,
        "reveries": "0.1.0",
        "pid": os.getpid(),
        "home": str(home.path),
        "awake_since": NOW - 3 * 3600,
        "health": "ok",
        "problems": [],
        "state": "thinking",
        "state_detail": "the conversation ended",
        "conversation_turns": 12,
        "attached_clients": 1,
        "thinking_enabled": True,
        "last_thought_at": NOW - 300,
        "last_consolidation": STATS.last_consolidation,
        "memory": STATS,
        "models": [
            protocol.ModelUse("conversation", "embedded/qwen2.5-coder-1.5b-instruct", "ready"),
            protocol.ModelUse("embedding", "all-minilm-l6-v2", "ready"),
        ],
        "usage": [
            protocol.UsageToday("conversation", 14, 11_200, 2_300, 0.0, 2_000_000),
            protocol.UsageToday("monologue", 30, 41_000, 9_000, 0.0, 200_000),
        ],
        "limits": [
            protocol.UsageLimit("budget.tokens_per_day", "", "day", False, 2_200_000, 63_500, NOW + 9 * 3600),
        ],
        "dollars_month": 0.0,
        "tripwire": {},
        "notices": [],
        "sqlite_version": "3.53.0",
        "loop_lag_p99_ms": 4.0,
        "loop_lag_max_ms": 21.0,
    }
    return protocol.Status(**(fields | changes))  # type: ignore[arg-type]


USAGE = protocol.UsageReport(
    request_id=0,
    now=NOW,
    price_version="2026-11",
    today=[
        protocol.UsedModel("conversation", "openai/gpt-4.1", 14, 11_200, 0, 2_300, 0, 0.0408, 0, 0, 0.0),
        protocol.UsedModel("monologue", "openai/gpt-4.1-mini", 6, 9_000, 0, 4_000, 1_500, 0.0112, 1, 1, 0.0024),
    ],
    month=[protocol.UsedModel("conversation", "openai/gpt-4.1", 210, 160_000, 0, 31_000, 0, 0.57, 0, 0, 0.0)],
    limits=[
        protocol.UsageLimit("budget.tokens_per_day", "", "day", False, 2_500_000, 28_000, NOW + 9 * 3600),
        protocol.UsageLimit("budget.dollars_per_day", "", "day", True, 1.0, 0.052, NOW + 9 * 3600),
        protocol.UsageLimit("budget.monologue.dollars_per_day", "monologue", "day", True, 0.5, 0.49, NOW + 9 * 3600),
        protocol.UsageLimit("budget.dollars_per_month", "", "month", True, 20.0, 0.57, NOW + 9 * 86400),
    ],
    days=[
        protocol.UsedDay("2025-06-13", 0, 0, 0.0),
        protocol.UsedDay("2025-06-14", 30, 14_000, 0.02),
        protocol.UsedDay("2025-06-15", 20, 28_000, 0.052),
    ],
)


def overview(**changes: object) -> protocol.ModelsOverview:
    """A machine with one small model, an Ollama and a key, with `changes`."""
    free = protocol.ModelPrice(0.0, 0.0, is_known=True)
    dear = protocol.ModelPrice(2.0, 8.0, is_known=True)
    small = "embedded/smollm2-135m"
    fields: dict[str, object] = {
        "request_id": 0,
        "roles": [
            protocol.RoleUse("conversation", "openai/gpt-4.1", "the owner said so", [small], "", True, dear, 16384),
            protocol.RoleUse("monologue", small, "llm.provider is embedded", [], "loaded", False, free, 4096),
            protocol.RoleUse("consolidation", small, "llm.provider is embedded", [], "loaded", False, free, 4096),
            protocol.RoleUse("embedding", "all-minilm-l6-v2", "it is named", [], "here", False, free, 0),
        ],
        "weights": [
            protocol.WeightsOffer("smollm2-135m", "chat", "Small.", "Apache-2.0", 98_362_432, True),
            protocol.WeightsOffer("large", "chat", "Large.", "Apache-2.0", 1_120_000_000, False),
            protocol.WeightsOffer("/models/own.gguf", "chat", "A file.", "", 5_000_000, True),
        ],
        "ollama_url": "http://127.0.0.1:11434",
        "ollama_answers": True,
        "ollama": [
            protocol.OllamaOffer("llama3.2:latest", 2_000_000_000, False, is_chosen=True),
            protocol.OllamaOffer("big:cloud", 0, True),
        ],
        "hosted": [
            protocol.HostedOffer("openai", "gpt-4.1", dear, "gpt-4.1-mini", dear, "OPENAI_API_KEY", 0.304, 0.8),
            protocol.HostedOffer("cerebras", "kimi-k2.5", dear, "gpt-oss-120b", dear, "", 0.304, 0.525),
        ],
        "is_hosted_installed": False,
        "answers": [protocol.AnswerCount(small, 7, 2, 1)],
        "cores": 2,
        "ram_bytes": 8_000_000_000,
        "dollars_per_day": 1.0,
        "dollars_per_month": 20.0,
    }
    return protocol.ModelsOverview(**(fields | changes))  # type: ignore[arg-type]


def probed(*probes: protocol.ModelProbe) -> protocol.ModelsProbed:
    """What `probes` came to."""
    return protocol.ModelsProbed(0, list(probes), [protocol.AnswerCount("embedded/smollm2-135m", 7, 2, 1)])


@dataclass
class Script:
    """What the fake mind says and does when asked."""

    reveries: str = __version__
    erased: frozenset[str] = frozenset()
    """Texts that are not taken in again."""
    pieces: list[str] = field(default_factory=lambda: ["Good ", "morning", "."])
    recalled: list[protocol.RecalledItem] = field(default_factory=list)
    turns: list[SaidTurn] = field(default_factory=list)
    thoughts: list[protocol.ThoughtEntry] = field(default_factory=list)
    live: list[Frame] = field(default_factory=list)
    """Frames that a watch begins with; their request_id is put in."""
    found: protocol.Found | None = None
    episode: protocol.EpisodeDetail | None = None
    status: protocol.Status | None = None
    probed: protocol.ModelsProbed = field(default_factory=probed)
    sleep: dict[str, Frame] = field(default_factory=dict)
    """By request name: what is answered about passes of sleep."""
    looks: dict[str, Frame] = field(default_factory=dict)
    """By request name: what there is to be seen."""
    earlier: list[SaidTurn] = field(default_factory=list)
    """Turns of the conversation before those that attaching shows."""
    past: list[protocol.PastConversation] = field(default_factory=list)
    failures: dict[str, protocol.Failed] = field(default_factory=dict)
    """By request name: what is answered instead."""
    needs_restart: list[str] = field(default_factory=list)
    progress: list[tuple[str, int, int]] = field(default_factory=lambda: [("the first", 1, 2)])
    version: int = protocol.PROTOCOL_VERSION
    greets: bool = True
    tokens_per_second: float = 0.0
    """How fast a reply comes; 0: at once."""
    holds_reply: bool = False
    """The reply waits before its end until `FakeMind.release` is set or it is cancelled."""
    silent_on: str = ""
    """Name of a request that is never answered."""
    dies_on: str = ""
    """Name of a request that drops every connection instead of being answered."""
    dies_after: str = ""
    """Name of a frame after which every connection is dropped."""


class FakeMind:
    """The server. `received` has every request, `imported` every turn that was brought in."""

    def __init__(self, home: Home, script: Script | None = None) -> None:
        self.home = home
        self.script = script or Script()
        self.received: list[protocol.Hello | Request] = []
        self.imported: list[protocol.ImportedTurn] = []
        self.release = asyncio.Event()
        self.asleep = asyncio.Event()
        self._writers: set[asyncio.StreamWriter] = set()
        self._attached: set[asyncio.StreamWriter] = set()
        self._cancelled: dict[tuple[asyncio.StreamWriter, int], asyncio.Event] = {}
        self._server: asyncio.Server | None = None
        self._turn = 0
        self.conversation = "c1"
        self._idle = asyncio.Event()
        self._idle.set()

    async def start(self) -> None:
        """Listen."""
        self.home.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.home.socket.unlink(missing_ok=True)
        self._server = await asyncio.start_unix_server(self._serve, self.home.socket)

    async def stop(self) -> None:
        """Stop listening and drop everybody, as a killed daemon does."""
        assert self._server is not None
        self._server.close()
        self.drop_clients()
        async with asyncio.timeout(300):
            await self._idle.wait()
        self.home.socket.unlink(missing_ok=True)

    def drop_clients(self) -> None:
        """Abort every connection."""
        for writer in self._writers:
            writer.transport.abort()

    async def broadcast(self, frame: Frame) -> None:
        """Tell all who are attached."""
        for writer in list(self._attached):
            await self._send(writer, frame)

    def requests(self, kind: type[_M]) -> list[_M]:
        """What was received of this kind."""
        return [request for request in self.received if isinstance(request, kind)]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        self._idle.clear()
        try:
            async with asyncio.TaskGroup() as tasks:
                with contextlib.suppress(asyncio.IncompleteReadError, OSError):
                    while True:
                        request = protocol.decode_request(await protocol.read_body(reader))
                        self.received.append(request)
                        tasks.create_task(self._answer(request, writer), name="fake.answer")
                for event in self._cancelled.values():
                    event.set()
        except* OSError:
            pass
        finally:
            self._writers.discard(writer)
            self._attached.discard(writer)
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
            if not self._writers:
                self._idle.set()

    async def _answer(self, request: protocol.Hello | Request, writer: asyncio.StreamWriter) -> None:
        if await self._refuses(request, writer):
            return
        match request:
            case protocol.Hello():
                if self.script.greets:
                    await self._send(
                        writer, protocol.Welcome(self.script.version, self.script.reveries, os.getpid(), "Reverie", NOW)
                    )
            case protocol.Say():
                await self._reply(request, writer)
            case protocol.Observe() | protocol.WatchWork():
                await self._think(request.request_id, writer)
            case protocol.Consolidate():
                await self._consolidate(request.request_id, writer)
            case protocol.ProbeModels() | protocol.MakeBackup():
                await self._take_time(request, writer)
            case protocol.Import():
                await self._take_in(request, writer)
            case protocol.Sleep():
                await self._fall_asleep(request.request_id, writer)
            case _:
                await self._answer_at_once(request, writer)

    async def _answer_at_once(self, request: Request, writer: asyncio.StreamWriter) -> None:
        if isinstance(request, protocol.NewConversation | protocol.ResumeConversation | protocol.TakeBack):
            await self._switch(request, writer)
        else:
            await self._send(writer, self._simple(request, writer))

    async def _switch(
        self,
        request: protocol.NewConversation | protocol.ResumeConversation | protocol.TakeBack,
        writer: asyncio.StreamWriter,
    ) -> None:
        if isinstance(request, protocol.TakeBack):
            words, self.script.turns[-2:] = self.script.turns[-2].text, []
            await self._send(writer, protocol.TakenBack(request.request_id, words))
        else:
            self.script.turns.clear()
            await self._send(writer, protocol.Ok(request.request_id))
        await self.broadcast(protocol.Switched(0, "c2"))

    async def _refuses(self, request: protocol.Hello | Request, writer: asyncio.StreamWriter) -> bool:
        name = type(request).__name__
        if self.script.dies_on == name:
            self.drop_clients()
            return True
        if self.script.silent_on == name:
            return True
        failure = self.script.failures.get(name)
        if failure is None or isinstance(request, protocol.Hello):
            return False
        await self._send(writer, protocol.Failed(request.request_id, failure.code, failure.message, failure.advice))
        return True

    async def _fall_asleep(self, number: int, writer: asyncio.StreamWriter) -> None:
        await self._send(writer, protocol.Progress(number, "backup", 1, 2))
        await self._send(writer, protocol.Ok(number))
        self.asleep.set()
        self.drop_clients_softly()

    def drop_clients_softly(self) -> None:
        """Close every connection after what was written."""
        for writer in self._writers:
            writer.close()

    def _simple(self, request: Request, writer: asyncio.StreamWriter) -> Frame:
        script = self.script
        number = request.request_id
        match request:
            case protocol.Attach():
                self._attached.add(writer)
                return protocol.Attached(
                    number, self.conversation, NOW - 60, list(script.turns), len(script.earlier), []
                )
            case protocol.AskStatus():
                return _numbered(script.status or status(self.home), number)
            case protocol.AskConfig():
                return protocol.Config(number, read_default_toml(), str(self.home.config))
            case protocol.Cancel():
                if event := self._cancelled.get((writer, request.target_id)):
                    event.set()
                return protocol.Ok(number)
            case protocol.ApplyConfig():
                return protocol.ConfigApplied(number, [], script.needs_restart)
            case protocol.Detach() | protocol.NoteWriting():
                return protocol.Ok(number)
            case _:
                return self._remembered(request, number)

    def _said_before(self, request: Request) -> Frame:
        script, number = self.script, request.request_id
        match request:
            case protocol.AskConversations():
                held = [one for one in script.past if request.words.lower() in one.opening.lower()]
                return protocol.Conversations(number, held)
            case protocol.AskTurns():
                before = [*script.earlier, *script.turns][: request.before]
                return protocol.Turns(
                    number,
                    request.conversation_id or self.conversation,
                    before[-request.limit :],
                    max(0, len(before) - request.limit),
                )
            case protocol.AskPastWords():
                said = [turn.text for turn in script.earlier if turn.is_owner and request.words in turn.text]
                return protocol.PastWords(number, said)
            case _:
                raise AssertionError(request)

    def _remembered(self, request: Request, number: int) -> Frame:
        script = self.script
        if isinstance(request, protocol.AskConversations | protocol.AskTurns | protocol.AskPastWords):
            return self._said_before(request)
        if (frame := script.looks.get(type(request).__name__)) is not None:
            return _numbered(frame, number)
        match request:
            case protocol.AskUsage():
                return _numbered(USAGE, number)
            case protocol.AskModels():
                return _numbered(overview(), number)
            case protocol.AskThoughts():
                return protocol.Thoughts(number, script.thoughts)
            case protocol.AskMemory():
                return _numbered(STATS, number)
            case protocol.Search():
                return _numbered(script.found, number) if script.found else protocol.Found(number, [], [], 0, 0.001)
            case _ if frame := script.sleep.get(type(request).__name__):
                return _numbered(frame, number)
            case _:
                if script.episode is None:
                    return protocol.Failed(number, "not_found", "No episode begins with that.", "Search for it.")
                return _numbered(script.episode, number)

    async def _reply(self, request: protocol.Say, writer: asyncio.StreamWriter) -> None:
        number, script = request.request_id, self.script
        cancelled = self._cancelled[(writer, number)] = asyncio.Event()
        is_private = request.off_record is True
        if not is_private:
            words = self._said("you", request.text, is_owner=True)
            await self._send(writer, protocol.Stored(number, "words", words.turn_id))
            await self.broadcast(protocol.Spoken(0, words))
        await self._send(writer, protocol.Recalled(number, script.recalled))
        for piece in script.pieces:
            if cancelled.is_set():
                break
            await self._send(writer, protocol.Token(number, piece))
            if script.tokens_per_second:
                await _first(cancelled, seconds=1 / script.tokens_per_second)
        if script.holds_reply:
            await _first(cancelled, self.release)
        reason = "cancelled" if cancelled.is_set() else "stop"
        text, turn_id = "".join(script.pieces), ""
        if not is_private:
            reply = self._said("Reverie", text, is_owner=False)
            turn_id = reply.turn_id
            await self._send(writer, protocol.Stored(number, "exchange", turn_id))
            await self.broadcast(protocol.Spoken(0, reply))
        explanation = "You stopped it." if reason == "cancelled" else ""
        done = protocol.Replied(number, turn_id, text, reason, explanation, "scripted", 120, 80, 7, 0.4, 1.2)
        await self._send(writer, done)

    def _said(self, speaker: str, text: str, *, is_owner: bool) -> SaidTurn:
        self._turn += 1
        turn = SaidTurn(f"t{self._turn}", speaker, is_owner, text, NOW, False)
        self.script.turns.append(turn)
        return turn

    async def _think(self, number: int, writer: asyncio.StreamWriter) -> None:
        cancelled = self._cancelled[(writer, number)] = asyncio.Event()
        for frame in self.script.live:
            await self._send(writer, _numbered(frame, number))
        await cancelled.wait()
        with contextlib.suppress(OSError):
            await self._send(writer, protocol.Ok(number))

    async def _consolidate(self, number: int, writer: asyncio.StreamWriter) -> None:
        cancelled = self._cancelled[(writer, number)] = asyncio.Event()
        for what, done, total in self.script.progress:
            await self._send(writer, protocol.Progress(number, what, done, total))
        if self.script.holds_reply:
            await _first(cancelled, self.release)
        done_frame = protocol.Consolidated(
            number, "r1", 2, 1, 1, 0, 3, 4.2, cancelled.is_set(), ["x1: a walk", "x2: tea"]
        )
        await self._send(writer, done_frame)

    async def _take_time(
        self, request: protocol.ProbeModels | protocol.MakeBackup, writer: asyncio.StreamWriter
    ) -> None:
        number, script = request.request_id, self.script
        tests = isinstance(request, protocol.ProbeModels)
        cancelled = self._cancelled[(writer, number)] = asyncio.Event()
        for what, done, total in [("conversation: openai/gpt-4.1", 0, 4)] if tests else script.progress:
            await self._send(writer, protocol.Progress(number, what, done, total))
        if script.holds_reply:
            await _first(cancelled, self.release)
        if cancelled.is_set():
            await self._send(writer, protocol.Failed(number, "cancelled", "It was stopped.", ""))
        else:
            await self._send(writer, _numbered(script.probed if tests else script.looks["MakeBackup"], number))

    async def _take_in(self, request: protocol.Import, writer: asyncio.StreamWriter) -> None:
        new = [turn for turn in request.turns if turn not in self.imported]
        self.imported += new
        await self._send(writer, protocol.Progress(request.request_id, "sleeping lightly", 1, 1))
        known = len(request.turns) - len(new)
        erased = sum(turn.text in self.script.erased for turn in new)
        episodes = 2 if request.is_last else 0
        frame = protocol.Imported(request.request_id, len(new) - erased, known, episodes, erased or msgspec.UNSET)
        await self._send(writer, frame)

    async def _send(self, writer: asyncio.StreamWriter, frame: Frame) -> None:
        if writer.is_closing():
            return
        writer.write(protocol.encode(frame))
        with contextlib.suppress(OSError):
            await writer.drain()
        if self.script.dies_after == type(frame).__name__:
            self.drop_clients_softly()


def _numbered(frame: Frame, number: int) -> Frame:
    import msgspec

    return msgspec.structs.replace(frame, request_id=number)


async def _first(*events: asyncio.Event, seconds: float | None = None) -> None:
    async with asyncio.TaskGroup() as tasks:
        waiting = [tasks.create_task(event.wait(), name="fake.wait") for event in events]
        await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()


@contextlib.asynccontextmanager
async def awake(home: Home, script: Script | None = None) -> AsyncIterator[FakeMind]:
    """A fake mind that is awake in the running loop."""
    mind = FakeMind(home, script)
    await mind.start()
    try:
        yield mind
    finally:
        await mind.stop()


@contextlib.contextmanager
def awake_in_thread(home: Home, script: Script | None = None) -> Iterator[FakeMind]:
    """A fake mind on a loop of its own, for what blocks the thread that asks."""
    ready, started = threading.Event(), list[tuple[FakeMind, asyncio.Event, asyncio.AbstractEventLoop]]()

    async def live() -> None:
        async with awake(home, script) as mind:
            ending = asyncio.Event()
            started.append((mind, ending, asyncio.get_running_loop()))
            ready.set()
            await ending.wait()

    thread = threading.Thread(target=asyncio.run, args=(live(),), name="fake mind")
    thread.start()
    try:
        assert ready.wait(60)
        yield started[0][0]
    finally:
        _, ending, loop = started[0]
        loop.call_soon_threadsafe(ending.set)
        thread.join(60)


async def _live(script: Script | None) -> None:
    async with awake(find_home(), script) as mind:
        await mind.asleep.wait()


def main(script: Script | None = None) -> None:
    """Be a daemon: hold the lock, serve until put to sleep."""
    home = find_home()
    home.create()
    with home.lock.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        asyncio.run(_live(script))


if __name__ == "__main__":
    main()
