"""The pane for forgetting: shows what would be affected, asks for a word to be typed, and returns the receipt."""

import re
from typing import ClassVar, Final

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from reveries import protocol
from reveries.client.features.forgetting import forgotten_page
from reveries.client.render import Page, page_columns
from reveries.client.tui.mind_queries import MindQueries
from reveries.client.tui.panes import AnswerInput, columns_for, content_of, problem_page
from reveries.errors import NotFoundError, ReveriesError

CONFIRMATION_WORDS: Final = {False: "forget", True: "erase"}
"""The word to type, by whether it erases."""
_EFFECTS: Final = {
    False: "to archive it: it is no longer recalled, and can be restored",
    True: "to erase it for good, also from backups: this cannot be undone",
}


_ID: Final = re.compile("[0-9a-f]{4,32}")


class ForgetPane(ModalScreen[Page | None]):
    """Shows what forgetting `key` would affect: an id or id prefix, else whole words to match. Returns the receipt's
    page, or None if nothing was forgotten."""

    HELP_TITLE = "forgetting"
    CSS_PATH = "panes.tcss"
    BINDINGS: ClassVar = [
        Binding("escape", "dismiss(None)", "Cancel"),
        Binding("pageup", "scroll(-10)", show=False),
        Binding("pagedown", "scroll(10)", show=False),
        Binding("up", "scroll(-1)", show=False),
        Binding("down", "scroll(1)", show=False),
    ]

    def __init__(self, queries: MindQueries, key: str, *, erase: bool) -> None:
        super().__init__()
        self._queries = queries
        self._key = key
        self._is_id = bool(_ID.fullmatch(key))
        self._erase = erase
        self._is_shown = False
        # Attributes, not queries: an answer may arrive while the pane is being torn down.
        self._text = Static("…", markup=False)
        self._page = VerticalScroll(self._text, id="forget-page")
        instruction = Content.assemble(
            "type ", (CONFIRMATION_WORDS[erase], "bold $warning"), f" and enter {_EFFECTS[erase]}"
        )
        self._instruction = Static(instruction, id="forget-how", classes="hidden", markup=False)
        self._word = AnswerInput(
            placeholder=CONFIRMATION_WORDS[erase],
            id="answer",
            classes="hidden",
            compact=True,
            max_length=20,
            disabled=True,
        )

    def compose(self) -> ComposeResult:
        with Vertical(id="forget", classes="erase" if self._erase else ""):
            yield Static("forget: what would be affected", classes="title", markup=False)
            yield self._page
            yield self._instruction
            yield self._word
            yield Static(
                Content.assemble(("up, down", "$accent"), " scroll   ", ("esc", "$accent"), " cancel"),
                id="hints",
                markup=False,
            )

    def on_mount(self) -> None:
        self._load_plan()

    def action_scroll(self, rows: int) -> None:
        """Scroll the page while the word field has the focus."""
        self._page.scroll_relative(y=rows, animate=False)

    @work(exclusive=True, group="forget", name="tui.forget", exit_on_error=True)
    async def _load_plan(self) -> None:
        try:
            plan = await self._plan_forgetting()
        except ReveriesError as error:
            self._show(problem_page(str(error)))
            return
        self._show(self._receipt_page(plan))
        if plan.stores or plan.item_count:
            self._is_shown = True
            self._instruction.remove_class("hidden")
            self._word.remove_class("hidden")
            self._word.disabled = False
            self.set_focus(self._word)

    @on(Input.Submitted, "#answer")
    def _word_entered(self, submitted: Input.Submitted) -> None:
        if self._is_shown and submitted.value.strip() == CONFIRMATION_WORDS[self._erase]:
            self._is_shown = False
            self._word.disabled = True
            self._forget()
        else:
            self._word.value = ""

    @work(exclusive=True, group="forget", name="tui.forget.do", exit_on_error=True)
    async def _forget(self) -> None:
        try:
            receipt = await self._ask(dry_run=False)
        except ReveriesError as error:
            self._show(problem_page(str(error)))
            return
        self.dismiss(self._receipt_page(receipt))

    async def _plan_forgetting(self) -> protocol.Forgotten:
        try:
            return await self._ask(dry_run=True)
        except NotFoundError:
            if not self._is_id:
                raise
        # "cafe" looks like an id prefix and matches none: search for it as a word.
        self._is_id = False
        return await self._ask(dry_run=True)

    async def _ask(self, *, dry_run: bool) -> protocol.Forgotten:
        """Request forgetting by id or by words. Raises ReveriesError."""
        key_id, about = (self._key, "") if self._is_id else ("", self._key)
        return await self._queries.ask(
            lambda number: protocol.Forget(number, id=key_id, about=about, dry_run=dry_run, erase=self._erase),
            protocol.Forgotten,
        )

    def _receipt_page(self, forgotten: protocol.Forgotten) -> Page:
        with page_columns(columns_for(self.app.size.width)):
            return forgotten_page(forgotten)

    def _show(self, page: Page) -> None:
        self._text.update(content_of(page))
