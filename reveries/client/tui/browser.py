"""A generic browser: a list with a page next to it, for memories, sleep passes, conversations, thoughts and projects.

What is listed, what a page says and what can be done with an entry comes from a `BrowserListing` (browsers.py).
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import ClassVar, Final, Protocol

from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Container, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from reveries.client.render import Page, line, page_columns, paragraph
from reveries.client.tui.panes import (
    LONGEST_WORDS_CHARS,
    NARROWEST_PAGE_COLUMNS,
    Find,
    PromptPane,
    Sure,
    content_of,
    problem_page,
)
from reveries.errors import ReveriesError
from reveries.safe_text import plain

_TYPING_PAUSE_SECONDS: Final = 0.15
_MOVING_PAUSE_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of the list, with the key that its listing knows it by."""

    key: str
    row: Content


@dataclass(frozen=True, slots=True)
class Deed:
    """What a key does with an entry. `asks`: the yes-or-no question before it runs; `takes`: the prompt for text that
    it needs; either is empty for none."""

    key: str
    meaning: str
    asks: str = ""
    takes: str = ""


@dataclass(frozen=True, slots=True)
class Refill:
    """Reload the list. `page` is shown next to it; the search text becomes `words`."""

    page: Page | None = None
    words: str | None = None


@dataclass(frozen=True, slots=True)
class Leave:
    """Close the browser with `text` as its result."""

    text: str = ""


@dataclass(frozen=True, slots=True)
class Opened:
    """Open another screen over the browser; if it returns a page, show the page and reload the list."""

    screen: ModalScreen[None] | ModalScreen[Page | None]


@dataclass(frozen=True, slots=True)
class Deeper:
    """Browse another listing; when it is closed, reload this list."""

    shelf: "BrowserShelf"


Outcome = Page | Refill | Leave | Opened | Deeper


class BrowserShelf(Protocol):
    """What a browser lists. Every method may raise ReveriesError, which is shown."""

    @property
    def title(self) -> str: ...

    @property
    def placeholder(self) -> str:
        """The prompt of the search field; empty for no search."""
        ...

    @property
    def nothing(self) -> str:
        """The sentence shown for an empty list."""
        ...

    @property
    def refresh_seconds(self) -> float:
        """How often the list reloads while its first row is highlighted; 0: only after an action."""
        ...

    @property
    def deeds(self) -> tuple[Deed, ...]: ...

    async def entries(self, words: str) -> list[Entry]: ...

    async def page(self, key: str) -> Page: ...

    async def do(self, deed: Deed, key: str, words: str = "") -> Outcome: ...


