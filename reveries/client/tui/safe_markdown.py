"""Markdown for untrusted text: nothing in it can be clicked, opened, hidden or parsed as Textual markup.

What a model writes is untrusted. Links and images are shown as written, so that an address is visible and not hidden
behind a word; HTML and entities are plain text; table cells have no tooltips (Textual would parse them as markup).
"""

from dataclasses import replace
from typing import ClassVar

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Markdown

# Tables have no public name; Textual is pinned to a minor version for such imports.
from textual.widgets._markdown import MarkdownTable, MarkdownTableContent
from textual.widgets.markdown import MarkdownBlock, MarkdownFence

_RULES_OFF = ("link", "image", "autolink", "linkify", "reference", "entity", "html_inline", "html_block")
_HIGHLIGHTED_CHARS = 20_000
_COLOURED_AFTER_SECONDS = 0.3
"""Delay before highlighting code: loading a language takes longer than showing a conversation."""


def text_only_parser() -> MarkdownIt:
    """Return a Markdown parser without links, images and HTML. It keeps line breaks: models write verse and postal
    addresses as people do."""
    parser = MarkdownIt("gfm-like", {"html": False, "linkify": False})
    parser.core.ruler.push("keep_line_breaks", _keep_line_breaks)
    return parser.disable(list(_RULES_OFF), ignoreInvalid=True)


def _keep_line_breaks(state: StateCore) -> None:
    for block in state.tokens:
        for token in block.children or ():
            if token.type == "softbreak":
                token.type = "hardbreak"


class _TableContent(MarkdownTableContent):
    def compose(self) -> ComposeResult:
        for cell in super().compose():
            cell.tooltip = None
            yield cell


class _MarkdownTable(MarkdownTable):
    def compose(self) -> ComposeResult:
        self._headers, self._rows = self._get_headers_and_rows()
        yield _TableContent(self._headers, self._rows)


class _Fence(MarkdownFence):
    def __init__(self, markdown: Markdown, token: Token, code: str) -> None:
        self._language = token.info
        self._is_coloured_later = isinstance(markdown, SafeMarkdown) and markdown.is_past
        super().__init__(markdown, replace(token, info="text") if self._is_coloured_later else token, code)

    def on_mount(self) -> None:
        if self._is_coloured_later:
            self.set_timer(_COLOURED_AFTER_SECONDS, self._colour)

    def _colour(self) -> None:
        self.lexer = self._language
        self.notify_style_update()

    @classmethod
    def highlight(cls, code: str, language: str, ansi: bool = False, dark: bool = False) -> Content:
        """Highlight as Textual does, but never guess a language (slow), and leave long code uncoloured."""
        named = language.split()[0] if language.split() and len(code) < _HIGHLIGHTED_CHARS else "text"
        return super().highlight(code, named, ansi, dark)


class SafeMarkdown(Markdown):
    """Textual's Markdown with `text_only_parser`. The text must have been sanitised with `plain`."""

    BLOCKS: ClassVar[dict[str, type[MarkdownBlock]]] = {  # type: ignore[misc]
        **Markdown.BLOCKS,
        "table_open": _MarkdownTable,
        "fence": _Fence,
        "code_block": _Fence,
    }

    def __init__(self, text: str = "") -> None:
        self.is_past = bool(text)
        """Whether it is an earlier reply, shown at once with its code highlighted later."""
        super().__init__(text, parser_factory=text_only_parser, open_links=False)
