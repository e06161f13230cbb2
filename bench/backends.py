"""The same conversation against three backends over real HTTP: streaming, stopping, counting.

    PYTHONPATH=. python bench/backends.py --model smollm2-135m --times 5

Prints one line for each backend: first token, time from Cancel to the end of the reply (including storing it), tokens.
"""

import argparse
import asyncio
import statistics
import tempfile
from pathlib import Path

from reveries.config import Home
from tests.e2e.backends import BACKENDS, Heard, backend, converse
from tests.e2e.living import Living


async def heard_on(name: str, model: str, times: int) -> list[Heard]:
    """The script's runs, each with a new mind; the first, which loads everything, is left out."""
    runs: list[Heard] = []
    for _ in range(times + 1):
        with tempfile.TemporaryDirectory(prefix="rv-") as folder:
            living = Living(Home(Path(folder)))
            async with backend(living, name, model):
                await living.wake()
                try:
                    async with living.client() as client:
                        runs.append(await converse(client))
                finally:
                    await living.end()
    return runs[1:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--times", type=int, default=5)
    chosen = parser.parse_args()
    print("| backend | second turn's first token, s (median) | stopped after, ms (median, worst) | calls counted |")
    print("|---|---|---|---|")
    for name in BACKENDS:
        runs = asyncio.run(heard_on(name, chosen.model, chosen.times))
        first = statistics.median(run.second.first_token_seconds for run in runs)
        stops = [run.cancel_seconds * 1000 for run in runs]
        calls = {run.usage.calls for run in runs}
        print(f"| {name} | {first:.2f} | {statistics.median(stops):.0f}, {max(stops):.0f} | {calls} of 3 |")


if __name__ == "__main__":
    main()
