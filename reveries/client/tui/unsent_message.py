"""Text that the daemon has not acknowledged: saved to disk, and restored to the composer if it was not received."""

from collections.abc import Iterable
from typing import Final

from reveries.client.draft_file import DraftFile
from reveries.client.tui.composer import Composer
from reveries.client.tui.link import MindLink
from reveries.client.tui.outgoing_text import OutgoingText, join_texts, texts_on_record
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
        self._resends: list[OutgoingText] = []
        self._oldest: OutgoingText | None = None
        self._oldest_since = 0.0
        self._is_closed = False

    def load(self) -> bool:
        """Load the saved draft into the composer. Return whether another terminal left one too."""
        self._composer.write(self._file.load())
        self._link.unconfirmed_since = self._file.doubt_since
        return self._file.has_others

    def save(self) -> None:
        """Save messages that were sent and not acknowledged, then the draft."""
        if self._is_closed:
            return
        sent = [message for message in self._link.unacknowledged if not message.is_private]
        texts = [*texts_on_record(sent), *texts_on_record(self._resends), self._composer.draft_to_save]
        self._file.keep(join_texts(texts), self._doubt_since(sent[0] if sent else None))

    def _doubt_since(self, oldest: OutgoingText | None) -> float | None:
        """Since when the daemon may have received the saved text; None if none was sent. `oldest`: the first sent."""
        if oldest is not self._oldest:
            self._oldest, self._oldest_since = oldest, self._clock.now() - _STORED_WITHIN_SECONDS
        sent = [self._oldest_since] if oldest is not None else []
        lost = [self._link.unconfirmed_since] if self._link.unconfirmed_since is not None else []
        return min([*sent, *lost], default=None)

    def close(self) -> None:
        """Save for the last time; queued messages are not sent any more. Calling it again does nothing."""
        if self._is_closed:
            return
        self._link.return_waiting()
        self.save()
        self._is_closed = True
        # The next terminal may take the draft over.
        self._file.close()

    def restore_returned(self) -> bool:
        """Restore the messages that the link returned to the composer; whether there were any."""
        returned = self._link.take_returned()
        if returned:
            self._composer.restore_texts(returned)
        return bool(returned)

    def resend_later(self, message: OutgoingText) -> None:
        """Queue a message to send once the conversation has been reloaded, before those that are queued already: the
        later it was taken back, the earlier it was said."""
        self._resends.insert(0, message)

    def take_resends(self) -> list[OutgoingText]:
        """Return and clear the queued messages. They are off the record if the composer now is."""
        resends, self._resends = self._resends, []
        return [OutgoingText(message.text, message.is_private or self._composer.is_private) for message in resends]

    def drop_received(self, turns: Iterable[SaidTurn]) -> None:
        """Drop from the draft what the daemon received before the connection or the terminal was lost. Until this has
        run the link sends nothing, so that nothing is sent twice."""
        since, self._link.unconfirmed_since = self._link.unconfirmed_since, None
        if since is not None:
            self._composer.remove_received(turn.text for turn in turns if turn.is_owner and turn.said_at >= since)
