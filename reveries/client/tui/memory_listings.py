"""Listings of memories, with the owner's edits: pin, salience, correction, forgetting."""

from typing import Final

from reveries import protocol
from reveries.client.connection import AskCallback
from reveries.client.features.knowledge import chunks_page
from reveries.client.features.memory_edits import corrected_page, episode_state_page, parse_salience
from reveries.client.features.project_pages import project_page
from reveries.client.render import Page
from reveries.client.tui.browser import ActionOutcome, BrowserAction, Entry, OpenScreen, ReloadList
from reveries.client.tui.forget_pane import ForgetPane
from reveries.client.tui.mind_queries import MindQueries, bar_row, list_row
from reveries.client.wording import ago
from reveries.clock import Clock

_LIST_LIMIT: Final = 100
_SEARCH_LIMIT: Final = 30
_WHY: Final = BrowserAction("w", "why recalled")
_INSPECT: Final = BrowserAction("i", "details")
_LINKS: Final = BrowserAction("l", "links")
_PIN: Final = BrowserAction("p", "pin or unpin")
_WEIGH: Final = BrowserAction("s", "salience", prompt="How much does it matter? 0 to 1")
_CORRECT: Final = BrowserAction("c", "correct", prompt="What is right instead? Both are kept; your text ranks first")
_FORGET: Final = BrowserAction("d", "forget…")
_ERASE: Final = BrowserAction("D", "erase…")


class MemoryListing(MindQueries):
    """Episodes: the latest, the matches of a search, or the links of one episode."""

    title = "what it remembers"
    placeholder = "search memory"
    empty_text = "Nothing was recalled for that."
    actions = (_WHY, _INSPECT, _LINKS, _PIN, _WEIGH, _CORRECT, _FORGET, _ERASE)

    def __init__(self, ask: AskCallback, clock: Clock) -> None:
        super().__init__(ask, clock)
        self._cue = ""
        self._linked_with = ""

    async def entries(self, words: str) -> list[Entry]:
        """Load one row per episode."""
        if self._linked_with and words == self._cue:
            return await self._load_links()
        self._cue, self._linked_with = words, ""
        now = self.clock.now()
        if not words.strip():
            asked = protocol.AskTimeline
            timeline = await self.ask(lambda number: asked(number, limit=_LIST_LIMIT), protocol.Timeline)
            rows = [
                (moment.episode_id, moment.happened_at, moment.salience, moment.summary)
                for moment in reversed(timeline.moments)
            ]
        else:
            matches = await self.ask(lambda number: protocol.Search(number, words, _SEARCH_LIMIT), protocol.Found)
            rows = [
                (episode.episode_id, episode.happened_at, episode.energy, episode.summary)
                for episode in matches.episodes
            ]
        return [Entry(key, bar_row(share, summary, ago(at, now))) for key, at, share, summary in rows]

    async def page(self, key: str) -> Page:
        """Render the episode: summary, exemplars, links, origin."""
        return await self.episode_page(key)

    async def run_action(self, action: BrowserAction, key: str, words: str = "") -> ActionOutcome:
        """Explain its recall (for the search or the last turn), list its links, open a pane, or edit it."""
        if action is _LINKS:
            self._linked_with = key
            return ReloadList()
        if action in (_FORGET, _ERASE):
            return OpenScreen(ForgetPane(self, key, erase=action is _ERASE))
        if action is _WHY:
            return await self.why_page(key, self._cue)
        return await (self.episode_page(key) if action is _INSPECT else self._edit(action, key, words))

    async def _edit(self, action: BrowserAction, key: str, words: str) -> Page:
        if action is _PIN:
            detail = await self.ask(lambda number: protocol.Inspect(number, key), protocol.EpisodeDetail)
            should_pin = detail.is_pinned is not True
            episode = await self.ask(lambda number: protocol.PinEpisode(number, key, should_pin), protocol.EpisodeHeld)
            return episode_state_page(episode)
        if action is _WEIGH:
            share = parse_salience(words)
            episode = await self.ask(lambda number: protocol.WeighEpisode(number, key, share), protocol.EpisodeHeld)
            return episode_state_page(episode)
        correction = await self.ask(
            lambda number: protocol.CorrectEpisode(number, key, words), protocol.EpisodeCorrected
        )
        return corrected_page(correction)

    async def _load_links(self) -> list[Entry]:
        name = self._linked_with
        detail = await self.ask(lambda number: protocol.Inspect(number, name), protocol.EpisodeDetail)
        first = Entry(detail.episode_id, list_row("·", detail.summary, "this one"))
        return [
            first,
            *(Entry(link.episode_id, bar_row(link.strength, link.summary, link.type)) for link in detail.links),
        ]


class RecalledListing(MindQueries):
    """Memories that surfaced for the last turn, strongest first, each with its reasons."""

    title = "recalled for your last message"
    empty_text = (
        "Nothing earlier was recalled: the reply uses this conversation only. The whole prompt context: /context"
    )
    actions = (_WHY, _INSPECT)

    def __init__(self, ask: AskCallback, clock: Clock, items: list[protocol.RecalledItem]) -> None:
        super().__init__(ask, clock)
        self._items = items

    async def entries(self, words: str) -> list[Entry]:
        """Return one row per memory; those left out of the prompt are marked."""
        now = self.clock.now()
        return [
            Entry(
                recalled.episode_id,
                bar_row(recalled.energy, recalled.summary, _when_recalled(recalled, now)),
            )
            for recalled in self._items
        ]

    async def page(self, key: str) -> Page:
        """Render why it was recalled, or the chunk itself if it is project knowledge."""
        item = next(recalled for recalled in self._items if recalled.episode_id == key)
        return await (self._project_page(item) if item.project else self.why_page(key))

    async def run_action(self, action: BrowserAction, key: str, words: str = "") -> ActionOutcome:
        """Show the reasons or the whole episode."""
        item = next(recalled for recalled in self._items if recalled.episode_id == key)
        return await (self.page(key) if action is _WHY or item.project else self.episode_page(key))

    async def _project_page(self, item: protocol.RecalledItem) -> Page:
        project, chunk_id = item.project, item.episode_id
        asked = protocol.AskChunks
        answer = await self.ask(lambda number: asked(number, project, chunk_id=chunk_id), protocol.Chunks)
        if answer.chunks:
            return chunks_page(answer.chunks)
        detail = await self.ask(lambda number: protocol.AskProject(number, project), protocol.ProjectDetail)
        return project_page(detail, self.clock.now(), is_detailed=True)


def _when_recalled(item: protocol.RecalledItem, now: float) -> str:
    when = ago(item.happened_at, now) if item.happened_at else item.project
    return when + ("" if item.was_told else ", not used")
