"""Keys that type text although Textual does not count their characters as printable."""

from textual import events
from textual.widgets import Input

from reveries.safe_text import plain


def typed_text(key: events.Key) -> str:
    """Return the character of `key` if Textual would drop it although it is text, else "". Pure.

    Python calls only those characters printable that it knows and that leave ink: neither the joiners inside Persian
    and Hindi words and emoji, nor no-break and ideographic spaces, nor emoji newer than itself.
    """
    character = key.character
    is_text = character is not None and not character.isprintable() and not set(character) & {"\n", "\t"}
    return character if character is not None and is_text and plain(character) == character else ""


class TextInput(Input):
    """A one-line field that takes all text."""

    def _on_key(self, event: events.Key) -> None:  # type: ignore[override]
        if text := typed_text(event):
            event.stop()
            event.prevent_default()
            self.replace(text, *self.selection)
