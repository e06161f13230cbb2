"""Let the owner's Ollama fetch a model. A process of its own, so that whoever shows the progress needs none of this:

    python -m reveries.llm.ollama_pull pull NAME [--json]

With `--json` it writes the lines that reveries/llm/assets.py describes. Ollama keeps what it has of a model that was
not fetched to the end, and goes on there; it stops when this process ends. Only what `llm.ollama_url` names is asked.
"""

import argparse
import asyncio
import contextlib
import json
import sys
import time
from collections.abc import AsyncGenerator, Callable
from typing import cast

import httpx
import ollama

from reveries.config import find_home, load_settings
from reveries.errors import DiskFullError, ModelError, ModelUnavailableError, NotFoundError, ReveriesError
from reveries.llm.ollama_client import ollama_client
from reveries.own_process import protect_process
from reveries.redaction import redact
from reveries.safe_text import one_line

SILENCE_SECONDS = 300.0
"""Ollama says how far it is many times a second, but nothing while it checks tens of gigabytes."""

PROGRESS_BYTES = 2**30
"""Days of lines that say how far it is."""

_REPORT_SECONDS = 0.1
_NO_SUCH_MODEL = ("file does not exist", "not found", "pull model manifest: 404")
_NO_ROOM = ("no space left", "not enough disk space", "disk quota")
_NO_NETWORK = ("dial tcp", "no such host", "i/o timeout", "connection refused", "tls: ")

PullCallback = Callable[[str, int, int], None]
"""What Ollama does, how many bytes it has, of how many (0: not known yet)."""


async def pull_with_ollama(name: str, url: str, report: PullCallback) -> None:
    """Until the Ollama at `url` has the model `name`. Raises ReveriesError saying what it was."""
    has = dict[str, tuple[int, int]]()
    last = ""
    client = ollama_client(url, SILENCE_SECONDS, PROGRESS_BYTES)
    try:
        async with client:
            parts = await client.pull(name, stream=True)
            async with contextlib.aclosing(cast("AsyncGenerator[ollama.ProgressResponse, None]", parts)) as stream:
                async for part in stream:
                    last = part.status or last
                    if part.digest and part.total:
                        has[part.digest] = (part.completed or 0, part.total)
                    report(last, sum(done for done, _ in has.values()), sum(total for _, total in has.values()))
    except ollama.ResponseError as error:
        raise _pull_error(name, str(error.error or error)) from error
    except (ConnectionError, httpx.ConnectError, httpx.ConnectTimeout) as error:
        raise ModelUnavailableError(
            f"No Ollama answers at {redact(url)}.", advice="Start it (ollama serve), or check llm.ollama_url."
        ) from error
    except (httpx.HTTPError, OSError, ValueError, TypeError, AttributeError) as error:
        # The last two: what its client trips over when a line is not what it expects.
        detail = one_line(str(error)) or type(error).__name__
        raise ModelUnavailableError(
            f"Ollama broke off while it fetched {name}: {detail}.", advice="Run it again: it goes on where it was."
        ) from error
    if last != "success":
        raise ModelUnavailableError(
            f"Ollama stopped before it had all of {name}.", advice="Run it again: it goes on where it was."
        )


def _pull_error(name: str, said: str) -> ReveriesError:
    """What Ollama said, as an error of ours. It has no codes: its words are all there is to go by."""
    words = said.lower()
    detail = one_line(said, 300)
    if any(sign in words for sign in _NO_ROOM):
        return DiskFullError(
            f"The disk is full where Ollama keeps its models: {detail}.", advice="Free some room; it goes on there."
        )
    if any(sign in words for sign in _NO_NETWORK):
        return ModelUnavailableError(
            f"Ollama cannot reach its library: {detail}.", advice="Look at the network; it goes on where it was."
        )
    if any(sign in words for sign in _NO_SUCH_MODEL):
        return NotFoundError(f"Ollama's library has no model called {name}.", advice="All of them: ollama.com/library")
    return ModelError(f"Ollama did not fetch {name}: {detail}.", advice="Run it again: it goes on where it was.")


def main(words: list[str] | None = None) -> int:
    """The command line of this module; its exit code."""
    parser = argparse.ArgumentParser(prog="python -m reveries.llm.ollama_pull")
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("pull", help="let Ollama fetch a model")
    command.add_argument("name")
    command.add_argument("--json", action="store_true")
    arguments = parser.parse_args(words)

    def tell(record: dict[str, object], text: str) -> None:
        sys.stdout.write((json.dumps(record) if arguments.json else text) + "\n")
        sys.stdout.flush()

    try:
        url = load_settings(find_home().config).llm.ollama_url
        asyncio.run(pull_with_ollama(arguments.name, url, _throttle_report(tell)))
    except ReveriesError as error:
        tell({"error": error.message, "advice": error.advice, "code": error.code}, str(error))
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    tell({"done": True, "source": "Ollama", "model": arguments.name}, f"Ollama has {arguments.name}.")
    return 0


def _throttle_report(tell: Callable[[dict[str, object], str], None]) -> PullCallback:
    told_at, told = 0.0, ""

    def report(status: str, done: int, total: int) -> None:
        nonlocal told_at, told
        if status == told and time.monotonic() - told_at < _REPORT_SECONDS and done < total:
            return
        told_at, told = time.monotonic(), status
        line = {"file": status, "done_bytes": done, "total_bytes": total, "source": "Ollama"}
        tell(line, f"{status}: {100 * done // total}%" if total else status)

    return report


if __name__ == "__main__":
    protect_process()
    raise SystemExit(main())
