"""Thoughts and notes on the terminal: why each began and ended, what it cost, which memories it used."""

from reveries.client.render import Page, Part, line, paragraph
from reveries.client.wording import ago, plural, span
from reveries.plaintext import one_line
from reveries.protocol import Note, Notes, ThinkingControlled, ThinkingReleased, ThoughtEntry

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
