"""Forgetting from the terminal: first what would go, then a word that has to be typed, then the receipt."""

from typing import ClassVar, Final

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from reveries import protocol
from reveries.client.forget_page import forgotten_page
from reveries.client.render import Page, page_columns
from reveries.client.tui.asking import Asking
from reveries.client.tui.panes import Answer, columns_for, content_of, problem_page
from reveries.errors import ReveriesError

WORD: Final = {False: "forget", True: "erase"}
"""What has to be typed to put it away, and to erase it for good."""
_MEANING: Final = {
    False: "to put it away: it comes to mind no more, and can be brought back",
    True: "to erase it for good, from the backups too: there is no way back",
}


class ForgetPane(ModalScreen[Page | None]):
    """Shows what forgetting `key` would take. Gives the page of the receipt, or None when nothing was forgotten."""

    HELP_TITLE = "forgetting"
    CSS_PATH = "panes.tcss"
    BINDINGS: ClassVar = [
        Binding("escape", "dismiss(None)", "Leave it"),
        Binding("pageup", "scroll(-10)", show=False),
        Binding("pagedown", "scroll(10)", show=False),
        Binding("up", "scroll(-1)", show=False),
        Binding("down", "scroll(1)", show=False),
    ]

    def __init__(self, asking: Asking, key: str, *, erase: bool) -> None:
        super().__init__()
        self._asking = asking
        self._key = key
        self._erase = erase
        self._is_shown = False
        # Kept rather than looked up: an answer may come while the pane is being taken down.
        self._text = Static("…", markup=False)
        self._page = VerticalScroll(self._text, id="forget-page")
        self._word = Answer(placeholder=WORD[erase], id="answer", compact=True, max_length=20, disabled=True)

    def compose(self) -> ComposeResult:
        word = WORD[self._erase]
        with Vertical(id="forget", classes="erase" if self._erase else ""):
            yield Static("forgetting: what would go", classes="title", markup=False)
            yield self._page
            told = Content.assemble("type ", (word, "bold $warning"), f" and enter {_MEANING[self._erase]}")
            yield Static(told, id="forget-how", markup=False)
            yield self._word
            yield Static(
                Content.assemble(
                    ("up, down", "$accent"), " scroll   ", ("esc", "$accent"), " leave everything as it is"
                ),
                id="hints",
                markup=False,
            )

    def on_mount(self) -> None:
        self._look()

    def action_scroll(self, rows: int) -> None:
        """What would go may be long; the word is typed meanwhile."""
        self._page.scroll_relative(y=rows, animate=False)

    @work(exclusive=True, group="forget", name="tui.forget", exit_on_error=True)
    async def _look(self) -> None:
        try:
            plan = await self._ask(dry_run=True)
        except ReveriesError as error:
            self._show(problem_page(str(error)))
            return
        self._show(self._page_of(plan))
        if plan.stores or plan.item_count:
            self._is_shown = True
            self._word.disabled = False
            self.set_focus(self._word)

    @on(Input.Submitted, "#answer")
    def _typed(self, submitted: Input.Submitted) -> None:
        if self._is_shown and submitted.value.strip() == WORD[self._erase]:
            self._is_shown = False
            self._word.disabled = True
            self._do()
        else:
            self._word.value = ""

    @work(exclusive=True, group="forget", name="tui.forget.do", exit_on_error=True)
    async def _do(self) -> None:
        try:
            receipt = await self._ask(dry_run=False)
        except ReveriesError as error:
            self._show(problem_page(str(error)))
            return
        self.dismiss(self._page_of(receipt))

    async def _ask(self, *, dry_run: bool) -> protocol.Forgotten:
        key, erase = self._key, self._erase
        return await self._asking.answer(
            lambda number: protocol.Forget(number, id=key, dry_run=dry_run, erase=erase), protocol.Forgotten
        )

    def _page_of(self, told: protocol.Forgotten) -> Page:
        with page_columns(columns_for(self.app.size.width)):
            return forgotten_page(told)

    def _show(self, page: Page) -> None:
        self._text.update(content_of(page))
