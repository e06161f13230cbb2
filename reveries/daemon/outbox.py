"""What waits to be sent to one client. Bounded in bytes, so that a slow or stuck client costs nobody anything (E4)."""

import asyncio
from collections import deque

from reveries.protocol import MAX_FRAME_BYTES, Frame, encode

STREAM_LIMIT_BYTES = 16 * 1024
"""Above this, pieces of a stream are skipped; the message that ends the stream carries the whole text. A client that is
so far behind is told nothing more of what all are told: it is given up, and hears all of it when it attaches again.
Before that comes what the system keeps for it: 200 KB on Linux."""

PIECE_BYTES = 8 * 1024
"""So much at a time goes to the connection, which keeps a copy of what the client does not take."""

HARD_LIMIT_BYTES = MAX_FRAME_BYTES + 2**20
"""Above this the client is given up. Answers that may be large are begun one at a time, and only for who has read: so
there is one, of the largest that there are, and what is said meanwhile."""

UNREAD_LIMIT_BYTES = 24 * 1024 * 1024
"""What all clients together may leave unread. Above it those are given up that have read nothing for longest."""


class Unread:
    """What all clients together have not read yet."""

    def __init__(self, limit_bytes: int = UNREAD_LIMIT_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._waiting: dict[Outbox, int] = {}
        """Bytes for each client that has some, who has read nothing for longest first."""
        self.bytes = 0

    def changed(self, outbox: "Outbox", waiting_bytes: int, *, has_read: bool) -> None:
        """So much waits for that client now. Gives up clients when that is too much for all together."""
        self.bytes += waiting_bytes - self._waiting.get(outbox, 0)
        if has_read or not waiting_bytes:
            self._waiting.pop(outbox, None)
        if waiting_bytes:
            self._waiting[outbox] = waiting_bytes
        while self.bytes > self._limit_bytes:
            next(iter(self._waiting)).give_up()


class Outbox:
    """A queue of encoded frames with limits. Filled by anyone, emptied by the connection's writer. `unread`: what it
    shares with those of other clients."""

    def __init__(self, unread: Unread | None = None) -> None:
        self._unread = unread or Unread()
        self._frames: deque[bytes] = deque()
        self.waiting_bytes = 0
        """What is being sent included."""
        self._sending_bytes = 0
        self._told_bytes = 0
        """Of what all are told, what is not being sent yet."""
        self._piece_bytes = 0
        """The same of pieces of streams."""
        self._changed = asyncio.Event()
        self._taken = asyncio.Event()
        self._closed = asyncio.Event()
        self.is_closed = False

    def send(self, frame: Frame) -> None:
        """Queue `frame`; nothing if the client is gone. A client that cannot take it is given up."""
        self._put_frame(encode(frame), HARD_LIMIT_BYTES, gives_up=True)

    def tell(self, frame: Frame) -> None:
        """Queue what all who are attached are told. A client that does not read is given up, so that a hundred of them
        cost next to nothing; not for what comes before its writer had its turn."""
        if self._told_bytes > STREAM_LIMIT_BYTES and self._sending_bytes:
            self.give_up()
        encoded = encode(frame)
        self._told_bytes += len(encoded)
        self._put_frame(encoded, HARD_LIMIT_BYTES, gives_up=True)

    def send_piece(self, frame: Frame) -> bool:
        """Queue a piece of a stream, or skip it when so many wait already: an answer that is on its way to the client
        keeps no piece from it. Says whether it was queued."""
        encoded = encode(frame)
        if self._piece_bytes + len(encoded) > STREAM_LIMIT_BYTES:
            return False
        self._piece_bytes += len(encoded)
        return self._put_frame(encoded, HARD_LIMIT_BYTES, gives_up=False)

    def give_up(self) -> None:
        """Let it go: nothing of what waits is sent."""
        self._frames.clear()
        self._sending_bytes = 0
        self._count(-self.waiting_bytes)
        self.close()

    def close(self) -> None:
        """No more frames; the writer ends once it has seen this."""
        self.is_closed = True
        self._changed.set()
        self._taken.set()
        self._closed.set()

    async def wait_closed(self) -> None:
        """Until nothing more is to be sent: also for a client that reads nothing, on which the writer waits."""
        await self._closed.wait()

    async def wait_until_read(self) -> None:
        """Until the client has read most of what it asked for, or is gone: more need not be begun before."""
        while self.waiting_bytes > STREAM_LIMIT_BYTES and not self.is_closed:
            self._taken.clear()
            await self._taken.wait()

    def left(self, sent_bytes: int) -> None:
        """So much of what was given out has left: the client reads."""
        if self._sending_bytes:
            self._sending_bytes -= sent_bytes
            self._count(-sent_bytes, has_read=True)
            self._taken.set()

    async def next_frames(self) -> bytes:
        """Everything that waits, joined; empty when closed and drained. What was given out before has left by now."""
        if self._sending_bytes:
            left, self._sending_bytes = self._sending_bytes, 0
            self._count(-left, has_read=True)
        self._taken.set()
        while not self._frames and not self.is_closed:
            self._changed.clear()
            await self._changed.wait()
        joined = b"".join(self._frames)
        self._frames.clear()
        self._sending_bytes, self._told_bytes, self._piece_bytes = len(joined), 0, 0
        return joined

    def _put_frame(self, encoded: bytes, limit_bytes: int, *, gives_up: bool) -> bool:
        if self.is_closed:
            return False
        if self.waiting_bytes + len(encoded) > limit_bytes:
            if gives_up:
                self.give_up()
            return False
        self._frames.append(encoded)
        self._changed.set()
        self._count(len(encoded))
        return not self.is_closed

    def _count(self, more_bytes: int, *, has_read: bool = False) -> None:
        self.waiting_bytes += more_bytes
        self._unread.changed(self, self.waiting_bytes, has_read=has_read)
