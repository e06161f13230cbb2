"""What is wrong, above the conversation, as long as it is."""

from textual.content import Content
from textual.widgets import Static

from reveries.plaintext import one_line
from reveries.protocol import Status

_CHARS = 400
_ROWS = 5


class Banner(Static):
    """`always`: what stands there however the mind is; empty for nothing."""

    def __init__(self, always: str) -> None:
        super().__init__("", id="banner", classes="hidden", markup=False)
        self._always = always
        self._warned_of = ""

    def on_mount(self) -> None:
        if self._always:
            self.warn(self._always)

    def warn_of(self, status: Status) -> None:
        """What the mind says is wrong with it."""
        worries = [*([self._always] if self._always else []), *status.problems] or (
            [] if status.health == "ok" else [status.health]
        )
        # Each in a row of its own: a long one must not hide the next.
        self.warn(*worries[:_ROWS])

    def warn(self, *rows: str) -> None:
        """Show these rows in place of what stood there; none hides it."""
        text = "\n".join(one_line(row, _CHARS) for row in rows)
        if text == self._warned_of:
            # Every few seconds the same: nothing to lay out anew.
            return
        self._warned_of = text
        self.update(Content(text))
        self.set_class(not text, "hidden")
