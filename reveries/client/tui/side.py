"""The side pane: the monologue as it streams, and the memories recalled for the last turn."""

from typing import TYPE_CHECKING, ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from reveries.client.wording import ago, plural
from reveries.clock import Clock
from reveries.protocol import RecalledItem, ThoughtBegan, ThoughtEnded, ThoughtToken
from reveries.safe_text import PlainStream, one_line

if TYPE_CHECKING:
    from textual.timer import Timer

BATCH_SECONDS: Final = 0.1
_SHOWN_CHARS = 6_000
_SHOWN_ITEMS = 30
_BAR_CELLS = 8
_NOTHING_YET = "What it recalls as you talk appears here."


class MonologuePane(VerticalScroll):
    """The current or last thought: why it began, its text, why it ended."""

    def __init__(self) -> None:
        super().__init__(id="monologue")
        self._plain = PlainStream()
        self._text = ""
        self._timer: Timer | None = None

    def compose(self) -> ComposeResult:
        yield Static(
            Content("Nothing yet. What it thinks between conversations appears here."),
            id="thought-text",
            classes="quiet",
            markup=False,
        )
        yield Static("", id="thought-end", markup=False)

    @property
    def text(self) -> str:
        """The text of the thought."""
        return self._text

    def show(self, frame: ThoughtBegan | ThoughtToken | ThoughtEnded) -> None:
        """Show an event of the monologue."""
        match frame:
            case ThoughtBegan():
                self._plain = PlainStream()
                self._text = self._plain.feed(frame.so_far)
                self._show_reason(one_line(frame.reason))
                self.query_one("#thought-end", Static).update("")
                self._show_text()
            case ThoughtToken():
                missed = f" […{frame.skipped}…] " if frame.skipped else ""
                self._text = (self._text + missed + self._plain.feed(frame.text))[-_SHOWN_CHARS:]
                if self._timer is None:
                    self._timer = self.set_timer(BATCH_SECONDS, self._show_text)
            case ThoughtEnded():
                self._text += self._plain.finish()
                why = one_line(frame.explanation or frame.reason)
                self.query_one("#thought-end", Static).update(Content(f"{why}\n{plural(frame.tokens, 'token')}"))
                self._show_text()

    def _show_reason(self, reason: str) -> None:
        line = self.screen.query_one("#thought-reason", Static)
        line.update(Content(reason))
        line.remove_class("hidden")

    def _show_text(self) -> None:
        self._timer = None
        words = self.query_one("#thought-text", Static)
        words.remove_class("quiet")
        words.update(Content(self._text.strip()))
        self._follow()

    def _follow(self) -> None:
        """Scroll to the end, unless the owner has scrolled up to read."""
        if self.scroll_y >= self.max_scroll_y - 1:
            self.call_after_refresh(self.scroll_end, animate=False)


class RecalledPane(VerticalScroll):
    """The episodes that surfaced for the last turn, strongest first; dim if left out of the prompt."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(id="recalled")
        self._clock = clock

    def compose(self) -> ComposeResult:
        yield Static(Content(_NOTHING_YET), classes="quiet", markup=False)

    async def show_last(self, items: list[RecalledItem]) -> None:
        """Show the memories of an attached conversation, which may have no turn yet."""
        if items:
            await self.show(items)
        else:
            await self.remove_children()
            await self.mount(Static(Content(_NOTHING_YET), classes="quiet", markup=False))

    async def show(self, items: list[RecalledItem]) -> None:
        """Show the memories that surfaced, in place of the earlier ones."""
        await self.remove_children()
        if not items:
            await self.mount(
                Static(
                    Content("Nothing earlier was recalled for this message."),
                    classes="quiet",
                    markup=False,
                )
            )
            return
        now = self._clock.now()
        await self.mount_all([MemoryCard(item, now) for item in items[:_SHOWN_ITEMS]])
        self.scroll_home(animate=False)


class MemoryCard(Static):
    """One memory. Enter or a click shows why it was recalled."""

    can_focus = True
    HELP_TITLE = "a memory in the side pane"
    BINDINGS: ClassVar = [Binding("enter,w", "choose", "Why", show=False)]

    class Chosen(Message):
        """The owner asks why this memory was recalled."""

        def __init__(self, item: RecalledItem) -> None:
            super().__init__()
            self.item = item

    def __init__(self, item: RecalledItem, now: float) -> None:
        super().__init__(
            _card_content(item, now), classes="card" if item.was_told else "card not-in-prompt", markup=False
        )
        self._item = item

    def action_choose(self) -> None:
        """Post `Chosen`."""
        self.post_message(self.Chosen(self._item))

    def on_click(self) -> None:
        """The mouse's Enter."""
        self.action_choose()


def _card_content(item: RecalledItem, now: float) -> Content:
    full = round(_BAR_CELLS * max(0.0, min(1.0, item.energy)))
    parts: list[Content | str | tuple[str, str]] = [
        ("━" * full, "$accent"),
        ("━" * (_BAR_CELLS - full), "$foreground 20%"),
        (f"  {ago(item.happened_at, now)}\n" if item.happened_at else "\n", "$foreground 60%"),
        one_line(item.summary, 180),
    ]
    if item.quote and one_line(item.quote) not in one_line(item.summary, 1000):
        parts.append((f"\n“{one_line(item.quote, 160)}”", "italic $foreground 60%"))
    if item.quote_speaker:
        parts.append((f"\n{one_line(item.quote_speaker, 40)}", "$foreground 60%"))
    return Content.assemble(*parts)


class PaneTitle(Static):
    """The title of a pane. Enter or a click folds the pane."""

    can_focus = True
    HELP_TITLE = "a title in the side pane"
    BINDINGS: ClassVar = [Binding("enter,space", "fold", "Fold", show=False)]

    def __init__(self, title: str, *panes: Widget) -> None:
        super().__init__("", classes="title fold", markup=False)
        self._title = title
        self._panes = panes
        self._is_folded = False

    def on_mount(self) -> None:
        self._draw()

    def action_fold(self) -> None:
        """Fold or unfold."""
        self._is_folded = not self._is_folded
        for pane in self._panes:
            pane.set_class(self._is_folded, "folded")
        self._draw()

    def on_click(self) -> None:
        """The mouse's Enter."""
        self.action_fold()

    def _draw(self) -> None:
        self.update(Content(f"{'▸' if self._is_folded else '▾'} {self._title}"))


class SidePane(Vertical):
    """The monologue pane above the pane of recalled memories."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(id="side")
        self.monologue = MonologuePane()
        self.recalled = RecalledPane(clock)

    def compose(self) -> ComposeResult:
        reason = Static("", id="thought-reason", classes="hidden", markup=False)
        yield PaneTitle("thinking", reason, self.monologue)
        yield reason
        yield self.monologue
        yield PaneTitle("recalled just now", self.recalled)
        yield self.recalled
