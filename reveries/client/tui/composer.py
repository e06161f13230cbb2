"""Where the owner writes. Enter sends; Shift+Enter, Alt+Enter, Ctrl+J begin a line; Up calls back what was said."""

from typing import ClassVar

from textual import events
from textual.binding import Binding
from textual.message import Message
from textual.widgets import TextArea

from reveries.client.tui.commands import may_become_private
from reveries.client.tui.history import History
from reveries.client.tui.slash_menu import SlashMenu
from reveries.plaintext import plain

LONGEST_SHOWN_CHARS = 20_000
"""Longer texts are written as a mark of their length: laying out a megabyte takes the widget minutes."""
_NEWLINE_KEYS = frozenset({"shift+enter", "ctrl+j", "alt+enter"})


class Composer(TextArea):
    """The draft. It is never cleared but by sending."""

    BINDINGS: ClassVar = [
        Binding("ctrl+j", "newline", "New line", show=False),
        Binding("pageup", "app.page(-1)", show=False),
        Binding("pagedown", "app.page(1)", show=False),
    ]
    HELP_TITLE = "writing"

    class Sent(Message):
        """The owner pressed Enter on words."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, menu: SlashMenu) -> None:
        super().__init__(id="composer", soft_wrap=True, highlight_cursor_line=False, compact=True)
        self.past = History()
        self.is_private = False
        self._is_answering = False
        self._menu = menu
        self._recalled: str | None = None
        self._folded: dict[str, str] = {}

    @property
    def draft(self) -> str:
        """What is written, with long texts in full."""
        text = self.text
        for mark, whole in self._folded.items():
            text = text.replace(mark, whole, 1)
        return text

    @property
    def draft_to_keep(self) -> str:
        """What may be written down of it: nothing, when it is off the record."""
        return "" if self.is_private or may_become_private(self.text) else self.draft

    def on_mount(self) -> None:
        self.cursor_blink = False
        self.set_private(self.is_private)

    def set_private(self, is_private: bool) -> None:
        """Whether what is written from now on is off the record."""
        self.is_private = is_private
        self.set_class(is_private, "private")
        self._tell_keys()

    def show_answering(self, *, is_answering: bool) -> None:
        """Whether a reply is awaited or coming: then there is something to stop."""
        if is_answering != self._is_answering:
            self._is_answering = is_answering
            self._tell_keys()

    def _tell_keys(self) -> None:
        if self.is_private:
            self.border_subtitle = "off the record: nothing is kept · /private ends it"
        elif self._is_answering:
            self.border_subtitle = "esc stops it · what you send waits · f1 help"
        else:
            self.border_subtitle = "enter sends · / commands · f1 help"

    def take_back(self, texts: list[str]) -> None:
        """Put words that were not delivered before what is written here now."""
        self.write("\n\n".join([*texts, *([self.draft] if self.text else [])]))

    def write(self, text: str) -> None:
        """Put `text` in place of the draft, the cursor behind it."""
        self.text = self._fold(plain(text))
        self.move_cursor(self.document.end)

    def sent(self, text: str, *, is_private: bool = False) -> None:
        """`text` was delivered: it is history, unless it was off the record, and the draft is empty."""
        if not is_private:
            self.past.add(text)
        self._folded.clear()
        self.clear()

    def _fold(self, text: str) -> str:
        if len(text) <= LONGEST_SHOWN_CHARS:
            return text
        mark = f"[text {len(self._folded) + 1}: {len(text):,} characters]"
        self._folded[mark] = text
        return mark

    def action_newline(self) -> None:
        """Begin a new line."""
        self.insert("\n")

    def on_text_area_changed(self) -> None:
        """What is written may be the beginning of a command; and it is no recalled text any more."""
        if self.text == self._recalled:
            self._menu.close()
            return
        self._recalled = None
        self.past.leave()
        self._menu.show_for(self.text)

    def _on_key(self, event: events.Key) -> None:  # type: ignore[override]
        if event.key in _NEWLINE_KEYS:
            self.action_newline()
        elif event.key == "enter":
            self._enter()
        elif not (self._moves_in_menu(event.key) or self._moves_in_history(event.key)):
            return
        event.stop()
        event.prevent_default()

    def _enter(self) -> None:
        if self._menu.is_open:
            # Of fast typing the menu has not heard yet.
            self._menu.show_for(self.text)
        command = self._menu.chosen
        if command is not None and command.needs_words:
            self.write(f"{command.name} ")
            return
        # A blank before it says that a slash begins no command.
        text = command.name if command is not None else self.draft.rstrip()
        self._menu.close()
        if text:
            self.post_message(self.Sent(text))

    def _moves_in_menu(self, key: str) -> bool:
        if not self._menu.is_open:
            return False
        match key:
            case "up" | "down":
                self._menu.move(1 if key == "down" else -1)
            case "escape":
                self._menu.close()
            case "tab":
                if (command := self._menu.chosen) is not None:
                    self.write(f"{command.name} " if command.words else command.name)
            case _:
                return False
        return True

    def _moves_in_history(self, key: str) -> bool:
        if key == "up" and self._cursor_row == 0:
            text = self.past.older(self.draft)
        elif key == "down" and self._cursor_row >= self.wrapped_document.height - 1:
            text = self.past.newer()
        else:
            return False
        if text is None:
            return False
        self._recalled = self._fold(plain(text))
        self.text = self._recalled
        self.move_cursor(self.document.end)
        if key == "up":
            # From the first row the next Up goes further back.
            self.move_cursor((0, len(self.document.get_line(0))))
        return True

    @property
    def _cursor_row(self) -> int:
        """On the screen, where long lines are wrapped."""
        return self.wrapped_document.location_to_offset(self.cursor_location).y

    def _on_paste(self, event: events.Paste) -> None:  # type: ignore[override]
        # What is pasted may carry escapes, and the widget would write them to the terminal.
        event.text = self._fold(plain(event.text))
