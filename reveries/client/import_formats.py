"""Past conversations in the formats of other programs, detected by content: conversations.json of ChatGPT and Claude
(also within their .zip), and transcripts of lines "Name: words". The whole file is read and checked.
"""

import lzma
import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from reveries.client.import_file import EXAMPLE, estimate_turn_bytes, read_conversation
from reveries.client.wording import iso_time
from reveries.errors import InputDataError, InputFileError
from reveries.protocol import MAX_TEXT_CHARS, ImportedTurn

CHATGPT: Final = "ChatGPT"
CLAUDE: Final = "Claude"
_MOST_BYTES: Final = 2 * 2**30
"""Size limit of an unpacked file: an export of several years has some hundred megabytes."""
_MOST_RATIO: Final = 200
"""Limit of the compression ratio: text reaches about 10, a zip bomb 1000."""
_TURN_BYTES: Final = 3_000_000
_LINE: Final = re.compile(
    r"(?:\[?(\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2})?(?:Z|[+-]\d{2}:\d{2})?)\]?[ ,-]*)?([^:\n]{1,60}):\s+(\S.*)"
)
_SPACING_SECONDS: Final = 30.0


def read_turns(file: Path, owner: str, now: float) -> list[ImportedTurn]:
    """Read the turns of `file`, oldest first within each conversation; the owner's turns get the name `owner`.

    Raises InputFileError if it cannot be read, InputDataError if it is invalid.
    """
    raw = _read_bytes(file)
    if raw.startswith(b"PK\x03\x04"):
        raw = _unpack_export(file)
    if file.suffix.lower() in (".txt", ".md"):
        return _require_turns([_check_length(turn, file) for turn in _parse_transcript(raw, file, now)], file)
    head = raw.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if head != b"[":
        return read_conversation(file)
    return _require_turns(
        [_check_length(turn, file) for turn in _parse_export(_decode_export(raw, file), file, owner)], file
    )


def _require_turns(turns: list[ImportedTurn], file: Path) -> list[ImportedTurn]:
    if not turns:
        raise InputDataError(f"{file} contains no text.", advice=f"It can also be JSON lines: {EXAMPLE}")
    return turns


def _read_bytes(file: Path) -> bytes:
    try:
        if (size := file.stat().st_size) > _MOST_BYTES:
            raise _file_error(file, f"it has {size:,} bytes, and {_MOST_BYTES:,} are allowed")
        return file.read_bytes()
    except OSError as error:
        raise InputFileError(
            f"The file {file} cannot be read: {error.strerror or error}.", advice="Check its name and its permissions."
        ) from error


def _unpack_export(file: Path) -> bytes:
    """Unpack conversations.json from an archive; the size limit is enforced while reading."""
    try:
        with zipfile.ZipFile(file) as archive:
            names = [name for name in archive.namelist() if name.rpartition("/")[2] == "conversations.json"]
            if len(names) != 1:
                raise _file_error(file, "it contains no conversations.json")
            most = min(_MOST_BYTES, max(2**20, _MOST_RATIO * archive.getinfo(names[0]).compress_size))
            with archive.open(names[0]) as member:
                raw = member.read(most + 1)
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, RuntimeError, OSError, EOFError, ValueError) as error:
        raise _file_error(file, f"the archive cannot be unpacked ({error})") from error
    if len(raw) > most:
        raise _file_error(file, "its unpacked content is too large")
    return raw


def _decode_export(raw: bytes, file: Path) -> list[Any]:
    try:
        conversations = msgspec.json.decode(raw)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise _file_error(file, f"it is not JSON ({error})") from error
    if not isinstance(conversations, list):
        raise _file_error(file, "it is not a list of conversations")
    return conversations


def _parse_export(conversations: list[Any], file: Path, owner: str) -> Iterator[ImportedTurn]:
    for number, conversation in enumerate(conversations, 1):
        where = f"conversation {number}"
        if not isinstance(conversation, dict):
            raise _file_error(file, f"{where} is not a JSON object")
        if isinstance(mapping := conversation.get("mapping"), dict):
            yield from _parse_chatgpt(conversation, mapping, owner)
        elif isinstance(messages := conversation.get("chat_messages"), list):
            yield from _parse_claude(messages, file, where, owner)
        else:
            raise _file_error(file, f'{where} is neither from ChatGPT ("mapping") nor from Claude ("chat_messages")')


