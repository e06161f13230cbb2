"""The output of `memory why`, `memory timeline` and `memory graph`. Pure: messages to lines."""

import datetime as dt

from reveries import protocol
from reveries.client.answers import page_of
from reveries.client.reasons import list_words, reason_text
from reveries.client.render import Line, Page, Part, Style, bar, columns_now, field, line, paragraph
from reveries.client.wording import ago, clock_time, date, plural, span
from reveries.protocol import Neighbourhood, Timeline, TimelineGap, TimelineMoment, Why, WhyStep, WhyTurn
from reveries.safe_text import one_line

_SHORT = 8
_EMPTY = line()
_SHOWN_TURNS = 3
_NEGLIGIBLE = 0.005


@page_of(protocol.Why, "why")
def why_page(why: Why, now: float) -> Page:
    """Render why an episode was recalled or not: the verdict, how it was found, its energy, its turns."""
    return [
        line(Part(f"  {one_line(why.episode_id)[:_SHORT]}", "accent"), Part(f"  {ago(why.happened_at, now)}", "dim")),
        *paragraph(one_line(why.summary, 400), style="strong"),
        _EMPTY,
        *_verdict_rows(why, now),
        _EMPTY,
        *_entry_rows(why),
        *_path_rows(why),
        *_energy_rows(why),
        *_best_turn_rows(why, now),
    ]


def _verdict_rows(why: Why, now: float) -> Page:
    page = [field("cue", f"“{one_line(why.cue, 300)}”")]
    if why.asked_at:
        rank_then = f"it was recalled {_ordinal(why.rank_then)}" if why.rank_then else "it was not recalled"
        page.append(field("the last turn", f"{ago(why.asked_at, now)}: {rank_then}"))
        page.append(field("", Part("The rest repeats that recall with the memory as it is now.", "dim")))
    if why.surfaced:
        page.append(
            field("recalled", Part(_ordinal(why.rank), "good"), Part(f"  of {why.surfaced_count} candidates", "dim"))
        )
        return page
    page.append(field("recalled", Part("no", "warn")))
    for reason in why.missing:
        page += [line(Part("    " + row[0].text.strip())) for row in paragraph(reason, indent=4)]
    return page


def _entry_rows(why: Why) -> Page:
    page: Page = [line(Part("  how it was found", "strong"))]
    nearness = f"cosine {why.cosine:.2f}"
    if why.entry is None:
        page.append(field("by meaning", Part(f"not similar enough: {nearness}", "dim")))
    else:
        meaning: Part | str = (
            nearness if why.entry.by_meaning else Part(f"{nearness}: not among the most similar", "dim")
        )
        page.append(field("by meaning", meaning))
    if why.entry is not None and why.entry.by_turn:
        share = f"its best turn holds {why.entry.share_of_words:.0%} of the cue's words"
        page.append(field("by a turn", share, Part(f"  match {why.entry.match:.2f}", "dim")))
    shared = list_words(why.shared_words) if why.shared_words else "none of the cue's words"
    page.append(field("words", shared, Part(f"  not: {list_words(why.unmet_words)}" if why.unmet_words else "", "dim")))
    return [*page, _EMPTY]


def _path_rows(why: Why) -> Page:
    """Render the links that contributed most of its energy."""
    if not why.steps:
        return []
    page: Page = [line(Part("  path over links", "strong"))]
    start = one_line(why.entry_id)[:_SHORT]
    page.append(line(Part(f"    {start}", "accent"), f"  {one_line(why.entry_summary, 60)}"))
    for step in why.steps:
        page.append(line(Part(f"      ↓ {_links_text(step)}", "dim")))
        page.append(line(Part(f"    {one_line(step.to_id)[:_SHORT]}", "accent"), f"  {one_line(step.to_summary, 60)}"))
    return [*page, _EMPTY]


def _links_text(step: WhyStep) -> str:
    return ", ".join(f"{one_line(link.type)} {link.strength:.2f}" for link in step.links) or "a link that is gone"


