"""Typed requests to the daemon, and the rows and pages that all browser listings share."""

from typing import Final, Generic, TypeVar

from textual.content import Content

from reveries import protocol
from reveries.client.connection import AskCallback
from reveries.client.features.memory import episode_page
from reveries.client.features.memory_views import why_page
from reveries.client.render import Page
from reveries.clock import Clock
from reveries.errors import ReveriesError
from reveries.safe_text import one_line

_ROW_CHARS: Final = 120
_BAR_CELLS: Final = 5
_Listed = TypeVar("_Listed")


async def fetch_last_context(ask: AskCallback, conversation_id: str) -> protocol.ToldContext | None:
    """Fetch the prompt context of a conversation's last turn; None if there is none or the request fails."""
    try:
        return await ask(lambda number: protocol.AskContext(number, conversation_id), protocol.ToldContext)
    except ReveriesError:
        return None


async def fetch_context_tokens(ask: AskCallback) -> int | None:
    """Fetch the conversation model's context size in tokens; 0 if unknown, None if the request fails."""
    try:
        answer = await ask(protocol.AskModels, protocol.ModelsOverview)
    except ReveriesError:
        return None
    return next((role.context_tokens for role in answer.roles if role.role == "conversation"), 0)


class MindQueries:
    """Base of the browser listings: requests to the daemon, and the clock."""

    empty_text = "Nothing to show."
    placeholder = ""
    refresh_seconds = 0.0

    def __init__(self, ask: AskCallback, clock: Clock) -> None:
        self.ask = ask
        self.clock = clock

    async def episode_page(self, key: str) -> Page:
        """Render everything about an episode."""
        detail = await self.ask(lambda number: protocol.Inspect(number, key), protocol.EpisodeDetail)
        return episode_page(detail, self.clock.now())

    async def why_page(self, key: str, cue: str = "") -> Page:
        """Render why an episode is recalled for a cue, or for the last turn."""
        answer = await self.ask(lambda number: protocol.AskWhy(number, key, cue), protocol.Why)
        return why_page(answer, self.clock.now())


class ListedQueries(MindQueries, Generic[_Listed]):
    """Base of the listings that keep what they list, by key; `project` is set for those within one."""

    def __init__(self, ask: AskCallback, clock: Clock, project: str = "") -> None:
        super().__init__(ask, clock)
        self.project = project
        self.listed: dict[str, _Listed] = {}


def list_row(mark: str, text: str, note: str) -> Content:
    """Return a list row: mark, note, text."""
    # The note comes first because a narrow list cuts the end.
    return Content.assemble((f"{mark} ", "$accent"), (f"{one_line(note, 60)}  ", "$foreground 60%"), shorten_text(text))


def bar_row(share: float, text: str, note: str) -> Content:
    """Return a list row that starts with a bar for a share of 0 to 1."""
    full = round(_BAR_CELLS * max(0.0, min(1.0, share)))
    return Content.assemble(
        ("━" * full, "$accent"),
        ("━" * (_BAR_CELLS - full), "$foreground 20%"),
        (f" {one_line(note, 60)}  ", "$foreground 60%"),
        shorten_text(text),
    )


def shorten_text(text: str) -> str:
    """Return the beginning of a text on one line."""
    return one_line(text, _ROW_CHARS)
