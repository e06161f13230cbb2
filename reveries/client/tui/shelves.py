"""What can be browsed: what is listed, what the page says, what can be done. The pages are the command line's."""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from textual.content import Content

from reveries import protocol
from reveries.client.memory_page import episode_page
from reveries.client.render import Page, line, paragraph
from reveries.client.sleep_page import run_page, undone_page
from reveries.client.talk_page import conversation_page
from reveries.client.thought_page import thoughts_page
from reveries.client.tui.browser import Deed, Entry, Leave, Refill
from reveries.client.tui.history import History
from reveries.client.why_page import why_page
from reveries.client.wording import ago, plural
from reveries.clock import Clock
from reveries.errors import ProtocolError
from reveries.plaintext import one_line

Ask = Callable[[Callable[[int], protocol.Request]], Awaitable[protocol.Frame]]
_Frame = TypeVar("_Frame")

_LISTED: Final = 100
_FOUND: Final = 30
_ROW_CHARS: Final = 120
_BAR_CELLS: Final = 5
_WEEK_SECONDS: Final = 7 * 86400.0
_WHY: Final = Deed("w", "why it comes to mind")
_INSPECT: Final = Deed("i", "all of it")
_LINKS: Final = Deed("l", "what it is linked with")
_UNDO: Final = Deed("u", "take back", "Take back what this pass of sleep did?")
_UNDO_THROUGH: Final = Deed("t", "and all after it", "Take back this pass, and those that built upon it?")
_RESUME: Final = Deed("enter", "go on with it")
_SAY_AGAIN: Final = Deed("enter", "into the draft")
_PIN: Final = Deed("p", "pin", "Let memory hold on to this thought?")
_DROP: Final = Deed("d", "drop", "Make nothing of this thought?")


class _Asking:
    """What all shelves need: whom to ask, and what time it is."""

    nothing = "Nothing is here."
    placeholder = ""

    def __init__(self, ask: Ask, clock: Clock) -> None:
        self._ask = ask
        self._clock = clock

    async def _answer(self, make: Callable[[int], protocol.Request], kind: type[_Frame]) -> _Frame:
        frame = await self._ask(make)
        if not isinstance(frame, kind):
            raise ProtocolError(f"The mind did not answer with {kind.__name__}.", advice="Wake it with this version.")
        return frame

    async def _episode(self, key: str) -> Page:
        found = await self._answer(lambda number: protocol.Inspect(number, key), protocol.EpisodeDetail)
        return episode_page(found, self._clock.now())

    async def _why(self, key: str, cue: str = "") -> Page:
        told = await self._answer(lambda number: protocol.AskWhy(number, key, cue), protocol.Why)
        return why_page(told, self._clock.now())


class MemoryShelf(_Asking):
    """Episodes: without words the latest, by day; with words what comes to mind for them; or one's links."""

    title = "what it remembers"
    placeholder = "search: what comes to mind for these words"
    nothing = "Nothing comes to mind for that."
    deeds = (_WHY, _INSPECT, _LINKS)

    def __init__(self, ask: Ask, clock: Clock) -> None:
        super().__init__(ask, clock)
        self._cue = ""
        self._linked_with = ""

    async def entries(self, words: str) -> list[Entry]:
        """One row an episode."""
        if self._linked_with and words == self._cue:
            return await self._links()
        self._cue, self._linked_with = words, ""
        now = self._clock.now()
        if not words.strip():
            asked = protocol.AskTimeline
            told = await self._answer(lambda number: asked(number, limit=_LISTED), protocol.Timeline)
            rows = [(one.episode_id, one.happened_at, one.salience, one.summary) for one in reversed(told.moments)]
        else:
            found = await self._answer(lambda number: protocol.Search(number, words, _FOUND), protocol.Found)
            rows = [(one.episode_id, one.happened_at, one.energy, one.summary) for one in found.episodes]
        return [Entry(key, _measured(share, summary, ago(at, now))) for key, at, share, summary in rows]

    async def page(self, key: str) -> Page:
        """The episode: summary, exemplars, links, where it comes from."""
        return await self._episode(key)

    async def do(self, deed: Deed, key: str) -> Page | Refill | Leave:
        """Why it comes to mind for the words (or the last turn); its links as the list."""
        if deed is _LINKS:
            self._linked_with = key
            return Refill()
        return await (self._why(key, self._cue) if deed is _WHY else self._episode(key))

    async def _links(self) -> list[Entry]:
        name = self._linked_with
        detail = await self._answer(lambda number: protocol.Inspect(number, name), protocol.EpisodeDetail)
        first = Entry(detail.episode_id, _row("·", detail.summary, "this one"))
        return [first, *(Entry(one.episode_id, _measured(one.strength, one.summary, one.type)) for one in detail.links)]


