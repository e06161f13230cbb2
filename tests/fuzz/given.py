"""What an owner, or a program of theirs, can hand to Reveries: settings, frames, past conversations, whole minds,
calendars, colours. Whatever is in them is read, or refused with one of our own errors, and nothing else (E6).

Each target has a few good inputs that `mutated` starts from. A quick part runs in the tests; `make soak PART=fuzz` goes
on for long and keeps what it found.
"""

import asyncio
import contextlib
import gzip
import io
import json
import random
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from reveries import protocol
from reveries.client.past.people import Names
from reveries.client.past.readers import read_past_file
from reveries.client.past.source_file import EXAMPLE
from reveries.client.past.turns import drop_too_long, make_turns
from reveries.client.tui.themes import load_themes
from reveries.config import load_settings, read_default_toml
from reveries.daemon.process.safe_mode import settings_in_safe_mode
from reveries.daemon.senses.calendar_files import read_calendars
from reveries.db.driver import dbapi
from reveries.db.mind_file import check_mind, export_mind
from reveries.errors import ConfigError, ReveriesError
from reveries.protocol import decode_frame, decode_request, encode, read_body
from tests.client.past.kit import CHOICES
from tests.client.past.test_chats import CHATS
from tests.client.past.test_exports import BEES, PAIR, WALL

NOW = 1_790_000_000.0
DAY = 86_400.0
_TOKENS = (
    *(b"\x00", b"\xff", b"\xef\xbb\xbf", b"\r\n", b"\n", b'"', b"\\ud800", b"[", b"{", b"}", b"]", b"=", b":", b","),
    *(b"1e999", b"-1", b"NaN", b"9" * 400, b"9999-12-31T23:59:59Z", b"0001-01-01", b"null", b"true", b"[" * 2000),
    *(word.encode() for word in ("\u202e", "\U000e0041", "𐍈", "\x1b]0;x\x07", "[/", "%s{0}")),
    *(b"RRULE:FREQ=SECONDLY\r\n", b"DTSTART:99991231T235959Z\r\n", b"END:VEVENT\r\n", b"BEGIN:VEVENT\r\n"),
    *(
        b"\xdf\xff\xff\xff\xff",
        b"\xc1",
        b"\x91",
        b"\xcf\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00",
    ),
)


@dataclass(frozen=True)
class Target:
    """`read` is given a folder of its own and the bytes."""

    seeds: tuple[bytes, ...]
    read: Callable[[Path, bytes], object]


def survives(target: Target, folder: Path, raw: bytes) -> None:
    """Hand it over. Raises whatever is none of our own errors."""
    with contextlib.suppress(ReveriesError):
        target.read(folder, raw)


def mutated(seed: bytes, chance: random.Random, other: bytes = b"") -> bytes:
    """`seed` after one to eight misfortunes."""
    raw = bytearray(seed)
    for _ in range(chance.randint(1, 8)):
        place = chance.randrange(len(raw) + 1)
        end = min(len(raw), place + chance.choice((1, 2, 4, 16, 200)))
        match chance.randrange(7):
            case 0 if raw:
                raw[place % len(raw)] ^= 1 << chance.randrange(8)
            case 1:
                del raw[place:end]
            case 2:
                raw[place:place] = chance.choice(_TOKENS)
            case 3:
                raw[place:end] = chance.choice(_TOKENS)
            case 4:
                raw[place:place] = raw[place:end] * chance.choice((1, 2, 50))
            case 5:
                raw[place:end] = other[place:end]
            case _:
                raw[place:end] = chance.randbytes(end - place)
    return bytes(raw)


def _settings(folder: Path, raw: bytes) -> None:
    file = _written(folder, "config.toml", raw)
    for read in (load_settings, settings_in_safe_mode):
        with contextlib.suppress(ConfigError):
            read(file)


def _frames(_: Path, raw: bytes) -> None:
    """As one body either way, and as a stream that ends."""
    for decode in (decode_request, decode_frame):
        with contextlib.suppress(ReveriesError):
            decode(raw)
    asyncio.run(_streamed(raw))


async def _streamed(raw: bytes) -> None:
    reader = asyncio.StreamReader()
    reader.feed_data(raw)
    reader.feed_eof()
    try:
        while True:
            decode_request(await read_body(reader))
    except asyncio.IncompleteReadError:
        return


