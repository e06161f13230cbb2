"""Chats with a time before each message: WhatsApp (Android and iOS), Signal as Markdown, and transcripts of the same
kind. Style, order of the dates and speakers are decided from the whole file. Pure."""

import datetime as dt
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from reveries.client.past.parsed import (
    DayOrder,
    ExportDocument,
    ExportForm,
    Format,
    ParsedConversation,
    ParsedFile,
    PastMessage,
    ReadChoices,
    hash_parts,
    read_words,
)
from reveries.client.past.roles import mark_roles
from reveries.client.past.written_times import (
    MARKS,
    DecidedOrder,
    Stamp,
    StampStyle,
    decide_order,
    read_moment,
    read_stamp,
)

_MEETING: Final = re.compile(r"From (?P<name>\S.*?)(?: [Tt]o \S.*)?")
"""How Zoom writes a name in the chat of a meeting."""
_SENDER: Final = re.compile(r"(?P<sender>[^:\n](?:[^:\n]|:(?!\s|$)){0,59}?):(?:\s+|$)(?P<text>.*)")
"""A name may have a colon in it, as in "Mum :)"; the words begin behind the first that a space follows."""
_PLACEHOLDER: Final = re.compile(r"<[^<>\n]{3,60}>|\S+\.[A-Za-z0-9]{2,5} \([^()\n]{3,60}\)")
"""What WhatsApp writes for a picture, in every language: "<Media omitted>", "IMG-1.jpg (file attached)"."""
_EDITED: Final = re.compile(r"(?<![\s\u200e])[\s\u200e]*<[^<>\n\d=/\"]{8,60}>\s*$")
_DELETED: Final = read_words(
    "this message was deleted|you deleted this message|diese nachricht wurde gelöscht|"
    "du hast diese nachricht gelöscht|ce message a été supprimé|vous avez supprimé ce message|"
    "se eliminó este mensaje|eliminaste este mensaje|questo messaggio è stato eliminato|"
    "hai eliminato questo messaggio|essa mensagem foi apagada|mensagem apagada|dit bericht is verwijderd|"
    "je hebt dit bericht verwijderd|tämä viesti poistettiin|poistit tämän viestin|"
    "denne besked blev slettet|du slettede denne besked|denne meldingen ble slettet|"
    "meddelandet raderades|pesan ini telah dihapus|anda menghapus pesan ini|bu mesaj silindi|"
    "ta wiadomość została usunięta|данное сообщение удалено|null"
)
_REACTIONS: Final = re.compile(r"\(- .+ -\)")
"""What Signal's exporters write below a message: "(- Lena: \U0001f602, Ben: \u2764 -)"."""
_NOTICES: Final = "notices of the program"
_MEDIA: Final = "pictures, voice messages and other files that are not in the text"
_DELETED_MESSAGES: Final = "deleted messages"
_QUOTES: Final = frozenset('"“”„«»「」')
_NOTICE_WORDS: Final = 4
_LONGEST_NAME_WORDS: Final = 7
_PARTICLE_CHARS: Final = 3
_FIRST: Final = {
    DayOrder.DAY_FIRST: "day",
    DayOrder.MONTH_FIRST: "month",
    DayOrder.YEAR_FIRST: "year",
}
_SIGNAL_OWNER: Final = "Me"
"""Signal Desktop's exporters name the holder of the account so."""


@dataclass(slots=True)
class _DatedEntry:
    """A line with a time, and the lines that continue it."""

    stamp: Stamp
    line: int
    rest: str
    more: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Lines:
    entries: list[_DatedEntry]
    before: list[tuple[int, str]]
    """Lines before the first time."""


def _fits(document: ExportDocument) -> bool:
    """Whether the file begins with a time and a name, or a third of what could begin a message does."""
    if document.value is not None or not document.text:
        return False
    shape = _main_shape(document.text)
    if shape is None:
        return False
    lines = [line for line in document.text.split("\n") if line.strip()]
    stamped = sum(_is_message_start(line, shape) for line in lines)
    others = sum(_SENDER.match(line.strip()) is not None for line in lines if read_stamp(line) is None)
    return stamped > 0 and (_is_message_start(lines[0], shape) or stamped * 3 >= stamped + others)


def _is_message_start(line: str, shape: tuple[StampStyle, bool]) -> bool:
    stamp = read_stamp(line)
    return stamp is not None and stamp.shape == shape


def _main_shape(text: str) -> tuple[StampStyle, bool] | None:
    """Return the style that most lines with a time and a name have; one with a date counts before one without."""
    shapes: Counter[tuple[StampStyle, bool]] = Counter()
    for line in text.split("\n"):
        if (stamp := read_stamp(line)) is not None and _SENDER.match(line[stamp.end :].lstrip("".join(MARKS))):
            shapes[stamp.shape] += 1
    return max(shapes, key=lambda shape: (shapes[shape], shape[1])) if shapes else None


