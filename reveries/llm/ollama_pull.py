"""Let the owner's Ollama fetch a model. A separate process, so that the client need not import this code:

    python -m reveries.llm.ollama_pull pull NAME [--json]

With `--json` it writes the lines that reveries/llm/assets.py describes. Ollama keeps a partly
fetched model and resumes it; it stops when this process ends. Only the server in `llm.ollama_url` is contacted.
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
"""Ollama reports progress many times a second, but nothing while it verifies tens of gigabytes."""

PROGRESS_BYTES = 2**30
"""Days of progress lines."""

_REPORT_SECONDS = 0.1
_NO_SUCH_MODEL = ("file does not exist", "not found", "pull model manifest: 404")
_NO_ROOM = ("no space left", "not enough disk space", "disk quota")
_NO_NETWORK = ("dial tcp", "no such host", "i/o timeout", "connection refused", "tls: ")

PullCallback = Callable[[str, int, int], None]
"""Called with Ollama's status, the bytes it has, and the total (0: not known yet)."""


async def pull_with_ollama(name: str, url: str, report: PullCallback) -> None:
    """Wait until the Ollama at `url` has the model `name`. Raises ReveriesError saying what failed."""
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
        # The last two: errors of its client for an unexpected line.
        detail = one_line(str(error)) or type(error).__name__
        raise ModelUnavailableError(
            f"Ollama broke off while it fetched {name}: {detail}.", advice="Run it again: the download is resumed."
        ) from error
    if last != "success":
        raise ModelUnavailableError(
            f"Ollama stopped before it had all of {name}.", advice="Run it again: the download is resumed."
        )


def _pull_error(name: str, message: str) -> ReveriesError:
    """Return Ollama's error as one of ours. It has no codes, so its words are matched."""
    words = message.lower()
    detail = one_line(message, 300)
    if any(sign in words for sign in _NO_ROOM):
        return DiskFullError(
            f"The disk is full where Ollama keeps its models: {detail}.",
            advice="Free some space, then run it again: the download is resumed.",
        )
    if any(sign in words for sign in _NO_NETWORK):
        return ModelUnavailableError(
            f"Ollama cannot reach its library: {detail}.",
            advice="Check the network, then run it again: the download is resumed.",
        )
    if any(sign in words for sign in _NO_SUCH_MODEL):
        return NotFoundError(f"Ollama's library has no model called {name}.", advice="All of them: ollama.com/library")
    return ModelError(f"Ollama did not fetch {name}: {detail}.", advice="Run it again: the download is resumed.")


def main(words: list[str] | None = None) -> int:
    """Run this module's command line; return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m reveries.llm.ollama_pull")
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("pull", help="let Ollama fetch a model")
    command.add_argument("name")
    command.add_argument("--json", action="store_true")
    arguments = parser.parse_args(words)

    def write_line(record: dict[str, object], text: str) -> None:
        sys.stdout.write((json.dumps(record) if arguments.json else text) + "\n")
        sys.stdout.flush()

    try:
        url = load_settings(find_home().config).llm.ollama_url
        asyncio.run(pull_with_ollama(arguments.name, url, _throttle_report(write_line)))
    except ReveriesError as error:
        write_line({"error": error.message, "advice": error.advice, "code": error.code}, str(error))
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    write_line({"done": True, "source": "Ollama", "model": arguments.name}, f"Ollama has {arguments.name}.")
    return 0


def _throttle_report(write_line: Callable[[dict[str, object], str], None]) -> PullCallback:
    reported_at, reported_status = 0.0, ""

    def report(status: str, done: int, total: int) -> None:
        nonlocal reported_at, reported_status
        if status == reported_status and time.monotonic() - reported_at < _REPORT_SECONDS and done < total:
            return
        reported_at, reported_status = time.monotonic(), status
        line = {"file": status, "done_bytes": done, "total_bytes": total, "source": "Ollama"}
        write_line(line, f"{status}: {100 * done // total}%" if total else status)

    return report


if __name__ == "__main__":
    protect_process()
    raise SystemExit(main())
