"""The queue of frames to one client, bounded in bytes, so that a slow or stuck client costs no one anything (E4)."""

import asyncio
from collections import deque

from reveries.protocol import MAX_FRAME_BYTES, Frame, encode

STREAM_LIMIT_BYTES = 16 * 1024
"""Above this, pieces of a stream are skipped; the frame that ends the stream carries the whole text. A client that is
so far behind with broadcasts is disconnected; it gets them when it attaches again. The system's socket buffer comes in
addition: 200 KB on Linux."""

PIECE_BYTES = 8 * 1024
"""Bytes passed to the connection at a time, because it keeps a copy of what the client does not read."""

HARD_LIMIT_BYTES = MAX_FRAME_BYTES + 2**20
"""Above this the client is disconnected. Large answers are built one at a time, and only for a client that has read the
last one: so at most one of the largest answers waits, and what is broadcast meanwhile."""

UNREAD_LIMIT_BYTES = 24 * 1024 * 1024
"""Unread bytes of all clients together. Above this, those that have read nothing for longest are disconnected."""


class Unread:
    """Counts the unread bytes of all clients together."""

    def __init__(self, limit_bytes: int = UNREAD_LIMIT_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._waiting: dict[Outbox, int] = {}
        """Unread bytes by client; the one that has read nothing for longest comes first."""
        self.bytes = 0

    def update(self, outbox: "Outbox", waiting_bytes: int, *, has_read: bool) -> None:
        """Set the unread bytes of one client; disconnect clients while the total is above the limit."""
        self.bytes += waiting_bytes - self._waiting.get(outbox, 0)
        if has_read or not waiting_bytes:
            self._waiting.pop(outbox, None)
        if waiting_bytes:
            self._waiting[outbox] = waiting_bytes
        while self.bytes > self._limit_bytes:
            next(iter(self._waiting)).give_up()


class Outbox:
    """A bounded queue of encoded frames. Filled by any part, emptied by `send_to`. `unread` is shared by the
    outboxes of all clients."""

    def __init__(self, unread: Unread | None = None) -> None:
        self._unread = unread or Unread()
        self._frames: deque[bytes] = deque()
        self.waiting_bytes = 0
        """Includes the bytes that are being sent."""
        self._sending_bytes = 0
        self._broadcast_bytes = 0
        """Queued bytes of broadcasts that are not being sent yet."""
        self._piece_bytes = 0
        """Queued bytes of stream pieces that are not being sent yet."""
        self._changed = asyncio.Event()
        self._was_read = asyncio.Event()
        self._closed = asyncio.Event()
        self.is_closed = False

    def send(self, frame: Frame) -> None:
        """Queue `frame`, unless the client is gone. Above the limit the client is disconnected."""
        self._put_frame(encode(frame), HARD_LIMIT_BYTES, gives_up=True)

    def send_broadcast(self, frame: Frame) -> None:
        """Queue a frame that all attached clients get. A client that does not read is disconnected, so that a hundred
        of them cost next to nothing; but not before its writer had its turn."""
        if self._broadcast_bytes > STREAM_LIMIT_BYTES and self._sending_bytes:
            self.give_up()
        encoded = encode(frame)
        self._broadcast_bytes += len(encoded)
        self._put_frame(encoded, HARD_LIMIT_BYTES, gives_up=True)

    def send_piece(self, frame: Frame) -> bool:
        """Queue a piece of a stream, or skip it if too many pieces wait; other frames do not count. Return whether it
        was queued."""
        encoded = encode(frame)
        if self._piece_bytes + len(encoded) > STREAM_LIMIT_BYTES:
            return False
        self._piece_bytes += len(encoded)
        return self._put_frame(encoded, HARD_LIMIT_BYTES, gives_up=False)

    def give_up(self) -> None:
        """Drop everything queued and close."""
        self._frames.clear()
        self._sending_bytes = 0
        self._count(-self.waiting_bytes)
        self.close()

    def close(self) -> None:
        """Accept no more frames; the writer ends when the queue is empty."""
        self.is_closed = True
        self._changed.set()
        self._was_read.set()
        self._closed.set()

    async def wait_closed(self) -> None:
        """Wait until the outbox is closed, even if the client reads nothing and the writer hangs."""
        await self._closed.wait()

    async def wait_until_read(self) -> None:
        """Wait until the client has read most of its queue, or is gone, before more work is begun for it."""
        while self.waiting_bytes > STREAM_LIMIT_BYTES and not self.is_closed:
            self._was_read.clear()
            await self._was_read.wait()

    async def send_to(self, writer: asyncio.StreamWriter) -> None:
        """Send the queued frames to the client until closed and drained, or until the connection fails."""
        # Pass the next piece when the last is sent, because the connection copies everything it is given.
        writer.transport.set_write_buffer_limits(high=0)
        try:
            while waiting := await self.next_frames():
                for at in range(0, len(waiting), PIECE_BYTES):
                    piece = waiting[at : at + PIECE_BYTES]
                    writer.write(piece)
                    await writer.drain()
                    self.note_sent(len(piece))
        except OSError:
            self.close()

    def note_sent(self, sent_bytes: int) -> None:
        """Record that the client has read `sent_bytes` of the frames being sent."""
        if self._sending_bytes:
            self._sending_bytes -= sent_bytes
            self._count(-sent_bytes, has_read=True)
            self._was_read.set()

    async def next_frames(self) -> bytes:
        """Return all queued frames, joined; empty when closed and drained. Those returned before count as sent."""
        if self._sending_bytes:
            sent, self._sending_bytes = self._sending_bytes, 0
            self._count(-sent, has_read=True)
        self._was_read.set()
        while not self._frames and not self.is_closed:
            self._changed.clear()
            await self._changed.wait()
        joined = b"".join(self._frames)
        self._frames.clear()
        self._sending_bytes, self._broadcast_bytes, self._piece_bytes = len(joined), 0, 0
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
        self._unread.update(self, self.waiting_bytes, has_read=has_read)
