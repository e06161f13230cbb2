"""The slash commands of the conversation, in the terminal interface and line by line: one table.

Pure. A command with a `fetch` shows one answer as a page (answers.py); what the others do, each interface says itself.
"""

import shlex
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal

import msgspec

from reveries import protocol
from reveries.client.connection import AskCallback
from reveries.client.features import (
    backup,
    context,
    importing,
    knowledge,
    memory,
    memory_views,
    models,
    project_drafts,
    project_facts,
    project_pages,
    project_tasks,
    self_model,
    status,
    thinking,
    usage,
    wellbeing,
    work,
)
from reveries.client.features.digest import DIGEST_SINCE, Digest, collect_digest
from reveries.client.features.memory_edits import parse_salience
from reveries.client.features.sleep_log import AllContradictions, collect_contradictions
from reveries.client.wording import since
from reveries.errors import UsageError

Group = Literal["talk", "look", "mind", "here"]
GROUPS: Final[dict[Group, str]] = {
    "talk": "The conversation",
    "look": "Memory and status",
    "mind": "Thinking, sleep and projects",
    "here": "This terminal",
}


Fetch = Callable[[AskCallback, str, float], Awaitable[msgspec.Struct]]
"""Gets the answer that a command shows, from its arguments and the time now (unix seconds). Raises ReveriesError."""


@dataclass(frozen=True, slots=True)
class Command:
    """`words`: its arguments as the help shows them, in brackets when optional. `key`: the name of the key's setting
    (client.keys), empty for none. `keeps_words`: the arguments are stored, so it is refused off the record. `fetch`:
    gets the answer that it shows as a page; `work`: what its progress is called, if that takes long; `title`: heads the
    page instead of the answer's title, {} stands for the arguments."""

    name: str
    words: str
    description: str
    group: Group
    key: str = ""
    keeps_words: bool = False
    fetch: Fetch | None = None
    work: str = ""
    title: str = ""

    @property
    def needs_words(self) -> bool:
        return bool(self.words) and not self.words.startswith("[")

    @property
    def usage(self) -> str:
        return f"{self.name} {self.words}".strip()


def send(make: Callable[[int], protocol.Request]) -> Fetch:
    """Return a `fetch` that sends the request which `make` builds from its number."""
    return send_words(lambda number, _: make(number))


def send_words(make: Callable[[int, str], protocol.Request]) -> Fetch:
    """Return a `fetch` that sends the request which `make` builds from its number and the command's arguments."""

    async def fetch(ask: AskCallback, words: str, _: float) -> msgspec.Struct:
        answer = protocol.REQUESTS[type(make(1, words))].answer
        return await ask(lambda number: make(number, words), answer)

    return fetch


def send_name(make: Callable[[int, str], protocol.Request]) -> Fetch:
    """Return a `fetch` that sends the request which `make` builds from its number and a name or an id."""
    return send_words(lambda number, words: make(number, words[:_ID_CHARS]))


async def _search_memory(ask: AskCallback, words: str, _: float) -> protocol.Found:
    answer = await ask(lambda number: protocol.Search(number, words, _SEARCH_LIMIT), protocol.Found)
    # The daemon ranks more turns than that.
    return msgspec.structs.replace(answer, turns=answer.turns[:_SEARCH_LIMIT])


def _ask_why(number: int, words: str) -> protocol.Request:
    episode_id, cue = _split_id(words)
    return protocol.AskWhy(number, episode_id, cue[:_CUE_CHARS])


def _correct_episode(number: int, words: str) -> protocol.Request:
    episode_id, text = _split_id(words)
    if not text:
        raise UsageError("What is right instead?", advice="/correct ID TEXT")
    return protocol.CorrectEpisode(number, episode_id, text)


def _weigh_episode(number: int, words: str) -> protocol.Request:
    episode_id, value = _split_id(words)
    return protocol.WeighEpisode(number, episode_id, parse_salience(value))


def _ask_self(number: int, words: str) -> protocol.Request:
    return protocol.AskSelfHistory(number) if words == "history" else protocol.AskSelf(number)


async def _fetch_digest(ask: AskCallback, words: str, now: float) -> Digest:
    return await collect_digest(ask, since(words or DIGEST_SINCE, now))


def _change_thinking(do: Literal["pause", "resume", "step"]) -> Fetch:
    return send(lambda number: protocol.ControlThinking(number, do))


def _decide_conflict(number: int, words: str) -> protocol.Request:
    name, *given = _split_name(words)
    decision = _CONFLICT_DECISIONS.get(given[0].casefold()) if given else None
    if decision is None or len(given) < 2:
        raise UsageError("Say what holds.", advice="/conflict NAME dismiss|a|b|reopen ID [REASON]")
    return protocol.DecideFactConflict(number, name[:_ID_CHARS], given[1][:64], decision, " ".join(given[2:])[:1000])


_CONFLICT_DECISIONS: Final[dict[str, Literal["dismiss", "keep_a", "keep_b", "reopen"]]] = {
    "dismiss": "dismiss",
    "reopen": "reopen",
    "a": "keep_a",
    "b": "keep_b",
}


