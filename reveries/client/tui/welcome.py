"""What a new owner reads before the first word: what this is, what it runs on, where it keeps its memory, its cost."""

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Static

from reveries.client.wording import dollars
from reveries.protocol import Status
from reveries.safe_text import one_line

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


class WelcomeText(Vertical):
    """The text of an empty conversation. It goes with the first word."""

    def __init__(self, mind: str, status: Status) -> None:
        super().__init__(classes="welcome")
        self._mind = one_line(mind, 60)
        self._status = status

    def compose(self) -> ComposeResult:
        yield Static(Content.styled(f"{self._mind} is awake.\n", "bold $accent"), markup=False)
        yield Static(
            Content("A mind that stays on your machine. It remembers what you say, and thinks while you are gone.\n"),
            markup=False,
        )
        for label, text in self._rows():
            with Horizontal():
                yield Static(label, classes="label", markup=False)
                yield Static(Content(text), classes="value", markup=False)
        yield Static(Content("\nSay something."), markup=False)

    def _rows(self) -> list[tuple[str, str]]:
        model = next((use.model for use in self._status.models if use.role == "conversation"), "a model")
        is_local = model.startswith(("embedded", "ollama"))
        spent = "nothing: the model is local" if is_local else f"{dollars(self._status.dollars_month)} this month"
        home = one_line(self._status.home, 80)
        return [
            ("model", f"{one_line(model, 60)}, {'on this machine' if is_local else 'at the provider you chose'}"),
            ("memory", f"{home}, readable by you alone"),
            ("cost", spent),
            ("leaving", "ctrl+d; it stays awake. To end it: reveries sleep"),
        ]
