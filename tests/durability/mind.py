"""The daemon as the tests of durability run it: with a provider on loopback that answers at once, in lives of a moment.

Everything of it is the real thing but the models: process, socket, file, sleep, thoughts.
"""

import asyncio
import contextlib
import itertools
import os
import random
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from reveries import protocol
from reveries.config import Home
from reveries.errors import ProtocolError
from reveries.protocol import decode_frame, read_body
from tests.durability.ledger import Acknowledged
from tests.e2e.living import Client
from tests.fakes.listening import listens
from tests.fakes.provider import Provider

ROOT = Path(__file__).parents[2]
SETTINGS = """
[llm]
provider = "ollama"
ollama_url = "{url}"
conversation_model = "talker"
monologue_model = "thinker"
consolidation_model = "sleeper"
embedding_model = "ollama/words"
[conversation]
rest_minutes = 0.002
[monologue]
target_tokens_per_second = 5000.0
max_tokens_per_cycle = 40
idle_check_seconds = 0.2
[memory]
# Everything goes: what is faded becomes dormant at once, what is alike is merged.
dormant_accessibility = 0.9
dormant_after_idle_days = 0.0
raw_retention_hours = 0.0
[budget]
tokens_per_day = 1000000000
tokens_per_month = 1000000000
# A call that the kill interrupts counts as all that it might have cost: two hundred of them are a day's worth.
[budget.conversation]
tokens_per_day = 1000000000
tokens_per_month = 1000000000
[budget.monologue]
tokens_per_day = 1000000000
tokens_per_month = 1000000000
[budget.consolidation]
tokens_per_day = 1000000000
tokens_per_month = 1000000000
[circuit_breaker]
enabled = false
"""
_WAKE_SECONDS = 300.0
"""A hang: on a busy machine one wakes slowly."""
_THINGS = ("the pear tree", "my sister Marta", "the boat", "Lisbon", "the thesis", "Paul", "the old piano", "the bees")
_DEEDS = ("planted", "sold", "dreamt of", "painted", "lost", "found", "wrote about", "asked after")


class Talk(dict[str, str]):
    """What the models say, never the same twice."""

    def __init__(self) -> None:
        super().__init__()
        self._count = itertools.count()

    def get(self, key: str, default: object = None) -> str:
        number = next(self._count)
        return f"I keep that in mind, number {number}: {_THINGS[number % len(_THINGS)]} and what came of it."


@dataclass
class Zygote:
    """What forks daemons. One a worker: it answers one question at a time."""

    process: subprocess.Popen[str]

    @classmethod
    def start(cls, package: Path = ROOT) -> "Zygote":
        """`package`: the folder that holds the `reveries` to run."""
        process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("zygote.py"))],
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(package), str(ROOT)])},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        zygote = cls(process)
        if zygote._answer() != "ready":
            raise RuntimeError("The zygote did not come up.")
        return zygote

    def wake(self, home: Home, failpoint: str = "") -> int:
        """Fork a daemon for `home`, which is killed at `failpoint`; its process number."""
        return int(self._ask(f"start {home.path} {home.logs / 'daemon.out'} {failpoint}"))

    def hold(self, home: Home) -> int:
        """Fork one that stops before it does anything, until SIGCONT: somebody is to watch it from the first moment."""
        return int(self._ask(f"hold {home.path} {home.logs / 'daemon.out'}"))

    def reap(self, process: int) -> int:
        """Wait for its end: the exit code, or -SIGNAL."""
        return int(self._ask(f"wait {process}"))

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(timeout=300)
        self.process.stdout.close()

    def _ask(self, line: str) -> str:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self._answer()

    def _answer(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()


def has_ended(process: int) -> bool:
    """Whether what a zygote forked waits only to be reaped."""
    return Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] == "Z"


def prepare(home: Home, provider: Provider) -> None:
    """A home whose settings name the provider. Made once."""
    home.create()
    provider.texts = Talk()
    home.config.write_text(SETTINGS.replace("{url}", provider.url))
    home.config.chmod(0o600)


def start(command: Sequence[str], home: Home, package: Path = ROOT) -> "subprocess.Popen[bytes]":
    """Start a daemon for `home` by `command`, in a session of its own; `package` is the folder of its `reveries`."""
    with (home.logs / "daemon.out").open("ab") as file:
        # In the package's folder: "-m" looks there first.
        return subprocess.Popen(
            command,
            cwd=package,
            env={**os.environ, "REVERIES_HOME": str(home.path), "PYTHONPATH": str(package)},
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )


async def until_it_listens(home: Home, has_ended: Callable[[], bool] = lambda: False) -> None:
    """Wait for a daemon that wakes. Its socket has its name a moment before anybody may connect."""
    async with asyncio.timeout(_WAKE_SECONDS):
        while not listens(home.socket):  # another process is asked: there is no event
            assert not has_ended(), (home.logs / "daemon.out").read_text(encoding="utf-8")[-2000:]
            await asyncio.sleep(0.05)


