"""What a new owner reads before the first word: what this is, what it runs on, where it keeps its memory, its cost."""

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Static

from reveries.client.wording import dollars
from reveries.plaintext import one_line
from reveries.protocol import Status


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