class Browser(ModalScreen[str | None]):
    """Returns None when closed by Esc, else the text of the action that closed it."""

    HELP_TITLE = "a browser"
    CSS_PATH = "panes.tcss"
    BINDINGS: ClassVar = [
        Binding("escape", "back", "Close"),
        Binding("slash", "find", "Find", show=False),
        Binding("question_mark", "app.help", show=False),
    ]

    def __init__(self, shelf: BrowserShelf, words: str = "", *, starts_typing: bool = False) -> None:
        super().__init__()
        self.shelf = shelf
        self._words = words
        self._starts_typing = starts_typing
        self._entries: list[Entry] = []
        self._keeps_page = False
        self._is_deed_read = False
        """Whether the page shows the result of an action, which automatic reloads must not replace."""
        # Attributes, not queries: an answer may arrive while the browser is being torn down.
        self._find = Find(words, placeholder=shelf.placeholder, id="find", compact=True, max_length=LONGEST_WORDS_CHARS)
        self._rows = OptionList(id="entries", markup=False, compact=True)
        self._text = Static("", id="page-text", markup=False)
        self._page = VerticalScroll(self._text, id="page")

    def compose(self) -> ComposeResult:
        with Vertical(id="browser"):
            yield Static(Content(plain(self.shelf.title)), classes="title", markup=False)
            self._find.display = bool(self.shelf.placeholder)
            yield self._find
            yield Container(self._rows, self._page, id="shelf")
            yield Static(self._hints(), id="hints", markup=False)

    def on_mount(self) -> None:
        self._show(paragraph("…", style="dim"))
        self.set_focus(self._find if self._starts_typing else self._rows)
        self._fill()
        if self.shelf.refresh_seconds:
            self.set_interval(self.shelf.refresh_seconds, self._follow)

    def _follow(self) -> None:
        """Reload the list, unless the owner has moved down in it or is reading the page."""
        if self.is_current and not self._rows.highlighted and not self._is_deed_read and not self._page.has_focus:
            self._fill(keeps_same=True)

    # --- the list ----------------------------------------------------------------------------------------------------

    @on(Input.Changed, "#find")
    def _typed(self, changed: Input.Changed) -> None:
        if changed.value != self._words:
            self._words = plain(changed.value)
            self._fill(_TYPING_PAUSE_SECONDS)

    @work(exclusive=True, group="fill", name="tui.fill", exit_on_error=True)
    async def _fill(self, pause_seconds: float = 0.0, *, keeps_same: bool = False) -> None:
        if pause_seconds:
            # If typing goes on, the next worker of this group cancels this one.
            await asyncio.sleep(pause_seconds)
        before = self.marked
        try:
            self._entries = await self.shelf.entries(self._words)
        except ReveriesError as error:
            self._entries = []
            self._show(problem_page(str(error)))
            self._keeps_page = True
        rows = self._rows
        rows.clear_options()
        rows.add_options([Option(entry.row) for entry in self._entries])
        if self._entries:
            is_same = keeps_same and before is not None and before.key == self._entries[0].key
            self._keeps_page = self._keeps_page or is_same
            rows.highlighted = 0
            return
        if not self._keeps_page:
            self._show(paragraph(self.shelf.nothing, style="dim"))
        self._keeps_page = False

    @on(OptionList.OptionHighlighted, "#entries")
    def _moved(self) -> None:
        if not self._keeps_page:
            self._is_deed_read = False
            self._open()
        self._keeps_page = False

    @work(exclusive=True, group="open", name="tui.open", exit_on_error=True)
    async def _open(self) -> None:
        if (entry := self.marked) is None:
            return
        await asyncio.sleep(_MOVING_PAUSE_SECONDS)
        with page_columns(self._columns()):
            await self._told(lambda: self.shelf.page(entry.key))

    @property
    def marked(self) -> Entry | None:
        """The highlighted entry."""
        place = self._rows.highlighted
        return self._entries[place] if place is not None and place < len(self._entries) else None

    # --- what is done with an entry ----------------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        """Handle the listing's action keys; while text is typed, only those that are not printable."""
        if self.focused is None and self._starts_typing and event.character and event.is_printable:
            # Typed while the browser was still opening.
            self._find.insert_text_at_cursor(event.character)
            event.stop()
            return
        is_typing = self._starts_typing if self.focused is None else self._find.has_focus
        if is_typing and event.key in ("up", "down", "pageup", "pagedown"):
            rows = self._rows
            moves = {"up": rows.action_cursor_up, "down": rows.action_cursor_down}
            moves |= {"pageup": rows.action_page_up, "pagedown": rows.action_page_down}
            moves[event.key]()
            event.stop()
            return
        deed = next((deed for deed in self.shelf.deeds if deed.key == event.key), None)
        if deed is not None and (not is_typing or not event.is_printable):
            event.stop()
            self._do(deed)

    @on(OptionList.OptionSelected, "#entries")
    @on(Input.Submitted, "#find")
    def _entered(self) -> None:
        deed = next((deed for deed in self.shelf.deeds if deed.key == "enter"), None)
        if deed is not None:
            self._do(deed)
        else:
            self.set_focus(self._page)

    @work(exclusive=True, group="do", name="tui.do", exit_on_error=True)
    async def _do(self, deed: Deed) -> None:
        if (entry := self.marked) is None:
            return
        words = ""
        if deed.takes and not (words := await self.app.push_screen_wait(PromptPane(deed.takes))):
            return
        if deed.asks and not await self.app.push_screen_wait(Sure(deed.asks)):
            return
        # A page that is still loading would replace the action's result.
        self.workers.cancel_group(self, "open")
        with page_columns(self._columns()):
            await self._told(lambda: self.shelf.do(deed, entry.key, words))
        self._is_deed_read = True

    async def _told(self, ask: Callable[[], Awaitable[Outcome]]) -> None:
        try:
            outcome = await ask()
        except ReveriesError as error:
            self._show(problem_page(str(error)))
            return
        match outcome:
            case Leave(text=text):
                self.dismiss(text)
            case Opened(screen=screen):
                self.app.push_screen(screen, self._came_back)
            case Deeper(shelf=shelf):
                self.app.push_screen(Browser(shelf), self._came_up)
            case Refill(page=page, words=words):
                if page is not None:
                    self._show(page)
                self._keeps_page = page is not None
                if words is not None:
                    self._words = words
                    self._find.value = words
                self._fill()
            case _:
                self._show(outcome)

    def _came_up(self, _: str | None) -> None:
        self._fill()

    def _came_back(self, page: Page | None) -> None:
        if page is not None:
            self._show(page)
            self._keeps_page = True
            self._fill()

    def action_back(self) -> None:
        """Esc: from the page back to the list; from the list, close."""
        if self._page.has_focus:
            self.set_focus(self._rows)
        else:
            self.dismiss(None)

    def action_find(self) -> None:
        """Slash: focus the search field."""
        if self.shelf.placeholder:
            self.set_focus(self._find)

    # -----------------------------------------------------------------------------------------------------------------

    def _show(self, page: Page) -> None:
        self._text.update(content_of(page or [line()]))
        self._page.scroll_home(animate=False)

    def _columns(self) -> int:
        return max(NARROWEST_PAGE_COLUMNS, self._page.size.width - 3)

    def _hints(self) -> Content:
        hints = [(deed.key, deed.meaning) for deed in self.shelf.deeds]
        if self.shelf.placeholder:
            hints.append(("/", "find"))
        parts: list[str | tuple[str, str]] = []
        for key, meaning in [*hints, ("tab", "next part"), ("esc", "close")]:
            parts += [(key, "$accent"), (f" {meaning}   ", "$foreground 60%")]
        return Content.assemble(*parts)
