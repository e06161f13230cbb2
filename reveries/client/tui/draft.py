"""What the owner wrote and no mind has acknowledged: kept on the disk, given back when it was not heard."""

from collections.abc import Iterable
from typing import Final

from reveries.client.draft_file import DraftFile
from reveries.client.tui.composer import Composer
from reveries.client.tui.link import Link
from reveries.client.tui.words import Words, joined, on_record
from reveries.protocol import SaidTurn

_STORED_WITHIN_SECONDS: Final = 30.0
"""So long before the draft was kept the mind may have heard what stands in it: it had not acknowledged that yet."""


class Draft:
    """One per application. Of what is off the record nothing is written down."""

    def __init__(self, file: DraftFile, link: Link, composer: Composer) -> None:
        self._file = file
        self._link = link
        self._composer = composer
        self._to_say_again: Words | None = None
        self._is_left = False

    def load(self) -> bool:
        """Put what was kept into the composer. Whether there is more, of another terminal."""
        self._composer.write(self._file.load())
        if self._file.kept_at is not None:
            self._link.doubt_since = self._file.kept_at - _STORED_WITHIN_SECONDS
        return self._file.has_others

    def keep(self) -> None:
        """Write down what is written, and before it what was sent and not acknowledged."""
        if self._is_left:
            return
        again = [self._to_say_again] if self._to_say_again is not None else []
        unheard = on_record([*self._link.unheard, *again])
        self._file.keep(joined([*unheard, self._composer.draft_to_keep]))

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
        """Hold words that are to be said as soon as the conversation stands on the screen anew."""
        self._to_say_again = words

    def to_say_again(self) -> Words | None:
        """These words, once. Where it is off the record by now, they are."""
        words, self._to_say_again = self._to_say_again, None
        return words and Words(words.text, words.is_private or self._composer.is_private)

    def compare(self, turns: Iterable[SaidTurn]) -> None:
        """Take out what the mind turns out to have heard before the connection, or the terminal, was gone."""
        since, self._link.doubt_since = self._link.doubt_since, None
        if since is not None:
            self._composer.take_out(turn.text for turn in turns if turn.is_owner and turn.said_at >= since)
