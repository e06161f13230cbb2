"""The help screen: the keys, those of the focused part first, and every command."""

import textwrap
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from reveries.client.slash_commands import COMMANDS, GROUPS
from reveries.client.tui.panes import columns_for
from reveries.keys import KeySettings

_NARROW_COLUMNS: Final = 64
_NARROW_INDENT: Final = 4
_Row = tuple[str, str]


def help_sections(keys: KeySettings) -> dict[str, tuple[_Row, ...]]:
    """Return the keys with their descriptions, by part of the screen."""
    return {
        "writing": (
            ("enter", "send"),
            ("shift+enter, alt+enter, ctrl+j", "new line"),
            ("up, down", "your earlier messages"),
            (keys.past, "search your earlier messages"),
            ("/", "all commands; tab completes"),
            (keys.edit, "write in your editor"),
            ("pgup, pgdn", "scroll the conversation"),
            (keys.stop, "stop the reply"),
        ),
        "the conversation": (
            ("up, down, pgup, pgdn, home, end", "scroll; earlier turns load as you go"),
            (f"{keys.mark_up}, {keys.mark_down}", "mark a message"),
            (keys.copy, "copy the marked message, else the last reply"),
            (keys.newest, "jump to the newest"),
        ),
        "a memory in the side pane": (("enter, w", "why it was recalled"), ("tab", "the next one")),
        "a title in the side pane": (("enter", "fold the pane below it"),),
        "a page": (("up, down, j, k", "scroll"), ("esc, q, enter", "close")),
        "a browser": (
            ("up, down", "another entry, also while you type"),
            ("tab", "from the search to the list to the page"),
            ("/", "search"),
            ("letters", "the actions in the line below"),
            ("esc", "close"),
        ),
        "forgetting": (
            ("the word, enter", "confirm"),
            ("up, down, pgup, pgdn", "scroll"),
            ("esc", "cancel"),
        ),
        "anywhere": (
            ("tab", "the next part of the screen"),
            ("ctrl+p", "all commands, and the colour themes"),
            (keys.side, "fold the side pane"),
            (f"{keys.leave}, ctrl+c twice", "leave; the mind stays awake"),
            (keys.help, "this help; also ? outside of text fields"),
        ),
    }


def key_name(keys: str) -> str:
    """Format key names for display: "ctrl+y,f3" becomes "Ctrl+Y, F3"."""
    names = [name.strip() for name in keys.split(",")]
    return ", ".join("+".join(part[:1].upper() + part[1:] for part in name.split("+")) for name in names)


class HelpScreen(ModalScreen[None]):
    """Closed by Esc, F1, Enter or q."""

    CSS_PATH = "panes.tcss"
    BINDINGS: ClassVar = [
        Binding("escape,f1,enter,q", "dismiss", "Close"),
        Binding("down,j", "scroll(1)", show=False),
        Binding("up,k", "scroll(-1)", show=False),
    ]

    def __init__(self, about: str, keys: KeySettings) -> None:
        super().__init__()
        self._about = about
        self._keys = keys

    def compose(self) -> ComposeResult:
        with Vertical(id="help"):
            yield Static("keys and commands", classes="title", markup=False)
            with VerticalScroll(id="help-page"):
                yield Static(self._content(), markup=False)

    def on_mount(self) -> None:
        self.query_one("#help-page").focus()

    def action_scroll(self, rows: int) -> None:
        """Scroll by a number of rows."""
        self.query_one("#help-page", VerticalScroll).scroll_relative(y=rows, animate=False)

    def _content(self) -> Content:
        places = help_sections(self._keys)
        order = sorted(places, key=lambda place: place != self._about)
        body: list[str | tuple[str, str]] = []
        for place in order:
            named = [(key_name(keys), description) for keys, description in places[place]]
            body += self._section(place, named, is_here=place == self._about)
        for group, title in GROUPS.items():
            rows = [
                (command.usage, f"{command.description}{self._key_suffix(command.key)}")
                for command in COMMANDS
                if command.group == group
            ]
            body += self._section(title, rows)
        body.append(("A dim memory in the side pane was left out of the prompt, for lack of space.", "$foreground 60%"))
        return Content.assemble(*body)

    def _section(self, title: str, rows: list[_Row], *, is_here: bool = False) -> list[str | tuple[str, str]]:
        is_narrow = self.app.size.width < _NARROW_COLUMNS
        widest = max(len(keys) for keys, _ in rows)
        parts: list[str | tuple[str, str]] = [
            (f"{title}{' (you are here)' if is_here else ''}\n", "bold" if is_here else "$foreground 60%")
        ]
        indent = _NARROW_INDENT if is_narrow else widest + 3
        width = max(12, columns_for(self.app.size.width) - indent)
        for keys, description in rows:
            parts.append((f"{keys}\n" if is_narrow else f"{keys:<{indent}}", "$accent"))
            wrapped = f"\n{' ' * indent}".join(textwrap.wrap(description, width))
            parts.append(f"{' ' * indent if is_narrow else ''}{wrapped}\n")
        return [*parts, "\n"]

    def _key_suffix(self, name: str) -> str:
        key = getattr(self._keys, name, "") if name else ""
        return f" ({key_name(key)})" if key else ""
