"""Past conversations as pages for people, and a conversation as Markdown. Pure."""

import datetime as dt
from collections.abc import Sequence

from reveries.client.render import Page, Part, line, paragraph
from reveries.client.wording import ago, clock_time, moment, plural
from reveries.protocol import PastConversation, SaidTurn, Turns
from reveries.safe_text import one_line, plain


def conversation_page(past: PastConversation, told: Turns, now: float) -> Page:
    """A conversation to be read: its last turns, and how much came before them."""
    page: Page = [
        line(Part(f"  {moment(past.began_at)}", "strong"), Part(f"  {plural(past.turns, 'turn')}", "dim")),
        line(Part(f"  last word {ago(past.last_said_at, now)}", "dim")),
    ]
    if past.source != "chat":
        page.append(line(Part(f"  brought in from {one_line(past.source, 60)}: to be read, not gone on with", "dim")))
    if told.earlier_count:
        page += [line(), line(Part(f"  {plural(told.earlier_count, 'turn')} before these", "dim"))]
    for turn in told.turns:
        page += [line(), line(Part(f"  {speaker_of(turn)}", "accent"), Part(f"  {clock_time(turn.said_at)}", "dim"))]
        page += paragraph(turn.text)
    return page


def speaker_of(turn: SaidTurn) -> str:
    """Who said it."""
    return one_line(turn.speaker, 60) or ("you" if turn.is_owner else "the mind")


def conversation_markdown(turns: Sequence[SaidTurn], began_at: float, mind: str) -> str:
    """A whole conversation as a Markdown document: a heading, and each turn under its speaker and time."""
    parts = [f"# Talk with {one_line(mind, 60)}, {moment(began_at)}"]
    day: dt.date | None = None
    for turn in turns:
        said = dt.datetime.fromtimestamp(turn.said_at)
        if said.date() != day:
            day = said.date()
            parts.append(f"## {day:%A} {day.day} {day:%B} {day.year}")
        cut = " (cut off)" if turn.is_partial else ""
        parts.append(f"**{speaker_of(turn)}**, {clock_time(turn.said_at)}{cut}\n\n{plain(turn.text).strip()}")
    return "\n\n".join(parts) + "\n"
