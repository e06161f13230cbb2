"""Files of past conversations, and what a reader makes of them."""

import datetime as dt
from pathlib import Path

from reveries.client.past.parsed import ParsedFile, PastMessage, ReadChoices
from reveries.client.past.people import iterate_messages
from reveries.client.past.readers import read_past_file

NOW = dt.datetime(2026, 11, 28, 12).timestamp()
CHOICES = ReadChoices(NOW, dt.date(2026, 11, 20))


def write_file(folder: Path, name: str, content: str | bytes) -> Path:
    """Write a file of the test."""
    file = folder / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return file


def read_text(folder: Path, text: str, name: str = "chat.txt", choices: ReadChoices = CHOICES) -> ParsedFile:
    """Read a file with this text."""
    return read_past_file(write_file(folder, name, text), choices)


def written_time(message: PastMessage) -> str:
    """The local time of a message, to the minute."""
    return dt.datetime.fromtimestamp(message.said_at).strftime("%Y-%m-%d %H:%M")


def lines_of(parsed: ParsedFile) -> list[tuple[str, str, str]]:
    """Time, sender and text of each message."""
    return [(written_time(message), message.sender, message.text) for message in iterate_messages(parsed)]
