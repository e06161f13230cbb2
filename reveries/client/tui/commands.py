"""The interface's commands: one list for the slash menu, the palette, the keys and the help.

Pure: parses a line of text into a command, and completes a command that is being typed.
"""

import difflib
import re
import string
from dataclasses import dataclass
from typing import Final, Literal

from reveries.safe_text import one_line

Group = Literal["talk", "look", "mind", "here"]
GROUPS: Final[dict[Group, str]] = {
    "talk": "The conversation",
    "look": "Memory and status",
    "mind": "Thinking, sleep and projects",
    "here": "This terminal",
}


@dataclass(frozen=True, slots=True)
class Command:
    """`words`: its arguments as the help shows them, in brackets when optional. `key`: the name of the key's setting
    (client.keys), empty for none. `keeps_words`: the arguments are stored, so it is refused off the record."""

    name: str
    words: str
    description: str
    group: Group
    key: str = ""
    keeps_words: bool = False

    @property
    def needs_words(self) -> bool:
        return bool(self.words) and not self.words.startswith("[")

    @property
    def usage(self) -> str:
        return f"{self.name} {self.words}".strip()


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
    Command("/graph", "[WORDS]", "memory as a picture, around these words", "look", "graph"),
    Command("/search", "WORDS", "what it recalls for these words", "look"),
    Command("/inspect", "ID", "everything about one episode", "look"),
    Command("/why", "[ID [CUE]]", "why it was recalled; alone, as /recalled", "look"),
    Command("/timeline", "[SINCE]", "what happened, by day", "look"),
    Command("/remember", "TEXT", "have it remember something, without a reply", "look", keeps_words=True),
    Command(
        "/correct",
        "ID TEXT",
        "correct what an episode says; both texts are kept",
        "look",
        keeps_words=True,
    ),
    Command("/forget", "ID | WORDS", "forget it: first shows what would be affected", "look"),
    Command("/pin", "ID", "keep an episode from fading", "look"),
    Command("/unpin", "ID", "let it fade like any other again", "look"),
    Command("/salience", "ID VALUE", "how much an episode matters, 0 to 1", "look"),
    Command("/context", "", "the whole prompt context of the last turn", "look", "context"),
    Command("/self", "[history]", "its model of itself and of you", "look"),
    Command("/status", "", "health, memory, models, today's usage", "look", "status"),
    Command("/usage", "", "tokens and cost by model and day, against the limits", "look"),
    Command("/models", "", "which model does what, and what else is available", "look"),
    Command("/wellbeing", "", "how often its thoughts sounded distressed, and the breaker's journal", "look"),
    Command("/thoughts", "", "browse its thoughts: why they began, what they cost", "mind", "thoughts"),
    Command("/digest", "[SINCE]", "what it thought and learned since yesterday", "mind"),
    Command("/notes", "", "what its thoughts wanted you to know", "mind"),
    Command("/nudge", "WORDS", "have it think about this when the conversation is idle", "mind", keeps_words=True),
    Command("/pause", "", "pause its thinking", "mind"),
    Command("/unpause", "", "resume its thinking", "mind"),
    Command("/step", "", "one thought when the conversation is idle, though paused", "mind"),
    Command("/release", "", "let it think again before the breaker's pause ends", "mind"),
    Command("/projects", "", "its projects: tasks, questions, pages, log, grants", "mind", "projects"),
    Command("/project", "NAME", "the state of one project", "mind"),
    Command("/questions", "", "open questions of your projects; answer them here", "mind"),
    Command("/answer", "ID WORDS", "answer one of these questions", "mind", keeps_words=True),
    Command("/work", "[NAME]", "work on a project when the conversation is idle", "mind"),
    Command("/sleeps", "", "its sleep passes as a diff; undo one", "mind", "sleeps"),
    Command("/consolidate", "", "run a sleep pass on what happened, now", "mind"),
    Command("/import", "FILE", "import a past conversation", "mind"),
    Command("/backup", "", "make a backup of its memory", "mind"),
    Command("/pull", "NAME", "download a model", "mind"),
    Command("/contradictions", "", "claims that contradict each other", "mind"),
    Command("/side", "", "fold the side pane; on a narrow terminal, switch to it", "here", "side"),
    Command("/theme", "[NAME]", "change the colour theme; without a name, the next", "here"),
    Command("/help", "", "all keys and commands", "here", "help"),
    Command("/redraw", "", "redraw the screen", "here"),
    Command("/exit", "", "leave; the mind stays awake", "here", "leave"),
)
_PRIVATE: Final = "/private"
_BLANKS: Final = f"{string.whitespace}\u00a0\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\u3000\ufeff"
"""Characters that are invisible before a word, zero-width ones included."""
_TYPO_SIMILARITY: Final = 0.8
"""The similarity (0 to 1) from which a word counts as a mistyped command."""
_SLASH_WORD: Final = re.compile(r"/[A-Za-z-]{1,30}")
_WITHOUT_ARGUMENTS: Final = {"/why": "/recalled"}
"""Commands that mean another one when given no argument."""
_ALIASES: Final = {"/quit": "/exit", "/sessions": "/resume", "/conversations": "/resume", "/sleep": "/sleeps"}


