"""Text that the daemon has not acknowledged: saved to disk, and restored to the composer if it was not received."""

from collections.abc import Iterable
from typing import Final

from reveries.client.draft_file import DraftFile
from reveries.client.tui.composer import Composer
from reveries.client.tui.link import MindLink
from reveries.client.tui.words import Words, joined, on_record
from reveries.clock import Clock
from reveries.protocol import SaidTurn

_STORED_WITHIN_SECONDS: Final = 2.0
"""The daemon may have received a message up to this long before it was first saved."""


class UnsentMessage:
    """Saves and restores unsent text; one per application. Text that is off the record is never saved."""

    def __init__(self, file: DraftFile, link: MindLink, composer: Composer, clock: Clock) -> None:
        self._file = file
        self._link = link
        self._composer = composer
        self._clock = clock
        self._to_say_again: list[Words] = []
        self._oldest: Words | None = None
        self._oldest_since = 0.0
        self._is_left = False

    def load(self) -> bool:
        """Load the saved draft into the composer. Return whether another terminal left one too."""
        self._composer.write(self._file.load())
        self._link.doubt_since = self._file.doubt_since
        return self._file.has_others

    def keep(self) -> None:
        """Save messages that were sent and not acknowledged, then the draft."""
        if self._is_left:
            return
        sent = [words for words in self._link.unheard if not words.is_private]
        texts = [*on_record(sent), *on_record(self._to_say_again), self._composer.draft_to_keep]
        self._file.keep(joined(texts), self._doubt_since(sent[0] if sent else None))

    def _doubt_since(self, oldest: Words | None) -> float | None:
        """Since when the daemon may have received the saved text; None if none was sent. `oldest`: the first sent."""
        if oldest is not self._oldest:
            self._oldest, self._oldest_since = oldest, self._clock.now() - _STORED_WITHIN_SECONDS
        sent = [self._oldest_since] if oldest is not None else []
        lost = [self._link.doubt_since] if self._link.doubt_since is not None else []
        return min([*sent, *lost], default=None)

    def leave(self) -> None:
        """Save for the last time; queued messages are not sent any more. Calling it again does nothing."""
        if self._is_left:
            return
        self._link.hold_back()
        self.keep()
        self._is_left = True
        # The next terminal may take the draft over.
        self._file.close()

    def take_back(self) -> bool:
        """Restore the messages that the link returned to the composer; whether there were any."""
        returned = self._link.returned()
        if returned:
            self._composer.take_back(returned)
        return bool(returned)

    def say_again(self, words: Words) -> None:
        """Queue a message to send once the conversation has been reloaded, before those that are queued already: the
        later it was taken back, the earlier it was said."""
        self._to_say_again.insert(0, words)

    def to_say_again(self) -> list[Words]:
        """Return and clear the queued messages. They are off the record if the composer now is."""
        held, self._to_say_again = self._to_say_again, []
        return [Words(words.text, words.is_private or self._composer.is_private) for words in held]

    def compare(self, turns: Iterable[SaidTurn]) -> None:
        """Drop from the draft what the daemon received before the connection or the terminal was lost. Until this has
        run the link sends nothing, so that nothing is sent twice."""
        since, self._link.doubt_since = self._link.doubt_since, None
        if since is not None:
            self._composer.take_out(turn.text for turn in turns if turn.is_owner and turn.said_at >= since)
