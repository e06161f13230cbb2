"""The keys of the application, and the owner's own in their place (client.keys)."""

from typing import Final

from textual.binding import Binding

from reveries.config import ClientSettings


def _key_binding(name: str, keys: str, meaning: str, command: str) -> Binding:
    return Binding(keys, f"command('{command}')", meaning, show=False, priority=True, id=name)


KEYS: Final = [
    Binding("escape", "stop_reply", "Stop the reply", show=False, id="stop"),
    Binding("ctrl+c", "leave_or_copy", "Copy, or stop the reply; twice: leave", show=False, priority=True),
    Binding("ctrl+d", "detach", "Leave", show=False, priority=True, id="leave"),
    Binding("alt+up", "mark(-1)", "Mark the message before", show=False, priority=True, id="mark_up"),
    Binding("alt+down", "mark(1)", "Mark the message after", show=False, priority=True, id="mark_down"),
    Binding("f1", "help", "Keys", show=False, priority=True, id="help"),
    _key_binding("newest", "ctrl+l", "Jump to the newest", "/newest"),
    _key_binding("side", "ctrl+t", "Fold the side pane", "/side"),
    _key_binding("edit", "ctrl+g", "Write in your editor", "/edit"),
    _key_binding("past", "ctrl+r", "Find what you said before", "/past"),
    _key_binding("copy", "ctrl+y", "Copy the message", "/copy"),
    _key_binding("context", "f2", "What it was told", "/context"),
    _key_binding("recalled", "f3", "What came to its mind, and why", "/recalled"),
    _key_binding("memory", "f4", "Browse its memory", "/memory"),
    _key_binding("sleeps", "f5", "What sleep did", "/sleeps"),
    _key_binding("thoughts", "f6", "What it thought", "/thoughts"),
    _key_binding("status", "f7", "How it is", "/status"),
    _key_binding("graph", "f9", "Its memory as a picture", "/graph"),
    _key_binding("projects", "f10", "What it works on for you", "/projects"),
    _key_binding("conversations", "f8", "Conversations", "/resume"),
]


def keymap(settings: ClientSettings) -> dict[str, str]:
    """The owner's keys by the names of their settings; a key that is empty is none."""
    return {name: getattr(settings.keys, name) or "f24" for name in settings.keys.__struct_fields__}
