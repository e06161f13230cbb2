"""The welcome text of an empty conversation (model, memory, cost), and the banner for problems."""

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
    """Shows problems above the conversation. `always`: a text that is always shown; empty for none."""

    def __init__(self, always: str) -> None:
        super().__init__("", id="banner", classes="hidden", markup=False)
        self._always = always
        self._shown_text = ""

    def on_mount(self) -> None:
        if self._always:
            self.show_rows(self._always)

    def show_problems(self, status: Status) -> None:
        """Show the problems that the status reports."""
        problems = [*([self._always] if self._always else []), *status.problems] or (
            [] if status.health == "ok" else [status.health]
        )
        # One row each: a long problem must not hide the next.
        self.show_rows(*problems[:_ROWS])

    def show_rows(self, *rows: str) -> None:
        """Show these rows in place of the earlier ones; without rows the banner is hidden."""
        text = "\n".join(one_line(row, _CHARS) for row in rows)
        if text == self._shown_text:
            # Called every few seconds: unchanged text needs no new layout.
            return
        self._shown_text = text
        self.update(Content(text))
        self.set_class(not text, "hidden")


class WelcomeText(Vertical):
    """The text of an empty conversation, removed with the first message."""

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
