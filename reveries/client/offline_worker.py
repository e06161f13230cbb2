"""Work of the daemon's side for which no daemon runs: a process that is started, listened to, and ended when left.

It writes one JSON object a line. What it complains of on standard error is passed on when it ends badly.
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
from reveries.api_keys import without_secrets
from reveries.errors import ModelUnavailableError, error_from_code
from reveries.safe_text import one_line

ASLEEP_MODULE = "reveries.daemon.offline_process"
_WITH_KEYS = frozenset({"models", "test"})
_END_SECONDS = 10
_frames = msgspec.json.Decoder(protocol.frames_type())


def frames_of(*words: str, module: str = ASLEEP_MODULE) -> Iterator[protocol.Frame]:
    """What the process says, frame by frame. Raises the ReveriesError that it ends with."""
    with started(module, *words) as process:
        for row in rows_of(process):
            frame: protocol.Frame = _frames.decode(row)
            if isinstance(frame, protocol.Failed):
                raise error_from_code(frame.code, frame.message, frame.advice)
            yield frame


_FrameType = TypeVar("_FrameType", bound=protocol.Frame)


def only_frame(
    kind: type[_FrameType],
    *words: str,
    module: str = ASLEEP_MODULE,
    moved: Callable[[str, int, int], None] = lambda what, done, total: None,
) -> _FrameType:
    """The one frame that the process is asked for; `moved` is told how far it is. Raises the ReveriesError that it ends
    with."""
    for frame in frames_of(*words, module=module):
        if isinstance(frame, protocol.Progress):
            moved(frame.what, frame.done, frame.total)
        elif isinstance(frame, kind):
            return frame
    raise ModelUnavailableError(
        f"{words[0]} was not answered.", advice=f"See what it says: {sys.executable} -m {module} {words[0]}"
    )


def overview_asleep(module: str = ASLEEP_MODULE) -> protocol.ModelsOverview:
    """The models as the next wake would use them. Raises ReveriesError."""
    for frame in frames_of("models", module=module):
        if isinstance(frame, protocol.ModelsOverview):
            return frame
    raise ModelUnavailableError(
        "The list of models could not be read.", advice=f"See what it says: {sys.executable} -m {module} models"
    )


def usage_asleep(days: int, module: str = ASLEEP_MODULE) -> protocol.UsageReport:
    """What the ledger has, while nobody is awake. Raises ReveriesError."""
    for frame in frames_of("usage", "--days", str(days), module=module):
        if isinstance(frame, protocol.UsageReport):
            return frame
    raise ModelUnavailableError(
        "The ledger could not be read.", advice=f"See what it says: {sys.executable} -m {module} usage"
    )


def checkup_asleep(module: str = ASLEEP_MODULE) -> protocol.Checkup:
    """What the daemon's side finds wrong, while nobody is awake. Raises ReveriesError."""
    for frame in frames_of("checkup", module=module):
        if isinstance(frame, protocol.Checkup):
            return frame
    raise ModelUnavailableError(
        "The checkup told nothing.", advice=f"See what it says: {sys.executable} -m {module} checkup"
    )


def rows_of(process: "subprocess.Popen[bytes]") -> Iterator[bytes]:
    """The lines of its standard output that may be JSON objects."""
    assert process.stdout is not None
    for row in process.stdout:
        if row.lstrip().startswith(b"{"):
            yield row


@contextlib.contextmanager
def started(module: str, *words: str) -> Iterator["subprocess.Popen[bytes]"]:
    """`python -m MODULE WORDS` with its stdout piped; ended when left. Raises what it complained of when it failed."""
    with tempfile.TemporaryFile() as complaints:
        process = subprocess.Popen(
            [sys.executable, "-m", module, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=complaints,
            # `-m` looks in the working folder first: let that be where this package is, not where the user is.
            cwd=Path(__file__).parents[2],
            env=environment_of(module, words, os.environ),
        )
        try:
            yield process
            if code := process.wait(_END_SECONDS):
                complaints.seek(0)
                told = _last_line(complaints.read()) or f"The process of {module} ended with code {code}."
                raise ModelUnavailableError(told)
        finally:
            process.terminate()
            process.wait(_END_SECONDS)
            if process.stdout is not None:
                process.stdout.close()


def environment_of(module: str, words: Sequence[str], environment: Mapping[str, str]) -> dict[str, str]:
    """What of `environment` the process is given: keys only where it asks a provider, or says whose key there is."""
    needs_keys = module == ASLEEP_MODULE and not _WITH_KEYS.isdisjoint(words[:1])
    return dict(environment) if needs_keys else without_secrets(environment)


def _last_line(complaint: bytes) -> str:
    rows = complaint.decode("utf-8", "replace").strip().splitlines()
    return one_line(rows[-1].removeprefix("reveries: "), 500) if rows else ""
