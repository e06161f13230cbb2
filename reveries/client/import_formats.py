"""Past conversations as other programs export them, told from what is in the file: ChatGPT's and Claude's
conversations.json (also within their .zip), and a plain transcript of lines "Name: words". Read and checked as a whole.
"""

import lzma
import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from reveries.client.import_file import EXAMPLE, read_conversation, turn_weight
from reveries.client.wording import iso_time
from reveries.errors import InputDataError, InputFileError
from reveries.protocol import MAX_TEXT_CHARS, ImportedTurn

CHATGPT: Final = "ChatGPT"
CLAUDE: Final = "Claude"
_MOST_BYTES: Final = 2 * 2**30
"""Of a file, unpacked: an export of years is some hundred megabytes."""
_MOST_TIMES: Final = 200
"""So many times larger than packed: text packs ten times, a bomb a thousand."""
_TURN_BYTES: Final = 3_000_000
_LINE: Final = re.compile(
    r"(?:\[?(\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2})?(?:Z|[+-]\d{2}:\d{2})?)\]?[ ,-]*)?([^:\n]{1,60}):\s+(\S.*)"
)
_SPACING_SECONDS: Final = 30.0


def read_past(file: Path, owner: str, now: float) -> list[ImportedTurn]:
    """The turns of `file`, oldest first within each conversation; the owner's words under the name of `owner`.

    Raises InputFileError when it cannot be read, InputDataError saying what is wrong with it.
    """
    raw = _read_bytes(file)
    if raw.startswith(b"PK\x03\x04"):
        raw = _unpack_export(file)
    if file.suffix.lower() in (".txt", ".md"):
        return _some([_fit_turn(turn, file) for turn in _of_transcript(raw, file, now)], file)
    head = raw.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if head != b"[":
        return read_conversation(file)
    return _some([_fit_turn(turn, file) for turn in _of_export(_decode_export(raw, file), file, owner)], file)


def _some(turns: list[ImportedTurn], file: Path) -> list[ImportedTurn]:
    if not turns:
        raise InputDataError(f"{file} has no words in it.", advice=f"Or as JSON lines: {EXAMPLE}")
    return turns


def _read_bytes(file: Path) -> bytes:
    try:
        if (size := file.stat().st_size) > _MOST_BYTES:
            raise _wrong(file, f"it has {size:,} bytes, and {_MOST_BYTES:,} are allowed")
        return file.read_bytes()
    except OSError as error:
        raise InputFileError(
            f"The file {file} cannot be read: {error.strerror or error}.", advice="Check its name and its mode."
        ) from error


def _unpack_export(file: Path) -> bytes:
    """conversations.json out of an archive, no larger than it may be, whatever the archive says of itself."""
    try:
        with zipfile.ZipFile(file) as archive:
            names = [name for name in archive.namelist() if name.rpartition("/")[2] == "conversations.json"]
            if len(names) != 1:
                raise _wrong(file, "there is no conversations.json in it")
            most = min(_MOST_BYTES, max(2**20, _MOST_TIMES * archive.getinfo(names[0]).compress_size))
            with archive.open(names[0]) as member:
                raw = member.read(most + 1)
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, RuntimeError, OSError, EOFError, ValueError) as error:
        raise _wrong(file, f"it is no archive that can be unpacked ({error})") from error
    if len(raw) > most:
        raise _wrong(file, "unpacked it is far larger than any export")
    return raw


def _decode_export(raw: bytes, file: Path) -> list[Any]:
    try:
        found = msgspec.json.decode(raw)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise _wrong(file, f"it is not JSON ({error})") from error
    if not isinstance(found, list):
        raise _wrong(file, "it is no list of conversations")
    return found