def _split_name(words: str) -> list[str]:
    """Return the words, of which the first may be a name in quotes."""
    try:
        return shlex.split(words.replace("'", "\\'"))
    except ValueError:
        return words.split()


def _write_draft(number: int, words: str) -> protocol.Request:
    name, *wish = _split_name(words)
    if not wish:
        raise UsageError("What do you want drafted?", advice="/draft NAME WHAT")
    return protocol.WriteDraft(number, name[:_ID_CHARS], " ".join(wish)[:2000])


def _ask_knowledge(number: int, words: str) -> protocol.Request:
    name, *question = _split_name(words)
    if not question:
        raise UsageError(
            "What do you want to know?", advice='/know NAME QUESTION, with quotes: /know "My boat" How long?'
        )
    return protocol.AskChunks(number, name[:_ID_CHARS], " ".join(question)[:1000], _SEARCH_LIMIT)


def _answer_question(number: int, words: str) -> protocol.Request:
    question_id, _, answer = words.partition(" ")
    return protocol.AnswerQuestion(number, question_id[:_ID_CHARS], answer)


async def _steer_task(ask: AskCallback, words: str, _: float) -> protocol.TasksChanged:
    return await ask(lambda number: project_tasks.parse_task_command(number, words), protocol.TasksChanged)


async def _fetch_contradictions(ask: AskCallback, _: str, __: float) -> AllContradictions:
    return await collect_contradictions(ask)


def _split_id(words: str) -> tuple[str, str]:
    first, _, rest = words.partition(" ")
    return first[:_ID_CHARS], rest.strip()


_SEARCH_LIMIT: Final = 8
_ID_CHARS: Final = 100
_CUE_CHARS: Final = 10_000
_NUDGE_CHARS: Final = 500

FEATURES: Final = (
    backup,
    context,
    importing,
    knowledge,
    memory,
    memory_views,
    models,
    project_drafts,
    project_facts,
    project_pages,
    project_tasks,
    self_model,
    status,
    thinking,
    usage,
    wellbeing,
    work,
)
"""Imported so that the pages of their answers are registered."""

