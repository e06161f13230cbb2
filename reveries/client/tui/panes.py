"""Panes over the conversation: a page of styled text, a yes-or-no question, a prompt for text."""

from typing import ClassVar, Final

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from reveries.client.render import PAGE_COLUMNS, Page, Part, paragraph
from reveries.client.tui.typed_text import TextInput
from reveries.safe_text import one_line, plain

NARROWEST_PAGE_COLUMNS: Final = 24
LONGEST_WORDS_CHARS: Final = 400
_LONGEST_ANSWER_CHARS: Final = 2_000
_STYLES: Final = {
    "": "",
    "strong": "bold",
    "dim": "$foreground 60%",
    "accent": "$accent",
    "good": "$success",
    "warn": "$warning",
    "bad": "$error",
}


def columns_for(terminal_columns: int) -> int:
    """Return the width of a page in a pane of a terminal this wide."""
    return max(NARROWEST_PAGE_COLUMNS, min(PAGE_COLUMNS, terminal_columns * 96 // 100 - 10))


def problem_page(sentence: str) -> Page:
    """Render an error message."""
    return paragraph(sentence, style="warn")


def content_of(page: Page) -> Content:
    """Convert a page to Textual content: styled text, never markup."""
    pieces: list[str | tuple[str, str]] = []
    for row in page:
        pieces += [_styled_part(part) for part in row]
        pieces.append("\n")
    return Content.assemble(*pieces)


def _styled_part(part: Part) -> str | tuple[str, str]:
    text, style = plain(part.text), _STYLES[part.style]
    return (text, style) if style else text


class PagePane(ModalScreen[None]):
    """A page over the conversation. Closed by Esc, q or Enter."""

    HELP_TITLE = "a page"
    CSS_PATH = "panes.tcss"
    BINDINGS: ClassVar = [
        Binding("escape,enter,q,f2", "dismiss", "Close"),
        Binding("down,j", "scroll(1)", show=False),
        Binding("up,k", "scroll(-1)", show=False),
        Binding("question_mark", "app.help", show=False),
    ]

    def __init__(self, title: str, page: Page) -> None:
        super().__init__()
        self._title = title
        self._page = page

    def compose(self) -> ComposeResult:
        with Vertical(id="pane"):
            yield Static(Content(plain(self._title)), classes="title", markup=False)
            with VerticalScroll(id="pane-page"):
                yield Static(content_of(self._page), markup=False)

    def on_mount(self) -> None:
        self.query_one("#pane-page", VerticalScroll).focus()

    def action_scroll(self, rows: int) -> None:
        """Scroll by a number of rows, even if the pane has lost the focus."""
        self.query_one("#pane-page", VerticalScroll).scroll_relative(y=rows, animate=False)


class ConfirmPane(ModalScreen[bool]):
    """A yes-or-no question before a change: only y confirms."""

    CSS_PATH = "panes.tcss"
    BINDINGS: ClassVar = [
        Binding("y", "answer(True)", "Yes"),
        Binding("n,escape,enter,q", "answer(False)", "No"),
    ]

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        with Vertical(id="confirm"):
            yield Static(Content(plain(self._question)), markup=False)
            yield Static(Content.assemble(("y", "$accent"), " yes   ", ("n", "$accent"), " no"), markup=False)

    def action_answer(self, is_sure: bool) -> None:
        """Close with the answer."""
        self.dismiss(is_sure)


class FindInput(TextInput):
    """A search field. Pasted escape sequences are removed: the widget would write them to the terminal."""

    def _on_paste(self, event: events.Paste) -> None:
        event.text = one_line(event.text, LONGEST_WORDS_CHARS)


class AnswerInput(TextInput):
    """The same for an answer of a sentence or two."""

    def _on_paste(self, event: events.Paste) -> None:
        event.text = one_line(event.text, _LONGEST_ANSWER_CHARS)


class PromptPane(ModalScreen[str]):
    """A question answered with text; empty when closed by Esc."""

    CSS_PATH = "panes.tcss"
    BINDINGS: ClassVar = [Binding("escape", "dismiss('')", "No")]

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        with Vertical(id="prompt"):
            yield Static(Content(plain(self._question)), markup=False)
            yield AnswerInput(id="answer", compact=True, max_length=_LONGEST_ANSWER_CHARS)

    @on(Input.Submitted, "#answer")
    def _answered(self, submitted: Input.Submitted) -> None:
        self.dismiss(plain(submitted.value).strip())
