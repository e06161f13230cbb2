"""The owner's commands: one method each, called by the slash menu, the palette and the keys."""

import datetime as dt
import os
import re
from functools import partial
from typing import TYPE_CHECKING, Final

from textual.app import SuspendNotSupported

from reveries import protocol
from reveries.client.answers import PAGES, render_answer
from reveries.client.crash_log import log_crash
from reveries.client.owner_files import edit_in_editor, editor_command, resolve_path, write_unique_file
from reveries.client.render import page_columns
from reveries.client.slash_commands import Fetch, send
from reveries.client.slash_parsing import CommandCall
from reveries.client.talk_page import conversation_markdown
from reveries.client.tui.browser import Browser, BrowserListing
from reveries.client.tui.conversation_app import ConversationApp
from reveries.client.tui.forget_pane import ForgetPane
from reveries.client.tui.history_listings import ConversationListing, PastWordsListing, SleepListing, ThoughtListing
from reveries.client.tui.long_commands import LongCommands
from reveries.client.tui.memory_listings import MemoryListing, RecalledListing
from reveries.client.tui.mind_queries import MindQueries
from reveries.client.tui.outgoing_text import OutgoingText
from reveries.client.tui.panes import PagePane, columns_for, problem_page
from reveries.client.tui.project_listings import ProjectListing, QuestionListing
from reveries.client.tui.results import show_result
from reveries.client.tui.themes import next_theme
from reveries.errors import ReveriesError, UsageError
from reveries.safe_text import one_line

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


_TERMINAL_COPIES_CHARS: Final = 70_000
"""Many terminals ignore a copy sequence longer than this."""
_FENCE: Final = re.compile(r"^(`{3,}|~{3,})[^\n]*\n(.*?)^\1[ \t]*$", re.MULTILINE | re.DOTALL)
_EXPORT_BATCH: Final = 500
_POLL_SECONDS: Final = 0.1
_MAX_FORGET_CHARS: Final = 200
"""The protocol's limit. Longer text is refused, never cut: a shorter text would match more."""