def _past(name: str) -> Callable[[Path, bytes], None]:
    def read(folder: Path, raw: bytes) -> None:
        parsed = read_past_file(_written(folder, name, raw), CHOICES)
        drop_too_long(parsed)
        for turn in make_turns(parsed, Names("Ana", "Reverie")):
            decode_request(encode(protocol.Import(1, "x", [turn], is_last=True))[4:])

    return read


def _mind(folder: Path, raw: bytes) -> None:
    check_mind(_written(folder, "mind.jsonl", raw), lambda done, total: None)


def _calendar(folder: Path, raw: bytes) -> None:
    read = read_calendars(_written(folder, "a.ics", raw), NOW, NOW + 30 * DAY, None, file_seconds=1.0)
    assert all(one.ends_at >= one.begins_at or one.title for one in read.occurrences)


def _colours(folder: Path, raw: bytes) -> None:
    load_themes(_written(folder, "mine.toml", raw).parent)


def _written(folder: Path, name: str, raw: bytes) -> Path:
    file = folder / name
    file.write_bytes(raw)
    return file


def _zipped() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", json.dumps([WALL]))
    return buffer.getvalue()


_EVENT = "BEGIN:VEVENT\r\nUID:{}\r\nSUMMARY:tea\r\nDTSTART{}\r\n{}END:VEVENT\r\n"
_ICS = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//x//\r\n{}END:VCALENDAR\r\n"
_CALENDARS = (
    _ICS.format(_EVENT.format(1, ":20260921T160000Z", "DTEND:20260921T170000Z\r\n")),
    _ICS.format(_EVENT.format(2, ";VALUE=DATE:20260922", "RRULE:FREQ=WEEKLY;BYDAY=TU;COUNT=5\r\n")),
    _ICS.format(
        _EVENT.format(3, ";TZID=Europe/Berlin:20260923T090000", "DURATION:PT1H\r\nEXDATE:20260923T090000Z\r\n")
    ),
)
_REQUESTS: tuple[protocol.Message, ...] = (
    protocol.Hello(protocol.PROTOCOL_VERSION, "test"),
    protocol.Say(1, "Good morning."),
    protocol.Search(2, "the pear tree", 5),
    protocol.AskThoughts(3, 0.0, 10),
    protocol.Import(4, "x", [protocol.ImportedTurn(1.0, "Ana", "A word.")], is_last=True),
)
_TALK = EXAMPLE.encode() + b'\n{"time": "2024-05-01", "speaker": "Ana", "text": "Hello.", "more": [1, null]}\n'
_THEME = b'primary = "#aabbcc"\ndark = true\n'


def _a_mind() -> bytes:
    """A whole exported mind with little in it."""
    with tempfile.TemporaryDirectory() as folder:
        database, exported = Path(folder) / "m.db", Path(folder) / "m.jsonl"
        database.write_bytes(gzip.decompress((Path(__file__).parents[1] / "db/past/0001.db.gz").read_bytes()))
        with contextlib.closing(dbapi.connect(str(database))) as connection:
            for table in ("turns", "episode_sources", "episode_links", "episodes", "raw_experiences", "vectors"):
                connection.execute(f"DELETE FROM {table}")
            connection.commit()
        export_mind(database, exported, with_vectors=False, tell=lambda done, total: None)
        return exported.read_bytes()


TARGETS = {
    "settings": Target(
        (read_default_toml().encode(), b'[storage]\ndb_path = "x.db"\n[mind]\nname = "Ava"\n'), _settings
    ),
    "frames": Target(tuple(part for one in _REQUESTS for part in (encode(one), encode(one)[4:])), _frames),
    "exports": Target(
        tuple(json.dumps(export).encode() for export in ([WALL], [BEES], PAIR)), _past("conversations.json")
    ),
    "chats": Target(tuple(chat.text.encode() for chat in CHATS), _past("chat.txt")),
    "archives": Target((_zipped(),), _past("export.zip")),
    "transcripts": Target((b"Ana: Hello.\n\nReverie: Good day.\nAna: And on\nit goes.\n",), _past("talk.txt")),
    "lines": Target((_TALK,), _past("talk.jsonl")),
    "minds": Target((_a_mind(),), _mind),
    "calendars": Target(tuple(text.encode() for text in _CALENDARS), _calendar),
    "colours": Target((_THEME,), _colours),
}
