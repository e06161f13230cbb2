"""The child process that runs a model's native code: `python -m reveries.llm.embedded_server`.

Standard input: one line of JSON, `ServerOptions`. Standard output: one line, `{"ready": true, "address": …}`, once it
listens. It exits when standard input closes, so it never outlives the daemon. It owns no file of the mind but the slots
that it is asked to save, opens no TCP port where a unix socket is possible, and writes no core dump (it would contain
prompts). When memory runs out it is killed first. It imports no other module of Reveries.
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

_FIRST_TO_GO = "1000"
"""OOM score: losing this process only costs a reload, losing another one costs work."""
_PR_SET_DUMPABLE = 4
ALL_LAYERS_ON_CPU = 0


class ServerOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The child's options. `socket` must end in ".sock": llama.cpp tells a path from a host by that."""

    model: str
    socket: str
    api_key: str
    context_tokens: int
    """For each slot."""
    slots: int
    threads: int
    batch_tokens: int
    """Tokens processed between two checks whether the request still has a reader."""
    niceness: int
    """Added to the niceness of the parent process, 0 to 19."""
    kept_folder: str = ""
    """Where slots are saved and restored; empty: nowhere."""


def main() -> None:
    """Read the options, load the model, listen, report the address, and wait for the end of standard input."""
    options = msgspec.json.decode(sys.stdin.buffer.readline(), type=ServerOptions)
    _restrict_process(options.niceness)
    # Loading takes seconds and may hang, so the parent is watched from the beginning.
    watchdog = threading.Thread(target=_end_with_parent, name="watch-parent", daemon=True)
    watchdog.start()
    server = _start_server(options)
    print(json.dumps({"ready": True, "address": server.listening_address}), flush=True)  # noqa: T201
    watchdog.join()


def _restrict_process(niceness: int) -> None:
    os.umask(0o177)  # a socket of mode 0600 from birth
    os.nice(niceness)
    if sys.platform == "linux":
        # Before the process becomes undumpable: afterwards this file belongs to root.
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
    # No clean-up: stopping the native server can hang, and it owns nothing that outlives it.
    os._exit(0)


def _start_server(options: ServerOptions):  # type: ignore[no-untyped-def]  # xllamacpp has no types
    # Let waiting threads sleep soon. Spinning, the default, took the core from the thread they waited for whenever
    # another program was busy: 4 tokens a second were generated then, 10 with this.
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = options.model
    params.n_parallel = options.slots
    params.n_ctx = options.context_tokens * options.slots
    params.n_batch = params.n_ubatch = options.batch_tokens
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = options.threads
    params.n_gpu_layers = ALL_LAYERS_ON_CPU
    # Small batches far into a conversation: flash attention costs 15 ms a token for each 1,000 tokens of context, the
    # plain kind 4 to 7 (processor time, default model); at the beginning they cost the same.
    params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    params.cache_ram_mib = 0
    params.verbosity = -1
    params.ui = False
    params.endpoint_slots = False
    if options.kept_folder:
        params.slot_save_path = f"{options.kept_folder}/"
    params.api_keys = [options.api_key]
    params.hostnames = [options.socket if _can_bind(options.socket) else "127.0.0.1"]
    params.port = 0
    return xllamacpp.Server(params)


def _can_bind(path: str) -> bool:
    """Whether a unix socket can be created at `path`; a stale one is removed."""
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
