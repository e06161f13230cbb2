"""`reveries monologue` (live), its history, and the owner's hand on it."""

import time
from typing import TYPE_CHECKING

import click

from reveries.client.render import Page, Part, line, paragraph
from reveries.client.wording import ago, plural, span
from reveries.protocol import Note, Notes, ThinkingControlled, ThinkingReleased, ThoughtEntry
from reveries.safe_text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    from reveries import protocol
    from reveries.client.connection import Connection

_HISTORY = "1d"
_ID_CHARS = 100
_NUDGE_CHARS = 500
_NO_THOUGHTS = ("held", "quiet", "tripped")
"""States in which none comes for a while."""
_WATCH = "It thinks as soon as it can. To watch: reveries monologue"


@click.group("monologue", short_help="Watch it think, or read what it thought.", invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Watch it think, live, until Ctrl+C. Watching changes nothing."""
    if ctx.invoked_subcommand is None:
        from reveries.client.sync_call import call

        call(_watch_monologue)


@command.command("history")
@click.option(
    "--since", "since_text", default=_HISTORY, show_default=True, help="How long ago (2h, 3d), or an ISO time."
)
@click.option(
    "--limit", type=click.IntRange(1, 1000), default=50, show_default=True, help="At most so many, the newest."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def history(since_text: str, limit: int, as_json: bool) -> None:
    """What it thought: why each thought began and ended, what it cost, which memories it used."""
    from reveries import protocol
    from reveries.client.render import show, show_json
    from reveries.client.sync_call import ask
    from reveries.client.wording import since

    began = since(since_text, time.time())
    thoughts = ask(lambda new_id: protocol.AskThoughts(new_id, began, limit), protocol.Thoughts)
    if as_json:
        show_json(thoughts)
    else:
        show(thoughts_page(thoughts.thoughts, time.time()))


@command.command("pause")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def pause(as_json: bool) -> None:
    """Let it not think until you say so. A thought under way ends and is kept. It lasts over sleep and waking."""
    from reveries import protocol

    _control(
        lambda new_id: protocol.ControlThinking(new_id, "pause"),
        as_json,
        "It does not think until: reveries monologue resume",
    )


@command.command("resume")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def resume(as_json: bool) -> None:
    """Let it think again."""
    from reveries import protocol

    _control(lambda new_id: protocol.ControlThinking(new_id, "resume"), as_json, "It may think again.")


@command.command("release")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def release(as_json: bool) -> None:
    """Let it think again though it rests after a trip of the breaker. That you did is kept with the trip."""
    from reveries import protocol
    from reveries.client.render import show, show_json
    from reveries.client.sync_call import ask

    answer = ask(protocol.ReleaseThinking, protocol.ThinkingReleased)
    show_json(answer) if as_json else show(released_page(answer))


@command.command("step")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def step(as_json: bool) -> None:
    """One thought now, though it is paused, quiet hours or on its battery. Not during a conversation, nor beyond the
    budget."""
    from reveries import protocol

    _control(lambda new_id: protocol.ControlThinking(new_id, "step"), as_json, _WATCH)


@command.command("nudge")
@click.argument("about")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def nudge(about: str, as_json: bool) -> None:
    """Have it think about something next: reveries monologue nudge "think about the garden". As `step`, otherwise."""
    from reveries import protocol
    from reveries.errors import UsageError

    words = about.strip()
    if not 0 < len(words) <= _NUDGE_CHARS:
        raise UsageError("A nudge has 1 to 500 characters.", advice='For example: nudge "think about the garden"')
    _control(lambda new_id: protocol.NudgeThinking(new_id, words), as_json, _WATCH)


@command.command("pin")
@click.argument("thought_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def pin(thought_id: str, as_json: bool) -> None:
    """Have a thought matter: it is slept on first, and its words stay at hand. IDs stand in the history."""
    _mark_thought(thought_id, "pin", as_json)


@command.command("drop")
@click.argument("thought_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def drop(thought_id: str, as_json: bool) -> None:
    """Have memory make nothing of a thought: it is recalled no more and not slept on. The log keeps its words."""
    _mark_thought(thought_id, "drop", as_json)


def _control(make: "Callable[[int], protocol.Request]", as_json: bool, done: str) -> None:
    from reveries import protocol
    from reveries.client.render import say, show_json
    from reveries.client.sync_call import ask
    from reveries.safe_text import one_line

    answer = ask(make, protocol.ThinkingControlled)
    if as_json:
        show_json(answer)
        return
    say(done)
    if answer.state == "talking":
        say("A conversation is open: it thinks when that rests.", "dim")
    elif answer.state in ("quiet", "tripped"):
        say(one_line(answer.detail), "dim")


def _mark_thought(thought_id: str, mark: "Literal['pin', 'drop']", as_json: bool) -> None:
    from reveries import protocol
    from reveries.client.render import say, show_json
    from reveries.client.sync_call import ask
    from reveries.errors import UsageError
    from reveries.safe_text import one_line

    if not 0 < len(thought_id) <= _ID_CHARS:
        raise UsageError("That is no thought's ID.", advice="They stand in: reveries monologue history")
    marked = ask(lambda new_id: protocol.MarkThought(new_id, thought_id, mark), protocol.ThoughtMarked, seconds=None)
    if as_json:
        show_json(marked)
    else:
        say(f"The thought {one_line(marked.thought_id)} is {one_line(marked.mark)}.")


async def _watch_monologue(mind: "Connection") -> None:
    from reveries import protocol
    from reveries.client.render import is_terminal, say
    from reveries.client.sync_call import ctrl_c
    from reveries.safe_text import one_line

    request_id = mind.new_id()
    if is_terminal():
        say("Watching it think. Ctrl+C ends the watching, not the thinking.", "dim", err=True)
    status = await mind.ask(protocol.AskStatus, protocol.Status)
    if status.state in _NO_THOUGHTS:
        say(one_line(status.state_detail), "dim", err=True)
    shown = _Thought()
    with ctrl_c(lambda: mind.cancel_soon(request_id)):
        async for frame in mind.request(protocol.Observe(request_id)):
            shown.show(frame)
    shown.finish()


class _Thought:
    """The thought that is being written to the terminal."""

    def __init__(self) -> None:
        from reveries.safe_text import PlainStream

        self._plain = PlainStream()
        self._last = "\n"

    def show(self, frame: "protocol.Frame") -> None:
        from reveries import protocol
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
        """End the line that was begun."""
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


@click.group("notes", short_help="What its thinking wanted you to know.", invoke_without_command=True)
@click.option(
    "--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="At most so many, the newest."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.pass_context
def notes_command(ctx: click.Context, limit: int, as_json: bool) -> None:
    """The notes that thoughts ended with, and why each was written. How many a day: monologue.notes_per_day."""
    if ctx.invoked_subcommand is not None:
        return
    from reveries import protocol
    from reveries.client.render import show, show_json
    from reveries.client.sync_call import ask

    notes = ask(lambda new_id: protocol.AskNotes(new_id, limit), protocol.Notes)
    show_json(notes) if as_json else show(notes_page(notes, time.time()))


@notes_command.command("dismiss")
@click.argument("note_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def dismiss(note_id: str, as_json: bool) -> None:
    """Say that a note was not wanted: each one that you dismiss makes the next rarer."""
    from reveries import protocol
    from reveries.client.render import say, show_json
    from reveries.client.sync_call import ask
    from reveries.errors import UsageError

    if not 0 < len(note_id) <= 100:
        raise UsageError("That is no note's ID.", advice="They stand in: reveries notes")
    dismissed = ask(lambda new_id: protocol.DismissNote(new_id, note_id), protocol.Notes, seconds=None)
    show_json(dismissed) if as_json else say("Dismissed. The next one comes later.")


_MEMORIES = 5
_TOLD_OCCASIONS = ("nudge", "calendar", "association")
_EMPTY = line("")


def thoughts_page(thoughts: list[ThoughtEntry], now: float) -> Page:
    """The monologue's log, oldest first as it came."""
    if not thoughts:
        return [line("No thoughts in that time.")]
    page: Page = []
    for thought in thoughts:
        page += [*_thought(thought, now), _EMPTY]
    return page[:-1]


def notes_page(notes: Notes, now: float) -> Page:
    """Notes, oldest first."""
    if not notes.notes:
        off = "" if notes.per_day else " They are switched off: monologue.notes_per_day is 0."
        return [line(f"No notes.{off}")]
    page: Page = []
    for note in notes.notes:
        page += [*_note_rows(note, now), _EMPTY]
    return page[:-1]


def released_page(answer: ThinkingReleased) -> Page:
    """Whether there was a rest to end, and what it was for."""
    if not answer.was_resting:
        return [line("It does not rest after a trip: there is nothing to release.")]
    because = paragraph(f"It rested because of this: {one_line(answer.because, 400)}", style="dim")
    return [line("It may think again."), *because]


def controlled_page(answer: ThinkingControlled) -> Page:
    """What came of the owner's word."""
    if answer.is_paused:
        return [line("It does not think until you let it: /unpause, or reveries monologue resume.")]
    waits = "A conversation is open: it thinks when that rests." if answer.state == "talking" else "It may think."
    return [line(waits)]


def _thought(thought: ThoughtEntry, now: float) -> Page:
    lasted = span(thought.ended_at - thought.began_at)
    is_told = thought.occasion and thought.why_began in _TOLD_OCCASIONS
    began = thought.why_began + (f": {one_line(thought.occasion, 80)}" if is_told else "")
    marks = [name for name, is_so in (("pinned", thought.is_pinned), ("dropped", thought.is_dropped)) if is_so]
    told = f"  {lasted}, {plural(thought.tokens, 'token')}{''.join(f', {mark}' for mark in marks)}"
    ended = thought.why_ended + (f": {thought.explanation}" if thought.explanation else "")
    return [
        line(
            Part(f"  {ago(thought.began_at, now)}", "accent"),
            Part(f"  {one_line(began)}", "strong"),
            Part(told, "dim"),
            Part(f"  {one_line(thought.thought_id)}", "dim"),
        ),
        *(paragraph(thought.text.strip(), indent=4) if thought.text.strip() else ()),
        line(Part(f"    ended: {one_line(ended)}", "dim")),
        *([line(Part(f"    cost: {_cost(thought)}", "dim"))] if thought.calls else []),
        *_memories(thought),
    ]


def _cost(thought: ThoughtEntry) -> str:
    tokens = f"{thought.prompt_tokens:,} tokens read, {thought.completion_tokens:,} written"
    return f"{tokens} in {plural(thought.calls, 'call')}, ${thought.dollars:.4f}"


def _memories(thought: ThoughtEntry) -> Page:
    named = list(zip(thought.recalled, thought.recalled_summaries, strict=False))
    page = [
        line(Part(f"    used: {one_line(name)}  {one_line(summary, 80) or 'no longer in memory'}", "dim"))
        for name, summary in named[:_MEMORIES]
    ]
    if thought.is_tainted:
        page.append(line(Part("    something before it did not come from you or from itself alone", "dim")))
    return page


def _note_rows(note: Note, now: float) -> Page:
    state = "dismissed" if note.dismissed_at else "shown" if note.shown_at else "not shown yet"
    return [
        line(
            Part(f"  {ago(note.written_at, now)}", "accent"),
            Part(f"  {one_line(note.note_id)}  {state}", "dim"),
        ),
        *paragraph(note.text, indent=4),
        line(Part(f"    {one_line(note.reason)}", "dim")),
    ]
