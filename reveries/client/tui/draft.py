"""What the owner wrote and no mind has acknowledged: kept on the disk, given back when it was not heard."""

from collections.abc import Iterable
from typing import Final

from reveries.client.draft_file import DraftFile
from reveries.client.tui.composer import Composer
from reveries.client.tui.link import MindLink
from reveries.client.tui.words import Words, joined, on_record
from reveries.clock import Clock
from reveries.protocol import SaidTurn

_STORED_WITHIN_SECONDS: Final = 2.0
"""So long before it was first written down that words were sent, the mind may have heard them."""


class UnsentMessage:
    """One per application. Of what is off the record nothing is written down."""

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
        """Put what was kept into the composer. Whether there is more, of another terminal."""
        self._composer.write(self._file.load())
        self._link.doubt_since = self._file.doubt_since
        return self._file.has_others

    def keep(self) -> None:
        """Write down what is written, and before it what was sent and not acknowledged."""
        if self._is_left:
            return
        sent = [words for words in self._link.unheard if not words.is_private]
        texts = [*on_record(sent), *on_record(self._to_say_again), self._composer.draft_to_keep]
        self._file.keep(joined(texts), self._doubt_since(sent[0] if sent else None))

    def _doubt_since(self, oldest: Words | None) -> float | None:
        """Since when the mind may have heard what is kept; None when nothing of it was sent. `oldest`: of what was."""
        if oldest is not self._oldest:
            self._oldest, self._oldest_since = oldest, self._clock.now() - _STORED_WITHIN_SECONDS
        sent = [self._oldest_since] if oldest is not None else []
        lost = [self._link.doubt_since] if self._link.doubt_since is not None else []
        return min([*sent, *lost], default=None)

    def leave(self) -> None:
        """The same for the last time: what waits is not said any more. The second time it does nothing."""
        if self._is_left:
            return
        self._link.hold_back()
        self.keep()
        self._is_left = True
        # The next terminal may have it.
        self._file.close()

    def take_back(self) -> bool:
        """Put what the link has returned into the composer; whether there was something."""
        returned = self._link.returned()
        if returned:
            self._composer.take_back(returned)
        return bool(returned)

    def say_again(self, words: Words) -> None:
        """Hold words that are to be said as soon as the conversation stands on the screen anew. Those that are held
        already were taken back before, so said after them."""
        self._to_say_again.insert(0, words)

    def to_say_again(self) -> list[Words]:
        """These words, once. Where it is off the record by now, they are."""
        held, self._to_say_again = self._to_say_again, []
        return [Words(words.text, words.is_private or self._composer.is_private) for words in held]

    def compare(self, turns: Iterable[SaidTurn]) -> None:
        """Take out what the mind turns out to have heard before the connection, or the terminal, was gone. Until then
        the link says nothing: what came back may be sent again by then."""
        since, self._link.doubt_since = self._link.doubt_since, None
        if since is not None:
            self._composer.take_out(turn.text for turn in turns if turn.is_owner and turn.said_at >= since)
