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
from reveries.client.slash_commands import COMMANDS
from reveries.client.slash_parsing import CommandCall, find_command, parse_command
from reveries.client.tui import messages
from reveries.client.tui.chat import Chat
from reveries.client.tui.composer import Composer
from reveries.client.tui.conversation_app import KEYS, ConversationApp, keymap
from reveries.client.tui.leaving import leave_on_signals
from reveries.client.tui.mind_queries import fetch_context_tokens, fetch_last_context
from reveries.client.tui.side import MemoryCard
from reveries.errors import ReveriesError
from reveries.protocol import Status
from reveries.safe_text import one_line

if TYPE_CHECKING:
    from reveries.client.tui.actions import CommandActions

DRAFT_SECONDS = 1.0
ACTIONS_DELAY_SECONDS = 2.0
EARLIER_TURNS = 100


class ReveriesApp(ConversationApp):
    """The conversation with the mind of `home`."""

    _actions: "CommandActions | None" = None

    TITLE = "Reveries"
    CSS_PATH = "app.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (52, "-narrow"), (76, "-mid"), (104, "-wide")]  # noqa: RUF012 - Textual's
    BINDINGS: ClassVar = [*KEYS]

    def compose(self) -> ComposeResult:
        with Horizontal(id="main"):
            with Vertical(id="conversation"):
                yield self._banner
                yield self.chat
                with Vertical(id="input-area"):
                    yield self._menu
                    yield self.composer
            yield self._side
        yield self.jobs
        yield self._status_line

    @property
    def is_attached_to_mind(self) -> bool:
        """Whether the daemon is connected and its conversation is on the screen."""
        return self.link.is_connected and self._is_conversation_shown

    @property
    def actions(self) -> "CommandActions":
        """The commands. Their modules are loaded with the first command, or two seconds after the start, so that the
        first frame does not wait for them."""
        return self._load_actions()

    def _load_actions(self) -> "CommandActions":
        if self._actions is None:
            from reveries.client.tui.actions import CommandActions

            self._actions = CommandActions(self)
        return self._actions

    def on_mount(self) -> None:
        self.set_keymap(keymap(self.settings))
        if self.draft.load():
            self.hint("there is another unsent draft: the next terminal that you open has it")
        self.composer.focus()
        leave_on_signals(self.draft.save, self._leave_on_signal)
        self.set_interval(DRAFT_SECONDS, self.draft.save)
        self.set_timer(ACTIONS_DELAY_SECONDS, self._finish_start)
        self._run_link()

    def _finish_start(self) -> None:
        """Load the commands and, if the start disabled the garbage collector, freeze what is loaded and enable it.

        Otherwise the collector would scan it every few seconds, and keys would not be read for 30 ms."""
        self._load_actions()
        if not gc.isenabled():
            gc.freeze()
            gc.enable()

    def on_unmount(self) -> None:
        # A closed browser tab ends the application without `leave`.
        self.draft.close()

    @work(exclusive=True, group="link", name="tui.link", exit_on_error=True)
    async def _run_link(self) -> None:
        await self.link.run()

    def _handle_exception(self, error: Exception) -> None:
        """Exit without printing a traceback over the terminal; the caller reads the error from `mishap`."""
        if self._closing or self._exit:
            # Raised while the screen was being torn down: harmless.
            return
        self.draft.save()
        if self.is_headless:
            super()._handle_exception(error)
            return
        self.crash = self.crash or error
        self.exit(return_code=1)

    # --- what the owner does -----------------------------------------------------------------------------------------

    @on(Composer.Submitted)
    async def _submitted(self, submitted: Composer.Submitted) -> None:
        what = parse_command(submitted.text)
        if not submitted.text:
            # Restored to the draft, or the daemon turned out to have received it.
            return
        if isinstance(what, str):
            self._refuse(submitted, what)
        elif what is None:
            await self._send_submitted(submitted, submitted.text.strip(), is_private=submitted.is_private)
        elif what.command.name == "/private":
            await self._send_submitted(submitted, what.words, is_private=True)
        elif what.command.keeps_words and submitted.is_private:
            self._refuse(submitted, f"off the record: {what.command.name} would store it; /private ends it")
        else:
            self.composer.release(submitted)
            if not submitted.is_private:
                self.composer.past.add(submitted.text)
            self._run_command(what)

    async def _send_submitted(self, submitted: Composer.Submitted, text: str, *, is_private: bool) -> None:
        # Either the link has the text or the composer gets it back, never both.
        self.composer.release(submitted)
        if not await self.send_message(text, is_private=is_private):
            self.composer.restore_refused(submitted, with_rest=True)

    def _refuse(self, submitted: Composer.Submitted, why: str) -> None:
        self.composer.restore_refused(submitted)
        self.hint(why)

    async def send_message(self, text: str, *, is_private: bool = False) -> bool:
        """Send a message; whether it was accepted. Off the record, it is kept out of the draft file and the history."""
        if len(text) > protocol.MAX_TEXT_CHARS:
            self.hint(f"{len(text):,} characters: a message has at most {protocol.MAX_TEXT_CHARS:,}")
            return False
        if not self.link.say(text, is_private=is_private):
            self.hint("not sent: your message stays here until the mind is back")
            return False
        if not is_private:
            self.composer.past.add(text)
        self.draft.save()
        self.was_private = is_private
        self.composer.show_answering(is_answering=True)
        await self.chat.add_message(text, is_private=is_private)
        return True

    @on(Composer.KeyTyped)
    def _note_writing(self) -> None:
        self.link.note_writing()

    @on(Composer.PrivacyChanged)
    def _privacy_turned(self) -> None:
        self.hint(
            "off the record: what you say is neither stored nor remembered; /private ends it"
            if self.composer.is_private
            else "on the record again"
        )

    @work(group="commands", name="tui.command", exit_on_error=True)
    async def _run_command(self, what: CommandCall) -> None:
        await self.actions.run(what)

    def action_command(self, name: str) -> None:
        """Run the command of a key. An open pane is closed first; the key that opened it only closes it."""
        command = find_command(name)
        opened_by, self._opened_by = self._opened_by, ""
        if command is None:
            return
        if self.screen.is_modal:
            self.screen.dismiss(None)
            if opened_by == name:
                return
        self._opened_by = name
        self._run_command(CommandCall(command, ""))

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

    @work(group="commands", name="tui.why", exit_on_error=True)
    async def _ask_why(self, item: protocol.RecalledItem) -> None:
        await self.actions.show_why(item)

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """List the palette's entries (Ctrl+P): every command and Textual's own, except its screenshot, which would
        store off-the-record text where others may read it."""
        for command in COMMANDS:
            act = partial(self._from_palette, command.name)
            yield SystemCommand(f"{command.name[1:].capitalize()}: {command.description}", command.usage, act)
        yield from (own for own in super().get_system_commands(screen) if own.title != "Screenshot")

    def _from_palette(self, name: str) -> None:
        command = find_command(name)
        if command is None:
            return
        if command.needs_words:
            self.composer.write(f"{name} ")
            self.composer.focus()
        else:
            self._run_command(CommandCall(command, ""))

    def _leave_on_signal(self, number: signal.Signals) -> None:
        # The terminal may be gone, so running work is not asked about.
        self.ended_by = number
        self.composer.call_later(self.leave)

    def action_leave_or_copy(self) -> None:
        """Ctrl+C: copy the selection, else stop the reply; leave when pressed twice."""
        now, text = self.clock.monotonic(), self.composer.selected_text or self.screen.get_selected_text()
        if self._leaving.is_second_press(now):
            self.leave()
        elif text:
            self.copy_to_clipboard(text)
            self.hint("copied; ctrl+c again leaves")
        elif self.link.stop_reply():
            self.hint(f"stopped; {self._leaving.hint_text(self.jobs.own_jobs, 'ctrl+c')}")
        else:
            self.hint(self._leaving.hint_text(self.jobs.own_jobs, "ctrl+c"))

    @on(Chat.Scrolled)
    def _scrolled(self) -> None:
        self._update_newest_hint()

    @on(Chat.EarlierWanted)
    def _load_earlier(self) -> None:
        self._show_earlier()

    @work(exclusive=True, group="earlier", name="tui.earlier", exit_on_error=True)
    async def _show_earlier(self) -> None:
        before = self.chat.first_shown
        try:
            answer = await self.link.ask(
                lambda number: protocol.AskTurns(number, self._conversation_id, before, EARLIER_TURNS), protocol.Turns
            )
        except ReveriesError as error:
            self.chat.allow_earlier_request()
            self.hint(one_line(str(error)))
            return
        is_shown = self.chat.first_shown == before
        if answer.conversation_id == self._conversation_id and is_shown:
            await self.chat.show_earlier(answer.turns, answer.earlier_count)

    # --- what the mind does ------------------------------------------------------------------------------------------

    @on(messages.AttachedToMind)
    async def _attached(self, event: messages.AttachedToMind) -> None:
        self._is_conversation_shown = False
        # First, before any await: until then the link sends nothing, and new messages are compared too.
        self.draft.drop_received(event.attached.turns)
        mind = self.mind_name = one_line(event.mind, 60)
        self.composer.placeholder = Content(f"Say something to {mind}")
        self.composer.show_answering(is_answering=self.link.is_busy)
        before = event.unacknowledged
        waiting = [
            *before,
            *(words for words in self.link.unacknowledged if not any(words is earlier for earlier in before)),
        ]
        self.was_private = waiting[-1].is_private if waiting else self.was_private and self.link.is_answering
        await self.chat.show_conversation(mind, event.attached)
        if event.is_acknowledged:
            await self.chat.extend_reply("")
        for words in waiting:
            await self.chat.add_message(words.text, is_private=words.is_private)
        self.composer.past.prepend(turn.text for turn in event.attached.turns if turn.is_owner)
        if not (event.attached.turns or waiting):
            from reveries.client.tui.welcome import WelcomeText

            await self.chat.mount(WelcomeText(mind, event.status))
        self._show_status(event.status)
        self._conversation_id = event.attached.conversation_id
        self._load_last_context(is_new=True)
        self._is_conversation_shown = True
        again = self.draft.take_resends()
        refused = [words for words in again if not await self.send_message(words.text, is_private=words.is_private)]
        if refused:
            self.composer.restore_texts(refused)

    @on(messages.ConnectionDropped)
    async def _connection_dropped(self, event: messages.ConnectionDropped) -> None:
        self._is_conversation_shown = False
        self.composer.show_answering(is_answering=False)
        await self.chat.interrupt_reply("The connection to the mind was lost here.")
        await self.chat.remove_waiting()
        self.draft.restore_returned()
        self._status_line.show_state("away")
        self._banner.show_rows(event.sentence)

    @on(messages.WordsStored)
    async def _words_stored(self, event: messages.WordsStored) -> None:
        await self.chat.mark_stored(event.turn_id)

    @on(messages.MemoriesRecalled)
    async def _recalled(self, event: messages.MemoriesRecalled) -> None:
        self.recalled_items = event.items
        await self._side.recalled.show(event.items)

    @on(messages.HelpOffered)
    async def _help_offered(self, event: messages.HelpOffered) -> None:
        await self.chat.show_help_text(event.text)

    @on(messages.ReplyPieceArrived)
    async def _reply_piece_arrived(self, event: messages.ReplyPieceArrived) -> None:
        await self.chat.extend_reply(event.text)
        self._note_new_content()

    @on(messages.ReplyEnded)
    async def _reply_ended(self, event: messages.ReplyEnded) -> None:
        self.composer.show_answering(is_answering=self.link.is_busy)
        await self.chat.finish_reply(event.replied)
        self._status_line.show_turn(event.replied)
        if not self._status_line.knows_context:
            self._load_context_size()

    @on(messages.SayFailed)
    async def _say_failed(self, event: messages.SayFailed) -> None:
        self.composer.show_answering(is_answering=self.link.is_busy)
        await self.chat.show_refusal(event.sentence)
        if self.draft.restore_returned():
            self.hint("not stored: your message is in the draft again")

    @on(messages.TurnSpoken)
    async def _turn_spoken(self, event: messages.TurnSpoken) -> None:
        await self.chat.add_stored_turn(event.turn)
        if not (event.turn.is_owner or self.link.is_answering):
            self._load_last_context()
        self._note_new_content()

    @on(messages.MindStateChanged)
    def _mind_state_changed(self, event: messages.MindStateChanged) -> None:
        self._status_line.show_state(event.state)

    @on(messages.StatusArrived)
    def _status_arrived(self, event: messages.StatusArrived) -> None:
        self._show_status(event.status)

    @on(messages.JobProgressed)
    def _job_progressed(self, event: messages.JobProgressed) -> None:
        progress = event.progress
        self.jobs.update_job(f"other client {progress.what}", progress.what, progress.done, progress.total)

    @on(messages.ThoughtProgressed)
    def _thought_progressed(self, event: messages.ThoughtProgressed) -> None:
        self._side.monologue.show(event.frame)

    # -----------------------------------------------------------------------------------------------------------------

    @work(exclusive=True, group="context", name="tui.context", exit_on_error=True)
    async def _load_last_context(self, *, is_new: bool = False) -> None:
        """Show the memories and tokens of the conversation's last turn, which another client may have sent."""
        context = await fetch_last_context(self.link.ask, self._conversation_id)
        if self.link.is_answering or not (context or is_new):
            return
        self.recalled_items = (context.recalled or []) if context else []
        await self._side.recalled.show_last(self.recalled_items)
        self._status_line.show_context_use(*((context.total_tokens, context.context_tokens) if context else (0, 0)))

    @work(exclusive=True, group="size", name="tui.size", exit_on_error=True)
    async def _load_context_size(self) -> None:
        if (tokens := await fetch_context_tokens(self.link.ask)) is not None:
            self._status_line.show_context(tokens)

    def _show_status(self, status: Status) -> None:
        self._status_line.show_status(status)
        self.jobs.remove_silent()
        if 0 <= status.embedding_done < status.embedding_total:
            self.jobs.update_job("vectors", "re-embedding memory", status.embedding_done, status.embedding_total)
        else:
            self.jobs.remove_job("vectors")
        self._banner.show_problems(status)

    def _note_new_content(self) -> None:
        """Show a hint if new content is below the visible part; known only after layout."""
        self.call_after_refresh(self._update_newest_hint, has_new_content=True)

    def _update_newest_hint(self, *, has_new_content: bool = False) -> None:
        if self.chat.is_at_newest:
            self.composer.border_title = None
        elif has_new_content:
            self.composer.border_title = "↓ newer below: ctrl+l"
