"""The widgets of turns: messages of the owner, and replies that grow as they stream."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from reveries.client.citation_lines import citation_lines
from reveries.client.wording import clock_time
from reveries.protocol import CitationEntry, Replied
from reveries.safe_text import PlainStream, one_line, plain

if TYPE_CHECKING:
    from textual.timer import Timer
    from textual.widgets.markdown import MarkdownStream

    from reveries.client.tui.safe_markdown import SafeMarkdown

BATCH_SECONDS: Final = 0.05
LONGEST_BATCH_SECONDS: Final = 0.25
_SLOWER_EACH_CHARS = 1_500
STREAMED_MARKDOWN_CHARS: Final = 8_000
"""Beyond this a streaming reply continues as plain text: appending to a long Markdown document is slow."""
SETTLED_MARKDOWN_CHARS: Final = 60_000
LONGEST_SHOWN_CHARS: Final = 100_000
"""The most plain text that is laid out; more would take seconds."""
OFF_RECORD: Final = "off the record"
_WAIT_SECONDS = 0.5
_ENDINGS = {
    "cancelled": "You stopped it here.",
    "tripped": "Its breaker stopped it here.",
    "failed": "The model failed here.",
}


def _turn_head(speaker: str, said_at: float, note: str = "", colour: str = "") -> Content:
    when = clock_time(said_at)
    return Content.assemble(
        (one_line(speaker, 60), f"bold {colour}"), (f"  {when}{'  ' + note if note else ''}", "$foreground 60%")
    )


def shorten_for_display(text: str) -> str:
    """Shorten a very long text for display; it can still be copied and exported whole."""
    if len(text) <= LONGEST_SHOWN_CHARS:
        return text
    cut = len(text) - LONGEST_SHOWN_CHARS
    half = LONGEST_SHOWN_CHARS // 2
    return f"{text[:half]}\n\n… {cut:,} characters are not shown; /copy FILE has them …\n\n{text[-half:]}"


class TurnText(Static):
    """A turn shown as plain text: a message of the owner, or an old reply."""

    def __init__(
        self, text: str, said_at: float, *, speaker: str, colour: str, note: str = "", classes: str = ""
    ) -> None:
        super().__init__(classes=f"turn {classes}", markup=False)
        self.text = text
        self._speaker = speaker
        self._said_at = said_at
        self._colour = colour
        self._show(note)

    def set_note(self, note: str) -> None:
        """Show a short note next to the time, e.g. "waits"."""
        self._show(note)

    def _show(self, note: str) -> None:
        head = _turn_head(self._speaker, self._said_at, note, self._colour)
        self.update(Content.assemble(head, "\n", shorten_for_display(plain(self.text))))


class OwnerTurn(TurnText):
    """A message of the owner."""

    def __init__(
        self, text: str, said_at: float, *, speaker: str = "you", note: str = "", is_private: bool = False
    ) -> None:
        self._is_private = is_private
        super().__init__(text, said_at, speaker=speaker, colour="$primary", note=note, classes="owner")

    def _show(self, note: str) -> None:
        parts = [OFF_RECORD if self._is_private else "", note]
        super()._show("  ".join(part for part in parts if part))


class PastReply(TurnText):
    """An old reply, shown as Markdown source because laying it out takes long, with what it rests on in documents."""

    def __init__(
        self, mind: str, said_at: float, text: str, *, is_partial: bool, citations: Sequence[CitationEntry] = ()
    ) -> None:
        note = "cut off" if is_partial else ""
        text = "\n".join((text, *citation_lines(citations)))
        super().__init__(text, said_at, speaker=mind, colour="$accent", note=note, classes="past reply")


class ReplyWidget(Vertical):
    """A reply of the mind: grows while it streams, and is settled when complete."""

    def __init__(self, mind: str, said_at: float, text: str = "", citations: Sequence[CitationEntry] = ()) -> None:
        super().__init__(classes="turn reply")
        self._citations = citations
        self._mind = mind
        self._said_at = said_at
        self._text = plain(text)
        self._plain = PlainStream()
        self._batch = ""
        self._tail = ""
        self._flush_timer: Timer | None = None
        self._wait_timer: Timer | None = None
        self._waited_seconds = 0.0
        self._stream: MarkdownStream | None = None
        self._markdown: SafeMarkdown | None = None
        self._lock = asyncio.Lock()

    @property
    def text(self) -> str:
        """The text shown so far, as Markdown source."""
        return self._text

    def compose(self) -> ComposeResult:
        yield Static(_turn_head(self._mind, self._said_at), classes="head", markup=False)
        yield self._document()
        yield Static("", classes="tail hidden", markup=False)
        yield Static("", classes="cited hidden", markup=False)
        yield Static("", classes="ending hidden", markup=False)

    def _document(self) -> "SafeMarkdown":
        # Imported with the first reply because the parser takes a while to load.
        from reveries.client.tui.safe_markdown import SafeMarkdown

        self._markdown = SafeMarkdown(self._text)
        return self._markdown

    def on_mount(self) -> None:
        self.show_citations(self._citations)

    def start_waiting(self) -> None:
        """Show that a reply is coming, until its first piece arrives."""
        self._wait_timer = self.set_interval(_WAIT_SECONDS, self._show_waiting)
        self._show_waiting()

    def add_piece(self, piece: str) -> None:
        """Add a piece; it is shown with others within 50 ms, or a little later in a long reply."""
        self._batch += piece
        if self._flush_timer is None:
            # Each update lays out the whole conversation, so longer replies are updated less often.
            pause = min(LONGEST_BATCH_SECONDS, BATCH_SECONDS * (1 + len(self._text) / _SLOWER_EACH_CHARS))
            self._flush_timer = self.set_timer(pause, self._flush)

    async def settle(self, replied: Replied) -> None:
        """Show the complete reply, and why it ended if it was cut off."""
        await self._flush(is_last=True)
        whole = plain(replied.text)
        if self._tail or (whole.strip() and whole.strip() != self._text.strip()):
            await self._show_whole(whole or self._text)
        self.show_citations(replied.citations)
        if replied.reason != "stop":
            self.end_with(replied.explanation or _ENDINGS.get(replied.reason, replied.reason))

    def show_citations(self, citations: Sequence[CitationEntry]) -> None:
        """Show below the reply what it rests on in documents."""
        if citations:
            cited = self.query_one(".cited", Static)
            cited.update(Content("\n".join(citation_lines(citations))))
            cited.remove_class("hidden")

    async def interrupt(self, why: str) -> None:
        """End the reply as it is, with a reason."""
        await self._flush(is_last=True)
        self.end_with(why)

    def end_with(self, why: str) -> None:
        """Show a line below the reply that says why it ended."""
        self._stop_waiting()
        ending = self.query_one(".ending", Static)
        ending.update(Content(one_line(why, 400)))
        ending.remove_class("hidden")

    async def _flush(self, *, is_last: bool = False) -> None:
        self._flush_timer = None
        async with self._lock:
            piece, self._batch = self._batch, ""
            shown = self._plain.feed(piece) + (self._plain.finish() if is_last else "")
            if shown:
                self._stop_waiting()
                await self._add(shown)
            if is_last:
                self._stop_waiting()
                await self._stop_stream()

    async def _add(self, shown: str) -> None:
        self._text += shown
        if len(self._text) <= STREAMED_MARKDOWN_CHARS and not self._tail:
            if self._stream is None:
                self._stream = self._shown.get_stream(self._shown)
            await self._stream.write(shown)
            return
        await self._stop_stream()
        self._tail += shown
        tail = self.query_one(".tail", Static)
        tail.update(Content(shorten_for_display(self._tail)))
        tail.remove_class("hidden")

    @property
    def _shown(self) -> "SafeMarkdown":
        assert self._markdown is not None
        return self._markdown

    async def _stop_stream(self) -> None:
        if self._stream is not None:
            stream, self._stream = self._stream, None
            await stream.stop()

    async def _show_whole(self, whole: str) -> None:
        self._text, self._tail = whole, ""
        tail = self.query_one(".tail", Static)
        if len(whole) > SETTLED_MARKDOWN_CHARS:
            await self._shown.update("")
            tail.update(Content(shorten_for_display(whole)))
            tail.remove_class("hidden")
            return
        await self._shown.update(whole)
        tail.update("")
        tail.add_class("hidden")

    def _show_waiting(self) -> None:
        if not self.is_mounted:
            return  # The timer may fire during teardown.
        dots = "·" * (1 + int(self._waited_seconds / _WAIT_SECONDS) % 3)
        seconds = f"  {self._waited_seconds:.0f} s" if self._waited_seconds >= 3 else ""
        # During teardown the widget may be gone.
        for ending in self.query(".ending").results(Static):
            ending.update(Content(f"{dots:<3}{seconds}"))
            ending.remove_class("hidden")
        self._waited_seconds += _WAIT_SECONDS

    def _stop_waiting(self) -> None:
        if self._wait_timer is not None:
            self._wait_timer.stop()
            self._wait_timer = None
            self.query_one(".ending", Static).add_class("hidden")


class Remark(Static):
    """A dim line between turns: a new day, a notice."""

    def __init__(self, text: str, *, classes: str = "") -> None:
        super().__init__(Content(plain(text)), classes=f"remark {classes}", markup=False)
