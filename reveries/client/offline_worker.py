"""Run the daemon's code in a short-lived process while no daemon is running.

The process writes one JSON object per line. If it fails, the last line of its standard error becomes the message.
"""

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from reveries import protocol
from reveries.api_keys import remove_secrets
from reveries.errors import ModelUnavailableError, ReveriesError, error_from_code
from reveries.safe_text import one_line

OFFLINE_MODULE = "reveries.daemon.offline.offline_process"
_COMMANDS_WITH_KEYS = frozenset({"models", "test"})
_END_SECONDS = 10
_frames = msgspec.json.Decoder(protocol.frames_type())


def stream_frames(*words: str, module: str = OFFLINE_MODULE) -> Iterator[protocol.Frame]:
    """Run the process, and yield its frames. Raises the ReveriesError that it reports."""
    with start_worker(module, *words) as process:
        for row in json_rows(process):
            frame: protocol.Frame = _frames.decode(row)
            if isinstance(frame, protocol.Failed):
                raise error_from_code(frame.code, frame.message, frame.advice)
            yield frame


_FrameType = TypeVar("_FrameType", bound=protocol.Frame)


def run_for_frame(
    kind: type[_FrameType],
    *words: str,
    module: str = OFFLINE_MODULE,
    on_progress: Callable[[str, int, int], None] = lambda what, done, total: None,
    otherwise: ReveriesError | None = None,
) -> _FrameType:
    """Run the process, and return its frame of type `kind`; `on_progress` receives the progress. Raises the
    ReveriesError that it reports; `otherwise` or else ModelUnavailableError if it ends without such a frame."""
    for frame in stream_frames(*words, module=module):
        if isinstance(frame, protocol.Progress):
            on_progress(frame.what, frame.done, frame.total)
        elif isinstance(frame, kind):
            return frame
    raise otherwise or ModelUnavailableError(
        f"{words[0]} ended without a result.", advice=f"To see its output: {sys.executable} -m {module} {words[0]}"
    )


def overview_offline(module: str = OFFLINE_MODULE) -> protocol.ModelsOverview:
    """Return the models that the next wake would use. Raises ReveriesError."""
    return run_for_frame(protocol.ModelsOverview, "models", module=module)


def usage_offline(days: int, module: str = OFFLINE_MODULE) -> protocol.UsageReport:
    """Read the usage from the ledger while the mind is asleep. Raises ReveriesError."""
    return run_for_frame(protocol.UsageReport, "usage", "--days", str(days), module=module)


def checkup_offline(module: str = OFFLINE_MODULE) -> protocol.Checkup:
    """Run the daemon's checks while the mind is asleep. Raises ReveriesError."""
    return run_for_frame(protocol.Checkup, "checkup", module=module)


def tools_offline() -> list[protocol.ToolEntry]:
    """List the tools that programs may call once the mind is awake. Raises ReveriesError."""
    return run_for_frame(protocol.Tools, "tools").tools


def json_rows(process: "subprocess.Popen[bytes]") -> Iterator[bytes]:
    """Yield the lines of its standard output that begin like a JSON object."""
    assert process.stdout is not None
    for row in process.stdout:
        if row.lstrip().startswith(b"{"):
            yield row


@contextlib.contextmanager
def start_worker(module: str, *words: str) -> Iterator["subprocess.Popen[bytes]"]:
    """Run `python -m MODULE WORDS` with stdout piped; it is ended on exit. Raises its error message if it failed."""
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", module, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            # `-m` searches the working folder first: use the one of this package, not the user's.
            cwd=Path(__file__).parents[2],
            env=worker_environment(module, words, os.environ),
        )
        try:
            yield process
            if code := process.wait(_END_SECONDS):
                errors.seek(0)
                message = _last_line(errors.read()) or f"The process of {module} ended with code {code}."
                raise ModelUnavailableError(message)
        finally:
            process.terminate()
            process.wait(_END_SECONDS)
            if process.stdout is not None:
                process.stdout.close()


def worker_environment(module: str, words: Sequence[str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of the process: API keys are kept only for commands that use or list them."""
    needs_keys = module == OFFLINE_MODULE and not _COMMANDS_WITH_KEYS.isdisjoint(words[:1])
    return dict(environment) if needs_keys else remove_secrets(environment)


def _last_line(complaint: bytes) -> str:
    rows = complaint.decode("utf-8", "replace").strip().splitlines()
    return one_line(rows[-1].removeprefix("reveries: "), 500) if rows else ""
