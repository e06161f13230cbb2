"""Where the owner writes. Enter sends; Shift+Enter and Ctrl+J begin a new line."""

from typing import ClassVar

from textual import events
from textual.binding import Binding
from textual.message import Message
from textual.widgets import TextArea

from reveries.plaintext import plain

_NEWLINE_KEYS = frozenset({"shift+enter", "ctrl+j", "alt+enter"})


class Composer(TextArea):
    """The draft. It is never cleared but by sending."""

    BINDINGS: ClassVar = [Binding("ctrl+j", "newline", "New line", show=False)]

    class Sent(Message):
        """The owner pressed Enter on words."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self) -> None:
        super().__init__(id="composer", soft_wrap=True, highlight_cursor_line=False, compact=True)

    def on_mount(self) -> None:
        self.border_subtitle = "enter sends · f1 help"

    def take_back(self, texts: list[str]) -> None:
        """Put words that were not delivered before what is written here now."""
        self.text = "\n\n".join([*texts, *([self.text] if self.text else [])])
        self.move_cursor(self.document.end)

    def action_newline(self) -> None:
        """Begin a new line."""
        self.insert("\n")

    def _on_key(self, event: events.Key) -> None:  # type: ignore[override]
        if event.key in _NEWLINE_KEYS:
            event.stop()
            event.prevent_default()
            self.action_newline()
        elif event.key == "enter":
            event.stop()
            event.prevent_default()
            if self.text.strip():
                self.post_message(self.Sent(self.text.strip()))

    def _on_paste(self, event: events.Paste) -> None:  # type: ignore[override]
        # What is pasted may carry escapes, and the widget would write them to the terminal.
        event.text = plain(event.text)