class RecalledShelf(_Asking):
    """What surfaced for the last turn, the strongest first, each with its reasons."""

    title = "what came to mind for your last words"
    nothing = "Nothing came to mind, or nothing was said yet."
    deeds = (_WHY, _INSPECT)

    def __init__(self, ask: Ask, clock: Clock, items: list[protocol.RecalledItem]) -> None:
        super().__init__(ask, clock)
        self._items = items

    async def entries(self, words: str) -> list[Entry]:
        """One row a memory; those that had no room are marked."""
        now = self._clock.now()
        return [
            Entry(
                one.episode_id,
                _measured(one.energy, one.summary, ago(one.happened_at, now) + ("" if one.was_told else ", not told")),
            )
            for one in self._items
        ]

    async def page(self, key: str) -> Page:
        """Why."""
        return await self._why(key)

    async def do(self, deed: Deed, key: str) -> Page | Refill | Leave:
        """The other page."""
        return await (self._why(key) if deed is _WHY else self._episode(key))


class SleepShelf(_Asking):
    """Passes of sleep, the last first, each as what it changed."""

    title = "what sleep did"
    nothing = "It has not slept yet."
    deeds = (_UNDO, _UNDO_THROUGH)

    async def entries(self, words: str) -> list[Entry]:
        """One row a pass."""
        log = await self._answer(lambda number: protocol.AskSleepLog(number, _LISTED), protocol.SleepLog)
        now = self._clock.now()
        return [Entry(run.run_id, _run_row(run, now)) for run in log.runs]

    async def page(self, key: str) -> Page:
        """What changed, before and after."""
        told = await self._answer(lambda number: protocol.InspectSleep(number, key), protocol.SleepRunDetail)
        return run_page(told, self._clock.now())

    async def do(self, deed: Deed, key: str) -> Page | Refill | Leave:
        """Take it back."""
        through = deed is _UNDO_THROUGH
        undone = await self._answer(lambda number: protocol.UndoSleep(number, key, through), protocol.SleepUndone)
        return Refill(undone_page(undone))


class ConversationShelf(_Asking):
    """Past conversations, the latest first."""

    title = "conversations"
    placeholder = "find one by words that were said in it"
    nothing = "No conversation holds these words."
    deeds = (_RESUME,)

    def __init__(self, ask: Ask, clock: Clock) -> None:
        super().__init__(ask, clock)
        self._listed: dict[str, protocol.PastConversation] = {}

    async def entries(self, words: str) -> list[Entry]:
        """One row a conversation."""
        told = await self._answer(
            lambda number: protocol.AskConversations(number, words.strip(), _LISTED), protocol.Conversations
        )
        self._listed = {one.conversation_id: one for one in told.conversations}
        now = self._clock.now()
        return [Entry(one.conversation_id, _conversation_row(one, now)) for one in told.conversations]

    async def page(self, key: str) -> Page:
        """Its last turns."""
        told = await self._answer(lambda number: protocol.AskTurns(number, key, None, _FOUND), protocol.Turns)
        return conversation_page(self._listed[key], told, self._clock.now())

    async def do(self, deed: Deed, key: str) -> Page | Refill | Leave:
        """Go on with it; all terminals go along."""
        await self._answer(lambda number: protocol.ResumeConversation(number, key), protocol.Ok)
        return Leave()


