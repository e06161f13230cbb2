"""The header of a GGUF file: as much as is needed to estimate the model's memory use."""

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from reveries.errors import ModelError

_MAGIC = b"GGUF"
_MAX_PAIRS = 10_000
_MAX_TEXT_BYTES = 4 * 1024 * 1024
_MAX_KEPT_ITEMS = 1024
_STRING, _ARRAY = 8, 9
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_KEY_VALUE_BYTES = 2
"""The key-value cache holds 16-bit numbers."""


@dataclass(frozen=True, slots=True)
class GgufHead:
    """Values from the header; 0 where it has none."""

    trained_tokens: int
    """The longest context that the model was trained for."""
    cache_bytes_per_token: int
    """Memory that each token of context takes."""


def read_head(path: Path) -> GgufHead:
    """Read the header of `path`. Raises ModelError for a file that is no GGUF model or is cut off; OSError."""
    try:
        with path.open("rb") as file:
            return _read_head(_read_pairs(file))
    except (struct.error, ValueError, UnicodeDecodeError) as error:
        raise ModelError(
            f"The file {path} is no GGUF model that can be read: {error}.",
            advice="Fetch it again, or choose another: reveries models",
        ) from error


def _read_head(pairs: dict[str, object]) -> GgufHead:
    kind = pairs.get("general.architecture", "")

    def number(name: str) -> int:
        stored = pairs.get(f"{kind}.{name}", 0)
        values = stored if isinstance(stored, list) else [stored]
        return max((int(value) for value in values if isinstance(value, int)), default=0)

    heads = number("attention.head_count")
    width = number("embedding_length") // heads if heads else 0
    per_head = (number("attention.key_length") or width) + (number("attention.value_length") or width)
    key_heads = number("attention.head_count_kv") or heads
    return GgufHead(
        trained_tokens=number("context_length"),
        cache_bytes_per_token=number("block_count") * key_heads * per_head * _KEY_VALUE_BYTES,
    )


def _read_pairs(file: BinaryIO) -> dict[str, object]:
    """Read the named values up to the tokenizer's, which are many and not needed."""
    if file.read(4) != _MAGIC:
        raise ValueError("its first bytes are wrong")
    _, _, count = _read_numbers(file, "IQQ")
    if count > _MAX_PAIRS:
        raise ValueError(f"it has {count} values, which is too many")
    pairs: dict[str, object] = {}
    for _ in range(int(count)):
        key = _read_text_value(file)
        if key.startswith("tokenizer."):
            break
        pairs[key] = _read_value(file, int(_read_numbers(file, "I")[0]))
    return pairs


def _read_value(file: BinaryIO, kind: int) -> object:
    if kind == _STRING:
        return _read_text_value(file)
    if kind != _ARRAY:
        return _read_numbers(file, _number_format(kind))[0]
    item, count = (int(number) for number in _read_numbers(file, "IQ"))
    if count > _MAX_KEPT_ITEMS:
        raise ValueError(f"it has a list of {count} values, which is too long")
    return [_read_value(file, item) for _ in range(count)]


def _number_format(kind: int) -> str:
    if kind not in _NUMBERS:
        raise ValueError(f"it has a value of the unknown type {kind}")
    return _NUMBERS[kind]


def _read_numbers(file: BinaryIO, form: str) -> tuple[int | float | bool, ...]:
    layout = struct.Struct(f"<{form}")
    return layout.unpack(file.read(layout.size))


def _read_text_value(file: BinaryIO) -> str:
    (length,) = _read_numbers(file, "Q")
    if length > _MAX_TEXT_BYTES:
        raise ValueError(f"it has a text of {length} bytes, which is too long")
    return file.read(int(length)).decode("utf-8", "replace")