def _of_export(conversations: list[Any], file: Path, owner: str) -> Iterator[ImportedTurn]:
    for number, conversation in enumerate(conversations, 1):
        where = f"conversation {number}"
        if not isinstance(conversation, dict):
            raise _wrong(file, f"{where} is no JSON object")
        if isinstance(mapping := conversation.get("mapping"), dict):
            yield from _of_chatgpt(conversation, mapping, owner)
        elif isinstance(messages := conversation.get("chat_messages"), list):
            yield from _of_claude(messages, file, where, owner)
        else:
            raise _wrong(file, f'{where} is neither of ChatGPT ("mapping") nor of Claude ("chat_messages")')


def _of_chatgpt(conversation: dict[str, Any], mapping: dict[str, Any], owner: str) -> Iterator[ImportedTurn]:
    """The branch that was last shown, from its beginning. Tools, system texts and pictures are passed over."""
    last = float(time) if isinstance(time := conversation.get("create_time"), int | float) else 0.0
    for node in _branch(mapping, conversation.get("current_node")):
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
        yield _imported_line(last, owner if role == "user" else "", CHATGPT, text)


def _branch(mapping: dict[str, Any], current: object) -> list[dict[str, Any]]:
    """From the root to `current`; without that, to the last node there is."""
    name = current if isinstance(current, str) and current in mapping else next(reversed(mapping), None)
    seen: dict[str, dict[str, Any]] = {}
    while isinstance(name, str) and name not in seen and isinstance(node := mapping.get(name), dict):
        seen[name] = node
        name = node.get("parent")
    return list(seen.values())[::-1]


def _of_claude(messages: list[Any], file: Path, where: str, owner: str) -> Iterator[ImportedTurn]:
    for message in messages:
        if not isinstance(message, dict):
            raise _wrong(file, f"a message of {where} is no JSON object")
        text = message.get("text")
        if not isinstance(text, str) or not text.strip():
            content = message.get("content")
            blocks = content if isinstance(content, list) else []
            told = [block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text"]
            text = "\n".join(one for one in told if isinstance(one, str))
        if message.get("sender") not in ("human", "assistant") or not text.strip():
            continue
        at = message.get("created_at")
        try:
            said_at = iso_time(at if isinstance(at, str) else "")
        except ValueError as error:
            raise _wrong(file, f"a message of {where} has no time") from error
        yield _imported_line(said_at, owner if message["sender"] == "human" else "", CLAUDE, text)


def _imported_line(said_at: float, owner: str, assistant: str, text: str) -> ImportedTurn:
    """Of the account's holder, where `owner` is not empty; else of the assistant."""
    return ImportedTurn(said_at, owner, text, True) if owner else ImportedTurn(said_at, assistant, text)


def _of_transcript(raw: bytes, file: Path, now: float) -> Iterator[ImportedTurn]:
    """Lines "Name: words", with a time before the name or without; what has no name goes on with the line before.
    Without times it ends at `now`, half a minute a turn."""
    try:
        lines = raw.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise _wrong(file, "it is not UTF-8 text") from error
    said: list[tuple[str, str, list[str]]] = []
    for number, line in enumerate(lines, 1):
        if match := _LINE.fullmatch(line.strip()):
            said.append((match.group(1) or "", match.group(2).strip(" *_"), [match.group(3)]))
        elif said:
            said[-1][2].append(line)
        elif line.strip():
            raise _wrong(file, f'line {number} does not begin with a name and a colon, as "Ada: Good morning"')
    last = now - _SPACING_SECONDS * len(said)
    for at, speaker, words in said:
        last = iso_time(at.replace(" ", "T")) if at else last + _SPACING_SECONDS
        yield ImportedTurn(last, speaker, "\n".join(words).strip())


def _fit_turn(turn: ImportedTurn, file: Path) -> ImportedTurn:
    if len(turn.text) > MAX_TEXT_CHARS or turn_weight(turn) > _TURN_BYTES:
        raise _wrong(file, f"one message has {len(turn.text):,} characters, which is too long for one turn")
    return turn


def _wrong(file: Path, what: str) -> InputDataError:
    return InputDataError(
        f"{file}: {what}. Nothing was imported.",
        advice=f"It reads exports of ChatGPT and Claude, transcripts (.txt), and JSON lines: {EXAMPLE}",
    )
