"""The keys, on one screen."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from reveries.client.tui.looks import LOOKS

_KEYS = (
    ("Enter", "send"),
    ("Shift+Enter, Ctrl+J", "new line"),
    ("Esc", "stop the reply"),
    ("Ctrl+L", "jump to the newest"),
    ("Tab", "move between writing and the conversation"),
    ("Up, Down, PgUp, PgDn", "scroll, when the conversation has the focus"),
    ("F2", "what it was told for the last turn"),
    ("Ctrl+T", "fold or unfold the side pane"),
    ("Ctrl+P", "all commands, and the colours"),
    ("Ctrl+D, or Ctrl+C twice", "leave; the mind stays awake"),
)


class Help(ModalScreen[None]):
    """Closed by any of Esc, F1, Enter."""

    BINDINGS: ClassVar = [Binding("escape,f1,enter,q", "dismiss", "Close")]

    def compose(self) -> ComposeResult:
        widest = max(len(keys) for keys, _ in _KEYS)
        body: list[str | tuple[str, str]] = []
        for keys, meaning in _KEYS:
            body += [(f"{keys:<{widest + 3}}", "$accent"), f"{meaning}\n"]
        body.append(("\nLook inside: type and send\n", "$foreground 60%"))
        for usage, meaning in LOOKS:
            body += [(f"{usage:<{widest + 3}}", "$accent"), f"{meaning}\n"]
        body.append(
            (
                "\nAt the side: what it thinks, and what came to its mind for your words.\n",
                "$foreground 60%",
            )
        )
        body.append(("A memory that is dim was not told to the model: there was no room for it.", "$foreground 60%"))
        with Vertical(id="help"):
            yield Static("keys", classes="title", markup=False)
            yield Static(Content.assemble(*body), markup=False)
