"""How much context a model gets: pure sums over a machine and a file's head, and the head itself."""

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.config import load_settings
from reveries.errors import ConfigError, ModelError
from reveries.llm.fitting import (
    SMALLEST_TOKENS,
    MachineMemory,
    WeightsFile,
    context_tokens,
    fit_context,
    read_machine_memory,
)
from reveries.llm.gguf import GgufHead, read_head

GIGABYTE = 10**9
SMALL = MachineMemory(cores=2, ram_bytes=8 * GIGABYTE)
LARGE = MachineMemory(cores=16, ram_bytes=64 * GIGABYTE)
QWEN = WeightsFile("qwen.gguf", 1_117_320_768, GgufHead(trained_tokens=32768, cache_bytes_per_token=28_672))
EMBEDDED = load_settings(None).llm.embedded


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text)) + text.encode()


def a_head(**values: int | list[int] | str) -> bytes:
    """The beginning of a GGUF file with these values of the architecture "toy"."""
    pairs = [_text("general.architecture") + struct.pack("<I", 8) + _text("toy")]
    for name, value in values.items():
        key = _text(f"toy.{name}".replace("__", "."))
        if isinstance(value, str):
            pairs.append(key + struct.pack("<I", 8) + _text(value))
        elif isinstance(value, list):
            items = b"".join(struct.pack("<I", item) for item in value)
            pairs.append(key + struct.pack("<IIQ", 9, 4, len(value)) + items)
        else:
            pairs.append(key + struct.pack("<II", 4, value))
    pairs.append(_text("tokenizer.ggml.tokens") + b"whatever comes here is not read")
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(pairs)) + b"".join(pairs)


TOY = {
    "context_length": 2048,
    "block_count": 10,
    "embedding_length": 512,
    "attention__head_count": 8,
    "attention__head_count_kv": 2,
}


def test_the_head_says_what_a_token_of_context_takes(tmp_path: Path) -> None:
    file = tmp_path / "toy.gguf"
    file.write_bytes(a_head(**TOY, file_type="q4"))
    # 10 layers x 2 heads x (64 + 64) numbers of 2 bytes.
    assert read_head(file) == GgufHead(trained_tokens=2048, cache_bytes_per_token=5120)
    file.write_bytes(a_head(**(TOY | {"attention__head_count_kv": [1, 2]}), attention__key_length=32))
    assert read_head(file).cache_bytes_per_token == 10 * 2 * (32 + 64) * 2


@pytest.mark.parametrize("cut", [0, 3, 10, 40, 60])
def test_what_is_no_model_is_said_to_be_none(tmp_path: Path, cut: int) -> None:
    file = tmp_path / "toy.gguf"
    file.write_bytes(a_head(**TOY)[:cut])
    with pytest.raises(ModelError, match="is no GGUF model"):
        read_head(file)
    with pytest.raises(ConfigError, match="is no GGUF model"):
        fit_context(EMBEDDED, str(file), 2)


@given(st.binary(max_size=300))
def test_no_bytes_break_the_reading(tmp_path_factory: pytest.TempPathFactory, rest: bytes) -> None:
    file = tmp_path_factory.mktemp("gguf") / "any.gguf"
    file.write_bytes(b"GGUF\x03\x00\x00\x00" + rest)
    try:
        read_head(file)
    except ModelError:
        return


def test_the_machine_decides_when_nothing_is_asked_for() -> None:
    assert context_tokens(0, QWEN, 2, SMALL) == 4096
    assert context_tokens(0, QWEN, 2, LARGE) == 8192
    assert context_tokens(0, QWEN, 2, MachineMemory(2, int(2.6 * GIGABYTE))) == 2048
    assert context_tokens(0, None, 2, SMALL) == 4096


def test_a_model_gets_no_more_than_it_was_made_for() -> None:
    short = WeightsFile("toy.gguf", 10**8, GgufHead(2048, 5120))
    assert context_tokens(0, short, 2, LARGE) == 2048
    assert context_tokens(100_000, short, 2, LARGE) == 2048


def test_what_was_asked_for_is_given_if_it_fits_and_refused_with_both_numbers_if_not() -> None:
    assert context_tokens(32768, QWEN, 2, SMALL) == 32768
    with pytest.raises(ConfigError, match=r"needs about 3\.3 GB of memory, and this machine has 3\.0 GB") as caught:
        context_tokens(32768, QWEN, 2, MachineMemory(2, 3 * GIGABYTE))
    assert "context_tokens 0" in caught.value.advice
    with pytest.raises(ConfigError) as caught:
        context_tokens(0, QWEN, 2, MachineMemory(2, GIGABYTE))
    assert "smaller model" in caught.value.advice


@given(
    asked=st.integers(0, 10**6), cores=st.integers(1, 256), ram_bytes=st.integers(0, 10**12), slots=st.integers(1, 4)
)
def test_whatever_is_given_fits(asked: int, cores: int, ram_bytes: int, slots: int) -> None:
    try:
        tokens = context_tokens(asked, QWEN, slots, MachineMemory(cores, ram_bytes))
    except ConfigError:
        return
    assert tokens >= SMALLEST_TOKENS
    assert tokens <= max(asked, 8192)
    assert not ram_bytes or QWEN.needed_bytes(tokens, slots) <= ram_bytes


def test_this_machine_has_cores_and_memory() -> None:
    assert read_machine_memory().cores >= 1
    assert read_machine_memory().ram_bytes > 10**8


@pytest.mark.e2e
def test_the_head_of_a_real_model_is_read() -> None:
    settings = fit_context(EMBEDDED, "smollm2-135m", 2, SMALL)
    assert settings.context_tokens == 4096