COMMANDS: Final = (
    Command("/stop", "", "stop the reply, else the last long job started here", "talk", "stop"),
    Command("/retry", "", "send your last message again, for another reply", "talk"),
    Command("/undo", "", "take back your last message and its reply; edit it in the draft", "talk"),
    Command("/private", "[WORDS]", "off the record: this message, or all from now on; nothing is kept", "talk"),
    Command("/new", "", "start a new conversation", "talk"),
    Command("/resume", "[WORDS]", "continue an earlier conversation, found by its words", "talk", "conversations"),
    Command("/edit", "", "write in your own editor ($VISUAL, $EDITOR)", "talk", "edit"),
    Command("/past", "[WORDS]", "search your earlier messages, to use one again", "talk", "past"),
    Command("/copy", "[code | FILE]", "copy the marked message, else the last reply", "talk", "copy"),
    Command("/export", "[FILE]", "write the whole conversation as Markdown", "talk"),
    Command("/newest", "", "jump to the newest message", "talk", "newest"),
    Command("/recalled", "", "what it recalled for your last message, and why", "look", "recalled"),
    Command("/memory", "[WORDS]", "browse what it remembers: search, timeline, links, why", "look", "memory"),
    Command(
        "/graph",
        "[WORDS]",
        "which memories belong together",
        "look",
        "graph",
        fetch=send_words(lambda number, words: protocol.AskNeighbourhood(number, "", words[:_CUE_CHARS])),
    ),
    Command("/search", "WORDS", "what it recalls for these words", "look", fetch=_search_memory, title="search: {}"),
    Command("/inspect", "ID", "everything about one episode", "look", fetch=send_name(protocol.Inspect)),
    Command("/why", "[ID [CUE]]", "why it was recalled; alone, as /recalled", "look", fetch=send_words(_ask_why)),
    Command("/timeline", "[SINCE]", "what happened, by day", "look", fetch=send_name(protocol.AskTimeline)),
    Command(
        "/remember",
        "TEXT",
        "have it remember something, without a reply",
        "look",
        keeps_words=True,
        fetch=send_words(protocol.Remember),
    ),
    Command(
        "/correct",
        "ID TEXT",
        "correct what an episode says; both texts are kept",
        "look",
        keeps_words=True,
        fetch=send_words(_correct_episode),
    ),
    Command("/forget", "ID | WORDS", "forget it: first shows what would be affected", "look"),
    Command(
        "/pin",
        "ID",
        "keep an episode from fading",
        "look",
        fetch=send_name(partial(protocol.PinEpisode, is_pinned=True)),
    ),
    Command(
        "/unpin",
        "ID",
        "let it fade like any other again",
        "look",
        fetch=send_name(partial(protocol.PinEpisode, is_pinned=False)),
    ),
    Command("/salience", "ID VALUE", "how much an episode matters, 0 to 1", "look", fetch=send_words(_weigh_episode)),
    Command(
        "/context", "", "the whole prompt context of the last turn", "look", "context", fetch=send(protocol.AskContext)
    ),
    Command("/self", "[history]", "its model of itself and of you", "look", fetch=send_words(_ask_self)),
    Command("/status", "", "health, memory, models, today's usage", "look", "status", fetch=send(protocol.AskStatus)),
    Command(
        "/usage", "", "tokens and cost by model and day, against the limits", "look", fetch=send(protocol.AskUsage)
    ),
    Command("/models", "", "which model does what, and what else is available", "look", fetch=send(protocol.AskModels)),
    Command(
        "/wellbeing",
        "",
        "how often its thoughts sounded distressed, and the breaker's journal",
        "look",
        fetch=send(protocol.AskWellbeing),
    ),
    Command("/thoughts", "", "browse its thoughts: why they began, what they cost", "mind", "thoughts"),
    Command("/digest", "[SINCE]", "what it thought and learned since yesterday", "mind", fetch=_fetch_digest),
    Command("/notes", "", "what its thoughts wanted you to know", "mind", fetch=send(protocol.AskNotes)),
    Command(
        "/nudge",
        "WORDS",
        "have it think about this when the conversation is idle",
        "mind",
        keeps_words=True,
        fetch=send_words(lambda number, words: protocol.NudgeThinking(number, words[:_NUDGE_CHARS])),
    ),
    Command("/pause", "", "pause its thinking", "mind", fetch=_change_thinking("pause")),
    Command("/unpause", "", "resume its thinking", "mind", fetch=_change_thinking("resume")),
    Command(
        "/step", "", "one thought when the conversation is idle, though paused", "mind", fetch=_change_thinking("step")
    ),
    Command(
        "/release",
        "",
        "let it think again before the breaker's pause ends",
        "mind",
        fetch=send(protocol.ReleaseThinking),
    ),
    Command("/projects", "", "its projects: tasks, questions, pages, log, grants", "mind", "projects"),
    Command("/project", "NAME", "the state of one project", "mind", fetch=send_name(protocol.AskProject)),
    Command(
        "/facts",
        "NAME",
        "dates, amounts, measures and open ends of a project's notes",
        "mind",
        fetch=send_name(protocol.AskFacts),
    ),
    Command(
        "/conflicts",
        "NAME",
        "what does not go together in a project's notes",
        "mind",
        fetch=send_name(protocol.AskFactConflicts),
    ),
    Command(
        "/conflict",
        "NAME dismiss|a|b|reopen ID",
        "two lines that do not go together: both hold, or one",
        "mind",
        fetch=send_words(_decide_conflict),
    ),
    Command(
        "/draft",
        "NAME WHAT",
        "a text made from a project's notes, with its sources",
        "mind",
        fetch=send_words(_write_draft),
        work="drafting",
    ),
    Command("/drafts", "NAME", "texts made from a project's notes", "mind", fetch=send_name(protocol.AskDrafts)),
    Command(
        "/know",
        "NAME QUESTION",
        "what a project's notes say to a question, with the line",
        "mind",
        fetch=send_words(_ask_knowledge),
    ),
    Command(
        "/proposals", "NAME", "tasks that a project's notes propose", "mind", fetch=send_name(protocol.AskProposals)
    ),
    Command(
        "/task",
        "ACTION PROJECT TASK",
        "add, edit, drop, move a task, or say that it is done; yes or no to a change",
        "mind",
        keeps_words=True,
        fetch=_steer_task,
    ),
    Command("/questions", "", "open questions of your projects; answer them here", "mind"),
    Command(
        "/answer",
        "ID WORDS",
        "answer one of these questions",
        "mind",
        keeps_words=True,
        fetch=send_words(_answer_question),
    ),
    Command(
        "/work",
        "[NAME]",
        "work on a project when the conversation is idle",
        "mind",
        fetch=send_name(protocol.RequestWork),
    ),
    Command("/sleeps", "", "its sleep passes as a diff; undo one", "mind", "sleeps"),
    Command(
        "/consolidate",
        "",
        "run a sleep pass on what happened, now",
        "mind",
        fetch=send(protocol.Consolidate),
        work="consolidating",
    ),
    Command(
        "/import", "[--yes] [--me NAME] FILE", "show what is in a file of past conversations, or import it", "mind"
    ),
    Command(
        "/backup", "", "make a backup of its memory", "mind", fetch=send(protocol.MakeBackup), work="creating a backup"
    ),
    Command("/pull", "NAME", "download a model", "mind"),
    Command("/contradictions", "", "claims that contradict each other", "mind", fetch=_fetch_contradictions),
    Command("/side", "", "fold the side pane; on a narrow terminal, switch to it", "here", "side"),
    Command("/theme", "[NAME]", "change the colour theme; without a name, the next", "here"),
    Command("/help", "", "all keys and commands", "here", "help"),
    Command("/redraw", "", "redraw the screen", "here"),
    Command("/exit", "", "leave; the mind stays awake", "here", "leave"),
)
