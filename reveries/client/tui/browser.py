"""A generic browser: a list with a page next to it, for memories, sleep passes, conversations, thoughts and projects.

What is listed, what a page says and what can be done with an entry comes from a `BrowserListing`; the `*_listings`
modules hold them.
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
    ConfirmPane,
    FindInput,
    PromptPane,
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
class BrowserAction:
    """What a key does with an entry. `asks`: the yes-or-no question before it runs; `takes`: the prompt for text that
    it needs; either is empty for none."""

    key: str
    description: str
    confirmation: str = ""
    prompt: str = ""


@dataclass(frozen=True, slots=True)
class ReloadList:
    """Reload the list. `page` is shown next to it; the search text becomes `words`."""

    page: Page | None = None
    words: str | None = None


@dataclass(frozen=True, slots=True)
class CloseBrowser:
    """Close the browser with `text` as its result."""

    text: str = ""


@dataclass(frozen=True, slots=True)
class OpenScreen:
    """Open another screen over the browser; if it returns a page, show the page and reload the list."""

    screen: ModalScreen[None] | ModalScreen[Page | None]


@dataclass(frozen=True, slots=True)
class OpenListing:
    """Browse another listing; when it is closed, reload this list."""

    listing: "BrowserListing"


ActionOutcome = Page | ReloadList | CloseBrowser | OpenScreen | OpenListing


class BrowserListing(Protocol):
    """What a browser lists. Every method may raise ReveriesError, which is shown."""

    @property
    def title(self) -> str: ...

    @property
    def placeholder(self) -> str:
        """The prompt of the search field; empty for no search."""
        ...

    @property
    def empty_text(self) -> str:
        """The sentence shown for an empty list."""
        ...

    @property
    def refresh_seconds(self) -> float:
        """How often the list reloads while its first row is highlighted; 0: only after an action."""
        ...

    @property
    def actions(self) -> tuple[BrowserAction, ...]: ...

    async def entries(self, words: str) -> list[Entry]: ...

    async def page(self, key: str) -> Page: ...

    async def run_action(self, action: BrowserAction, key: str, words: str = "") -> ActionOutcome: ...


class Browser(ModalScreen[str | None]):
    """Returns None when closed by Esc, else the text of the action that closed it."""

    HELP_TITLE = "a browser"
    CSS_PATH = "panes.tcss"
    BINDINGS: ClassVar = [
        Binding("escape", "back", "Close"),
        Binding("slash", "find", "Find", show=False),
        Binding("question_mark", "app.help", show=False),
    ]

    def __init__(self, listing: BrowserListing, words: str = "", *, starts_typing: bool = False) -> None:
        super().__init__()
        self.listing = listing
        self._words = words
        self._starts_typing = starts_typing
        self._entries: list[Entry] = []
        self._keeps_page = False
        self._shows_action_result = False
        """Whether the page shows the result of an action, which automatic reloads must not replace."""
        # Attributes, not queries: an answer may arrive while the browser is being torn down.
        self._find = FindInput(
            words, placeholder=listing.placeholder, id="find", compact=True, max_length=LONGEST_WORDS_CHARS
        )
        self._rows = OptionList(id="entries", markup=False, compact=True)
        self._text = Static("", id="page-text", markup=False)
        self._page = VerticalScroll(self._text, id="page")

    def compose(self) -> ComposeResult:
        with Vertical(id="browser"):
            yield Static(Content(plain(self.listing.title)), classes="title", markup=False)
            self._find.display = bool(self.listing.placeholder)
            yield self._find
            yield Container(self._rows, self._page, id="browser-body")
            yield Static(self._hints(), id="hints", markup=False)

    def on_mount(self) -> None:
        self._show_page(paragraph("…", style="dim"))
        self.set_focus(self._find if self._starts_typing else self._rows)
        self._load_entries()
        if self.listing.refresh_seconds:
            self.set_interval(self.listing.refresh_seconds, self._refresh_entries)

    def _refresh_entries(self) -> None:
        """Reload the list, unless the owner has moved down in it or is reading the page."""
        if (
            self.is_current
            and not self._rows.highlighted
            and not self._shows_action_result
            and not self._page.has_focus
        ):
            self._load_entries(keeps_same=True)

    # --- the list ----------------------------------------------------------------------------------------------------

    @on(Input.Changed, "#find")
    def _search_changed(self, changed: Input.Changed) -> None:
        if changed.value != self._words:
            self._words = plain(changed.value)
            self._load_entries(_TYPING_PAUSE_SECONDS)

    @work(exclusive=True, group="fill", name="tui.fill", exit_on_error=True)
    async def _load_entries(self, pause_seconds: float = 0.0, *, keeps_same: bool = False) -> None:
        if pause_seconds:
            # If typing goes on, the next worker of this group cancels this one.
            await asyncio.sleep(pause_seconds)
        before = self.marked
        try:
            self._entries = await self.listing.entries(self._words)
        except ReveriesError as error:
            self._entries = []
            self._show_page(problem_page(str(error)))
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
            self._show_page(paragraph(self.listing.empty_text, style="dim"))
        self._keeps_page = False

    @on(OptionList.OptionHighlighted, "#entries")
    def _highlight_changed(self) -> None:
        if not self._keeps_page:
            self._shows_action_result = False
            self._open_page()
        self._keeps_page = False

    @work(exclusive=True, group="open", name="tui.open", exit_on_error=True)
    async def _open_page(self) -> None:
        if (entry := self.marked) is None:
            return
        await asyncio.sleep(_MOVING_PAUSE_SECONDS)
        with page_columns(self._columns()):
            await self._show_outcome(lambda: self.listing.page(entry.key))

    @property
    def marked(self) -> Entry | None:
        """The highlighted entry."""
        index = self._rows.highlighted
        return self._entries[index] if index is not None and index < len(self._entries) else None

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
        action = next((action for action in self.listing.actions if action.key == event.key), None)
        if action is not None and (not is_typing or not event.is_printable):
            event.stop()
            self._run_action(action)

    @on(OptionList.OptionSelected, "#entries")
    @on(Input.Submitted, "#find")
    def _select_entry(self) -> None:
        action = next((action for action in self.listing.actions if action.key == "enter"), None)
        if action is not None:
            self._run_action(action)
        else:
            self.set_focus(self._page)

    @work(exclusive=True, group="do", name="tui.do", exit_on_error=True)
    async def _run_action(self, action: BrowserAction) -> None:
        if (entry := self.marked) is None:
            return
        words = ""
        if action.prompt and not (words := await self.app.push_screen_wait(PromptPane(action.prompt))):
            return
        if action.confirmation and not await self.app.push_screen_wait(ConfirmPane(action.confirmation)):
            return
        # A page that is still loading would replace the action's result.
        self.workers.cancel_group(self, "open")
        with page_columns(self._columns()):
            await self._show_outcome(lambda: self.listing.run_action(action, entry.key, words))
        self._shows_action_result = True

    async def _show_outcome(self, ask: Callable[[], Awaitable[ActionOutcome]]) -> None:
        try:
            outcome = await ask()
        except ReveriesError as error:
            self._show_page(problem_page(str(error)))
            return
        match outcome:
            case CloseBrowser(text=text):
                self.dismiss(text)
            case OpenScreen(screen=screen):
                self.app.push_screen(screen, self._reload_after_screen)
            case OpenListing(listing=listing):
                self.app.push_screen(Browser(listing), self._reload_after_listing)
            case ReloadList(page=page, words=words):
                if page is not None:
                    self._show_page(page)
                self._keeps_page = page is not None
                if words is not None:
                    self._words = words
                    self._find.value = words
                self._load_entries()
            case _:
                self._show_page(outcome)

    def _reload_after_listing(self, _: str | None) -> None:
        self._load_entries()

    def _reload_after_screen(self, page: Page | None) -> None:
        if page is not None:
            self._show_page(page)
            self._keeps_page = True
            self._load_entries()

    def action_back(self) -> None:
        """Esc: from the page back to the list; from the list, close."""
        if self._page.has_focus:
            self.set_focus(self._rows)
        else:
            self.dismiss(None)

    def action_find(self) -> None:
        """Slash: focus the search field."""
        if self.listing.placeholder:
            self.set_focus(self._find)

    # -----------------------------------------------------------------------------------------------------------------

    def _show_page(self, page: Page) -> None:
        self._text.update(content_of(page or [line()]))
        self._page.scroll_home(animate=False)

    def _columns(self) -> int:
        return max(NARROWEST_PAGE_COLUMNS, self._page.size.width - 3)

    def _hints(self) -> Content:
        hints = [(action.key, action.description) for action in self.listing.actions]
        if self.listing.placeholder:
            hints.append(("/", "find"))
        parts: list[str | tuple[str, str]] = []
        for key, description in [*hints, ("tab", "next part"), ("esc", "close")]:
            parts += [(key, "$accent"), (f" {description}   ", "$foreground 60%")]
        return Content.assemble(*parts)
