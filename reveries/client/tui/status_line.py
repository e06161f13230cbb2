"""The status line: the mind's state and its cost. Narrow terminals keep the most important segments."""

from dataclasses import dataclass, replace

from textual.content import Content
from textual.widgets import Static

from reveries.client.wording import plural, short_count, span
from reveries.clock import Clock
from reveries.protocol import Replied, Status
from reveries.safe_text import one_line

_STATE_COLOURS = {
    "thinking": "$accent",
    "settled": "$success",
    "talking": "$primary",
    "consolidating": "$secondary",
    "tripped": "$error",
    "working": "$accent",
    "away": "$warning",
}
_GAP = 3


@dataclass(frozen=True, slots=True)
class StatusSegment:
    """A piece of the line. Segments with the lowest `worth` are dropped first."""

    text: str
    worth: int
    style: str = "$foreground 60%"
    short: str = ""
    """Used instead of `text` when space is short."""


def fit_segments(segments: list[StatusSegment], columns: int) -> list[StatusSegment]:
    """Fit the segments into `columns`: shorten their texts first, then drop those with the lowest worth."""
    fitted = list(segments)
    if _total_width(fitted) > columns:
        fitted = [replace(segment, text=segment.short or segment.text) for segment in fitted]
    while len(fitted) > 1 and _total_width(fitted) > columns:
        fitted.remove(min(fitted, key=lambda segment: segment.worth))
    return fitted


class StatusLine(Static):
    """State, model, tokens of the last turn and of today, time awake, attached clients."""

    def __init__(self, clock: Clock) -> None:
        super().__init__("", id="status", markup=False)
        self._clock = clock
        self._state = "away"
        self._hint = ""
        self._status: Status | None = None
        self._read_tokens = 0
        self._context_tokens = 0
        self._line = Content("")

    @property
    def state(self) -> str:
        return self._state

    def show_status(self, status: Status) -> None:
        """Show the daemon's status."""
        self._status = status
        self._state = one_line(status.state, 20)
        self._draw()

    def show_state(self, state: str) -> None:
        """Show the mind's state, or "away"."""
        self._state = one_line(state, 20)
        self._draw()

    def show_turn(self, replied: Replied) -> None:
        """Show the tokens of the last turn."""
        if replied.prompt_tokens:
            self._read_tokens = replied.prompt_tokens + replied.completion_tokens
        self._draw()

    def show_context_use(self, tokens: int, of_tokens: int) -> None:
        """Show the tokens of the last turn and the conversation model's context size; 0: unknown."""
        self._read_tokens, self._context_tokens = tokens, of_tokens or self._context_tokens
        self._draw()

    @property
    def knows_context(self) -> bool:
        """Whether the model's context size is known."""
        return self._context_tokens > 0

    def show_context(self, tokens: int) -> None:
        """Set the conversation model's context size in tokens; 0: unknown."""
        self._context_tokens = tokens
        self._draw()

    def show_hint(self, hint: str, *, instead_of: str = "") -> None:
        """Show a hint in place of the rest; "" clears it, with `instead_of` only if that is the hint shown."""
        if instead_of and self._hint != instead_of:
            return
        self._hint = hint
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        columns = max(1, self.size.width - 2)
        left = StatusSegment(f"● {self._state}", 100, _STATE_COLOURS.get(self._state, "$text"))
        if self._hint:
            space = max(1, columns - _total_width([left]) - _GAP)
            self._update_line(
                _join_segments([left, StatusSegment(one_line(self._hint, space), 101, "$warning")], columns)
            )
            return
        fitted = fit_segments([left, *self._segments()], columns)
        self._update_line(_align_segments(fitted, columns))

    def _update_line(self, line: Content) -> None:
        if line != self._line or line.spans != self._line.spans:
            self._line = line
            self.update(line, layout=False)

    def _segments(self) -> list[StatusSegment]:
        status = self._status
        segments = self._turn_segments()
        if status is not None:
            model = next((use.model for use in status.models if use.role == "conversation"), "")
            segments.insert(0, StatusSegment(one_line(model.rpartition("/")[2], 40), 50))
            segments += [*_question_segments(status), *_embedding_segments(status), _usage_segment(status)]
            segments.append(StatusSegment(f"awake {span(self._clock.now() - status.awake_since)}", 70))
            if status.attached_clients > 1:
                segments.append(StatusSegment(f"{plural(status.attached_clients, 'terminal')}", 40))
        return [segment for segment in segments if segment.text]

    def _turn_segments(self) -> list[StatusSegment]:
        """The tokens of the last turn, as a share of the context size if that is known."""
        tokens = self._read_tokens
        if not tokens:
            return []
        if not self._context_tokens:
            return [StatusSegment(f"{short_count(tokens)} last turn", 60)]
        share = tokens / self._context_tokens
        text = f"{short_count(tokens)} of {short_count(self._context_tokens)} read"
        return [StatusSegment(text, 60, _limit_colour(share), short=f"read {share:.0%}")]


def _question_segments(status: Status) -> list[StatusSegment]:
    """The number of open project questions (/questions)."""
    asked = status.open_questions
    return [StatusSegment(plural(asked, "question"), 90, "$warning", short=f"{asked}?")] if asked else []


def _embedding_segments(status: Status) -> list[StatusSegment]:
    """The progress of re-embedding."""
    if not 0 <= status.embedding_done < status.embedding_total:
        return []
    return [StatusSegment(f"vectors {status.embedding_done / status.embedding_total:.0%}", 65, "$secondary")]


def _usage_segment(status: Status) -> StatusSegment:
    """Today's tokens and cost against the limits of all roles together; the most used limit, of a role too, gives the
    colour."""
    limits = status.limits
    tokens = next((limit for limit in limits if not (limit.role or limit.is_money)), None)
    money = next((limit for limit in limits if limit.is_money and not limit.role), None)
    # Embeddings have their own limit and are not counted here.
    spent = sum(use.prompt_tokens + use.completion_tokens for use in status.usage if use.role != "embedding")
    cost = sum(use.dollars for use in status.usage)
    short = f"{short_count(spent)} today" + (f" ${cost:.2f}" if cost else "")
    text = f"{short_count(spent)}{f' of {short_count(int(tokens.limit))}' if tokens else ''} today"
    if cost:
        text += f" ${cost:.2f}" + (f" of ${money.limit:g}" if money else "")
    highest = max((limit.used / limit.limit for limit in limits if limit.limit > 0), default=0.0)
    return StatusSegment(text, 80, _limit_colour(highest), short=short)


def _limit_colour(share: float) -> str:
    """Return the colour for the used share of a limit."""
    return "$error" if share >= 0.95 else "$warning" if share >= 0.8 else "$foreground 60%"


def _total_width(segments: list[StatusSegment]) -> int:
    return sum(Content(segment.text).cell_length for segment in segments) + _GAP * (len(segments) - 1)


def _join_segments(segments: list[StatusSegment], columns: int) -> Content:
    gap = Content(" " * _GAP)
    return gap.join([Content.styled(segment.text, segment.style) for segment in fit_segments(segments, columns)])


def _align_segments(segments: list[StatusSegment], columns: int) -> Content:
    """Align the first segment left and the others right."""
    first, rest = segments[0], segments[1:]
    if not rest:
        return Content.styled(first.text, first.style)
    blank = columns - _total_width(segments) + _GAP
    right = Content(" " * _GAP).join([Content.styled(segment.text, segment.style) for segment in rest])
    return Content.assemble((first.text, first.style), " " * max(_GAP, blank), right)