class CommandActions:
    """Runs the commands of one application."""

    def __init__(self, app: ConversationApp) -> None:
        self._app = app
        self._long_commands = LongCommands(app)
        self._actions: dict[str, Callable[[str], Awaitable[None]]] = {
            "/stop": self._stop_work,
            "/retry": self._retry,
            "/undo": self._undo,
            "/private": self._private,
            "/new": self._new,
            "/resume": self._resume,
            "/edit": self._edit,
            "/past": self._past,
            "/copy": self._copy,
            "/export": self._export,
            "/newest": self._newest,
            "/recalled": self._show_recalled,
            "/memory": self._memory,
            "/forget": self._open_forget_pane,
            "/thoughts": self._thoughts,
            "/sleeps": self._sleeps,
            "/projects": self._projects,
            "/questions": self._questions,
            "/side": self._side,
            "/theme": self._theme,
            "/help": self._help,
            "/redraw": self._redraw,
            "/exit": self._exit,
            **self._long_commands.commands,
        }

    @property
    def names(self) -> frozenset[str]:
        """The commands that this interface carries out itself."""
        return frozenset(self._actions)

    async def run(self, call: CommandCall) -> None:
        """Run a command. Errors are shown on the screen and never raised, so the conversation goes on."""
        name = call.command.name
        try:
            if (action := self._actions.get(name)) is not None:
                await action(call.words)
            elif call.command.work:
                await self._long_commands.run(call.command, call.words)
            elif call.command.fetch is not None:
                await self._show_answer(call.command.fetch, call.words, call.command.title)
        except ReveriesError as error:
            problem = str(error)
        except Exception as error:  # noqa: BLE001 - the boundary of a command: logged to the crash log and shown
            problem = log_crash(error, self._app.home)
        else:
            return
        if call.command.work or name in self._long_commands.commands:
            await show_result(self._app, name, partial(problem_page, problem))
        else:
            self._app.show_pane(PagePane(name, problem_page(problem)))

    async def show_why(self, item: protocol.RecalledItem) -> None:
        """Show why this episode was recalled for the last turn, or the chunk itself if it is project knowledge."""
        if item.project:
            listing = RecalledListing(self._app.link.ask, self._app.clock, [item])
            self._app.show_pane(PagePane(item.project, await listing.page(item.episode_id)))
            return
        await self._show_answer(send(lambda number: protocol.AskWhy(number, item.episode_id)))

    async def _show_answer(self, fetch: Fetch, words: str = "", title: str = "") -> None:
        app = self._app
        now = app.clock.now()
        answer = await fetch(app.link.ask, words, now)
        with page_columns(columns_for(app.size.width)):
            page = render_answer(answer, now)
        app.show_pane(PagePane((title or PAGES[type(answer)].title).format(words), page))

    # --- the conversation --------------------------------------------------------------------------------------------

    async def _stop_work(self, _: str) -> None:
        """Stop the reply; if there is none, the long job started here last."""
        if not (self._app.link.stop_reply() or self._long_commands.stop()):
            self._app.composer.focus()

    async def _retry(self, _: str) -> None:
        words = await self._take_back()
        # Sent once the conversation without these words is on the screen.
        self._app.draft.resend_later(OutgoingText(words, self._app.composer.is_private))

    async def _private(self, _: str) -> None:
        """Toggle off the record. `/private WORDS` does not come here: the application sends it."""
        self._app.composer.toggle_private()

    async def _undo(self, _: str) -> None:
        words = await self._take_back()
        self._app.composer.restore_texts([OutgoingText(words, self._app.composer.is_private)])
        self._app.hint("taken back, not remembered; your message is in the draft")

    async def _take_back(self) -> str:
        if self._app.was_private:
            raise UsageError(
                "Your last message was off the record, so there is nothing to take back.",
                advice="It exists only on this screen.",
            )
        self._app.link.stop_reply()
        return (await self._app.link.ask(protocol.TakeBack, protocol.TakenBack)).words

    async def _new(self, _: str) -> None:
        if self._app.is_answering:
            self._app.hint("after this reply (esc stops it)")
        await self._wait_until_sent()
        await self._app.link.ask(protocol.NewConversation, protocol.Ok)
        self._app.hint("new conversation; earlier ones: /resume")

    async def _wait_until_sent(self) -> None:
        """Wait until queued messages are sent: they were meant for this conversation, not for the next one."""
        app = self._app
        if app.link.has_waiting:
            app.hint("after your waiting messages (esc stops a reply)")
        while app.link.has_waiting:
            await app.clock.sleep(_POLL_SECONDS)

    async def _resume(self, words: str) -> None:
        await self._wait_until_sent()
        await self._browse(ConversationListing(self._app.link.ask, self._app.clock), words, starts_typing=True)

    async def _past(self, words: str) -> None:
        app = self._app
        if not (words or app.composer.is_off_record):
            words = app.composer.text.strip()[:200]
        listing = PastWordsListing(app.link.ask, app.clock, app.composer.past)
        chosen = await self._browse(listing, words if "\n" not in words else "", starts_typing=True)
        if chosen:
            app.composer.write(chosen)

    async def _edit(self, _: str) -> None:
        app = self._app
        if app.composer.is_off_record:
            app.hint("off the record: an editor would save your text to disk; write it here")
            return
        command = editor_command(os.environ)
        draft = app.composer.draft
        try:
            # Nothing is drawn while the editor has the screen; the link keeps running.
            with app.suspend(), app.batch_update():
                text = await edit_in_editor(draft, command)
        except SuspendNotSupported:
            app.hint("no editor here: this terminal does not support it")
            return
        app.composer.apply_edit(draft, text)

    async def _copy(self, words: str) -> None:
        app = self._app
        text = app.chat.text_to_copy
        if words == "code":
            blocks = _FENCE.findall(text)
            text, words = (blocks[-1][1] if blocks else ""), ""
        if not text:
            app.hint("nothing to copy")
        elif words or len(text) > _TERMINAL_COPIES_CHARS:
            name = "reveries-copied.md"
            app.hint(f"written to {write_unique_file(resolve_path(words or name), text, name)}")
        else:
            app.copy_to_clipboard(text)
            app.hint(f"copied {len(text):,} characters; not in your clipboard? /copy FILE")

    async def _export(self, words: str) -> None:
        app = self._app
        turns = await self._fetch_all_turns()
        if not turns:
            app.hint("no messages yet")
            return
        began = dt.datetime.fromtimestamp(turns[0].said_at)
        name = f"reveries-{began:%Y-%m-%d-%H%M}.md"
        page = conversation_markdown(turns, turns[0].said_at, app.mind_name)
        written = write_unique_file(resolve_path(words or name), page, name)
        app.hint(f"{len(turns):,} turns written to {written}")

    async def _fetch_all_turns(self) -> list[protocol.SaidTurn]:
        turns: list[protocol.SaidTurn] = []
        before: int | None = None
        while before is None or before > 0:
            ask = partial(protocol.AskTurns, before=before, limit=_EXPORT_BATCH)
            answer = await self._app.link.ask(ask, protocol.Turns)
            turns, before = [*answer.turns, *turns], answer.earlier_count
        return turns

    async def _newest(self, _: str) -> None:
        self._app.chat.scroll_to_newest()

    # --- memory, thinking, projects -----------------------------------------------------------------------------------

    async def _show_recalled(self, _: str) -> None:
        app = self._app
        await self._browse(RecalledListing(app.link.ask, app.clock, app.recalled_items))

    async def _memory(self, words: str) -> None:
        await self._browse(MemoryListing(self._app.link.ask, self._app.clock), words)

    async def _open_forget_pane(self, words: str) -> None:
        app = self._app
        if len(words) > _MAX_FORGET_CHARS:
            raise UsageError(
                f"The text has {len(words):,} characters; here at most {_MAX_FORGET_CHARS:,} are allowed.",
                advice="Use an id; or in a shell: reveries forget --matching, which allows more.",
            )
        receipt = await app.push_screen_wait(ForgetPane(MindQueries(app.link.ask, app.clock), words, erase=False))
        if receipt is not None:
            app.show_pane(PagePane("forgotten", receipt))

    async def _thoughts(self, _: str) -> None:
        await self._browse(ThoughtListing(self._app.link.ask, self._app.clock))

    async def _sleeps(self, _: str) -> None:
        await self._browse(SleepListing(self._app.link.ask, self._app.clock))

    async def _projects(self, _: str) -> None:
        await self._browse(ProjectListing(self._app.link.ask, self._app.clock))

    async def _questions(self, _: str) -> None:
        await self._browse(QuestionListing(self._app.link.ask, self._app.clock))

    async def _browse(self, listing: BrowserListing, words: str = "", *, starts_typing: bool = False) -> str | None:
        return await self._app.push_screen_wait(Browser(listing, words, starts_typing=starts_typing))

    # --- this terminal -----------------------------------------------------------------------------------------------

    async def _side(self, _: str) -> None:
        self._app.toggle_side()

    async def _theme(self, words: str) -> None:
        app = self._app
        name = words or next_theme(app.theme, list(app.available_themes))
        if name not in app.available_themes:
            app.hint(f"no such theme: {one_line(name, 40)}")
            return
        app.theme = name
        app.hint(f'{name}; to keep it: reveries config set client.theme "{name}"')

    async def _help(self, _: str) -> None:
        self._app.action_help()

    async def _redraw(self, _: str) -> None:
        self._app.refresh(layout=True)
        self._app.screen.refresh(layout=True)

    async def _exit(self, _: str) -> None:
        self._app.action_detach()
