"""The line at the bottom: what the mind does, and what that costs. Narrow terminals keep what matters most."""

from dataclasses import dataclass

from textual.content import Content
from textual.widgets import Static

from reveries.client.wording import plural, short_count, span
from reveries.clock import Clock
from reveries.plaintext import one_line
from reveries.protocol import Replied, Status

_STATE_COLOURS = {
    "thinking": "$accent",
    "settled": "$success",
    "talking": "$primary",
    "consolidating": "$secondary",
    "tripped": "$error",
    "away": "$warning",
}
_GAP = 3


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of the line. The one with the lowest worth goes first when there is no room."""

    text: str
    worth: int
    style: str = "$foreground 60%"


def fitting(segments: list[Segment], columns: int) -> list[Segment]:
    """`segments` in their order, without the least worthy ones that do not fit into `columns`."""
    kept = list(segments)
    while len(kept) > 1 and _width(kept) > columns:
        kept.remove(min(kept, key=lambda segment: segment.worth))
    return kept


class StatusLine(Static):
    """State, model, tokens of the last turn and today, awake since, who is attached."""

    def __init__(self, clock: Clock) -> None:
        super().__init__("", id="status", markup=False)
        self._clock = clock
        self._state = "away"
        self._hint = ""
        self._status: Status | None = None
        self._replied: Replied | None = None

    @property
    def state(self) -> str:
        return self._state

    def show_status(self, status: Status) -> None:
        """How the mind is."""
        self._status = status
        self._state = one_line(status.state, 20)
        self._draw()

    def show_state(self, state: str) -> None:
        """What the mind does now, or "away"."""
        self._state = one_line(state, 20)
        self._draw()

    def show_turn(self, replied: Replied) -> None:
        """What the last turn used."""
        self._replied = replied
        self._draw()

    def show_hint(self, hint: str, *, instead_of: str = "") -> None:
        """Words for the owner in place of the rest; "" takes them away. With `instead_of` only those."""
        if instead_of and self._hint != instead_of:
            return
        self._hint = hint
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        columns = max(1, self.size.width - 2)
        left = Segment(f"● {self._state}", 100, _STATE_COLOURS.get(self._state, "$text"))
        if self._hint:
            self.update(_joined([left, Segment(self._hint, 99, "$warning")], columns))
            return
        kept = fitting([left, *self._segments()], columns)
        self.update(_spread(kept, columns))

    def _segments(self) -> list[Segment]:
        segments: list[Segment] = []
        status, replied = self._status, self._replied
        if status is not None:
            model = next((use.model for use in status.models if use.role == "conversation"), "")
            segments.append(Segment(one_line(model.rpartition("/")[2], 40), 50))
        if replied is not None:
            tokens = short_count(replied.prompt_tokens + replied.completion_tokens)
            segments.append(Segment(f"{tokens} last turn", 60))
        if status is not None:
            today = sum(use.prompt_tokens + use.completion_tokens for use in status.usage)
            cost = sum(use.dollars for use in status.usage)
            segments.append(Segment(f"{short_count(today)} today{f' ${cost:.2f}' if cost else ''}", 80))
            segments.append(Segment(f"awake {span(self._clock.now() - status.awake_since)}", 70))
            if status.attached_clients > 1:
                segments.append(Segment(f"{plural(status.attached_clients, 'terminal')}", 40))
        return [segment for segment in segments if segment.text]


def _width(segments: list[Segment]) -> int:
    return sum(Content(segment.text).cell_length for segment in segments) + _GAP * (len(segments) - 1)


def _joined(segments: list[Segment], columns: int) -> Content:
    gap = Content(" " * _GAP)
    return gap.join([Content.styled(segment.text, segment.style) for segment in fitting(segments, columns)])


def _spread(segments: list[Segment], columns: int) -> Content:
    """The first at the left, the others at the right."""
    first, rest = segments[0], segments[1:]
    if not rest:
        return Content.styled(first.text, first.style)
    blank = columns - _width(segments) + _GAP
    right = Content(" " * _GAP).join([Content.styled(segment.text, segment.style) for segment in rest])
    return Content.assemble((first.text, first.style), " " * max(_GAP, blank), right)