def _read(documents: Sequence[ExportDocument], choices: ReadChoices) -> ParsedFile:
    parsed = ParsedFile(ExportForm.TIMED_TRANSCRIPT)
    for document in documents:
        _read_document(document, choices, parsed, of_several=len(documents) > 1)
    return parsed


def _read_document(document: ExportDocument, choices: ReadChoices, parsed: ParsedFile, *, of_several: bool) -> None:
    shape = _main_shape(document.text)
    assert shape is not None
    lines = _gather_lines(document.text, shape)
    where = f"{document.name}, line" if of_several else "line"
    parsed.unread += [f"{where} {number}: no time before it ({text[:40]!r})" for number, text in lines.before]
    order = _decide(lines.entries, choices, parsed)
    senders = _decide_senders(lines.entries, choices, parsed)
    parsed.form = _form_of(shape, lines.entries, senders)
    messages: list[PastMessage] = []
    clock = _ClockOrder(order.order, _day_of_clocks(lines.entries, choices))
    before, follows = "", ("", "")
    for entry in lines.entries:
        try:
            said_at = clock.read(entry.stamp)
        except ValueError as error:
            parsed.unread.append(f"{where} {entry.line}: {error}")
            continue
        if (message := _message_of(entry, said_at, senders, parsed)) is not None:
            if entry.stamp.numbers is None:
                # A time alone is no identity: it is the same message if all before it is the same.
                before = hash_parts(before, *message.identity)
                message = replace(message, identity=("after", before))
            else:
                # "ok" may be said in two chats in one minute. Neither file names its chat in a way that lasts, but what
                # it follows stays the same. Not its text: that differs with and without media.
                message = replace(message, identity=(*message.identity, *follows))
                follows = entry.stamp.key, message.sender
            messages.append(message)
    if parsed.form is ExportForm.TIMED_TRANSCRIPT:
        messages = mark_roles(messages, parsed)
    parsed.conversations.append(ParsedConversation(document.name if of_several else "", messages))


def _gather_lines(text: str, shape: tuple[StampStyle, bool]) -> _Lines:
    entries: list[_DatedEntry] = []
    before: list[tuple[int, str]] = []
    for number, line in enumerate(text.split("\n"), 1):
        stamp = read_stamp(line)
        if stamp is not None and stamp.shape == shape:
            entries.append(_DatedEntry(stamp, number, line[stamp.end :]))
        elif entries:
            entries[-1].more.append(line)
        elif line.strip("".join(MARKS) + " \t") and not line.lstrip().startswith("#"):
            before.append((number, line.strip()))
    return _Lines(entries, before)


def _decide(entries: Sequence[_DatedEntry], choices: ReadChoices, parsed: ParsedFile) -> DecidedOrder:
    """Decide the order of the dates, and say so where another one is possible."""
    dates = [entry.stamp.numbers for entry in entries if entry.stamp.numbers is not None]
    if not dates:
        parsed.doubts.append(
            f"The times have no date. The first is taken for {_day_of_clocks(entries, choices):%d %B %Y}; "
            "another day: --on 2025-03-04"
        )
        return DecidedOrder(DayOrder.DAY_FIRST, is_certain=True)
    if choices.date_order is not None:
        return DecidedOrder(choices.date_order, is_certain=True)
    latest = dt.datetime.fromtimestamp(choices.now).date() + dt.timedelta(days=1)
    decided = decide_order(dates, entries[0].stamp.mark, latest)
    if decided is None:
        return DecidedOrder(DayOrder.DAY_FIRST, is_certain=True)
    if not decided.is_certain:
        parsed.doubts.append(
            f"The dates are read with the {_FIRST[decided.order]} first ({'/'.join(dates[0])}), but another order is "
            "possible. To choose it: --dates dmy, --dates mdy or --dates ymd"
        )
    return decided


def _day_of_clocks(entries: Sequence[_DatedEntry], choices: ReadChoices) -> dt.date:
    """Return the day of times without a date: the chosen one, or the one before if they would not be over yet."""
    latest = max((entry.stamp.hour, entry.stamp.minute) for entry in entries)
    now = dt.datetime.fromtimestamp(choices.now)
    is_ahead = choices.day >= now.date() and latest > (now.hour, now.minute)
    return choices.day - dt.timedelta(days=1) if is_ahead else choices.day


class _ClockOrder:
    """Reads the times of a file in order. Times without a date go on to the next day after midnight."""

    def __init__(self, order: DayOrder, day: dt.date) -> None:
        self._order = order
        self._day = day
        self._last: float | None = None

    def read(self, stamp: Stamp) -> float:
        said_at = read_moment(stamp, self._order, self._day)
        # An hour back is a clock that was set, not a night.
        if stamp.numbers is None and self._last is not None and said_at < self._last - 3600.0:
            self._day += dt.timedelta(days=1)
            said_at = read_moment(stamp, self._order, self._day)
        self._last = said_at
        return said_at


