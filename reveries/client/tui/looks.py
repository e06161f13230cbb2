"""Looking inside from the terminal interface: what is typed after a slash becomes a request, its answer a plain pane.

The pages are those of the command line; nothing is decided here, and nothing that is looked at is reinforced.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from reveries import protocol
from reveries.client.context_page import context_page
from reveries.client.memory_page import episode_page, found_page
from reveries.client.render import Page, Part, line, page_columns, paragraph
from reveries.client.self_page import self_history_page, self_page
from reveries.client.thought_page import controlled_page, notes_page, thoughts_page
from reveries.client.timeline_page import timeline_page
from reveries.client.why_page import why_page
from reveries.plaintext import plain

PAGE_COLUMNS: Final = 74
_FOUND: Final = 8
_STYLES: Final = {
    "": "",
    "strong": "bold",
    "dim": "$foreground 60%",
    "accent": "$accent",
    "good": "$success",
    "warn": "$warning",
    "bad": "$error",
}


@dataclass(frozen=True, slots=True)
class Look:
    """Something to be looked at: how it is asked for, and how its answer reads."""

    title: str
    request: Callable[[int], protocol.Request]


LOOKS: Final = (
    ("/search WORDS", "what comes to mind for them"),
    ("/inspect ID", "all of one episode"),
    ("/why ID [CUE]", "why it came to mind; without a cue, for the last turn"),
    ("/timeline [SINCE]", "what happened, by day"),
    ("/context", "what it was told for the last turn (F2)"),
    ("/self [history]", "what it takes itself and you to be"),
    ("/thoughts", "what it thought, why, and what that cost"),
    ("/notes", "what its thinking wanted you to know"),
    ("/nudge WORDS", "have it think about them when this conversation rests"),
    ("/pause, /resume", "hold its thinking back, let it go again"),
)
_THOUGHTS_SINCE_SECONDS: Final = 86400.0
_THOUGHTS: Final = 20
_NUDGE_CHARS: Final = 2000


def look_for(text: str) -> Look | str | None:
    """What `text` asks to see; a sentence when something is missing; None when it is no such command, but words."""
    command, _, rest = text.strip().partition(" ")
    rest = rest.strip()
    match command:
        case "/search" if rest:
            return Look(f"search: {rest}", lambda number: protocol.Search(number, rest, _FOUND))
        case "/inspect" if rest:
            return Look("episode", lambda number: protocol.Inspect(number, rest[:100]))
        case "/why" if rest:
            name, _, cue = rest.partition(" ")
            return Look("why", lambda number: protocol.AskWhy(number, name[:100], cue.strip()[:10_000]))
        case "/timeline":
            return Look("timeline", lambda number: protocol.AskTimeline(number, rest[:100]))
        case "/context":
            return CONTEXT
        case "/self" if rest == "history":
            return Look("how the self-model changed", protocol.AskSelfHistory)
        case "/self":
            return Look("self-model", protocol.AskSelf)
        case "/search" | "/inspect" | "/why" | "/nudge" if not rest:
            return f"{command} needs a word more: {next(usage for usage, _ in LOOKS if usage.startswith(command))}"
        case _:
            return _of_thinking(command, rest)


def _of_thinking(command: str, rest: str) -> Look | None:
    match command:
        case "/thoughts":
            since = time.time() - _THOUGHTS_SINCE_SECONDS
            return Look("thoughts", lambda number: protocol.AskThoughts(number, since, _THOUGHTS))
        case "/notes":
            return Look("notes", protocol.AskNotes)
        case "/nudge":
            return Look("thinking", lambda number: protocol.NudgeThinking(number, rest[:_NUDGE_CHARS]))
        case "/pause":
            return Look("thinking", lambda number: protocol.ControlThinking(number, "pause"))
        case "/resume":
            return Look("thinking", lambda number: protocol.ControlThinking(number, "resume"))
        case _:
            return None


CONTEXT: Final = Look("what it was told", protocol.AskContext)


def page_of(frame: protocol.Frame, now: float, terminal_columns: int) -> Page:
    """The answer to a look, as lines that fit into the pane."""
    with page_columns(max(24, min(PAGE_COLUMNS, terminal_columns * 96 // 100 - 10))):
        return _page(frame, now)


def _page(frame: protocol.Frame, now: float) -> Page:
    match frame:
        case protocol.Found():
            return found_page(frame, now, _FOUND)
        case protocol.EpisodeDetail():
            return episode_page(frame, now)
        case protocol.Why():
            return why_page(frame, now)
        case protocol.Timeline():
            return timeline_page(frame, now)
        case protocol.ToldContext():
            return context_page(frame, now)
        case protocol.SelfModelShown():
            return self_page(frame, now)
        case protocol.SelfHistory():
            return self_history_page(frame, now)
        case _:
            return _page_of_thinking(frame, now)


def _page_of_thinking(frame: protocol.Frame, now: float) -> Page:
    match frame:
        case protocol.Thoughts():
            return thoughts_page(frame.thoughts, now)
        case protocol.Notes():
            return notes_page(frame, now)
        case protocol.ThinkingControlled():
            return controlled_page(frame)
        case _:
            return [line("There is no page for that.")]


def problem_page(sentence: str) -> Page:
    """What went wrong, in its own words."""
    return paragraph(sentence, style="warn")


def content_of(page: Page) -> Content:
    """Lines for a widget: parts of text with their styles, never markup."""
    pieces: list[str | tuple[str, str]] = []
    for row in page:
        pieces += [_piece(part) for part in row]
        pieces.append("\n")
    return Content.assemble(*pieces)


def _piece(part: Part) -> str | tuple[str, str]:
    text, style = plain(part.text), _STYLES[part.style]
    return (text, style) if style else text


class LookPane(ModalScreen[None]):
    """A page over the conversation. Closed by any of Esc, q, Enter."""

    BINDINGS: ClassVar = [
        Binding("escape,enter,q,f2", "dismiss", "Close"),
        Binding("down,j", "scroll(1)", show=False),
        Binding("up,k", "scroll(-1)", show=False),
    ]

    def __init__(self, title: str, page: Page) -> None:
        super().__init__()
        self._title = title
        self._page = page

    def compose(self) -> ComposeResult:
        with Vertical(id="look"):
            yield Static(Content(plain(self._title)), classes="title", markup=False)
            with VerticalScroll(id="look-page"):
                yield Static(content_of(self._page), markup=False)

    def on_mount(self) -> None:
        self.query_one("#look-page", VerticalScroll).focus()

    def action_scroll(self, rows: int) -> None:
        """By the keyboard, also where the pane has lost the focus."""
        self.query_one("#look-page", VerticalScroll).scroll_relative(y=rows, animate=False)
