"""Render a past conversation for the terminal or as Markdown. Pure."""

import datetime as dt
from collections.abc import Sequence

from reveries.client.citation_lines import citation_lines
from reveries.client.render import Page, Part, line, paragraph
from reveries.client.wording import ago, clock_time, moment, plural
from reveries.protocol import PastConversation, SaidTurn, Turns
from reveries.safe_text import one_line, plain


def conversation_page(past: PastConversation, latest: Turns, now: float) -> Page:
    """Render the last turns of a conversation, and how many came before them."""
    page: Page = [
        line(Part(f"  {moment(past.began_at)}", "strong"), Part(f"  {plural(past.turns, 'turn')}", "dim")),
        line(Part(f"  last word {ago(past.last_said_at, now)}", "dim")),
    ]
    if past.source != "chat":
        page.append(line(Part(f"  imported from {one_line(past.source, 60)}: read-only", "dim")))
    if latest.earlier_count:
        page += [line(), line(Part(f"  {plural(latest.earlier_count, 'turn')} before these", "dim"))]
    for turn in latest.turns:
        page += [line(), line(Part(f"  {speaker_name(turn)}", "accent"), Part(f"  {clock_time(turn.said_at)}", "dim"))]
        page += paragraph(turn.text)
        page += [row for shown in citation_lines(turn.citations) for row in paragraph(shown, style="dim")]
    return page


def speaker_name(turn: SaidTurn) -> str:
    """Return the name of the speaker."""
    return one_line(turn.speaker, 60) or ("you" if turn.is_owner else "the mind")


def conversation_markdown(turns: Sequence[SaidTurn], began_at: float, mind: str) -> str:
    """Return a conversation as Markdown: a heading, and each turn with speaker and time."""
    parts = [f"# Talk with {one_line(mind, 60)}, {moment(began_at)}"]
    day: dt.date | None = None
    for turn in turns:
        said_at = dt.datetime.fromtimestamp(turn.said_at)
        if said_at.date() != day:
            day = said_at.date()
            parts.append(f"## {day:%A} {day.day} {day:%B} {day.year}")
        cut = " (cut off)" if turn.is_partial else ""
        parts.append(f"**{speaker_name(turn)}**, {clock_time(turn.said_at)}{cut}\n\n{plain(turn.text).strip()}")
        parts += [f"> {shown}" for shown in citation_lines(turn.citations)]
    return "\n\n".join(parts) + "\n"
