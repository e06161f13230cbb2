"""The terminal interface: composes the widgets and routes their events and the mind's messages."""

import gc
import signal
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on, work
from textual.app import ComposeResult, SystemCommand
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import Screen

from reveries import protocol
from reveries.client.tui import messages
from reveries.client.tui.asking import context_tokens_of_talk, told_of_last_turn
from reveries.client.tui.chat import Chat
from reveries.client.tui.commands import COMMANDS, Called, called, command_named
from reveries.client.tui.composer import Composer
from reveries.client.tui.conversation_app import KEYS, ConversationApp, keymap
from reveries.client.tui.leaving import leave_on_signals
from reveries.client.tui.side import MemoryCard
from reveries.errors import ReveriesError
from reveries.protocol import Status
from reveries.safe_text import one_line

if TYPE_CHECKING:
    from reveries.client.tui.actions import Deeds

DRAFT_SECONDS = 1.0
DEEDS_SECONDS = 2.0
EARLIER_TURNS = 100


class ReveriesApp(ConversationApp):
    """The conversation with the mind of `home`."""

    _deeds: "Deeds | None" = None

    TITLE = "Reveries"
    CSS_PATH = "app.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (52, "-narrow"), (76, "-mid"), (104, "-wide")]  # noqa: RUF012 - Textual's
    BINDINGS: ClassVar = [*KEYS]

    def compose(self) -> ComposeResult:
        with Horizontal(id="room"):
            with Vertical(id="talk"):
                yield self._banner
                yield self.chat
                with Vertical(id="desk"):
                    yield self._menu
                    yield self.composer
            yield self._side
        yield self.jobs
        yield self._status_line

    @property
    def is_attached_to_mind(self) -> bool:
        """Whether the daemon is connected and its conversation is on the screen."""
        return self.link.is_connected

    @property
    def deeds(self) -> "Deeds":
        """The commands. Their modules are loaded with the first command, or two seconds after the start, so that the
        first frame does not wait for them."""
        return self._load_deeds()

    def _load_deeds(self) -> "Deeds":
        if self._deeds is None:
            from reveries.client.tui.actions import Deeds

            self._deeds = Deeds(self)
        return self._deeds

    def on_mount(self) -> None:
        self.set_keymap(keymap(self.settings))
        if self.draft.load():
            self.hint("another terminal left a draft, too: the next one that you open has it")
        self.composer.focus()
        leave_on_signals(self.draft.keep, self._leave_on_signal)
        self.set_interval(DRAFT_SECONDS, self.draft.keep)
        self.set_timer(DEEDS_SECONDS, self._settle_in)
        self._live()

    def _settle_in(self) -> None:
        """Load the commands and, if the start disabled the garbage collector, freeze what is loaded and enable it.

        Otherwise the collector would scan it every few seconds, and keys would not be read for 30 ms."""
        self._load_deeds()
        if not gc.isenabled():
            gc.freeze()
            gc.enable()

    def on_unmount(self) -> None:
        # A closed browser tab ends the application without `leave`.
        self.draft.leave()

    @work(exclusive=True, group="link", name="tui.link", exit_on_error=True)
    async def _live(self) -> None:
        await self.link.live()

    def _handle_exception(self, error: Exception) -> None:
        """Exit without printing a traceback over the terminal; the caller reads the error from `mishap`."""
        if self._closing or self._exit:
            # Raised while the screen was being torn down: harmless.
            return
        self.draft.keep()
        if self.is_headless:
            super()._handle_exception(error)
            return
        self.mishap = self.mishap or error
        self.exit(return_code=1)

    # --- what the owner does -----------------------------------------------------------------------------------------

    @on(Composer.Sent)
    async def _sent(self, sent: Composer.Sent) -> None:
        what = called(sent.text)
        if not sent.text:
            # Restored to the draft, or the daemon turned out to have received it.
            return
        if isinstance(what, str):
            self._refuse(sent, what)
        elif what is None:
            await self._say_sent(sent, sent.text.strip(), is_private=sent.is_private)
        elif what.command.name == "/private":
            await self._say_sent(sent, what.words, is_private=True)
        elif what.command.keeps_words and sent.is_private:
            self._refuse(sent, f"off the record: {what.command.name} would keep it; /private ends it")
        else:
            self.composer.delivered(sent)
            if not sent.is_private:
                self.composer.past.add(sent.text)
            self._do(what)

    async def _say_sent(self, sent: Composer.Sent, text: str, *, is_private: bool) -> None:
        # Either the link has the text or the composer gets it back, never both.
        self.composer.delivered(sent)
        if not await self.say(text, is_private=is_private):
            self.composer.give_back(sent, with_rest=True)

    def _refuse(self, sent: Composer.Sent, why: str) -> None:
        self.composer.give_back(sent)
        self.hint(why)

    async def say(self, text: str, *, is_private: bool = False) -> bool:
        """Send a message; whether it was accepted. Off the record, it is kept out of the draft file and the history."""
        if len(text) > protocol.MAX_TEXT_CHARS:
            self.hint(f"{len(text):,} characters: one turn has at most {protocol.MAX_TEXT_CHARS:,}")
            return False
        if not self.link.say(text, is_private=is_private):
            self.hint("not sent: your words stay here until the mind is back")
            return False
        if not is_private:
            self.composer.past.add(text)
        self.draft.keep()
        self.was_private = is_private
        self.composer.show_answering(is_answering=True)
        await self.chat.say(text, is_private=is_private)
        return True

    @on(Composer.PrivacyTurned)
    def _privacy_turned(self) -> None:
        self.hint(
            "off the record: what you say is neither stored nor remembered; /private ends it"
            if self.composer.is_private
            else "on the record again"
        )

    @work(group="deeds", name="tui.deed", exit_on_error=True)
    async def _do(self, what: Called) -> None:
        await self.deeds.do(what)

    def action_command(self, name: str) -> None:
        """Run the command of a key. An open pane is closed first; the key that opened it only closes it."""
        command = command_named(name)
        opened_by, self._opened_by = self._opened_by, ""
        if command is None:
            return
        if self.screen.is_modal:
            self.screen.dismiss(None)
            if opened_by == name:
                return
        self._opened_by = name
        self._do(Called(command, ""))

    def action_stop_reply(self) -> None:
        """Esc: stop the reply, else focus the composer."""
        if not self.link.stop_reply():
            self.composer.focus()

    def action_mark(self, steps: int) -> None:
        """Alt+Up, Alt+Down: mark another message."""
        self.chat.mark(steps)

    def action_page(self, pages: int) -> None:
        """PgUp and PgDn in the composer: scroll the conversation."""
        if pages < 0:
            self.chat.scroll_page_up(animate=False)
        else:
            self.chat.scroll_page_down(animate=False)

    @on(MemoryCard.Chosen)
    def _card_chosen(self, chosen: MemoryCard.Chosen) -> None:
        self._ask_why(chosen.item)

    @work(group="deeds", name="tui.why", exit_on_error=True)
    async def _ask_why(self, item: protocol.RecalledItem) -> None:
        await self.deeds.why(item)

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """List the palette's entries (Ctrl+P): every command and Textual's own, except its screenshot, which would
        store off-the-record text where others may read it."""
        for command in COMMANDS:
            act = partial(self._from_palette, command.name)
            yield SystemCommand(f"{command.name[1:].capitalize()}: {command.meaning}", command.usage, act)
        yield from (own for own in super().get_system_commands(screen) if own.title != "Screenshot")

    def _from_palette(self, name: str) -> None:
        command = command_named(name)
        if command is None:
            return
        if command.needs_words:
            self.composer.write(f"{name} ")
            self.composer.focus()
        else:
            self._do(Called(command, ""))

    def _leave_on_signal(self, number: signal.Signals) -> None:
        # The terminal may be gone, so running work is not asked about.
        self.ended_by = number
        self.composer.call_later(self.leave)

    def action_leave_or_copy(self) -> None:
        """Ctrl+C: copy the selection, else stop the reply; leave when pressed twice."""
        now, text = self.clock.monotonic(), self.composer.selected_text or self.screen.get_selected_text()
        if self._leaving.is_second(now):
            self.leave()
        elif text:
            self.copy_to_clipboard(text)
            self.hint("copied; ctrl+c again leaves")
        elif self.link.stop_reply():
            self.hint(f"stopped; {self._leaving.said(self.jobs.ours, 'ctrl+c')}")
        else:
            self.hint(self._leaving.said(self.jobs.ours, "ctrl+c"))

    @on(Chat.Scrolled)
    def _scrolled(self) -> None:
        self._show_whether_newest()

    @on(Chat.EarlierWanted)
    def _earlier_wanted(self) -> None:
        self._show_earlier()

    @work(exclusive=True, group="earlier", name="tui.earlier", exit_on_error=True)
    async def _show_earlier(self) -> None:
        before = self.chat.first_shown
        try:
            told = await self.link.ask(
                lambda number: protocol.AskTurns(number, self._conversation_id, before, EARLIER_TURNS)
            )
        except ReveriesError as error:
            self.chat.ask_earlier_again()
            self.hint(one_line(str(error)))
            return
        is_shown = self.chat.first_shown == before
        if isinstance(told, protocol.Turns) and told.conversation_id == self._conversation_id and is_shown:
            await self.chat.show_earlier(told.turns, told.earlier_count)

    # --- what the mind does ------------------------------------------------------------------------------------------

    @on(messages.AttachedToMind)
    async def _attached(self, happened: messages.AttachedToMind) -> None:
        # First, before any await: until then the link sends nothing, and new messages are compared too.
        self.draft.compare(happened.attached.turns)
        mind = self.mind_name = one_line(happened.mind, 60)
        self.composer.placeholder = Content(f"Say something to {mind}")
        self.composer.show_answering(is_answering=self.link.is_busy)
        before = happened.unheard
        waiting = [*before, *(words for words in self.link.unheard if not any(words is one for one in before))]
        self.was_private = waiting[-1].is_private if waiting else self.was_private and self.link.is_answering
        await self.chat.show_conversation(mind, happened.attached)
        if happened.is_heard:
            await self.chat.grow_reply("")
        for words in waiting:
            await self.chat.say(words.text, is_private=words.is_private)
        self.composer.past.fill(turn.text for turn in happened.attached.turns if turn.is_owner)
        if not (happened.attached.turns or waiting):
            from reveries.client.tui.welcome import WelcomeText

            await self.chat.mount(WelcomeText(mind, happened.status))
        self._show_status(happened.status)
        self._conversation_id = happened.attached.conversation_id
        self._ask_told(is_new=True)
        again = self.draft.to_say_again()
        refused = [words for words in again if not await self.say(words.text, is_private=words.is_private)]
        if refused:
            self.composer.take_back(refused)

    @on(messages.WentAway)
    async def _went_away(self, happened: messages.WentAway) -> None:
        self.composer.show_answering(is_answering=False)
        await self.chat.break_off("The mind went away here.")
        await self.chat.take_back_waiting()
        self.draft.take_back()
        self._status_line.show_state("away")
        self._banner.warn(happened.sentence)

    @on(messages.WordsStored)
    async def _words_stored(self, happened: messages.WordsStored) -> None:
        await self.chat.words_stored(happened.turn_id)

    @on(messages.MemoriesRecalled)
    async def _recalled(self, happened: messages.MemoriesRecalled) -> None:
        self.recalled_items = happened.items
        await self._side.recalled.show(happened.items)

    @on(messages.HelpOffered)
    async def _help_offered(self, happened: messages.HelpOffered) -> None:
        await self.chat.offer_help(happened.text)

    @on(messages.ReplyGrew)
    async def _reply_grew(self, happened: messages.ReplyGrew) -> None:
        await self.chat.grow_reply(happened.text)
        self._something_came()

    @on(messages.ReplyEnded)
    async def _reply_ended(self, happened: messages.ReplyEnded) -> None:
        self.composer.show_answering(is_answering=self.link.is_busy)
        await self.chat.settle_reply(happened.replied)
        self._status_line.show_turn(happened.replied)
        if not self._status_line.knows_context:
            self._ask_context_size()

    @on(messages.SayFailed)
    async def _say_failed(self, happened: messages.SayFailed) -> None:
        self.composer.show_answering(is_answering=self.link.is_busy)
        await self.chat.refuse(happened.sentence)
        if self.draft.take_back():
            self.hint("not stored: your words are in the draft again")

    @on(messages.TurnSpoken)
    async def _turn_spoken(self, happened: messages.TurnSpoken) -> None:
        await self.chat.hear(happened.turn)
        if not (happened.turn.is_owner or self.link.is_answering):
            self._ask_told()
        self._something_came()

    @on(messages.StateMoved)
    def _state_moved(self, happened: messages.StateMoved) -> None:
        self._status_line.show_state(happened.state)

    @on(messages.StatusArrived)
    def _status_arrived(self, happened: messages.StatusArrived) -> None:
        self._show_status(happened.status)

    @on(messages.WorkMoved)
    def _work_moved(self, happened: messages.WorkMoved) -> None:
        progress = happened.progress
        self.jobs.moved(f"theirs {progress.what}", progress.what, progress.done, progress.total)

    @on(messages.ThoughtMoved)
    def _thought_moved(self, happened: messages.ThoughtMoved) -> None:
        self._side.monologue.show(happened.frame)

    # -----------------------------------------------------------------------------------------------------------------

    @work(exclusive=True, group="told", name="tui.told", exit_on_error=True)
    async def _ask_told(self, *, is_new: bool = False) -> None:
        """Show the memories and tokens of the conversation's last turn, which another client may have sent."""
        told = await told_of_last_turn(self.link.ask, self._conversation_id)
        if self.link.is_answering or not (told or is_new):
            return
        self.recalled_items = (told.recalled or []) if told else []
        await self._side.recalled.show_last(self.recalled_items)
        self._status_line.show_read(*((told.total_tokens, told.context_tokens) if told else (0, 0)))

    @work(exclusive=True, group="size", name="tui.size", exit_on_error=True)
    async def _ask_context_size(self) -> None:
        if (tokens := await context_tokens_of_talk(self.link.ask)) is not None:
            self._status_line.show_context(tokens)

    def _show_status(self, status: Status) -> None:
        self._status_line.show_status(status)
        self.jobs.forget_silent()
        if 0 <= status.embedding_done < status.embedding_total:
            self.jobs.moved("vectors", "embedding memory anew", status.embedding_done, status.embedding_total)
        else:
            self.jobs.ended("vectors")
        self._banner.warn_of(status)

    def _something_came(self) -> None:
        """Show a hint if new content is below the visible part; known only after layout."""
        self.call_after_refresh(self._show_whether_newest, something_came=True)

    def _show_whether_newest(self, *, something_came: bool = False) -> None:
        if self.chat.is_at_newest:
            self.composer.border_title = None
        elif something_came:
            self.composer.border_title = "↓ newer below: ctrl+l"
