"""A past conversation as JSON lines: read and checked as a whole before any of it is sent."""

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
    """The turns of `file`, in its order.

    Raises InputFileError when it cannot be read, InputDataError naming the first line that is no turn.
    """
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise InputFileError(
            f"The file {file} cannot be read: {error.strerror or error}.", advice="Check its name and its mode."
        ) from error
    lines = raw.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    turns = [_read_turn(line, f"{file} line {number}") for number, line in enumerate(lines, 1) if line.strip()]
    if not turns:
        raise InputDataError(f"{file} has no lines in it.", advice=f"A line looks like this: {EXAMPLE}")
    return turns


def batches(turns: list[ImportedTurn]) -> list[list[ImportedTurn]]:
    """`turns` in parts, each of at most 500 turns and a million bytes (or one long turn)."""
    parts: list[list[ImportedTurn]] = [[]]
    room = _BATCH_BYTES
    for turn in turns:
        weight = turn_weight(turn)
        if parts[-1] and (len(parts[-1]) == _BATCH_TURNS or weight > room):
            parts.append([])
            room = _BATCH_BYTES
        parts[-1].append(turn)
        room -= weight
    return parts


def _read_turn(line: bytes, where: str) -> ImportedTurn:
    entry = _read_entry(line, where)
    values = [_text_of(entry, name, where) for name in _FIELDS]
    try:
        said_at = iso_time(values[0])
    except ValueError as error:
        raise _wrong_line(where, f'"time" is {values[0][:40]!r}, which is no ISO 8601 time') from error
    turn = ImportedTurn(said_at, values[1].strip(), values[2])
    if len(turn.speaker) > _SPEAKER_CHARS:
        raise _wrong_line(where, f'"speaker" has {len(turn.speaker):,} characters, and {_SPEAKER_CHARS} are allowed')
    if len(turn.text) > MAX_TEXT_CHARS or turn_weight(turn) > _TURN_BYTES:
        raise _wrong_line(where, f'"text" is too long for one turn ({len(turn.text):,} characters)')
    return turn


def _read_entry(line: bytes, where: str) -> dict[str, object]:
    try:
        entry = msgspec.json.decode(line)
    except UnicodeDecodeError as error:
        raise _wrong_line(where, "it is not UTF-8 text") from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise _wrong_line(where, f"it is not JSON ({str(error).removeprefix('JSON is malformed: ')})") from error
    if not isinstance(entry, dict):
        raise _wrong_line(where, "it is no JSON object")
    return entry


def _text_of(entry: dict[str, object], name: str, where: str) -> str:
    value = entry.get(name)
    if name not in entry:
        raise _wrong_line(where, f'"{name}" is missing')
    if not isinstance(value, str):
        raise _wrong_line(where, f'"{name}" is no text in quotes')
    if not value.strip():
        raise _wrong_line(where, f'"{name}" is empty')
    return value


def turn_weight(turn: ImportedTurn) -> int:
    """About how many bytes a turn takes on the wire."""
    return len(turn.text.encode("utf-8")) + 4 * len(turn.speaker) + 64


def _wrong_line(where: str, what: str) -> InputDataError:
    return InputDataError(f"{where}: {what}. Nothing was imported.", advice=f"A line looks like this: {EXAMPLE}")