def _energy_rows(why: Why) -> Page:
    """Render how its energy was computed: initial match, factors, share over links, total."""
    factors = why.factors
    begun = why.entry.energy if why.entry else 0.0
    is_above = why.energy_whole > why.threshold
    style: Style = "good" if is_above else "warn"
    compared = "above" if is_above else "not above"
    page: Page = [
        line(Part("  energy", "strong")),
        field("initial", f"{begun:.3f}", Part(f"  match x salience {why.salience:.2f} x recency", "dim")),
        field(
            "recency", f"x {factors.recency:.2f}", Part("  recalled lately" if factors.recency > 1.25 else "", "dim")
        ),
        field("resonance", f"x {factors.resonance:.2f}", Part(_resonance_text(factors.resonance), "dim")),
        field("time", f"x {factors.temporal:.2f}", Part("  same hour or day" if factors.temporal > 1 else "", "dim")),
        field("accessibility", f"x {factors.accessibility:.2f}"),
        field("direct", f"{why.energy_direct:.3f}"),
        field(
            "over links",
            f"{why.energy_spread:.3f}",
            Part(f"  {why.share_of_spread:.0%} of it counts for the rank", "dim"),
        ),
        field(
            "total",
            Part(f"{why.energy_whole:.3f}", style),
            Part(f"  {compared} the threshold of {why.threshold:g}", "dim"),
        ),
        field("for the rank", f"{why.energy:.3f}", Part(f"  the first {why.limit} are recalled", "dim")),
        _EMPTY,
    ]
    return page


def _resonance_text(resonance: float) -> str:
    if abs(resonance - 1.0) < _NEGLIGIBLE:
        return ""
    return "  similar mood" if resonance > 1.0 else "  different mood"


def _best_turn_rows(why: Why, now: float) -> Page:
    if not why.turns:
        return [line(Part("  None of its turns was ranked.", "dim"))]
    page: Page = [line(Part("  its turns", "strong"), Part(", best first", "dim"))]
    for turn in why.turns[:_SHOWN_TURNS]:
        page += _turn_rows(turn, now)
    return page


def _turn_rows(turn: WhyTurn, now: float) -> Page:
    place = f"{_ordinal(turn.place)} of all turns" if turn.place else "beyond the first thousand turns"
    page = [
        line(
            Part(f"    {one_line(turn.speaker, 40)}", "strong"),
            Part(f"  {date(turn.said_at, now)} {clock_time(turn.said_at)}, {place}", "dim"),
        ),
        *paragraph(one_line(turn.text, 300), indent=6),
    ]
    for reason in turn.reasons:
        if abs(reason.amount) >= _NEGLIGIBLE:
            sign: Style = "good" if reason.amount > 0 else "warn"
            page.append(
                line(
                    Part(f"      {'+' if reason.amount > 0 else '−'}{bar(min(1.0, abs(reason.amount) / 4), 4)} ", sign),
                    reason_text(reason),
                )
            )
    return page


def _ordinal(number: int) -> str:
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


_SHORT_ID_CHARS = 8
_EMPTY_LINE = line()
_LEVELS = "▁▂▃▄▅▆▇█"


@page_of(protocol.Timeline, "timeline")
def timeline_page(timeline: Timeline, now: float) -> Page:
    """Render the timeline, newest last."""
    if not timeline.moments:
        return [line("Nothing is remembered from that time.")]
    width = columns_now()
    page: Page = []
    if timeline.earlier_count:
        page += [
            line(Part(f"  {plural(timeline.earlier_count, 'episode')} before these: --limit, or --until", "dim")),
            _EMPTY_LINE,
        ]
    day: dt.date | None = None
    for moment in timeline.moments:
        if moment.gap is not None:
            page += [*([] if day is None else [_EMPTY_LINE]), _silence_line(moment.gap)]
        when = _local_day(moment.happened_at)
        if when != day:
            page += [*([] if not page or page[-1] == _EMPTY_LINE else [_EMPTY_LINE]), _day_heading(when, now)]
            day = when
        page += _moment_rows(moment, width)
    if timeline.lasting_gap is not None:
        page += [_EMPTY_LINE, _silence_line(timeline.lasting_gap, " until now")]
    days = len({_local_day(moment.happened_at) for moment in timeline.moments})
    counts = f"  {plural(len(timeline.moments), 'episode')} on {plural(days, 'day')}"
    return [*page, _EMPTY_LINE, line(Part(f"{counts}. Details: reveries memory inspect ID", "dim"))]


