"""Commands that show one page: each becomes a request, and its answer a page.

The pages are those of the command line. Showing a memory does not reinforce it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from reveries import protocol
from reveries.client.features.context import context_page
from reveries.client.features.memory import episode_page, search_results_page
from reveries.client.features.memory_edits import corrected_page, episode_state_page, parse_salience, remembered_page
from reveries.client.features.memory_views import graph_page, timeline_page, why_page
from reveries.client.features.models import overview_page
from reveries.client.features.project_pages import project_page
from reveries.client.features.self_model import self_history_page, self_page
from reveries.client.features.sleep_log import all_contradictions_page
from reveries.client.features.status import status_page
from reveries.client.features.thinking import controlled_page, notes_page, released_page
from reveries.client.features.usage import usage_page
from reveries.client.features.wellbeing import wellbeing_page
from reveries.client.render import Page, line, page_columns
from reveries.client.tui.commands import CommandCall
from reveries.client.tui.panes import columns_for
from reveries.errors import UsageError
from reveries.safe_text import one_line

_SEARCH_LIMIT: Final = 8
_NUDGE_CHARS: Final = 500
_NAME_CHARS: Final = 100
_EXCERPTS: Final = 3


@dataclass(frozen=True, slots=True)
class PageQuery:
    """A request whose answer is shown as a page with this title; `also`: a second one, shown on the same page."""

    title: str
    request: Callable[[int], protocol.Request]
    also: Callable[[int], protocol.Request] | None = None

    @property
    def requests(self) -> tuple[Callable[[int], protocol.Request], ...]:
        return (self.request,) if self.also is None else (self.request, self.also)


def build_query(call: CommandCall) -> PageQuery | None:
    """Build the query of a command; None if the command shows no page. Raises UsageError."""
    rest = call.words
    match call.command.name:
        case "/search":
            return PageQuery(f"search: {rest}", lambda number: protocol.Search(number, rest, _SEARCH_LIMIT))
        case "/inspect":
            return PageQuery("episode", lambda number: protocol.Inspect(number, rest[:100]))
        case "/why":
            name, _, cue = rest.partition(" ")
            return PageQuery("why", lambda number: protocol.AskWhy(number, name[:100], cue.strip()[:10_000]))
        case "/remember":
            return PageQuery("remembered", lambda number: protocol.Remember(number, rest))
        case "/graph":
            return PageQuery("graph", lambda number: protocol.AskNeighbourhood(number, "", rest[:10_000]))
        case "/timeline":
            return PageQuery("timeline", lambda number: protocol.AskTimeline(number, rest[:100]))
        case "/self" if rest == "history":
            return PageQuery("self-model history", protocol.AskSelfHistory)
        case _:
            name = call.command.name
            return _SIMPLE_QUERIES.get(name) or _build_thinking_query(name, rest) or _build_edit_query(name, rest)


def _build_edit_query(command: str, rest: str) -> PageQuery | None:
    """Build the query of an edit of one episode. Raises UsageError."""
    key, _, words = rest.partition(" ")
    key, words = key[:100], words.strip()
    match command:
        case "/pin" | "/unpin":
            is_pinned = command == "/pin"
            return PageQuery("episode", lambda number: protocol.PinEpisode(number, key, is_pinned))
        case "/salience":
            share = parse_salience(words)
            return PageQuery("episode", lambda number: protocol.WeighEpisode(number, key, share))
        case "/correct":
            if not words:
                raise UsageError("What is right instead?", advice="/correct ID TEXT")
            return PageQuery("corrected", lambda number: protocol.CorrectEpisode(number, key, words))
        case _:
            return None


def _build_thinking_query(command: str, rest: str) -> PageQuery | None:
    match command:
        case "/nudge":
            return PageQuery("thinking", lambda number: protocol.NudgeThinking(number, rest[:_NUDGE_CHARS]))
        case "/project":
            return PageQuery("project", lambda number: protocol.AskProject(number, rest[:_NAME_CHARS]))
        case "/answer":
            name, _, answer = rest.partition(" ")
            return PageQuery("answered", lambda number: protocol.AnswerQuestion(number, name[:_NAME_CHARS], answer))
        case "/work":
            return PageQuery("work", lambda number: protocol.RequestWork(number, rest[:_NAME_CHARS]))
        case "/pause":
            return PageQuery("thinking", lambda number: protocol.ControlThinking(number, "pause"))
        case "/unpause":
            return PageQuery("thinking", lambda number: protocol.ControlThinking(number, "resume"))
        case "/step":
            return PageQuery("thinking", lambda number: protocol.ControlThinking(number, "step"))
        case "/release":
            return PageQuery("thinking", protocol.ReleaseThinking)
        case _:
            return None


_SIMPLE_QUERIES: Final = {
    "/context": PageQuery("prompt context", protocol.AskContext),
    "/self": PageQuery("self-model", protocol.AskSelf),
    "/status": PageQuery("status", protocol.AskStatus),
    "/usage": PageQuery("usage", protocol.AskUsage),
    "/models": PageQuery("models", protocol.AskModels),
    "/wellbeing": PageQuery("wellbeing", lambda number: protocol.AskWellbeing(number, _EXCERPTS)),
    "/notes": PageQuery("notes", protocol.AskNotes),
    "/contradictions": PageQuery("contradictions", protocol.AskContradictions, protocol.AskProjectConflicts),
}


def render_answers(frames: Sequence[protocol.Frame], now: float, terminal_columns: int) -> Page:
    """Render the answers to the requests of a query, in their order, as one page that fits into the pane."""
    match frames:
        case [protocol.Contradictions() as contradictions, protocol.ProjectConflicts() as conflicts]:
            with page_columns(columns_for(terminal_columns)):
                return all_contradictions_page(contradictions, conflicts)
        case _:
            return render_answer(frames[0], now, terminal_columns)


def render_answer(frame: protocol.Frame, now: float, terminal_columns: int) -> Page:
    """Render the answer to a query as a page that fits into the pane."""
    columns = columns_for(terminal_columns)
    with page_columns(columns):
        return (
            _render_memory(frame, now)
            or _render_state(frame, now, columns)
            or _render_thinking(frame, now)
            or _render_project(frame, now)
            or _render_edit(frame, now)
            or [line("There is no page for that.")]
        )


def _render_memory(frame: protocol.Frame, now: float) -> Page | None:
    match frame:
        case protocol.Found():
            return search_results_page(frame, now, _SEARCH_LIMIT)
        case protocol.EpisodeDetail():
            return episode_page(frame, now)
        case protocol.Why():
            return why_page(frame, now)
        case protocol.Timeline():
            return timeline_page(frame, now)
        case protocol.ToldContext():
            return context_page(frame, now)
        case protocol.SelfModelShown():
            return self_page(frame, now)
        case protocol.SelfHistory():
            return self_history_page(frame, now)
        case _:
            return None


def _render_state(frame: protocol.Frame, now: float, columns: int) -> Page | None:
    match frame:
        case protocol.Status():
            return status_page(frame, now)
        case protocol.UsageReport():
            return usage_page(frame, columns=columns, is_plain=False)
        case protocol.ModelsOverview():
            return overview_page(frame)
        case protocol.Wellbeing():
            return wellbeing_page(frame)
        case _:
            return None


def _render_thinking(frame: protocol.Frame, now: float) -> Page | None:
    match frame:
        case protocol.Notes():
            return notes_page(frame, now)
        case protocol.ThinkingReleased():
            return released_page(frame)
        case protocol.ThinkingControlled():
            return controlled_page(frame)
        case _:
            return None


def _render_project(frame: protocol.Frame, now: float) -> Page | None:
    match frame:
        case protocol.ProjectDetail():
            return project_page(frame, now, is_detailed=True)
        case protocol.QuestionAnswered():
            return [line(f"Answered for {one_line(frame.project)}. Work that waited for it resumes when no one talks.")]
        case protocol.WorkRequested():
            return [line(f"It works on {one_line(frame.project)} when this conversation is idle.")]
        case _:
            return None


def _render_edit(frame: protocol.Frame, now: float) -> Page | None:
    match frame:
        case protocol.Neighbourhood():
            return graph_page(frame, now)
        case protocol.Remembered():
            return remembered_page(frame)
        case protocol.EpisodeHeld():
            return episode_state_page(frame)
        case protocol.EpisodeCorrected():
            return corrected_page(frame)
        case _:
            return None
