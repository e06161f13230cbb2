"""What waits to be sent to one client. Bounded in bytes, so that a slow or stuck client costs nobody anything (E4)."""

import asyncio
from collections import deque

from reveries.protocol import Frame, encode

STREAM_LIMIT_BYTES = 256 * 1024
"""Above this, pieces of a stream are skipped; the message that ends the stream carries the whole text."""

HARD_LIMIT_BYTES = 16 * 1024 * 1024
"""Above this the client is given up."""


class Outbox:
    """A queue of encoded frames with two limits. Filled by anyone, emptied by the connection's writer."""

    def __init__(self) -> None:
        self._frames: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._changed = asyncio.Event()
        self.is_closed = False

    def send(self, frame: Frame) -> None:
        """Queue `frame`; nothing if the client is gone. A client that cannot take it is given up."""
        self._put(encode(frame), HARD_LIMIT_BYTES, gives_up=True)

    def send_piece(self, frame: Frame) -> bool:
        """Queue a piece of a stream, or skip it when the client is slow. Says whether it was queued."""
        return self._put(encode(frame), STREAM_LIMIT_BYTES, gives_up=False)

    def close(self) -> None:
        """No more frames; the writer ends once it has seen this."""
        self.is_closed = True
        self._changed.set()

    async def next_frames(self) -> bytes:
        """Everything that waits, joined; empty when closed and drained."""
        while not self._frames and not self.is_closed:
            self._changed.clear()
            await self._changed.wait()
        joined = b"".join(self._frames)
        self._frames.clear()
        self._waiting_bytes = 0
        return joined

    def _put(self, encoded: bytes, limit_bytes: int, *, gives_up: bool) -> bool:
        if self.is_closed:
            return False
        if self._waiting_bytes + len(encoded) > limit_bytes:
            if gives_up:
                self._frames.clear()
                self.close()
            return False
        self._frames.append(encoded)
        self._waiting_bytes += len(encoded)
        self._changed.set()
        return True
