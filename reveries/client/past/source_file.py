"""Reads a file of past conversations from the disk: its text, or the files of an archive, within limits."""

import codecs
import datetime as dt
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from reveries.client.past.json_shapes import decode_json
from reveries.client.past.parsed import ExportDocument
from reveries.errors import InputDataError, InputFileError

EXAMPLE: Final = '{"time": "2025-03-04T14:02:00", "speaker": "Ada", "text": "Good morning"}'
_MOST_BYTES: Final = 2 * 2**30
"""Size limit of an unpacked file: an export of several years has some hundred megabytes."""
_MOST_RATIO: Final = 200
"""Limit of the compression ratio: text reaches about 10, a zip bomb 1000."""
_ARCHIVED: Final = (".json", ".txt", ".jsonl", ".md")


def load_documents(file: Path) -> list[ExportDocument]:
    """Load the text of `file`, or of the files in it if it is an archive. Raises InputFileError, InputDataError."""
    raw = _read_bytes(file)
    if raw.startswith(b"PK\x03\x04"):
        return [_make_document(name, content) for name, content in _unpack(file)]
    return [_make_document(file.name, raw)]


def day_of(file: Path) -> dt.date:
    """Return the day on which `file` was last changed. Raises InputFileError."""
    try:
        return dt.datetime.fromtimestamp(file.stat().st_mtime).date()
    except (OSError, ValueError, OverflowError) as error:
        raise _unreadable(file, getattr(error, "strerror", "") or str(error)) from error


def refuse(file: Path, what: str) -> InputDataError:
    """Build the error for a file of which nothing can be imported."""
    return InputDataError(
        f"{file}: {what}. Nothing was imported.",
        advice="What can be imported: reveries import --help. Any other text can be written as JSON lines: " + EXAMPLE,
    )


def _unreadable(file: Path, why: str) -> InputFileError:
    return InputFileError(f"The file {file} cannot be read: {why}.", advice="Check its name and its permissions.")


def _read_bytes(file: Path) -> bytes:
    try:
        if (size := file.stat().st_size) > _MOST_BYTES:
            raise refuse(file, f"it has {size:,} bytes, and {_MOST_BYTES:,} are allowed")
        return file.read_bytes()
    except OSError as error:
        raise _unreadable(file, error.strerror or str(error)) from error


def _unpack(file: Path) -> Iterator[tuple[str, bytes]]:
    """Unpack the files of an archive that could be conversations; the size limit is enforced while reading."""
    free = _MOST_BYTES
    try:
        with zipfile.ZipFile(file) as archive:
            for info in archive.infolist():
                if not info.filename.lower().endswith(_ARCHIVED):
                    continue
                most = min(free, max(2**20, _MOST_RATIO * info.compress_size))
                with archive.open(info) as member:
                    raw = member.read(most + 1)
                if len(raw) > most:
                    raise refuse(file, f"the unpacked {info.filename} is too large")
                free -= len(raw)
                yield info.filename, raw
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, RuntimeError, OSError, EOFError, ValueError) as error:
        raise refuse(file, f"the archive cannot be unpacked ({error})") from error


def _make_document(name: str, raw: bytes) -> ExportDocument:
    text = _decode_text(raw).replace("\r\n", "\n").replace("\r", "\n")
    return ExportDocument(name, text, _decode_json(text))


def _decode_text(raw: bytes) -> str:
    """Decode UTF-8, or UTF-16 with its mark, as Windows programs write it. Empty if it is neither."""
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return raw.decode("utf-16", "replace")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return ""


def _decode_json(text: str) -> Any:
    if text.lstrip()[:1] not in ("[", "{"):
        return None
    try:
        return decode_json(text)
    except ValueError:
        return None
