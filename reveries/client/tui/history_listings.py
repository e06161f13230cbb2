"""Listings of sleep passes, conversations, thoughts and past messages. Their pages are those of the command line."""

from functools import partial
from typing import Final

from textual.content import Content

from reveries import protocol
from reveries.client.connection import AskCallback
from reveries.client.features.sleep_log import run_page, sleep_undone_page
from reveries.client.features.thinking import thoughts_page
from reveries.client.render import Page, line, paragraph
from reveries.client.talk_page import conversation_page
from reveries.client.tui.browser import ActionOutcome, BrowserAction, CloseBrowser, Entry, ReloadList
from reveries.client.tui.history import History
from reveries.client.tui.mind_queries import ListedQueries, MindQueries, list_row
from reveries.client.wording import ago, plural
from reveries.clock import Clock
from reveries.safe_text import one_line

_LISTED: Final = 100
_FOUND: Final = 30
_ROW_CHARS: Final = 120
_WEEK_SECONDS: Final = 7 * 86400.0
_UNDO: Final = BrowserAction("u", "undo", "Undo what this sleep pass changed?")
_UNDO_THROUGH: Final = BrowserAction("t", "undo with later ones", "Undo this pass and those that built on it?")
_APPROVE: Final = BrowserAction("c", "approve", "Apply what this pass asks about?")
_REJECT: Final = BrowserAction("d", "reject", "Reject what this pass asks about?")
_RESUME: Final = BrowserAction("enter", "continue it")
_USE_AGAIN: Final = BrowserAction("enter", "into the draft")
_PIN: Final = BrowserAction("p", "pin", "Pin this thought, so that memory keeps it?")
_DROP: Final = BrowserAction("d", "drop", "Drop this thought, so that memory ignores it?")


class SleepListing(MindQueries):
    """Sleep passes, latest first, each with its changes."""

    title = "sleep passes"
    empty_text = "It has not slept yet."
    actions = (_UNDO, _UNDO_THROUGH, _APPROVE, _REJECT)

    async def entries(self, words: str) -> list[Entry]:
        """Load one row per pass."""
        log = await self.ask(lambda number: protocol.AskSleepLog(number, _LISTED), protocol.SleepLog)
        now = self.clock.now()
        return [Entry(run.run_id, _run_row(run, now)) for run in log.runs]

    async def page(self, key: str) -> Page:
        """Render what the pass changed, before and after."""
        answer = await self.ask(lambda number: protocol.InspectSleep(number, key), protocol.SleepRunDetail)
        return run_page(answer, self.clock.now())

    async def run_action(self, action: BrowserAction, key: str, words: str = "") -> ActionOutcome:
        """Undo the pass, or answer its question."""
        if action in (_APPROVE, _REJECT):
            answer = partial(protocol.AnswerSleep, run_id=key, do_it=action is _APPROVE)
            answered = await self.ask(answer, protocol.SleepAnswered)
            return ReloadList(paragraph(one_line(answered.line)))
        through = action is _UNDO_THROUGH
        undone = await self.ask(lambda number: protocol.UndoSleep(number, key, through), protocol.SleepUndone)
        return ReloadList(sleep_undone_page(undone))


class ConversationListing(ListedQueries[protocol.PastConversation]):
    """Past conversations, latest first."""

    title = "conversations"
    placeholder = "search for words said in it"
    empty_text = "No conversation contains these words."
    actions = (_RESUME,)

    async def entries(self, words: str) -> list[Entry]:
        """Load one row per conversation."""
        answer = await self.ask(
            lambda number: protocol.AskConversations(number, words.strip(), _LISTED), protocol.Conversations
        )
        self.listed = {conversation.conversation_id: conversation for conversation in answer.conversations}
        now = self.clock.now()
        return [
            Entry(conversation.conversation_id, _conversation_row(conversation, now))
            for conversation in answer.conversations
        ]

    async def page(self, key: str) -> Page:
        """Render its last turns."""
        answer = await self.ask(lambda number: protocol.AskTurns(number, key, None, _FOUND), protocol.Turns)
        return conversation_page(self.listed[key], answer, self.clock.now())

    async def run_action(self, action: BrowserAction, key: str, words: str = "") -> ActionOutcome:
        """Resume the conversation in every attached client."""
        await self.ask(lambda number: protocol.ResumeConversation(number, key), protocol.Ok)
        return CloseBrowser()


