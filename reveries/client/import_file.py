"""Past conversations as JSON lines: the whole file is read and checked before anything is sent."""

from pathlib import Path
from typing import Final

import msgspec

from reveries.client.wording import iso_time
from reveries.errors import InputDataError, InputFileError
from reveries.protocol import MAX_TEXT_CHARS, ImportedTurn

EXAMPLE: Final = '{"time": "2025-03-04T14:02:00", "speaker": "Ada", "text": "Good morning"}'
_BATCH_TURNS = 500
_BATCH_BYTES = 1_000_000
_TURN_BYTES = 3_000_000
_SPEAKER_CHARS = 200
_FIELDS = ("time", "speaker", "text")


def read_conversation(file: Path) -> list[ImportedTurn]:
    """Read the turns of `file`, in order.

    Raises InputFileError if it cannot be read, InputDataError for the first invalid line.
    """
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise InputFileError(
            f"The file {file} cannot be read: {error.strerror or error}.", advice="Check its name and its permissions."
        ) from error
    lines = raw.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    turns = [_read_turn(line, f"{file} line {number}") for number, line in enumerate(lines, 1) if line.strip()]
    if not turns:
        raise InputDataError(f"{file} is empty.", advice=f"Each line must look like this: {EXAMPLE}")
    return turns


def split_batches(turns: list[ImportedTurn]) -> list[list[ImportedTurn]]:
    """Split `turns` into batches of at most 500 turns and a million bytes (or one long turn)."""
    parts: list[list[ImportedTurn]] = [[]]
    free = _BATCH_BYTES
    for turn in turns:
        weight = estimate_turn_bytes(turn)
        if parts[-1] and (len(parts[-1]) == _BATCH_TURNS or weight > free):
            parts.append([])
            free = _BATCH_BYTES
        parts[-1].append(turn)
        free -= weight
    return parts


def _read_turn(line: bytes, where: str) -> ImportedTurn:
    entry = _read_entry(line, where)
    values = [_get_text(entry, name, where) for name in _FIELDS]
    try:
        said_at = iso_time(values[0])
    except ValueError as error:
        raise _line_error(where, f'"time" is {values[0][:40]!r}, which is not an ISO 8601 time') from error
    turn = ImportedTurn(said_at, values[1].strip(), values[2])
    if len(turn.speaker) > _SPEAKER_CHARS:
        raise _line_error(where, f'"speaker" has {len(turn.speaker):,} characters, and {_SPEAKER_CHARS} are allowed')
    if len(turn.text) > MAX_TEXT_CHARS or estimate_turn_bytes(turn) > _TURN_BYTES:
        raise _line_error(where, f'"text" is too long for one turn ({len(turn.text):,} characters)')
    return turn


def _read_entry(line: bytes, where: str) -> dict[str, object]:
    try:
        entry = msgspec.json.decode(line)
    except UnicodeDecodeError as error:
        raise _line_error(where, "it is not UTF-8 text") from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise _line_error(where, f"it is not JSON ({str(error).removeprefix('JSON is malformed: ')})") from error
    if not isinstance(entry, dict):
        raise _line_error(where, "it is not a JSON object")
    return entry


def _get_text(entry: dict[str, object], name: str, where: str) -> str:
    value = entry.get(name)
    if name not in entry:
        raise _line_error(where, f'"{name}" is missing')
    if not isinstance(value, str):
        raise _line_error(where, f'"{name}" is not a string')
    if not value.strip():
        raise _line_error(where, f'"{name}" is empty')
    return value


def estimate_turn_bytes(turn: ImportedTurn) -> int:
    """Estimate the size of a turn on the wire, in bytes."""
    return len(turn.text.encode("utf-8")) + 4 * len(turn.speaker) + 64


def _line_error(where: str, what: str) -> InputDataError:
    return InputDataError(f"{where}: {what}. Nothing was imported.", advice=f"Each line must look like this: {EXAMPLE}")