def _decide_senders(entries: Sequence[_DatedEntry], choices: ReadChoices, parsed: ParsedFile) -> frozenset[str]:
    """Return the names that are speakers. A notice with a colon in it looks like a name that occurs once."""
    counts: Counter[str] = Counter()
    for entry in entries:
        if (match := _SENDER.match(_strip_marks(entry.rest))) is not None:
            counts[_clean_name(match["sender"])] += 1
    if choices.speakers:
        return frozenset(choices.speakers) & counts.keys()
    sure = {name for name, count in counts.items() if count > 1}
    senders = frozenset(name for name in counts if name in sure or _may_be_person(name, sure or set(counts)))
    parsed.ignored_names += tuple(name for name in counts if name not in senders)
    return senders


def _may_be_person(name: str, others: set[str]) -> bool:
    words = name.split()
    if _QUOTES.intersection(name) or len(words) > _LONGEST_NAME_WORDS:
        return False
    is_about_other = any(name.startswith(f"{other} ") for other in others if other != name)
    # "Bo added Cy: ..." against "Bo van Dam": particles of names are short.
    has_verb = any(word.islower() and len(word) > _PARTICLE_CHARS for word in words[1:])
    return not is_about_other or not (has_verb or len(words) >= _NOTICE_WORDS)


def _form_of(shape: tuple[StampStyle, bool], entries: Sequence[_DatedEntry], senders: frozenset[str]) -> ExportForm:
    style, has_date = shape
    is_iso = has_date and all(entry.stamp.numbers and len(entry.stamp.numbers[0]) == 4 for entry in entries)
    if is_iso and style is StampStyle.BRACKETS and _SIGNAL_OWNER in senders:
        return ExportForm.SIGNAL_CHAT
    if has_date and (style is StampStyle.DASH or (style is StampStyle.BRACKETS and not is_iso)):
        return ExportForm.WHATSAPP
    if has_date and style is StampStyle.BRACKETS and any("\u200e" in entry.rest for entry in entries):
        return ExportForm.WHATSAPP
    return ExportForm.TIMED_TRANSCRIPT


def _message_of(entry: _DatedEntry, said_at: float, senders: frozenset[str], parsed: ParsedFile) -> PastMessage | None:
    match = _SENDER.match(_strip_marks(entry.rest))
    sender = _clean_name(match["sender"]) if match is not None else ""
    if match is None or sender not in senders:
        parsed.left_out[_NOTICES] += 1
        return None
    is_signal = parsed.form is ExportForm.SIGNAL_CHAT
    words = "\n".join([match["text"], *entry.more])
    text = _clean_text(_own_words(words) if is_signal else words, parsed)
    if not text:
        return None
    is_holder = is_signal and sender == _SIGNAL_OWNER
    return PastMessage(sender, text, said_at, ("line", entry.stamp.key, sender, text), is_holder)


def _own_words(text: str) -> str:
    """Return a message of Signal without the message that it answers and without the reactions of others."""
    lines = text.rstrip().split("\n")
    while lines and _REACTIONS.fullmatch(lines[-1].strip()):
        lines.pop()
    while lines and (not lines[0].strip() or lines[0].startswith(">")):
        lines.pop(0)
    return "\n".join(lines)


def _clean_text(text: str, parsed: ParsedFile) -> str:
    """Return what a person wrote; empty if that is nothing."""
    first, _, caption = text.strip().partition("\n")
    if first.startswith("\u200e"):
        # iOS sets this mark before what WhatsApp itself writes, and before files.
        parsed.left_out[_MEDIA if re.search(r"<[^<>]*>|omitted|\.\w{3,4}\b", first) else _NOTICES] += 1
        return _strip_marks(caption).strip()
    if _PLACEHOLDER.fullmatch(first.strip("".join(MARKS) + " ")):
        parsed.left_out[_MEDIA] += 1
        return caption.strip()
    if not caption and first.strip(" .").casefold() in _DELETED:
        parsed.left_out[_DELETED_MESSAGES] += 1
        return ""
    return _EDITED.sub("", text).strip("\u200e \t\r\n")


def _strip_marks(text: str) -> str:
    """Remove the marks of direction before and within the name; those of the words stay."""
    head, colon, words = text.partition(":")
    return "".join(char for char in head if char not in MARKS) + colon + words if colon else text


def _clean_name(name: str) -> str:
    name = " ".join(name.strip("~ \t\u202f\xa0*_").split())
    return match["name"] if (match := _MEETING.fullmatch(name)) is not None else name


DATED_LINES: Final = Format("chat with times", _fits, _read)