@dataclass
class Company:
    """Those who are with a mind during one life: one talks, one makes it sleep, one imports, one looks on."""

    home: Home
    ledger: Acknowledged
    name: str
    """Of this life: what is said in it is said in no other."""
    chance: random.Random = field(default_factory=lambda: random.Random(1))
    sleep_share: float = 0.1
    """Of what is asked of sleep: the whole way to the end, with a backup and a snapshot."""
    failures: list[str] = field(default_factory=list)

    async def keep(self, alive: Callable[[], bool]) -> None:
        """Until the mind is gone. What they were told is in the ledger."""
        deeds = (self._talk, self._make_it_sleep, self._import, self._look_on, self._edit_self)
        async with asyncio.TaskGroup() as tasks:
            for deed in deeds:
                tasks.create_task(self._while_it_lives(deed, alive), name=deed.__name__)

    async def _while_it_lives(self, deed: Callable[[Client], Awaitable[None]], alive: Callable[[], bool]) -> None:
        while alive():
            try:
                async with client_of(self.home) as client:
                    await deed(client)
            except (OSError, ProtocolError, asyncio.IncompleteReadError):
                pass
            except AssertionError as error:  # The mind said no.
                self.failures.append(str(error))
            await asyncio.sleep(0.005)

    async def _talk(self, client: Client) -> None:
        client.send(protocol.Attach(client.number()))
        for turn in itertools.count():
            words = f"{self.name}.{turn}: I {self.chance.choice(_DEEDS)} {self.chance.choice(_THINGS)} this year."
            await self.say(client, words)
            await asyncio.sleep(self.chance.choice((0.0, 0.0, 0.0, 0.1)))

    async def say(self, client: Client, words: str, *, is_kept: bool = True) -> None:
        """One turn; what is told to be stored goes into the ledger at once, unless it is to be erased."""
        self.ledger.said.add(words)
        number, heard = client.number(), ""
        client.send(protocol.Say(number, words))
        while True:
            match frame := decode_frame(await read_body(client.reader)):
                case protocol.Token():
                    heard += frame.text
                case protocol.Stored() if not is_kept:
                    pass
                case protocol.Stored(what="words"):
                    self.ledger.turn(frame.turn_id, words)
                case protocol.Stored():
                    self.ledger.turn(frame.turn_id, heard.strip())
                case protocol.Replied() if frame.reason not in ("stop", "length"):
                    self.failures.append(f"{frame.reason}: {frame.explanation}")
                    return
                case protocol.Replied():
                    return
                case protocol.Failed(code="asleep"):  # Somebody put it to sleep in this moment: nothing was stored.
                    return
                case protocol.Failed():
                    self.failures.append(f"{frame.code}: {frame.message}")
                    return

    async def do_everything(self, client: Client) -> None:
        """Each thing once, in order: talk, a thought, an erasure, an import, both sleeps, and to sleep for good."""
        for turn in range(3):
            await self.say(client, f"{self.name}.{turn}.{client.number()}: I found {_THINGS[turn]} again.")
        await asyncio.sleep(0.3)
        await self._erase(client)
        await self._import_batch(client, f"{self.name}.{client.number()}")
        await self._consolidate(client, 3)
        await self.say(client, f"{self.name}.last.{client.number()}: good night.")
        client.send(protocol.Sleep(client.number()))
        await client.next_of(protocol.Ok)
        await client.reader.read()

    async def _erase(self, client: Client) -> None:
        await self.say(client, f"{self.name}.{client.number()}: a red bicycle was stolen.", is_kept=False)
        client.send(protocol.Forget(client.number(), matching="red bicycle", dry_run=False, erase=True))
        await client.next_of(protocol.Forgotten)

    async def _make_it_sleep(self, client: Client) -> None:
        while True:
            await asyncio.sleep(self.chance.uniform(0.0, 0.3))
            if self.chance.random() < self.sleep_share:
                client.send(protocol.Sleep(client.number()))
                await client.next_of(protocol.Ok)
                return
            await self._consolidate(client, self.chance.randint(1, 6))

    async def _consolidate(self, client: Client, limit: int) -> None:
        client.send(protocol.Consolidate(client.number(), limit))
        slept = await client.next_of(protocol.Consolidated)
        if slept.run_id:
            self.ledger.slept(slept.run_id, slept.processed)

    async def _import(self, client: Client) -> None:
        for batch in itertools.count():
            await asyncio.sleep(self.chance.uniform(0.1, 0.5))
            await self._import_batch(client, f"{self.name}.{batch}")

    async def _import_batch(self, client: Client, source: str) -> None:
        texts = [f"{source}.{line}: we spoke of {_THINGS[line]} once." for line in range(4)]
        self.ledger.said.update(texts)
        turns = [
            protocol.ImportedTurn(1.6e9 + 60.0 * line, "Bo" if line % 2 else "Ana", text)
            for line, text in enumerate(texts)
        ]
        client.send(protocol.Import(client.number(), source, turns, is_last=True))
        if (await client.next_of(protocol.Imported)).stored == len(texts):
            self.ledger.lines(texts)

    async def _edit_self(self, client: Client) -> None:
        for number in itertools.count():
            await asyncio.sleep(self.chance.uniform(0.2, 0.8))
            statement = f"{self.name}.{number} is on my mind."
            client.send(protocol.EditSelf(client.number(), "current_focus", statement))
            await client.next_of(protocol.SelfModelShown)
            self.ledger.self_edit(statement)

    async def _look_on(self, client: Client) -> None:
        client.send(protocol.Observe(client.number()))
        watched = client.reader
        async with client_of(self.home) as other:
            other.send(protocol.NudgeThinking(other.number(), f"what {self.name} means"))
            while True:
                await read_body(watched)


@contextlib.asynccontextmanager
async def client_of(home: Home) -> AsyncIterator[Client]:
    """A greeted connection. Raises OSError while nobody listens."""
    reader, writer = await asyncio.open_unix_connection(str(home.socket))
    client = Client(reader, writer)
    try:
        client.send(protocol.Hello(protocol.PROTOCOL_VERSION, "test"))
        client.welcome = await client.next_of(protocol.Welcome)
        yield client
    finally:
        writer.transport.abort()