def _day_heading(day: dt.date, now: float) -> Line:
    today = _local_day(now)
    near = {0: "  today", 1: "  yesterday"}.get((today - day).days, "")
    return line(Part(f"  {day:%A} {day.day} {day:%B} {day.year}", "strong"), Part(near, "dim"))


def _moment_rows(moment: TimelineMoment, width: int) -> Page:
    """Render time, salience, summary, and the ID at the end of the first line."""
    indent, right = 11, 2 + _SHORT_ID_CHARS
    is_thought = moment.origin == "self" and not moment.conversation_id
    text = one_line(("thought: " if is_thought else "") + moment.summary, 220)
    rows = paragraph(text, indent=0, width=max(24 + right, width) - indent - right)
    style: Style = "dim" if moment.accessibility < 0.5 else ""
    first = rows[0][0].text
    body = max(24, width - indent - right)
    head = line(
        Part(f"  {clock_time(moment.happened_at)}  ", "dim"),
        Part(_salience_block(moment.salience), "accent"),
        Part(" "),
        Part(f"{first:<{body}}", style),
        Part(f"  {one_line(moment.episode_id)[:_SHORT_ID_CHARS]}", "accent"),
    )
    return [head, *(line(Part(" " * indent + row[0].text, style)) for row in rows[1:3])]


def _silence_line(gap: TimelineGap, until: str = "") -> Line:
    long = one_line(gap.significance, 80) or f"{span(gap.seconds)} of silence"
    return line(Part(f"  ┄┄ {long}{until} ┄┄", "dim"))


def _salience_block(salience: float) -> str:
    return _LEVELS[min(len(_LEVELS) - 1, max(0, int(salience * len(_LEVELS))))]


def _local_day(at: float) -> dt.date:
    try:
        return dt.datetime.fromtimestamp(at).date()
    except (OverflowError, OSError, ValueError):
        return dt.date(1970, 1, 1)


_ID_CHARS = 8
_LINKS_SHOWN = 8


@page_of(protocol.Neighbourhood, "graph")
def graph_page(shown: Neighbourhood, now: float) -> Page:
    """List every node, the closest to the start first, with its strongest links."""
    by_id = {node.episode_id: node for node in shown.nodes}
    page: Page = [*paragraph(one_line(shown.title, 300), style="strong"), line()]
    for node in sorted(by_id.values(), key=lambda node: (node.distance, -node.energy, -node.salience, node.episode_id)):
        page.append(
            line(
                Part(f"  {bar(node.energy, 4)} ", "accent"),
                Part(one_line(node.episode_id)[:_ID_CHARS], "accent"),
                Part(f"  {ago(node.happened_at, now)}, salience {node.salience:.2f}", "dim"),
            )
        )
        page += paragraph(one_line(node.label, 200), indent=4)
        ties = [tie for tie in shown.ties if node.episode_id in (tie.first_id, tie.second_id)]
        for tie in sorted(ties, key=lambda tie: -tie.strength)[:_LINKS_SHOWN]:
            other = by_id.get(tie.second_id if tie.first_id == node.episode_id else tie.first_id)
            if other is None:
                continue
            way = f"{one_line(tie.type)} {tie.strength:.2f}"
            page += paragraph(f"{way}: {one_line(other.label, 60)}", indent=8, style="dim")
    counts = f"{plural(len(shown.nodes), 'episode')}" + (
        f"; {shown.left_out} more are not shown" if shown.left_out else ""
    )
    return [*page, line(), line(Part(f"  {counts}", "dim"))]
