"""How fast thought is let through (R-36, RA-8). Pure: times in, waits and velocities out."""

from dataclasses import dataclass

_SMOOTHING = 0.1


@dataclass(slots=True)
class Pace:
    """Spaces pieces so that no more than `tokens_per_second` come through, and measures what came.

    `halve` slows it down for the rest of the thought: what a throttle does (R-136).
    """

    tokens_per_second: float
    _due: float | None = None
    _last: float | None = None
    _smoothed_gap_seconds: float | None = None

    def wait_seconds(self, now: float) -> float:
        """How long the next piece is to be held back, at monotonic time `now`."""
        return max(0.0, self._due - now) if self._due is not None else 0.0

    def passed(self, now: float) -> None:
        """A piece came through at `now`."""
        if self._last is not None:
            gap = now - self._last
            before = self._smoothed_gap_seconds
            self._smoothed_gap_seconds = gap if before is None else before + _SMOOTHING * (gap - before)
        self._last = now
        # From now, not from when it was due: a model that was slow is not made up for in a burst.
        self._due = now + 1.0 / self.tokens_per_second

    def rested(self) -> None:
        """What comes next begins a new call: the wait for it says nothing about how fast the thought went (RA-8)."""
        self._last = None

    def velocity(self) -> float | None:
        """Smoothed tokens per second after pacing; None before the second piece."""
        gap = self._smoothed_gap_seconds
        return None if gap is None or gap <= 0 else 1.0 / gap

    def halve(self) -> None:
        self.tokens_per_second /= 2
