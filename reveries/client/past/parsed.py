"""What a reader makes of a file. Pure."""

import datetime as dt
import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Protocol

TIMELESS_SECONDS: Final = 30.0
"""Distance between two messages of a file without times."""


class DayOrder(StrEnum):
    """The order of the numbers in a written date."""

    DAY_FIRST = "dmy"
    MONTH_FIRST = "mdy"
    YEAR_FIRST = "ymd"


@dataclass(frozen=True, slots=True)
class ReadChoices:
    """What the owner chose about a file that does not say it itself."""

    now: float
    day: dt.date
    """The day of a file whose times have no date."""
    date_order: DayOrder | None = None
    speakers: tuple[str, ...] = ()
    """The only names that count as speakers in a transcript; empty: decided from the whole file."""


@dataclass(frozen=True, slots=True)
class PastMessage:
    """One message. `said_at` in unix seconds."""

    sender: str
    """The name in the file; empty: the holder of the account, whom the file does not name."""
    text: str
    said_at: float
    identity: tuple[str, ...]
    """What this message is within its format, so that it is the same message in a later export."""
    is_holder: bool = False
    """Whether the format itself says that the holder of the account wrote it."""
    is_attached: bool = False
    """Whether it is the content of a file or a forwarded text: the sender names that, and nobody said it."""


@dataclass(frozen=True, slots=True)
class ParsedConversation:
    """One conversation, oldest message first."""

    title: str
    messages: Sequence[PastMessage]


class ExportForm(StrEnum):
    """What a file of past talk is, as it is told."""

    CHATGPT = "ChatGPT export"
    CLAUDE = "Claude export"
    INSTAGRAM = "Instagram or Messenger export"
    JSON_LINES = "JSON lines"
    OPEN_WEBUI = "Open WebUI export"
    SIGNAL_CHAT = "Signal chat"
    SIGNAL_MESSAGES = "Signal messages"
    TELEGRAM = "Telegram export"
    TRANSCRIPT = "transcript"
    TIMED_TRANSCRIPT = "transcript with times"
    WHATSAPP = "WhatsApp chat"


@dataclass(slots=True)
class ParsedFile:
    """What a reader found in a file, and what it did not take over."""

    form: ExportForm
    conversations: list[ParsedConversation] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    """What is no message of a person, by kind: notices, pictures, replaced branches."""
    unread: list[str] = field(default_factory=list)
    """What could not be read: where it is, and why."""
    doubts: list[str] = field(default_factory=list)
    """What had to be decided without certainty, in whole sentences."""
    ignored_names: tuple[str, ...] = ()
    """Words before a colon that were not taken for speakers."""
    assistants: frozenset[str] = frozenset()
    """Senders that are programs."""

    @property
    def message_count(self) -> int:
        return sum(len(conversation.messages) for conversation in self.conversations)


@dataclass(frozen=True, slots=True)
class ExportDocument:
    """One file, or one file of an archive: its text, and what it is as JSON."""

    name: str
    text: str = ""
    value: Any = None
    """The decoded JSON; None if it is none."""


class ExportReader(Protocol):
    """A format. `fits` looks at the whole document; `read` is called with all documents that fit."""

    @property
    def form(self) -> str:
        """Name the format for the owner."""
        ...

    def fits(self, document: ExportDocument) -> bool:
        """Whether the document is of this format."""
        ...

    def read(self, documents: Sequence[ExportDocument], choices: ReadChoices) -> ParsedFile:
        """Read the documents."""
        ...


@dataclass(frozen=True, slots=True)
class Format:
    """A format made of two functions."""

    form: str
    fits: Callable[[ExportDocument], bool]
    read: Callable[[Sequence[ExportDocument], ReadChoices], ParsedFile]


def read_words(text: str) -> frozenset[str]:
    """Return the words of a list, which are set apart by bars."""
    return frozenset(text.split("|"))


def hash_parts(*parts: str) -> str:
    """Return the BLAKE2b-128 of the parts, each with its length before it, in hexadecimal."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8, "big"))
        digest.update(raw)
    return digest.hexdigest()


def local_time(moment: dt.datetime) -> float:
    """Return unix seconds; without a zone it is local. Raises ValueError for a time that this machine cannot hold."""
    try:
        return moment.timestamp()
    except (OverflowError, OSError) as error:
        raise ValueError(str(error)) from error


def read_iso_time(text: object) -> float | None:
    """Read an ISO 8601 time; None if it is none."""
    if not isinstance(text, str):
        return None
    try:
        return local_time(dt.datetime.fromisoformat(text.strip()))
    except ValueError:
        return None


def read_unix_time(number: object) -> float | None:
    """Read unix seconds, or milliseconds where seconds would be thousands of years away; None if it is no time."""
    if isinstance(number, str) and number.isdecimal():
        number = int(number)
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 < number < 1e14:
        return None
    return float(number) / 1000.0 if number > 1e11 else float(number)
