"""The context size of a local model: the configured one if it fits, else one that suits this machine."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

import msgspec

from reveries.config import EmbeddedSettings
from reveries.errors import ConfigError, ModelError, ReveriesError
from reveries.llm.assets import find_weights
from reveries.llm.gguf import GgufHead, read_head

SMALLEST_TOKENS = 1024
USUAL_TOKENS = 4096
MANY_TOKENS = 8192
MANY_CORES = 8
"""Prompts take time: two cores process 60 tokens a second of the default model, so 8,192 take over two minutes."""

SUITABLE_SHARE = 0.6
"""Share of the memory: other programs need some."""

WORKING_BYTES = 300_000_000
"""In addition to weights and cache: batch buffers and the program itself."""


@dataclass(frozen=True, slots=True)
class MachineMemory:
    """The machine's cores and memory. `ram_bytes` 0: unknown."""

    cores: int
    ram_bytes: int


@dataclass(frozen=True, slots=True)
class WeightsFile:
    """A model's file, as far as memory use is concerned."""

    name: str
    file_bytes: int
    head: GgufHead

    def needed_bytes(self, context_tokens: int, slots: int) -> int:
        """Return the approximate memory use with `slots` contexts of so many tokens."""
        return self.file_bytes + self.head.cache_bytes_per_token * context_tokens * slots + WORKING_BYTES


def read_machine_memory() -> MachineMemory:
    """Return what this process may use of the machine."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # macOS
        cores = os.cpu_count() or 1
    try:
        ram_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        ram_bytes = 0
    return MachineMemory(cores, min(ram_bytes, _allowed_bytes() or ram_bytes))


def free_memory_bytes() -> int:
    """Return the memory available without taking it from other programs; half of it where that is unknown (macOS)."""
    ram_bytes = read_machine_memory().ram_bytes
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
    except OSError:
        return ram_bytes // 2
    available = re.search(r"^MemAvailable:\s*(\d+) kB", text, re.MULTILINE)
    return min(int(available.group(1)) * 1024, ram_bytes) if available else ram_bytes // 2


def fit_context(
    settings: EmbeddedSettings, model: str, slots: int, machine: MachineMemory | None = None
) -> EmbeddedSettings:
    """Return `settings` with the context that `model` (a name of the manifest, or a path) gets here.

    Weights that are not on this machine yet are checked later. Raises ConfigError for a context that cannot fit, and
    for a file that is no model.
    """
    here = machine or read_machine_memory()
    weights = _read_weights_file(model)
    tokens = context_tokens(settings.context_tokens, weights, slots, here)
    return msgspec.structs.replace(settings, context_tokens=tokens)


def context_tokens(asked: int, weights: WeightsFile | None, slots: int, machine: MachineMemory) -> int:
    """Return the tokens for each slot. `asked` 0: what suits `machine`. Pure. Raises ConfigError for what cannot
    fit."""
    wanted = asked or (MANY_TOKENS if machine.cores >= MANY_CORES else USUAL_TOKENS)
    if weights is None:
        return max(wanted, SMALLEST_TOKENS)
    wanted = max(min(wanted, weights.head.trained_tokens or wanted), SMALLEST_TOKENS)
    if not machine.ram_bytes:
        return wanted
    if not asked:
        room = machine.ram_bytes * SUITABLE_SHARE
        while wanted // 2 >= SMALLEST_TOKENS and weights.needed_bytes(wanted, slots) > room:
            wanted //= 2
    needed = weights.needed_bytes(wanted, slots)
    if needed > machine.ram_bytes:
        raise ConfigError(
            f"{weights.name} with {slots} contexts of {wanted:,} tokens needs about {_gigabytes(needed)} of memory, "
            f"and this machine has {_gigabytes(machine.ram_bytes)}.",
            advice=_smaller_model_advice(asked, weights, slots, machine),
        )
    return wanted


def _smaller_model_advice(asked: int, weights: WeightsFile, slots: int, machine: MachineMemory) -> str:
    if asked and weights.needed_bytes(SMALLEST_TOKENS, slots) <= machine.ram_bytes:
        return "Let the machine decide: reveries config set llm.embedded.context_tokens 0"
    return "Choose a smaller model: reveries models"


def _read_weights_file(model: str) -> WeightsFile | None:
    try:
        path = find_weights(model)
    except ReveriesError:
        return None
    try:
        return WeightsFile(Path(path).name, path.stat().st_size, read_head(path))
    except (OSError, ModelError) as error:
        message = (
            error.message if isinstance(error, ModelError) else f"The weights {path} cannot be read: {error.strerror}."
        )
        raise ConfigError(message, advice="Choose another: reveries models") from error


def _allowed_bytes() -> int:
    """Return the memory limit of this process's control group; 0 when there is none."""
    try:
        return int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return 0


def _gigabytes(number: int) -> str:
    return f"{number / 1e9:.1f} GB"
