"""Past messages as turns for the daemon: each with its author and its key, in batches. Pure."""

from collections import Counter
from collections.abc import Iterator
from typing import Final, Literal

from reveries.client.past.parsed import ParsedConversation, ParsedFile, hash_parts
from reveries.client.past.people import Author, Names, author_of, speaker_of
from reveries.protocol import MAX_TEXT_CHARS, ImportedTurn

_BATCH_TURNS: Final = 500
_BATCH_BYTES: Final = 1_000_000
_TURN_BYTES: Final = 3_000_000
_SPEAKER_CHARS: Final = 200
_TITLE_CHARS: Final = 300
_WIRE: Final[dict[Author, Literal["owner", "mind", "other"]]] = {
    Author.OWNER: "owner",
    Author.MIND: "mind",
    Author.ASSISTANT: "other",
    Author.ATTACHED: "other",
    Author.SOMEBODY: "other",
}


def drop_too_long(parsed: ParsedFile) -> None:
    """Take out the messages that are too long for one turn, and name them as not read."""
    for place, conversation in enumerate(parsed.conversations):
        kept = []
        for message in conversation.messages:
            name, text = clean_surrogates(message.sender), clean_surrogates(message.text)
            if len(name) > _SPEAKER_CHARS:
                parsed.unread.append(f"a message of {name[:40]!r}…: the name has {len(name):,} characters")
            elif len(text) > MAX_TEXT_CHARS or len(text.encode("utf-8")) > _TURN_BYTES:
                parsed.unread.append(
                    f"a message of {name or 'yours'}: {len(text):,} characters are too many for one turn"
                )
            else:
                kept.append(message)
        parsed.conversations[place] = ParsedConversation(conversation.title, kept)


def make_turns(parsed: ParsedFile, names: Names) -> list[ImportedTurn]:
    """Return the turns of a file, conversation by conversation."""
    occurrences: Counter[str] = Counter()
    return [
        turn
        for conversation, title in zip(parsed.conversations, _distinct_titles(parsed), strict=True)
        for turn in _turns_of(conversation, title, parsed, names, occurrences)
    ]


def _turns_of(
    conversation: ParsedConversation, title: str, parsed: ParsedFile, names: Names, occurrences: Counter[str]
) -> Iterator[ImportedTurn]:
    for message in conversation.messages:
        author, _ = author_of(message, parsed, names)
        identity = hash_parts(*message.identity)
        key = hash_parts(identity, str(occurrences[identity]))
        occurrences[identity] += 1
        speaker = clean_surrogates(speaker_of(message, author, names))
        yield ImportedTurn(message.said_at, speaker, clean_surrogates(message.text), _WIRE[author], key, title)


def _distinct_titles(parsed: ParsedFile) -> list[str]:
    """Return a title for each conversation, so that none runs into another one of the same name and time."""
    if len(parsed.conversations) < 2:
        return [""]
    counts: Counter[str] = Counter()
    titles: list[str] = []
    for conversation in parsed.conversations:
        title = clean_surrogates(conversation.title)[: _TITLE_CHARS - 10] or "untitled"
        counts[title] += 1
        titles.append(title if counts[title] == 1 else f"{title} ({counts[title]})")
    return titles


def clean_surrogates(text: str) -> str:
    """Replace half of a character pair, which no text can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def split_batches(turns: list[ImportedTurn]) -> list[list[ImportedTurn]]:
    """Split `turns` into batches of at most 500 turns and a million bytes (or one long turn)."""
    parts: list[list[ImportedTurn]] = [[]]
    free = _BATCH_BYTES
    for turn in turns:
        weight = _estimate_bytes(turn)
        if parts[-1] and (len(parts[-1]) == _BATCH_TURNS or weight > free):
            parts.append([])
            free = _BATCH_BYTES
        parts[-1].append(turn)
        free -= weight
    return parts


def _estimate_bytes(turn: ImportedTurn) -> int:
    title = turn.conversation if isinstance(turn.conversation, str) else ""
    return len(turn.text.encode("utf-8")) + 4 * (len(turn.speaker) + len(title)) + 160