@dataclass(frozen=True, slots=True)
class CommandCall:
    """A command with its arguments."""

    command: Command
    words: str


def parse_command(text: str) -> CommandCall | str | None:
    """Parse `text`: a command call, a message to show when it is nearly one, or None for text to send.

    A blank before the slash makes it text, except for /private: text that begins with that is never sent on the record.
    """
    if is_meant_private(text):
        return _parse_private(text.lstrip(_BLANKS))
    if not text.startswith("/"):
        return None
    name, rest = _split_command(text)
    command = find_command(name)
    if command is None:
        return _mistyped_command(name, is_alone=not rest)
    if not rest:
        command = find_command(_WITHOUT_ARGUMENTS.get(command.name, command.name)) or command
    if command.needs_words and not rest:
        return f"{command.name} needs an argument: {command.usage}"
    if rest and not command.words:
        # "/new shoes would be nice" is text, not a command.
        return None
    return CommandCall(command, rest)


def is_meant_private(text: str) -> bool:
    """Whether `text` begins with /private, after any blanks and whatever follows."""
    return text.lstrip(_BLANKS)[: len(_PRIVATE)].lower() == _PRIVATE


def may_become_private(text: str) -> bool:
    """Whether `text` begins with /private or a likely typo of it; it is then not written to disk while it is typed."""
    if is_meant_private(text):
        return True
    name, rest = _split_command(text.lstrip(_BLANKS))
    return bool(rest) and bool(difflib.get_close_matches(name.lower(), [_PRIVATE], n=1, cutoff=_TYPO_SIMILARITY))


def _split_command(text: str) -> tuple[str, str]:
    """Split off the first word; any whitespace separates it, a new line too."""
    name, *rest = text.split(maxsplit=1) or [""]
    return name, "".join(rest).strip()


def _parse_private(text: str) -> CommandCall | str:
    name, rest = _split_command(text)
    command = find_command(name)
    if command is not None:
        return CommandCall(command, rest)
    return (
        f"{one_line(name, 20)} begins with /private, so it was not sent. "
        "Off the record: /private WORDS. To send it on the record, put a word before it."
    )


def _mistyped_command(name: str, *, is_alone: bool) -> str | None:
    """Return the message for an unknown slash word, or None to send it as text.

    Alone it was hardly meant as text; before other words it counts as a typo only if it is similar to a command."""
    if not _SLASH_WORD.fullmatch(name):
        return None
    known = [*(command.name for command in COMMANDS), *_ALIASES]
    like = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.6 if is_alone else _TYPO_SIMILARITY)
    if not (like or is_alone):
        return None
    suggestion = f" Did you mean {like[0]}?" if like else " For all commands: /help."
    return f"There is no command {name}.{suggestion} To send it, put a space first."


def find_command(name: str) -> Command | None:
    """Find a command by its name or an alias."""
    name = _ALIASES.get(name, name)
    return next((command for command in COMMANDS if command.name == name), None)


def name_contains(command: Command, text: str) -> bool:
    """Whether the letters after the slash in `text` are part of the command's name."""
    return text[1:].lower() in command.name[1:]


def complete_command(text: str) -> list[Command]:
    """List the commands that `text` may become: name prefix first, then name part, then description."""
    if not text.startswith("/") or any(char.isspace() for char in text):
        return []
    typed = text[1:].lower()
    beginning = [command for command in COMMANDS if command.name[1:].startswith(typed)]
    inside = [command for command in COMMANDS if typed and name_contains(command, text) and command not in beginning]
    about = [
        command
        for command in COMMANDS
        if len(typed) > 2 and typed in command.description.lower() and command not in (*beginning, *inside)
    ]
    return [*beginning, *inside, *about]
