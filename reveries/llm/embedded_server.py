"""The child process that runs a model's native code: `python -m reveries.llm.embedded_server`.

Standard input: one line of JSON, `ServerOptions`. Standard output: one line, `{"ready": true, "address": …}`, once it
listens. It lives exactly as long as standard input stays open: when the daemon dies, however it dies, so does this.
It owns no file of the mind's, opens no TCP port where a unix socket can be had, leaves no core dump (prompts would be
in it), and yields the processor to everything else. Where memory runs out, it goes first. Nothing of Reveries but this
module is imported by it.
"""

import contextlib
import ctypes
import json
import os
import resource
import signal
import socket
import sys
import threading
from pathlib import Path

import msgspec

NICENESS = 10
_FIRST_TO_GO = "1000"
"""Of what may be ended for want of memory: its loss costs a loading, another's what somebody worked at."""
_PR_SET_DUMPABLE = 4
ALL_LAYERS_ON_CPU = 0


class ServerOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the child is told. `socket` must end in ".sock": that is how llama.cpp knows a path from a host."""

    model: str
    socket: str
    api_key: str
    context_tokens: int
    """For each slot."""
    slots: int
    threads: int
    batch_tokens: int
    """Tokens read between two looks at whether the request still has a reader."""


def main() -> None:
    """Read the options, load, listen, say so, and wait for the end of standard input."""
    options = msgspec.json.decode(sys.stdin.buffer.readline(), type=ServerOptions)
    _restrict_process()
    # Loading takes seconds and may hang: the watch on the parent starts before it.
    watchdog = threading.Thread(target=_end_with_parent, name="watch-parent", daemon=True)
    watchdog.start()
    server = _start_server(options)
    print(json.dumps({"ready": True, "address": server.listening_address}), flush=True)  # noqa: T201
    watchdog.join()


def _restrict_process() -> None:
    os.umask(0o177)  # a socket of mode 0600 from birth
    os.nice(NICENESS)
    if sys.platform == "linux":
        # Before the process is closed to looks from outside: then this file is root's.
        with contextlib.suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text(_FIRST_TO_GO, encoding="ascii")
    # As own_process.protect_process has it: 1 byte, for Linux heeds a limit of 0 for files alone.
    limit = 1 if sys.platform == "linux" and resource.getrlimit(resource.RLIMIT_CORE)[1] != 0 else 0
    resource.setrlimit(resource.RLIMIT_CORE, (limit, limit))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    # Ctrl-C at a daemon in the foreground is for the daemon, which then closes this process itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _end_with_parent() -> None:
    while os.read(sys.stdin.fileno(), 4096):
        pass
    # No clean-up: tearing the native server down can hang, and it owns nothing that outlives it.
    os._exit(0)


def _start_server(options: ServerOptions):  # type: ignore[no-untyped-def]  # xllamacpp has no types
    # Threads that wait for each other soon sleep. Spinning on, as is the default, they took the core from the thread
    # that they waited for whenever another program was busy: 4 tokens a second were generated then, against 10 so.
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = options.model
    params.n_parallel = options.slots
    params.n_ctx = options.context_tokens * options.slots
    params.n_batch = params.n_ubatch = options.batch_tokens
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = options.threads
    params.n_gpu_layers = ALL_LAYERS_ON_CPU
    # Small batches far into a conversation: flash attention costs 15 ms a token for each 1,000 tokens before it, the
    # plain kind 4 to 7 (processor time, default model); at the beginning they cost the same.
    params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    params.cache_ram_mib = 0
    params.verbosity = -1
    params.ui = False
    params.endpoint_slots = False
    params.api_keys = [options.api_key]
    params.hostnames = [options.socket if _can_bind(options.socket) else "127.0.0.1"]
    params.port = 0
    return xllamacpp.Server(params)


def _can_bind(path: str) -> bool:
    """Whether a unix socket can live at `path`; a stale one, left by a killed process, is removed."""
    try:
        Path(path).unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX) as probe:
            probe.bind(path)
        Path(path).unlink()
    except OSError:
        return False
    return True


if __name__ == "__main__":
    main()
