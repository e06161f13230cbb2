"""A real daemon whose provider stays down: its processor use and the number of its log lines (D5).

    PYTHONPATH=. python bench/outage.py --seconds 60

The provider refuses every connection; thinking is on, and one message of the owner is unanswered.
"""

import argparse
import asyncio
import tempfile
from pathlib import Path

import psutil

from reveries.config import Home
from tests.e2e.living import Living

_SETTINGS = """
[llm]
provider = "ollama"
conversation_model = "nobody"
monologue_model = "nobody"
consolidation_model = "nobody"
ollama_url = "http://127.0.0.1:9"
[monologue]
enabled = true
idle_check_seconds = 5
"""


async def measure(seconds: int) -> None:
    """Wake, say something, watch."""
    with tempfile.TemporaryDirectory(prefix="rv-") as folder:
        living = Living(Home(Path(folder)), settings=_SETTINGS)
        await living.wake()
        try:
            async with living.client() as client:
                replied = await client.say("Are you there?")
            assert living.process is not None
            daemon = psutil.Process(living.process.pid)
            log = next(living.home.logs.glob("*.log"))
            await asyncio.sleep(5)
            before, lines = daemon.cpu_times(), len(log.read_bytes().splitlines())
            await asyncio.sleep(seconds)
            after, later = daemon.cpu_times(), len(log.read_bytes().splitlines())
            used = after.user + after.system - before.user - before.system
            print(f"told: {replied.explanation}")
            print(
                f"{100 * used / seconds:.2f} % of a processor, {60 * (later - lines) / seconds:.1f} log lines a minute"
            )
        finally:
            await living.end()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=60)
    asyncio.run(measure(parser.parse_args().seconds))


if __name__ == "__main__":
    main()
