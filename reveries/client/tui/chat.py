"""The conversation view: the scrolling list of turns, and which turn a piece of a reply belongs to."""

import datetime as dt
from typing import Final

from textual.containers import VerticalScroll
from textual.message import Message
from textual.widget import Widget

from reveries.client.tui.turns import OwnerTurn, PastReply, Remark, ReplyWidget, TurnText
from reveries.clock import Clock
from reveries.protocol import Attached, Replied, SaidTurn
from reveries.safe_text import one_line, plain

_MARKDOWN_TURNS = 12
_UNNAMED: Final = "you"
_SHOWN_TURNS = 40
"""Turns laid out on opening. More are loaded as the owner scrolls up, so that opening stays fast."""


class Chat(VerticalScroll):
    """The scrolling list of turns. It follows the newest until the owner scrolls up."""

    can_focus = True
    HELP_TITLE = "the conversation"

    class Scrolled(Message):
        """The scroll position changed."""

    class EarlierWanted(Message):
        """The owner scrolled to the first turn shown, and there are earlier ones."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(id="chat")
        self._clock = clock
        self._owner = _UNNAMED
        """The owner's name in turn headings."""
        self._interrupted: ReplyWidget | None = None
        """The last interrupted reply, until the daemon sends the partial turn that it stored."""
        self._mind = "Reverie"
        self._shown_ids: set[str] = set()
        self._waiting: list[OwnerTurn] = []
        self._answering: tuple[OwnerTurn, ReplyWidget] | None = None
        self._deferred: list[SaidTurn] = []
        self._last_day: dt.date | None = None
        self._first_shown = 0
        self._asked_earlier = False

    def on_mount(self) -> None:
        self.anchor()

    @property
    def is_at_newest(self) -> bool:
        """Whether the view follows the end: until the owner scrolls up, and again once at the end."""
        return not self._anchor_released or self.scroll_y >= self.max_scroll_y - 1

    @property
    def first_shown(self) -> int:
        """The number of turns before the first one shown."""
        return self._first_shown

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Post `Scrolled`, and request earlier turns at the top."""
        super().watch_scroll_y(old_value, new_value)
        self.post_message(self.Scrolled())
        if new_value <= 0 < old_value and self._first_shown and not self._asked_earlier:
            self._asked_earlier = True
            self.post_message(self.EarlierWanted())

    def allow_earlier_request(self) -> None:
        """Loading earlier turns failed: request them again when the owner next scrolls to the top."""
        self._asked_earlier = False

    async def show_earlier(self, turns: list[SaidTurn], earlier_count: int) -> None:
        """Insert turns before the first one shown, without moving what the owner sees."""
        self._first_shown, self._asked_earlier = earlier_count, False
        below = self.max_scroll_y - self.scroll_y
        for remark in self.query(".earlier"):
            await remark.remove()
        widgets = [*self._earlier_note(), *(self._turn_widget(turn, as_markdown=False) for turn in turns)]
        self._shown_ids |= {turn.turn_id for turn in turns}
        if self.children:
            await self.mount_all(widgets, before=0)
        self.call_after_refresh(lambda: self.scroll_to(y=self.max_scroll_y - below, animate=False))

    # --- marking a turn ----------------------------------------------------------------------------------------------

    def mark(self, steps: int) -> None:
        """Move the mark by `steps` turns; past the last, nothing is marked."""
        turns = list(self.query(".turn"))
        marked = next((index for index, turn in enumerate(turns) if turn.has_class("marked")), len(turns))
        index = max(0, min(len(turns), marked + steps))
        for turn in turns:
            turn.set_class(index < len(turns) and turn is turns[index], "marked")
        if index < len(turns):
            self.scroll_to_widget(turns[index], animate=False)
        else:
            self.scroll_to_newest()

    @property
    def text_to_copy(self) -> str:
        """The text of the marked turn, else of the last reply; empty if there is neither."""
        for turn in self.query(".marked"):
            if isinstance(turn, TurnText | ReplyWidget):
                return turn.text
        replies = list(self.query(ReplyWidget))
        return replies[-1].text if replies else ""

    async def show_conversation(self, mind: str, attached: Attached) -> None:
        """Replace what is shown with the conversation as the daemon has it."""
        self._mind = one_line(mind, 60)
        await self.interrupt_reply("")
        with self.app.batch_update():
            await self._show_all(attached)
        self.scroll_to_newest()

    async def _show_all(self, attached: Attached) -> None:
        await self.remove_children()
        self._shown_ids = {turn.turn_id for turn in attached.turns}
        self._waiting, self._deferred, self._last_day, self._interrupted = [], [], None, None
        widgets: list[Widget] = []
        shown = attached.turns[-_SHOWN_TURNS:]
        self._first_shown, self._asked_earlier = attached.earlier_count + len(attached.turns) - len(shown), False
        widgets += self._earlier_note()
        for index, turn in enumerate(shown):
            as_markdown = index >= len(shown) - _MARKDOWN_TURNS
            widgets += [*self._day_heading(turn.said_at), self._turn_widget(turn, as_markdown=as_markdown)]
        widgets += [Remark(notice) for notice in attached.notices]
        await self.mount_all(widgets)

    async def add_message(self, text: str, *, is_private: bool = False) -> None:
        """Show a message of the owner, marked as waiting if a reply is still coming."""
        await self.query(".welcome").remove()
        note = "waits" if self._answering or self._waiting else "…"
        turn = OwnerTurn(text, self._clock.now(), speaker=self._owner, note=note, is_private=is_private)
        self._waiting.append(turn)
        await self.mount(*self._day_heading(self._clock.now()), turn)
        self.scroll_to_newest()

    async def mark_stored(self, turn_id: str) -> None:
        """The daemon has stored the message: begin the reply to it."""
        self._shown_ids.add(turn_id)
        await self._begin_reply()

    async def extend_reply(self, piece: str) -> None:
        """Append a piece to the current reply."""
        (await self._begin_reply()).add_piece(piece)

    async def finish_reply(self, replied: Replied) -> None:
        """Show the complete reply."""
        self._shown_ids.add(replied.turn_id)
        reply = await self._begin_reply()
        await reply.settle(replied)
        self._answering = None
        await self._show_deferred()

    async def interrupt_reply(self, why: str) -> None:
        """End the current reply, if any, with a reason."""
        if self._answering is not None:
            _, reply = self._answering
            self._answering = None
            await reply.interrupt(why)

    async def show_help_text(self, text: str) -> None:
        """Show a help text next to the reply; it stays in the conversation."""
        await self.mount(*(Remark(line, classes="problem") for line in plain(text).splitlines()))
        self.scroll_to_newest()

    async def show_refusal(self, why: str) -> None:
        """Show why the daemon refused or could not answer a message."""
        if self._answering is None and not self._waiting:
            await self.mount(Remark(why, classes="problem"))
            return
        reply = await self._begin_reply()
        await reply.interrupt(why)
        self._answering, self._interrupted = None, reply
        await self._show_deferred()

    async def remove_waiting(self) -> None:
        """Remove messages that were shown but not accepted by the daemon."""
        for turn in self._waiting:
            await turn.remove()
        self._waiting = []

    async def add_stored_turn(self, turn: SaidTurn) -> None:
        """Show a turn that was stored, unless it is shown already; another client may have sent it."""
        if turn.turn_id in self._shown_ids or self._is_interrupted_reply(turn):
            return
        is_ours = any(turn.text.strip() == plain(waiting.text).strip() for waiting in self._own_turns())
        if turn.is_owner and is_ours:
            self._shown_ids.add(turn.turn_id)
        elif self._answering is not None or self._waiting:
            # It may be the reply that is streaming here; that is known when the reply has ended.
            self._deferred.append(turn)
        else:
            await self._add_turn(turn)

    def scroll_to_newest(self) -> None:
        """Scroll to the end and follow it."""
        self.anchor()
        self.scroll_end(animate=False)

    def _earlier_note(self) -> list[Widget]:
        if not self._first_shown:
            return []
        return [Remark(f"{self._first_shown:,} earlier turns: scroll up", classes="day earlier")]

    def _own_turns(self) -> list[OwnerTurn]:
        return [*self._waiting, *([self._answering[0]] if self._answering else [])]

    async def _begin_reply(self) -> ReplyWidget:
        if self._answering is not None:
            return self._answering[1]
        words = self._waiting.pop(0) if self._waiting else None
        reply = ReplyWidget(self._mind, self._clock.now())
        if words is None:
            await self.mount(reply)
            words = OwnerTurn("", self._clock.now())
        else:
            words.set_note("")
            await self.mount(reply, after=words)
        reply.start_waiting()
        self._answering = (words, reply)
        return reply

    async def _show_deferred(self) -> None:
        deferred, self._deferred = self._deferred, []
        for turn in deferred:
            if turn.turn_id not in self._shown_ids and not self._is_interrupted_reply(turn):
                await self._add_turn(turn)

    def _is_interrupted_reply(self, turn: SaidTurn) -> bool:
        """Whether the turn is the stored part of the interrupted reply, which is shown already with its reason."""
        shown = self._interrupted.text.strip() if self._interrupted is not None else ""
        stored = plain(turn.text).strip()
        if not (stored and turn.is_partial and not turn.is_owner and shown.startswith(stored)):
            return False
        self._shown_ids.add(turn.turn_id)
        self._interrupted = None
        return True

    async def _add_turn(self, turn: SaidTurn) -> None:
        self._shown_ids.add(turn.turn_id)
        await self.query(".welcome").remove()
        await self.mount(*self._day_heading(turn.said_at), self._turn_widget(turn))

    def _turn_widget(self, turn: SaidTurn, *, as_markdown: bool = True) -> Widget:
        if turn.is_owner:
            if turn.speaker.lower() != _UNNAMED:
                self._owner = one_line(turn.speaker, 60) or _UNNAMED
            return OwnerTurn(turn.text, turn.said_at, speaker=self._owner)
        speaker = turn.speaker or self._mind
        if not as_markdown:
            return PastReply(speaker, turn.said_at, turn.text, is_partial=turn.is_partial, citations=turn.citations)
        reply = ReplyWidget(speaker, turn.said_at, turn.text, turn.citations)
        if turn.is_partial:
            reply.call_after_refresh(reply.end_with, "It was cut off here.")
        return reply

    def _day_heading(self, said_at: float) -> list[Widget]:
        day = dt.datetime.fromtimestamp(said_at).date()
        if day == self._last_day:
            return []
        is_first, self._last_day = self._last_day is None, day
        today = dt.datetime.fromtimestamp(self._clock.now()).date()
        if is_first and day == today:
            return []
        year = "" if day.year == today.year else f" {day.year}"
        return [Remark(f"{day:%A} {day.day} {day:%B}{year}", classes="day")]