class ThoughtListing(ListedQueries[protocol.ThoughtEntry]):
    """Thoughts of the last week, latest first."""

    title = "thoughts"
    empty_text = "No thoughts in the last week."
    actions = (_PIN, _DROP)

    async def entries(self, words: str) -> list[Entry]:
        """Load one row per thought."""
        now = self.clock.now()
        since = now - _WEEK_SECONDS
        answer = await self.ask(lambda number: protocol.AskThoughts(number, since, _LISTED), protocol.Thoughts)
        latest = sorted(answer.thoughts, key=lambda thought: thought.began_at, reverse=True)
        self.listed = {thought.thought_id: thought for thought in latest}
        return [Entry(thought.thought_id, _thought_row(thought, now)) for thought in latest]

    async def page(self, key: str) -> Page:
        """Render why the thought began, its text, why it ended, and its cost."""
        return thoughts_page([self.listed[key]], self.clock.now())

    async def run_action(self, action: BrowserAction, key: str, words: str = "") -> ActionOutcome:
        """Pin or drop the thought."""
        if action is _PIN:
            await self.ask(lambda number: protocol.MarkThought(number, key, "pin"), protocol.ThoughtMarked)
            return ReloadList([line("  Pinned: memory keeps it.")])
        await self.ask(lambda number: protocol.MarkThought(number, key, "drop"), protocol.ThoughtMarked)
        return ReloadList([line("  Dropped: memory ignores it.")])


class PastWordsListing(MindQueries):
    """The owner's earlier messages, from this terminal and all conversations, to use again."""

    title = "your earlier messages"
    placeholder = "search"
    empty_text = "No message contains these words."
    actions = (_USE_AGAIN,)

    def __init__(self, ask: AskCallback, clock: Clock, history: History) -> None:
        super().__init__(ask, clock)
        self._history = history

    async def entries(self, words: str) -> list[Entry]:
        """Load one row per text, latest first."""
        here = self._history.find_texts(words)
        answer = await self.ask(
            lambda number: protocol.AskPastWords(number, words.strip(), _LISTED), protocol.PastWords
        )
        texts = dict.fromkeys([*here, *answer.texts])
        return [Entry(text, Content(one_line(text, _ROW_CHARS))) for text in texts]

    async def page(self, key: str) -> Page:
        """Render the whole text."""
        return paragraph(key)

    async def run_action(self, action: BrowserAction, key: str, words: str = "") -> ActionOutcome:
        """Close with the text, which goes into the draft."""
        return CloseBrowser(key)


def _run_row(run: protocol.SleepRun, now: float) -> Content:
    changes = f"{plural(run.processed, 'experience')}: {run.created} new, {run.merged} merged"
    state = ", undone" if run.undone_by else ", has a question" if run.question else ""
    return list_row(
        "◐" if run.depth == "light" else "●", f"{run.depth} sleep, {changes}", ago(run.began_at, now) + state
    )


def _conversation_row(past: protocol.PastConversation, now: float) -> Content:
    mark = "▸" if past.is_held else ("·" if past.source == "chat" else "↓")
    return list_row(mark, past.found or past.opening, f"{ago(past.last_said_at, now)}, {plural(past.turns, 'turn')}")


def _thought_row(thought: protocol.ThoughtEntry, now: float) -> Content:
    mark = "+" if thought.is_pinned else "-" if thought.is_dropped else "·"
    return list_row(mark, thought.text or thought.why_began, ago(thought.began_at, now))