class ThoughtShelf(_Asking):
    """What it thought in the last week, the latest first."""

    title = "what it thought"
    nothing = "It thought nothing in the last week."
    deeds = (_PIN, _DROP)

    def __init__(self, ask: Ask, clock: Clock) -> None:
        super().__init__(ask, clock)
        self._thoughts: dict[str, protocol.ThoughtEntry] = {}

    async def entries(self, words: str) -> list[Entry]:
        """One row a thought."""
        now = self._clock.now()
        since = now - _WEEK_SECONDS
        told = await self._answer(lambda number: protocol.AskThoughts(number, since, _LISTED), protocol.Thoughts)
        latest = sorted(told.thoughts, key=lambda thought: thought.began_at, reverse=True)
        self._thoughts = {thought.thought_id: thought for thought in latest}
        return [Entry(one.thought_id, _thought_row(one, now)) for one in latest]

    async def page(self, key: str) -> Page:
        """Why it began, its words, why it ended, its cost."""
        return thoughts_page([self._thoughts[key]], self._clock.now())

    async def do(self, deed: Deed, key: str) -> Page | Refill | Leave:
        """Pin or drop it."""
        if deed is _PIN:
            await self._answer(lambda number: protocol.MarkThought(number, key, "pin"), protocol.ThoughtMarked)
            return Refill([line("  Pinned: memory holds on to it.")])
        await self._answer(lambda number: protocol.MarkThought(number, key, "drop"), protocol.ThoughtMarked)
        return Refill([line("  Dropped: memory makes nothing of it.")])


class PastWordsShelf(_Asking):
    """What the owner said before, in this terminal and in all conversations, to be said again."""

    title = "what you said before"
    placeholder = "find it by its words"
    nothing = "You did not say that here."
    deeds = (_SAY_AGAIN,)

    def __init__(self, ask: Ask, clock: Clock, history: History) -> None:
        super().__init__(ask, clock)
        self._history = history

    async def entries(self, words: str) -> list[Entry]:
        """One row a text, the latest first."""
        here = self._history.with_words(words)
        told = await self._answer(
            lambda number: protocol.AskPastWords(number, words.strip(), _LISTED), protocol.PastWords
        )
        texts = dict.fromkeys([*here, *told.texts])
        return [Entry(text, Content(one_line(text, _ROW_CHARS))) for text in texts]

    async def page(self, key: str) -> Page:
        """All of the text."""
        return paragraph(key)

    async def do(self, deed: Deed, key: str) -> Page | Refill | Leave:
        """Into the draft."""
        return Leave(key)


def _row(mark: str, text: str, note: str) -> Content:
    # The note first: a narrow list cuts the end.
    return Content.assemble((f"{mark} ", "$accent"), (f"{one_line(note, 60)}  ", "$foreground 60%"), _begun(text))


def _measured(share: float, text: str, note: str) -> Content:
    full = round(_BAR_CELLS * max(0.0, min(1.0, share)))
    return Content.assemble(
        ("━" * full, "$accent"),
        ("━" * (_BAR_CELLS - full), "$foreground 20%"),
        (f" {one_line(note, 60)}  ", "$foreground 60%"),
        _begun(text),
    )


def _begun(text: str) -> str:
    return one_line(text, _ROW_CHARS)


def _run_row(run: protocol.SleepRun, now: float) -> Content:
    did = f"{plural(run.processed, 'experience')}: {run.created} new, {run.merged} merged"
    gone = ", taken back" if run.undone_by else ""
    return _row("◐" if run.depth == "light" else "●", f"{run.depth} sleep, {did}", ago(run.began_at, now) + gone)


def _conversation_row(past: protocol.PastConversation, now: float) -> Content:
    mark = "▸" if past.is_held else ("·" if past.source == "chat" else "↓")
    return _row(mark, past.found or past.opening, f"{ago(past.last_said_at, now)}, {plural(past.turns, 'turn')}")


def _thought_row(thought: protocol.ThoughtEntry, now: float) -> Content:
    mark = "+" if thought.is_pinned else "-" if thought.is_dropped else "·"
    return _row(mark, thought.text or thought.why_began, ago(thought.began_at, now))
