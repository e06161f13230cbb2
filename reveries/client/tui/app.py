"""The terminal interface: puts the widgets together and hands what happened to whom it concerns."""

from collections.abc import Iterable
from functools import partial
from typing import Any, ClassVar

from textual import on, work
from textual.app import App, ComposeResult, SystemCommand
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from reveries.client.tui import messages
from reveries.client.tui.chat import Chat
from reveries.client.tui.composer import Composer
from reveries.client.tui.help import Help
from reveries.client.tui.link import Link
from reveries.client.tui.looks import CONTEXT, Look, LookPane, look_for, page_of, problem_page
from reveries.client.tui.side import Side
from reveries.client.tui.status_line import StatusLine
from reveries.client.tui.themes import DAY, DUSK
from reveries.client.tui.welcome import Welcome
from reveries.clock import Clock, SystemClock
from reveries.config import Home
from reveries.errors import ReveriesError
from reveries.plaintext import one_line
from reveries.protocol import Status

LEAVE_SECONDS = 2.0
"""Within this a second Ctrl+C leaves."""


class ReveriesApp(App[None]):
    """The conversation with the mind of `home`."""

    TITLE = "Reveries"
    CSS_PATH = "app.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (52, "-narrow"), (76, "-mid"), (104, "-wide")]  # noqa: RUF012 - Textual's
    BINDINGS: ClassVar = [
        Binding("escape", "stop_reply", "Stop the reply", show=False),
        Binding("ctrl+c", "leave_or_copy", "Leave", show=False, priority=True),
        Binding("ctrl+d", "detach", "Leave", show=False, priority=True),
        Binding("ctrl+l", "newest", "Jump to the newest", show=False, priority=True),
        Binding("ctrl+t", "side", "Fold the side pane", show=False, priority=True),
        Binding("f1", "help", "Keys", show=False),
        Binding("f2", "context", "What it was told", show=False),
    ]

    def __init__(self, home: Home, clock: Clock | None = None) -> None:
        super().__init__()
        self._clock = clock or SystemClock()
        self._link = Link(home, self.post_message, self._clock)
        self._ctrl_c_at: float | None = None
        # Kept rather than looked up: what the mind tells may come while the screen is being taken down.
        self._banner = Static("", id="banner", classes="hidden", markup=False)
        self._chat = Chat(self._clock)
        self._composer = Composer()
        self._side = Side(self._clock)
        self._status_line = StatusLine(self._clock)
        self.mishap: Exception | None = None
        """What ended the application, if it was not its owner."""

    def compose(self) -> ComposeResult:
        with Horizontal(id="room"):
            with Vertical(id="talk"):
                yield self._banner
                yield self._chat
                with Vertical(id="desk"):
                    yield self._composer
            yield self._side
        yield self._status_line

    @property
    def is_attached_to_mind(self) -> bool:
        """Whether the mind answers and its conversation is on the screen."""
        return self._link.is_connected

    @property
    def is_answering(self) -> bool:
        """Whether a reply is awaited or coming."""
        return self._link.is_answering

    def on_mount(self) -> None:
        self.register_theme(DUSK)
        self.register_theme(DAY)
        self.theme = DUSK.name
        self._composer.focus()
        self._live()

    @work(exclusive=True, group="link", name="tui.link", exit_on_error=True)
    async def _live(self) -> None:
        await self._link.live()

    def _handle_exception(self, error: Exception) -> None:
        """Leave without writing a traceback over the terminal; whoever ran the application asks for `mishap`."""
        if self._closing:
            return
        if self.is_headless:
            super()._handle_exception(error)
            return
        self.mishap = self.mishap or error
        self.exit(return_code=1)

    # --- what the owner does -----------------------------------------------------------------------------------------

    @on(Composer.Sent)
    async def _say(self, sent: Composer.Sent) -> None:
        look = look_for(sent.text)
        if isinstance(look, str):
            self._hint(look)
            return
        if look is not None:
            self._composer.clear()
            self._look(look)
            return
        if not self._link.say(sent.text):
            self._hint("not sent: your words stay here until the mind is back")
            return
        self._composer.clear()
        await self._chat.say(sent.text)

    def action_stop_reply(self) -> None:
        """Esc."""
        if not self._link.stop_reply():
            self._composer.focus()

    def action_newest(self) -> None:
        """Ctrl+L."""
        self._chat.to_newest()

    def action_side(self) -> None:
        """Ctrl+T: fold on a wide terminal, swap on a narrow one."""
        is_narrow = self.screen.has_class("-narrow") or self.screen.has_class("-tiny")
        self.screen.toggle_class("side-wanted" if is_narrow else "side-folded")

    def action_help(self) -> None:
        """F1."""
        self.push_screen(Help())

    def action_context(self) -> None:
        """F2: what the mind was told for the last turn."""
        self._look(CONTEXT)

    @work(exclusive=True, group="look", name="tui.look", exit_on_error=True)
    async def _look(self, look: Look) -> None:
        try:
            page = page_of(await self._link.ask(look.request), self._clock.now(), self.size.width)
        except ReveriesError as error:
            page = problem_page(str(error))
        if isinstance(self.screen, LookPane):
            self.pop_screen()
        self.push_screen(LookPane(look.title, page))

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """What Ctrl+P offers: the looks that need no more words, beside Textual's own."""
        yield from super().get_system_commands(screen)
        for words in ("/timeline", "/context", "/self", "/self history"):
            look = look_for(words)
            if isinstance(look, Look):
                yield SystemCommand(look.title.capitalize(), f"Look inside: {words}", partial(self._look, look))

    def action_detach(self) -> None:
        """Ctrl+D. The mind stays awake."""
        self.exit()

    def action_leave_or_copy(self) -> None:
        """Ctrl+C: copy what is selected; else leave when pressed twice."""
        if text := self._composer.selected_text or self.screen.get_selected_text():
            self.copy_to_clipboard(text)
            self._hint("copied")
            return
        now = self._clock.monotonic()
        if self._ctrl_c_at is not None and now - self._ctrl_c_at <= LEAVE_SECONDS:
            self.exit()
        self._ctrl_c_at = now
        self._hint("ctrl+c again leaves; the mind stays awake")

    # --- what the mind does ------------------------------------------------------------------------------------------

    @on(messages.Attached)
    async def _attached(self, happened: messages.Attached) -> None:
        mind = one_line(happened.mind, 60)
        self._composer.placeholder = Content(f"Say something to {mind}")
        await self._chat.show_conversation(mind, happened.attached)
        if not happened.attached.turns:
            await self._chat.mount(Welcome(mind, happened.status))
        self._show_status(happened.status)

    @on(messages.WentAway)
    async def _went_away(self, happened: messages.WentAway) -> None:
        await self._chat.break_off("The mind went away here.")
        await self._chat.take_back_waiting()
        if happened.unstored:
            self._composer.take_back(happened.unstored)
        self._status_line.show_state("away")
        self._warn(f"The mind is away, reconnecting. {happened.sentence}")

    @on(messages.WordsStored)
    async def _words_stored(self, happened: messages.WordsStored) -> None:
        await self._chat.words_stored(happened.turn_id)

    @on(messages.MemoriesRecalled)
    async def _recalled(self, happened: messages.MemoriesRecalled) -> None:
        await self._side.recalled.show(happened.items)

    @on(messages.HelpOffered)
    async def _help_offered(self, happened: messages.HelpOffered) -> None:
        await self._chat.offer_help(happened.text)

    @on(messages.ReplyGrew)
    async def _reply_grew(self, happened: messages.ReplyGrew) -> None:
        await self._chat.grow_reply(happened.text)

    @on(messages.ReplyEnded)
    async def _reply_ended(self, happened: messages.ReplyEnded) -> None:
        await self._chat.settle_reply(happened.replied)
        self._status_line.show_turn(happened.replied)

    @on(messages.SayFailed)
    async def _say_failed(self, happened: messages.SayFailed) -> None:
        await self._chat.refuse(happened.sentence)

    @on(messages.TurnSpoken)
    async def _turn_spoken(self, happened: messages.TurnSpoken) -> None:
        await self._chat.hear(happened.turn)

    @on(messages.StateMoved)
    def _state_moved(self, happened: messages.StateMoved) -> None:
        self._status_line.show_state(happened.state)

    @on(messages.StatusArrived)
    def _status_arrived(self, happened: messages.StatusArrived) -> None:
        self._show_status(happened.status)

    @on(messages.ThoughtMoved)
    def _thought_moved(self, happened: messages.ThoughtMoved) -> None:
        self._side.monologue.show(happened.frame)

    # -----------------------------------------------------------------------------------------------------------------

    def _show_status(self, status: Status) -> None:
        self._status_line.show_status(status)
        worries = [*status.problems] or ([] if status.health == "ok" else [status.health])
        self._warn("  ".join(one_line(worry) for worry in worries))

    def _warn(self, text: str) -> None:
        self._banner.update(Content(one_line(text, 400)))
        self._banner.set_class(not text, "hidden")

    def _hint(self, text: str) -> None:
        self._status_line.show_hint(text)
        self.set_timer(LEAVE_SECONDS, lambda: self._status_line.show_hint(""))
