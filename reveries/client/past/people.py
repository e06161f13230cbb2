"""Who is who in a past conversation, and above all whose words are the owner's. Pure."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from reveries.client.past.parsed import ExportForm, ParsedFile, PastMessage
from reveries.errors import UsageError

UNNAMED_OWNER: Final = "You"
"""The owner's name if none is configured; the daemon uses the same."""
_UNNAMED_HOLDER: Final = "account holder"
_FORMS_WITH_MIND: Final = frozenset({ExportForm.JSON_LINES, ExportForm.TRANSCRIPT, ExportForm.TIMED_TRANSCRIPT})
"""Forms that the owner writes: elsewhere, somebody who is called like the mind is somebody."""
_LISTED: Final = 10


class Author(StrEnum):
    """Whose words a turn counts as."""

    OWNER = "owner"
    MIND = "mind"
    ASSISTANT = "assistant"
    ATTACHED = "attached"
    SOMEBODY = "somebody"


class WhyOwner(StrEnum):
    """Why somebody counts as the owner."""

    CHOSEN = "you chose it"
    BY_NAME = "owner.name"
    BY_FORM = "the file says so"


@dataclass(frozen=True, slots=True)
class Person:
    """One sender of a file."""

    name: str
    turns: int
    author: Author
    why: WhyOwner | None = None


@dataclass(frozen=True, slots=True)
class Names:
    """The names that decide. `me`: what the owner chose for this file; None: nothing; empty: nobody in it."""

    owner: str
    mind: str
    me: str | None = None


def list_people(parsed: ParsedFile, names: Names) -> list[Person]:
    """List the senders, those with most turns first. Raises UsageError if the chosen name is not among them."""
    counts: Counter[tuple[str, Author, WhyOwner | None]] = Counter()
    for message in iterate_messages(parsed):
        author, why = author_of(message, parsed, names)
        counts[(speaker_of(message, author, names), author, why)] += 1
    people = [Person(name, turns, author, why) for (name, author, why), turns in counts.most_common()]
    if names.me and not any(person.why is WhyOwner.CHOSEN for person in people):
        listed = ", ".join(person.name for person in people[:_LISTED])
        raise UsageError(f"Nobody in the file is called {names.me!r}.", advice=f"Its people: {listed}")
    return people


def iterate_messages(parsed: ParsedFile) -> Iterator[PastMessage]:
    """Yield all messages, in order."""
    for conversation in parsed.conversations:
        yield from conversation.messages


def author_of(message: PastMessage, parsed: ParsedFile, names: Names) -> tuple[Author, WhyOwner | None]:
    """Decide whose words a message is, and why if they are the owner's."""
    if message.is_attached:
        return Author.ATTACHED, None
    if names.me is not None:
        if names.me and message.sender.casefold() == names.me.casefold():
            return Author.OWNER, WhyOwner.CHOSEN
    elif message.is_holder:
        return Author.OWNER, WhyOwner.BY_FORM
    elif names.owner and message.sender.casefold() == names.owner.casefold():
        return Author.OWNER, WhyOwner.BY_NAME
    if message.sender in parsed.assistants:
        return Author.ASSISTANT, None
    if parsed.form in _FORMS_WITH_MIND and message.sender.casefold() == names.mind.casefold():
        return Author.MIND, None
    return Author.SOMEBODY, None


def speaker_of(message: PastMessage, author: Author, names: Names) -> str:
    """Return the name that a message is stored with: where the file has only a role, the owner's."""
    if author is Author.OWNER and message.is_holder:
        return names.owner or UNNAMED_OWNER
    return message.sender or _UNNAMED_HOLDER
