"""A real daemon with a provider that fails in every way (D1, D5).

Measured: time until the owner is notified, time until recovery, memory and log lines used. Ends with 1 if a
notification was too late: tests/faults uses a simulated clock, here it is real time.

    python bench/soak/faults.py [--dialect ollama|openai] [--only NAME ...] [--roles conversation consolidation]

One daemon process goes through all the faults in turn; the fake provider is in this process. Faults that request
minutes of pause are left out, because nothing else could be measured after them. Needs the embedding model
(reveries models pull all-minilm-l6-v2), and for openai the extra `hosted`.
"""

import argparse
import asyncio
import contextlib
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).parents[2]))  # tests is not part of the package.

from reveries import protocol
from reveries.config import Home
from reveries.llm.role_model import CONVERSATION_TRIES
from tests.e2e.living import Client, Living
from tests.fakes.provider import Provider, provider
from tests.fakes.provider_faults import FAULTS, Found, ProviderFault

SETTINGS = """
[llm]
provider = "{dialect}"
conversation_model = "talker"
monologue_model = "thinker"
consolidation_model = "sleeper"
ollama_url = "{url}"
base_url = "{url}/v1"
[llm.limits]
first_token_seconds = 1.0
idle_seconds = 1.0
total_seconds = 3.0
reply_tokens = 64
[llm.hosted_limits]
first_token_seconds = 1.0
idle_seconds = 1.0
total_seconds = 3.0
[monologue]
enabled = false
[budget]
dollars_per_day = 1000000.0
dollars_per_month = 1000000.0
[budget.conversation]
dollars_per_day = 1000000.0
dollars_per_month = 1000000.0
[budget.consolidation]
dollars_per_day = 1000000.0
dollars_per_month = 1000000.0
"""
ASKS_FOR_MINUTES = ("429_seconds", "429_date", "429_huge", "503_retry_after")
SAMPLE_SECONDS = 0.02
BACK_SECONDS = 30.0
TOLD_WITHIN_SECONDS = 2.0
_NOTICED_AFTER_SECONDS = {Found.CONNECT: 1.0, Found.FIRST_TOKEN: 1.0, Found.IDLE: 1.0, Found.TOTAL: 3.0}
"""The limits above; what the wire says is noticed at once."""


@dataclass(frozen=True, slots=True)
class Row:
    fault: str
    role: str
    became: str
    told_ms: float
    allowed_ms: float
    back_seconds: float
    growth_mib: float
    log_lines: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dialect", choices=("ollama", "openai"), default="ollama")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--roles", nargs="*", default=["conversation", "consolidation"])
    arguments = parser.parse_args()
    print(f"{'fault':28}{'role':15}{'became':10}{'told ms':>9}{'back s':>8}{'RSS MiB':>9}{'log':>5}")
    rows = asyncio.run(_measure(arguments.dialect, arguments.only, arguments.roles))
    print(
        f"{len(rows)} cells; told after {max(row.told_ms for row in rows):.0f} ms at most, well again after "
        f"{max(row.back_seconds for row in rows):.1f} s, RSS growth {max(row.growth_mib for row in rows):.1f} MiB"
    )
    late = [f"{row.fault} ({row.role})" for row in rows if row.told_ms > row.allowed_ms]
    print(f"told later than {TOLD_WITHIN_SECONDS:g} s after what was noticed: {', '.join(late) or 'none'}")
    sys.exit(1 if late else 0)


async def _measure(dialect: str, only: Sequence[str], roles: Sequence[str]) -> list[Row]:
    faults = [
        fault
        for fault in FAULTS
        if (fault.is_ollama if dialect == "ollama" else fault.is_openai)
        and fault.heals
        and fault.name not in ASKS_FOR_MINUTES
        and (not only or fault.name in only)
    ]
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="rv") as folder:
        async with provider() as there:
            settings = SETTINGS.format(dialect=dialect, url=there.url)
            daemon = Living(Home(Path(folder) / "h"), settings=settings, environment={"REVERIES_API_KEY": "sk-planted"})
            await daemon.wake()
            async with daemon.client() as client:
                for _ in range(3):  # what a first call loads is not the fault's
                    await client.say("Good morning.")
                rows = [await _cell(daemon, client, there, fault, role) for fault in faults for role in roles]
            await daemon.end()
    return rows


async def _cell(daemon: Living, client: Client, there: Provider, fault: ProviderFault, role: str) -> Row:
    assert daemon.process is not None
    log = daemon.home.logs / "daemon.log"
    lines = len(log.read_bytes().splitlines())
    await there.inject(fault)
    async with _highest_rss(daemon.process.pid) as peak:
        began = time.monotonic()
        became = await _say(client) if role == "conversation" else await _sleep(client)
        told_ms = (time.monotonic() - began) * 1000
    written = len(log.read_bytes().splitlines()) - lines
    await there.heal()
    began = time.monotonic()
    while await _say(client) != "stop" and time.monotonic() - began < BACK_SECONDS:  # noqa: ASYNC110  # another process
        await asyncio.sleep(0.5)
    allowed_ms = 1000 * (CONVERSATION_TRIES * _NOTICED_AFTER_SECONDS.get(fault.found, 0.0) + TOLD_WITHIN_SECONDS)
    row = Row(fault.name, role, became, told_ms, allowed_ms, time.monotonic() - began, peak[1] - peak[0], written)
    print(
        f"{row.fault:28}{row.role:15}{row.became:10}{row.told_ms:9.0f}{row.back_seconds:8.1f}"
        f"{row.growth_mib:9.1f}{row.log_lines:5}",
        flush=True,
    )
    return row


async def _say(client: Client) -> str:
    return (await client.say("Where did Marta move?")).reason


async def _sleep(client: Client) -> str:
    client.send(protocol.Consolidate(client.number(), 1))
    try:
        report = await client.next_of(protocol.Consolidated)
    except AssertionError:  # a Failed frame: the owner was told
        return "told"
    return "fallback" if report.fallbacks else "kept" if report.processed else "nothing"


@contextlib.asynccontextmanager
async def _highest_rss(pid: int) -> AsyncIterator[list[float]]:
    """[before, highest meanwhile], in MiB."""
    process = psutil.Process(pid)
    seen = [process.memory_info().rss / 2**20] * 2

    async def sample() -> None:
        while True:
            seen[1] = max(seen[1], process.memory_info().rss / 2**20)
            await asyncio.sleep(SAMPLE_SECONDS)

    async with asyncio.TaskGroup() as tasks:
        sampling = tasks.create_task(sample(), name="rss")
        yield seen
        sampling.cancel()


if __name__ == "__main__":
    main()
