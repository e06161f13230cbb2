"""The base of the application: its widgets and state, and what commands may do with the screen."""

from typing import TYPE_CHECKING, Final

from textual import work
from textual.app import App
from textual.binding import Binding

from reveries.client.draft_file import DraftFile
from reveries.client.tui.chat import Chat
from reveries.client.tui.composer import Composer
from reveries.client.tui.jobs import Jobs
from reveries.client.tui.leaving import LeaveConfirmation
from reveries.client.tui.link import MindLink
from reveries.client.tui.side import SidePane
from reveries.client.tui.slash_menu import SlashMenu
from reveries.client.tui.status_line import StatusLine
from reveries.client.tui.themes import apply_theme, replace_grey_filters
from reveries.client.tui.unsent_message import UnsentMessage
from reveries.client.tui.welcome import Banner
from reveries.clock import Clock, SystemClock
from reveries.config import ClientSettings, Home, load_settings
from reveries.safe_text import one_line

if TYPE_CHECKING:
    import signal

    from reveries import protocol
    from reveries.client.tui.panes import PagePane

HINT_SECONDS = 4.0


def _key_binding(name: str, keys: str, meaning: str, command: str) -> Binding:
    return Binding(keys, f"command('{command}')", meaning, show=False, priority=True, id=name)


KEYS: Final = [
    Binding("escape", "stop_reply", "Stop the reply", show=False, id="stop"),
    Binding("ctrl+c", "leave_or_copy", "Copy, or stop the reply; twice: leave", show=False, priority=True),
    Binding("ctrl+d", "detach", "Leave", show=False, priority=True, id="leave"),
    Binding("alt+up", "mark(-1)", "Mark the previous message", show=False, priority=True, id="mark_up"),
    Binding("alt+down", "mark(1)", "Mark the next message", show=False, priority=True, id="mark_down"),
    Binding("f1", "help", "Keys", show=False, priority=True, id="help"),
    _key_binding("newest", "ctrl+l", "Jump to the newest message", "/newest"),
    _key_binding("side", "ctrl+t", "Fold the side pane", "/side"),
    _key_binding("edit", "ctrl+g", "Write in your editor", "/edit"),
    _key_binding("past", "ctrl+r", "Search your earlier messages", "/past"),
    _key_binding("copy", "ctrl+y", "Copy the message", "/copy"),
    _key_binding("context", "f2", "Prompt context", "/context"),
    _key_binding("recalled", "f3", "What it recalled, and why", "/recalled"),
    _key_binding("memory", "f4", "Browse its memory", "/memory"),
    _key_binding("sleeps", "f5", "Sleep passes", "/sleeps"),
    _key_binding("thoughts", "f6", "Thoughts", "/thoughts"),
    _key_binding("status", "f7", "Status", "/status"),
    _key_binding("graph", "f9", "What belongs together in its memory", "/graph"),
    _key_binding("projects", "f10", "Projects", "/projects"),
    _key_binding("conversations", "f8", "Conversations", "/resume"),
]


class ConversationApp(App[None]):
    """The application without its event handling, which is in `app`."""

    def __init__(self, home: Home, clock: Clock | None = None, settings: ClientSettings | None = None) -> None:
        super().__init__()
        if self.no_color:
            self._filters = replace_grey_filters(self._filters)
        self.clock = clock or SystemClock()
        self.link = MindLink(home, self.post_message, self.clock)
        self.settings = settings or load_settings(None).client
        self.mind_name = "the mind"
        self.recalled_items: list[protocol.RecalledItem] = []
        self.home = home
        self._leaving = LeaveConfirmation()
        self._conversation_id = ""
        self._is_conversation_shown = False
        self._opened_by = ""
        self.was_private = False
        """Whether the last message was off the record, so that there is nothing to take back."""
        self._menu = SlashMenu()
        self.chat = Chat(self.clock)
        self.composer = Composer(self._menu)
        self.draft = UnsentMessage(DraftFile(home.draft), self.link, self.composer, self.clock)
        self._side = SidePane(self.clock)
        self.jobs = Jobs(self.clock)
        self._status_line = StatusLine(self.clock)
        # An attribute, not a query: a message may arrive while the screen is being torn down.
        self._banner = Banner(apply_theme(self, home.themes, self.settings.theme))
        self.crash: Exception | None = None
        """The error that ended the application, if any."""
        self.ended_by: signal.Signals | None = None

    @property
    def is_answering(self) -> bool:
        """Whether a reply is awaited or streaming."""
        return self.link.is_answering

    def toggle_side(self) -> None:
        """Fold the side pane on a wide terminal; on a narrow one, swap it with the conversation."""
        is_narrow = self.screen.has_class("-narrow") or self.screen.has_class("-tiny")
        self.screen.toggle_class("side-wanted" if is_narrow else "side-folded")

    def action_help(self) -> None:
        """F1: show help for the focused part of the screen."""
        from reveries.client.tui.help import HelpScreen

        focused = self.focused
        about = getattr(self.screen, "HELP_TITLE", "") or getattr(focused, "HELP_TITLE", "")
        if isinstance(self.screen, HelpScreen):
            self.screen.dismiss(None)
        else:
            self.push_screen(HelpScreen(str(about), self.settings.keys))

    def show_pane(self, pane: "PagePane") -> None:
        """Show a pane, in place of the one that is open."""
        if type(self.screen) is type(pane):
            self.pop_screen()
        self.push_screen(pane)

    def action_detach(self) -> None:
        """Ctrl+D: leave; the daemon stays awake. Deferred, so that keys pressed before it reach the draft."""
        self.composer.call_later(self._detach)

    async def action_quit(self) -> None:
        """Ctrl+Q, and Quit of the palette: leave as with Ctrl+D."""
        self.action_detach()

    def _detach(self) -> None:
        if self._leaving.may_leave(self.jobs.own_jobs, self.clock.monotonic()):
            self.leave()
        else:
            self.hint(self._leaving.hint_text(self.jobs.own_jobs, "ctrl+d"))

    def leave(self) -> None:
        """Save unsent text as the draft, and exit."""
        self.draft.close()
        self.exit()

    def hint(self, text: str) -> None:
        """Show a message in the status line for a moment."""
        self._status_line.show_hint(one_line(text))
        self._hide_hint(one_line(text))

    # Not run_worker(coroutine): one that has not begun when the application ends leaves a warning on the terminal.
    @work(name="hide-hint")
    async def _hide_hint(self, text: str) -> None:
        await self.clock.sleep(HINT_SECONDS)
        self._status_line.show_hint("", instead_of=text)


def keymap(settings: ClientSettings) -> dict[str, str]:
    """Return the owner's keys by the names of their settings; an empty key disables the binding."""
    return {name: getattr(settings.keys, name) or "f24" for name in settings.keys.__struct_fields__}
