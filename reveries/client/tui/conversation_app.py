"""The parts of the terminal interface that its commands work on, and what they may do with the screen."""

from typing import TYPE_CHECKING

from textual.app import App

from reveries.client.draft_file import DraftFile
from reveries.client.tui.chat import Chat
from reveries.client.tui.composer import Composer
from reveries.client.tui.draft import UnsentMessage
from reveries.client.tui.jobs import Jobs
from reveries.client.tui.leave_confirmation import LeaveConfirmation
from reveries.client.tui.link import MindLink
from reveries.client.tui.side import Side
from reveries.client.tui.slash_menu import SlashMenu
from reveries.client.tui.status_line import StatusLine
from reveries.client.tui.themes import dress, in_place_of_greys
from reveries.client.tui.welcome import Banner
from reveries.clock import Clock, SystemClock
from reveries.config import ClientSettings, Home, load_settings
from reveries.safe_text import one_line

if TYPE_CHECKING:
    import signal

    from reveries import protocol
    from reveries.client.tui.panes import LookPane

HINT_SECONDS = 4.0


class ConversationApp(App[None]):
    """The conversation with the mind of `home`, without what happens in it: see `app`."""

    def __init__(self, home: Home, clock: Clock | None = None, settings: ClientSettings | None = None) -> None:
        super().__init__()
        if self.no_color:
            self._filters = in_place_of_greys(self._filters)
        self.clock = clock or SystemClock()
        self.link = MindLink(home, self.post_message, self.clock)
        self.settings = settings or load_settings(None).client
        self.mind_name = "the mind"
        self.recalled_items: list[protocol.RecalledItem] = []
        self.home = home
        self._leaving = LeaveConfirmation()
        self._conversation_id = ""
        self._opened_by = ""
        self.was_private = False
        """Whether what was said last was off the record: there is nothing of it to take back."""
        self._menu = SlashMenu()
        self.chat = Chat(self.clock)
        self.composer = Composer(self._menu)
        self.draft = UnsentMessage(DraftFile(home.draft), self.link, self.composer, self.clock)
        self._side = Side(self.clock)
        self.jobs = Jobs(self.clock)
        self._status_line = StatusLine(self.clock)
        # Kept rather than looked up: what the mind tells may come while the screen is being taken down.
        self._banner = Banner(dress(self, home.themes, self.settings.theme))
        self.mishap: Exception | None = None
        """What ended the application, if it was not its owner."""
        self.ended_by: signal.Signals | None = None

    @property
    def is_answering(self) -> bool:
        """Whether a reply is awaited or coming."""
        return self.link.is_answering

    def fold_side(self) -> None:
        """Fold the side pane on a wide terminal, swap on a narrow one."""
        is_narrow = self.screen.has_class("-narrow") or self.screen.has_class("-tiny")
        self.screen.toggle_class("side-wanted" if is_narrow else "side-folded")

    def action_help(self) -> None:
        """F1: for what has the focus."""
        from reveries.client.tui.help import HelpScreen

        focused = self.focused
        about = getattr(self.screen, "HELP_TITLE", "") or getattr(focused, "HELP_TITLE", "")
        if isinstance(self.screen, HelpScreen):
            self.screen.dismiss(None)
        else:
            self.push_screen(HelpScreen(str(about), self.settings.keys))

    def show_pane(self, pane: "LookPane") -> None:
        """In the place of the pane that is open."""
        if type(self.screen) is type(pane):
            self.pop_screen()
        self.push_screen(pane)

    def action_detach(self) -> None:
        """Ctrl+D. The mind stays awake. Keys that were pressed before it are heard first: they are the draft's."""
        self.composer.call_later(self._detach)

    async def action_quit(self) -> None:
        """Ctrl+Q, and Quit of the palette: the same, with the question about work."""
        self.action_detach()

    def _detach(self) -> None:
        if self._leaving.may_leave(self.jobs.ours, self.clock.monotonic()):
            self.leave()
        else:
            self.hint(self._leaving.said(self.jobs.ours, "ctrl+d"))

    def leave(self) -> None:
        """Keep what was not said yet as the draft, and go."""
        self.draft.leave()
        self.exit()

    def hint(self, text: str) -> None:
        """Words for the owner in the status line, for a moment."""
        self._status_line.show_hint(one_line(text))
        self.set_timer(HINT_SECONDS, lambda: self._status_line.show_hint("", instead_of=one_line(text)))
