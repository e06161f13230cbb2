"""`reveries monologue`: watch it live, show its history, control it; `reveries notes`."""

import time
from typing import TYPE_CHECKING

import click

from reveries import protocol
from reveries.client.answers import json_option, page_of, print_answer
from reveries.client.render import Page, Part, line, paragraph
from reveries.client.wording import ago, plural, span
from reveries.protocol import Note, Notes, ThinkingControlled, ThinkingReleased, ThoughtEntry
from reveries.safe_text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    from reveries.client.connection import Connection

_HISTORY = "1d"
_ID_CHARS = 100
_NUDGE_CHARS = 500
_STATES_WITHOUT_THOUGHTS = ("held", "quiet", "tripped")
"""States in which no thought begins for a while."""
_WATCH = "It will think as soon as it can. To watch: reveries monologue"


@click.group("monologue", short_help="Watch it think, or read what it thought.", invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Watch it think, live, until Ctrl+C. Watching changes nothing."""
    if ctx.invoked_subcommand is None:
        from reveries.client.sync_call import call_mind

        call_mind(_watch_monologue)


@command.command("history")
@click.option(
    "--since", "since_text", default=_HISTORY, show_default=True, help="How long ago (2h, 3d), or an ISO time."
)
@click.option(
    "--limit", type=click.IntRange(1, 1000), default=50, show_default=True, help="The most to show, newest first."
)
@json_option(protocol.Thoughts)
def thought_history_command(since_text: str, limit: int, as_json: bool) -> None:
    """Show past thoughts: text, why each began and ended, its cost, and the memories it used."""
    from reveries.client.sync_call import ask_mind
    from reveries.client.wording import since

    began = since(since_text, time.time())
    thoughts = ask_mind(lambda new_id: protocol.AskThoughts(new_id, began, limit), protocol.Thoughts)
    print_answer(thoughts, as_json, lambda: thoughts_page(thoughts.thoughts, time.time()))


@command.command("pause")
@json_option(protocol.ThinkingControlled)
def pause_thinking_command(as_json: bool) -> None:
    """Pause thinking until you resume it, even over a restart. A running thought is ended and kept."""

    _control_thinking(
        lambda new_id: protocol.ControlThinking(new_id, "pause"),
        as_json,
        "Thinking is paused. To resume: reveries monologue resume",
    )


@command.command("resume")
@json_option(protocol.ThinkingControlled)
def resume_thinking_command(as_json: bool) -> None:
    """Resume thinking."""

    _control_thinking(lambda new_id: protocol.ControlThinking(new_id, "resume"), as_json, "It can think again.")


@command.command("release")
@json_option(protocol.ThinkingReleased)
def release_thinking_command(as_json: bool) -> None:
    """End the pause after a trip of the breaker. This is recorded with the trip."""
    from reveries.client.sync_call import ask_mind

    answer = ask_mind(protocol.ReleaseThinking, protocol.ThinkingReleased)
    print_answer(answer, as_json)


@command.command("step")
@json_option(protocol.ThinkingControlled)
def think_once_command(as_json: bool) -> None:
    """Think once now, even if thinking is paused, in quiet hours or on battery power. Not during a conversation, and
    only within the budget."""

    _control_thinking(lambda new_id: protocol.ControlThinking(new_id, "step"), as_json, _WATCH)


@command.command("nudge")
@click.argument("about")
@json_option(protocol.ThinkingControlled)
def nudge_thinking_command(about: str, as_json: bool) -> None:
    """Say what to think about next: reveries monologue nudge "think about the garden". Otherwise like `step`."""
    from reveries.errors import UsageError

    words = about.strip()
    if not 0 < len(words) <= _NUDGE_CHARS:
        raise UsageError("A nudge has 1 to 500 characters.", advice='For example: nudge "think about the garden"')
    _control_thinking(lambda new_id: protocol.NudgeThinking(new_id, words), as_json, _WATCH)


@command.command("pin")
@click.argument("thought_id", metavar="ID")
@json_option(protocol.ThoughtMarked)
def pin_thought_command(thought_id: str, as_json: bool) -> None:
    """Pin a thought: sleep processes it first, and its text stays in memory. For IDs see the history."""
    _mark_thought(thought_id, "pin", as_json)


@command.command("drop")
@click.argument("thought_id", metavar="ID")
@json_option(protocol.ThoughtMarked)
def drop_thought_command(thought_id: str, as_json: bool) -> None:
    """Drop a thought: it is no longer recalled, and not processed in sleep. The log keeps its text."""
    _mark_thought(thought_id, "drop", as_json)


def _control_thinking(make: "Callable[[int], protocol.Request]", as_json: bool, done: str) -> None:
    from reveries.client.render import say, show_json
    from reveries.client.sync_call import ask_mind
    from reveries.safe_text import one_line

    answer = ask_mind(make, protocol.ThinkingControlled)
    if as_json:
        show_json(answer)
        return
    say(done)
    if answer.state == "talking":
        say("A conversation is open: it will think when that is idle.", "dim")
    elif answer.state in ("quiet", "tripped"):
        say(one_line(answer.detail), "dim")


def _mark_thought(thought_id: str, mark: "Literal['pin', 'drop']", as_json: bool) -> None:
    from reveries.client.render import say, show_json
    from reveries.client.sync_call import ask_mind
    from reveries.errors import UsageError
    from reveries.safe_text import one_line

    if not 0 < len(thought_id) <= _ID_CHARS:
        raise UsageError("That is not the ID of a thought.", advice="To list them: reveries monologue history")
    marked = ask_mind(
        lambda new_id: protocol.MarkThought(new_id, thought_id, mark), protocol.ThoughtMarked, seconds=None
    )
    if as_json:
        show_json(marked)
    else:
        say(f"The thought {one_line(marked.thought_id)} is {one_line(marked.mark)}.")


async def _watch_monologue(mind: "Connection") -> None:
    from reveries.client.render import is_terminal, say
    from reveries.client.sync_call import handle_ctrl_c
    from reveries.safe_text import one_line

    watching = mind.start(protocol.Observe, protocol.Ok)
    if is_terminal():
        say("Watching it think. Ctrl+C stops watching; it continues to think.", "dim", err=True)
    status = await mind.ask(protocol.AskStatus, protocol.Status)
    if status.state in _STATES_WITHOUT_THOUGHTS:
        say(one_line(status.state_detail), "dim", err=True)
    printer = _ThoughtPrinter()
    with handle_ctrl_c(watching.stop):
        async for frame in watching:
            printer.show(frame)
    printer.finish()


class _ThoughtPrinter:
    """Prints the current thought to the terminal."""

    def __init__(self) -> None:
        from reveries.safe_text import PlainStream

        self._plain = PlainStream()
        self._last = "\n"

    def show(self, frame: "protocol.Frame") -> None:
        from reveries.safe_text import one_line

        match frame:
            case protocol.ThoughtBegan():
                self.finish()
                self._remark(f"{time.strftime('%H:%M')}  {one_line(frame.reason)}")
                self._write(self._plain.feed(frame.so_far))
            case protocol.ThoughtToken():
                if frame.skipped:
                    self._write(f" […{frame.skipped} pieces missed…] ")
                self._write(self._plain.feed(frame.text))
            case protocol.ThoughtEnded():
                self.finish()
                why = one_line(frame.explanation or frame.reason)
                self._remark(f"{why}  ({frame.tokens} tokens)\n")
            case _:
                pass

    def finish(self) -> None:
        """End the current line."""
        self._write(self._plain.finish())
        if self._last != "\n":
            self._write("\n")

    def _write(self, text: str) -> None:
        if text:
            self._last = text[-1]
            click.echo(text, nl=False)

    def _remark(self, text: str) -> None:
        click.echo(click.style(text, dim=True))
        self._last = "\n"


@click.group("notes", short_help="Notes that it left for you while thinking.", invoke_without_command=True)
@click.option(
    "--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="The most to show, newest first."
)
@json_option(protocol.Notes)
@click.pass_context
def notes_command(ctx: click.Context, limit: int, as_json: bool) -> None:
    """Show the notes that it wrote while thinking, and why. The most per day: monologue.notes_per_day."""
    if ctx.invoked_subcommand is not None:
        return
    from reveries.client.sync_call import ask_mind

    notes = ask_mind(lambda new_id: protocol.AskNotes(new_id, limit), protocol.Notes)
    print_answer(notes, as_json)


@notes_command.command("dismiss")
@click.argument("note_id", metavar="ID")
@json_option(protocol.Notes)
def dismiss_note_command(note_id: str, as_json: bool) -> None:
    """Dismiss a note that you did not want. Each dismissal makes notes rarer."""
    from reveries.client.render import say, show_json
    from reveries.client.sync_call import ask_mind
    from reveries.errors import UsageError

    if not 0 < len(note_id) <= 100:
        raise UsageError("That is not the ID of a note.", advice="To list them: reveries notes")
    dismissed = ask_mind(lambda new_id: protocol.DismissNote(new_id, note_id), protocol.Notes, seconds=None)
    show_json(dismissed) if as_json else say("Dismissed. Notes will be rarer.")


_MEMORIES = 5
_SHOWN_OCCASIONS = ("nudge", "calendar", "association")
_EMPTY = line("")


def thoughts_page(thoughts: list[ThoughtEntry], now: float) -> Page:
    """Render past thoughts, oldest first."""
    if not thoughts:
        return [line("There are no thoughts from that time.")]
    page: Page = []
    for thought in thoughts:
        page += [*_thought_rows(thought, now), _EMPTY]
    return page[:-1]


@page_of(protocol.Notes, "notes")
def notes_page(notes: Notes, now: float) -> Page:
    """Render notes, oldest first."""
    if not notes.notes:
        off = "" if notes.per_day else " Notes are disabled: monologue.notes_per_day is 0."
        return [line(f"There are no notes.{off}")]
    page: Page = []
    for note in notes.notes:
        page += [*_note_rows(note, now), _EMPTY]
    return page[:-1]


@page_of(protocol.ThinkingReleased, "thinking")
def released_page(answer: ThinkingReleased) -> Page:
    """Render whether there was a pause to end, and its reason."""
    if not answer.was_resting:
        return [line("There is no pause after a trip to end.")]
    because = paragraph(f"It was paused because: {one_line(answer.because, 400)}", style="dim")
    return [line("It can think again."), *because]


@page_of(protocol.ThinkingControlled, "thinking")
def controlled_page(answer: ThinkingControlled) -> Page:
    """Render the result of pausing or resuming."""
    if answer.is_paused:
        return [line("Thinking is paused. To resume: /unpause, or reveries monologue resume.")]
    waits = "A conversation is open: it will think when that is idle." if answer.state == "talking" else "It can think."
    return [line(waits)]


def _thought_rows(thought: ThoughtEntry, now: float) -> Page:
    lasted = span(thought.ended_at - thought.began_at)
    is_shown = thought.occasion and thought.why_began in _SHOWN_OCCASIONS
    began = thought.why_began + (f": {one_line(thought.occasion, 80)}" if is_shown else "")
    marks = [name for name, is_so in (("pinned", thought.is_pinned), ("dropped", thought.is_dropped)) if is_so]
    details = f"  {lasted}, {plural(thought.tokens, 'token')}{''.join(f', {mark}' for mark in marks)}"
    ended = thought.why_ended + (f": {thought.explanation}" if thought.explanation else "")
    return [
        line(
            Part(f"  {ago(thought.began_at, now)}", "accent"),
            Part(f"  {one_line(began)}", "strong"),
            Part(details, "dim"),
            Part(f"  {one_line(thought.thought_id)}", "dim"),
        ),
        *(paragraph(thought.text.strip(), indent=4) if thought.text.strip() else ()),
        line(Part(f"    ended: {one_line(ended)}", "dim")),
        *([line(Part(f"    cost: {_cost_text(thought)}", "dim"))] if thought.calls else []),
        *_used_memory_rows(thought),
    ]


def _cost_text(thought: ThoughtEntry) -> str:
    tokens = f"{thought.prompt_tokens:,} tokens read, {thought.completion_tokens:,} written"
    return f"{tokens} in {plural(thought.calls, 'call')}, ${thought.dollars:.4f}"


def _used_memory_rows(thought: ThoughtEntry) -> Page:
    named = list(zip(thought.recalled, thought.recalled_summaries, strict=False))
    page = [
        line(Part(f"    used: {one_line(name)}  {one_line(summary, 80) or 'no longer in memory'}", "dim"))
        for name, summary in named[:_MEMORIES]
    ]
    if thought.is_tainted:
        page.append(line(Part("    influenced by text from outside sources", "dim")))
    return page


def _note_rows(note: Note, now: float) -> Page:
    unread = "answered before it was shown" if note.is_answered else "not shown yet"
    state = "dismissed" if note.dismissed_at else "shown" if note.shown_at else unread
    return [
        line(
            Part(f"  {ago(note.written_at, now)}", "accent"),
            Part(f"  {one_line(note.note_id)}  {state}", "dim"),
        ),
        *paragraph(note.text, indent=4),
        line(Part(f"    {one_line(note.reason)}", "dim")),
    ]
