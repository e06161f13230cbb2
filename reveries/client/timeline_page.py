"""The page of `memory timeline`: days, what happened on them, and the silences between. Pure, message to lines."""

import datetime as dt

from reveries.client.render import Line, Page, Part, Style, columns_now, line, paragraph
from reveries.client.wording import clock_time, plural, span
from reveries.plaintext import one_line
from reveries.protocol import Timeline, TimelineGap, TimelineMoment

_SHORT = 8
_EMPTY = line()
_LEVELS = "▁▂▃▄▅▆▇█"


def timeline_page(told: Timeline, now: float) -> Page:
    """Newest last."""
    if not told.moments:
        return [line("Nothing happened in that time that is remembered.")]
    width = columns_now()
    page: Page = []
    if told.earlier_count:
        page += [
            line(Part(f"  {plural(told.earlier_count, 'episode')} before these: --limit, or --until", "dim")),
            _EMPTY,
        ]
    day: dt.date | None = None
    for moment in told.moments:
        if moment.gap is not None:
            page += [*([] if day is None else [_EMPTY]), _silence(moment.gap)]
        when = _day(moment.happened_at)
        if when != day:
            page += [*([] if not page or page[-1] == _EMPTY else [_EMPTY]), _day_heading(when, now)]
            day = when
        page += _moment_rows(moment, width)
    if told.lasting_gap is not None:
        page += [_EMPTY, _silence(told.lasting_gap, " until now")]
    days = len({_day(moment.happened_at) for moment in told.moments})
    told_of = f"  {plural(len(told.moments), 'episode')} on {plural(days, 'day')}"
    return [*page, _EMPTY, line(Part(f"{told_of}. More of one: reveries memory inspect ID", "dim"))]


def _day_heading(day: dt.date, now: float) -> Line:
    today = _day(now)
    near = {0: "  today", 1: "  yesterday"}.get((today - day).days, "")
    return line(Part(f"  {day:%A} {day.day} {day:%B} {day.year}", "strong"), Part(near, "dim"))


def _moment_rows(moment: TimelineMoment, width: int) -> Page:
    """The hour, how much it matters, what it was, its ID at the end of the first line."""
    indent, right = 11, 2 + _SHORT
    is_thought = moment.origin == "self" and not moment.conversation_id
    text = one_line(("thought: " if is_thought else "") + moment.summary, 220)
    rows = paragraph(text, indent=0, width=max(24 + right, width) - indent - right)
    style: Style = "dim" if moment.accessibility < 0.5 else ""
    first = rows[0][0].text
    body = max(24, width - indent - right)
    head = line(
        Part(f"  {clock_time(moment.happened_at)}  ", "dim"),
        Part(_level(moment.salience), "accent"),
        Part(" "),
        Part(f"{first:<{body}}", style),
        Part(f"  {one_line(moment.episode_id)[:_SHORT]}", "accent"),
    )
    return [head, *(line(Part(" " * indent + row[0].text, style)) for row in rows[1:3])]


def _silence(gap: TimelineGap, until: str = "") -> Line:
    long = one_line(gap.significance, 80) or f"{span(gap.seconds)} of silence"
    return line(Part(f"  ┄┄ {long}{until} ┄┄", "dim"))


def _level(salience: float) -> str:
    return _LEVELS[min(len(_LEVELS) - 1, max(0, int(salience * len(_LEVELS))))]


def _day(at: float) -> dt.date:
    try:
        return dt.datetime.fromtimestamp(at).date()
    except (OverflowError, OSError, ValueError):
        return dt.date(1970, 1, 1)