def _parse_chatgpt(conversation: dict[str, Any], mapping: dict[str, Any], owner: str) -> Iterator[ImportedTurn]:
    """Yield the turns of the branch shown last. Tool messages, system texts and pictures are skipped."""
    last = float(time) if isinstance(time := conversation.get("create_time"), int | float) else 0.0
    for node in _shown_branch(mapping, conversation.get("current_node")):
        message = node.get("message")
        if not isinstance(message, dict):
            continue
        author, content = message.get("author"), message.get("content")
        role = author.get("role") if isinstance(author, dict) else None
        parts = content.get("parts") if isinstance(content, dict) else None
        text = "\n".join(part for part in parts if isinstance(part, str)) if isinstance(parts, list) else ""
        if role not in ("user", "assistant") or not text.strip():
            continue
        at = message.get("create_time")
        last = float(at) if isinstance(at, int | float) and at > 0 else last + 1.0
        yield _imported_turn(last, owner if role == "user" else "", CHATGPT, text)


def _shown_branch(mapping: dict[str, Any], current: object) -> list[dict[str, Any]]:
    """Return the nodes from the root to `current`, or to the last node if that is missing."""
    name = current if isinstance(current, str) and current in mapping else next(reversed(mapping), None)
    seen: dict[str, dict[str, Any]] = {}
    while isinstance(name, str) and name not in seen and isinstance(node := mapping.get(name), dict):
        seen[name] = node
        name = node.get("parent")
    return list(seen.values())[::-1]


def _parse_claude(messages: list[Any], file: Path, where: str, owner: str) -> Iterator[ImportedTurn]:
    for message in messages:
        if not isinstance(message, dict):
            raise _file_error(file, f"a message of {where} is not a JSON object")
        text = message.get("text")
        if not isinstance(text, str) or not text.strip():
            content = message.get("content")
            blocks = content if isinstance(content, list) else []
            texts = [block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text"]
            text = "\n".join(part for part in texts if isinstance(part, str))
        if message.get("sender") not in ("human", "assistant") or not text.strip():
            continue
        at = message.get("created_at")
        try:
            said_at = iso_time(at if isinstance(at, str) else "")
        except ValueError as error:
            raise _file_error(file, f"a message of {where} has no time") from error
        yield _imported_turn(said_at, owner if message["sender"] == "human" else "", CLAUDE, text)


def _imported_turn(said_at: float, owner: str, assistant: str, text: str) -> ImportedTurn:
    """Return a turn of the account holder if `owner` is not empty, else of the assistant."""
    return ImportedTurn(said_at, owner, text, True) if owner else ImportedTurn(said_at, assistant, text)


def _parse_transcript(raw: bytes, file: Path, now: float) -> Iterator[ImportedTurn]:
    """Yield turns from lines "Name: words", with an optional time before the name. A line without a name continues the
    previous one. Without times, turns are 30 seconds apart and end at `now`."""
    try:
        lines = raw.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise _file_error(file, "it is not UTF-8 text") from error
    turns: list[tuple[str, str, list[str]]] = []
    for number, line in enumerate(lines, 1):
        if match := _LINE.fullmatch(line.strip()):
            turns.append((match.group(1) or "", match.group(2).strip(" *_"), [match.group(3)]))
        elif turns:
            turns[-1][2].append(line)
        elif line.strip():
            raise _file_error(file, f'line {number} does not begin with a name and a colon, like "Ada: Good morning"')
    last = now - _SPACING_SECONDS * len(turns)
    for at, speaker, words in turns:
        last = iso_time(at.replace(" ", "T")) if at else last + _SPACING_SECONDS
        yield ImportedTurn(last, speaker, "\n".join(words).strip())


def _check_length(turn: ImportedTurn, file: Path) -> ImportedTurn:
    if len(turn.text) > MAX_TEXT_CHARS or estimate_turn_bytes(turn) > _TURN_BYTES:
        raise _file_error(file, f"one message has {len(turn.text):,} characters, which is too long for one turn")
    return turn


def _file_error(file: Path, what: str) -> InputDataError:
    return InputDataError(
        f"{file}: {what}. Nothing was imported.",
        advice=f"Supported: exports of ChatGPT and Claude, transcripts (.txt), and JSON lines: {EXAMPLE}",
    )
